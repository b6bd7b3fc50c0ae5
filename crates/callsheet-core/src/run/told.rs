//! What is said once in a run: which prompt files it used, and which limits are nearly used up. The log keeps it, so
//! that a resume says only what is new.

use std::collections::BTreeMap;

use crate::record::PromptFile;
use crate::spec::Slug;

use super::{LimitUse, Run, Stage, limits};

/// What was recorded so far.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Told {
    /// Prompt files by key.
    prompts: BTreeMap<String, PromptFile>,
    /// Limits by name, with the bound they had.
    limits: BTreeMap<(Option<Slug>, String), f64>,
}

impl Told {
    pub fn used(&mut self, prompts: &BTreeMap<String, PromptFile>) {
        self.prompts.extend(prompts.iter().map(|(key, file)| (key.clone(), file.clone())));
    }

    pub fn near(&mut self, task: Option<&Slug>, limit: &str, max: f64) {
        self.limits.insert((task.cloned(), limit.to_owned()), max);
    }
}

impl Run {
    /// The prompt templates this run used, by key, as they were when they were used last (spec 8.1).
    pub fn prompts_used(&self) -> &BTreeMap<String, PromptFile> {
        &self.told.prompts
    }

    /// Limits of the run, and of the open tasks of its tree (spec "Templates" 9), that are used up to the warning threshold and that nobody was told of. One that was raised
    /// since is told again when the new bound is near.
    pub fn limits_near(&self) -> Vec<LimitUse> {
        if matches!(self.stage, Stage::Empty | Stage::Concluded(_)) {
            return Vec::new();
        }
        let open = self.operators.iter().filter(|op| op.opened.is_some() && op.closed.is_none());
        let mut near: Vec<LimitUse> =
            limits::uses(self).into_iter().chain(open.flat_map(|op| limits::uses_of(self, op))).collect();
        near.retain(|one| {
            let key = (one.task.clone(), one.limit.name().to_owned());
            one.is_near() && self.told.limits.get(&key) != Some(&one.max)
        });
        near
    }

    /// How far the limits of a task of the tree are used.
    pub fn limit_uses_of(&self, op: &super::TaskOp) -> Vec<LimitUse> {
        limits::uses_of(self, op)
    }
}
