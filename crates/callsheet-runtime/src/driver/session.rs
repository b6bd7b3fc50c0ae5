//! A run under a lock: its machine, and the log behind it.

use std::collections::BTreeSet;
use std::sync::Arc;

use callsheet_core::record::{Event, LogEntry, VERSION};
use callsheet_core::run::Run;
use callsheet_core::spec::{BlobId, RunId};

use crate::ports::{Lock, Signal, Store};
use crate::runfiles::{SheetFile, SheetMark};

use super::conclude::told;
use super::known::sheet_text;
use super::views::{StaleViews, TaskView, ViewWriter};
use super::{DriveFault, World, edit};

/// The only writer of one run.
pub struct Session {
    run: Run,
    lock: Lock,
    store: Arc<dyn Store>,
    facts: u64,
    /// Folded and not in the log yet.
    noted: Vec<LogEntry>,
    last_at: u64,
    stale_views: StaleViews,
    view_writer: Option<ViewWriter>,
    /// Hashes of sheets that were read and hold no change.
    read_sheets: BTreeSet<BlobId>,
    /// The last rendering is known to be on disk.
    sheet_written: bool,
    /// The sheet that was refused last.
    refused_sheet: Option<BlobId>,
    /// The edit that did not fit the run as it was, and that people heard of.
    unfit_sheet: Option<BlobId>,
    /// The sheet when it was read last and held nothing to take.
    looked_at: Option<SheetMark>,
    /// The edit that the last tick saw, and whether it was the same at the one before.
    seen_edit: (Option<BlobId>, bool),
}

impl Session {
    /// Takes the run's lock and folds its log, which is empty for a new run.
    ///
    /// # Errors
    /// If another process writes the run, or the log cannot be read.
    pub fn open(store: Arc<dyn Store>, id: &RunId) -> Result<Self, DriveFault> {
        let lock = store.lock(id)?;
        let opened = Self::fold(&store, id);
        match opened {
            Ok((run, facts, last_at)) => Ok(Self {
                run,
                lock,
                store,
                facts,
                noted: Vec::new(),
                last_at,
                stale_views: StaleViews::default(),
                view_writer: None,
                read_sheets: BTreeSet::new(),
                sheet_written: false,
                refused_sheet: None,
                unfit_sheet: None,
                looked_at: None,
                seen_edit: (None, false),
            }),
            Err(fault) => {
                store.unlock(&lock)?;
                Err(fault)
            }
        }
    }

    /// Folds a run's log without writing: for looking at it.
    ///
    /// # Errors
    /// If the log cannot be read.
    pub fn view(store: &Arc<dyn Store>, id: &RunId) -> Result<(Run, Vec<LogEntry>), DriveFault> {
        let facts = store.read(id, 1)?;
        let mut run = Run::new();
        for fact in &facts {
            run.apply(fact).map_err(|reject| DriveFault::Replay { n: fact.n, reject })?;
        }
        Ok((run, facts))
    }

    fn fold(store: &Arc<dyn Store>, id: &RunId) -> Result<(Run, u64, u64), DriveFault> {
        let (run, facts) = match store.read(id, 1) {
            Ok(_) => Self::view(store, id)?,
            Err(crate::ports::StoreFault::NoRun(_)) => (Run::new(), Vec::new()),
            Err(fault) => return Err(fault.into()),
        };
        let last_at = facts.last().map_or(0, |fact| fact.at);
        Ok((run, facts.len() as u64, last_at))
    }

    /// The machine.
    pub fn run(&self) -> &Run {
        &self.run
    }

    /// The machine of a session that is over.
    pub(super) fn into_run(mut self) -> Run {
        std::mem::take(&mut self.run)
    }

    /// Facts in the log.
    pub fn facts(&self) -> u64 {
        self.facts
    }

    /// Its lock.
    pub fn lock(&self) -> &Lock {
        &self.lock
    }

    /// Folds events and appends them in one transaction. Returns how many were taken: what the machine rejects is
    /// late or repeated, and is dropped with a trace.
    ///
    /// # Errors
    /// If the store refuses. The machine is then ahead of the log, and the session must be dropped.
    pub fn record(&mut self, world: &World, events: Vec<Event>) -> Result<usize, DriveFault> {
        let taken = self.note(world, events);
        self.flush(world)?;
        Ok(taken)
    }

    /// Folds events for the next [`Session::flush`]; nothing outside this process may happen because of them before
    /// that. Returns how many were taken, as [`Session::record`] does.
    pub(super) fn note(&mut self, world: &World, events: Vec<Event>) -> usize {
        let before = self.noted.len();
        for event in events {
            let at = world.clock.now_ms().max(self.last_at);
            let fact = LogEntry { v: VERSION, n: self.facts + self.noted.len() as u64 + 1, at, event };
            match self.run.apply(&fact) {
                Ok(()) => {
                    self.last_at = at;
                    self.noted.push(fact);
                }
                Err(reject) => tracing::debug!(%reject, "fact dropped"),
            }
        }
        self.noted.len() - before
    }

    /// Appends what was noted, in one transaction, then tells viewers.
    ///
    /// # Errors
    /// As [`Session::record`].
    pub(super) fn flush(&mut self, world: &World) -> Result<(), DriveFault> {
        if self.noted.is_empty() {
            return Ok(());
        }
        self.store.append(&self.lock, &self.noted)?;
        let facts = std::mem::take(&mut self.noted);
        self.facts += facts.len() as u64;
        for fact in &facts {
            world.observer.see(&Signal::LogEntry { fact, run: &self.run });
            self.stale_views.note(&fact.event);
        }
        Ok(())
    }

