//! Takes over an edited tree while the run rests (spec "Templates" 15). A task whose words did not change keeps what it
//! has. A task with other words begins again, and so do the tasks that read its result.

use std::sync::Arc;

use crate::nouns::Slug;
use crate::record::Tree;
use crate::run::Reject;
use crate::template::Node;
use crate::template::operators::{ChildSlot, Kind, Work};

use super::retry::Anew;
use super::tree::Trees;
use super::{NodeInstance, OpState, Operators};

/// The trees after an edit.
pub(in crate::run) struct Edited {
    after: Operators,
    anew: Anew,
    pub tasks: EditedTasks,
}

/// The tasks that an edit changed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EditedTasks {
    /// They begin again, because their words changed.
    pub again: Vec<Slug>,
    /// They go on with other steps.
    pub other_steps: Vec<Slug>,
}

impl EditedTasks {
    fn is_empty(&self) -> bool {
        self.again.is_empty() && self.other_steps.is_empty()
    }
}

/// What an edit changed of a task itself.
enum Difference {
    /// How it is written.
    Words,
    /// Its steps, from this one on.
    Steps(u32),
}

impl Trees<'_> {
    /// Takes over an edited tree. Returns the numbers of the handlers and processes that were given up, and whether the
    /// edit changed any task.
    pub fn take_over(&mut self, mount: usize, tree: &Tree) -> (Vec<usize>, bool) {
        let Ok(Edited { after, anew, tasks }) = self.0.operators.edited(mount, tree) else { return Default::default() };
        self.0.operators = after;
        self.note_all_limits();
        self.limit_leaves(mount);
        (anew.given_up, !tasks.is_empty())
    }
}

impl Operators {
    /// The trees after the tree with this number was edited.
    ///
    /// # Errors
    /// A model was told of a result that would be made again.
    pub(in crate::run) fn edited(&self, mount: usize, tree: &Tree) -> Result<Edited, Reject> {
        let mut after = self.clone();
        let mut anew = Anew { gives_up: true, ..Anew::default() };
        let mut tasks = EditedTasks::default();
        if let Some(mount) = after.mounts.get_mut(mount) {
            mount.tree = Arc::new(tree.clone());
        }
        after.raise_again(mount);
        // Tasks come after the tasks that contain them.
        for before in self.list.iter().filter(|op| op.mount == mount) {
            let number = before.number;
            let Some(now) = after.at(number).filter(|op| !is_gone(op)) else { continue };
            let has_begun = now.opened.is_some() || now.is_closed();
            match (self.difference(before, &after), now.opened.is_some()) {
                (Some(Difference::Words), _) => {
                    tasks.again.extend(has_begun.then(|| before.id.clone()));
                    after.detach(number, |_| true, &mut anew)?;
                    after.gather_again(number, &mut anew)?;
                }
                (Some(Difference::Steps(first)), true) => {
                    tasks.other_steps.push(before.id.clone());
                    let behind =
                        |part: &NodeInstance| matches!(part.place, ChildSlot::Child { index } if index >= first);
                    after.detach(number, behind, &mut anew)?;
                    after.open_again(number);
                }
                _ => {
                    after.take_limits(number, self.node(before));
                    continue;
                }
            }
            after.open_above(number, &mut anew)?;
        }
        after.retries |= !tasks.is_empty();
        Ok(Edited { after, anew, tasks })
    }

    /// Gives a task the limits of its operator that differ from those before.
    fn take_limits(&mut self, number: usize, was: Option<&Node>) {
        let is = self.at(number).and_then(|op| self.node(op));
        let limits = Kind::LIMITS.into_iter().filter_map(|name| {
            let of = |node: Option<&Node>| node?.kind.operator().limit(name);
            of(is).filter(|max| of(was) != Some(*max)).map(|max| (name, max))
        });
        for (name, max) in limits.collect::<Vec<_>>() {
            self.list.change(number, |op| op.raised(name, f64::from(max)));
        }
    }

    /// What an edit changed of a task itself. `None` if nothing, or if a task that contains it changed.
    fn difference(&self, op: &NodeInstance, after: &Self) -> Option<Difference> {
        match (self.work(op)?, after.work(after.at(op.number)?)?) {
            (Work::Node(was), Work::Node(is)) if !was.reads_like(is) => Some(Difference::Words),
            (Work::Node(was), Work::Node(is)) => first_other_step(was, is).map(Difference::Steps),
            (Work::Script(was), Work::Script(is)) => (was != is).then_some(Difference::Words),
            _ => None,
        }
    }
}

/// Whether it no longer counts.
fn is_gone(op: &NodeInstance) -> bool {
    matches!(op.phase, OpState::Former | OpState::Removed(_))
}

/// The index of the first step that is another one. A step with the same id and operator is the same one.
fn first_other_step(was: &Node, is: &Node) -> Option<u32> {
    let (was, is) = (was.steps()?, is.steps()?);
    let same = was.iter().zip(is).take_while(|(was, is)| was.id == is.id && was.kind.word() == is.kind.word()).count();
    (same < was.len().max(is.len())).then(|| u32::try_from(same).unwrap_or(u32::MAX))
}
