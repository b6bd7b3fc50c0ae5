//! The tasks of a run, as readers know them: put in once, and again when one has changed.

use std::sync::Arc;

use callsheet_core::spec::{Slug, Task};
use serde::{Deserialize, Serialize};

use super::producers::{Producer, Producers, named_files};

/// A task of the run that references and echoes are compared with.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct KnownTask {
    /// The task as it stands.
    pub task: Task,
    /// 0-based step in the plan.
    pub step: Option<u32>,
    /// It is done and its output exists.
    pub done: bool,
    /// It ended denied (for `denied-again`).
    pub denied: bool,
    /// Heading keys of its document, for `task://slug.md#heading`.
    pub headings: Vec<String>,
    /// Names of its recorded details files.
    pub details: Vec<String>,
    /// Tokens of its document.
    pub tokens: u32,
    /// It may change files (validation of references that are `not-yet` there).
    pub writer: bool,
}

/// Tasks of a run by number. A copy shares what it holds.
#[derive(Clone, Debug, Default)]
pub struct KnownTasks(Arc<Known>);

#[derive(Clone, Debug, Default)]
struct Known {
    /// `None`: the task counts no more.
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
    /// Puts a task behind all others.
    pub fn push(&mut self, task: Arc<KnownTask>) {
        self.put(self.0.list.len(), Some(task));
    }

    /// Puts a task in the place of the one with this number; `None`: it counts no more.
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

    /// By slug, or by a former one.
    pub fn find(&self, slug: &Slug) -> Option<&KnownTask> {
        let task = self.0.list.get(self.0.producers.at(slug)?)?.as_deref()?;
        (task.task.slug == *slug || task.task.aliases.contains(slug)).then_some(task)
    }

    /// What they give to others.
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
