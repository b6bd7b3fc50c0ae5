//! Names, order and references of a whole list (spec 5.5, 6).

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;
use std::sync::Arc;

use callsheet_core::adopt::is_same_work;
use callsheet_core::issue::{IssueCode, RepairCode, Span};
use callsheet_core::links::link;
use callsheet_core::names::{NameChange, fill_names, folded, slug_of};
use callsheet_core::nouns::{Slug, Step, Task, TaskList};
use callsheet_core::placement::place;

use crate::reading::{Diagnostics, KnownTask, ReadContext};
use crate::reply::references::{Producer, Producers, Scope, check_value, named_files, one_run};

use super::format::label;
use super::repeated::{Repeated, writes};
use super::task::Draft;
use super::{Kind, for_each};

/// Drafts by section of the text, then by step of the plan.
pub type Steps = Vec<Vec<Draft>>;

/// The tasks of a list.
pub struct Settled {
    /// By step of the plan.
    pub steps: Vec<Step>,
    /// Lines of each task, in the order of the steps.
    pub spans: Vec<Span>,
    /// Tasks of an edit that appear as they ended.
    pub ended: BTreeSet<Slug>,
}

/// Fills in names for the whole list, assigns each task its step in the plan, then checks references.
pub(super) fn settle(steps: Steps, kind: Kind, context: &ReadContext, notes: &mut Diagnostics) -> Settled {
    let mut steps = steps;
    names(&mut steps, context, notes);
    if matches!(kind, Kind::Iteration | Kind::Continuation) {
        steps = placed(steps, context);
    }
    references(steps, kind, context, notes)
}

/// The drafts of a reply by the steps of the plan (spec 2.11).
fn placed(steps: Steps, context: &ReadContext) -> Steps {
    let known = |draft: &Draft| {
        let known = context.tasks.find(&draft.task.slug).filter(|known| known.task.slug == draft.task.slug)?;
        usize::try_from(known.step?).ok()
    };
    let sections: Vec<Vec<Option<usize>>> = steps.iter().map(|step| step.iter().map(known).collect()).collect();
    let places = place(&sections, context.steps).into_iter().flatten();
    let mut out: Steps = Vec::new();
    for (draft, at) in steps.into_iter().flatten().zip(places) {
        if out.len() <= at {
            out.resize(at + 1, Vec::new());
        }
        if let Some(step) = out.get_mut(at) {
            step.push(draft);
        }
    }
    out
}

/// Fills in names, and marks tasks that share a written name.
fn names(steps: &mut Steps, context: &ReadContext, notes: &mut Diagnostics) {
    let mut list = TaskList::default();
    for step in steps.iter_mut() {
        list.steps
            .push(Step { tasks: step.iter_mut().map(|draft| std::mem::replace(&mut draft.task, no_task())).collect() });
    }
    let open: Vec<&Task> = context.tasks.iter().filter(|known| !known.done).map(|known| &known.task).collect();
    let slugs = |list: &TaskList| -> Vec<Option<Slug>> {
        list.tasks().map(|task| (!task.name.is_empty()).then(|| slug_of(&task.name))).collect()
    };
    let mut written = slugs(&list);
    let dropped: Vec<&Task> = context.past.dropped.iter().collect();
    let changes = fill_names(&mut list, &open, &dropped, &context.taken);
    let mut counts: BTreeMap<&Slug, usize> = BTreeMap::new();
    // If a name occurs twice, one of them gets a number, unless one is a known task.
    if open.is_empty() && !changes.contains(&NameChange::Numbered) {
        written.clear();
    }
    for slug in written.iter().flatten() {
        *counts.entry(slug).or_default() += 1;
    }
    let twice = |slug: &Slug| counts.get(slug).is_some_and(|count| *count > 1);
    let found = written.iter().map(|slug| slug.as_ref().filter(|slug| twice(slug)).cloned());
    let repeated: Vec<Option<Slug>> = found.chain(std::iter::repeat(None)).take(changes.len()).collect();
    let drafts = steps.iter_mut().flatten().zip(repeated);
    let tasks = list.steps.into_iter().flat_map(|step| step.tasks);
    for ((draft, repeated), (task, change)) in drafts.zip(tasks.zip(changes)) {
        draft.repeated = repeated;
        draft.task = task;
        let name = draft.task.name.as_str();
        match change {
            NameChange::Kept => continue,
            NameChange::Filled => {
                notes.set_task(Some(name));
                notes.repair(RepairCode::NameFilled, Span::line(draft.span.first), "", name);
            }
            NameChange::Numbered => {
                // The number follows the written name.
                let before = name.rsplit_once(" (").map_or(name, |(before, _)| before);
                notes.set_task(Some(name));
                notes.repair(RepairCode::NameDeduplicated, draft.name_span, before, name);
            }
        }
        notes.set_task(None);
    }
    let mut named: Vec<(Span, &str)> =
        steps.iter().flatten().map(|draft| (draft.span, draft.task.name.as_str())).collect();
    named.sort_unstable();
    notes.name_tasks(&named);
}

