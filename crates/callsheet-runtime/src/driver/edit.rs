//! A person's edit of `sheet.md` (spec 2.18): told from what the host wrote by its hash, read like a sheet, merged by task,
//! recorded, then acted on. A sheet with errors changes nothing and is left as it is.

use std::collections::BTreeMap;
use std::sync::Arc;

use callsheet_core::issue::{Issue, IssueCode, Repair, RepairCode, Severity, Span};
use callsheet_core::record::{Event, ListAdopted, ListOrigin, LogEntry, VERSION};
use callsheet_core::run::{Run, State};
use callsheet_core::spec::{BlobId, Phase, Slug};
use callsheet_format::reading::{Past, Reading};
use callsheet_format::reply;

use crate::issues::Finding;
use crate::runfiles::{RunFiles, SheetFile};

use super::{DriveFault, Session, World, known};

/// Milliseconds after which a file that changes again is sure to have another mark.
const MARKED_MS: u64 = 100;

/// What a look at the sheet came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Look {
    /// There is nothing to take.
    Nothing,
    /// There is an edit that somebody may still be writing to the disk: nothing starts before it is read.
    Unsettled,
    /// The run is another one by an edit.
    Taken,
}

/// A valid edit of the sheet.
pub(super) struct Edit {
    event: Event,
    /// In lines for a person.
    warnings: Vec<String>,
    hash: BlobId,
    text: Vec<u8>,
}

/// What a changed `sheet.md` comes to.
enum Looked {
    /// It says the same in other words; with what of it was done already.
    Same(Vec<String>),
    /// It is a valid edit; with its warnings in lines for a person.
    Edit(Box<Event>, Vec<String>),
    /// It has errors, here in lines for a person.
    Broken(Vec<String>),
}

/// Whether the sheet of a run holds words of a person that the run has not read.
pub fn is_edited(files: &RunFiles, run: &Run) -> bool {
    files.sheet().ok().flatten().is_some_and(|found| !is_of_host(run, &found, false))
}

/// Whether the host wrote what the file holds: what it was to hold last, or what it held before and was not written over,
/// since the host was killed in between or could not write. A text of before that came into the file later is of a person,
/// who took an edit back or put a task back. `written`: the last one is known to have been on disk. Of a log without
/// renderings nobody can tell.
pub(super) fn is_of_host(run: &Run, found: &SheetFile, written: bool) -> bool {
    let Some((last, at)) = run.last_sheet() else { return true };
    let left_over = || !written && run.has_rendered(&found.hash) && found.changed_ms <= at;
    found.hash == *last || left_over()
}

/// `sheet.md`, if it can be read.
pub(super) fn on_disk(world: &World) -> Option<SheetFile> {
    match world.files.sheet() {
        Ok(found) => found,
        Err(fault) => {
            tracing::warn!(%fault, "the sheet cannot be looked at");
            None
        }
    }
}

impl Session {
    /// Looks at the sheet once a tick: editors write in pieces, so an edit counts once it was the same at two ticks.
    pub(super) fn settle_edit(&mut self, world: &World) {
        let hash = self.unread(world).map(|found| found.hash);
        self.note_seen(hash);
    }

    /// Takes an edit of the sheet that is settled, if there is one.
    pub(super) fn take_settled_edit(&mut self, world: &World) -> Result<Look, DriveFault> {
        let Some(found) = self.unread(world) else { return Ok(Look::Nothing) };
        if !self.is_settled(&found.hash) {
            return Ok(Look::Unsettled);
        }
        Ok(if self.take(world, found)? { Look::Taken } else { Look::Nothing })
    }

    /// Takes an edit of the sheet, if there is one, from a person who says that it is whole.
    pub(super) fn take_edit(&mut self, world: &World) -> Result<(), DriveFault> {
        if let Some(found) = self.unread(world) {
            self.take(world, found)?;
        }
        Ok(())
    }

    /// The sheet, if it holds what a person wrote and the run has not read. A file that was looked at is not read again
    /// before it changes. What is written while a command runs is not a person's (spec 11.11).
    fn unread(&mut self, world: &World) -> Option<SheetFile> {
        if !self.run().may_edit() || world.commands.any() || self.is_looked_at(world.files.sheet_mark()?) {
            return None;
        }
        let found = on_disk(world)?;
        if !self.is_stale(&found) && !self.is_refused(&found.hash) {
            return Some(found);
        }
        if world.clock.now_ms().saturating_sub(found.changed_ms) > MARKED_MS {
            self.note_looked_at(found.mark);
        }
        None
    }

