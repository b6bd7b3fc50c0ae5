//! A person's edit of `sheet.md` (spec 2.18): told from what the host wrote by its hash, read like a sheet, merged by task,
//! recorded, then acted on. A sheet with errors changes nothing and is left as it is.

use std::collections::BTreeMap;
use std::sync::Arc;

use callsheet_core::record::{Event, Fact, ListAdopted, ListOrigin, VERSION};
use callsheet_core::reply::{self, Issue, IssueCode, Past, Phase, Reading, Repair, RepairCode, Severity, Span};
use callsheet_core::run::{Run, State};
use callsheet_core::sheet::{self, TaskForm};
use callsheet_core::spec::{BlobId, Slug};

use crate::issues::Finding;
use crate::runfiles::{RunFiles, SheetFile};

use super::{DriveFault, Session, World, known};

/// Looks that must find a sheet the same at an open gate, 200 milliseconds apart, before it is taken: somebody may be
/// typing a task that would run half said.
const LOOKS_AT_REST: u32 = 15;

/// What a changed `sheet.md` comes to.
enum Looked {
    /// It is as it was written, or not there, or the run takes no edit now.
    Nothing,
    /// It says the same in other words; with what of it was done already.
    Same(BlobId, Vec<String>),
    /// It is a valid edit; with its warnings in lines for a person.
    Edit(Box<Event>, Vec<String>),
    /// It has errors, here in lines for a person.
    Broken(BlobId, Vec<String>),
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
    /// Takes an edit of the sheet, if there is one. True if it changed the run.
    pub(super) fn take_edit(&mut self, world: &World) -> Result<bool, DriveFault> {
        if world.turns.is_had() {
            return Ok(false);
        }
        let Some(found) = on_disk(world).filter(|found| !self.is_stale(found)) else { return Ok(false) };
        let SheetFile { hash, bytes, .. } = found;
        match look(world, self.run(), hash.clone(), &bytes)? {
            Looked::Nothing => Ok(false),
            Looked::Same(hash, notes) => {
                notes.iter().for_each(|line| world.notice(line));
                self.note_read(hash);
                Ok(false)
            }
            Looked::Edit(event, warnings) => {
                let before = self.run().clone();
                let taken = self.record(world, vec![*event])? > 0;
                if taken {
                    world.notice(&difference(&before, self.run()));
                    warnings.iter().for_each(|line| world.notice(line));
                } else if self.note_refused(hash) {
                    world.notice("the edited sheet does not fit the run as it is now; the list stays as it was");
                }
                Ok(taken)
            }
            Looked::Broken(hash, lines) => {
                self.tell_broken(world, hash, &lines);
                Ok(false)
            }
        }
    }

    /// As [`Session::take_edit`], for a file that has been the same for a while: editors save what is half typed.
    pub(super) fn take_settled_edit(&mut self, world: &World) -> Result<bool, DriveFault> {
        let hash = on_disk(world).map(|found| found.hash);
        if self.note_seen(hash) >= LOOKS_AT_REST { self.take_edit(world) } else { Ok(false) }
    }

    /// Tells once, while nothing asks, that an edit was seen and when it is taken, or what is wrong with it. It waits
    /// for the file to be the same twice, since an editor may be writing it.
    pub(super) fn tell_of_edit(&mut self, world: &World) -> Result<(), DriveFault> {
        if world.turns.is_had() {
            return Ok(());
        }
        let found = on_disk(world);
        if self.note_seen(found.as_ref().map(|found| found.hash.clone())) == 0 {
            return Ok(());
        }
        let Some(found) = found.filter(|found| !self.is_stale(found) && !self.is_told(&found.hash)) else {
            return Ok(());
        };
        let SheetFile { hash, bytes, .. } = found;
        match look(world, self.run(), hash.clone(), &bytes)? {
            Looked::Nothing => {}
            Looked::Same(hash, _) => self.note_read(hash),
            Looked::Edit(..) => {
                world.notice("the edited sheet was seen; it is taken when a gate asks or the round ends");
                self.note_told(hash);
            }
            Looked::Broken(hash, lines) => self.tell_broken(world, hash, &lines),
        }
        Ok(())
    }

    /// Tells once what is wrong with an edited sheet.
    fn tell_broken(&mut self, world: &World, hash: BlobId, lines: &[String]) {
        if self.note_refused(hash) {
            world.notice("the edited sheet has errors; the list stays as it was:");
            lines.iter().for_each(|line| world.notice(line));
        }
    }

    /// The edit that is to be recorded right after `event`.
    ///
    /// # Errors
    /// The edited sheet has errors, or `event` does not fit.
    pub(super) fn edit_after(&mut self, world: &World, event: &Event) -> Result<Option<Event>, DriveFault> {
        let mut run = self.run().clone();
        let fact = Fact { v: VERSION, n: run.last_fact() + 1, at: run.now_ms(), event: event.clone() };
        run.apply(&fact).map_err(|reject| DriveFault::Invalid(reject.to_string()))?;
        if !run.has_rendered_any() {
            return Ok(None);
        }
        let Some(found) = on_disk(world).filter(|found| !self.is_stale(found)) else { return Ok(None) };
        let SheetFile { hash, bytes, .. } = found;
        match look(world, &run, hash, &bytes)? {
            Looked::Nothing => Ok(None),
            Looked::Same(hash, notes) => {
                notes.iter().for_each(|line| world.notice(line));
                self.note_read(hash);
                Ok(None)
            }
            Looked::Edit(edit, warnings) => {
                warnings.iter().for_each(|line| world.notice(line));
                Ok(Some(*edit))
            }
            Looked::Broken(_, lines) => Err(DriveFault::Sheet(lines)),
        }
    }
}

