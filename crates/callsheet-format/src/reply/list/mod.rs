//! Reads task lists: plan, sheet file, iteration, continuation (spec 3.4-3.6).

mod blocks;
mod calls;
mod checklist;
mod collect;
mod echo;
mod for_each;
mod format;
mod group;
mod joined;
mod one_line;
mod relevant;
mod removed;
mod repeated;
mod skill;
mod steps;
mod task;
mod unread;

use std::collections::BTreeSet;

use callsheet_core::issue::{IssueCode, Span};
use callsheet_core::nouns::{Goals, Phase, Slug, TaskList};
use callsheet_core::record::Beside;
use collect::{Collected, collect};

use crate::markdown::{Document, Prepare};
use crate::reading::{Diagnostics, ReadContext, Reading};
pub use checklist::{Checklist, Lost, is_checklist, is_keyed, write_checklist};
pub use format::{ITERATION, PLAN, SHEET, TASK_LABELS, label};

/// Which list is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Plan,
    Sheet,
    Iteration,
    Continuation,
}

impl Kind {
    fn phase(self) -> Phase {
        match self {
            Self::Plan | Self::Sheet => Phase::Plan,
            Self::Iteration => Phase::Iterate,
            Self::Continuation => Phase::Continue,
        }
    }
}

/// The largest section number in a person's edit that counts as written.
const MAX_STEPS: usize = 10_000;

/// A task list and what accompanies it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ListReply {
    /// Goals and steps, with names and slugs filled in. The steps are those of the plan: in a reply to an existing
    /// plan, and in an edit, steps without a listed task are empty.
    pub list: TaskList,
    /// `Original prompt` of a sheet file. Ignored in replies.
    pub prompt: Option<String>,
    /// `Removed tasks`, canonical targets under `No longer relevant`, and `Issues with the tasks`.
    pub beside: Beside,
    /// Tasks of an edit that appear with the `State` in which they ended. They stay in it unless their words changed.
    pub ended: BTreeSet<Slug>,
    /// Lines of each task, in sheet order.
    pub spans: Vec<Span>,
}

/// Reads a plan reply (spec 3.4).
pub fn read_plan(text: &str, context: &ReadContext) -> Reading<ListReply> {
    let (reply, notes) = read(text, Kind::Plan, context);
    notes.finish(reply)
}

/// Reads a sheet file, saved or handwritten, with keys (spec 3.4) or as a checklist (spec 3.15).
pub fn read_sheet(text: &str, context: &ReadContext) -> Reading<ListReply> {
    let (reply, notes) = read(text, Kind::Sheet, context);
    notes.finish(reply)
}

/// Reads an iteration reply (spec 3.5). Empty goals keep the former goals.
pub fn read_iteration(text: &str, context: &ReadContext) -> Reading<ListReply> {
    let (reply, notes) = read(text, Kind::Iteration, context);
    notes.finish(reply)
}

/// Reads a continuation reply (spec 3.6).
pub fn read_continuation(text: &str, context: &ReadContext) -> Reading<ListReply> {
    let (reply, notes) = read(text, Kind::Continuation, context);
    notes.finish(reply)
}

/// What a plan or sheet asks about the world. Answers may raise more lookups, such as about a repaired path, so ask
/// again with the answers until none is left.
pub fn lookups(kind: super::ReplyKind, text: &str, context: &ReadContext) -> Vec<crate::reading::Lookup> {
    use super::ReplyKind;
    let kind = match kind {
        ReplyKind::Plan => Kind::Plan,
        ReplyKind::Sheet => Kind::Sheet,
        ReplyKind::Iteration => Kind::Iteration,
        ReplyKind::Continuation => Kind::Continuation,
        _ => return Vec::new(),
    };
    read(text, kind, context).1.wanted()
}

fn read(text: &str, kind: Kind, context: &ReadContext) -> (ListReply, Diagnostics) {
    let checklist = (kind == Kind::Sheet).then(|| checklist::read(text, kind, context)).flatten();
    checklist.unwrap_or_else(|| read_keyed(text, kind, context))
}

