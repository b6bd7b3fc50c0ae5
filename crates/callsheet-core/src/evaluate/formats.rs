//! The text formats that evaluation needs. `callsheet-format` implements them, so core knows none of them.

use crate::nouns::ToolSpec;
use crate::record::Tree;
use crate::template::{JsonReading, ReplyReading, Template};

/// Reads what models and authors write, and provides built-in templates. Pure.
pub trait Formats {
    /// Reads the final reply of a handler. With `manual_xml` it is kept unchanged.
    fn reply(&self, text: &str, manual: bool) -> ReplyReading;

    /// Reads the JSON that a model or a process wrote.
    fn json(&self, text: &str) -> JsonReading;

    /// The paths that a value lists as links. Empty if it lists none.
    fn linked_paths(&self, text: &str) -> Vec<String>;

    /// The evaluator to use if no template of the library matches.
    fn evaluator(&self) -> Option<Template>;

    /// The template that asks a model to split a task.
    fn split_request(&self) -> Option<Template>;

    /// The task tree in a model's answer to that, checked like a template file together with those of `tree`. `None` if
    /// the answer contains none.
    fn split(&self, reply: &str, name: &str, tree: &Tree, tools: Vec<ToolSpec>) -> Option<SplitReading>;
}

/// The answer to a request for a split.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SplitReading {
    /// The tree, even if it has faults.
    pub template: Option<Template>,
    /// What makes it unusable, in words for a model.
    pub faults: Vec<String>,
    /// Names of further elements.
    pub beside: Vec<String>,
}
