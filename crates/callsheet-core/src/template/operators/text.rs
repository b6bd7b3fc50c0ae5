//! What a text format does for an operator: it reads values by the names of the operator's rows, and writes them.

use crate::template::tree::{Argument, Condition, Node, PathUse, Script};
use crate::template::value::Filled;

use super::Case;

/// A place for one operator, and what it implies for the task at this place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Slot {
    /// The element.
    pub name: &'static str,
    /// The subtype of a task that names none.
    pub subtype: &'static str,
}

impl Slot {
    /// A slot without effect on its task.
    pub const fn new(name: &'static str) -> Self {
        Self { name, subtype: "standard" }
    }
}

/// The written values of an operator, by the names of its rows. Faults in them were already reported.
pub trait Given {
    /// The value of an attribute.
    fn word(&self, name: &str) -> Option<String>;
    /// The whole number in an attribute or child, in the range of its row, or the default of the row.
    fn count(&self, name: &str) -> Option<u32>;
    /// The variable that an attribute names.
    fn path(&self, name: &str) -> Option<PathUse>;
    /// The text of a child. Empty if there is no such child.
    fn text(&self, name: &str) -> Filled;
    /// The expression in the child `name` of the child `within`.
    fn condition(&self, within: &str, name: &str) -> Option<Condition>;
    /// The operator in a slot.
    fn node(&mut self, slot: &Slot) -> Option<Box<Node>>;
    /// The operators in a child or in its own element, in order.
    fn steps(&mut self, within: Option<&str>) -> Vec<Node>;
    /// The process in a child or in its own element.
    fn script(&mut self, within: Option<&str>) -> Option<Script>;
    /// The children that each contain an operator under a condition.
    fn cases(&mut self, name: &str) -> Vec<Case>;
    /// The arguments of a call.
    fn arguments(&mut self) -> Vec<Argument>;
}

/// Takes the values of an operator in the order in which they are written.
pub trait Written {
    /// Writes a text.
    fn text(&mut self, name: &str, text: &str);
    /// Writes an expression as the child `name` of the child `within`.
    fn condition(&mut self, within: &str, name: &str, condition: &Condition);
    /// Writes the operator in a slot.
    fn node(&mut self, slot: &Slot, node: &Node);
    /// Writes operators in order, in a child or in its own element.
    fn steps(&mut self, within: Option<&str>, steps: &[Node]);
    /// Writes a process, in a child or in its own element.
    fn script(&mut self, within: Option<&str>, script: &Script);
    /// Writes children that each contain an operator under a condition.
    fn cases(&mut self, name: &str, cases: &[Case]);
    /// Writes the arguments of a call.
    fn arguments(&mut self, arguments: &[Argument]);
}
