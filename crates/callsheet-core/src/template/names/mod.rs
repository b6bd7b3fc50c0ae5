//! Names: what is bound where, which names nothing binds, and which values cannot fit their places (spec 4, 8). The
//! check of a library and the check before a run use the same walk.

mod call;
mod seen;
mod walk;

pub use seen::Seen;
pub use walk::Walk;

use std::collections::BTreeMap;

use serde_json::Value;

use crate::template::place::Spot;
use crate::template::shape::{Constant, Miss, Shape};
use crate::template::tree::{Node, Template, ValueType};
use crate::template::value::Path;

/// How a name was used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Use {
    /// It is inserted into a text, or named by `from`.
    Value,
    /// It occurs in an expression, where an unknown name is false.
    Expression,
    /// It is a required input without a value.
    Input,
}

/// What the walk found.
#[derive(Clone, Debug)]
pub enum Found {
    /// Nothing binds this name.
    Unknown {
        /// The name.
        path: Path,
        /// Where the name is written.
        at: Spot,
        /// The field that contains it.
        field: &'static str,
        /// The task, with the tasks around it.
        task: String,
        /// How it is used.
        how: Use,
        /// Similar names in scope.
        near: Vec<String>,
        /// Whether a step with this name exists that has not run yet.
        later: bool,
    },
    /// A value from a result is inserted into a command.
    Untrusted {
        /// The name.
        path: Path,
        /// Where the name is written.
        at: Spot,
        /// The task, with the tasks around it.
        task: String,
        /// The names through which the value came, if there are others.
        way: Option<String>,
    },
    /// A text that looks like a name and is taken as a text.
    Literal {
        /// The text.
        text: String,
        /// Where the text is written.
        at: Spot,
        /// The task, with the tasks around it.
        task: String,
    },
    /// A parameter or input that nothing uses.
    Unused {
        /// Its name.
        name: String,
        /// Where it is declared.
        at: Spot,
    },
    /// A step that asks a model and changes nothing, and whose result nothing reads.
    Unread {
        /// Its id.
        name: String,
        /// Where the step is written.
        at: Spot,
        /// The task, with the tasks around it.
        task: String,
    },
    /// An exit code that is always 0, because the task of its command fails with any other.
    AlwaysZero {
        /// The path to the code.
        path: Path,
        /// Where the path is written.
        at: Spot,
        /// The field that contains it.
        field: &'static str,
        /// The task, with the tasks around it.
        task: String,
    },
    /// An element of a list that nothing uses, so that the same is done for each one.
    UnusedElement {
        /// The name of an element.
        name: String,
        /// Where the list is named.
        at: Spot,
        /// The task, with the tasks around it.
        task: String,
    },
    /// A part of a loop that asks a model the same in each iteration.
    Blind {
        /// The name that it should read.
        name: &'static str,
        /// Where the part is written.
        at: Spot,
        /// The task, with the tasks around it.
        task: String,
    },
    /// A path that exists in no possible value.
    Astray {
        /// The path.
        path: Path,
        /// The step at which it fails.
        miss: Box<Miss>,
        /// Where the path is written.
        at: Spot,
        /// The field that contains it.
        field: &'static str,
        /// The task, with the tasks around it.
        task: String,
    },
    /// A declared field that the value may lack, and that no condition around it tests.
    Lacking {
        /// The path up to that field.
        path: Path,
        /// Where the path is written.
        at: Spot,
        /// The field of the task that contains the path.
        field: &'static str,
        /// The task, with the tasks around it.
        task: String,
    },
    /// A loop that can never end well: its evaluator declares a result that cannot say `success`, it has no
    /// condition, and a last try is not accepted.
    NeverGood {
        /// Where the evaluator is written.
        at: Spot,
        /// The task, with the tasks around it.
        task: String,
    },
    /// The outcome of a test in a loop without one.
    Untested {
        /// The name.
        path: Path,
        /// Where the name is written.
        at: Spot,
        /// The field that contains it.
        field: &'static str,
        /// The task, with the tasks around it.
        task: String,
    },
    /// A reply that becomes the result of a template and that is not declared, although the template returns no text.
    Undeclared {
        /// What the template returns.
        kind: ValueType,
        /// Where the task that gives the reply is written.
        at: Spot,
        /// The task, with the tasks around it.
        task: String,
    },
    /// The output of a process whose elements are processed, although nothing declares a list.
    Printed {
        /// The list as written.
        path: Path,
        /// Where it is written.
        at: Spot,
        /// The task, with the tasks around it.
        task: String,
    },
    /// A value that can never fit its place.
    Misfit {
        /// The place, as it is written.
        what: Place,
        /// The shape that the place takes.
        wanted: Shape,
        /// The shape of the value.
        given: Box<Shape>,
        /// The value as written, if it is a name.
        written: Option<String>,
        /// Where the value is written.
        at: Spot,
        /// The task, with the tasks around it.
        task: String,
    },
    /// A fold whose first value and whose joined values are never of one kind.
    Start {
        /// The shape of the first value.
        start: Box<Shape>,
        /// The shape of what the task that joins gives.
        joined: Box<Shape>,
        /// Where the declaration of the joined value is written, or the task that joins.
        at: Spot,
        /// The task, with the tasks around it.
        task: String,
    },
    /// A part of a condition that has the same outcome for all possible values.
    Constant {
        /// The part.
        constant: Box<Constant>,
        /// Where the condition is written.
        at: Spot,
        /// The task, with the tasks around it.
        task: String,
    },
    /// An argument comes from a result, and the called template inserts it into a command.
    Reached {
        /// The argument.
        name: String,
        /// The called template.
        template: String,
        /// The names from the result to the command.
        way: String,
        /// Where the argument is written.
        at: Spot,
        /// The task, with the tasks around it.
        task: String,
    },
}

