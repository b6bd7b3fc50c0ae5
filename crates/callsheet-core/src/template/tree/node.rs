//! Nodes and templates (spec 2.1, 16).

use serde::{Deserialize, Serialize};

use crate::nouns::TaskLimits;
use crate::template::operators::{Kind, Leaf};
use crate::template::place::Spot;
use crate::template::value::Filled;

use super::{ApprovalWish, Context, Effects, FilePaths, Input, InputSource, Origin, OutputFormat, Recovery, ValueType};

/// The purpose of a task.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Intent {
    /// The description of the task, which matching also reads.
    pub description: Filled,
    /// What the model must do. If empty, the description is used.
    pub instructions: Filled,
    /// What a good result contains.
    pub expected_output: Filled,
    /// How it is judged.
    pub criteria: Filled,
}

/// One task of the tree.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Node {
    /// The name of its result among its siblings.
    pub id: Option<String>,
    /// The name for people. For the body of a template, the name of the template.
    pub name: Option<String>,
    /// The operator and its children.
    pub kind: Kind,
    /// `standard`, `subtask`, `director`, `evaluator`, `associative_matching` or another word.
    pub subtype: String,
    /// Its purpose.
    pub intent: Intent,
    /// The text that is added to the base prompt.
    pub system: Filled,
    /// The models, in order of preference.
    pub models: Vec<String>,
    /// The providers, in order of preference.
    pub providers: Vec<String>,
    /// The template or skill that it runs.
    pub template: Option<String>,
    /// The inputs in order.
    pub inputs: Vec<Input>,
    /// The files that it gets.
    pub refs: Option<FilePaths>,
    /// What it is told about its surroundings.
    pub context: Context,
    /// The declared form of its output.
    pub output: Option<OutputFormat>,
    /// The written settings for effects and approval.
    pub approval: ApprovalWish,
    /// The canonical names of the tools that it may use. `None` for the default set.
    pub tools: Option<Vec<String>>,
    /// Its own limits.
    pub limits: TaskLimits,
    /// How a failure is handled.
    pub recovery: Recovery,
    /// Whether its tree or reply is used as written.
    pub manual_xml: bool,
    /// Whether a model never splits the task after a failure.
    pub disable_reparsing: bool,
    /// Where it was written.
    pub origin: Origin,
    /// Where the name of the called template was written. For other nodes, where the node was written.
    #[serde(skip)]
    pub called_at: Spot,
}

impl Node {
    /// A node without settings.
    pub fn new(kind: Kind, origin: Origin) -> Self {
        Self {
            id: None,
            name: None,
            kind,
            subtype: "standard".to_owned(),
            intent: Intent::default(),
            system: Filled::default(),
            models: Vec::new(),
            providers: Vec::new(),
            template: None,
            inputs: Vec::new(),
            refs: None,
            context: Context::default(),
            output: None,
            approval: ApprovalWish::default(),
            tools: None,
            limits: TaskLimits::default(),
            recovery: Recovery::default(),
            manual_xml: false,
            disable_reparsing: false,
            called_at: origin.spot,
            origin,
        }
    }

    /// Its effects: as written, or else `write` for a script, or else derived from its tools (spec 2.2). `writes`
    /// says whether a tool writes.
    pub fn effects(&self, writes: &dyn Fn(&str) -> bool) -> Effects {
        let writer =
            self.kind.facts().leaf == Some(Leaf::Process) || self.tools.iter().flatten().any(|tool| writes(tool));
        let derived = if writer { Effects::Write } else { Effects::Read };
        self.approval.effects.unwrap_or(derived)
    }

    /// Whether a person must approve it before it runs.
    pub fn requires_approval(&self, writes: &dyn Fn(&str) -> bool) -> bool {
        self.approval.required == Some(true) || self.effects(writes) == Effects::Write
    }

    /// The direct children in document order: first operators in inputs and arguments, then those of the operator.
    pub fn children(&self) -> Vec<&Node> {
        let mut out: Vec<&Self> = Vec::new();
        out.extend(self.inputs.iter().filter_map(|input| match &input.source {
            InputSource::Operator(node) => Some(&**node),
            _ => None,
        }));
        out.extend(self.kind.operator().nodes());
        out
    }