    /// Folds and appends one fact that nobody watches.
    ///
    /// # Errors
    /// If the machine rejects it or the store refuses.
    pub fn record_quietly(&mut self, mut fact: LogEntry) -> Result<(), DriveFault> {
        fact.at = fact.at.max(self.last_at);
        self.run.apply(&fact).map_err(|reject| DriveFault::Replay { n: fact.n, reject })?;
        self.store.append(&self.lock, std::slice::from_ref(&fact))?;
        self.facts += 1;
        self.last_at = fact.at;
        Ok(())
    }

    /// Brings the files that people read up to date with the run. What a sheet will be is recorded before it is written,
    /// and a sheet that holds words of a person is left alone (spec 2.18).
    pub(super) fn write_views(&mut self, world: &World) -> Result<(), DriveFault> {
        self.flush(world)?;
        if let Some(writer) = &self.view_writer {
            writer.wait();
        }
        self.stale_views.take_tasks(&self.run).iter().for_each(|view| view.write(world));
        self.write_sheet(world)
    }

    /// As [`Session::write_views`], but task files are written beside the run, which does not wait for them.
    pub(super) fn write_views_beside(&mut self, world: &Arc<World>) -> Result<(), DriveFault> {
        self.flush(world)?;
        let views = self.stale_views.take_tasks(&self.run);
        if !views.is_empty() {
            if self.view_writer.is_none() {
                self.view_writer = ViewWriter::begin(world);
            }
            let left = match &self.view_writer {
                Some(writer) => writer.write(views).err().unwrap_or_default(),
                None => views,
            };
            left.iter().for_each(|view| view.write(world));
        }
        self.write_sheet(world)
    }

    fn write_sheet(&mut self, world: &World) -> Result<(), DriveFault> {
        if !self.stale_views.take_sheet(&self.run) {
            return Ok(());
        }
        let text = sheet_text(&self.run);
        let hash = BlobId::of(text.as_bytes());
        let found = edit::on_disk(world);
        let is_there = found.as_ref().is_some_and(|found| found.hash == hash);
        if !is_there && found.is_some_and(|found| !self.is_stale(&found)) {
            self.stale_views.note_sheet();
            return Ok(());
        }
        if self.run.last_sheet().is_none_or(|(last, _)| *last != hash) {
            self.sheet_written = false;
            self.record(world, vec![Event::SheetRendered { hash }])?;
        }
        if is_there {
            self.sheet_written = true;
        } else {
            let written = world.files.write_sheet(&text).map(drop);
            self.sheet_written = written.is_ok();
            // A text that said nothing new then may say something when it stands there again.
            self.read_sheets.clear();
            told(written);
        }
        Ok(())
    }

    /// All files that people read, on resume.
    pub(super) fn rewrite_views(&mut self, world: &World) -> Result<(), DriveFault> {
        self.run.all_tasks().map(TaskView::of).for_each(|view| view.write(world));
        self.stale_views.note_sheet();
        self.write_views(world)
    }

    /// Whether a `sheet.md` holds no words of a person that nobody read yet.
    pub(super) fn is_stale(&self, found: &SheetFile) -> bool {
        edit::is_of_host(&self.run, found, self.sheet_written) || self.read_sheets.contains(&found.hash)
    }

    /// Notes that a `sheet.md` of this content was read and says nothing new.
    pub(super) fn note_read(&mut self, hash: BlobId) {
        self.read_sheets.insert(hash);
        self.stale_views.note_sheet();
    }

    /// Notes a `sheet.md` that was refused. True if it was not refused before.
    pub(super) fn note_refused(&mut self, hash: BlobId) -> bool {
        self.refused_sheet.replace(hash.clone()) != Some(hash)
    }

    /// Whether a `sheet.md` of this content was refused last.
    pub(super) fn is_refused(&self, hash: &BlobId) -> bool {
        self.refused_sheet.as_ref() == Some(hash)
    }

    /// Notes an edit that does not fit the run as it is now. True if it was not noted before.
    pub(super) fn note_unfit(&mut self, hash: BlobId) -> bool {
        self.unfit_sheet.replace(hash.clone()) != Some(hash)
    }

    /// Notes a `sheet.md` that was read and holds nothing to take before it changes.
    pub(super) fn note_looked_at(&mut self, mark: SheetMark) {
        self.looked_at = Some(mark);
    }

    /// Whether `sheet.md` is as it was when it held nothing to take.
    pub(super) fn is_looked_at(&self, mark: SheetMark) -> bool {
        self.looked_at == Some(mark)
    }

    /// Notes the edit that this tick sees, if there is one.
    pub(super) fn note_seen(&mut self, hash: Option<BlobId>) {
        let (seen, settled) = &mut self.seen_edit;
        *settled = hash.is_some() && *seen == hash;
        *seen = hash;
    }

    /// Whether an edit was the same at the last two ticks.
    pub(super) fn is_settled(&self, hash: &BlobId) -> bool {
        let (seen, settled) = &self.seen_edit;
        *settled && seen.as_ref() == Some(hash)
    }

    /// Gives the run free. Dropping a session does the same.
    pub fn close(&mut self) {
        if let Err(fault) = self.store.unlock(&self.lock) {
            tracing::debug!(%fault, "unlock");
        }
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        self.close();
    }
}
