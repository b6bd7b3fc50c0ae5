//! Collects repairs and issues during a reading, and sorts them by line at the end (spec 4.3, 4.8).

use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Display;
use std::rc::Rc;

use callsheet_core::issue::{Issue, IssueCode, Location, Repair, RepairCode, Severity, Span};
use callsheet_core::nouns::Phase;

use super::{Answer, Lookup, ReadContext, Reading};

/// The longest excerpt in a repair, in characters (spec 4.3).
const EXCERPT: usize = 120;

/// How many comparisons with candidates one reading may make, so that the search for candidates does not make reading
/// superlinear (spec 4.1). Real replies need far fewer.
const COMPARISONS: usize = 30_000;

/// How many repairs, or issues, of one code are kept in full. Further ones are counted (spec 4.3, 4.8). Real replies
/// have far fewer.
const FULL: u16 = 1_000;

/// Collects repairs and issues of one reading, and knows the reader's current section and task.
#[derive(Clone, Debug)]
pub struct Diagnostics {
    phase: Phase,
    strict: bool,
    /// Whether a person wrote the text, so that guesses must not change it (spec 2.18).
    by_hand: bool,
    section: Named,
    task: Named,
    repairs: Vec<Repair>,
    repaired: [u16; RepairCode::ALL.len()],
    /// Repairs beyond those that are kept.
    more: Vec<(RepairCode, Span)>,
    issues: Vec<Issue>,
    /// Issues beyond those that are kept.
    counted: Vec<(IssueCode, Severity, Span)>,
    found: [u16; IssueCode::ALL.len()],
    wanted: BTreeSet<Lookup>,
    comparisons: Cell<usize>,
}

impl Diagnostics {
    /// Starts without notes. `strict` turns warnings into errors at the end.
    pub fn new(phase: Phase, strict: bool) -> Self {
        Self {
            phase,
            strict,
            by_hand: false,
            section: Named::default(),
            task: Named::default(),
            repairs: Vec::new(),
            repaired: [0; RepairCode::ALL.len()],
            more: Vec::new(),
            issues: Vec::new(),
            counted: Vec::new(),
            found: [0; IssueCode::ALL.len()],
            wanted: BTreeSet::new(),
            comparisons: Cell::new(COMPARISONS),
        }
    }

    /// Sets whether a person wrote the text.
    pub fn by_hand(self, by_hand: bool) -> Self {
        Self { by_hand, ..self }
    }

    /// Whether a person wrote the text. A misspelled name is then an error that suggests the right one.
    pub fn is_by_hand(&self) -> bool {
        self.by_hand
    }

    /// Empty notes with the same section and task, for a part of the text that may turn out not to count; see
    /// [`Diagnostics::absorb`].
    pub fn fork(&self) -> Self {
        Self {
            section: self.section.clone(),
            task: self.task.clone(),
            comparisons: self.comparisons.clone(),
            repaired: self.repaired,
            found: self.found,
            by_hand: self.by_hand,
            ..Self::new(self.phase, self.strict)
        }
    }

    /// Adds what a fork has noted.
    pub fn absorb(&mut self, fork: Self) {
        self.section = fork.section;
        self.task = fork.task;
        self.repairs.extend(fork.repairs);
        self.repaired = fork.repaired;
        self.more.extend(fork.more);
        self.issues.extend(fork.issues);
        self.counted.extend(fork.counted);
        self.found = fork.found;
        self.wanted.extend(fork.wanted);
        self.comparisons = fork.comparisons;
    }

    /// Whether this many more candidates may be compared in this reading; if so, counts them. If not, the reader
    /// neither searches nor suggests a similar name.
    pub fn may_compare(&self, candidates: usize) -> bool {
        let left = self.comparisons.get().checked_sub(candidates);
        self.comparisons.set(left.unwrap_or(0));
        left.is_some()
    }

    /// Phase of the text.
    pub fn phase(&self) -> Phase {
        self.phase
    }

    /// Sets the section for later issues.
    pub fn set_section(&mut self, section: Option<&str>) {
        self.section.set(section);
    }

    /// Sets the task for later repairs and issues.
    pub fn set_task(&mut self, task: Option<&str>) {
        self.task.set(task.filter(|name| !name.is_empty()));
    }

    /// Records a repair. Excerpts are cut to 120 characters. After the first 1,000 of one code, repairs are only
    /// counted.
    pub fn repair(&mut self, code: RepairCode, span: Span, before: &str, after: impl Display) {
        if self.is_full(code) {
            self.more.push((code, span));
            return;
        }
        if let Some(count) = self.repaired.get_mut(code as usize) {
            *count += 1;
        }
        self.repairs.push(Repair {
            code,
            span,
            before: excerpt(before),
            after: excerpt(&after.to_string()),
            task: self.task.get().map(str::to_owned),
        });
    }

