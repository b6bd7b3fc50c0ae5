//! The places of an operator's parts, and what is at these places.

use crate::template::tree::{InputSource, Node, Script};

/// The place of a child below its parent. Numbers count from 0, iterations from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChildSlot {
    /// The top task.
    Top,
    /// An operator nested in an input.
    Input {
        /// Which input.
        index: u32,
    },
    /// An operator nested in an argument of a call.
    Argument {
        /// Which argument.
        index: u32,
    },
    /// A step of a sequence, or a child of `parallel`.
    Child {
        /// Which child.
        index: u32,
    },
    /// The body of a `map` for one element.
    Item {
        /// Which element.
        index: u32,
    },
    /// One of the parts that an operator has for each input or element.
    Part {
        /// The word that it adds to the name of its parent, before a number.
        word: &'static str,
        /// Which input.
        index: u32,
    },
    /// One of the parts of an iteration.
    Turn {
        /// The word that it adds to the name of its parent, before a number.
        word: &'static str,
        /// Which iteration.
        iteration: u32,
    },
    /// A branch of a `cond`; `None` is `else`.
    Branch {
        /// Which case.
        case: Option<u32>,
    },
    /// The body of a called template.
    Body,
    /// The task by which a model chooses among the files that were found for its parent.
    Match,
    /// The handler that is asked to split the failed task of its parent.
    Split,
    /// The result of the split, which replaces its failed parent.
    Regrown,
    /// A subtask that a call of its parent's handler asks for.
    Subtask {
        /// Which handler of the parent, from 1.
        attempt: u32,
        /// Which of its calls.
        call: u32,
    },
}

impl ChildSlot {
    /// Whether it is nested in an input or argument, or chooses files. It then runs before its parent is opened.
    pub fn is_nested(&self) -> bool {
        matches!(self, Self::Input { .. } | Self::Argument { .. } | Self::Match)
    }

    /// Its number among the parts of its kind, from 1. 0 if there is only one of that kind.
    pub fn number(&self) -> u32 {
        match self {
            Self::Input { index }
            | Self::Argument { index }
            | Self::Child { index }
            | Self::Item { index }
            | Self::Part { index, .. } => index.saturating_add(1),
            Self::Turn { iteration, .. } => *iteration,
            Self::Subtask { call, .. } => call.saturating_add(1),
            Self::Top | Self::Branch { .. } | Self::Body | Self::Match | Self::Split | Self::Regrown => 0,
        }
    }

    /// Whether it is a subtask.
    pub fn is_subtask(&self) -> bool {
        matches!(self, Self::Subtask { .. })
    }

    /// The part of the tree at this place below `node`.
    pub fn below<'t>(&self, node: &'t Node) -> Option<Work<'t>> {
        match self {
            Self::Input { index } => match &node.inputs.get(index_of(*index)?)?.source {
                InputSource::Operator(node) => Some(Work::Node(node)),
                _ => None,
            },
            Self::Argument { index } => {
                node.kind.operator().arguments().get(index_of(*index)?)?.value.operator().map(Work::Node)
            }
            place => node.kind.operator().below(*place),
        }
    }

    /// The word that it adds to the name of its parent. `work` is what is at this place.
    pub fn word(&self, work: Option<Work<'_>>, template: &str) -> String {
        let id = match work {
            Some(Work::Node(node)) => node.id.as_deref(),
            Some(Work::Script(_)) | None => None,
        };
        match self {
            Self::Top | Self::Body => template.to_owned(),
            Self::Input { index } => format!("input-{}", index + 1),
            Self::Argument { index } => format!("arg-{}", index + 1),
            Self::Child { index } => id.map_or_else(|| format!("s{index}"), str::to_owned),
            Self::Item { index } => (index + 1).to_string(),
            Self::Part { word, index } => format!("{word}-{}", index + 1),
            Self::Turn { word, iteration } => format!("{word}-{iteration}"),
            Self::Branch { case: Some(case) } => format!("case-{}", case + 1),
            Self::Branch { case: None } => "else".to_owned(),
            Self::Match => "match".to_owned(),
            Self::Split => "split".to_owned(),
            Self::Regrown => "regrown".to_owned(),
            Self::Subtask { call, .. } => format!("sub-{}", call + 1),
        }
    }
}

/// The part of a template that a tree task executes.
#[derive(Clone, Copy, Debug)]
pub enum Work<'t> {
    /// A node.
    Node(&'t Node),
    /// The script of a loop.
    Script(&'t Script),
}

impl Work<'_> {
    /// Whether both are the same place of the same tree.
    pub fn is_the_same_as(self, other: Work<'_>) -> bool {
        match (self, other) {
            (Self::Node(one), Work::Node(other)) => std::ptr::eq(one, other),
            (Self::Script(one), Work::Script(other)) => std::ptr::eq(one, other),
            (Self::Node(_), Work::Script(_)) | (Self::Script(_), Work::Node(_)) => false,
        }
    }
}

/// The node with this number.
pub(super) fn nth(nodes: &[Node], index: u32) -> Option<Work<'_>> {
    nodes.get(index_of(index)?).map(Work::Node)
}

pub(super) fn index_of(index: u32) -> Option<usize> {
    usize::try_from(index).ok()
}
