//! The event `tree_adopted`.

use serde::{Deserialize, Serialize};

use crate::record::Tree;
use crate::run::Run;
use crate::run::operators::{TreeCheck, Trees};

use super::{Checked, Recorded};

/// The task tree of a template run: what is executed, whatever becomes of the files it was read from.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TreeAdopted {
    /// All of it.
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
