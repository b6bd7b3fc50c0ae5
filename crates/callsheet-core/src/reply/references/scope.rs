//! What a task may refer to besides files.

use crate::reply::ReadContext;
use crate::sheet::heading_key;
use crate::spec::Slug;

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
    pub producers: Vec<Producer>,
    /// Index of the task itself among the producers.
    pub own: Option<usize>,
    /// 0-based step of the task itself.
    pub step: u32,
    /// Task sections of the sheet.
    pub sections: u32,
    /// A task of the same step may be named: the caller splits the step (repair `step-split`).
    pub same_step: bool,
    /// All references go into one execution run, so that their sizes add up (spec 10.2).
    pub one_run: bool,
}

impl Scope {
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
        Self { producers, own, step, sections, same_step: false, one_run }
    }

    /// Whether an earlier step has a writer, so that a missing file may come to be (`not-yet`).
    pub fn writer_before(&self) -> bool {
        self.producers.iter().any(|task| task.writer && !task.done && task.step.is_some_and(|step| step < self.step))
    }

    /// The task whose output a target reads, however its slug is written; `None` if that is unclear.
    pub fn producer_of(&self, target: &crate::spec::Target) -> Option<usize> {
        super::tasks::producer_of(target, self)
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

    /// Heading keys of the prompt and follow-ups.
    pub(super) fn prompt_headings(context: &ReadContext) -> Vec<String> {
        let mut keys: Vec<String> = Vec::new();
        for prompt in &context.prompts {
            for line in prompt.lines() {
                let title = line.trim_start_matches('#');
                if title.len() < line.len() && title.starts_with(' ') {
                    let key = heading_key(title);
                    if !key.is_empty() && !keys.contains(&key) && keys.len() < 1_000 {
                        keys.push(key);
                    }
                }
            }
        }
        keys
    }
}

/// Whether a task of this skill puts all references into one run when it has several and no calls (spec 10.1).
pub fn one_run(policy: &crate::spec::SkillPolicy) -> bool {
    policy.mode == crate::spec::SkillMode::Loop || policy.execute_combined || policy.writer.is_some()
}
