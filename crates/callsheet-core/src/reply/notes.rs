//! What a reading collects while it works: repairs and issues, in line order at the end (spec 4.3, 4.8).

use std::cell::Cell;
use std::collections::BTreeSet;

use super::{Answer, Issue, IssueCode, Lookup, Phase, Place, ReadContext, Reading, Repair, RepairCode, Severity, Span};

/// Longest excerpt of a repair, characters (spec 4.3).
const EXCERPT: usize = 120;

/// Comparisons with candidates in one reading: what keeps candidate search from making reading superlinear (spec 4.1).
/// Far more than any real reply asks for.
const COMPARISONS: usize = 30_000;

/// Collects repairs and issues of one reading and remembers where the reader is.
#[derive(Clone, Debug)]
pub struct Notes {
    phase: Phase,
    strict: bool,
    section: Option<String>,
    task: Option<String>,
    repairs: Vec<Repair>,
    issues: Vec<Issue>,
    wanted: BTreeSet<Lookup>,
    comparisons: Cell<usize>,
}

impl Notes {
    /// Nothing noted yet. `strict` turns warnings into errors at the end.
    pub fn new(phase: Phase, strict: bool) -> Self {
        Self {
            phase,
            strict,
            section: None,
            task: None,
            repairs: Vec::new(),
            issues: Vec::new(),
            wanted: BTreeSet::new(),
            comparisons: Cell::new(COMPARISONS),
        }
    }

    /// Empty notes at the same place, for a part of the text that may turn out not to count; see [`Notes::absorb`].
    pub fn fork(&self) -> Self {
        Self {
            section: self.section.clone(),
            task: self.task.clone(),
            comparisons: self.comparisons.clone(),
            ..Self::new(self.phase, self.strict)
        }
    }

    /// Takes over what a fork has noted.
    pub fn absorb(&mut self, fork: Self) {
        self.section = fork.section;
        self.task = fork.task;
        self.repairs.extend(fork.repairs);
        self.issues.extend(fork.issues);
        self.wanted.extend(fork.wanted);
        self.comparisons = fork.comparisons;
    }

    /// Whether so many candidates may still be compared in this reading; they are then counted. Where it says no, no
    /// near name is looked for and none is suggested.
    pub fn may_compare(&self, candidates: usize) -> bool {
        let left = self.comparisons.get().checked_sub(candidates);
        self.comparisons.set(left.unwrap_or(0));
        left.is_some()
    }

    /// Phase of the text.
    pub fn phase(&self) -> Phase {
        self.phase
    }

    /// Sets the section that later issues are in.
    pub fn set_section(&mut self, section: Option<&str>) {
        self.section = section.map(str::to_owned);
    }

    /// Sets the task that later repairs and issues concern.
    pub fn set_task(&mut self, task: Option<&str>) {
        self.task = task.filter(|name| !name.is_empty()).map(str::to_owned);
    }

    /// Records a repair; excerpts are cut to 120 characters.
    pub fn repair(&mut self, code: RepairCode, span: Span, before: &str, after: &str) {
        self.repairs.push(Repair {
            code,
            span,
            before: excerpt(before),
            after: excerpt(after),
            task: self.task.clone(),
        });
    }

    /// An issue at `span` in the current section and task, with the words of `code`. `variant` chooses among several
    /// wordings of one code, empty for the usual one; `facts` fill the placeholders. Give it to [`Notes::push`].
    pub fn issue(&self, code: IssueCode, variant: &str, span: Span, facts: &[(&str, &str)]) -> Issue {
        let (what, todo) = super::words::of(code, variant, facts);
        Issue {
            code,
            severity: Severity::Error,
            place: Place {
                phase: self.phase,
                section: self.section.clone(),
                task: self.task.clone(),
                item: None,
                key: None,
                span,
            },
            what,
            todo,
            allowed: Vec::new(),
            raw: None,
        }
    }

    /// The answer to a lookup; an unanswered one is remembered for [`Notes::wanted`].
    pub fn answer<'a>(&mut self, context: &'a ReadContext, lookup: Lookup) -> Option<&'a Answer> {
        let answer = context.answers.get(&lookup);
        if answer.is_none() {
            self.wanted.insert(lookup);
        }
        answer
    }

    /// Lookups that were asked and had no answer, in order.
    pub fn wanted(self) -> Vec<Lookup> {
        self.wanted.into_iter().collect()
    }

    /// Records an issue.
    pub fn push(&mut self, issue: Issue) {
        self.issues.push(issue);
    }

    /// Repairs so far, in the order noted.
    pub fn repairs(&self) -> &[Repair] {
        &self.repairs
    }

    /// Issues so far, in the order noted.
    pub fn issues(&self) -> &[Issue] {
        &self.issues
    }

    /// Forgets what was noted inside `spans`, for parts of the text that do not count after all. They are in line order
    /// and do not overlap.
    pub fn retract(&mut self, spans: &[Span]) {
        let inside = |at: Span| {
            let next = spans.partition_point(|span| span.first <= at.first);
            next.checked_sub(1).and_then(|last| spans.get(last)).is_some_and(|span| at.last <= span.last)
        };
        self.repairs.retain(|repair| !inside(repair.span));
        self.issues.retain(|issue| !inside(issue.place.span));
    }

    /// Gives notes made so far, that have no task, the task whose lines they are in. `tasks` is in line order.
    pub fn name_tasks(&mut self, tasks: &[(Span, String)]) {
        let name_at = |at: Span| {
            let after = tasks.partition_point(|(span, _)| span.first <= at.first);
            let (span, name) = tasks.get(after.checked_sub(1)?)?;
            (at.last <= span.last).then(|| name.clone())
        };
        for repair in self.repairs.iter_mut().filter(|repair| repair.task.is_none()) {
            repair.task = name_at(repair.span);
        }
        for issue in self.issues.iter_mut().filter(|issue| issue.place.task.is_none()) {
            issue.place.task = name_at(issue.place.span);
        }
    }

    /// The reading: notes in line order, warnings as errors if strict.
    pub fn finish<T>(mut self, value: T) -> Reading<T> {
        self.repairs.sort_by_key(|repair| repair.span);
        self.issues.sort_by_key(|issue| issue.place.span);
        if self.strict {
            for issue in &mut self.issues {
                issue.severity = Severity::Error;
            }
        }
        let wanted = self.wanted.into_iter().collect();
        Reading { value, repairs: self.repairs, issues: self.issues, wanted }
    }
}

/// At most 120 characters of a text.
pub fn excerpt(text: &str) -> String {
    let text = text.trim_end();
    match text.char_indices().nth(EXCERPT) {
        None => text.to_owned(),
        Some(_) => {
            let mut cut: String = text.chars().take(EXCERPT - 1).collect();
            cut.push('…');
            cut
        }
    }
}
