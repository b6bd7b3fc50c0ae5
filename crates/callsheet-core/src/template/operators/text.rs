//! What a text format does for an operator: it gives what is written by the names of the operator's rows, and takes what is
//! to be written.

use crate::template::tree::{Argument, Condition, Node, PathUse, Script};
use crate::template::value::Filled;

use super::Case;

/// A place for one operator, and what it says of the task that stands there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Slot {
    /// The element.
    pub name: &'static str,
    /// The subtype of a task that says none.
    pub subtype: &'static str,
}

impl Slot {
    /// One that says nothing of its task.
    pub const fn new(name: &'static str) -> Self {
        Self { name, subtype: "standard" }
    }
}

/// What is written of an operator, by the names of its rows. What is wrong with it has been told.
pub trait Given {
    /// An attribute.
    fn word(&self, name: &str) -> Option<String>;
    /// An attribute or child that holds a whole number in the range of its row, or what that row has instead.
    fn count(&self, name: &str) -> Option<u32>;
    /// A variable that an attribute names.
    fn path(&self, name: &str) -> Option<PathUse>;
    /// The text of a child; empty without it.
    fn text(&self, name: &str) -> Filled;
    /// An expression: the child `name` of the child `within`.
    fn condition(&self, within: &str, name: &str) -> Option<Condition>;
    /// The operator in a slot.
    fn node(&mut self, slot: &Slot) -> Option<Box<Node>>;
    /// Operators one after the other, in a child or in its own element.
    fn steps(&mut self, within: Option<&str>) -> Vec<Node>;
    /// A process, in a child or in its own element.
    fn script(&mut self, within: Option<&str>) -> Option<Script>;
    /// Children that hold an operator each, under a condition.
    fn cases(&mut self, name: &str) -> Vec<Case>;
    /// Arguments of a call.
    fn arguments(&mut self) -> Vec<Argument>;
}

/// Takes what is to be written of an operator, in order.
pub trait Written {
    /// A text.
    fn text(&mut self, name: &str, text: &str);
    /// An expression: the child `name` of the child `within`.
    fn condition(&mut self, within: &str, name: &str, condition: &Condition);
    /// The operator in a slot.
    fn node(&mut self, slot: &Slot, node: &Node);
    /// Operators one after the other, in a child or in its own element.
    fn steps(&mut self, within: Option<&str>, steps: &[Node]);
    /// A process, in a child or in its own element.
    fn script(&mut self, within: Option<&str>, script: &Script);
    /// Children that hold an operator each, under a condition.
    fn cases(&mut self, name: &str, cases: &[Case]);
    /// Arguments of a call.
    fn arguments(&mut self, arguments: &[Argument]);
}
