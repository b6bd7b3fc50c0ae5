//! What a task may refer to besides files.

use std::cell::OnceCell;
use std::collections::{BTreeMap, BTreeSet};

use callsheet_core::names::heading_key;
use callsheet_core::spec::{Slug, Target, Task};

use crate::reading::ReadContext;

use super::making::{Making, files_of};

/// A task whose output may be read.
#[derive(Clone, Debug, Default)]
pub struct Producer {
    /// Its slug; `None` until names are filled.
    pub slug: Option<Slug>,
    /// Former slugs (spec 6.4).
    pub aliases: Vec<Slug>,
    /// 0-based step in the list that is checked; `None` for finished tasks outside it.
    pub step: Option<u32>,
    /// Its output exists.
    pub done: bool,
    /// It may change files.
    pub writer: bool,
    /// Paths that the task of a writer names.
    pub files: Vec<String>,
    /// Heading keys of its document.
    pub headings: Vec<String>,
    /// Its details files.
    pub details: Vec<String>,
    /// Tokens of its document.
    pub tokens: u32,
    /// Slug of the name as written, if several tasks wrote the same name (`reference-ambiguous`).
    pub repeated: Option<Slug>,
}

/// The surroundings in which references of one task are checked.
#[derive(Clone, Debug, Default)]
pub struct Scope {
    /// Tasks of the list in sheet order, then finished tasks outside it.
    producers: Vec<Producer>,
    index: Index,
    /// Heading keys of the prompt and follow-ups, once they are asked for.
    headings: OnceCell<Vec<String>>,
    /// Tasks that were dropped: nothing is written like their names by mistake.
    pub dropped: BTreeSet<Slug>,
    /// What the task itself reads in the run; it may go on to name tasks that were dropped.
    pub kept: Vec<Target>,
    /// Index of the task itself among the producers.
    pub own: Option<usize>,
    /// 0-based step of the task itself.
    pub step: u32,
    /// Task sections of the sheet.
    pub sections: u32,
    /// All references go into one execution run, so that their sizes add up (spec 10.2).
    pub one_run: bool,
}

/// Where producers stand, so that a reference costs the same in a sheet of any size.
#[derive(Clone, Debug, Default)]
struct Index {
    by_slug: BTreeMap<Slug, usize>,
    by_alias: BTreeMap<Slug, usize>,
    /// Written names that several tasks have.
    repeated: BTreeSet<Slug>,
    /// What writers that are not done may make.
    making: Making,
}

impl Index {
    fn of(producers: &[Producer]) -> Self {
        let mut index = Self::default();
        let mut written = BTreeSet::new();
        for (at, task) in producers.iter().enumerate() {
            if let Some(slug) = &task.slug {
                index.by_slug.entry(slug.clone()).or_insert(at);
            }
            for alias in &task.aliases {
                index.by_alias.entry(alias.clone()).or_insert(at);
            }
            if let Some(slug) = &task.repeated
                && !written.insert(slug.clone())
            {
                index.repeated.insert(slug.clone());
            }
            if let Some(step) = task.step.filter(|_| task.writer && !task.done) {
                index.making.add(step, &task.files);
            }
        }
        index.add_numbers(producers);
        index
    }

    /// `task-3` is enough for `Task 3: Find the log`, if no other name begins so.
    fn add_numbers(&mut self, producers: &[Producer]) {
        let mut numbered: BTreeMap<Slug, Vec<usize>> = BTreeMap::new();
        for (at, task) in producers.iter().enumerate() {
            let number = task.slug.as_ref().and_then(numbered_start);
            number.into_iter().for_each(|start| numbered.entry(start).or_default().push(at));
        }
        for (start, tasks) in numbered {
            if let ([only], false) = (tasks.as_slice(), self.by_slug.contains_key(&start)) {
                self.by_alias.entry(start).or_insert(*only);
            }
        }
    }
}

impl Scope {
    /// The scope of a sheet with these producers; `sections` is the number of its task sections.
    pub fn of_sheet(producers: Vec<Producer>, sections: u32) -> Self {
        Self { index: Index::of(&producers), producers, sections, ..Self::default() }
    }

