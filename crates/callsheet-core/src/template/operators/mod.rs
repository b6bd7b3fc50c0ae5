//! Operators (spec 2.4, 8). The file of an operator contains everything specific to it: its parts, how it is written,
//! which names it binds for its parts, which part it opens next, and its result.
//!
//! Other code does not distinguish operators. Readers, printers and schemas of a text format use its rows
//! ([`Facts::rows`]) and ask through [`Given`] and [`Written`]. The machine and the evaluator give an operator its
//! parts through [`Parts`], [`Known`] and [`Opening`].
//!
//! A new operator needs its file and a line in `operators!`.

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
pub use director_evaluator_loop::MAKE;
pub(crate) use director_evaluator_loop::advice;
pub use facts::{Facts, Leaf, Rows};
pub use parts::{EvalPhase, Gave, Judged, Known, Move, Names, Opening, Opens, Part, Parts, Tally};
pub use place::{ChildSlot, Work};
pub use plan::{HandlerPlan, Plan};
pub(crate) use script::TIMEOUT;
pub use text::{Given, Slot, Written};

/// The limit of the iterations of a loop.
pub(crate) const ITERATIONS: &str = director_evaluator_loop::MAX_ITERATIONS.name;

/// The list of operators, one line each. There is no other list. The first operator has no data of its own.
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
            /// The fixed properties of all operators.
            pub const ALL: &[&Facts] = &[&$first_file::FACTS, $(&$file::FACTS),*];

            /// The names of the limits that only single operators have.
            pub const LIMITS: [&str; 2] = [ITERATIONS, TIMEOUT];

            /// The behaviour of the operator.
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

            /// Its steps, mutable.
            pub fn steps_mut(&mut self) -> Option<&mut Vec<Node>> {
                match self {
                    Self::$first => None,
                    $(Self::$name(operator) => operator.steps_mut(),)*
                }
            }

            /// Its parts, mutable.
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
    /// Two tasks for each input. The second one joins the result of the first to the earlier results.
    Reduce(reduce::Reduce),
    /// A process.
    Script(script::Process),
    /// Repeats a director, a script and an evaluator until the result is good.
    DirectorEvaluatorLoop(director_evaluator_loop::DirectorEvaluatorLoop),
    /// Runs one task for each element.
    Map(map::Map),
    /// Another template. Its name is the node's `template`. Inputs of the node are passed by name.
    Call(call::Call),
    /// Runs the first case whose test is true.
    Cond(cond::Cond),
    /// Runs its children at the same time.
    Parallel(parallel::Parallel),
}

/// What an operator is and does. The default methods are right for most operators.
pub trait Operator {
    /// Its fixed properties.
    fn facts(&self) -> &'static Facts;

    /// The tasks that are parts of it, in document order.
    fn nodes(&self) -> Vec<&Node>;

    /// The tasks that are parts of it, mutable.
    fn nodes_mut(&mut self) -> Vec<&mut Node>;

    /// The parts one of which gives its result.
    fn givers(&self) -> Vec<&Node> {
        let last = self.nodes().last().copied();
        last.filter(|_| self.facts().gives_its_last).into_iter().collect()
    }

    /// Its parts, if an author may write any number of them.
    fn steps(&self) -> Option<&[Node]> {
        None
    }

    /// The same, mutable.
    fn steps_mut(&mut self) -> Option<&mut Vec<Node>> {
        None
    }

    /// The value of a limit that only this operator has, by name.
    fn limit(&self, _name: &str) -> Option<u32> {
        None
    }

    /// Raises a limit that only this operator has.
    fn set_limit(&mut self, _name: &str, _max: u32) {}

    /// The process that it runs.
    fn script(&self) -> Option<&Script> {
        None
    }

    /// Whether it runs a command and fails if this ends with another exit code than 0.
    fn fails_with_its_command(&self) -> bool {
        false
    }

    /// The arguments that it passes on.
    fn arguments(&self) -> &[Argument] {
        &[]
    }

