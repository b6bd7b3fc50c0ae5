//! Turns sections into steps of labelled tasks (spec 3.4, 4.4 `heading-missing`, `section-implied`,
//! `section-renumbered`, `example-dropped`, `prompt-echo-dropped`).

use std::ops::Range;
use std::rc::Rc;

use callsheet_core::issue::{IssueCode, RepairCode, Span};
use callsheet_core::names::heading_key;

use crate::markdown::{Document, Heading, Section};
use crate::reading::{Diagnostics, ReadContext};
use crate::reply::references::is_none;

use super::format::{TASK_LABELS, label};
use super::group::{RawTask, hint, holds_keys, tasks};
use super::unread::{self, unread};
use super::{Kind, joined, one_line};

/// A step before its tasks are read.
#[derive(Clone, Debug)]
pub struct RawStep<'a> {
    /// Section heading, for issues.
    pub title: Rc<str>,
    /// The number in it.
    pub number: Option<u32>,
    /// Its tasks.
    pub tasks: Vec<RawTask<'a>>,
}

/// The content of the sections.
#[derive(Clone, Debug, Default)]
pub struct Collected<'a> {
    /// Text of the goals and its lines.
    pub goals: Option<(String, Span)>,
    /// Whether there was a Tasks section or a task section.
    pub has_tasks: bool,
    /// Whether the Tasks section says that nothing is left to do.
    pub says_done: bool,
    /// Steps in order, none empty.
    pub steps: Vec<RawStep<'a>>,
    /// Body of `Issues with the tasks`.
    pub remarks: String,
    /// Bodies of `Removed tasks`, each with its first line.
    pub removed: Vec<(String, u32)>,
    /// Body of `No longer relevant`, and where the section is.
    pub irrelevant: Option<(String, Span)>,
    /// Body of `Original prompt`.
    pub prompt: Option<String>,
    /// 0-based line where reading ended.
    pub end: usize,
    /// Whether an invented example was dropped.
    pub cut: bool,
}

impl Collected<'_> {
    /// Whether there is a list that says that nothing is left to do.
    pub fn is_empty_list(&self) -> bool {
        self.has_tasks && self.says_done && self.steps.is_empty()
    }
}

/// Collects goals and steps from a document.
pub fn collect<'a>(
    document: &'a Document<'_>,
    kind: Kind,
    context: &'a ReadContext,
    notes: &mut Diagnostics,
) -> Collected<'a> {
    let mut collector =
        Collector { document, kind, context, out: Collected { end: document.len(), ..Collected::default() } };
    collector.out.prompt = document.all(Heading::OriginalPrompt).next().map(|section| body(document, section).0);
    collector.outside(document.preamble.clone(), notes);
    let run = collector.choose_run(notes);
    collector.others(&run, notes);
    collector.out
}

/// The maximum number of Tasks sections that are examined. More of them mean that the model is in a loop.
const LISTS: usize = 8;

struct Collector<'a, 'd> {
    document: &'a Document<'d>,
    kind: Kind,
    context: &'a ReadContext,
    out: Collected<'a>,
}

/// Steps read from one Tasks section and what follows it.
pub(super) struct Run<'a> {
    pub(super) sections: Range<usize>,
    pub(super) steps: Vec<RawStep<'a>>,
    text: String,
}

