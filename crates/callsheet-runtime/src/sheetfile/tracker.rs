//! What is known of `sheet.md` from one look to the next (spec 2.18): an edit is read once it is whole, reported once,
//! and never written over unread.

use callsheet_core::run::Run;
use callsheet_core::spec::BlobId;

use crate::fault::DriveFault;
use crate::runfiles::{RunFiles, SheetFile, SheetMark, trace_fault};
use crate::services::Services;

use super::edit::{Edit, EditReading, Refused, keep, read_edit};

/// Milliseconds after which a file that changes again is sure to have another mark.
const MARKED_MS: u64 = 100;

/// What the file holds, as far as it was looked at.
#[derive(Default)]
enum Content {
    /// Nothing of a person.
    #[default]
    Host,
    /// An edit that was seen once: an editor may still be writing it.
    Changing(BlobId),
    /// An edit that was the same at two looks.
    Settled(BlobId),
    /// An edit that changes nothing: the host may write over it.
    Unchanged(BlobId),
    /// An edit with errors, which people heard of. It is left as it is until it is fixed.
    Rejected(BlobId),
    /// An edit that does not fit the run as it is, which people heard of. It is tried again.
    Unfit(BlobId),
}

/// What a look at the sheet found.
pub(crate) enum Look {
    /// There is nothing to read.
    Nothing,
    /// There is an edit that somebody may still be writing.
    Unsettled,
    /// There is an edit to read.
    Edit(SheetFile),
}

/// What the host finds before it writes the sheet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    /// The file holds words of a person that nobody has read.
    Edited,
    /// The file holds the text already.
    Current,
    /// The text may be written.
    Free,
}

/// The state of `sheet.md` for one run.
#[derive(Default)]
pub(crate) struct SheetTracker {
    content: Content,
    /// The last rendering is known to be on disk.
    written: bool,
    /// The file as it was when it held nothing to read: it is not opened again before it changes.
    checked: Option<SheetMark>,
    /// It had not changed for so long then that a later change gave it another mark.
    sure: bool,
}

impl SheetTracker {
    /// Looks at the sheet once a tick: editors write in pieces, so an edit counts once it was the same at two ticks.
    pub(crate) fn tick(&mut self, services: &Services, run: &Run) {
        self.doubt();
        let found = self.unread(services, run).map(|found| found.hash);
        self.content = match (std::mem::take(&mut self.content), found) {
            (Content::Changing(seen) | Content::Settled(seen), Some(hash)) if seen == hash => Content::Settled(hash),
            (Content::Unfit(seen), Some(hash)) if seen == hash => Content::Unfit(hash),
            (_, Some(hash)) => Content::Changing(hash),
            (Content::Changing(_) | Content::Settled(_), None) => Content::Host,
            (content, None) => content,
        };
    }

    /// The edit that is settled, if there is one.
    pub(crate) fn settled(&mut self, services: &Services, run: &Run) -> Look {
        let Some(found) = self.look(services, run) else { return Look::Nothing };
        match &self.content {
            Content::Settled(hash) | Content::Unfit(hash) if *hash == found.hash => Look::Edit(found),
            _ => Look::Unsettled,
        }
    }

    /// The sheet, if it holds what a person wrote and the run has not read. What is written while a command runs is not
    /// a person's (spec 11.11).
    pub(crate) fn unread(&mut self, services: &Services, run: &Run) -> Option<SheetFile> {
        self.doubt();
        self.look(services, run)
    }

    /// A file that had just been written is opened again, once a tick and before somebody is asked. What comes in
    /// between would not count before the next tick anyway.
    fn doubt(&mut self) {
        if !self.sure {
            self.checked = None;
        }
    }

    fn look(&mut self, services: &Services, run: &Run) -> Option<SheetFile> {
        if !run.may_edit() || services.commands.any() || self.checked == Some(services.files.sheet_mark()?) {
            return None;
        }
        let found = on_disk(services)?;
        let is_rejected = matches!(&self.content, Content::Rejected(hash) if *hash == found.hash);
        if !is_rejected && !self.is_read(run, &found) {
            return Some(found);
        }
        self.sure = services.clock.now_ms().saturating_sub(found.changed_ms) > MARKED_MS;
        self.checked = Some(found.mark);
        None
    }

    /// The sheet that stands there for `run`, settled or not; `None` if it holds nothing to read.
    pub(crate) fn unread_at_rest(&self, services: &Services, run: &Run) -> Option<SheetFile> {
        if !run.has_rendered_any() || !run.may_edit() {
            return None;
        }
        on_disk(services).filter(|found| !self.is_read(run, found))
    }

