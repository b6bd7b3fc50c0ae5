//! The event `tree_adopted`.

use serde::{Deserialize, Serialize};

use crate::record::Tree;
use crate::run::Run;
use crate::run::operators::{TreeCheck, Trees};

use super::{Checked, Recorded};

/// The task tree of a template run. It is executed as recorded until the run takes over an edit (`TreeEdited`).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct TreeAdopted {
    /// The whole tree.
    #[cfg_attr(test, schemars(with = "serde_json::Map<String, serde_json::Value>"))]
    pub tree: Box<Tree>,
}

impl Recorded for TreeAdopted {
    fn check(&self, run: &Run) -> Checked {
        TreeCheck(run).adopted(&self.tree)
    }

    fn apply(&self, run: &mut Run, _at: u64) {
        Trees(run).adopt(&self.tree);
    }
}
