//! Operators (spec 2.4, 8). Each stands in a file of its own that holds all that is peculiar to it: what it is made of, how
//! it is written, which names it binds for its parts, which of them it opens next, and what it gives.
//!
//! Nobody else knows one operator from another: readers, printers and schemas of a text format go by its rows
//! ([`Facts::rows`]) and ask through [`Given`] and [`Written`]; the machine and the evaluator tell an operator of its parts
//! through [`Parts`], [`Known`] and [`Opening`].
//!
//! A new operator: its file, and its line in `operators!`.

mod atomic;
mod call;
mod cond;
mod director_evaluator_loop;
mod facts;
mod map;
mod parallel;
mod parts;
mod place;
mod plan;
mod pool;
mod reduce;
mod script;
mod sequential;
mod text;

use serde::{Deserialize, Serialize};

use crate::template::bind::{Bound, Trust};
use crate::template::names::{Seen, Walk};
use crate::template::result::{Details, TaskError, TaskResult, failure};
use crate::template::shape::Shape;
use crate::template::tree::{Argument, Node, PathUse, Script};

pub use cond::Case;
pub use director_evaluator_loop::DIRECTOR;
pub(crate) use director_evaluator_loop::advice;
pub use facts::{Facts, Leaf, Rows};
pub use parts::{EvalPhase, Gave, Judged, Known, Move, Names, Opening, Opens, Part, Parts, Tally};
pub use place::{ChildSlot, Work};
pub use plan::{HandlerPlan, Plan};
pub use text::{Given, Slot, Written};

