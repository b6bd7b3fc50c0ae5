//! The tasks of a run as readers know them. Each is added once, and again after it has changed.

use std::sync::Arc;

use callsheet_core::nouns::{Slug, Task};
use serde::{Deserialize, Serialize};

use super::producers::{Producer, Producers, named_files};

/// A task of the run with which references and echoes are compared.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct KnownTask {
    /// The task as it stands.
    pub task: Task,
    /// 0-based step in the plan.
    pub step: Option<u32>,
    /// Whether it is done and its output exists.
    pub done: bool,
    /// Whether it was denied (for `denied-again`).
    pub denied: bool,
    /// Heading keys of its document, for `task://slug.md#heading`.
    pub headings: Vec<String>,
    /// Names of its recorded details files.
    pub details: Vec<String>,
    /// Tokens of its document.
    pub tokens: u32,
    /// Whether it may change files (to validate references that are `not-yet` there).
    pub writer: bool,
}

/// Tasks of a run by number. Copies share their content.
#[derive(Clone, Debug, Default)]
pub struct KnownTasks(Arc<Known>);

#[derive(Clone, Debug, Default)]
struct Known {
    /// `None` if the task no longer counts.
    list: Vec<Option<Arc<KnownTask>>>,
    producers: Arc<Producers>,
}

impl From<Vec<Arc<KnownTask>>> for KnownTasks {
    fn from(list: Vec<Arc<KnownTask>>) -> Self {
        let mut tasks = Self::default();
        list.into_iter().for_each(|task| tasks.push(task));
        tasks
    }
}

impl KnownTasks {
    /// Adds a task after all others.
    pub fn push(&mut self, task: Arc<KnownTask>) {
        self.put(self.0.list.len(), Some(task));
    }

    /// Replaces the task with this number. `None` means that it no longer counts.
    pub fn put(&mut self, at: usize, task: Option<Arc<KnownTask>>) {
        let known = Arc::make_mut(&mut self.0);
        if known.list.len() <= at {
            known.list.resize(at + 1, None);
        }
        Arc::make_mut(&mut known.producers).put(at, task.as_deref().map(producer));
        if let Some(place) = known.list.get_mut(at) {
            *place = task;
        }
    }

    /// In the order of their numbers.
    pub fn iter(&self) -> impl Iterator<Item = &KnownTask> {
        self.0.list.iter().flatten().map(AsRef::as_ref)
    }

    /// There is none.
    pub fn is_empty(&self) -> bool {
        self.iter().next().is_none()
    }

    /// Finds a task by slug, or by a former slug.
    pub fn find(&self, slug: &Slug) -> Option<&KnownTask> {
        let task = self.0.list.get(self.0.producers.at(slug)?)?.as_deref()?;
        (task.task.slug == *slug || task.task.aliases.contains(slug)).then_some(task)
    }

    /// What they provide to other tasks.
    pub fn producers(&self) -> &Arc<Producers> {
        &self.0.producers
    }
}

fn producer(known: &KnownTask) -> Producer {
    Producer {
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
    }
}