    /// The scope of the task being refined or executed.
    pub fn of_current(context: &ReadContext) -> Self {
        let own = context
            .current
            .as_ref()
            .and_then(|task| context.tasks.iter().position(|known| known.task.slug == task.slug));
        let producers: Vec<Producer> = context
            .tasks
            .iter()
            .map(|known| Producer {
                slug: Some(known.task.slug.clone()),
                aliases: known.task.aliases.clone(),
                step: known.step,
                done: known.done,
                writer: known.writer,
                files: if known.writer && !known.done { named_files(&known.task) } else { Vec::new() },
                headings: known.headings.clone(),
                details: known.details.clone(),
                tokens: known.tokens,
                repeated: None,
            })
            .collect();
        let step = own.and_then(|at| producers.get(at)).and_then(|task| task.step).unwrap_or(u32::MAX);
        let sections = producers.iter().filter_map(|task| task.step).max().map_or(0, |last| last + 1);
        let policy = context
            .current
            .as_ref()
            .and_then(|task| context.catalog.iter().find(|skill| Some(&skill.name) == task.skill.as_ref()))
            .map(|skill| &skill.policy);
        let one_run = policy.is_none_or(one_run);
        Self { own, step, one_run, ..Self::of_sheet(producers, sections) }
    }

    /// Tasks of the list in sheet order, then finished tasks outside it.
    pub fn producers(&self) -> &[Producer] {
        &self.producers
    }

    /// The task with this slug or alias.
    pub(super) fn at(&self, slug: &Slug) -> Option<usize> {
        self.index.by_slug.get(slug).or_else(|| self.index.by_alias.get(slug)).copied()
    }

    /// Whether some of these words, one behind the other, are the name of a task.
    pub(super) fn is_named_in(&self, words: &[String]) -> bool {
        (0..words.len()).any(|from| {
            let mut slug = String::new();
            words.iter().skip(from).any(|word| {
                slug.push_str(if slug.is_empty() { "" } else { "-" });
                slug.push_str(word);
                let slug = Slug::new(&slug);
                self.at(&slug).is_some() || self.is_repeated(&slug)
            })
        })
    }

    /// Whether several tasks were written with this name.
    pub(super) fn is_repeated(&self, slug: &Slug) -> bool {
        self.index.repeated.contains(slug)
    }

    /// Whether a writer of an earlier step may make a path, so that what is missing may come to be (`not-yet`).
    pub(super) fn may_come(&self, path: &str, directory: bool) -> bool {
        self.index.making.may(path, directory, self.step)
    }

    /// Slugs that the task may refer to, for issues.
    pub fn usable(&self) -> Vec<String> {
        let own = self.own;
        self.producers
            .iter()
            .enumerate()
            .filter(|(at, task)| Some(*at) != own && (task.done || task.step.is_some_and(|step| step < self.step)))
            .filter_map(|(_, task)| task.slug.as_ref().map(|slug| format!("#{slug}-results")))
            .collect()
    }

    /// Heading keys of the prompt and follow-ups, at most 1,000.
    pub(super) fn prompt_headings(&self, context: &ReadContext) -> &[String] {
        self.headings.get_or_init(|| {
            let mut seen = BTreeSet::new();
            let titles = context.prompts.iter().flat_map(|prompt| prompt.lines()).filter_map(|line| {
                let title = line.trim_start_matches('#');
                (title.len() < line.len() && title.starts_with(' ')).then(|| heading_key(title))
            });
            titles.filter(|key| !key.is_empty() && seen.insert(key.clone())).take(1_000).collect()
        })
    }
}

/// `task-3` of `task-3-find-the-log`.
pub(super) fn numbered_start(slug: &Slug) -> Option<Slug> {
    let rest = slug.as_str().strip_prefix("task-")?;
    let (number, _) = rest.split_once('-')?;
    (!number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit()))
        .then(|| Slug::new(format!("task-{number}")))
}

/// Paths that a task names in its name, need and expected output.
pub fn named_files(task: &Task) -> Vec<String> {
    [&task.name, &task.need, &task.expected].into_iter().flat_map(|text| files_of(text)).collect()
}

/// Whether a task of this skill reads all references in one run however large they are together (spec 10.1).
pub fn one_run(policy: &callsheet_core::spec::SkillPolicy) -> bool {
    let together = policy.execution == callsheet_core::spec::ExecutionMode::Together;
    policy.mode == callsheet_core::spec::SkillMode::Loop || together || policy.writer.is_some()
}
