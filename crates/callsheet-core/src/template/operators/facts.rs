//! What is fixed of an operator: one row each, in the file of the operator.

use super::{Given, Kind};
use crate::template::form::{Attribute, Child, Element};
use crate::template::tree::Role;

/// What is fixed of an operator. Every field is to be said of each.
#[derive(Clone, Copy, Debug)]
pub struct Facts {
    /// The word of `type`, or the element.
    pub word: &'static str,
    /// How it is written.
    pub rows: Rows,
    /// Reads its own part; `None`: something is missing without which there is no such operator.
    pub read: fn(&mut dyn Given) -> Option<Kind>,
    /// What does its work, if it has no parts.
    pub leaf: Option<Leaf>,
    /// The row of its context settings, wherever it stands.
    pub role: Role,
    /// That of an atomic task in one of its slots.
    pub part_role: Role,
    /// Its own where it is spawned as a subtask.
    pub spawned: Role,
    /// Names that it binds for its parts (spec 8).
    pub binds: &'static [&'static str],
    /// Its inputs are shown or passed on even if no text names them.
    pub shows_inputs: bool,
    /// What is looked up reaches a model: processes are told nothing, `call` and `cond` are transparent.
    pub looks_up: bool,
    /// The split of a failed task may be made of it (spec 11).
    pub splits: bool,
    /// A model may ask for a subtask of it (spec 12).
    pub spawns: bool,
    /// It has no frame of its own: what stands around it stands around its part.
    pub transparent: bool,
    /// Its parts run only under a condition.
    pub guards: bool,
    /// Results of its parts stand by their ids beside its own (spec 8).
    pub lends_ids: bool,
    /// Its parts run one after the other, and each may read those before it.
    pub in_order: bool,
    /// Its result is that of its last part.
    pub gives_its_last: bool,
}

/// What does the work of an operator without parts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Leaf {
    /// A model.
    Handler,
    /// A process.
    Process,
}

/// How an operator is written.
#[derive(Clone, Copy, Debug)]
pub enum Rows {
    /// As a `task` of that `type`, with these beside the rows of every task.
    Task {
        /// What it is, for a person who chooses one.
        about: &'static str,
        /// A commented template, called `NAME`.
        example: &'static str,
        /// Attributes.
        attributes: &'static [Attribute],
        /// Children.
        children: &'static [Child],
    },
    /// As an element of its own.
    Element(&'static Element),
}

impl Rows {
    /// Its own attributes.
    pub fn attributes(&self) -> &'static [Attribute] {
        match self {
            Self::Task { attributes, .. } => attributes,
            Self::Element(element) => element.attributes,
        }
    }

    /// Its own children.
    pub fn children(&self) -> &'static [Child] {
        match self {
            Self::Task { children, .. } => children,
            Self::Element(element) => element.children,
        }
    }
}

impl Kind {
    /// What is fixed of it.
    pub fn facts(&self) -> &'static Facts {
        self.operator().facts()
    }

    /// The word of `type`, or the element.
    pub fn word(&self) -> &'static str {
        self.facts().word
    }

    /// A model does its work.
    pub fn is_atomic(&self) -> bool {
        self.facts().leaf == Some(Leaf::Handler)
    }
}
