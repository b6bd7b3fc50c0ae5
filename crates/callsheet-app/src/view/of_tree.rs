//! Queries about the run of a template.

use std::collections::BTreeSet;

use callsheet_core::nouns::{BlobId, Slug};
use callsheet_core::run::{Cause, NodeInstance};
use callsheet_core::template::TaskResult;
use serde::Serialize;

use super::RunView;

/// A task that succeeded although parts of it failed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct FailedParts {
    /// The task.
    pub task: Slug,
    /// The number of its parts.
    pub parts: usize,
    /// The parts that failed.
    pub failed: Vec<Slug>,
}

impl FailedParts {
    /// In one line.
    pub fn words(&self) -> String {
        let failed: Vec<&str> = self.failed.iter().map(Slug::as_str).collect();
        format!("{}: {} of {} parts failed: {}", self.task, failed.len(), self.parts, failed.join(", "))
    }
}

impl RunView {
    /// The result of a template run. `blob` returns a recorded text.
    pub fn result_of_tree(&self, blob: &dyn Fn(&BlobId) -> Option<Vec<u8>>) -> Option<TaskResult> {
        callsheet_core::evaluate::result_of_run(&self.run, &|id| blob(id))
    }

    /// The file of the template that is run, as shown to a person. `None` for any other run.
    pub fn template_file(&self) -> Option<&str> {
        let tree = self.run.operators().tree()?;
        tree.templates.get(&tree.entry).map(|template| template.origin.file.as_str()).filter(|file| !file.is_empty())
    }

    /// The warnings of all its tasks, without duplicates, each with the task.
    pub fn warnings_of_tree(&self, blob: &dyn Fn(&BlobId) -> Option<Vec<u8>>) -> Vec<String> {
        let mut seen = BTreeSet::new();
        let mut told = Vec::new();
        for op in self.run.operators().iter() {
            let bytes = op.closed().and_then(|closed| blob(&closed.result));
            let result = bytes.and_then(|bytes| serde_json::from_slice::<TaskResult>(&bytes).ok()).unwrap_or_default();
            for warning in result.notes.warnings {
                if seen.insert(warning.message.clone()) {
                    told.push(format!("{}: {}", op.id, warning.message));
                }
            }
        }
        told
    }

    /// The tasks that succeeded although parts of them failed.
    pub fn collected(&self) -> Vec<FailedParts> {
        let operators = self.run.operators();
        let of_op = |op: &NodeInstance| {
            let parts = || operators.children(op).filter(|part| !part.place.is_nested());
            let failed: Vec<Slug> = parts().filter(|part| part.failed()).map(|part| part.id.clone()).collect();
            let of_list = operators.lister(op).filter(|_| op.parent.is_none());
            let task = of_list.map_or(&op.id, |caller| &caller.task).clone();
            (!failed.is_empty()).then(|| FailedParts { task, parts: parts().count(), failed })
        };
        self.collecting().filter_map(of_op).collect()
    }

    /// The failed parts of the tasks that succeeded without them.
    pub fn collected_failures(&self) -> Vec<Slug> {
        let parts = self.collecting().flat_map(|op| self.run.operators().children(op));
        parts.filter(|part| !part.place.is_nested() && part.failed()).map(|part| part.id.clone()).collect()
    }

    fn collecting(&self) -> impl Iterator<Item = &NodeInstance> {
        let operators = self.run.operators();
        let collects = move |op: &&NodeInstance| {
            let node = operators.node(op);
            let collects = node.is_some_and(|node| node.kind.operator().collects());
            collects && op.is_closed() && !op.failed()
        };
        operators.iter().filter(collects)
    }

    /// Why a task of a tree failed, as its result says. `blob` returns a recorded text.
    pub fn failure_of_part(&self, part: &Slug, blob: &dyn Fn(&BlobId) -> Option<Vec<u8>>) -> Option<String> {
        let op = self.run.operators().get(part).filter(|op| op.failed())?;
        let result: TaskResult = serde_json::from_slice(&blob(&op.closed()?.result)?).ok()?;
        Some(result.error?.message)
    }

    /// Whether a task failed because its provider refused the model or the credentials.
    pub fn is_misconfigured(&self) -> bool {
        self.all_tasks().filter_map(|task| task.failure()).any(|failure| failure.cause == Cause::Configuration)
    }

    /// Whether a part of it failed that a person may repeat.
    pub fn may_retry_of_tree(&self) -> bool {
        !self.run.failed().is_empty()
    }

    /// Whether the task that contains this part of a template began again without it.
    pub fn is_former(&self, part: &Slug) -> bool {
        self.run.operators().get(part).is_some_and(callsheet_core::run::NodeInstance::is_former)
    }

    /// The names of all its started tasks, and of the tasks that tasks of a list call.
    pub fn names_of_tree(&self) -> impl Iterator<Item = &Slug> {
        self.run.operators().iter().map(|op| &op.id)
    }
}
