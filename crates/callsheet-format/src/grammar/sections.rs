//! Grammars of task sections (spec 3.4 to 3.6).
//!
//! Names begin with a number by position (`Task 1: …`, `Task 2: …`, over all sections), so that the links of a task can
//! include the outputs of earlier sections. A rule therefore knows its section and the number of tasks before it.
//! Sections have no number, because that would require a rule for each.

use std::collections::BTreeSet;

use super::Expr;
use super::form::{Sections, new_link, new_name};

/// The maximum number of links of one task.
pub(super) const MAX_LINKS: u32 = 3;
/// The maximum number of characters of the goals.
pub(super) const MAX_GOALS: u32 = 300;
/// The maximum number of characters of a name after its number.
pub(super) const MAX_NAME: u32 = 48;
/// The maximum number of characters of `What is needed`.
pub(super) const MAX_NEED: u32 = 240;
/// The maximum number of characters of `Expected output`.
pub(super) const MAX_EXPECTED: u32 = 160;

/// The maximum number of new sections, whatever the shape requests.
const MAX_SECTIONS: u32 = 12;
/// The maximum number of new tasks in a section, whatever the shape requests.
const MAX_TASKS: u32 = 8;

/// What new tasks of a list may contain. They name no skill, because models choose skills better in separate calls
/// (spec 2.3).
#[derive(Clone, Copy, Debug)]
pub struct ListShape<'a> {
    /// Complete Markdown links that are valid for every new task, including outputs of done tasks.
    pub references: &'a [String],
    /// The maximum number of new sections. At least 1 is always allowed.
    pub max_sections: u32,
    /// The maximum number of new tasks in a section. At least 1 is always allowed.
    pub max_tasks: u32,
    /// Number of the first new name: `Task <first_number>: …`. The host chooses it so that no later slug is already
    /// used (spec 6.3).
    pub first_number: u32,
}

/// Tokens that are enough for any list of this shape, for a model with at least three characters per token.
/// `max_output_tokens` must be this, because a list that is cut is invalid.
pub fn list_tokens(shape: &ListShape<'_>) -> u32 {
    let links: usize = one_line(shape.references).iter().map(|link| link.len().max(24)).max().unwrap_or(24);
    let links = count(links).saturating_mul(MAX_LINKS);
    let task = (MAX_NAME + MAX_NEED + MAX_EXPECTED + 120).saturating_add(links);
    let section = shape.max_tasks.clamp(1, MAX_TASKS).saturating_mul(task).saturating_add(24);
    let all = shape.max_sections.clamp(1, MAX_SECTIONS).saturating_mul(section);
    all.saturating_add(MAX_GOALS + 60) / 3
}

/// The rule name for the `new`th new section with `before` new tasks before it.
fn section_name(new: u32, before: u32) -> String {
    format!("section_{new}_{before}")
}

fn heading() -> Expr {
    Expr::text("\n### Task section")
}

/// The rules while they are built.
pub(super) struct Lists<'a> {
    shape: &'a Sections,
    sections: u32,
    tasks: u32,
    rules: Vec<(String, Expr)>,
    made: BTreeSet<String>,
}

impl<'a> Lists<'a> {
    /// What follows `## Tasks`, and its rules.
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

    /// One section: its first task, then for each further task a choice of stopping, another section or another task.
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

    /// What follows the number of a new task that may read `before` earlier tasks.
    fn rest(&mut self, before: u32) {
        let mut parts = vec![Expr::rule("words")];
        if let Some(list) = self.list(before) {
            parts.push(Expr::Seq(vec![Expr::text("\n- **For each** item in "), list]).optional());
        }
        if let Some(link) = self.link(before) {
            let more = Expr::Seq(vec![Expr::text(" "), link.clone()]).repeat(0, MAX_LINKS - 1);
            parts.push(Expr::Seq(vec![Expr::text("\n- **References** "), link, more]).optional());
        }
        parts.extend([Expr::text("\n- **Expected output** "), Expr::Line { min: 8, max: MAX_EXPECTED }]);
        self.add(rest_name(before), Expr::Seq(parts));
    }

    /// A link in a task after `before` others: everything that those may contain, and the output of the last.
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

impl Lists<'_> {
    /// The link of `For each` in a task after `before` others: a folder, or the output of one of those.
    fn list(&mut self, before: u32) -> Option<Expr> {
        let fewer = match before.checked_sub(1) {
            None if self.shape.folders.is_empty() => return None,
            None => {
                let folders = self.shape.folders.iter().map(Expr::text).collect();
                self.add("folder".into(), Expr::Choice(folders));
                return Some(Expr::rule("folder"));
            }
            Some(fewer) => self.list(fewer),
        };
        let own = Expr::text(new_link(self.number(before)));
        let name = format!("list_{before}");
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

/// The texts that fit on one line, without duplicates, in order.
pub(super) fn one_line(texts: &[String]) -> Vec<&str> {
    let mut seen = BTreeSet::new();
    let fits = |text: &&str| !text.is_empty() && !text.chars().any(char::is_control);
    texts.iter().map(|text| text.trim()).filter(fits).filter(|text| seen.insert(*text)).collect()
}