/// A placeholder in a draft while its task is elsewhere.
fn no_task() -> Task {
    Task {
        name: String::new(),
        slug: Slug::new(""),
        aliases: Vec::new(),
        need: String::new(),
        skill: None,
        for_each: None,
        references: Vec::new(),
        expected: String::new(),
        approval: false,
        review: None,
        calls: Vec::new(),
        extra: String::new(),
    }
}

/// What tasks of the list and finished tasks outside it provide for references.
fn producers(steps: &Steps, kind: Kind, context: &ReadContext) -> Producers {
    let mut producers = Vec::new();
    let listed: BTreeSet<&Slug> = steps.iter().flatten().map(|draft| &draft.task.slug).collect();
    for (number, step) in steps.iter().enumerate() {
        for draft in step {
            let writer = writes(draft, context);
            producers.push(Producer {
                slug: Some(draft.task.slug.clone()),
                aliases: draft.task.aliases.clone(),
                step: u32::try_from(number).ok(),
                files: if writer { named_files(&draft.task) } else { Vec::new() },
                writer,
                repeated: draft.repeated.clone(),
                ..Producer::default()
            });
        }
    }
    // Tasks of the plan that a reply does not list stay. In an edit, missing tasks are removed, except done ones.
    let stays = |known: &&KnownTask| known.done || kind != Kind::Sheet && !listed.contains(&known.task.slug);
    producers.extend(context.tasks.iter().filter(stays).map(|known| Producer {
        slug: Some(known.task.slug.clone()),
        aliases: known.task.aliases.clone(),
        step: known.step.filter(|_| !known.done),
        done: known.done,
        headings: known.headings.clone(),
        details: known.details.clone(),
        tokens: known.tokens,
        writer: known.writer,
        files: if known.writer && !known.done { named_files(&known.task) } else { Vec::new() },
        ..Producer::default()
    }));
    producers.into_iter().collect()
}

/// Slugs of tasks that are no longer in the plan: removed ones, and those that an edit leaves out.
fn removed(steps: &Steps, kind: Kind, context: &ReadContext) -> BTreeSet<Slug> {
    let slugs = |task: &Task| std::iter::once(task.slug.clone()).chain(task.aliases.clone());
    let listed: BTreeSet<&Slug> = steps.iter().flatten().map(|draft| &draft.task.slug).collect();
    let goes = |known: &&KnownTask| kind == Kind::Sheet && !known.done && !listed.contains(&known.task.slug);
    let left_out = context.tasks.iter().filter(goes).map(|known| &known.task);
    let before = context.past.dropped.iter().filter(|task| !listed.contains(&task.slug));
    before.chain(left_out).flat_map(slugs).collect()
}

/// The task of the plan that a draft of an edit shows exactly as it ended.
fn as_it_ended<'a>(draft: &Draft, context: &'a ReadContext) -> Option<&'a Task> {
    let known = context.tasks.find(&draft.task.slug).filter(|known| !known.done).map(|known| &known.task);
    let known = known.or_else(|| context.past.dropped.iter().find(|task| task.slug == draft.task.slug))?;
    (draft.state && asks_the_same(draft, known)).then_some(known)
}

/// Whether a draft asks for the same as a task that the host wrote into the sheet: the same words, with the same links.
pub(super) fn asks_the_same(draft: &Draft, known: &Task) -> bool {
    let written = draft.references.iter().flat_map(|(value, _)| value.split_whitespace());
    let links: Vec<String> = known.references.iter().map(link).collect();
    known.skill == draft.task.skill
        && folded(&known.need) == folded(&draft.task.need)
        && (known.expected.is_empty() || folded(&known.expected) == folded(&draft.task.expected))
        && known.for_each == draft.task.for_each
        && written.eq(links.iter().flat_map(|link| link.split_whitespace()))
}

