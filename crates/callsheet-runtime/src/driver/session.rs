//! A run under a lock, and its files for people.

use std::sync::Arc;

use callsheet_core::events::{self, Event, LogEntry};
use callsheet_core::nouns::{BlobId, RunId};
use callsheet_core::record::OrderId;
use callsheet_core::run::Run;

use crate::fault::DriveFault;
use crate::ports::{Lock, Signal, Store};
use crate::replay::replay;
use crate::services::Services;
use crate::sheetfile::{Place, sheet_text};

use super::views::{ViewWriter, Views};
use super::writer::RunWriter;

/// Rendering the sheet may take at most one part in this many of the time. Before a question, and at the end, it is
/// always written.
const SHEET_SHARE: u64 = 20;

/// The only writer of one run, and the run's files for people.
pub struct Session {
    writer: RunWriter,
    pub(super) views: Views,
}

impl Session {
    /// Takes the run's lock and folds its log, which is empty for a new run.
    ///
    /// # Errors
    /// If another process writes the run, or the log cannot be read.
    pub fn open(store: Arc<dyn Store>, id: &RunId) -> Result<Self, DriveFault> {
        Self::open_known(store, id, Run::new())
    }

    /// Like `open`, but for a caller who has already folded the log: folds only what was added since.
    ///
    /// # Errors As [`Session::open`].
    pub fn open_known(store: Arc<dyn Store>, id: &RunId, known: Run) -> Result<Self, DriveFault> {
        Ok(Self { writer: RunWriter::open(store, id, known)?, views: Views::default() })
    }

    /// Folds a run's log without writing, for viewing it.
    ///
    /// # Errors
    /// If the log cannot be read.
    pub fn view(store: &Arc<dyn Store>, id: &RunId) -> Result<(Run, Vec<LogEntry>), DriveFault> {
        replay(store, id)
    }

    /// The machine.
    pub fn run(&self) -> &Run {
        self.writer.run()
    }

    /// The machine of a finished session.
    pub(crate) fn into_run(mut self) -> Run {
        self.writer.take_run()
    }

    /// The machine, and what is known about its files.
    pub(super) fn run_and_views(&mut self) -> (&Run, &mut Views) {
        (self.writer.run(), &mut self.views)
    }

    /// Entries of the log.
    pub fn entries(&self) -> u64 {
        self.writer.entries()
    }

    /// Its lock.
    pub fn lock(&self) -> &Lock {
        self.writer.lock()
    }

    /// Folds events and appends them in one transaction. Returns how many were accepted: an event that the machine
    /// rejects is late or repeated, and is discarded with a trace.
    ///
    /// # Errors
    /// If the store refuses. The machine is then ahead of the log, and the session must be dropped.
    pub fn record(&mut self, services: &Services, events: Vec<Event>) -> Result<usize, DriveFault> {
        self.record_for(services, events, &[])
    }

    /// Like `record`, but for orders of persons.
    ///
    /// # Errors As [`Session::record`].
    pub(crate) fn record_for(
        &mut self,
        services: &Services,
        events: Vec<Event>,
        orders: &[OrderId],
    ) -> Result<usize, DriveFault> {
        let taken = self.note_for(services, events, orders);
        self.flush(services)?;
        Ok(taken)
    }

    /// Folds events for the next [`Session::flush`]. Before that, nothing outside this process may happen because of
    /// them. Returns how many were accepted, as [`Session::record`] does.
    pub(crate) fn note(&mut self, services: &Services, events: Vec<Event>) -> usize {
        self.note_for(services, events, &[])
    }

    fn note_for(&mut self, services: &Services, events: Vec<Event>, orders: &[OrderId]) -> usize {
        let (before, refused) = (self.writer.noted(), self.writer.run().refused_moves().len());
        for event in events {
            if let Err(reject) = self.writer.note_for(services.clock.now_ms(), event, orders) {
                tracing::debug!(%reject, "fact dropped");
            }
        }
        for refused in self.writer.run().refused_moves().iter().skip(refused) {
            services.notice(&format!("{refused}, which no task may do; this is a bug, please report it"));
        }
        self.writer.noted() - before
    }

    /// Appends the noted events in one transaction, then shows them to viewers.
    ///
    /// # Errors
    /// As [`Session::record`].
    pub(crate) fn flush(&mut self, services: &Services) -> Result<(), DriveFault> {
        let entries = self.writer.flush()?;
        if entries.is_empty() {
            return Ok(());
        }
        for fact in &entries {
            services.observer.see(&Signal::LogEntry { fact, run: self.writer.run() });
            self.views.stale.note(&fact.event);
        }
        self.views.stale.note_reviews(self.writer.run());
        Ok(())
    }