    /// True if it changed the run.
    fn take(&mut self, world: &World, found: SheetFile) -> Result<bool, DriveFault> {
        let (run, hash) = (self.run().clone(), found.hash.clone());
        match self.read_edit(world, &run, found) {
            Ok(Some(edit)) => self.record_edit(world, None, edit),
            Ok(None) => Ok(false),
            Err(DriveFault::Sheet(lines)) => {
                if self.note_refused(hash) {
                    world.notice("the edited sheet has errors; the list is unchanged:");
                    lines.iter().for_each(|line| world.notice(line));
                }
                Ok(false)
            }
            Err(fault) => Err(fault),
        }
    }

    /// What the sheet as it was found is for `run`; `None` if it says the same.
    fn read_edit(&mut self, world: &World, run: &Run, found: SheetFile) -> Result<Option<Edit>, DriveFault> {
        let SheetFile { hash, bytes, .. } = found;
        match look(world, run, &bytes)? {
            Looked::Same(notes) => {
                if !run.has_rendered(&hash) {
                    keep(world, run, &bytes, "the edited sheet changes no task");
                }
                notes.iter().for_each(|line| world.notice(line));
                self.note_read(hash);
                Ok(None)
            }
            Looked::Edit(event, warnings) => Ok(Some(Edit { event: *event, warnings, hash, text: bytes })),
            Looked::Broken(lines) => Err(DriveFault::Sheet(lines)),
        }
    }

    /// The edit that is to be recorded right after `event`, or now.
    ///
    /// # Errors
    /// The edited sheet has errors, or `event` does not fit.
    pub(super) fn edit_after(&mut self, world: &World, event: Option<&Event>) -> Result<Option<Edit>, DriveFault> {
        let mut run = self.run().clone();
        if let Some(event) = event {
            let fact = LogEntry { v: VERSION, n: run.last_fact() + 1, at: run.now_ms(), event: event.clone() };
            run.apply(&fact).map_err(|reject| DriveFault::Invalid(reject.to_string()))?;
        }
        if !run.has_rendered_any() || !run.may_edit() {
            return Ok(None);
        }
        let Some(found) = on_disk(world).filter(|found| !self.is_stale(found)) else { return Ok(None) };
        self.read_edit(world, &run, found)
    }

    /// Records an edit, after `first` if there is one, and says what it did. True if it was taken.
    pub(super) fn record_edit(&mut self, world: &World, first: Option<Event>, edit: Edit) -> Result<bool, DriveFault> {
        let Edit { event, warnings, hash, text } = edit;
        let before = self.run().clone();
        let events: Vec<Event> = first.into_iter().chain([event]).collect();
        let wanted = events.len();
        if self.record(world, events)? < wanted {
            if self.note_unfit(hash) {
                world.notice("the edited sheet does not match the current run; the list is unchanged");
            }
            return Ok(false);
        }
        world.notice(&difference(&before, self.run()));
        warnings.iter().for_each(|line| world.notice(line));
        if !before.has_rendered(&hash) {
            keep(world, self.run(), &text, "the list does not have all words of the edited sheet");
        }
        Ok(true)
    }
}

/// Keeps a person's text beside the sheet that will be written over it, unless that has the same words.
fn keep(world: &World, run: &Run, text: &[u8], why: &str) {
    let words = String::from_utf8_lossy(text);
    if words.split_whitespace().eq(known::sheet_text(run).split_whitespace()) {
        return;
    }
    match world.files.keep_edited(text) {
        Ok(file) => world.notice(&format!("{why}; your text is saved as {file}")),
        // Then the sheet cannot be written over either.
        Err(fault) => tracing::warn!(%fault, "the text of an edit was not kept; the record holds it"),
    }
}

