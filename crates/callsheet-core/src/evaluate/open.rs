//! Opens a task: binds inputs, fills in texts, chooses a branch or the elements (spec 4, 8).

use serde_json::Value;

use crate::nouns::{Limits, SkillLimits, SkillMode, SkillPolicy, Task, TaskLimits};
use crate::record::{HandlerPlan, Opened, Plan, Step};
use crate::run::{ChildSlot, NodeInstance, Work};
use crate::template::operators::{Names, Opens};
use crate::template::{
    Bound, Datum, Details, Effects, Environment, Evaluated, Halt, InputFaultDetails, InputSource, Missing, Node,
    Reason, SourceLocation, TaskError, TaskResult, Template, Trust, argument_value, bind_call, bind_inputs,
    missing_before_run, names_its_provider, resolve_task, type_word,
};

use super::known::OpeningTask;
use super::known_files::known_files;
use super::names::written_paths;
use super::process::{SCRIPT, SCRIPT_READ, unbound};
use super::{Evaluator, failure};

/// The longest title of a task for a person, in characters.
const TITLE: usize = 120;

impl Evaluator<'_> {
    pub(super) fn open(&self, op: &NodeInstance) -> Step {
        let opened = match self.work(op) {
            Some(Work::Node(node)) => self.open_node(op, node),
            Some(Work::Script(script)) => {
                let own = self.scope(op);
                // The script of a loop has no `effects` setting, so it needs approval.
                let origin = self.parent(op).and_then(|above| self.node(above)).map(|node| node.origin.clone());
                let plan = self.process_plan(op, script, &own, &origin.unwrap_or_default(), SCRIPT);
                plan.map(|plan| self.opened(op, plan, None)).map_err(NotOpened::Failed)
            }
            None => Err(NotOpened::Failed(unexpected("the recorded tree does not hold this task"))),
        };
        match opened {
            Ok(opened) => Step::Opened(Box::new(opened)),
            Err(NotOpened::Seeks(step)) => *step,
            Err(NotOpened::Closed(result)) => self.closed(op, *result),
            Err(NotOpened::Failed(error)) => {
                let error = match self.node(op) {
                    Some(node) => failure::located(*error, &node.origin, op.id.as_str()),
                    None => *error,
                };
                self.failed(op, error)
            }
        }
    }

    fn opened(&self, op: &NodeInstance, plan: Plan, names: Option<&Names>) -> Opened {
        let names = names.filter(|names| **names != Names::default()).map(|names| self.keep(names));
        let context = self.node(op).map(|node| node.context.settings).unwrap_or_default();
        Opened { plan, names, context, called: None }
    }

    fn open_node(&self, op: &NodeInstance, node: &Node) -> Result<Opened, NotOpened> {
        if op.place == ChildSlot::Top || self.is_before_top(op) {
            self.check_whole_run(op)?;
        }
        if op.place.is_nested() {
            self.check_around(op)?;
        }
        let scope = self.scope(op);
        let mut names = Names { bound: self.inputs(op, node, &scope)?.into_iter().collect(), items: Vec::new() };
        let own = scope.inner(names.bound.clone());
        let own = std::sync::Arc::new(own);
        if let Some(step) = self.seek(op, node, &own)? {
            return Err(NotOpened::Seeks(Box::new(step)));
        }
        let opening = OpeningTask { evaluator: self, op, node, scope: &scope, own: &own };
        let plan = match node.kind.operator().open(&opening, &mut names)? {
            Opens::Plan(plan) => plan,
            Opens::Closed(result) => return Err(NotOpened::Closed(result)),
        };
        Ok(self.opened(op, plan, Some(&names)))
    }

    /// Whether the task is nested in the inputs of the top task, so that it runs before the top task is opened.
    fn is_before_top(&self, op: &NodeInstance) -> bool {
        self.run.operators().top_of(op.mount).is_some_and(|top| top.opened.is_none())
    }

    /// Reports values that the task around a nested element lacks: no call is made for a task that cannot begin (spec
    /// 4). The results of nested elements count as known.
    fn check_around(&self, op: &NodeInstance) -> Result<(), Box<TaskError>> {
        let Some((above, node)) = self.parent(op).and_then(|above| Some((above, self.node(above)?))) else {
            return Ok(());
        };
        let scope = self.scope(above);
        let given = |_: &str| Some((Value::Null, Trust::Author));
        let mut missing = Vec::new();
        let names = bind_inputs(node, &scope, above.id.as_str(), &given).unwrap_or_else(|names| {
            missing = names;
            Vec::new()
        });
        let own = scope.inner(names);
        let task = above.id.as_str();
        let operator = node.kind.operator();
        let mut lacks = Vec::new();
        if node.kind.is_atomic() {
            lacks.extend(resolve_task(node, &own, task).err().unwrap_or_default());
        }
        let list = operator.items().filter(|items| own.find(&items.path).is_none());
        lacks.extend(list.map(|items| unbound(items, "items", &node.origin, task)));
        let plain = operator.arguments().iter().filter(|one| one.value.operator().is_none());
        lacks.extend(plain.filter_map(|one| argument_value(one, &scope, task, None).err()).flatten());
        // An input that is bound late, or was already reported, may have any value.
        let nested = |input: &crate::template::Input| matches!(input.source, InputSource::Operator(_));
        let open = |input: &crate::template::Input| nested(input) || own.own().get(&input.name).is_none();
        let is_open = |name: &str| node.inputs.iter().any(|input| input.name == name && open(input));
        missing.extend(lacks.into_iter().filter(|one| !is_open(root_of(&one.name))));
        if missing.is_empty() { Ok(()) } else { Err(input_fault(missing)) }
    }

    /// Reports names that nothing in the whole run can bind, before the first model call (spec 4).
    fn check_whole_run(&self, op: &NodeInstance) -> Result<(), Box<TaskError>> {
        let Some(template) = self.template(&self.tree.entry) else {
            let error = failure::failure(Reason::TemplateNotFound, "the template does not exist", Details::default());
            return Err(Box::new(error));
        };
        if let Some(Err(fault)) = self.parameters() {
            return Err(Box::new(fault.into_error()));
        }
        let top = self.run.operators().top_of(op.mount).map(|top| self.scope(top)).unwrap_or_default();
        let mut fault = InputFaultDetails { missing: self.missing_before_run(template, &top), invalid: Vec::new() };
        self.absent_files(template, &mut fault);
        for path in &self.tree.files {
            self.tree.absent.get(path).into_iter().for_each(|near| fault.no_file(path, near, None));
        }
        if fault.is_empty() { Ok(()) } else { Err(Box::new(fault.into_error())) }
    }

    /// Names that nothing in a template, or in those that it calls, can bind.
    pub(super) fn missing_before_run(&self, template: &Template, names: &Environment) -> Vec<Missing> {
        missing_before_run(template, names, &|name| self.template(name))
    }

    /// Missing files without which a run does not begin. A file that an earlier task may write does not count, and
    /// files given with the request replace all others.
    fn absent_files(&self, template: &Template, fault: &mut InputFaultDetails) {
        if !self.tree.files.is_empty() {
            return;
        }
        let all = self.reached(template).into_iter().chain([template]);
        for (path, node) in all.filter(|_| !self.writes_files()).flat_map(written_paths) {
            if let Some(near) = self.tree.absent.get(path) {
                fault.no_file(path, near, Some(location_of(node)));
            }
        }
        let known = known_files(self.tree, self.formats, &|node| self.can_write(node));
        for (path, node) in &known.files {
            if let Some(near) = self.tree.absent.get(path) {
                fault.no_file(path, near, Some(location_of(node)));
            }
        }
        known.none.iter().for_each(|(name, given)| fault.refuse(name, "a list of at least one file", given));
    }

    /// Whether a task of the tree may write files, so that a missing file may still appear.
    pub(super) fn writes_files(&self) -> bool {
        let Some(entry) = self.template(&self.tree.entry) else { return false };
        let mut nodes = self.reached(entry).into_iter().chain([entry]).flat_map(|one| one.body.walk());
        nodes.any(|node| self.can_write(node))
    }

    /// Whether a task may write files. The effects of a process that is not a separate task are unknown.
    fn can_write(&self, node: &Node) -> bool {
        let tries = node.kind.facts().leaf.is_none() && node.kind.operator().script().is_some();
        tries || node.effects(&|tool| self.writes(tool)) == Effects::Write
    }

    fn inputs(
        &self,
        op: &NodeInstance,
        node: &Node,
        scope: &Environment,
    ) -> Result<Vec<(String, Bound)>, Box<TaskError>> {
        let mut results = std::collections::BTreeMap::new();
        for (index, input) in (0..).zip(&node.inputs) {
            if !matches!(input.source, InputSource::Operator(_)) {
                continue;
            }
            let Some(nested) = self.run.operators().child(op, ChildSlot::Input { index }) else { continue };
            let result = self.result(nested);
            if let Some(error) = result.failed() {
                return Err(error);
            }
            results.insert(input.name.clone(), (result.value(), self.trust(nested)));
        }
        bind_inputs(node, scope, op.id.as_str(), &|name| results.get(name).cloned()).map_err(input_fault)
    }

    /// Elements of a list, at most `max_items`.
    pub(super) fn elements(
        &self,
        op: &NodeInstance,
        node: &Node,
        own: &Environment,
        items: &crate::template::PathUse,
    ) -> Result<Vec<(String, Bound)>, Box<TaskError>> {
        let refuse = |actual: &str| {
            let mut fault = InputFaultDetails::default();
            fault.refuse(&items.path.to_string(), "a list", actual);
            Box::new(fault.into_error())
        };
        let Some(bound) = own.find(&items.path) else {
            return Err(input_fault(vec![unbound(items, "items", &node.origin, op.id.as_str())]));
        };
        let value = bound.value();
        let Some(list) = value.as_array() else { return Err(refuse(type_word(&value))) };
        // A list of results stays as it is, because its fields are found by result paths (spec 4).
        let results = match &bound.datum {
            Datum::List(results) => results.as_slice(),
            _ => &[],
        };
        let most = node.limits.max_items.unwrap_or(self.run.settings().limits.max_items);
        if list.len() > usize::try_from(most).unwrap_or(usize::MAX) {
            return Err(refuse(&format!("a list of {} elements; the limit max_items is {most}", list.len())));
        }
        let element = |(index, value): (usize, &Value)| {
            let json = || Bound::json(value.clone(), bound.trust);
            (index.to_string(), results.get(index).cloned().unwrap_or_else(json))
        };
        Ok(list.iter().enumerate().map(element).collect())
    }

    /// What the body of a call sees: its parameters or, for a standard template, the values given by name.
    pub(super) fn call_names(
        &self,
        op: &NodeInstance,
        node: &Node,
        scope: &std::sync::Arc<Environment>,
        inputs: &Names,
    ) -> Result<Names, Box<TaskError>> {
        let name = node.template.as_deref().unwrap_or_default();
        let Some(template) = self.template(name) else {
            let message = format!("there is no usable template {name}");
            return Err(Box::new(failure::failure(Reason::TemplateNotFound, message, Details::default())));
        };
        self.check_stack(op, name)?;
        let mut given: Vec<Evaluated> = inputs
            .bound
            .iter()
            .map(|(name, bound)| Evaluated { name: Some(name.clone()), bound: bound.clone(), literal: false })
            .collect();
        let mut missing = Vec::new();
        for (index, argument) in (0..).zip(node.kind.operator().arguments()) {
            let nested = self.run.operators().child(op, ChildSlot::Argument { index });
            let result = nested.map(|nested| (self.result(nested), self.trust(nested)));
            if let Some(error) = result.as_ref().and_then(|(result, _)| result.failed()) {
                return Err(error);
            }
            let nested: Option<(&TaskResult, Trust)> = result.as_ref().map(|(result, trust)| (&**result, *trust));
            match argument_value(argument, scope, op.id.as_str(), nested) {
                Ok(evaluated) => given.push(evaluated),
                Err(names) => missing.extend(names),
            }
        }
        if !missing.is_empty() {
            return Err(input_fault(missing));
        }
        let bound = bind_call(template, given, scope, &node.origin, op.id.as_str());
        let environment = bound.map_err(|fault| Box::new(fault.into_error()))?;
        Ok(Names { bound: environment.own().clone(), items: Vec::new() })
    }

    /// Limits how often one template may be on the call stack, including the one with which a run begins (spec 9,
    /// `max_depth`).
    fn check_stack(&self, op: &NodeInstance, name: &str) -> Result<(), Box<TaskError>> {
        let plain = |name: &str| name.strip_prefix("template:").unwrap_or(name).to_owned();
        let stacked = self.run.operators().ancestry(op);
        let stands = |above: &&NodeInstance| matches!(above.place, ChildSlot::Body | ChildSlot::Top);
        let times = stacked.filter(stands).filter(|above| plain(&above.template) == plain(name)).count();
        let most = self.limit(op, |limits| limits.max_depth).unwrap_or(self.run.settings().limits.max_depth);
        if times < usize::try_from(most).unwrap_or(usize::MAX) {
            return Ok(());
        }
        let message = format!("{name} is on the call stack more than {most} times");
        Err(Box::new(failure::halted(Halt::MaxDepth, message, Details::default())))
    }

    /// The nearest limit that a task or one above it sets. `max_depth` can only become smaller.
    pub(super) fn limit(&self, op: &NodeInstance, of: fn(&crate::nouns::TaskLimits) -> Option<u32>) -> Option<u32> {
        self.run.operators().ancestry(op).filter_map(|above| of(&self.node(above)?.limits)).min()
    }

    pub(super) fn handler_plan(
        &self,
        op: &NodeInstance,
        node: &Node,
        own: &std::sync::Arc<Environment>,
    ) -> Result<Plan, Box<TaskError>> {
        let task = self.handler_task(op, node, own).map_err(input_fault)?;
        let files = &task.files;
        let none = !files.command.is_empty() && files.printed.is_empty() && files.command_error.is_none();
        if none && !files.explicit && !self.writes_files() {
            let mut fault = InputFaultDetails::default();
            fault.refuse(&files.command.join(" "), "at least one file", "none");
            return Err(Box::new(fault.into_error()));
        }
        let writes = |tool: &str| self.writes(tool);
        let writer = (self.asks(op, node) || self.is_asked_above(op)).then(|| {
            let tools = node.tools.iter().flatten().filter(|tool| writes(tool)).map(String::as_str);
            let tools: Vec<&str> = tools.collect();
            if tools.is_empty() {
                Task::ASKS_FOR_APPROVAL.to_owned()
            } else {
                format!("it may use {}", tools.join(", "))
            }
        });
        let title = one_line(&task.description, TITLE);
        let reply = if writer.is_some() { 2 * REPLY_TOKENS } else { REPLY_TOKENS };
        let reserve = task.most_tokens().saturating_add(u64::from(reply));
        let policy = self.handler_policy(op, node, writer.clone());
        Ok(Plan::Handler(Box::new(HandlerPlan { title, task: self.keep(&task), policy, writer, reserve })))
    }

    fn handler_policy(&self, op: &NodeInstance, node: &Node, writer: Option<String>) -> SkillPolicy {
        let limits = TaskLimits {
            max_turns: Some(node.limits.max_turns.unwrap_or(Limits::of_templates().max_turns)),
            timeout_seconds: node.limits.timeout_seconds,
            max_output_bytes: node.limits.max_output_bytes,
            ..TaskLimits::default()
        };
        let mut models = self.models(op, node).into_iter();
        let writes = self.proposes_changes(op, node);
        SkillPolicy {
            tools: if writes { Vec::new() } else { self.offered_tools(op, node) },
            writes_files: writes,
            model: models.next(),
            fallbacks: models.collect(),
            mode: SkillMode::Handler,
            limits: SkillLimits { task: limits, ..SkillLimits::default() },
            writer,
            ..SkillPolicy::default()
        }
    }

    /// Whether it may change files, or asks for approval anyway.
    pub(super) fn asks(&self, op: &NodeInstance, node: &Node) -> bool {
        let writes = node.effects(&|tool| self.writes(tool)) == crate::template::Effects::Write;
        node.approval.required == Some(true) || (writes && !self.only_reads(op))
    }

    /// Whether a task above it asks for approval; everything below that task then waits with it (spec 2.2).
    pub(super) fn is_asked_above(&self, op: &NodeInstance) -> bool {
        let mut above = self.run.operators().ancestry(op).filter_map(|above| self.node(above));
        above.any(|node| node.approval.required == Some(true))
    }

    /// The tools that a handler is offered. `effects="read"` restricts them, whatever is listed (spec 2.2).
    fn offered_tools(&self, op: &NodeInstance, node: &Node) -> Vec<String> {
        let mut tools = node.tools.clone().unwrap_or_else(|| self.default_tools(node));
        if self.only_reads(op) {
            tools.retain(|tool| !self.writes(tool));
        }
        // What an operator with children allows applies to everything that it runs.
        for above in self.operators_above(op) {
            tools.retain(|tool| above.tools.as_ref().is_none_or(|allowed| allowed.contains(tool)));
        }
        tools
    }

    /// Whether it, or an operator around it, has `effects="read"` (spec 2.2).
    pub(super) fn only_reads(&self, op: &NodeInstance) -> bool {
        let reads = |node: &Node| node.approval.effects == Some(crate::template::Effects::Read);
        self.node(op).is_some_and(reads) || self.operators_above(op).any(reads)
    }

    /// Operators with children that contain it, from the inside out.
    pub(super) fn operators_above<'s>(&'s self, op: &'s NodeInstance) -> impl Iterator<Item = &'s Node> {
        let above = self.run.operators().ancestry(op).skip(1).filter_map(|above| self.node(above));
        above.filter(|node| !node.kind.is_atomic())
    }

    /// Its models with their providers. If it has none, those of the nearest operator around it in its template.
    fn models(&self, op: &NodeInstance, node: &Node) -> Vec<String> {
        let own = std::iter::once((op, node));
        let above = self.run.operators().ancestry(op).skip(1).filter_map(|above| Some((above, self.node(above)?)));
        let mut outside = false;
        let mut around = own.chain(above).take_while(|(op, _)| {
            let stops = outside;
            outside =
                matches!(op.place, ChildSlot::Body | ChildSlot::Match | ChildSlot::Split) || op.place.is_subtask();
            !stops
        });
        let with_models = around.find(|(_, node)| !node.models.is_empty()).map(|(_, node)| node);
        let chosen = with_models.unwrap_or(node);
        let providers = if node.providers.is_empty() { &chosen.providers } else { &node.providers };
        chosen.models.iter().flat_map(|model| models_of(model, providers)).collect()
    }

    /// The tools without `allowed_tools`: those that only read and, with `effects="write"`, those that stage changes
    /// (spec 2.5).
    pub(super) fn default_tools(&self, node: &Node) -> Vec<String> {
        let writes = node.approval.effects == Some(crate::template::Effects::Write);
        // A matching task has no subtasks (spec 5).
        let asks = node.subtype != "associative_matching";
        let offered = self.run.tools().filter(|(name, policy)| {
            !PROCESSES.contains(name)
                && !policy.named_only
                && (asks || !self.run.operators().is_subtask_tool(name))
                && (policy.effect == crate::nouns::ToolEffect::Read || (writes && policy.stages_changes()))
        });
        offered.map(|(name, _)| name.to_owned()).collect()
    }
}

