//! Grammars of task sections (spec 3.4 to 3.6).
//!
//! Names are fixed by position (`Task 1`, `Task 2`, … over all sections), so the outputs of earlier sections can be listed
//! among the links a task may carry. A rule therefore knows its section and the number of tasks before it.

use std::collections::BTreeSet;

use super::Expr;
use super::form::{Sections, new_link, new_name};

/// Links of one task at most.
pub(super) const MAX_LINKS: u32 = 3;
/// Characters of the goals at most.
pub(super) const MAX_GOALS: u32 = 300;
/// Characters of `What is needed` at most.
pub(super) const MAX_NEED: u32 = 240;
/// Characters of `Expected output` at most.
pub(super) const MAX_EXPECTED: u32 = 160;

/// New sections at most, whatever the shape asks for.
const MAX_SECTIONS: u32 = 12;
/// New tasks of a section at most, whatever the shape asks for.
const MAX_TASKS: u32 = 8;
/// Outstanding sections of an iteration at most.
const MAX_OUTSTANDING: usize = 24;

/// What new tasks of a list may be made of.
#[derive(Clone, Copy, Debug)]
pub struct ListShape<'a> {
    /// Names of the catalog, in its order. Empty: tasks carry no skill.
    pub skills: &'a [String],
    /// Complete Markdown links that are valid for every new task, outputs of done tasks among them.
    pub references: &'a [String],
    /// New sections at most; at least 1 is allowed always.
    pub max_sections: u32,
    /// New tasks of a section at most; at least 1 is allowed always.
    pub max_tasks: u32,
    /// Number of the first new name: `Task <first_number>`. The host picks it so that no later slug is taken (spec 6.3).
    pub first_number: u32,
}

/// Tokens that hold any list of this shape for a model of at least three characters a token: what `max_output_tokens` must
/// be, because a list that is cut is not valid.
pub fn list_tokens(shape: &ListShape<'_>) -> u32 {
    let links: usize = one_line(shape.references).iter().map(|link| link.len().max(24)).max().unwrap_or(24);
    let skill = one_line(shape.skills).iter().map(|skill| skill.len()).max().unwrap_or(0);
    let links = count(links).saturating_mul(MAX_LINKS);
    let task = (MAX_NEED + MAX_EXPECTED + 120).saturating_add(links).saturating_add(count(skill));
    let section = shape.max_tasks.clamp(1, MAX_TASKS).saturating_mul(task).saturating_add(24);
    let all = shape.max_sections.clamp(1, MAX_SECTIONS).saturating_mul(section);
    all.saturating_add(MAX_GOALS + 60) / 3
}

/// Section `section` of the list, the `new`th new one, with `before` new tasks before it.
fn section_name(section: u32, new: u32, before: u32) -> String {
    format!("section_{section}_{new}_{before}")
}

/// What may follow once `next` outstanding sections were looked at and `written` of them written.
fn kept_name(next: usize, written: usize) -> String {
    format!("kept_{next}_{written}")
}

fn link_rule(before: u32) -> String {
    format!("link_{before}")
}