fn look(world: &World, run: &Run, bytes: &[u8]) -> Result<Looked, DriveFault> {
    let text = String::from_utf8_lossy(bytes);
    let settings = run.settings();
    let loaded = world.skills(settings);
    let mut context = known::context(world, run, settings, loaded.catalog.skills().cloned().collect());
    context.past = past(run);
    for task in &mut context.tasks {
        // The sheet shows denied tasks: one that stands there unchanged is not listed again.
        if task.denied {
            Arc::make_mut(task).denied = false;
        }
    }
    let reading = known::read_with(world, &text, &mut context, reply::read_sheet);
    let Reading { value, repairs, mut issues, .. } = reading;
    let spans: BTreeMap<Slug, Span> =
        value.list.tasks().map(|task| task.slug.clone()).zip(value.spans.iter().copied()).collect();
    let prompt = value.prompt.clone();
    let mut list = known::adopt(world, run, value, &loaded, true)?;
    if list.goals.text.trim().is_empty() {
        list.goals.text.clone_from(&run.goals().text);
    }
    issues.extend(running(run, &list, &spans));
    let file = world.files.directory().join("sheet.md").display().to_string();
    if issues.iter().any(|issue| issue.severity == Severity::Error) {
        return Ok(Looked::Broken(issues.iter().map(|issue| line_of(&file, &text, issue)).collect()));
    }
    if prompt.is_some_and(|prompt| prompt.trim() != run.prompt().trim()) {
        world.notice("note: an edit cannot change the request; follow up with `callsheet continue`");
    }
    let done = done_already(&repairs);
    let same = says_the_same(run, &list);
    let told: Vec<Issue> = issues.iter().filter(|issue| !is_of_unchanged(issue, &list)).cloned().collect();
    let told = told.iter().filter(|_| !same);
    let lines = told.map(|issue| line_of(&file, &text, issue)).chain(done).collect();
    if same {
        return Ok(Looked::Same(lines));
    }
    Ok(Looked::Edit(Box::new(adopted(world, bytes, (list, repairs, issues))?), lines))
}

fn adopted(
    world: &World,
    bytes: &[u8],
    (list, repairs, issues): (ListAdopted, Vec<Repair>, Vec<Issue>),
) -> Result<Event, DriveFault> {
    let origin = ListOrigin::Edit(world.store.put_blob(bytes)?);
    Ok(Event::ListAdopted { origin, list, repairs, issues })
}

/// Tells of tasks that stand below Tasks and are done.
fn done_already(repairs: &[Repair]) -> Vec<String> {
    let echoes = repairs.iter().filter(|repair| repair.code == RepairCode::EchoDropped);
    let names: Vec<&str> = echoes.filter_map(|repair| repair.task.as_deref()).collect();
    let line = || format!("note: already done, so not run again: {}", names.join(", "));
    if names.is_empty() { Vec::new() } else { vec![line()] }
}

/// What a text of an earlier moment may show.
fn past(run: &Run) -> Past {
    let dropped = run.tasks().filter(|task| task.state() == State::Dropped);
    let wordings = run.done().map(|task| (task.task.slug.clone(), task.wordings()));
    Past {
        dropped: dropped.map(|task| task.task.clone()).collect(),
        wordings: wordings.filter(|(_, wordings)| !wordings.is_empty()).collect(),
    }
}

/// Whether it is about a task that the edit leaves as it was: that was told when the task came.
fn is_of_unchanged(issue: &Issue, list: &ListAdopted) -> bool {
    let mut unchanged = list.steps.iter().flatten().filter(|planned| planned.unchanged);
    issue.place.task.as_ref().is_some_and(|name| unchanged.any(|planned| planned.task.name == *name))
}

/// What of an edit is not done, since the task has begun.
fn running(run: &Run, list: &ListAdopted, spans: &BTreeMap<Slug, Span>) -> Vec<Issue> {
    let issue = |name: &str, words: &str, span: Span| {
        let finding = Finding {
            code: IssueCode::TaskRunning,
            severity: Severity::Warning,
            phase: Phase::Plan,
            task: None,
            target: name,
            words,
            values: &[],
            allowed: Vec::new(),
        };
        let mut issue = finding.issue();
        issue.place.span = span;
        issue
    };
    let mut issues = Vec::new();
    for task in run.tasks().filter(|task| run.has_begun(&task.task.slug)) {
        let listed = list.steps.iter().flatten().find(|planned| planned.task.slug == task.task.slug);
        let span = spans.get(&task.task.slug).copied().unwrap_or(Span::line(1));
        match listed {
            Some(planned) if planned.unchanged => {}
            Some(_) => issues.push(issue(&task.task.name, "task-running", span)),
            None => issues.push(issue(&task.task.name, "task-running-omitted", span)),
        }
    }
    issues
}

