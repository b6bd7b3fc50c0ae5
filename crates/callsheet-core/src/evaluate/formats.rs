//! What evaluation has text formats do. `callsheet-format` implements it, so core knows none of them.

use crate::record::Tree;
use crate::spec::ToolSpec;
use crate::template::{JsonReading, ReplyReading, Template};

/// Reads what models and authors write, and knows the templates that are built in. All of it is pure.
pub trait Formats {
    /// The final reply of a handler. That of a task with `manual_xml` is kept as it is.
    fn reply(&self, text: &str, manual: bool) -> ReplyReading;

    /// The JSON that a model or a process wrote.
    fn json(&self, text: &str) -> JsonReading;

    /// The paths that a value lists as links; none if it lists no links.
    fn linked_paths(&self, text: &str) -> Vec<String>;

    /// The evaluator that judges where no template of the library fits.
    fn evaluator(&self) -> Option<Template>;

    /// The template that asks a model to split a task.
    fn split_request(&self) -> Option<Template>;

    /// The task tree in a model's answer to that, checked like a template file beside those of `tree`. `None`: the answer
    /// holds none.
    fn split(&self, reply: &str, name: &str, tree: &Tree, tools: Vec<ToolSpec>) -> Option<SplitReading>;
}

/// The answer to a request for a split.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SplitReading {
    /// The tree, also one that has faults.
    pub template: Option<Template>,
    /// What makes it unusable, in words for a model.
    pub faults: Vec<String>,
    /// Names of further elements.
    pub beside: Vec<String>,
}
