//! The fixed properties of an operator: one row for each operator, in the file of the operator.

use super::{Given, Kind};
use crate::template::form::{Attribute, Child, Element};
use crate::template::tree::Role;

/// The fixed properties of an operator. Every operator sets every field.
#[derive(Clone, Copy, Debug)]
pub struct Facts {
    /// The word of `type`, or the name of the element.
    pub word: &'static str,
    /// How it is written.
    pub rows: Rows,
    /// Reads the operator. `None` if something required is missing.
    pub read: fn(&mut dyn Given) -> Option<Kind>,
    /// What performs its work, if it has no parts.
    pub leaf: Option<Leaf>,
    /// The row of its context settings in every place.
    pub role: Role,
    /// The row for an atomic task in one of its slots.
    pub part_role: Role,
    /// The row for the operator when it is started as a subtask.
    pub spawned: Role,
    /// The names that it binds for its parts (spec 8).
    pub binds: &'static [&'static str],
    /// Whether its inputs are shown or passed on even if no text names them.
    pub shows_inputs: bool,
    /// Whether a model sees what is looked up for it. Processes see nothing, and `call` and `cond` are transparent.
    pub looks_up: bool,
    /// Whether a failed task may be split into this operator (spec 11).
    pub splits: bool,
    /// Whether a model may ask for a subtask of this kind (spec 12).
    pub spawns: bool,
    /// Whether its part has the frame around the operator, because the operator has none of its own.
    pub transparent: bool,
    /// Whether its parts only run under a condition.
    pub guards: bool,
    /// Whether the results of its parts are bound by their ids next to its own (spec 8).
    pub lends_ids: bool,
    /// Whether its parts run one after the other and may read the earlier ones.
    pub in_order: bool,
    /// Whether its result is that of its last part.
    pub gives_its_last: bool,
}

/// What performs the work of an operator without parts.
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
    /// As a `task` with this `type`, and these rows in addition to those of every task.
    Task {
        /// A description for a person who chooses an operator.
        about: &'static str,
        /// A commented template with the name `NAME`.
        example: &'static str,
        /// Attributes.
        attributes: &'static [Attribute],
        /// Children.
        children: &'static [Child],
    },
    /// As an element with its own name.
    Element(&'static Element),
}

impl Rows {
    /// The attributes of this operator alone.
    pub fn attributes(&self) -> &'static [Attribute] {
        match self {
            Self::Task { attributes, .. } => attributes,
            Self::Element(element) => element.attributes,
        }
    }

    /// The children of this operator alone.
    pub fn children(&self) -> &'static [Child] {
        match self {
            Self::Task { children, .. } => children,
            Self::Element(element) => element.children,
        }
    }
}

impl Kind {
    /// The fixed properties of the operator.
    pub fn facts(&self) -> &'static Facts {
        self.operator().facts()
    }

    /// The word of `type`, or the name of the element.
    pub fn word(&self) -> &'static str {
        self.facts().word
    }

    /// Whether a model performs its work.
    pub fn is_atomic(&self) -> bool {
        self.facts().leaf == Some(Leaf::Handler)
    }
}