/// The full names of a model. A name that includes its provider stays; another name is combined with each provider.
fn models_of(model: &str, providers: &[String]) -> Vec<String> {
    if names_its_provider(model) || providers.is_empty() {
        return vec![model.to_owned()];
    }
    providers.iter().map(|provider| format!("{provider}/{model}")).collect()
}

/// Tools that no model is offered.
const PROCESSES: [&str; 2] = [SCRIPT, SCRIPT_READ];

/// Assumed tokens of a reply when a call reserves tokens: the most that one may have, twice as much for a reply with
/// changes.
const REPLY_TOKENS: u32 = 8_192;

/// Why a task was not opened.
enum NotOpened {
    Failed(Box<TaskError>),
    /// Something must be looked up first.
    Seeks(Box<Step>),
    /// It ends without running.
    Closed(Box<TaskResult>),
}

impl From<Box<TaskError>> for NotOpened {
    fn from(error: Box<TaskError>) -> Self {
        Self::Failed(error)
    }
}

pub(super) fn unexpected(message: &str) -> Box<TaskError> {
    Box::new(failure::failure(Reason::UnexpectedError, message, Details::default()))
}

pub(super) fn input_fault(missing: Vec<Missing>) -> Box<TaskError> {
    Box::new(InputFaultDetails { missing, invalid: Vec::new() }.into_error())
}

/// The variable at the beginning of a path.
fn root_of(path: &str) -> &str {
    path.split(['.', '[']).next().unwrap_or_default()
}

/// The first characters of a text, as one line.
pub(super) fn one_line(text: &str, most: usize) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    if line.chars().count() <= most {
        return line;
    }
    let mut cut: String = line.chars().take(most.saturating_sub(1)).collect();
    cut.push('…');
    cut
}

/// Where a task names its files.
fn location_of(node: &Node) -> SourceLocation {
    let at = node.refs.as_ref().map_or(&node.origin, |refs| &refs.origin);
    SourceLocation {
        file: at.file.clone(),
        line: at.spot.place.line,
        column: at.spot.place.column,
        task: node.id.clone().or_else(|| node.name.clone()).unwrap_or_else(|| node.kind.word().to_owned()),
    }
}