fn references(steps: Steps, kind: Kind, context: &ReadContext, notes: &mut Diagnostics) -> Settled {
    let sections = u32::try_from(steps.len().max(context.steps)).unwrap_or(u32::MAX);
    let refers = steps.iter().flatten().any(|draft| !draft.references.is_empty());
    let producers = if refers { producers(&steps, kind, context) } else { Producers::default() };
    let mut scope = Scope::of_sheet(Arc::new(producers), sections);
    scope.removed = removed(&steps, kind, context);
    scope.listed = steps.iter().map(Vec::len).sum();
    let mut ended = BTreeSet::new();
    let mut untouched: Vec<Span> = Vec::new();
    let mut out = Vec::new();
    let mut spans = Vec::new();
    let mut handed: Vec<Handed> = Vec::new();
    let mut repeated = (kind != Kind::Sheet).then(|| Repeated::of(context));
    let mut at = 0;
    for (number, step) in steps.into_iter().enumerate() {
        let mut tasks = Vec::new();
        if let Some(repeated) = &mut repeated {
            repeated.begin(&step, context);
        }
        let of_step = Handed::of(&step, context);
        for mut draft in step {
            let skill = context.catalog.iter().find(|skill| Some(&skill.name) == draft.task.skill.as_ref());
            scope.own = Some(at);
            scope.step = u32::try_from(number).unwrap_or(u32::MAX);
            // Every call includes all references (spec 10.1).
            let called = draft.task.approval || !draft.task.calls.is_empty();
            scope.one_run = called || skill.is_some_and(|skill| one_run(&skill.policy));
            notes.set_section(Some(&draft.section));
            notes.set_task(Some(&draft.task.name));
            match as_it_ended(&draft, context).filter(|_| kind == Kind::Sheet) {
                Some(known) => {
                    draft.task.references.clone_from(&known.references);
                    ended.insert(draft.task.slug.clone());
                    untouched.push(draft.span);
                }
                None => {
                    let written_before = handed.iter().any(|step| step.writes);
                    check_references(&mut draft, written_before, &scope, context, notes);
                }
            }
            at += 1;
            if repeated.as_mut().is_some_and(|repeated| repeated.take(&mut draft, context)) {
                continue;
            }
            denied_again(&draft, context, notes);
            spans.push(draft.span);
            tasks.push(draft.task);
        }
        if context.steps > 0 || !tasks.is_empty() {
            handed.push(of_step);
            out.push(Step { tasks });
        }
    }
    if let Some(repeated) = repeated {
        repeated.note(notes);
    }
    let (out, handed) = without_gaps(out, handed, context.steps);
    unread(&out, &handed, notes);
    notes.set_section(None);
    notes.set_task(None);
    // An ended, unchanged task needs no check.
    untouched.sort_unstable();
    notes.retract(&untouched);
    Settled { steps: out, spans, ended }
}

/// Reads and checks what a task links: the list of its items, then its references. `written_before` says whether an
/// earlier task may write files.
fn check_references(
    draft: &mut Draft,
    written_before: bool,
    scope: &Scope,
    context: &ReadContext,
    notes: &mut Diagnostics,
) {
    let mut values = draft.references.iter();
    if draft.task.for_each.is_some()
        && let Some(source) = values.next()
    {
        draft.task.references =
            for_each::source(&mut draft.task, source, (&draft.fields, written_before), scope, context, notes);
    }
    for (value, line) in values {
        draft.task.references.extend(check_value(value, *line, scope, context, notes));
    }
}

/// Steps of the plan keep their positions. A new step without tasks is removed, and so are empty steps at the end.
fn without_gaps(steps: Vec<Step>, handed: Vec<Handed>, of_plan: usize) -> (Vec<Step>, Vec<Handed>) {
    let last = steps.iter().rposition(|step| !step.tasks.is_empty()).map_or(0, |last| last + 1);
    let stays = |at: usize, step: &Step| at < last && (at < of_plan || !step.tasks.is_empty());
    let steps = steps.into_iter().zip(handed).enumerate();
    steps.filter(|(at, (step, _))| stays(*at, step)).map(|(_, both)| both).unzip()
}

/// What is reported about a step whose output nobody reads.
struct Handed {
    section: Rc<str>,
    span: Span,
    /// Whether one of its tasks may change files. Changes remain even if nobody reads the output.
    writes: bool,
}

impl Handed {
    fn of(step: &[Draft], context: &ReadContext) -> Self {
        Self {
            section: step.first().map(|draft| Rc::clone(&draft.section)).unwrap_or_default(),
            span: step.iter().map(|draft| draft.span).reduce(Span::to).unwrap_or_default(),
            writes: step.iter().any(|draft| writes(draft, context)),
        }
    }
}

/// Warns about steps that only read and whose output no task of the list reads, except the last step (spec 4.8
/// `output-unread`).
fn unread(steps: &[Step], handed: &[Handed], notes: &mut Diagnostics) {
    let references = steps.iter().flat_map(|step| &step.tasks).flat_map(|task| &task.references);
    let read: BTreeSet<&Slug> = references.filter_map(|reference| reference.target.producer()).collect();
    let earlier = steps.len().saturating_sub(1);
    for (step, handed) in steps.iter().zip(handed).take(earlier).filter(|(_, handed)| !handed.writes) {
        let is_read = |task: &Task| std::iter::once(&task.slug).chain(&task.aliases).any(|slug| read.contains(slug));
        let Some(first) = step.tasks.first().filter(|_| !step.tasks.iter().any(is_read)) else { continue };
        notes.set_section(Some(&handed.section));
        notes.set_task(Some(&first.name));
        let facts = [("name", first.name.as_str()), ("slug", first.slug.as_str())];
        notes.push(notes.issue(IssueCode::OutputUnread, "", handed.span, &facts).warning());
    }
}

/// Reports a denied task that returns with the same Skill, need and references (spec 2.11).
fn denied_again(draft: &Draft, context: &ReadContext, notes: &mut Diagnostics) {
    let is_denied = context.tasks.iter().any(|known| known.denied);
    if !is_denied {
        return;
    }
    if context.tasks.iter().any(|known| known.denied && is_same_work(&known.task, &draft.task)) {
        notes.push(notes.issue(IssueCode::DeniedAgain, "", draft.span, &[]).key(label::NEED));
    }
}