    /// The list whose elements it processes.
    fn items(&self) -> Option<&PathUse> {
        None
    }

    /// The name that its author chose for an element.
    fn item(&self) -> Option<&str> {
        None
    }

    /// The name by which its parts see an element of the list.
    fn element(&self) -> Option<&str> {
        self.item()
    }

    /// Its attributes, including those that have their default values.
    fn attributes(&self) -> Vec<(&'static str, String)> {
        Vec::new()
    }

    /// Writes its children.
    fn write(&self, to: &mut dyn Written);

    /// Walks through the names that its parts use and see. `inputs` is what its inputs are, taken together. Returns
    /// the shape of its result.
    fn walk(&self, names: &mut Walk<'_>, inputs: Option<Seen>) -> Shape;

    /// The part of the tree at a place below the operator.
    fn below(&self, place: ChildSlot) -> Option<Work<'_>>;

    /// Its next move when it is open. A plan that does not fit is a defect of the evaluation, which closing the task
    /// reports.
    fn next(&self, at: &dyn Parts) -> Move;

    /// Whether it succeeds although parts of it failed.
    fn collects(&self) -> bool {
        false
    }

    /// Opens the operator: chooses the parts to run and binds further names.
    ///
    /// # Errors
    /// A name has no value, or a list is not a list.
    fn open(&self, at: &dyn Opening, names: &mut Names) -> Result<Opens, Box<TaskError>>;

    /// The names that it binds for the part at a place.
    fn binds(&self, at: &dyn Known, place: ChildSlot) -> Vec<(String, Bound)>;

    /// Whether the result of a part is passed to the part at a place (spec 5).
    fn tells(&self, _part: ChildSlot, _to: ChildSlot) -> bool {
        false
    }

    /// The part that the part at a place judges.
    fn judged(&self, _: ChildSlot) -> Option<ChildSlot> {
        None
    }

    /// The files that earlier parts want the part at a place to have.
    fn wanted_files(&self, _: &dyn Known, _: ChildSlot) -> Vec<String> {
        Vec::new()
    }

    /// The lowest trust among the sources of its result other than its parts.
    fn trust(&self, _: &dyn Known) -> Trust {
        Trust::default()
    }

    /// Decides whether it goes on after an iteration.
    fn judge(&self, _: &dyn Known) -> Judged {
        Judged::Ends(Box::new(lost()))
    }

    /// Its result.
    fn close(&self, at: &dyn Known) -> TaskResult;
}

/// What happens to the other children when a child fails.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OnError {
    /// Nothing more is started.
    #[default]
    Fail,
    /// The others continue.
    Collect,
}

impl OnError {
    /// Reads the setting as written.
    fn read(given: &dyn Given) -> Self {
        if given.word("on_error").as_deref() == Some("collect") { Self::Collect } else { Self::Fail }
    }

    fn attribute(self) -> (&'static str, String) {
        ("on_error", if self == Self::Collect { "collect" } else { "fail" }.to_owned())
    }
}

/// The next move of an operator with one part.
fn only(at: &dyn Parts, place: ChildSlot) -> Move {
    match at.after(place) {
        Ok(_) => Move::Owe(EvalPhase::Close),
        Err(what) => what,
    }
}

/// The result of an operator with one part.
fn only_result(at: &dyn Known) -> TaskResult {
    at.parts().first().map(|part| (*at.result(part)).clone()).unwrap_or_default()
}

/// The error of the failed part, with the details that the operator knows.
fn with_error(at: &dyn Known, part: Option<&Part>, more: Details) -> TaskResult {
    let of_part = part.map(|part| at.result(part)).unwrap_or_default();
    let mut error = of_part.failed().unwrap_or_else(|| Box::new(failure::lost()));
    crate::template::result::details::add(&mut error, more);
    TaskResult { content: of_part.content.clone(), ..TaskResult::failure(*error) }
}

fn lost() -> TaskResult {
    TaskResult::failure(failure::lost())
}