/// A place that only takes certain values.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Place {
    /// The list whose elements an operator processes.
    Items,
    /// A parameter of a called template.
    Argument {
        /// Its name.
        name: String,
        /// The called template.
        template: String,
    },
    /// The declared output of a task.
    Output,
    /// What a template returns.
    Returns,
}

impl Found {
    /// The template, the task and the field, joined by `/`.
    pub fn path(&self, template: &str) -> String {
        match self {
            Self::Unknown { task, field, .. } => format!("{task}/{field}"),
            Self::Untrusted { task, .. } => format!("{task}/command"),
            Self::Literal { task, .. } => format!("{task}/arg"),
            Self::Astray { task, field, .. }
            | Self::Lacking { task, field, .. }
            | Self::AlwaysZero { task, field, .. }
            | Self::Untested { task, field, .. } => {
                format!("{task}/{field}")
            }
            Self::Undeclared { task, .. } | Self::Blind { task, .. } => task.clone(),
            Self::Unread { task, name, .. } => format!("{task}/{name}"),
            Self::UnusedElement { task, .. } | Self::Printed { task, .. } => format!("{task}/items"),
            Self::NeverGood { task, .. } => format!("{task}/evaluator"),
            Self::Misfit { task, what, .. } => match what {
                Place::Items => format!("{task}/items"),
                Place::Argument { .. } => format!("{task}/arg"),
                Place::Output => format!("{task}/output_format"),
                Place::Returns => template.to_owned(),
            },
            Self::Start { task, .. } => format!("{task}/reduction_task"),
            Self::Constant { task, .. } => format!("{task}/condition"),
            Self::Reached { task, .. } => format!("{task}/arg"),
            Self::Unused { .. } => template.to_owned(),
        }
    }
}

/// The first parts of all names that a node binds for its contents: its inputs and the names of its operator.
pub fn bound_inside(node: &Node) -> Vec<String> {
    let mut names = bound_by_operator(node);
    names.extend(node.inputs.iter().map(|input| input.name.clone()));
    names
}

/// The first parts of all names that the operator of a node binds.
pub fn bound_by_operator(node: &Node) -> Vec<String> {
    let fixed = node.kind.facts().binds.iter().copied();
    fixed.chain(node.kind.operator().item()).map(str::to_owned).collect()
}

/// Says whether a name is bound outside the tree.
pub type Outside<'a> = &'a dyn Fn(&str) -> bool;

/// What other templates must know of a template that was walked.
#[derive(Clone, Debug)]
pub struct WalkedTemplate {
    /// The shape of its result.
    pub gives: Shape,
    /// The values of the caller that reach a command, each with the names through which they get there.
    pub reaches: BTreeMap<String, String>,
}

/// A called template, with what is known of it.
pub type Called<'a> = (&'a Template, Option<&'a WalkedTemplate>);

/// What a template can refer to outside itself.
#[derive(Clone, Copy)]
pub struct Around<'a> {
    /// The names of the caller.
    pub outside: Outside<'a>,
    /// Finds a called template, with what is known of it.
    pub called: &'a dyn Fn(&str) -> Option<Called<'a>>,
    /// Finds the text of `schemas/NAME.json` beside the file.
    pub schema: &'a dyn Fn(&str) -> Option<String>,
    /// The value of a parameter, if the caller has given it already.
    pub given: &'a dyn Fn(&str) -> Option<&'a Value>,
}

/// Walks through a template. `outside` knows the names of the caller.
pub fn walk(template: &Template, outside: Outside<'_>) -> Vec<Found> {
    walk_in(template, Around { outside, called: &|_| None, schema: &|_| None, given: &|_| None }).0
}

/// The paths of a template that lead nowhere in the values of its parameters, each with its place.
pub fn astray_in(template: &Template, values: &BTreeMap<String, Value>) -> Vec<(Path, Miss, Spot)> {
    let given = |name: &str| values.get(name);
    let around = Around { outside: &|_| true, called: &|_| None, schema: &|_| None, given: &given };
    let astray = walk_in(template, around).0.into_iter().filter_map(|found| match found {
        Found::Astray { path, miss, at, .. } => Some((path, *miss, at)),
        _ => None,
    });
    astray.collect()
}

/// Walks through a template with its surroundings. Also returns what other templates must know of it.
pub fn walk_in(template: &Template, around: Around<'_>) -> (Vec<Found>, WalkedTemplate) {
    walk::template(template, around)
}
