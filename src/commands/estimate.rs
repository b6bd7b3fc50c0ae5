//! What a run of a sheet would do, estimated from the sheet. The output says that it is an estimate.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use callsheet_core::links::link_target;
use callsheet_core::nouns::{
    ExecutionMode, Fragment, MergePolicy, Phase, Policy, Reference, Settings, SkillMode, SkillPolicy, Target, Task,
    TaskList,
};
use callsheet_core::view::{counted, dollars, thousands};
#[cfg(feature = "lsp")]
use callsheet_format::items::MissingField;
use callsheet_format::items::{Item, missing_field};
use callsheet_models::config::{ModelRef, Prices, Provider};
use callsheet_runtime::paths::Workspace;
use callsheet_runtime::references::{file_of_item, known_items};
use callsheet_runtime::skills::LoadedSkills;
use serde::Serialize;

use crate::models::{configured, provider_settings};
use crate::setup::Setup;

/// The number of tokens that a call reads for any task, and about the number that it writes.
const STATIC: u64 = 800;
const REPLY: u64 = 250;
/// The number of tokens in a line, and in the part under a heading, if nothing more is known.
const LINE: u64 = 12;
const PART: u64 = 600;
/// The average number of bytes in a token.
const BYTES: u64 = 4;

/// The figures for a sheet.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(super) struct Estimate {
    tasks: usize,
    sections: usize,
    writers: usize,
    /// The number of readers that ask for approval before they run.
    askers: usize,
    least_calls: usize,
    most_calls: usize,
    about_tokens: u64,
    /// The cost with the configured model. `None` if no model is set or its price is unknown.
    about_usd: Option<f64>,
    /// What it reads from the project.
    reads: BTreeSet<String>,
    /// Lists whose items tasks are done for, each with the number of its items, as far as that is known.
    items: BTreeMap<String, Option<usize>>,
}

impl Estimate {
    pub fn of(setup: &Setup, list: &TaskList, loaded: &LoadedSkills, settings: &Settings) -> Self {
        let tasks: Vec<&Task> = list.steps.iter().flat_map(|step| &step.tasks).collect();
        let policy = |task: &Task| {
            let skill = task.skill.as_deref().and_then(|name| loaded.catalog.get(name));
            skill.map(|skill| skill.policy.clone()).unwrap_or_default()
        };
        let writes = |task: &&&Task| policy(task).writer.is_some();
        let asks = |task: &&&Task| task.approval && policy(task).writer.is_none();
        let iterates = match settings.iterate {
            Policy::Always => true,
            Policy::Auto => list.goals.plan_continues,
            Policy::Never => false,
        };
        let mut calls = Calls { least: usize::from(iterates), most: usize::from(iterates) };
        let items = items(setup, &tasks);
        for (task, items) in tasks.iter().zip(&items) {
            let count = items.as_ref().map(|items| items.count);
            calls.add(Calls::of(setup, task, count, &policy(task), settings));
        }
        if settings.join == Policy::Always && results(&tasks) > 1 {
            calls.add(Calls { least: 1, most: 1 });
        }
        let Calls { least, most } = calls;
        let each = || tasks.iter().zip(&items).map(|(task, items)| (*task, items.as_ref()));
        let material: u64 = each().map(|(task, items)| read_tokens(setup, task, items, settings)).sum();
        let calls = u64::try_from(least.saturating_add(most).div_ceil(2)).unwrap_or(u64::MAX);
        let (input, output) = (material.saturating_add(calls.saturating_mul(STATIC)), calls.saturating_mul(REPLY));
        Self {
            tasks: tasks.len(),
            sections: list.steps.len(),
            writers: tasks.iter().filter(writes).count(),
            askers: tasks.iter().filter(asks).count(),
            least_calls: least,
            most_calls: most,
            about_tokens: rounded(input.saturating_add(output)),
            about_usd: prices(setup).and_then(|prices| {
                let usage = callsheet_core::record::Usage { input, output, ..Default::default() };
                prices.cost_usd(&usage).map(two_digits)
            }),
            reads: each().flat_map(|(task, items)| read_by(task, items)).collect(),
            items: each()
                .filter_map(|(task, items)| Some((link_target(&task.source()?.target), items.map(|items| items.count))))
                .collect(),
        }
    }
}

/// The number of model calls, without repetitions.
#[derive(Clone, Copy, Debug)]
struct Calls {
    least: usize,
    most: usize,
}

impl Calls {
    fn add(&mut self, other: Self) {
        self.least = self.least.saturating_add(other.least);
        self.most = self.most.saturating_add(other.most);
    }