/// Reads a list whose tasks have keys.
fn read_keyed(text: &str, kind: Kind, context: &ReadContext) -> (ListReply, Diagnostics) {
    let mut notes = Diagnostics::new(kind.phase(), context.strict).by_hand(kind == Kind::Sheet);
    let format = match kind {
        Kind::Plan => &PLAN,
        Kind::Sheet => &SHEET,
        Kind::Iteration | Kind::Continuation => &ITERATION,
    };
    let prepare = Prepare { copies: &context.prompts, length_stop: context.length_stop, by_hand: kind == Kind::Sheet };
    let document = Document::read(text, format, prepare, &mut notes);
    if document.is_empty() {
        let variant = if kind == Kind::Sheet { "sheet" } else { "" };
        notes.push(notes.issue(IssueCode::EmptyReply, variant, document.span(0..document.len()), &[]));
        return (ListReply::default(), notes);
    }
    let collected = collect(&document, kind, context, &mut notes);
    let end = collected.end;
    let plan_complete = marked(&document, format::COMPLETE, end, &mut notes);
    let plan_continues = marked(&document, format::CONTINUES, end, &mut notes);
    let mut removed = Vec::new();
    for (text, first) in &collected.removed {
        removed::read(text, *first, context, &mut removed, &mut notes);
    }
    // A review that only says that the plan is complete, or what to remove from it, adds nothing.
    let adds_nothing = matches!(kind, Kind::Iteration | Kind::Continuation) && (plan_complete || !removed.is_empty());
    missing(&document, &collected, adds_nothing, (kind, context), &mut notes);
    cut_off(&document, &collected, kind, &mut notes);
    let irrelevant = collected.irrelevant.as_ref();
    let no_longer_relevant =
        irrelevant.map(|(text, span)| relevant::targets(text, *span, context, &mut notes)).unwrap_or_default();
    let mut own;
    let context = if no_longer_relevant.is_empty() {
        context
    } else {
        own = context.clone();
        own.restricted.extend(no_longer_relevant.iter().cloned());
        &own
    };
    let is_edit = kind == Kind::Sheet && context.steps > 0;
    let mut steps: steps::Steps = Vec::new();
    for step in &collected.steps {
        if is_edit {
            // Sections keep their written numbers, so that a deleted section does not move others.
            let written = step.number.and_then(|number| usize::try_from(number).ok()).unwrap_or(0);
            steps.resize(steps.len().max(written.saturating_sub(1).min(MAX_STEPS)), Vec::new());
        }
        let read = |raw| task::read(raw, &step.title, &document, kind, context, &mut notes);
        steps.push(step.tasks.iter().map(read).collect());
    }
    if kind != Kind::Plan {
        steps = echo::drop_echoes(steps, is_edit, context, &mut notes);
    }
    let steps::Settled { steps, spans, ended } = steps::settle(steps, kind, context, &mut notes);
    let listed: BTreeSet<&Slug> = steps.iter().flat_map(|step| &step.tasks).map(|task| &task.slug).collect();
    removed.retain(|removal| !listed.contains(&removal.task));
    if kind == Kind::Sheet {
        unread::left_out(!context.tasks.is_empty(), &mut notes);
        unread::swallowed(&document, &mut notes);
        unread::commented(text, &document, &mut notes);
    }
    let text = collected.goals.map(|(text, _)| text).unwrap_or_default();
    let reply = ListReply {
        list: TaskList { goals: Goals { text, plan_complete, plan_continues }, steps },
        prompt: collected.prompt.filter(|prompt| kind == Kind::Sheet && !prompt.is_empty()),
        beside: Beside { removed, no_longer_relevant, remarks: collected.remarks },
        ended,
        spans,
    };
    (reply, notes)
}

/// Whether the text that was read contains a marker, outside an echoed prompt.
fn marked(document: &Document, marker: &str, end: usize, notes: &mut Diagnostics) -> bool {
    use crate::markdown::Heading;
    let mut found = false;
    let mut from = 0;
    for prompt in document.all(Heading::OriginalPrompt).filter(|section| section.line < end) {
        found |= document.take_marker(marker, from..prompt.line, notes);
        from = prompt.body.end;
    }
    found | document.take_marker(marker, from..end.max(from), notes)
}

/// Issues about whole sections (spec 3.4-3.6), and about a reply that was cut off. `adds_nothing` means that no list is
/// needed.
fn missing(
    document: &Document,
    collected: &Collected<'_>,
    adds_nothing: bool,
    (kind, context): (Kind, &ReadContext),
    notes: &mut Diagnostics,
) {
    let whole = document.span(0..document.len());
    let last = Span::line(whole.last);
    if context.length_stop && !collected.cut && !document.ended {
        notes.push(notes.issue(IssueCode::ReplyTruncated, "", last, &[]));
    }
    if !collected.has_tasks && adds_nothing {
        return;
    }
    if !collected.has_tasks {
        notes.push(notes.issue(IssueCode::TasksMissing, "", whole, &[]));
    } else if collected.steps.is_empty() {
        match kind {
            Kind::Plan => notes.push(notes.issue(IssueCode::NoTasks, "", whole, &[])),
            // An edit may remove all tasks from the list.
            Kind::Sheet if context.tasks.is_empty() && notes.issues().is_empty() => {
                notes.push(notes.issue(IssueCode::NoTasks, "", whole, &[]).warning());
            }
            Kind::Sheet => {}
            // Prose in the place of tasks says nothing certain about what is left.
            _ if !collected.says_done => notes.push(notes.issue(IssueCode::TasksMissing, "prose", whole, &[])),
            _ => {}
        }
    }
    if collected.goals.is_none() {
        let issue = notes.issue(IssueCode::GoalsMissing, "", Span::line(1), &[]);
        match kind {
            Kind::Plan | Kind::Sheet => notes.push(issue.warning()),
            // If nothing is left to do, the goals do not change.
            Kind::Continuation if !collected.is_empty_list() => notes.push(issue),
            Kind::Continuation | Kind::Iteration => {}
        }
    }
}

/// Whether a list was cut off, whatever the provider said: its last task has only the first of the keys that all tasks
/// before it have. At least two complete tasks must come before it.
fn cut_off(document: &Document, collected: &Collected<'_>, kind: Kind, notes: &mut Diagnostics) {
    let tasks: Vec<&group::RawTask<'_>> = collected.steps.iter().flat_map(|step| &step.tasks).collect();
    let Some((last, before)) = tasks.split_last().filter(|(_, before)| before.len() >= 2) else { return };
    let keys = |task: &group::RawTask<'_>| task.labels.iter().filter_map(|label| label.known()).collect::<Vec<_>>();
    let (Some(whole), cut) = (before.first().map(|task| keys(task)), keys(last)) else { return };
    let alike = before.iter().all(|task| keys(task) == whole) && whole.contains(&label::EXPECTED);
    let ends = !collected.cut && !document.has_text(last.span.last as usize..collected.end);
    let told = notes.issues().iter().any(|issue| issue.code == IssueCode::ReplyTruncated);
    if kind != Kind::Sheet
        && !told
        && alike
        && ends
        && cut.len() + 2 <= whole.len()
        && whole.starts_with(&cut)
        && !cut.contains(&label::EXPECTED)
    {
        let issue = notes.issue(IssueCode::ReplyTruncated, "task", last.span, &[]);
        notes.push(issue);
    }
}
