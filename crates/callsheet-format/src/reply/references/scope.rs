//! What a task may refer to besides files.

use std::cell::OnceCell;
use std::collections::BTreeSet;
use std::sync::Arc;

use callsheet_core::names::heading_key;
use callsheet_core::nouns::{Slug, Target};

use crate::reading::{Producer, Producers, ReadContext};

/// The context in which references of one task are checked.
#[derive(Clone, Debug, Default)]
pub struct Scope {
    /// Tasks of the list, and finished tasks outside it.
    producers: Arc<Producers>,
    /// Heading keys of the prompt and follow-ups, computed when first needed.
    headings: OnceCell<Vec<String>>,
    /// Removed tasks. A task that refers to one cannot run.
    pub removed: BTreeSet<Slug>,
    /// What the task being refined already reads. It was checked when its list was read.
    pub kept: Vec<Target>,
    /// How many of the producers, from the first, belong to the list that is being read. 0 if no list is being read.
    pub listed: usize,
    /// Index of the task itself among the producers.
    pub own: Option<usize>,
    /// 0-based step of the task itself.
    pub step: u32,
    /// Task sections of the sheet.
    pub sections: u32,
    /// Whether all references go into one execution run, so that their sizes add up (spec 10.2).
    pub one_run: bool,
}

impl Scope {
    /// The scope of a sheet with these producers. `sections` is the number of its task sections.
    pub fn of_sheet(producers: Arc<Producers>, sections: u32) -> Self {
        Self { producers, sections, ..Self::default() }
    }

    /// The scope of the task being refined or executed.
    pub fn of_current(context: &ReadContext) -> Self {
        let producers = context.tasks.producers();
        let slug = context.current.as_ref().map(|task| &task.slug);
        let is_own = |at: &usize| producers.get(*at).is_some_and(|task| task.slug.as_ref() == slug);
        let own = slug.and_then(|slug| producers.at(slug)).filter(is_own);
        let step = own.and_then(|at| producers.get(at)).and_then(|task| task.step).unwrap_or(u32::MAX);
        let policy = context
            .current
            .as_ref()
            .and_then(|task| context.catalog.iter().find(|skill| Some(&skill.name) == task.skill.as_ref()))
            .map(|skill| &skill.policy);
        let one_run = policy.is_none_or(one_run);
        let kept = context.current.iter().flat_map(|task| &task.references).map(|reference| reference.target.clone());
        let kept = kept.collect();
        Self { own, step, one_run, kept, ..Self::of_sheet(Arc::clone(producers), producers.sections()) }
    }

    /// Tasks of the list, and finished tasks outside it.
    pub fn producers(&self) -> &Producers {
        &self.producers
    }

    /// The task with this slug or alias.
    pub(super) fn at(&self, slug: &Slug) -> Option<usize> {
        self.producers.at(slug)
    }

    /// Whether a sequence of these words is the name of a task.
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
        self.producers.is_repeated(slug)
    }

    /// Whether a task of an earlier step may create a path, so that it may still appear (`not-yet`).
    pub(super) fn may_come(&self, path: &str, directory: bool) -> bool {
        self.producers.may_make(path, directory, self.step)
    }

    /// Whether the task can have the output of this producer: the output exists, or the producer is in an earlier step,
    /// or is listed before the task in the same step. In each step, the tasks that a reply does not list come before
    /// those that it adds.
    pub fn comes_before(&self, at: usize, producer: &Producer) -> bool {
        let in_list = self.listed > 0 && (self.own.is_some_and(|own| at < own) || at >= self.listed);
        producer.done || producer.step.is_some_and(|step| step < self.step || step == self.step && in_list)
    }

    /// Slugs that the task may refer to, for issues.
    pub fn usable(&self) -> Vec<String> {
        let own = self.own;
        self.producers
            .iter()
            .filter(|(at, task)| Some(*at) != own && self.comes_before(*at, task))
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

/// Whether a task of this skill reads all references in one run, whatever their total size (spec 10.1).
pub fn one_run(policy: &callsheet_core::nouns::SkillPolicy) -> bool {
    let together = policy.execution == callsheet_core::nouns::ExecutionMode::Together;
    policy.mode == callsheet_core::nouns::SkillMode::Loop || together || policy.writer.is_some()
}
