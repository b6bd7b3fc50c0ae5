//! A person's edit of `sheet.md` (spec 2.18). It is read like a sheet and matched with the tasks of the run. A sheet
//! with errors changes nothing.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use callsheet_core::events::{self, Event, ListOrigin, LogEntry};
use callsheet_core::issue::{Issue, IssueCode, Repair, RepairCode, Severity, Span};
use callsheet_core::nouns::{BlobId, Phase, Slug};
use callsheet_core::record::{AdoptedList, GateKind};
use callsheet_core::run::{Effect, Run, State};
use callsheet_format::reading::{KnownTask, Past, Reading};
use callsheet_format::reply;

use crate::fault::{DriveFault, InputFault};
use crate::issues::Finding;
use crate::reading;
use crate::reading::known::TaskIndex;
use crate::reading::list::reconcile;
use crate::services::Services;

use super::report::{counts, difference, line_of, place_of};
use super::text::{meant, sheet_text};

/// A valid edit of the sheet.
pub(crate) struct Edit {
    /// The event to record.
    pub(crate) event: Event,
    /// Warnings, as lines for a person.
    warnings: Vec<String>,
    /// The hash of the file.
    pub(crate) hash: BlobId,
    text: Vec<u8>,
}

/// The result of reading a changed `sheet.md`.
pub(super) enum EditReading {
    /// It says the same in other words. Holds the tasks that were already done.
    Unchanged(Vec<String>),
    /// A valid edit.
    Valid(Box<Edit>),
    /// It has errors.
    Rejected(Refused),
}

/// An edit with errors.
#[derive(Debug)]
pub(crate) struct Refused {
    /// The errors, as lines for a person.
    pub(crate) lines: Vec<String>,
    /// Tasks that have not begun and that the edit changes or removes.
    pub(crate) touched: BTreeSet<Slug>,
}

impl Edit {
    /// Reports the effect of the edit, and saves its text if the list does not contain all of it.
    pub(crate) fn report(&self, services: &Services, before: &Run, after: &Run) {
        services.notice(&difference(before, after));
        self.warnings.iter().for_each(|line| services.notice(line));
        if let Some(line) = asks_later(before, after) {
            services.notice(&line);
        }
        if !before.has_rendered(&self.hash) {
            keep(services, after, &self.text, "tasks that are done or running keep their words");
        }
    }
}

/// What a person must know if an edit closed an approval that waited, because other tasks come first.
fn asks_later(before: &Run, after: &Run) -> Option<String> {
    let asked = |run: &Run| run.asking().iter().flat_map(|asked| tasks_of(asked).to_vec()).collect::<BTreeSet<Slug>>();
    let waits = asked(after);
    let goes_on = |slug: &Slug| after.task(slug).is_some_and(|task| !task.state().is_ended());
    let later: Vec<Slug> = asked(before).into_iter().filter(|slug| !waits.contains(slug) && goes_on(slug)).collect();
    let first = after.to_begin().filter_map(Effect::task).filter(|slug| !later.contains(slug));
    let first: BTreeSet<&str> = first.map(Slug::as_str).collect();
    let id = after.id().filter(|_| !later.is_empty() && !first.is_empty())?;
    let names = |names: Vec<&str>| names.join(", ");
    Some(format!(
        "note: the approval of {} is asked again after {}; if no process drives the run: callsheet resume {id}",
        names(later.iter().map(Slug::as_str).collect()),
        names(first.into_iter().collect()),
    ))
}

/// The tasks for which a person is asked for approval.
fn tasks_of(asked: &Effect) -> &[Slug] {
    let Effect::AskApproval(gate) = asked else { return &[] };
    match &gate.kind {
        GateKind::BeforeRun(tasks) => tasks,
        GateKind::BeforeApply { task, .. } | GateKind::BeforeCall { task, .. } => std::slice::from_ref(task),
    }
}

/// Saves a person's text beside the sheet before the sheet is overwritten, unless the new sheet has all of its words.
pub(super) fn keep(services: &Services, run: &Run, text: &[u8], why: &str) {
    if has_all_words(&sheet_text(run), &String::from_utf8_lossy(text)) {
        return;
    }
    match services.files.keep_edited(text) {
        Ok(file) => services.notice(&format!(
            "note: {why}, so some words of your edit are not in the sheet any more; your whole text is in {file}: copy what \
             you miss into a task that has not run, or delete that file"
        )),
        // Then the sheet cannot be overwritten either.
        Err(fault) => tracing::warn!(%fault, "the text of an edit was not kept; the record holds it"),
    }
}