/// Goals, steps and tasks are those of the run.
fn says_the_same(run: &Run, list: &ListAdopted) -> bool {
    let shown = |slug: &&Slug| run.task(slug).is_some_and(|task| !matches!(task.state(), State::Done | State::Dropped));
    let steps = run.steps().iter().map(|step| step.iter().filter(shown).collect::<Vec<_>>());
    let steps: Vec<Vec<&Slug>> = steps.filter(|step| !step.is_empty()).collect();
    let listed: Vec<Vec<&Slug>> =
        list.steps.iter().map(|step| step.iter().map(|planned| &planned.task.slug).collect()).collect();
    let same_plan = list.goals == *run.goals() && steps == listed;
    let same_marks = list.no_longer_relevant == run.no_longer_relevant();
    same_plan && same_marks && list.steps.iter().flatten().all(|planned| planned.unchanged)
}

/// `FILE:LINE:COLUMN: error CODE: words`. The column is that of the item the issue is about, else of the first word.
fn line_of(file: &str, text: &str, issue: &Issue) -> String {
    let (first, last) = (issue.place.span.first.max(1), issue.place.span.last);
    let lines = || (first..).zip(text.lines().skip(usize::try_from(first).unwrap_or(1) - 1));
    let within = || lines().take_while(|(number, _)| *number <= last.max(first));
    let wanted = [&issue.place.item, &issue.place.key].into_iter().flatten();
    let found = wanted.into_iter().find_map(|item| {
        within().find_map(|(number, line)| {
            let at = line.find(item.as_str())?;
            Some((number, line.get(..at)?.chars().count() + 1))
        })
    });
    let (line, column) = found.unwrap_or_else(|| {
        let indent = lines().next().map_or(0, |(_, line)| line.chars().take_while(|c| c.is_whitespace()).count());
        (first, indent + 1)
    });
    let severity = if issue.severity == Severity::Error { "error" } else { "warning" };
    format!("{file}:{line}:{column}: {severity} {}: {issue}", issue.code)
}

/// What an edit did, in one line.
fn difference(before: &Run, after: &Run) -> String {
    let (mut added, mut changed, mut removed) = (0, 0, 0);
    for task in after.tasks() {
        match before.task(&task.task.slug) {
            None => added += 1,
            Some(former) if former.state() == State::Dropped && task.state() != State::Dropped => added += 1,
            Some(former) if former.state() != State::Dropped && task.state() == State::Dropped => removed += 1,
            Some(former) if former.task != task.task => changed += 1,
            Some(_) => {}
        }
    }
    let marks = if before.no_longer_relevant() == after.no_longer_relevant() { "" } else { ", other marks" };
    format!("Edit detected: {added} tasks added, {changed} changed, {removed} removed{marks}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use callsheet_core::issue::Place;

    /// covers: 2.18 edit, 4.8
    #[test]
    fn the_place_of_an_issue_is_where_its_item_stands() {
        let text = "## Tasks\n- **Name** Ä\n  - **References** [W](nö.md)\n";
        let mut issue = Issue {
            code: IssueCode::FileMissing,
            severity: Severity::Error,
            place: Place {
                phase: Phase::Plan,
                section: None,
                task: None,
                item: Some("nö.md".to_owned()),
                key: Some("References".to_owned()),
                span: Span { first: 2, last: 3 },
            },
            what: "it is not there".to_owned(),
            todo: String::new(),
            allowed: Vec::new(),
            raw: None,
        };
        assert!(line_of("sheet.md", text, &issue).starts_with("sheet.md:3:24: error file-missing: "));
        issue.place.item = None;
        assert!(line_of("sheet.md", text, &issue).starts_with("sheet.md:3:7: "));
        issue.place.key = None;
        issue.place.span = Span::line(3);
        assert!(line_of("sheet.md", text, &issue).starts_with("sheet.md:3:3: "));
        issue.place.span = Span { first: 0, last: 0 };
        assert!(line_of("sheet.md", "", &issue).starts_with("sheet.md:1:1: "));
    }
}