/// The operators: one line each, and nothing else lists them. The first one holds nothing of its own.
macro_rules! operators {
    (
        $(#[$first_doc:meta])* $first:ident($first_file:ident::$first_type:ident),
        $($(#[$doc:meta])* $name:ident($file:ident::$type:ident),)*
    ) => {
        pub use $first_file::$first_type;
        $(pub use $file::$type;)*

        /// The operator of a node, with its children.
        #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
        #[serde(rename_all = "snake_case")]
        pub enum Kind {
            $(#[$first_doc])* $first,
            $($(#[$doc])* $name($type),)*
        }

        impl Kind {
            /// What is fixed of each operator.
            pub const ALL: &[&Facts] = &[&$first_file::FACTS, $(&$file::FACTS),*];

            /// What it does.
            pub fn operator(&self) -> &dyn Operator {
                match self {
                    Self::$first => &$first_type,
                    $(Self::$name(operator) => operator,)*
                }
            }

            /// Raises a limit that only this operator has.
            pub fn set_limit(&mut self, name: &str, max: u32) {
                match self {
                    Self::$first => {}
                    $(Self::$name(operator) => operator.set_limit(name, max),)*
                }
            }

            /// Its parts, to be changed.
            pub fn nodes_mut(&mut self) -> Vec<&mut Node> {
                match self {
                    Self::$first => Vec::new(),
                    $(Self::$name(operator) => operator.nodes_mut(),)*
                }
            }
        }
    };
}

operators! {
    /// One handler until a reply without tool calls.
    Atomic(atomic::Atomic),
    /// Steps in order.
    Sequential(sequential::Sequential),
    /// One task and then another one for each input, which joins what the first one gave.
    Reduce(reduce::Reduce),
    /// A process.
    Script(script::Process),
    /// Director, script, evaluator, until it is good.
    DirectorEvaluatorLoop(director_evaluator_loop::DirectorEvaluatorLoop),
    /// One task for each element.
    Map(map::Map),
    /// Another template; its name is the node's `template`, and inputs of the node are passed by name.
    Call(call::Call),
    /// The first case that holds.
    Cond(cond::Cond),
    /// Children at once.
    Parallel(parallel::Parallel),
}

/// What an operator is and does. What has a body here is so for most of them, and right for one that
/// says nothing of it.
pub trait Operator {
    /// What is fixed of it.
    fn facts(&self) -> &'static Facts;

    /// Tasks that are parts of it, in document order.
    fn nodes(&self) -> Vec<&Node>;

    /// The same, to be changed.
    fn nodes_mut(&mut self) -> Vec<&mut Node>;

    /// A limit that only this operator has, by its name.
    fn limit(&self, _name: &str) -> Option<u32> {
        None
    }

    /// Raises such a limit.
    fn set_limit(&mut self, _name: &str, _max: u32) {}

    /// The process that it runs.
    fn script(&self) -> Option<&Script> {
        None
    }

    /// Arguments that it passes on.
    fn arguments(&self) -> &[Argument] {
        &[]
    }

    /// The list that it goes through.
    fn items(&self) -> Option<&PathUse> {
        None
    }

    /// A name that it binds for its parts because its author says so.
    fn item(&self) -> Option<&str> {
        None
    }

    /// The name by which its parts see an element of that list.
    fn element(&self) -> Option<&str> {
        self.item()
    }

    /// Its attributes, also those that say what holds without them.
    fn attributes(&self) -> Vec<(&'static str, String)> {
        Vec::new()
    }

    /// Writes its children.
    fn write(&self, to: &mut dyn Written);

    /// Names that its parts use and see. `inputs`: what its inputs are, taken together. Gives what it gives.
    fn walk(&self, names: &mut Walk<'_>, inputs: Option<Seen>) -> Shape;

    /// The part of the tree at a place below it.
    fn below(&self, place: ChildSlot) -> Option<Work<'_>>;

    /// What it does next when it is open. A plan that does not fit is a defect of the evaluation; closing it tells so.
    fn next(&self, at: &dyn Parts) -> Move;

    /// Whether it comes back whole although parts of it failed.
    fn collects(&self) -> bool {
        false
    }

    /// What it goes through, and what else it binds.
    ///
    /// # Errors
    /// Names without a value, lists that are none.
    fn open(&self, at: &dyn Opening, names: &mut Names) -> Result<Opens, Box<TaskError>>;

    /// What it binds for the part at a place.
    fn binds(&self, at: &dyn Known, place: ChildSlot) -> Vec<(String, Bound)>;

    /// Whether what a part gave is told to the one at a place (spec 5).
    fn tells(&self, _part: ChildSlot, _to: ChildSlot) -> bool {
        false
    }

    /// The part that is judged by the one at a place.
    fn judged(&self, _: ChildSlot) -> Option<ChildSlot> {
        None
    }

    /// Files that parts before want the one at a place to have.
    fn wanted_files(&self, _: &dyn Known, _: ChildSlot) -> Vec<String> {
        Vec::new()
    }

    /// The least trusted of what its result is made from beside its parts.
    fn trust(&self, _: &dyn Known) -> Trust {
        Trust::default()
    }

    /// Whether it goes on after a turn.
    fn judge(&self, _: &dyn Known) -> Judged {
        Judged::Ends(Box::new(lost()))
    }

    /// What it gives.
    fn close(&self, at: &dyn Known) -> TaskResult;
}

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

impl OnError {
    /// As written.
    fn read(given: &dyn Given) -> Self {
        if given.word("on_error").as_deref() == Some("collect") { Self::Collect } else { Self::Fail }
    }

    fn attribute(self) -> (&'static str, String) {
        ("on_error", if self == Self::Collect { "collect" } else { "fail" }.to_owned())
    }
}

/// What the one part of an operator does next.
fn only(at: &dyn Parts, place: ChildSlot) -> Move {
    match at.after(place) {
        Ok(_) => Move::Owe(EvalPhase::Close),
        Err(what) => what,
    }
}

/// The result of the one part of an operator.
fn only_result(at: &dyn Known) -> TaskResult {
    at.parts().first().map(|part| (*at.result(part)).clone()).unwrap_or_default()
}

/// The error of the part that failed, with what the operator knows.
fn with_error(at: &dyn Known, part: Option<&Part>, more: Details) -> TaskResult {
    let of_part = part.map(|part| at.result(part)).unwrap_or_default();
    let mut error = of_part.failed().unwrap_or_else(|| Box::new(failure::lost()));
    crate::template::result::details::add(&mut error, more);
    TaskResult { content: of_part.content.clone(), ..TaskResult::failure(*error) }
}

fn lost() -> TaskResult {
    TaskResult::failure(failure::lost())
}
