//! The event `call_mounted`.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use crate::record::Tree;
use crate::run::Run;
use crate::run::mounts::{check_mount, Mounts};
use crate::run::operators::Caller;
use crate::nouns::{ExecutionId, Slug};

use super::{Checked, Recorded};

/// A call starts a template: its tree is executed below the task, in this run (spec "Templates" 16).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct CallMounted {
    /// The task that made the call.
    pub task: Slug,
    /// Execution.
    pub run: ExecutionId,
    /// The id of the call.
    pub call: String,
    /// The tree that is executed, with its arguments bound.
    #[cfg_attr(test, schemars(with = "serde_json::Map<String, serde_json::Value>"))]
    pub tree: Box<Tree>,
    /// The templates of the tree that the record already contains, as in the last tree that contains them.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub shared: BTreeSet<String>,
}

impl Recorded for CallMounted {
    fn check(&self, run: &Run) -> Checked {
        check_mount(run, &self.caller(), &run.operators.completed(&self.tree, &self.shared))
    }

    fn apply(&self, run: &mut Run, _at: u64) {
        let tree = run.operators.completed(&self.tree, &self.shared);
        Mounts(run).mounted(self.caller(), tree);
    }
}

impl CallMounted {
    fn caller(&self) -> Caller {
        Caller { task: self.task.clone(), run: self.run.clone(), call: self.call.clone() }
    }
}
