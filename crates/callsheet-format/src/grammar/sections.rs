//! Grammars of task sections (spec 3.4 to 3.6).
//!
//! Names begin with a number by position (`Task 1: …`, `Task 2: …`, over all sections), so the outputs of earlier sections can
//! be listed among the links a task may carry. A rule therefore knows its section and the number of tasks before it. Sections
//! carry no number, since that would need a rule for each.

use std::collections::BTreeSet;

use super::Expr;
use super::form::{Sections, new_link, new_name};

/// Links of one task at most.
pub(super) const MAX_LINKS: u32 = 3;
/// Characters of the goals at most.
pub(super) const MAX_GOALS: u32 = 300;
/// Characters of a name at most, behind its number.
pub(super) const MAX_NAME: u32 = 48;
/// Characters of `What is needed` at most.
pub(super) const MAX_NEED: u32 = 240;
/// Characters of `Expected output` at most.
pub(super) const MAX_EXPECTED: u32 = 160;

/// New sections at most, whatever the shape asks for.
const MAX_SECTIONS: u32 = 12;
/// New tasks of a section at most, whatever the shape asks for.
const MAX_TASKS: u32 = 8;

/// What new tasks of a list may be made of. They carry no skill: models choose these better in calls of their own (spec 2.3).
#[derive(Clone, Copy, Debug)]
pub struct ListShape<'a> {
    /// Complete Markdown links that are valid for every new task, outputs of done tasks among them.
    pub references: &'a [String],
    /// New sections at most; at least 1 is allowed always.
    pub max_sections: u32,
    /// New tasks of a section at most; at least 1 is allowed always.
    pub max_tasks: u32,
    /// Number of the first new name: `Task <first_number>: …`. The host picks it so that no later slug is taken (spec 6.3).
    pub first_number: u32,
}

/// Tokens that hold any list of this shape for a model of at least three characters a token: what `max_output_tokens` must
/// be, because a list that is cut is not valid.
pub fn list_tokens(shape: &ListShape<'_>) -> u32 {
    let links: usize = one_line(shape.references).iter().map(|link| link.len().max(24)).max().unwrap_or(24);
    let links = count(links).saturating_mul(MAX_LINKS);
    let task = (MAX_NAME + MAX_NEED + MAX_EXPECTED + 120).saturating_add(links);
    let section = shape.max_tasks.clamp(1, MAX_TASKS).saturating_mul(task).saturating_add(24);
    let all = shape.max_sections.clamp(1, MAX_SECTIONS).saturating_mul(section);
    all.saturating_add(MAX_GOALS + 60) / 3
}

/// The `new`th new section, with `before` new tasks before it.
fn section_name(new: u32, before: u32) -> String {
    format!("section_{new}_{before}")
}

fn heading() -> Expr {
    Expr::text("\n### Task section")
}

/// Rules while they are made.
pub(super) struct Lists<'a> {
    shape: &'a Sections,
    sections: u32,
    tasks: u32,
    rules: Vec<(String, Expr)>,
    made: BTreeSet<String>,
}

impl<'a> Lists<'a> {
    /// What stands behind `## Tasks`, and its rules.
    pub fn grammar(shape: &'a Sections) -> (Expr, Vec<(String, Expr)>) {
        let mut lists = Self {
            shape,
            sections: sections_of(shape),
            tasks: tasks_of(shape),
            rules: Vec::new(),
            made: BTreeSet::new(),
        };
        lists.new_tasks();
        let first = Expr::rule(section_name(1, 0));
        (if shape.needed { first } else { first.optional() }, lists.rules)
    }

    /// Adds every rule of new tasks.
    fn new_tasks(&mut self) {
        for new in 1..=self.sections {
            let fewest = new - 1;
            for before in fewest..=fewest.saturating_mul(self.tasks) {
                self.section(new, before);
            }
        }
        self.words();
        for before in 0..=(self.sections - 1).saturating_mul(self.tasks) {
            self.rest(before);
        }
    }