    /// The direct children, mutable.
    pub fn children_mut(&mut self) -> Vec<&mut Node> {
        let mut out: Vec<&mut Self> = Vec::new();
        out.extend(self.inputs.iter_mut().filter_map(|input| match &mut input.source {
            InputSource::Operator(node) => Some(&mut **node),
            _ => None,
        }));
        out.extend(self.kind.nodes_mut());
        out
    }

    /// Its steps, if its author may write any number of them.
    pub fn steps(&self) -> Option<&[Node]> {
        self.kind.operator().steps()
    }

    /// Whether it is written like another node. The nodes below both and their limits do not matter.
    pub fn reads_like(&self, other: &Node) -> bool {
        self.alone() == other.alone()
    }

    /// The node without the nodes below it and without its limits.
    fn alone(&self) -> Node {
        let mut alone = self.clone();
        alone.limits = TaskLimits::default();
        alone.recovery.attempts = None;
        Kind::LIMITS.iter().for_each(|name| alone.kind.set_limit(name, 0));
        alone.kind.steps_mut().into_iter().for_each(Vec::clear);
        alone.children_mut().into_iter().for_each(|child| *child = Node::new(Kind::Atomic, Origin::default()));
        alone
    }

    /// This node and all nodes below it, in document order.
    pub fn walk(&self) -> Vec<&Node> {
        let mut out = Vec::new();
        let mut open = vec![self];
        while let Some(node) = open.pop() {
            out.push(node);
            let mut children = node.children();
            children.reverse();
            open.extend(children);
        }
        out
    }
}

/// A parameter of a function template.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Param {
    /// Its name.
    pub name: String,
    /// Its type.
    #[serde(rename = "type")]
    pub kind: ValueType,
    /// Whether its absence is an error.
    pub required: bool,
    /// The value if none is given.
    pub default: Option<String>,
    /// A description for planners.
    pub meaning: String,
    /// Where it was written.
    #[serde(default)]
    pub at: Spot,
}

/// A named task tree.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Template {
    /// Its name in the library.
    pub name: String,
    /// The parameters of a function template, which may have none. `None` for a standard template.
    pub params: Option<Vec<Param>>,
    /// The type of its result.
    pub returns: Option<ValueType>,
    /// The words that hints are compared with.
    pub tags: Vec<String>,
    /// Whether a request may run it instead of being planned (spec 10).
    pub auto_select: bool,
    /// Its task tree.
    pub body: Node,
    /// Where the type of its result was written.
    #[serde(skip)]
    pub returns_at: Spot,
    /// Where it was written.
    pub origin: Origin,
}

/// A value that a template takes from its caller (spec 4).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Taken<'a> {
    /// Its name.
    pub name: &'a str,
    /// Its type.
    pub kind: ValueType,
    /// Whether a call without it is an error.
    pub required: bool,
    /// The value if none is given.
    pub default: Option<&'a str>,
    /// A description for planners.
    pub meaning: &'a str,
}

impl Template {
    /// Whether it sees only its parameters.
    pub fn is_function(&self) -> bool {
        self.params.is_some()
    }

    /// The parameters of a function template, or the inputs that a standard template takes from its caller.
    pub fn takes(&self) -> Vec<Taken<'_>> {
        if let Some(params) = &self.params {
            let taken = params.iter().map(|param| Taken {
                name: &param.name,
                kind: param.kind,
                required: param.required && param.default.is_none(),
                default: param.default.as_deref(),
                meaning: param.meaning.trim(),
            });
            return taken.collect();
        }
        let of_caller = self.body.inputs.iter().filter(|input| matches!(input.source, InputSource::Caller));
        let taken = of_caller.map(|input| Taken {
            name: &input.name,
            kind: ValueType::Any,
            required: input.required && input.default.is_none(),
            default: input.default.as_deref(),
            meaning: "",
        });
        taken.collect()
    }
}
