//! Names: what is bound where, which names nothing binds, and which values cannot be what their places take (spec 4, 8).
//! One walk serves the check of a library and the check before a run.

mod call;
mod walk;

pub use walk::{Seen, Walk};

use std::collections::BTreeMap;

use crate::template::place::Spot;
use crate::template::shape::{Constant, Miss, Shape};
use crate::template::tree::{Node, Template};
use crate::template::value::Path;

/// How a name was used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Use {
    /// Filled into a text, or named by `from`.
    Value,
    /// In an expression, where an unknown name is false.
    Expression,
    /// A required input that nothing gives.
    Input,
}

/// What the walk found.
#[derive(Clone, Debug)]
pub enum Found {
    /// Nothing binds this name.
    Unknown {
        /// The name.
        path: Path,
        /// Where it is written.
        at: Spot,
        /// The field that holds it.
        field: &'static str,
        /// The task, with those around it.
        task: String,
        /// How it is used.
        how: Use,
        /// Names in scope that may be meant.
        near: Vec<String>,
        /// A step of that name is there, and has not run yet.
        later: bool,
    },
    /// A command is filled from a result.
    Untrusted {
        /// The name.
        path: Path,
        /// Where it is written.
        at: Spot,
        /// The task, with those around it.
        task: String,
        /// What it was made from, if that has another name.
        way: Option<String>,
    },
    /// A text that looks like a name and is taken as a literal.
    Literal {
        /// The text.
        text: String,
        /// Where it is written.
        at: Spot,
        /// The task, with those around it.
        task: String,
    },
    /// A parameter or input that nothing uses.
    Unused {
        /// Its name.
        name: String,
        /// Where it is declared.
        at: Spot,
    },
    /// A path that leads nowhere, whatever the value is.
    Astray {
        /// The path.
        path: Path,
        /// Where it ends.
        miss: Box<Miss>,
        /// Where it is written.
        at: Spot,
        /// The field that holds it.
        field: &'static str,
        /// The task, with those around it.
        task: String,
    },
    /// A value of which no kind fits its place.
    Misfit {
        /// The place, as it is written.
        what: Place,
        /// What it takes.
        wanted: Shape,
        /// What stands there.
        given: Box<Shape>,
        /// As written, if it has a name.
        written: Option<String>,
        /// Where it is written.
        at: Spot,
        /// The task, with those around it.
        task: String,
    },
    /// A part of a condition that comes out the same whatever its values are.
    Constant {
        /// Which.
        constant: Box<Constant>,
        /// Where the condition is written.
        at: Spot,
        /// The task, with those around it.
        task: String,
    },
    /// An argument is a result, and what is called puts it into a command.
    Reached {
        /// The argument.
        name: String,
        /// What is called.
        template: String,
        /// From the result to the command.
        way: String,
        /// Where it is written.
        at: Spot,
        /// The task, with those around it.
        task: String,
    },
}

/// A place that takes values of some kinds only.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Place {
    /// The list that an operator goes through.
    Items,
    /// A parameter of what is called.
    Argument {
        /// Its name.
        name: String,
        /// What is called.
        template: String,
    },
    /// The declared output of a task.
    Output,
    /// What a template returns.
    Returns,
}

impl Found {
    /// Template, task and field, joined by `/`.
    pub fn path(&self, template: &str) -> String {
        match self {
            Self::Unknown { task, field, .. } => format!("{task}/{field}"),
            Self::Untrusted { task, .. } => format!("{task}/command"),
            Self::Literal { task, .. } => format!("{task}/arg"),
            Self::Astray { task, field, .. } => format!("{task}/{field}"),
            Self::Misfit { task, what, .. } => match what {
                Place::Items => format!("{task}/items"),
                Place::Argument { .. } => format!("{task}/arg"),
                Place::Output => format!("{task}/output_format"),
                Place::Returns => template.to_owned(),
            },
            Self::Constant { task, .. } => format!("{task}/condition"),
            Self::Reached { task, .. } => format!("{task}/arg"),
            Self::Unused { .. } => template.to_owned(),
        }
    }
}

/// First parts of every name that a node binds for what stands inside it: its inputs and those of its operator.
pub fn bound_inside(node: &Node) -> Vec<String> {
    let mut names = bound_by_operator(node);
    names.extend(node.inputs.iter().map(|input| input.name.clone()));
    names
}

/// Those of its operator.
pub fn bound_by_operator(node: &Node) -> Vec<String> {
    let fixed = node.kind.facts().binds.iter().copied();
    fixed.chain(node.kind.operator().item()).map(str::to_owned).collect()
}

/// Knows a name that nothing in the tree binds.
pub type Outside<'a> = &'a dyn Fn(&str) -> bool;

/// What others know of a template that was walked.
#[derive(Clone, Debug)]
pub struct WalkedTemplate {
    /// What a call of it gives.
    pub gives: Shape,
    /// Values of the caller that stand in a command, each with the way there.
    pub reaches: BTreeMap<String, String>,
}

/// A template that is called, with what is known of it.
pub type Called<'a> = (&'a Template, Option<&'a WalkedTemplate>);

/// What stands around a template.
#[derive(Clone, Copy)]
pub struct Around<'a> {
    /// Names of the caller.
    pub outside: Outside<'a>,
    /// A template that is called, with what is known of it.
    pub called: &'a dyn Fn(&str) -> Option<Called<'a>>,
    /// The text of `schemas/NAME.json` beside the file.
    pub schema: &'a dyn Fn(&str) -> Option<String>,
}

/// Walks a template. `outside` knows the names of the caller.
pub fn walk(template: &Template, outside: Outside<'_>) -> Vec<Found> {
    walk_in(template, Around { outside, called: &|_| None, schema: &|_| None }).0
}

/// Walks a template, with what stands around it. Gives what others have to know of it, too.
pub fn walk_in(template: &Template, around: Around<'_>) -> (Vec<Found>, WalkedTemplate) {
    walk::template(template, around)
}