    fn add(&mut self, name: String, expr: Expr) {
        if self.made.insert(name.clone()) {
            self.rules.push((name, expr));
        }
    }

    /// One section: its first task, then for each further one a choice of stopping, a next section or a next task.
    fn section(&mut self, new: u32, before: u32) {
        let next = |tasks: u32| (new < self.sections).then(|| Expr::rule(section_name(new + 1, before + tasks)));
        let mut after = next(self.tasks).map(Expr::optional);
        for written in (1..=self.tasks).rev() {
            let number = self.number(before + written);
            let gap = if written == 1 { "\n" } else { "\n\n" };
            let name = Expr::text(format!("{gap}- **Name** {}", new_name(number)));
            let mut task = vec![name, Expr::rule(rest_name(before))];
            task.extend(after.take());
            let stop = next(written - 1).filter(|_| written > 1);
            after = match stop {
                Some(stop) => Some(Expr::Choice(vec![Expr::Seq(task), stop]).optional()),
                None if written > 1 => Some(Expr::Seq(task).optional()),
                None => Some(Expr::Seq(task)),
            };
        }
        let mut parts = vec![heading()];
        parts.extend(after);
        self.add(section_name(new, before), Expr::Seq(parts));
    }

    /// The number in the name of the `new`th new task.
    fn number(&self, new: u32) -> u32 {
        self.shape.first_number.max(1).saturating_add(new - 1)
    }

    /// The keys that are the same for every new task.
    fn words(&mut self) {
        let references = &self.shape.references;
        if !references.is_empty() {
            let links = references.iter().map(Expr::text).collect();
            self.add("reference".into(), Expr::Choice(links));
        }
        let mut parts = vec![Expr::Line { min: 3, max: MAX_NAME }, Expr::text("\n- **What is needed** ")];
        parts.push(Expr::Line { min: 8, max: MAX_NEED });
        self.add("words".into(), Expr::Seq(parts));
    }

    /// What stands behind the number of a new task that may read `before` earlier tasks.
    fn rest(&mut self, before: u32) {
        let mut parts = vec![Expr::rule("words")];
        if let Some(link) = self.link(before) {
            let more = Expr::Seq(vec![Expr::text(" "), link.clone()]).repeat(0, MAX_LINKS - 1);
            parts.push(Expr::Seq(vec![Expr::text("\n- **References** "), link, more]).optional());
        }
        parts.extend([Expr::text("\n- **Expected output** "), Expr::Line { min: 8, max: MAX_EXPECTED }]);
        self.add(rest_name(before), Expr::Seq(parts));
    }

    /// A link that may stand in a task behind `before` others: all that may stand in those, and the output of the last.
    fn link(&mut self, before: u32) -> Option<Expr> {
        let fewer = match before.checked_sub(1) {
            None => return (!self.shape.references.is_empty()).then(|| Expr::rule("reference")),
            Some(fewer) => self.link(fewer),
        };
        let own = Expr::text(new_link(self.number(before)));
        let name = format!("link_{before}");
        self.add(name.clone(), Expr::Choice(fewer.into_iter().chain([own]).collect()));
        Some(Expr::rule(name))
    }
}

fn rest_name(before: u32) -> String {
    format!("rest_{before}")
}

/// New sections at most.
pub(super) fn sections_of(shape: &Sections) -> u32 {
    shape.max_sections.clamp(1, MAX_SECTIONS)
}

/// New tasks of a section at most.
pub(super) fn tasks_of(shape: &Sections) -> u32 {
    shape.max_tasks.clamp(1, MAX_TASKS)
}

fn count(n: usize) -> u32 {
    u32::try_from(n).unwrap_or(u32::MAX)
}

/// The texts that can stand on one line, each once, in order.
pub(super) fn one_line(texts: &[String]) -> Vec<&str> {
    let mut seen = BTreeSet::new();
    let fits = |text: &&str| !text.is_empty() && !text.chars().any(char::is_control);
    texts.iter().map(|text| text.trim()).filter(fits).filter(|text| seen.insert(*text)).collect()
}