/// Whether a text has all words of another one, each as often.
fn has_all_words(text: &str, other: &str) -> bool {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    text.split_whitespace().for_each(|word| *counts.entry(word).or_default() += 1);
    other.split_whitespace().all(|word| match counts.get_mut(word) {
        Some(count) if *count > 0 => {
            *count -= 1;
            true
        }
        _ => false,
    })
}

/// An edit that was read for a run. Nothing about it has been recorded or reported yet.
struct Understood {
    list: AdoptedList,
    repairs: Vec<Repair>,
    issues: Vec<Issue>,
    prompt: Option<String>,
}

impl Understood {
    fn of(services: &Services, run: &Run, text: &str) -> Result<Self, DriveFault> {
        let settings = run.settings();
        let loaded = services.skills(settings);
        // The sheet shows denied tasks. A denied task that is still in the sheet unchanged is not listed again.
        let tasks = TaskIndex::default().of(run);
        let tasks: Vec<_> = tasks.iter().map(|task| Arc::new(KnownTask { denied: false, ..task.clone() })).collect();
        let catalog = loaded.catalog.skills().cloned().collect();
        let mut context = reading::list_context(services, run, tasks.into(), settings, catalog);
        context.past = past(run);
        let reading = reading::read_with(services, &meant(run, text), &mut context, reply::read_sheet);
        let Reading { value, repairs, mut issues, .. } = reading;
        let spans: BTreeMap<Slug, Span> =
            value.list.tasks().map(|task| task.slug.clone()).zip(value.spans.iter().copied()).collect();
        let prompt = value.prompt.clone();
        let mut list = reconcile(services, run, value, &loaded, true)?;
        if list.goals.text.trim().is_empty() {
            list.goals.text.clone_from(&run.goals().text);
        }
        issues.extend(running(run, &list, &spans));
        Ok(Self { list, repairs, issues, prompt })
    }

    fn has_errors(&self) -> bool {
        self.issues.iter().any(|issue| issue.severity == Severity::Error)
    }

    /// Issues without those of unchanged tasks.
    fn news(&self) -> impl Iterator<Item = &Issue> {
        self.issues.iter().filter(|issue| !is_of_unchanged(issue, &self.list))
    }
}

/// What the sheet, as it was read, means for `run`.
pub(super) fn read_edit(services: &Services, run: &Run, bytes: Vec<u8>) -> Result<EditReading, DriveFault> {
    let hash = BlobId::of(&bytes);
    let text = String::from_utf8_lossy(&bytes);
    let understood = Understood::of(services, run, &text)?;
    let file = services.files.directory().join("sheet.md").display().to_string();
    if understood.has_errors() {
        let lines = understood.issues.iter().map(|issue| line_of(&file, &text, issue)).collect();
        return Ok(EditReading::Rejected(Refused { lines, touched: touched(run, &understood.list) }));
    }
    if understood.prompt.as_ref().is_some_and(|prompt| prompt.trim() != run.prompt().trim()) {
        services.notice("note: an edit cannot change the request; follow up with `callsheet continue`");
    }
    let same = says_the_same(run, &understood.list);
    let reported = understood.news().filter(|_| !same);
    let done = done_already(&understood.repairs);
    let lines = reported.map(|issue| line_of(&file, &text, issue)).chain(done).collect();
    if same {
        return Ok(EditReading::Unchanged(lines));
    }
    let Understood { list, repairs, issues, .. } = understood;
    let event = adopted(services, &bytes, (list, repairs, issues))?;
    Ok(EditReading::Valid(Box::new(Edit { event, warnings: lines, hash, text: bytes })))
}

/// Tasks that have not begun and that a list changes or removes.
fn touched(run: &Run, list: &AdoptedList) -> BTreeSet<Slug> {
    let stays =
        |slug: &Slug| list.steps.iter().flatten().any(|planned| planned.unchanged && planned.task.slug == *slug);
    let open = run.tasks().filter(|task| !task.state().is_ended() && task.state() != State::Running);
    open.map(|task| task.task.slug.clone()).filter(|slug| !stays(slug)).collect()
}

/// What an edit of a sheet would do.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EditPreview {
    /// Issues, each with its line and column, counted from 1.
    pub issues: Vec<(u32, usize, Issue)>,
    /// How many tasks it adds, changes and removes. `None` if it has errors or says nothing new.
    pub changes: Option<(usize, usize, usize)>,
}