impl<'a> Collector<'a, '_> {
    /// Reads the task list that counts, and notes the others.
    fn choose_run(&mut self, notes: &mut Diagnostics) -> Range<usize> {
        let sections = &self.document.sections;
        let mut starts: Vec<usize> = positions(sections, Heading::Tasks);
        if starts.is_empty() {
            starts.extend(positions(sections, Heading::TaskSection).first());
            if let Some(section) = starts.first().and_then(|at| sections.get(*at)) {
                notes.repair(RepairCode::HeadingMissing, section.heading_span(), "", "## Tasks");
            }
        }
        let mut chosen: Option<Run<'a>> = None;
        for start in starts.into_iter().take(LISTS) {
            let mut scratch = notes.fork();
            let before = chosen.as_ref().map_or(0, |run| run.steps.len());
            let run = self.run(start, before, &mut scratch);
            match &mut chosen {
                Some(first) if !first.steps.is_empty() => {
                    if self.ended_by_example(first) {
                        break;
                    }
                    if joined::goes_on(self.document, first, &run) {
                        notes.absorb(scratch);
                        notes.repair(RepairCode::ListsJoined, self.span_of(start), "## Tasks", "");
                        first.sections.end = run.sections.end;
                        first.steps.extend(run.steps);
                        continue;
                    }
                    if self.is_left_over(&run) {
                        notes.repair(RepairCode::ListsJoined, self.span_of(start), "## Tasks", "");
                        continue;
                    }
                    let span = self.span_of(start);
                    notes.push(notes.issue(IssueCode::DuplicateSection, "two-lists", span, &[]));
                    continue;
                }
                // A list without tasks before the real one is part of an echoed prompt, or a second section.
                Some(_) if run.steps.is_empty() => {
                    let span = self.span_of(start);
                    notes.push(notes.issue(IssueCode::DuplicateSection, "", span, &[("title", "Tasks")]));
                    continue;
                }
                _ => {}
            }
            notes.absorb(scratch);
            chosen = Some(run);
        }
        let Some(run) = chosen else { return 0..0 };
        if !run.steps.is_empty() && self.ended_by_example(&run) {
            self.cut(run.sections.end, notes);
        }
        self.out.has_tasks = true;
        self.out.says_done = is_none(&run.text);
        self.out.steps = run.steps;
        run.sections
    }

    /// Whether a list is only a heading at the very end of a complete reply, or is followed only by a copy of the
    /// prompt.
    fn is_left_over(&self, run: &Run<'_>) -> bool {
        let Some([heading, behind @ ..]) = self.document.sections.get(run.sections.clone()) else { return false };
        let whole = !self.context.length_stop || self.document.ended;
        let last = run.sections.end == self.document.sections.len();
        let of_prompt = |section: &Section| section.heading.is_none() && is_of_prompt(&section.title);
        whole && last && behind.iter().all(of_prompt) && !self.document.has_text(heading.body.clone())
    }

    fn span_of(&self, at: usize) -> Span {
        self.document.sections.get(at).map(Section::heading_span).unwrap_or_default()
    }

    fn after_prompt(&self, at: usize) -> bool {
        positions(&self.document.sections, Heading::OriginalPrompt).first().is_some_and(|prompt| *prompt < at)
    }

    fn ended_by_example(&self, run: &Run<'a>) -> bool {
        let next = self.document.sections.get(run.sections.end).and_then(|section| section.heading);
        self.kind != Kind::Sheet && next == Some(Heading::OriginalPrompt)
    }

    /// `example-dropped`: reading ends at this section.
    fn cut(&mut self, at: usize, notes: &mut Diagnostics) {
        let Some(section) = self.document.sections.get(at) else { return };
        let span = self.document.span(section.line..self.document.len());
        notes.repair(RepairCode::ExampleDropped, span, &self.document.text(section.line..self.document.len()), "");
        self.out.end = section.line;
        self.out.cut = true;
    }

    /// The sections from `start` up to the next Tasks or Original prompt section, as steps. `before` steps come before
    /// them.
    fn run(&self, start: usize, before: usize, notes: &mut Diagnostics) -> Run<'a> {
        let sections = &self.document.sections;
        let ends = |section: &Section| matches!(section.heading, Some(Heading::Tasks | Heading::OriginalPrompt));
        let end = sections.iter().skip(start + 1).position(ends).map_or(sections.len(), |at| start + 1 + at);
        let mut run = Run { sections: start..end, steps: Vec::new(), text: String::new() };
        let mut number = before;
        for section in sections.get(start..end).unwrap_or_default() {
            notes.set_section(Some(&section.title));
            match section.heading {
                Some(Heading::Tasks) => {
                    self.implied(section, before, &mut run, notes);
                    number = before + run.steps.len();
                }
                Some(Heading::TaskSection) => {
                    number += 1;
                    self.step(section, number, &mut run, notes);
                }
                None => {
                    number += usize::from(self.stray(section, &mut run, notes));
                }
                _ => {}
            }
            notes.set_section(None);
        }
        run
    }

    /// Tasks directly below `## Tasks`. Each is a separate step.
    fn implied(&self, section: &Section, before: usize, run: &mut Run<'a>, notes: &mut Diagnostics) {
        let pieces = self.document.pieces(section.body.clone(), TASK_LABELS);
        if !holds_keys(&pieces) && is_none(&self.document.text(section.body.clone())) {
            run.text = self.document.text(section.body.clone());
            return;
        }
        let found = one_line::tasks(&pieces, self.context, notes);
        for task in found.unwrap_or_else(|| tasks(pieces, self.kind, notes)) {
            let title = format!("Task section {}", before + run.steps.len() + 1);
            notes.repair(RepairCode::SectionImplied, Span::line(task.span.first), "", format_args!("### {title}"));
            run.steps.push(RawStep { title: title.into(), number: None, tasks: vec![task] });
        }
        if run.steps.is_empty() {
            run.text = self.document.text(section.body.clone());
        }
    }

    fn step(&self, section: &Section, number: usize, run: &mut Run<'a>, notes: &mut Diagnostics) {
        let title = format!("Task section {number}");
        // A heading without a number means the same. If there is a plan, its steps have the numbers.
        let other = section.number.filter(|written| u32::try_from(number).ok() != Some(*written));
        if other.is_some() && self.context.steps == 0 {
            notes.repair(RepairCode::SectionRenumbered, section.heading_span(), &section.title, &title);
        }
        let pieces = self.document.pieces(section.body.clone(), TASK_LABELS);
        let tasks = tasks(pieces, self.kind, notes);
        if tasks.is_empty() {
            let text = self.document.text(section.body.clone());
            if !is_none(&text) {
                // Words that are not a task say nothing certain about what is left.
                run.text.push_str(&text);
                if self.kind == Kind::Sheet {
                    return;
                }
            }
            let facts = [("section", section.title.as_str())];
            let issue = notes.issue(IssueCode::SectionEmpty, "", section.span(), &facts).warning();
            notes.push(issue);
            return;
        }
        run.steps.push(RawStep { title: section.title.as_str().into(), number: section.number, tasks });
    }

    /// Handles an unrecognised heading, which ends the section before it. If it contains tasks, it is a separate step.
    fn stray(&self, section: &'a Section, run: &mut Run<'a>, notes: &mut Diagnostics) -> bool {
        let pieces = self.document.pieces(section.body.clone(), TASK_LABELS);
        if !holds_keys(&pieces) {
            let top = self.document.sections.get(run.sections.start);
            let inside = top.is_some_and(|top| section.level > top.level);
            let text = self.document.text(section.body.clone());
            match self.kind {
                // Text below the list belongs to it; another section does not.
                Kind::Sheet if inside => {
                    unread(self.kind, section.heading_span(), &section.title, notes);
                    tasks(pieces, self.kind, notes);
                    return false;
                }
                _ if inside && !is_none(&text) => run.text.push_str(&text),
                _ => {}
            }
            self.document.trim_prose(section.line..section.body.end, notes);
            return false;
        }
        let mut found = tasks(pieces, self.kind, notes);
        notes.repair(RepairCode::ListShape, section.heading_span(), &section.title, "");
        if let [only] = found.as_mut_slice() {
            if only.hint.is_none() {
                only.hint = hint(section.title.as_str().into());
            }
            only.span = only.span.to(section.heading_span());
        }
        run.steps.push(RawStep { title: section.title.as_str().into(), number: None, tasks: found });
        true
    }

    /// Handles goals, remarks and everything that is not a task list.
    fn others(&mut self, run: &Range<usize>, notes: &mut Diagnostics) {
        let document = self.document;
        let mut goals: Vec<(String, Span, Range<usize>)> = Vec::new();
        for (at, section) in document.sections.iter().enumerate() {
            if section.line >= self.out.end {
                break;
            }
            let inside = run.contains(&at);
            match section.heading {
                Some(Heading::OriginalPrompt) if self.kind != Kind::Sheet => {
                    let text = document.text(section.body.clone());
                    notes.repair(RepairCode::PromptEchoDropped, section.span(), &text, "");
                }
                Some(Heading::Goals) => goals.push((body(document, section).0, section.span(), section.body.clone())),
                Some(Heading::Issues) => self.out.remarks = body(document, section).0,
                Some(Heading::RemovedTasks) => {
                    let first = document.span(section.body.clone()).first;
                    self.out.removed.push((document.text(section.body.clone()), first));
                }
                Some(Heading::NoLongerRelevant) => {
                    self.out.irrelevant = Some((document.text(section.body.clone()), section.span()));
                    self.host_owned(section, notes);
                }
                Some(Heading::CompletedTasks) => self.host_owned(section, notes),
                Some(Heading::TaskSection) if at < run.start => self.outside(section.body.clone(), notes),
                None if !inside => self.outside(section.line..section.body.end, notes),
                _ => {}
            }
        }
        self.take_goals(goals, run, notes);
    }

    /// Chooses the goals that count. In an echoed prompt, these are the last ones before the list.
    fn take_goals(&mut self, goals: Vec<(String, Span, Range<usize>)>, run: &Range<usize>, notes: &mut Diagnostics) {
        let written: Vec<_> = goals.into_iter().filter(|(text, ..)| !text.is_empty()).collect();
        let echo = self.after_prompt(run.start);
        if written.len() > 1 && !echo {
            let span = written.last().map(|(_, span, _)| *span).unwrap_or_default();
            notes.push(notes.issue(IssueCode::DuplicateSection, "", span, &[("title", "Goals / summary")]));
        }
        let start = self.document.sections.get(run.start).map_or(usize::MAX, |section| section.line);
        let before = written.iter().rposition(|(_, _, lines)| lines.start <= start && echo);
        let Some((text, span, lines)) = written.into_iter().nth(before.unwrap_or(0)) else { return };
        let pieces = self.document.pieces(lines, TASK_LABELS);
        if holds_keys(&pieces) {
            notes.set_section(Some("Goals / summary"));
            notes.push(notes.issue(IssueCode::TaskBoundary, "", span, &[]).key(label::NEED));
            notes.set_section(None);
        }
        self.out.goals = Some((text, span));
    }

    /// Handles a section that the host writes. What a person added to it in a run's own sheet would be lost.
    fn host_owned(&self, section: &Section, notes: &mut Diagnostics) {
        if self.kind == Kind::Sheet && !self.context.tasks.is_empty() {
            notes.set_section(Some(&section.title));
            unread::added(self.document, section, self.context, notes);
            notes.set_section(None);
        }
    }

    /// Handles text outside every section of the format. Keys of a task there cannot be assigned to a task.
    fn outside(&self, range: Range<usize>, notes: &mut Diagnostics) {
        if holds_keys(&self.document.pieces(range.clone(), TASK_LABELS)) {
            let span = self.document.span(range);
            notes.push(notes.issue(IssueCode::TaskBoundary, "", span, &[]));
        } else {
            self.document.trim_prose(range, notes);
        }
    }
}

