//! What an operator knows about its task and its parts when it is evaluated.

use std::sync::Arc;

use serde_json::Value;

use crate::record::Plan;
use crate::run::NodeInstance;
use crate::template::operators::{ChildSlot, Gave, Known, Names, Opening, Part, Parts, Tally};
use crate::template::{
    AccumulationFormat, Bound, Environment, Node, Path, PathUse, Script, TaskError, TaskResult, Template, Trust,
};

use super::Evaluator;

/// A task of the tree and its node.
pub(super) struct KnownTask<'e, 'a> {
    evaluator: &'e Evaluator<'a>,
    op: &'e NodeInstance,
    pub node: &'e Node,
}

impl<'a> Evaluator<'a> {
    /// What the operator of a task knows. `None` if it has no node.
    pub(super) fn known<'e>(&'e self, op: &'e NodeInstance) -> Option<KnownTask<'e, 'a>> {
        self.node(op).map(|node| KnownTask { evaluator: self, op, node })
    }
}

impl KnownTask<'_, '_> {
    fn task(&self, part: &Part) -> Option<&NodeInstance> {
        self.evaluator.run.operators().at(part.number)
    }
}

impl Parts for KnownTask<'_, '_> {
    fn plan(&self) -> Option<&Plan> {
        self.op.opened.as_ref().map(|opened| &opened.plan)
    }

    fn iteration(&self) -> u32 {
        self.op.iteration
    }

    fn parts(&self) -> Vec<Part> {
        self.evaluator.run.operators().parts(self.op)
    }

    fn tally(&self) -> Tally {
        self.op.tally
    }

    fn part(&self, place: ChildSlot) -> Option<Part> {
        self.evaluator.run.operators().child(self.op, place).map(NodeInstance::as_part)
    }

    fn writes(&self, tool: &str) -> bool {
        self.evaluator.writes(tool)
    }
}

impl Known for KnownTask<'_, '_> {
    fn id(&self) -> &str {
        self.op.id.as_str()
    }

    fn node(&self) -> &Node {
        self.node
    }

    fn result(&self, part: &Part) -> Arc<TaskResult> {
        self.task(part).map(|task| self.evaluator.result(task)).unwrap_or_default()
    }

    fn trust(&self, part: &Part) -> Trust {
        self.task(part).map(|task| self.evaluator.trust(task)).unwrap_or_default()
    }

    fn bound(&self, part: &Part) -> Bound {
        self.task(part).map_or_else(|| Bound::json(Value::Null, Trust::Author), |task| self.evaluator.bound(task))
    }

    fn gave_before(&self, count: u32) -> Gave {
        self.evaluator.gave_before(self.op, count)
    }

    fn scope(&self) -> Arc<Environment> {
        Arc::new(self.evaluator.own_scope(self.op))
    }

    fn element(&self, index: u32) -> Option<(String, Bound)> {
        self.evaluator.element(self.op, index)
    }

    fn request(&self) -> &str {
        self.evaluator.request(self.op)
    }

    fn called(&self) -> Option<&Template> {
        self.node.template.as_deref().and_then(|name| self.evaluator.template(name))
    }

    fn steps_told(&self) -> Value {
        let settings = self.node.context.settings;
        let format =
            if settings.accumulate_data { settings.accumulation_format } else { AccumulationFormat::NotesOnly };
        serde_json::to_value(self.evaluator.step_entries(self.op, format)).unwrap_or_default()
    }

    fn process(&self, goes_on: bool) -> TaskResult {
        self.evaluator.process_result(self.op, goes_on, false)
    }
}

/// An opened task, with what it has bound.
pub(super) struct OpeningTask<'e, 'a> {
    pub evaluator: &'e Evaluator<'a>,
    pub op: &'e NodeInstance,
    pub node: &'e Node,
    /// What surrounds it.
    pub scope: &'e Arc<Environment>,
    /// Like `scope`, but with its inputs.
    pub own: &'e Arc<Environment>,
}

impl Opening for OpeningTask<'_, '_> {
    fn node(&self) -> &Node {
        self.node
    }

    fn value(&self, path: &Path) -> Option<Value> {
        self.own.value(path)
    }

    fn handler(&self) -> Result<Plan, Box<TaskError>> {
        self.evaluator.handler_plan(self.op, self.node, self.own)
    }

    fn process(&self, script: &Script) -> Result<Plan, Box<TaskError>> {
        let tool = self.evaluator.process_tool(self.op, self.node);
        self.evaluator.process_plan(self.op, script, self.own, &self.node.origin, tool)
    }

    fn elements(&self, items: &PathUse) -> Result<Vec<(String, Bound)>, Box<TaskError>> {
        self.evaluator.elements(self.op, self.node, self.own, items)
    }

    fn passed(&self, inputs: &Names) -> Result<Names, Box<TaskError>> {
        self.evaluator.call_names(self.op, self.node, self.scope, inputs)
    }
}
