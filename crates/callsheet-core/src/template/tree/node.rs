//! Nodes and templates (spec 2.1, 16).

use serde::{Deserialize, Serialize};

use crate::nouns::TaskLimits;
use crate::template::operators::{Kind, Leaf};
use crate::template::place::Spot;
use crate::template::value::Filled;

use super::{ApprovalWish, Context, Effects, FilePaths, Input, InputSource, Origin, OutputFormat, Recovery, ValueType};

/// What a task is for.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Intent {
    /// Statement of the task; also what matching reads.
    pub description: Filled,
    /// What the model is told to do; empty means the description.
    pub instructions: Filled,
    /// What a good result looks like.
    pub expected_output: Filled,
    /// How it is judged.
    pub criteria: Filled,
}

/// One task of the tree.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Node {
    /// Names its result among its siblings.
    pub id: Option<String>,
    /// Its display name; for the body of a template the template's.
    pub name: Option<String>,
    /// Operator and children.
    pub kind: Kind,
    /// `standard`, `subtask`, `director`, `evaluator`, `associative_matching` or another word.
    pub subtype: String,
    /// What it is for.
    pub intent: Intent,
    /// Joins the base prompt.
    pub system: Filled,
    /// Models, the preferred one first.
    pub models: Vec<String>,
    /// Providers, the preferred one first.
    pub providers: Vec<String>,
    /// The template or skill that is run here.
    pub template: Option<String>,
    /// Inputs in order.
    pub inputs: Vec<Input>,
    /// Files it is given.
    pub refs: Option<FilePaths>,
    /// What it is told of its surroundings.
    pub context: Context,
    /// Declared form of its output.
    pub output: Option<OutputFormat>,
    /// Effects and approval as written.
    pub approval: ApprovalWish,
    /// Tools it may use, canonical; `None` is the default set.
    pub tools: Option<Vec<String>>,
    /// Its own limits.
    pub limits: TaskLimits,
    /// What is done about a failure.
    pub recovery: Recovery,
    /// Its tree or reply is used as written.
    pub manual_xml: bool,
    /// A failure is never decomposed by a model.
    pub disable_reparsing: bool,
    /// Where it was written.
    pub origin: Origin,
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
            origin,
        }
    }

    /// What it does to the world: as written, else `write` for a script, else by its tools (spec 2.2). `writes` knows
    /// which tools write.
    pub fn effects(&self, writes: &dyn Fn(&str) -> bool) -> Effects {
        let writer =
            self.kind.facts().leaf == Some(Leaf::Process) || self.tools.iter().flatten().any(|tool| writes(tool));
        let derived = if writer { Effects::Write } else { Effects::Read };
        self.approval.effects.unwrap_or(derived)
    }

    /// Whether a person is asked before it runs.
    pub fn requires_approval(&self, writes: &dyn Fn(&str) -> bool) -> bool {
        self.approval.required == Some(true) || self.effects(writes) == Effects::Write
    }

    /// Direct children in document order: operators nested in inputs and arguments, then those of the operator.
    pub fn children(&self) -> Vec<&Node> {
        let mut out: Vec<&Self> = Vec::new();
        out.extend(self.inputs.iter().filter_map(|input| match &input.source {
            InputSource::Operator(node) => Some(&**node),
            _ => None,
        }));
        out.extend(self.kind.operator().nodes());
        out
    }

    /// The same, to be changed.
    pub fn children_mut(&mut self) -> Vec<&mut Node> {
        let mut out: Vec<&mut Self> = Vec::new();
        out.extend(self.inputs.iter_mut().filter_map(|input| match &mut input.source {
            InputSource::Operator(node) => Some(&mut **node),
            _ => None,
        }));
        out.extend(self.kind.nodes_mut());
        out
    }

    /// Sets the limits of this node and of all below it, in document order.
    pub fn set_limits(&mut self, limits: &mut dyn Iterator<Item = TaskLimits>) {
        if let Some(own) = limits.next() {
            self.limits = own;
        }
        self.children_mut().into_iter().for_each(|child| child.set_limits(limits));
    }

    /// This node and all below it, in document order.
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
    /// Its absence is an error.
    pub required: bool,
    /// What it is if nothing is given.
    pub default: Option<String>,
    /// What it means, for planners.
    pub meaning: String,
    /// Where it was written.
    #[serde(default)]
    pub at: Spot,
}

/// A named task tree.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Template {
    /// Library name.
    pub name: String,
    /// Parameters of a function template, even if there are none; `None` is a standard template.
    pub params: Option<Vec<Param>>,
    /// Type of its result.
    pub returns: Option<ValueType>,
    /// Words that hints match.
    pub tags: Vec<String>,
    /// A request may run it instead of planning (spec 10).
    pub auto_select: bool,
    /// Its tree.
    pub body: Node,
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
    /// A call without it is an error.
    pub required: bool,
    /// What it means, for planners.
    pub meaning: &'a str,
}

impl Template {
    /// Whether it sees only its parameters.
    pub fn is_function(&self) -> bool {
        self.params.is_some()
    }

    /// Parameters of a function template, inputs that a standard one takes of its caller.
    pub fn takes(&self) -> Vec<Taken<'_>> {
        if let Some(params) = &self.params {
            let taken = params.iter().map(|param| Taken {
                name: &param.name,
                kind: param.kind,
                required: param.required && param.default.is_none(),
                meaning: param.meaning.trim(),
            });
            return taken.collect();
        }
        let of_caller = self.body.inputs.iter().filter(|input| matches!(input.source, InputSource::Caller));
        let taken = of_caller.map(|input| Taken {
            name: &input.name,
            kind: ValueType::Any,
            required: input.required && input.default.is_none(),
            meaning: "",
        });
        taken.collect()
    }
}