/// Whether a prompt uses this title for its content (spec 8.8). A copy of the prompt begins with such a title.
fn is_of_prompt(title: &str) -> bool {
    const TITLES: &[&str] = &[
        "current-task-list",
        "environment",
        "follow-ups",
        "goals-so-far",
        "new-follow-up",
        "open-files",
        "outputs-from-completed-tasks",
        "previous-proposal",
        "problems-in-this-round",
        "project-description",
    ];
    TITLES.contains(&heading_key(title).as_str())
}

fn positions(sections: &[Section], heading: Heading) -> Vec<usize> {
    let found = sections.iter().enumerate().filter(|(_, section)| section.heading == Some(heading));
    found.map(|(at, _)| at).collect()
}

/// The text of a section. If the section is a single `text` fence, the content of the fence.
fn body(document: &Document, section: &Section) -> (String, u32) {
    let text = document.text(section.body.clone());
    let lines = document.span(section.body.clone());
    let from = document.fences.partition_point(|fence| fence.span.first < lines.first);
    let inside = document.fences.iter().skip(from).take_while(|fence| fence.span.last <= lines.last);
    let mut fences = inside.filter(|fence| fence.lang == "text" && fence.indent == 0);
    if let (Some(fence), None) = (fences.next(), fences.next()) {
        let length = usize::try_from(fence.span.last.saturating_sub(fence.span.first)).unwrap_or(0) + 1;
        if text.lines().count() == length && text.starts_with(['`', '~']) {
            let content = fence.content.strip_suffix('\n').unwrap_or(&fence.content);
            return (content.to_owned(), fence.span.first + 1);
        }
    }
    (text, lines.first)
}