    /// The calls of a task: its refinement, its executions (spec 10.1) with their reviews, and its merge. `items` is for
    /// how many items it is done, if that is known.
    fn of(setup: &Setup, task: &Task, items: Option<usize>, skill: &SkillPolicy, settings: &Settings) -> Self {
        let turns = skill.limits.task.max_turns.unwrap_or(settings.limits.max_turns);
        if task.for_each.is_some() {
            let items = items.unwrap_or(1);
            let converses = skill.needs_arguments || skill.mode == SkillMode::Loop;
            let turns = if converses { to_usize(turns) } else { 1 };
            return Self { least: items, most: items.saturating_mul(turns) };
        }
        let needs = skill.needs_arguments && task.calls.is_empty();
        let refined = match skill.refine.unwrap_or(settings.refine) {
            Policy::Never => false,
            Policy::Always => task.skill.is_some(),
            Policy::Auto => needs,
        };
        let review = task.review.or(skill.review).unwrap_or(settings.review) == Policy::Always;
        let (runs, apart) = runs(setup, task, skill, settings);
        let merge = skill.merge.unwrap_or(if apart { MergePolicy::Model } else { settings.merge });
        let merged = usize::from(runs > 1 && merge == MergePolicy::Model);
        let reviewed = if review && runs == 1 { 1 } else { 0 };
        let least = usize::from(refined) + runs + merged + reviewed;
        let more_turns = if skill.mode == SkillMode::Loop { to_usize(turns).saturating_sub(1) } else { 0 };
        Self { least, most: least.saturating_add(more_turns).saturating_add(reviewed) }
    }
}

/// The items for which a task is done.
#[derive(Clone, Debug)]
struct Items {
    count: usize,
    /// The files that they name.
    files: Vec<String>,
}

/// For each task, the items for which it is done, if the sheet shows them.
fn items(setup: &Setup, tasks: &[&Task]) -> Vec<Option<Items>> {
    let mut known: Vec<Option<Items>> = Vec::with_capacity(tasks.len());
    for task in tasks {
        let items = match task.source().map(|source| &source.target) {
            Some(Target::TaskOutput { slug, heading: None }) => {
                let read = tasks.iter().take(known.len()).position(|read| read.slug == *slug);
                let read = read.and_then(|at| known.get(at)?.as_ref());
                read.map(|items| Items { count: items.count, files: Vec::new() })
            }
            Some(target) => Workspace::new(&setup.project, &[]).ok().and_then(|workspace| {
                let items = known_items(target, &workspace)?.ok()?;
                let files = items.iter().filter_map(|item| file_of_item(item, &workspace)).collect();
                Some(Items { count: items.len(), files })
            }),
            None => None,
        };
        known.push(items);
    }
    known
}

/// What a task reads from the project. In place of a folder with items, these are the items.
fn read_by(task: &Task, items: Option<&Items>) -> BTreeSet<String> {
    let own = task.own_references().iter().filter_map(|reference| file_of(&reference.target));
    let is_folder = |target: &&Target| matches!(target, Target::Directory(_));
    let source = task.source().map(|source| &source.target).filter(|source| items.is_none() || !is_folder(source));
    let files = items.into_iter().flat_map(|items| items.files.iter().cloned());
    own.chain(source.and_then(file_of)).chain(files).collect()
}

/// What is wrong now with the list that a task is done for.
pub(super) fn trouble_with_items(setup: &Setup, task: &Task) -> Option<String> {
    let link = link_target(&task.source()?.target);
    match items_now(setup, task)? {
        Err(why) => Some(format!("{link} gives no items: {why}")),
        Ok(items) if items.is_empty() => Some(format!("{link} contains no items, so the task will do nothing")),
        Ok(items) => missing_field(task, &items).map(|why| format!("{link}: {why}")),
    }
}

/// The list that a task is done for, as it is now.
fn items_now(setup: &Setup, task: &Task) -> Option<Result<Vec<Item>, String>> {
    known_items(&task.source()?.target, &Workspace::new(&setup.project, &[]).ok()?)
}

/// A field that a task names and that no item of its list has now.
#[cfg(feature = "lsp")]
pub(super) fn missing_now(setup: &Setup, task: &Task) -> Option<MissingField> {
    missing_field(task, &items_now(setup, task)?.ok()?)
}

/// The number of executions of a task, and whether they read parts of one material, as far as the sheet shows.
fn runs(setup: &Setup, task: &Task, skill: &SkillPolicy, settings: &Settings) -> (usize, bool) {
    if skill.mode != SkillMode::Interpret || skill.execution == ExecutionMode::Together {
        return (1, false);
    }
    if !task.calls.is_empty() {
        return (task.calls.len(), false);
    }
    let own: BTreeSet<&Target> =
        task.references.iter().map(|reference| &reference.target).filter(|target| !target.is_shared()).collect();
    if own.len() < 2 || skill.writer.is_some() || task.approval {
        return (1, false);
    }
    let parts = skill.execution == ExecutionMode::PerReference;
    let apart = !parts && read_tokens(setup, task, None, settings) > u64::from(settings.budget.prompt);
    if parts || apart { (own.len(), apart) } else { (1, false) }
}

