//! Operators (spec 2.4, 8).

use serde::{Deserialize, Serialize};

use crate::template::value::Filled;

use super::{Argument, Condition, Node, PathUse, Script};

/// What happens to the others when a child fails.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OnError {
    /// Nothing more is started.
    #[default]
    Fail,
    /// The others go on.
    Collect,
}

/// One branch of a `cond`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Case {
    /// When.
    pub test: Condition,
    /// What.
    pub body: Node,
}

/// The operator of a node, with its children.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// One handler until a reply without tool calls.
    Atomic,
    /// Steps in order.
    Sequential {
        /// Each with an id.
        steps: Vec<Node>,
        /// When one fails.
        on_error: OnError,
    },
    /// `inner` and then `reduction` for each input.
    Reduce {
        /// A list to go through instead of the inputs.
        items: Option<PathUse>,
        /// The first accumulator; JSON if it parses, else a string.
        initial: Filled,
        /// Made of each input.
        inner: Box<Node>,
        /// Joins it to the accumulator.
        reduction: Box<Node>,
    },
    /// A process.
    Script {
        /// What is started.
        script: Script,
        /// A non-zero exit completes.
        on_nonzero_continue: bool,
    },
    /// Director, script, evaluator, until it is good.
    DirectorEvaluatorLoop {
        /// Makes.
        director: Box<Node>,
        /// Judges.
        evaluator: Box<Node>,
        /// Runs between the two.
        script: Option<Script>,
        /// Most iterations.
        max_iterations: u32,
        /// Ends the loop when true.
        condition: Option<Condition>,
        /// The last output counts when iterations are exhausted.
        on_exhausted_accept: bool,
    },
    /// `body` for each element.
    Map {
        /// The list.
        items: PathUse,
        /// The name of the element.
        item: String,
        /// At once.
        max_parallel: u32,
        /// When one fails.
        on_error: OnError,
        /// What is done.
        body: Box<Node>,
    },
    /// Another template; its name is the node's `template`, and inputs of the node are passed by name.
    Call {
        /// Arguments in order.
        arguments: Vec<Argument>,
    },
    /// The first case that holds.
    Cond {
        /// In order.
        cases: Vec<Case>,
        /// When none holds.
        otherwise: Option<Box<Node>>,
    },
    /// Children at once.
    Parallel {
        /// Each with an id.
        children: Vec<Node>,
        /// At once.
        max_parallel: u32,
        /// When one fails.
        on_error: OnError,
    },
}
