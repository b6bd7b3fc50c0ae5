//! What an operator is told of the task that it is, and of its parts: by the machine, which computes no value, and by the
//! evaluator, which knows them. Both are asked through this, so an operator knows neither.

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
    /// Where it stands.
    pub place: ChildSlot,
    /// It came back.
    pub closed: bool,
    /// It came back and is no success.
    pub failed: bool,
    /// It ends whatever is above it.
    pub fatal: bool,
}

/// How many parts stand where.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// They were opened.
    pub opened: usize,
    /// They came back.
    pub closed: usize,
    /// They came back and are no success.
    pub failed: usize,
    /// They end whatever is above them.
    pub fatal: usize,
}

impl Tally {
    /// When one part counts otherwise than before.
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

/// A task and its parts, as the machine knows them.
pub trait Parts {
    /// What it goes through, once it is opened.
    fn plan(&self) -> Option<&Plan>;
    /// Its iteration, from 1.
    fn iteration(&self) -> u32;
    /// Its parts in the order they were opened, without what is nested in its inputs.
    fn parts(&self) -> Vec<Part>;
    /// How many of them stand where, without a look at each.
    fn tally(&self) -> Tally;
    /// The one at a place.
    fn part(&self, place: ChildSlot) -> Option<Part>;
    /// Whether a tool writes.
    fn writes(&self, tool: &str) -> bool;

    /// What follows a part: open it, wait for it, or hear that it came back.
    ///
    /// # Errors
    /// It has not come back: what is to be done.
    fn after(&self, place: ChildSlot) -> Result<Part, Move> {
        match self.part(place) {
            None => Err(Move::Open(vec![place])),
            Some(part) if part.closed => Ok(part),
            Some(_) => Err(Move::Wait),
        }
    }

    /// Elements that it goes through.
    fn count(&self) -> Option<u32> {
        match self.plan()? {
            Plan::Items { count } => Some(*count),
            _ => None,
        }
    }
}

/// The same with its values, as the evaluator knows them.
pub trait Known: Parts {
    /// Its name in the run.
    fn id(&self) -> &str;
    /// Its node.
    fn node(&self) -> &Node;
    /// What a part gave.
    fn result(&self, part: &Part) -> Arc<TaskResult>;
    /// The least trusted of what a part is made from.
    fn trust(&self, part: &Part) -> Trust;
    /// What a part gave, as a name may be bound to it.
    fn bound(&self, part: &Part) -> Bound;
    /// What its first parts gave, so many of them, as names may be bound to it.
    fn gave_before(&self, count: u32) -> Gave;
    /// Names in scope, with what the task itself bound.
    fn scope(&self) -> Arc<Environment>;
    /// An element that it goes through, with its name.
    fn element(&self, index: u32) -> Option<(String, Bound)>;
    /// What the tree was called for.
    fn request(&self) -> &str;
    /// The template that its node calls.
    fn called(&self) -> Option<&Template>;
    /// Its steps that came back, for its notes.
    fn steps_told(&self) -> Value;
    /// What its process gave. `goes_on`: a non-zero exit is no failure.
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
    /// A name in scope, with what the task itself bound.
    fn value(&self, path: &Path) -> Option<Value>;
    /// A handler that does its work.
    ///
    /// # Errors
    /// Names without a value.
    fn handler(&self) -> Result<Plan, Box<TaskError>>;
    /// A process that does its work.
    ///
    /// # Errors
    /// Names without a value, values that may stand in no command.
    fn process(&self, script: &Script) -> Result<Plan, Box<TaskError>>;
    /// Elements of a list.
    ///
    /// # Errors
    /// There is no such list, or it is too long.
    fn elements(&self, items: &PathUse) -> Result<Vec<(String, Bound)>, Box<TaskError>>;
    /// What the body of a called template sees.
    ///
    /// # Errors
    /// There is no such template, it stands above too often, or arguments do not fit.
    fn passed(&self, inputs: &Names) -> Result<Names, Box<TaskError>>;
}

/// What a task binds when it is opened, as recorded.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Names {
    /// Inputs, or parameters of a called template.
    pub bound: BTreeMap<String, Bound>,
    /// Elements of a `map` or `reduce`, each with its name.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub items: Vec<(String, Bound)>,
}

impl Names {
    /// Goes through the elements.
    pub fn items_plan(&self) -> Plan {
        Plan::Items { count: u32::try_from(self.items.len()).unwrap_or(u32::MAX) }
    }
}

/// What a task of the tree does next.
#[derive(Clone, Debug, PartialEq)]
pub enum Move {
    /// It waits.
    Wait,
    /// Children to open.
    Open(Vec<ChildSlot>),
    /// An evaluation is outstanding.
    Owe(EvalPhase),
}

/// What an evaluation is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EvalPhase {
    /// Bind inputs, fill texts, choose.
    Open,
    /// Whether a loop goes on.
    Judge,
    /// Make the result.
    Close,
}

/// How an operator is opened.
#[derive(Clone, Debug, PartialEq)]
pub enum Opens {
    /// It goes through this.
    Plan(Plan),
    /// Nothing of it runs, so it comes back at once.
    Closed(Box<TaskResult>),
}

/// How the check of a task that goes in turns came out.
#[derive(Clone, Debug, PartialEq)]
pub enum Judged {
    /// Another turn.
    GoesOn,
    /// It comes back.
    Ends(Box<TaskResult>),
}