    /// Whether the file still holds an edit with errors.
    pub(crate) fn stands_rejected(&self, services: &Services) -> bool {
        let Content::Rejected(hash) = &self.content else { return false };
        on_disk(services).is_some_and(|found| found.hash == *hash)
    }

    /// Reads what a person wrote, for `run`; `None` if it changes nothing; or it has errors.
    ///
    /// # Errors
    /// What the store says.
    pub(crate) fn read(
        &mut self,
        services: &Services,
        run: &Run,
        found: SheetFile,
    ) -> Result<Result<Option<Edit>, Refused>, DriveFault> {
        let (hash, bytes) = (found.hash.clone(), found.bytes.clone());
        match read_edit(services, run, found)? {
            EditReading::Unchanged(notes) => {
                if !run.has_rendered(&hash) {
                    keep(services, run, &bytes, "the edited sheet changes no task");
                }
                notes.iter().for_each(|line| services.notice(line));
                self.content = Content::Unchanged(hash);
                Ok(Ok(None))
            }
            EditReading::Valid(edit) => Ok(Ok(Some(*edit))),
            EditReading::Rejected(refused) => Ok(Err(refused)),
        }
    }

    /// Notes an edit with errors, which is not read again before it changes.
    pub(crate) fn reject(&mut self, services: &Services, hash: BlobId, errors: &[String]) {
        services.notice("the edited sheet has errors; what it changes or lacks does not start before they are fixed:");
        errors.iter().for_each(|line| services.notice(line));
        self.content = Content::Rejected(hash);
    }

    /// Notes an edit that does not fit the run as it is, which is said once.
    pub(crate) fn does_not_fit(&mut self, services: &Services, hash: BlobId) {
        if !matches!(&self.content, Content::Unfit(known) if *known == hash) {
            services.notice("the edited sheet does not match the current run; the list is unchanged");
        }
        self.content = Content::Unfit(hash);
    }

    /// Notes that the run has the edit.
    pub(crate) fn applied(&mut self) {
        self.content = Content::Host;
    }

    /// What stands in the place of a rendering of this hash.
    pub(crate) fn place(&self, services: &Services, run: &Run, rendering: &BlobId) -> Place {
        match on_disk(services) {
            Some(found) if found.hash == *rendering => Place::Current,
            Some(found) if !self.is_read(run, &found) => Place::Edited,
            _ => Place::Free,
        }
    }

    /// Writes a rendering that is recorded.
    pub(crate) fn write(&mut self, files: &RunFiles, text: &str, place: Place) {
        let written = match place {
            Place::Edited => return,
            Place::Current => Ok(()),
            Place::Free => files.write_sheet(text).map(drop),
        };
        self.written = written.is_ok();
        if place == Place::Free && matches!(self.content, Content::Unchanged(_)) {
            // A text that said nothing new then may say something when it stands there again.
            self.content = Content::Host;
        }
        trace_fault(written);
    }

    /// Whether the file holds no words of a person that the run has not read.
    fn is_read(&self, run: &Run, found: &SheetFile) -> bool {
        let is_unchanged = matches!(&self.content, Content::Unchanged(hash) if *hash == found.hash);
        is_unchanged || is_of_host(run, found, self.written)
    }
}

/// Whether the sheet of a run holds words of a person that the run has not read.
pub fn is_edited(files: &RunFiles, run: &Run) -> bool {
    files.sheet().ok().flatten().is_some_and(|found| !is_of_host(run, &found, false))
}

/// Whether the host wrote what the file holds: what it was to hold last, or what it held before and was not written
/// over, since the host was killed in between or could not write. A text of before that came into the file later is of
/// a person, who took an edit back or put a task back. `written`: the last one is known to have been on disk. Of a log
/// without renderings nobody can tell.
fn is_of_host(run: &Run, found: &SheetFile, written: bool) -> bool {
    let Some((last, at)) = run.last_sheet() else { return true };
    let left_over = || !written && run.has_rendered(&found.hash) && found.changed_ms <= at;
    found.hash == *last || left_over()
}

/// `sheet.md`, if it can be read.
fn on_disk(services: &Services) -> Option<SheetFile> {
    match services.files.sheet() {
        Ok(found) => found,
        Err(fault) => {
            tracing::warn!(%fault, "the sheet cannot be looked at");
            None
        }
    }
}