fn heading(section: u32) -> Expr {
    Expr::text(format!("\n### Task section {section}"))
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
        let (first, outstanding) = match &shape.outstanding {
            None => (section_name(1, 1, 0), 0),
            Some(outstanding) => (kept_name(0, 0), lists.outstanding(outstanding)),
        };
        lists.finish(outstanding);
        (Expr::rule(first), lists.rules)
    }

    /// Adds every rule of new tasks. `outstanding` sections may have been written before them.
    fn finish(&mut self, outstanding: usize) {
        for written in 0..=count(outstanding) {
            for new in 1..=self.sections {
                let fewest = new - 1;
                for before in fewest..=fewest.saturating_mul(self.tasks) {
                    self.section(written + new, new, before);
                }
            }
        }
        self.bodies();
    }

    fn add(&mut self, name: String, expr: Expr) {
        if self.made.insert(name.clone()) {
            self.rules.push((name, expr));
        }
    }

    /// One section: its first task, then for each further one a choice of stopping, a next section or a next task.
    fn section(&mut self, section: u32, new: u32, before: u32) {
        let next = |tasks: u32| {
            let name = section_name(section + 1, new + 1, before + tasks);
            (new < self.sections).then(|| Expr::rule(name))
        };
        let mut after = next(self.tasks).map(Expr::optional);
        for written in (1..=self.tasks).rev() {
            let (name, body) = self.task(before, before + written);
            let gap = if written == 1 { "\n" } else { "\n\n" };
            let mut task = vec![Expr::text(format!("{gap}{name}")), Expr::rule(body)];
            task.extend(after.take());
            let stop = next(written - 1).filter(|_| written > 1);
            after = match stop {
                Some(stop) => Some(Expr::Choice(vec![Expr::Seq(task), stop]).optional()),
                None if written > 1 => Some(Expr::Seq(task).optional()),
                None => Some(Expr::Seq(task)),
            };
        }
        let mut parts = vec![heading(section)];
        parts.extend(after);
        self.add(section_name(section, new, before), Expr::Seq(parts));
    }

    /// The forced line of the task `number` and the rule of the rest, which may read `before` earlier tasks.
    fn task(&self, before: u32, number: u32) -> (String, String) {
        let number = self.shape.first_number.max(1).saturating_add(number - 1);
        (format!("- **Name** {}\n", new_name(number)), format!("body_{before}"))
    }

    /// The keys after the name, once for each number of readable tasks.
    fn bodies(&mut self) {
        let (references, skills) = (&self.shape.references, &self.shape.skills);
        if !references.is_empty() {
            let links = references.iter().map(Expr::text).collect();
            self.add("reference".into(), Expr::Choice(links));
        }
        if !skills.is_empty() {
            let skills = skills.iter().map(Expr::text).collect();
            self.add("skill".into(), Expr::Choice(skills));
        }
        for before in 0..=(self.sections - 1).saturating_mul(self.tasks) {
            let mut parts = vec![Expr::text("- **What is needed** "), Expr::Line { min: 8, max: MAX_NEED }];
            if !self.shape.skills.is_empty() {
                parts.extend([Expr::text("\n- **Skill** "), Expr::rule("skill")]);
            }
            if before > 0 || !self.shape.references.is_empty() {
                self.links(before);
                parts.push(links_line(&link_rule(before)).optional());
            }
            parts.extend([Expr::text("\n- **Expected output** "), Expr::Line { min: 8, max: MAX_EXPECTED }]);
            self.add(format!("body_{before}"), Expr::Seq(parts));
        }
    }

    fn links(&mut self, before: u32) {
        let mut links = Vec::new();
        if !self.shape.references.is_empty() {
            links.push(Expr::rule("reference"));
        }
        for task in 0..before {
            let number = self.shape.first_number.max(1).saturating_add(task);
            links.push(Expr::text(new_link(number)));
        }
        self.add(link_rule(before), Expr::Choice(links));
    }

    /// Rules that keep or drop outstanding tasks in order. A section of which nothing is kept is not written. Returns how
    /// many sections are held; a list beyond [`MAX_OUTSTANDING`] would make the grammar too large.
    fn outstanding(&mut self, sections: &[Vec<String>]) -> usize {
        let sections = sections.get(..MAX_OUTSTANDING).unwrap_or(sections);
        for next in (0..=sections.len()).rev() {
            for written in 0..=next {
                let expr = match sections.get(next) {
                    None => Expr::rule(section_name(count(written + 1), 1, 0)).optional(),
                    Some(tasks) => {
                        let drop = Expr::rule(kept_name(next + 1, written));
                        let mut keep = vec![heading(count(written + 1)), kept_tasks(next, tasks.len())];
                        keep.push(Expr::rule(kept_name(next + 1, written + 1)));
                        if tasks.is_empty() { drop } else { Expr::Choice(vec![Expr::Seq(keep), drop]) }
                    }
                };
                self.add(kept_name(next, written), expr);
            }
        }
        for (section, tasks) in sections.iter().enumerate() {
            for (task, text) in tasks.iter().enumerate() {
                // The newline is part of the text: alone it would end the lexeme that a new task starts with.
                self.add(format!("task_{section}_{task}"), Expr::text(format!("\n{}", text.trim())));
                if task > 0 {
                    self.add(format!("later_{section}_{task}"), Expr::text(format!("\n\n{}", text.trim())));
                }
            }
        }
        sections.len()
    }
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

/// A part of the tasks of an outstanding section, at least one, in order.
fn kept_tasks(section: usize, tasks: usize) -> Expr {
    let from = |first: usize| {
        let mut parts = vec![Expr::rule(format!("task_{section}_{first}"))];
        parts.extend((first + 1..tasks).map(|later| Expr::rule(format!("later_{section}_{later}")).optional()));
        Expr::Seq(parts)
    };
    Expr::Choice((0..tasks).map(from).collect())
}

/// `- **References** ` with 1 to [`MAX_LINKS`] links of `rule`.
fn links_line(rule: &str) -> Expr {
    let more = Expr::Seq(vec![Expr::text(" "), Expr::rule(rule)]).repeat(0, MAX_LINKS - 1);
    Expr::Seq(vec![Expr::text("\n- **References** "), Expr::rule(rule), more])
}

/// The texts that can stand on one line, each once, in order.
pub(super) fn one_line(texts: &[String]) -> Vec<&str> {
    let mut seen = BTreeSet::new();
    let fits = |text: &&str| !text.is_empty() && !text.chars().any(char::is_control);
    texts.iter().map(|text| text.trim()).filter(fits).filter(|text| seen.insert(*text)).collect()
}
