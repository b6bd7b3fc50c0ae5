//! What an operator can ask about its task and its parts. The machine answers without values, and the evaluator
//! answers with values. An operator uses only these traits and knows neither of them.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::template::bind::{Bound, Environment, Trust};
use crate::template::result::{TaskError, TaskResult};
use crate::template::tree::{Node, PathUse, Script, Template};
use crate::template::value::Path;

use super::{ChildSlot, Plan};

/// A part that was opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Part {
    /// Its number in the run.
    pub number: usize,
    /// Its place.
    pub place: ChildSlot,
    /// Whether it has returned.
    pub closed: bool,
    /// Whether it returned without success.
    pub failed: bool,
    /// Whether its failure ends every task above it.
    pub fatal: bool,
    /// Whether a person removed it.
    pub removed: bool,
}

/// How many parts are in which state.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// The parts that were opened.
    pub opened: usize,
    /// The parts that have returned.
    pub closed: usize,
    /// The parts that returned without success.
    pub failed: usize,
    /// The parts whose failure ends every task above them.
    pub fatal: usize,
}

impl Tally {
    /// Replaces the contribution of one part.
    #[must_use]
    pub fn with(self, before: Self, after: Self) -> Self {
        let count = |all: usize, before: usize, after: usize| (all + after).saturating_sub(before);
        Self {
            opened: self.opened,
            closed: count(self.closed, before.closed, after.closed),
            failed: count(self.failed, before.failed, after.failed),
            fatal: count(self.fatal, before.fatal, after.fatal),
        }
    }
}

/// A task and its parts as the machine sees them.
pub trait Parts {
    /// Its plan, once it is opened.
    fn plan(&self) -> Option<&Plan>;
    /// Its iteration, from 1.
    fn iteration(&self) -> u32;
    /// Its parts in the order in which they were opened, without those nested in its inputs.
    fn parts(&self) -> Vec<Part>;
    /// The number of parts in each state, without examining each part.
    fn tally(&self) -> Tally;
    /// The part at a place.
    fn part(&self, place: ChildSlot) -> Option<Part>;
    /// Whether a tool writes.
    fn writes(&self, tool: &str) -> bool;

    /// The part at a place, if it has returned.
    ///
    /// # Errors
    /// It has not returned. The move is to open it or to wait for it.
    fn after(&self, place: ChildSlot) -> Result<Part, Move> {
        match self.part(place) {
            None => Err(Move::Open(vec![place])),
            Some(part) if part.closed => Ok(part),
            Some(_) => Err(Move::Wait),
        }
    }

    /// The number of elements that it processes.
    fn count(&self) -> Option<u32> {
        match self.plan()? {
            Plan::Items { count } => Some(*count),
            _ => None,
        }
    }
}

/// A task and its parts with their values, as the evaluator sees them.
pub trait Known: Parts {
    /// Its name in the run.
    fn id(&self) -> &str;
    /// Its node.
    fn node(&self) -> &Node;
    /// The result of a part.
    fn result(&self, part: &Part) -> Arc<TaskResult>;
    /// The lowest trust among the sources of a part.
    fn trust(&self, part: &Part) -> Trust;
    /// The result of a part as a value for a name.
    fn bound(&self, part: &Part) -> Bound;
    /// What its first parts gave, so many of them, as names may be bound to it.
    fn gave_before(&self, count: u32) -> Gave;
    /// Names in scope, with what the task itself bound.
    fn scope(&self) -> Arc<Environment>;
    /// An element of its list, with its name.
    fn element(&self, index: u32) -> Option<(String, Bound)>;
    /// The request for which the tree runs.
    fn request(&self) -> &str;
    /// The template that its node calls.
    fn called(&self) -> Option<&Template>;
    /// Its returned steps, for its notes.
    fn steps_told(&self) -> Value;
    /// The result of its process. `goes_on` means that a non-zero exit is not a failure.
    fn process(&self, goes_on: bool) -> TaskResult;
}

/// What parts gave, those that came back, in the order they were opened.
#[derive(Clone, Debug, Default)]
pub struct Gave {
    /// Their results.
    pub results: Arc<Vec<Bound>>,
    /// The same by their ids.
    pub by_id: Arc<BTreeMap<String, Bound>>,
    /// The least trusted of what they are made from.
    pub trust: Trust,
}

/// A task that is opened: its inputs are bound.
pub trait Opening {
    /// Its node.
    fn node(&self) -> &Node;
    /// The value of a name in scope, including those that the task itself bound.
    fn value(&self, path: &Path) -> Option<Value>;
    /// The plan for a handler that performs its work.
    ///
    /// # Errors
    /// A name has no value.
    fn handler(&self) -> Result<Plan, Box<TaskError>>;
    /// The plan for a process that performs its work.
    ///
    /// # Errors
    /// A name has no value, or a value may not be inserted into a command.
    fn process(&self, script: &Script) -> Result<Plan, Box<TaskError>>;
    /// The elements of a list.
    ///
    /// # Errors
    /// There is no such list, or it is too long.
    fn elements(&self, items: &PathUse) -> Result<Vec<(String, Bound)>, Box<TaskError>>;
    /// The names that the body of a called template sees.
    ///
    /// # Errors
    /// There is no such template, it is nested too often, or arguments do not fit.
    fn passed(&self, inputs: &Names) -> Result<Names, Box<TaskError>>;
}

/// The names that a task binds when it is opened, as recorded.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Names {
    /// The inputs, or the parameters of a called template.
    pub bound: BTreeMap<String, Bound>,
    /// The elements of a `map` or `reduce`, each with its name.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub items: Vec<(String, Bound)>,
}

impl Names {
    /// The plan to process the elements.
    pub fn items_plan(&self) -> Plan {
        Plan::Items { count: u32::try_from(self.items.len()).unwrap_or(u32::MAX) }
    }
}

/// The next move of a tree task.
#[derive(Clone, Debug, PartialEq)]
pub enum Move {
    /// It waits.
    Wait,
    /// It opens these children.
    Open(Vec<ChildSlot>),
    /// It needs this evaluation.
    Owe(EvalPhase),
}

/// The phase that an evaluation is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EvalPhase {
    /// Binds inputs, fills texts, and chooses.
    Open,
    /// Decides whether a loop goes on.
    Judge,
    /// Makes the result.
    Close,
}

/// How an operator is opened.
#[derive(Clone, Debug, PartialEq)]
pub enum Opens {
    /// It follows this plan.
    Plan(Plan),
    /// It runs nothing, so it returns at once.
    Closed(Box<TaskResult>),
}

/// The result of the check after an iteration.
#[derive(Clone, Debug, PartialEq)]
pub enum Judged {
    /// It needs another iteration.
    GoesOn,
    /// It returns.
    Ends(Box<TaskResult>),
}