/// Reads an edit of the sheet of `run` without applying it.
///
/// # Errors
/// The store's fault.
pub fn preview_edit(services: &Services, run: &Run, text: &str) -> Result<EditPreview, DriveFault> {
    let mut run = run.clone();
    if !run.may_edit() {
        // The edit applies when the run is resumed.
        let resumed = next(&run, events::RunResumed { settings: run.settings().clone() }.into());
        run.apply(&resumed).map_err(InputFault::NotResumable)?;
    }
    let understood = Understood::of(services, &run, text)?;
    let placed = |issue: &Issue| {
        let (line, column) = place_of(text, issue);
        (line, column, issue.clone())
    };
    let has_errors = understood.has_errors();
    let mut issues: Vec<_> = if has_errors {
        understood.issues.iter().map(placed).collect()
    } else {
        understood.news().map(placed).collect()
    };
    issues.sort_by_key(|(line, column, _)| (*line, *column));
    if has_errors || says_the_same(&run, &understood.list) {
        return Ok(EditPreview { issues, changes: None });
    }
    let Understood { list, repairs, issues: all, .. } = understood;
    let origin = ListOrigin::Edit(BlobId::of(text.as_bytes()));
    let mut after = run.clone();
    let entry = next(&run, events::ListAdopted { origin, list, repairs, issues: all }.into());
    let changes = after.apply(&entry).is_ok().then(|| counts(&run, &after));
    Ok(EditPreview { issues, changes })
}

/// The next entry, for a trial run.
fn next(run: &Run, event: Event) -> LogEntry {
    LogEntry::new(run.last_fact() + 1, run.now_ms(), event)
}

fn adopted(
    services: &Services,
    bytes: &[u8],
    (list, repairs, issues): (AdoptedList, Vec<Repair>, Vec<Issue>),
) -> Result<Event, DriveFault> {
    let origin = ListOrigin::Edit(services.store.put_blob(bytes)?);
    Ok(events::ListAdopted { origin, list, repairs, issues }.into())
}

/// Reports tasks that are listed below Tasks although they are done.
fn done_already(repairs: &[Repair]) -> Vec<String> {
    let echoes = repairs.iter().filter(|repair| repair.code == RepairCode::EchoDropped);
    let names: Vec<&str> = echoes.filter_map(|repair| repair.task.as_deref()).collect();
    let line = || format!("note: already done, so not run again: {}", names.join(", "));
    if names.is_empty() { Vec::new() } else { vec![line()] }
}

/// What a text from an earlier moment may show.
fn past(run: &Run) -> Past {
    let dropped = run.tasks().filter(|task| task.state() == State::Dropped);
    let wordings = run.done().map(|task| (task.task.slug.clone(), task.wordings()));
    Past {
        dropped: dropped.map(|task| task.task.clone()).collect(),
        wordings: wordings.filter(|(_, wordings)| !wordings.is_empty()).collect(),
    }
}

/// Whether an issue is about a task that the edit does not change. That was reported when the task was added.
fn is_of_unchanged(issue: &Issue, list: &AdoptedList) -> bool {
    let mut unchanged = list.steps.iter().flatten().filter(|planned| planned.unchanged);
    issue.place.task.as_ref().is_some_and(|name| unchanged.any(|planned| planned.task.name == *name))
}

/// The parts of an edit that are not applied, because the task has begun.
fn running(run: &Run, list: &AdoptedList, spans: &BTreeMap<Slug, Span>) -> Vec<Issue> {
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

/// Whether goals, steps and tasks equal those of the run.
fn says_the_same(run: &Run, list: &AdoptedList) -> bool {
    // Done tasks are read as they are and not listed.
    let open = |slug: &&Slug| run.task(slug).is_some_and(|task| task.state() != State::Done);
    let steps: Vec<Vec<&Slug>> = run.steps().iter().map(|step| step.iter().filter(open).collect()).collect();
    let mut listed: Vec<Vec<&Slug>> =
        list.steps.iter().map(|step| step.iter().map(|planned| &planned.task.slug).collect()).collect();
    listed.resize(listed.len().max(steps.len()), Vec::new());
    let same_plan = list.goals == *run.goals() && steps == listed;
    let same_marks = list.beside.no_longer_relevant == run.no_longer_relevant();
    same_plan && same_marks && list.steps.iter().flatten().all(|planned| planned.unchanged)
}