fn look(world: &World, run: &Run, hash: BlobId, bytes: &[u8]) -> Result<Looked, DriveFault> {
    if !run.may_edit() {
        return Ok(Looked::Nothing);
    }
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
        return Ok(Looked::Broken(hash, issues.iter().map(|issue| line_of(&file, &text, issue)).collect()));
    }
    if prompt.is_some_and(|prompt| prompt.trim() != run.prompt().trim()) {
        world.notice("note: the request of a run stays as it was given; follow up with `callsheet continue`");
    }
    let done = done_already(&repairs);
    let same = says_the_same(run, &list);
    let told: Vec<Issue> = issues.iter().filter(|issue| !is_of_unchanged(issue, &list)).cloned().collect();
    let event = if same { None } else { Some(adopted(world, bytes, (list, repairs.clone(), issues))?) };
    let lost = lost_words(run, event.as_ref(), &text, &repairs);
    if lost.iter().any(|issue| issue.severity == Severity::Error) {
        return Ok(Looked::Broken(hash, lost.iter().map(|issue| line_of(&file, &text, issue)).collect()));
    }
    let told = told.iter().filter(|_| !same).chain(&lost);
    let lines = told.map(|issue| line_of(&file, &text, issue)).chain(done).collect();
    Ok(match event {
        None => Looked::Same(hash, lines),
        Some(event) => Looked::Edit(Box::new(event), lines),
    })
}

fn adopted(
    world: &World,
    bytes: &[u8],
    (list, repairs, issues): (ListAdopted, Vec<Repair>, Vec<Issue>),
) -> Result<Event, DriveFault> {
    let origin = ListOrigin::Edit(world.store.put_blob(bytes)?);
    Ok(Event::ListAdopted { origin, list, repairs, issues })
}

/// Words of the edited sheet that would be gone once it is written over.
fn lost_words(run: &Run, event: Option<&Event>, edited: &str, repairs: &[Repair]) -> Vec<Issue> {
    let mut after = run.clone();
    if let Some(event) = event {
        let fact = Fact { v: VERSION, n: run.last_fact() + 1, at: run.now_ms(), event: event.clone() };
        if after.apply(&fact).is_err() {
            // It will be refused for that.
            return Vec::new();
        }
    }
    let (before, after, known) = (kept_text(run), kept_text(&after), known_words(run));
    reply::lost(edited, &reply::Kept { before: &before, after: &after, known: &known, repairs })
}

/// The sheet of a run, and what it does not show of its tasks.
fn kept_text(run: &Run) -> String {
    let carried = run.tasks().filter(|task| !task.task.calls.is_empty());
    let carried = carried.map(|task| sheet::render_task(&task.task, TaskForm::Refinement, None));
    carried.fold(known::sheet_text(run), |text, task| format!("{text}\n{task}"))
}

/// What a text of an earlier moment may hold: tasks that were dropped, and names and wordings that tasks had.
fn known_words(run: &Run) -> String {
    let mut words = run.prompt().to_owned();
    for task in run.tasks() {
        let aliases = task.task.aliases.iter().map(Slug::as_str);
        aliases.for_each(|text| words.push_str(&format!("\n{text}")));
        let dropped = Some(&task.task).filter(|_| task.state == State::Dropped);
        for former in task.former.iter().chain(dropped) {
            words.push_str(&format!("\n{}", sheet::render_task(former, TaskForm::Refinement, None)));
        }
    }
    words
}

/// Tells of tasks that stand below Tasks and are done.
fn done_already(repairs: &[Repair]) -> Vec<String> {
    let echoes = repairs.iter().filter(|repair| repair.code == RepairCode::EchoDropped);
    let names: Vec<&str> = echoes.filter_map(|repair| repair.task.as_deref()).collect();
    let line = || format!("note: done already, and not done again: {}", names.join(", "));
    if names.is_empty() { Vec::new() } else { vec![line()] }
}

/// What a text of an earlier moment may show.
fn past(run: &Run) -> Past {
    let dropped = run.tasks().filter(|task| task.state == State::Dropped);
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

/// Errors of an edit that touches a task that runs.
fn running(run: &Run, list: &ListAdopted, spans: &BTreeMap<Slug, Span>) -> Vec<Issue> {
    let issue = |name: &str, words: &str, span: Span| {
        let finding = Finding {
            code: IssueCode::TaskRunning,
            severity: Severity::Error,
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
    for task in run.tasks().filter(|task| task.state == State::Running) {
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
    let shown = |slug: &&Slug| run.task(slug).is_some_and(|task| !matches!(task.state, State::Done | State::Dropped));
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
pub(super) fn difference(before: &Run, after: &Run) -> String {
    let (mut added, mut changed, mut removed) = (0, 0, 0);
    for task in after.tasks() {
        match before.task(&task.task.slug) {
            None => added += 1,
            Some(former) if former.state == State::Dropped && task.state != State::Dropped => added += 1,
            Some(former) if former.state != State::Dropped && task.state == State::Dropped => removed += 1,
            Some(former) if former.task != task.task => changed += 1,
            Some(_) => {}
        }
    }
    let marks = if before.no_longer_relevant() == after.no_longer_relevant() { "" } else { ", other marks" };
    format!("the sheet was edited: {added} tasks added, {changed} changed, {removed} removed{marks}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use callsheet_core::reply::Place;

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