    /// Whether another repair of this code would only be counted, so that its words are not needed.
    pub fn is_full(&self, code: RepairCode) -> bool {
        self.repaired.get(code as usize).is_some_and(|count| *count >= FULL)
    }

    /// Whether a repair of this code was recorded.
    pub fn has_repair(&self, code: RepairCode) -> bool {
        self.repaired.get(code as usize).is_some_and(|count| *count > 0)
    }

    /// Records those repairs of another reading of the same text that `wanted` selects.
    pub fn repeat(&mut self, other: &Self, wanted: impl Fn(RepairCode) -> bool) {
        for repair in other.repairs.iter().filter(|repair| wanted(repair.code)) {
            self.repair(repair.code, repair.span, &repair.before, &repair.after);
        }
        self.more.extend(other.more.iter().filter(|(code, _)| wanted(*code)));
    }

    /// An issue at `span` in the current section and task, with the words of `code`. `variant` chooses among several
    /// wordings of one code and is empty for the usual one; `facts` fill in the placeholders. Pass the result to
    /// [`Diagnostics::push`].
    pub fn issue(&self, code: IssueCode, variant: &str, span: Span, facts: &[(&str, &str)]) -> Issue {
        let full = self.is_counted(code);
        let words = || super::words::of(code, variant, facts);
        let (what, todo) = if full { (String::new(), String::new()) } else { words() };
        let named = |name: &Named| name.get().filter(|_| !full).map(str::to_owned);
        Issue {
            code,
            severity: Severity::Error,
            place: Location {
                phase: self.phase,
                section: named(&self.section),
                task: named(&self.task),
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

    /// Whether another issue of this code would only be counted, so that its words are not needed.
    pub fn is_counted(&self, code: IssueCode) -> bool {
        self.found.get(code as usize).is_some_and(|count| *count >= FULL)
    }

    /// The answer to a lookup. An unanswered lookup is remembered for [`Diagnostics::wanted`].
    pub fn answer<'a>(&mut self, context: &'a ReadContext, lookup: Lookup) -> Option<&'a Answer> {
        let answer = context.answers.get(&lookup);
        if answer.is_none() {
            self.wanted.insert(lookup);
        }
        answer
    }

    /// Lookups without an answer, in order.
    pub fn wanted(self) -> Vec<Lookup> {
        self.wanted.into_iter().collect()
    }

    /// Records an issue.
    pub fn push(&mut self, issue: Issue) {
        if issue.is_counted() {
            self.counted.push((issue.code, issue.severity, issue.place.span));
            return;
        }
        if let Some(count) = self.found.get_mut(issue.code as usize) {
            *count = count.saturating_add(1);
        }
        self.issues.push(issue);
    }

    /// Kept repairs so far, in the order in which they were noted.
    pub fn repairs(&self) -> &[Repair] {
        &self.repairs
    }

    /// Number of errors so far, kept or counted.
    pub fn errors(&self) -> usize {
        let kept = self.issues.iter().filter(|issue| issue.severity == Severity::Error).count();
        kept + self.counted.iter().filter(|(_, severity, _)| *severity == Severity::Error).count()
    }

    /// Kept issues so far, in the order in which they were noted.
    pub fn issues(&self) -> &[Issue] {
        &self.issues
    }

    /// Removes the notes within `spans`, for parts of the text that do not count after all. The spans are in line order
    /// and do not overlap.
    pub fn retract(&mut self, spans: &[Span]) {
        let inside = |at: Span| {
            let next = spans.partition_point(|span| span.first <= at.first);
            next.checked_sub(1).and_then(|last| spans.get(last)).is_some_and(|span| at.last <= span.last)
        };
        self.repairs.retain(|repair| !inside(repair.span));
        self.more.retain(|(_, span)| !inside(*span));
        // A truncated reply remains truncated, wherever it ends.
        self.issues.retain(|issue| issue.code == IssueCode::ReplyTruncated || !inside(issue.place.span));
        self.counted.retain(|(_, _, span)| !inside(*span));
    }

    /// Keeps only the issues that `wanted` selects. Counted issues are kept.
    pub fn keep_issues(&mut self, mut wanted: impl FnMut(&Issue) -> bool) {
        self.issues.retain(&mut wanted);
    }

    /// Moves notes to other lines, for a text that was made from another one. Such a text has no sections.
    pub fn relocate(&mut self, line: impl Fn(u32) -> u32) {
        let moved = |span: Span| Span::line(line(span.first)).to(Span::line(line(span.last)));
        self.repairs.iter_mut().for_each(|repair| repair.span = moved(repair.span));
        self.more.iter_mut().for_each(|(_, span)| *span = moved(*span));
        self.counted.iter_mut().for_each(|(_, _, span)| *span = moved(*span));
        for issue in &mut self.issues {
            issue.place.span = moved(issue.place.span);
            issue.place.section = None;
        }
    }

    /// Assigns notes without a task to the task that contains their lines. `tasks` is in line order.
    pub fn name_tasks(&mut self, tasks: &[(Span, &str)]) {
        let name_at = |at: Span| {
            let after = tasks.partition_point(|(span, _)| span.first <= at.first);
            let (span, name) = tasks.get(after.checked_sub(1)?)?;
            (at.last <= span.last).then(|| (*name).to_owned())
        };
        for repair in self.repairs.iter_mut().filter(|repair| repair.task.is_none()) {
            repair.task = name_at(repair.span);
        }
        for issue in self.issues.iter_mut().filter(|issue| issue.place.task.is_none()) {
            issue.place.task = name_at(issue.place.span);
        }
    }

    /// Adds one repair and one issue for each code that was not kept in full.
    fn count_rest(&mut self) {
        let mut repairs: BTreeMap<RepairCode, (Span, usize)> = BTreeMap::new();
        for (code, span) in std::mem::take(&mut self.more) {
            let (all, count) = repairs.entry(code).or_insert((span, 0));
            (*all, *count) = (all.to(span), *count + 1);
        }
        self.repairs.extend(repairs.into_iter().map(|(code, (span, count))| Repair {
            code,
            span,
            before: super::words::clause("more", &[("count", &count.to_string())]),
            after: String::new(),
            task: None,
        }));
        let mut issues: BTreeMap<IssueCode, (Severity, Span, usize)> = BTreeMap::new();
        for (code, severity, span) in std::mem::take(&mut self.counted) {
            let (worst, all, count) = issues.entry(code).or_insert((severity, span, 0));
            (*worst, *all, *count) = ((*worst).min(severity), all.to(span), *count + 1);
        }
        let phase = self.phase;
        self.issues.extend(issues.into_iter().map(|(code, (severity, span, count))| Issue {
            code,
            severity,
            place: Location { phase, section: None, task: None, item: None, key: None, span },
            what: super::words::clause("more", &[("count", &count.to_string())]),
            todo: super::words::clause("more-do", &[]),
            allowed: Vec::new(),
            raw: None,
        }));
    }

    /// The reading: notes in line order, and warnings as errors if strict.
    pub fn finish<T>(mut self, value: T) -> Reading<T> {
        self.count_rest();
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

/// A name that changes for every task of a list. Its memory is reused, and forks share it.
#[derive(Clone, Debug, Default)]
struct Named {
    text: Rc<String>,
    is_set: bool,
}

impl Named {
    fn set(&mut self, to: Option<&str>) {
        self.is_set = to.is_some();
        let to = to.unwrap_or_default();
        if let Some(text) = Rc::get_mut(&mut self.text) {
            text.clear();
            text.push_str(to);
        } else if *self.text != to {
            self.text = Rc::new(to.to_owned());
        }
    }

    fn get(&self) -> Option<&str> {
        self.is_set.then_some(self.text.as_str())
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

#[cfg(test)]
mod tests {
    use super::*;

    /// covers: 4.3, 4.8
    #[test]
    fn very_many_of_one_code_are_counted_and_none_is_lost() {
        let mut notes = Diagnostics::new(Phase::Plan, false);
        for line in 1..=1_003 {
            notes.repair(RepairCode::ListMarker, Span::line(line), "a", "b");
            let issue = notes.issue(IssueCode::SkillMissing, "", Span::line(line), &[]).key("Skill");
            notes.push(if line == 1_002 { issue } else { issue.warning() });
        }
        notes.push(notes.issue(IssueCode::NeedMissing, "", Span::line(1_004), &[]));
        let reading = notes.clone().finish(());
        assert_eq!((reading.repairs.len(), reading.issues.len()), (1_001, 1_002));
        let last = |span: (u32, u32)| Span::from(span);
        let repair = reading.repairs.last().map(|repair| (repair.span, repair.before.as_str()));
        assert_eq!(repair, Some((last((1_001, 1_003)), "the same in 3 more places")));
        let issue = reading.issues.iter().find(|issue| issue.place.span.first == 1_001).unwrap();
        assert_eq!(
            (issue.code, issue.severity, issue.place.span.last),
            (IssueCode::SkillMissing, Severity::Error, 1_003)
        );
        assert_eq!(issue.what, "the same in 3 more places");
        assert!(!reading.issues.last().unwrap().what.contains("more places"), "another code");

        notes.retract(&[Span { first: 1, last: 1_001 }]);
        let left = notes.finish(());
        assert_eq!((left.repairs.len(), left.issues.len()), (1, 2), "what is counted is retracted like the rest");
        assert!(!left.is_accepted());
    }
}