    /// Folds and appends one fact without telling viewers.
    ///
    /// # Errors
    /// If the machine rejects it or the store refuses.
    pub fn record_quietly(&mut self, at: u64, event: Event) -> Result<(), DriveFault> {
        let n = self.entries() + 1;
        self.writer.note(at, event).map_err(|reject| DriveFault::Replay { n, reject })?;
        self.writer.flush()?;
        Ok(())
    }

    /// Folds entries that another process recorded.
    ///
    /// # Errors
    /// An entry does not fit.
    pub(crate) fn follow(&mut self, entries: &[LogEntry]) -> Result<(), DriveFault> {
        self.writer.follow(entries)
    }

    /// Updates the files for people. The content of a sheet is recorded before it is written, and a sheet that contains
    /// a person's words is left alone (spec 2.18).
    pub(crate) fn write_views(&mut self, services: &Services) -> Result<(), DriveFault> {
        self.flush(services)?;
        if let Some(writer) = &self.views.writer {
            writer.wait();
        }
        self.views.stale.take_tasks(self.writer.run()).iter().for_each(|view| view.write(services));
        self.write_sheet(services)
    }

    /// Like [`Session::write_views`], but writes task files in the background, and the run does not wait for them.
    pub(crate) fn write_views_beside(&mut self, services: &Arc<Services>) -> Result<(), DriveFault> {
        self.flush(services)?;
        let views = self.views.stale.take_tasks(self.writer.run());
        if !views.is_empty() {
            if self.views.writer.is_none() {
                self.views.writer = ViewWriter::begin(services);
            }
            let left = match &self.views.writer {
                Some(writer) => writer.write(views).err().unwrap_or_default(),
                None => views,
            };
            left.iter().for_each(|view| view.write(services));
        }
        let begun = services.clock.now_ms();
        if begun < self.views.sheet_again_ms {
            return Ok(());
        }
        self.write_sheet(services)?;
        let ended = services.clock.now_ms();
        self.views.sheet_again_ms = ended.saturating_add(ended.saturating_sub(begun).saturating_mul(SHEET_SHARE));
        Ok(())
    }

    fn write_sheet(&mut self, services: &Services) -> Result<(), DriveFault> {
        if !self.views.stale.take_sheet(self.writer.run()) {
            return Ok(());
        }
        let text = sheet_text(self.writer.run());
        let hash = BlobId::of(text.as_bytes());
        let place = self.views.sheet.place(services, self.writer.run(), &hash);
        if place == Place::Edited {
            self.views.stale.note_sheet();
            return Ok(());
        }
        if self.run().last_sheet().is_none_or(|(last, _)| *last != hash) {
            self.record(services, vec![events::SheetRendered { hash }.into()])?;
        }
        self.views.sheet.write(&services.files, &text, place);
        Ok(())
    }

    /// Records the rendering of the sheet, for a host whose log is written later than its caller goes on:
    /// [`Session::write_noted`] writes the files then. Unless somebody is asked or the run ends, this takes only its part
    /// of the time.
    pub(super) fn note_views(&mut self, services: &Services, now: bool) -> Result<(), DriveFault> {
        self.flush(services)?;
        let begun = services.clock.now_ms();
        if !now && begun < self.views.sheet_again_ms || !self.views.stale.take_sheet(self.writer.run()) {
            return Ok(());
        }
        let text = sheet_text(self.writer.run());
        let hash = BlobId::of(text.as_bytes());
        if self.run().last_sheet().is_none_or(|(last, _)| *last != hash) {
            self.record(services, vec![events::SheetRendered { hash }.into()])?;
        }
        self.views.noted = Some(text);
        let ended = services.clock.now_ms();
        self.views.sheet_again_ms = ended.saturating_add(ended.saturating_sub(begun).saturating_mul(SHEET_SHARE));
        Ok(())
    }

    /// Writes the files for people. Everything that they show is in the log.
    pub(super) fn write_noted(&mut self, services: &Services) {
        self.views.stale.take_tasks(self.writer.run()).iter().for_each(|view| view.write(services));
        let Some(text) = self.views.noted.take() else { return };
        let place = self.views.sheet.place(services, self.writer.run(), &BlobId::of(text.as_bytes()));
        self.views.sheet.write(&services.files, &text, place);
        if place == Place::Edited {
            self.views.stale.note_sheet();
        }
    }

    /// Notes that the files may lack what the log says, because another process wrote the log.
    pub(super) fn doubt_views(&mut self) {
        self.views.stale.note_all(self.writer.run());
    }

    /// Releases the run. Dropping a session does the same.
    pub fn close(&mut self) {
        self.writer.close();
    }
}