/// The number of tasks whose results no other task reads.
fn results(tasks: &[&Task]) -> usize {
    let read: BTreeSet<_> =
        tasks.iter().flat_map(|task| &task.references).filter_map(|reference| reference.target.producer()).collect();
    tasks.iter().filter(|task| !read.contains(&task.slug)).count()
}

fn to_usize(number: u32) -> usize {
    usize::try_from(number).unwrap_or(usize::MAX)
}

impl fmt::Display for Estimate {
    /// Prints `12 tasks in 3 sections, 3 change files; 15 to 19 calls, about 12,000 tokens, $0.03; reads 5 files`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} in {}", counted(self.tasks, "task"), counted(self.sections, "section"))?;
        match self.writers {
            0 => write!(f, ", none changes files")?,
            1 => write!(f, ", 1 changes files")?,
            more => write!(f, ", {more} change files")?,
        }
        match self.askers {
            0 => {}
            1 => write!(f, ", 1 asks first")?,
            more => write!(f, ", {more} ask first")?,
        }
        if self.least_calls == self.most_calls {
            write!(f, "; {}", counted(self.most_calls, "call"))?;
        } else {
            write!(f, "; {} to {}", self.least_calls, counted(self.most_calls, "call"))?;
        }
        write!(f, ", about {} tokens", thousands(self.about_tokens))?;
        if let Some(usd) = self.about_usd.filter(|usd| *usd > 0.0) {
            write!(f, ", {}", dollars(usd))?;
        }
        write!(f, "; reads {}", counted(self.reads.len(), "file"))?;
        for (link, items) in &self.items {
            match items {
                Some(items) => write!(f, "; {} in {link}", counted(*items, "item"))?,
                None => write!(f, "; an unknown number of items in {link}")?,
            }
        }
        Ok(())
    }
}

/// Rounds to two significant digits.
fn rounded(tokens: u64) -> u64 {
    let unit = 10_u64.pow(tokens.checked_ilog10().unwrap_or(0).saturating_sub(1));
    tokens.saturating_add(unit / 2) / unit * unit
}

fn two_digits(usd: f64) -> f64 {
    // Only the printed digits matter.
    format!("{usd:.1e}").parse().unwrap_or(usd)
}

fn file_of(target: &Target) -> Option<String> {
    match target {
        Target::File { path, .. } => Some(path.clone()),
        Target::Directory(_) => Some(link_target(target)),
        _ => None,
    }
}

/// The number of tokens that the calls of a task read from what it links. Each item reads its file and the other links.
fn read_tokens(setup: &Setup, task: &Task, items: Option<&Items>, settings: &Settings) -> u64 {
    let most = u64::from(settings.budget.reference);
    let whole = |path: &str| std::fs::metadata(setup.project.join(path)).map_or(0, |file| file.len()) / BYTES;
    let one = |target: &Target| match target {
        Target::File { fragment: Some(Fragment::Lines { first, last }), .. } => {
            u64::from(last.saturating_sub(*first)).saturating_add(1).saturating_mul(LINE)
        }
        Target::File { path, fragment: Some(_) } => whole(path).min(PART),
        Target::File { path, fragment: None } => whole(path),
        Target::Directory(_) => most,
        _ => REPLY,
    };
    let own = |references: &[Reference]| -> u64 {
        references.iter().map(|reference| one(&reference.target).min(most)).fold(0, u64::saturating_add)
    };
    let Some(items) = items else { return own(&task.references) };
    let files = items.files.iter().map(|path| whole(path).min(most)).fold(0, u64::saturating_add);
    let count = u64::try_from(items.count).unwrap_or(u64::MAX);
    own(task.own_references()).saturating_mul(count).saturating_add(files)
}

/// The prices of the executing model, if the configuration names one.
fn prices(setup: &Setup) -> Option<Prices> {
    let began = setup.config.values.get("model").and_then(|value| value.value.as_str());
    let name = configured(&setup.config, Phase::Execute, None, began)?;
    let ModelRef::Provided { provider, model } = name.parse().ok()? else { return None };
    Some(Provider::resolve(&provider, &provider_settings(&setup.config)).ok()?.prices_of(&model))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn estimates_are_rounded_to_two_digits() {
        assert_eq!([0.0, 0.019_44, 3.26].map(two_digits), [0.0, 0.019, 3.3]);
        assert_eq!([0, 7, 94, 1_249, 12_499, 12_500].map(rounded), [0, 7, 94, 1_200, 12_000, 13_000]);
    }
}
