//! The event `tree_edited`.

use serde::{Deserialize, Serialize};

use crate::record::Tree;
use crate::run::Run;
use crate::run::commands::{check_take_over, Commands};

use super::{Checked, Recorded};

/// A template of the run was edited while the run rested, and the run takes over the new version (spec "Templates" 15).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct TreeEdited {
    /// The number of the tree, in the order in which the run began to execute them.
    pub tree_number: usize,
    /// The whole tree as it is now.
    #[cfg_attr(test, schemars(with = "serde_json::Map<String, serde_json::Value>"))]
    pub tree: Box<Tree>,
}

impl Recorded for TreeEdited {
    fn check(&self, run: &Run) -> Checked {
        check_take_over(run, self.tree_number, &self.tree).map(|_| ())
    }

    fn apply(&self, run: &mut Run, _at: u64) {
        Commands(run).take_over(self.tree_number, &self.tree);
    }
}
