//! What is known about `sheet.md` between checks (spec 2.18). An edit is read when it is complete, reported once, and
//! never overwritten unread.

use callsheet_core::nouns::BlobId;
use callsheet_core::run::Run;

use crate::fault::DriveFault;
use crate::runfiles::{RunFiles, SheetFile, SheetMark, trace_fault};
use crate::services::Services;

use super::edit::{Edit, EditReading, Refused, keep, read_edit};

/// Milliseconds after which a further change certainly gives the file another mark.
const MARKED_MS: u64 = 100;

/// The known content of the file.
#[derive(Default)]
enum Content {
    /// Only text that the host wrote.
    #[default]
    Host,
    /// An edit that was seen once. An editor may still be writing it.
    Changing(BlobId),
    /// An edit that was the same in two checks.
    Settled(BlobId),
    /// An edit that changes nothing, so the host may overwrite it.
    Unchanged(BlobId),
    /// An edit with errors, which were reported. It stays until it is fixed.
    Rejected(BlobId),
    /// An edit that does not fit the current run, which was reported. It is tried again.
    Unfit(BlobId),
}

/// The result of checking the sheet.
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
    /// The file contains text of a person that nobody has read.
    Edited,
    /// The file already contains the text.
    Current,
    /// The text may be written.
    Free,
}

/// The state of `sheet.md` for one run.
#[derive(Default)]
pub(crate) struct SheetTracker {
    content: Content,
    /// Whether the last rendering is known to be on disk.
    written: bool,
    /// The mark of the file when it contained nothing to read. It is not opened again until it changes.
    checked: Option<SheetMark>,
    /// Whether it had been unchanged long enough at that time that a later change gives it another mark.
    sure: bool,
}

impl SheetTracker {
    /// Checks the sheet once per tick. Editors write in pieces, so an edit counts when it was the same in two ticks.
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

    /// The finished edit, if there is one.
    pub(crate) fn settled(&mut self, services: &Services, run: &Run) -> Look {
        let Some(found) = self.look(services, run) else { return Look::Nothing };
        match &self.content {
            Content::Settled(hash) | Content::Unfit(hash) if *hash == found.hash => Look::Edit(found),
            _ => Look::Unsettled,
        }
    }

    /// The sheet, if it contains text of a person that the run has not read. Text written while a command runs does not
    /// count as a person's (spec 11.11).
    pub(crate) fn unread(&mut self, services: &Services, run: &Run) -> Option<SheetFile> {
        self.doubt();
        self.look(services, run)
    }

    /// Makes a file that was just written be opened again, once per tick and before somebody is asked. Anything in
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

    /// The current sheet of `run`, finished or not. `None` if it contains nothing to read.
    pub(crate) fn unread_at_rest(&self, services: &Services, run: &Run) -> Option<SheetFile> {
        if !run.has_rendered_any() || !run.may_edit() {
            return None;
        }
        on_disk(services).filter(|found| !self.is_read(run, found))
    }

    /// Whether the file still contains an edit with errors.
    pub(crate) fn stands_rejected(&self, services: &Services) -> bool {
        let Content::Rejected(hash) = &self.content else { return false };
        on_disk(services).is_some_and(|found| found.hash == *hash)
    }

    /// Reads a person's text for `run`. `None` if it changes nothing or has errors.
    ///
    /// # Errors
    /// The store's fault.
    pub(crate) fn read(
        &mut self,
        services: &Services,
        run: &Run,
        bytes: Vec<u8>,
    ) -> Result<Result<Option<Edit>, Refused>, DriveFault> {
        let hash = BlobId::of(&bytes);
        match read_edit(services, run, bytes.clone())? {
            EditReading::Unchanged(notes) => {
                if !run.has_rendered(&hash) {
                    keep(services, run, &bytes, "the edit changes no task");
                }
                notes.iter().for_each(|line| services.notice(line));
                self.content = Content::Unchanged(hash);
                Ok(Ok(None))
            }
            EditReading::Valid(edit) => Ok(Ok(Some(*edit))),
            EditReading::Rejected(refused) => Ok(Err(refused)),
        }
    }

    /// Notes an edit with errors, which is not read again until it changes.
    pub(crate) fn reject(&mut self, services: &Services, hash: BlobId, errors: &[String]) {
        services.notice(
            "the edited sheet has errors; the tasks that it changes or removes do not start until you fix them:",
        );
        errors.iter().for_each(|line| services.notice(line));
        self.content = Content::Rejected(hash);
    }

    /// Whether this was the last edit with errors.
    pub(crate) fn has_rejected(&self, text: &BlobId) -> bool {
        matches!(&self.content, Content::Rejected(hash) if hash == text)
    }

    /// Notes an edit that does not fit the current run. This is reported once.
    pub(crate) fn does_not_fit(&mut self, services: &Services, hash: BlobId) {
        if !matches!(&self.content, Content::Unfit(known) if *known == hash) {
            services.notice("the edited sheet does not match the current run; the plan is unchanged");
        }
        self.content = Content::Unfit(hash);
    }

    /// Notes that the edit was applied to the run.
    pub(crate) fn applied(&mut self) {
        self.content = Content::Host;
    }

    /// What is in the place of a rendering with this hash.
    pub(crate) fn place(&self, services: &Services, run: &Run, rendering: &BlobId) -> Place {
        match on_disk(services) {
            Some(found) if found.hash == *rendering => Place::Current,
            Some(found) if !self.is_read(run, &found) => Place::Edited,
            _ => Place::Free,
        }
    }

    /// Writes a recorded rendering.
    pub(crate) fn write(&mut self, files: &RunFiles, text: &str, place: Place) {
        let written = match place {
            Place::Edited => return,
            Place::Current => Ok(()),
            Place::Free => files.write_sheet(text).map(drop),
        };
        self.written = written.is_ok();
        if place == Place::Free && matches!(self.content, Content::Unchanged(_)) {
            // A text that said nothing new then may say something if it appears again.
            self.content = Content::Host;
        }
        trace_fault(written);
    }

    /// Whether the file contains no text of a person that the run has not read.
    fn is_read(&self, run: &Run, found: &SheetFile) -> bool {
        let is_unchanged = matches!(&self.content, Content::Unchanged(hash) if *hash == found.hash);
        is_unchanged || is_of_host(run, found, self.written)
    }
}

/// Whether the sheet of a run contains text of a person that the run has not read.
pub fn is_edited(files: &RunFiles, run: &Run) -> bool {
    files.sheet().ok().flatten().is_some_and(|found| is_of_person(run, &found))
}

/// Whether this content of the sheet of a run is a person's that the run has not read.
pub fn is_of_person(run: &Run, found: &SheetFile) -> bool {
    !is_of_host(run, found, false)
}

/// Whether the host wrote the content of the file: either the last rendering, or an earlier one that was not
/// overwritten because the host was killed in between or could not write. An earlier rendering that came into the file
/// later is from a person, who undid an edit or put a task back. `written` means that the last rendering is known to
/// have been on disk. For a log without renderings, nobody can tell.
fn is_of_host(run: &Run, found: &SheetFile, written: bool) -> bool {
    let Some((last, at)) = run.last_sheet() else { return true };
    let left_over = || !written && run.has_rendered(&found.hash) && found.changed_ms <= at;
    found.hash == *last || left_over()
}

/// `sheet.md`, if it is readable.
fn on_disk(services: &Services) -> Option<SheetFile> {
    match services.files.sheet() {
        Ok(found) => found,
        Err(fault) => {
            tracing::warn!(%fault, "the sheet cannot be looked at");
            None
        }
    }
}
