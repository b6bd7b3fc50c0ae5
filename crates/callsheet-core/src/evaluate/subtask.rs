//! Subtasks (spec 12): checks a request, chooses its template among those of the recorded tree, and binds its inputs in
//! a separate root. The result is what the requesting model is told.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde_json::{Map, Value};

use crate::nouns::{BlobId, ToolCall};
use crate::prompt::Note;
use crate::record::{Opened, Plan, Step};
use crate::run::{ChildSlot, NodeInstance, SPAWN_SUBTASK, SUBTASK_REQUEST};
use crate::template::operators::MAKE;
use crate::template::{
    Bound, Choice, Details, Environment, ErrorKind, Evaluated, Halt, InputFaultDetails, Match, Origin, PartialContext,
    Reason, ReturnStatus, SubtaskRequest, TaskError, TaskResult, Template, Trust, Yielded, bind_call,
    choose_for_subtask, cut, tokens,
};

use super::evaluation::{fit, into_evaluation, read_evaluation};
use super::graft::{self, DEFAULT_TEMPLATE};
use super::request::{ReadRequest, read_request, wanted_tools};
use super::{Evaluator, Names, failure};

/// The maximum number of bytes of content that the requesting model is told (spec 12).
const CONTENT: usize = 32_768;

/// Why a request is not run.
struct Refusal {
    error: Box<TaskError>,
    request: Option<Box<SubtaskRequest>>,
}

impl Evaluator<'_> {
    /// Opens what a call requests, or refuses it without a model call.
    pub(super) fn open_subtask(&self, op: &NodeInstance) -> Step {
        match self.accepted(op) {
            Ok(opened) => Step::Opened(Box::new(opened)),
            Err(Refusal { error, request }) => self.refused(op, *error, request.map(|request| *request), None),
        }
    }

    /// The result of its body. A failure is reported as that of a subtask.
    pub(super) fn close_subtask(&self, op: &NodeInstance) -> Step {
        let body = self.children(op).into_iter().find(|child| child.place == ChildSlot::Body);
        let mut result = body.map(|body| (*self.result(body)).clone()).unwrap_or_default();
        let request = self.request_of(op).and_then(|(request, _)| request.request);
        match result.failed() {
            Some(error) => {
                result.error = None;
                self.refused(op, *error, request, Some(result))
            }
            None => {
                if self.asks_for_evaluation(op) {
                    into_evaluation(&mut result);
                }
                if request.and_then(|request| self.yielded(op, &request)).is_some() {
                    result.notes.warn("T511", crate::template::Code::T511.rule());
                }
                self.closed(op, result)
            }
        }
    }

    fn refused(
        &self,
        op: &NodeInstance,
        error: TaskError,
        request: Option<SubtaskRequest>,
        partial: Option<TaskResult>,
    ) -> Step {
        let started = partial.is_some();
        let message =
            if started { Note::SubtaskFailed.fill(&[("message", &error.message)]) } else { error.message.clone() };
        let content = partial.as_ref().map(|result| result.content.clone()).unwrap_or_default();
        let details = Details {
            subtask_request: request.map(Box::new),
            subtask_error: Some(Box::new(error)),
            nesting_depth: Some(op.depth),
            partial_output: partial.filter(|result| !result.content.is_empty()).map(|result| Box::new(capped(result))),
            ..Details::default()
        };
        let error = failure::failure(Reason::SubtaskFailure, message, details);
        let status = ReturnStatus::Failed;
        self.closed(op, TaskResult { status, content, error: Some(Box::new(error)), ..TaskResult::default() })
    }

    /// What the requesting model is told about a returned subtask: its result, and not how it came about.
    pub(super) fn response(&self, op: &NodeInstance, result: &TaskResult) -> Option<BlobId> {
        if !op.place.is_subtask() {
            return None;
        }
        let mut value = serde_json::to_value(capped(result.clone())).unwrap_or_default();
        plain_words(&mut value);
        if let Value::Object(told) = &mut value {
            let notes = result.notes.said();
            told.insert("notes".to_owned(), Value::Object(notes));
            // A value is told only once: as the content, unless there is only the value.
            if !result.content.trim().is_empty() {
                told.remove("parsed_content");
            }
            let empty = |value: &Value| value.is_null() || value.as_object().is_some_and(Map::is_empty);
            told.retain(|_, value| !empty(value));
        }
        Some(self.keep_text(value.to_string()))
    }

    /// The error of a budget above a subtask, which ends the requesting task.
    pub(super) fn fatal_subtask(&self, op: &NodeInstance) -> Option<TaskError> {
        let fatal = |child: &&NodeInstance| child.closed().is_some_and(|closed| closed.fatal);
        let child = self.children(op).into_iter().filter(|child| child.place.is_subtask()).find(fatal)?;
        match &self.result(child).error.as_ref()?.kind {
            ErrorKind::TaskFailure { details: Some(details), .. } => details.subtask_error.as_deref().cloned(),
            _ => None,
        }
    }

    /// The call that asked for a subtask.
    fn call_of(&self, op: &NodeInstance) -> Option<&ToolCall> {
        let ChildSlot::Subtask { call, .. } = op.place else { return None };
        let run = self.leaf(self.parent(op)?)?.runs.first()?;
        Some(&run.calls.get(usize::try_from(call).ok()?)?.call)
    }

    fn asks_for_evaluation(&self, op: &NodeInstance) -> bool {
        self.call_of(op).is_some_and(|call| {
            call.name == SUBTASK_REQUEST && call.arguments.get(super::request::EVALUATION_REQUEST).is_some()
        })
    }

    /// The request of a subtask, and the tool through which it came.
    pub(super) fn request_of(&self, op: &NodeInstance) -> Option<(ReadRequest, &str)> {
        let call = self.call_of(op)?;
        let by_director =
            self.parent(op).is_some_and(|parent| matches!(parent.place, ChildSlot::Turn { word: MAKE, .. }));
        if let Some(read) = read_evaluation(&call.arguments, by_director).filter(|_| call.name == SUBTASK_REQUEST) {
            return Some((read, &call.name));
        }
        let Some(tool) = self.tree.subtask_tools.get(&call.name) else {
            return Some((read_request(&call.arguments), &call.name));
        };
        // A registered tool determines the kind of task. The rest comes from its arguments.
        let mut arguments = call.arguments.clone();
        if let Value::Object(fields) = &mut arguments {
            fields.insert("type".to_owned(), Value::from("atomic"));
            fields.entry("inputs").or_insert_with(|| Value::Object(Map::new()));
            fields.entry("description").or_insert_with(|| Value::from(tool.description.trim()));
            fields.remove("template_hints");
        }
        let mut read = read_request(&arguments);
        if let Some(request) = &mut read.request {
            request.template_hints.clone_from(&tool.template_hints);
        }
        Some((read, &call.name))
    }

    fn accepted(&self, op: &NodeInstance) -> Result<Opened, Refusal> {
        let Some((ReadRequest { request, readable, mut faults }, tool)) = self.request_of(op) else {
            let error = super::open::unexpected("the call of a subtask is not recorded");
            return Err(Refusal { error, request: None });
        };
        let refuse = |error| Refusal { error, request: request.clone().map(Box::new) };
        let most = self.max_depth(op);
        if op.depth > most {
            let words = Note::SubtaskTooDeep.fill(&[("limit", &most.to_string())]);
            return Err(refuse(Box::new(failure::halted(Halt::MaxDepth, words, Details::default()))));
        }
        let offered = if tool == SUBTASK_REQUEST { SPAWN_SUBTASK } else { tool };
        let may_ask = self.parent(op).and_then(|parent| self.leaf(parent)).and_then(|leaf| leaf.skill.as_ref());
        if !may_ask.is_some_and(|policy| policy.tools.iter().any(|tool| tool == offered)) {
            faults.push(Note::SubtaskForbidden.text().to_owned());
        }
        if let Some(readable) = &readable {
            self.check_known(readable, tool, most, &mut faults);
        }
        let Some(mut request) = request.clone() else {
            let unknown = readable.filter(|known| known.name.is_some()).and_then(|known| self.chosen(&known).err());
            faults.extend(unknown.map(|error| error.message));
            return Err(refuse(input_error(&faults, None)));
        };
        let evaluates = self.asks_for_evaluation(op);
        let chosen = self.chosen(&request);
        let mut template = chosen.map_err(|error| match faults.is_empty() {
            true => refuse(error),
            false => {
                faults.push(error.message);
                refuse(input_error(&faults, None))
            }
        })?;
        if evaluates {
            if template.name == DEFAULT_TEMPLATE {
                template = self.formats.evaluator().unwrap_or(template);
            }
            fit(&mut request.inputs, &template);
        }
        let tools = self.default_tools(&template.body);
        let template = match graft::graft(&template, &request, self.run.settings().strict_subtask_context, &tools) {
            Ok((template, _)) => template,
            Err(_) => {
                faults.push(Note::SubtaskContext.text().to_owned());
                template
            }
        };
        let names = self.bind(op, &template, &request);
        match names {
            Ok(names) if faults.is_empty() => {
                self.check_cycle(op, &template, &request).map_err(refuse)?;
                let context = template.body.context.settings;
                let names = (!names.is_empty()).then(|| self.keep(&Names { bound: names, items: Vec::new() }));
                Ok(Opened { plan: Plan::Children, names, context, called: Some(Box::new(template)) })
            }
            Ok(_) => Err(refuse(input_error(&faults, None))),
            Err(error) => {
                let values = [("template", template.name.as_str()), ("fault", error.message.as_str())];
                faults.push(Note::SubtaskInputs.fill(&values));
                Err(refuse(input_error(&faults, Some(error))))
            }
        }
    }

    /// The largest depth of a subtask: the least of what is set above it (spec 9).
    fn max_depth(&self, op: &NodeInstance) -> u32 {
        self.limit(op, |limits| limits.max_depth).unwrap_or(self.run.settings().limits.max_depth)
    }

    /// Checks hints, tools and depth of a well-formed request.
    fn check_known(&self, request: &SubtaskRequest, tool: &str, most: u32, faults: &mut Vec<String>) {
        if let Some(wanted) = request.max_depth.filter(|wanted| *wanted > most) {
            let (found, limit) = (wanted.to_string(), most.to_string());
            faults.push(Note::SubtaskMaxDepth.fill(&[("found", &found), ("limit", &limit)]));
        }
        // Hints of a registered tool come from the configuration, not from the model.
        if !self.tree.subtask_tools.contains_key(tool) {
            let known = self.hints_known();
            for hint in &request.template_hints {
                let word = hint.trim().to_lowercase();
                if !known.contains(word.strip_prefix("template:").unwrap_or(&word)) {
                    faults.push(Note::SubtaskHint.fill(&[("hint", hint)]));
                }
            }
        }
        for tool in wanted_tools(request).into_iter().flatten() {
            if !self.run.tools().any(|(name, _)| name == tool) && !self.run.operators().is_subtask_tool(&tool) {
                faults.push(Note::SubtaskTool.fill(&[("tool", &tool)]));
            }
        }
    }

    /// Names, words of names, and tags, in lower case.
    fn hints_known(&self) -> BTreeSet<String> {
        let each = self.tree.templates.values().flat_map(|template| {
            let words = tokens(&template.name);
            let tags = template.tags.iter().map(|tag| tag.to_lowercase());
            words.into_iter().chain(tags).chain([template.name.to_lowercase()])
        });
        each.collect()
    }

    fn chosen(&self, request: &SubtaskRequest) -> Result<Template, Box<TaskError>> {
        let named = |template: &&Template| request.name.as_ref() == Some(&template.name);
        let offered: Vec<&Template> = self
            .tree
            .templates
            .values()
            .filter(|template| named(template) || !template.name.starts_with("skill:"))
            .filter(|template| named(template) || template.name != DEFAULT_TEMPLATE)
            .collect();
        let found = |name: &str| offered.iter().find(|template| template.name == name).map(|found| (*found).clone());
        let (name, rows) = match choose_for_subtask(&offered, request) {
            Choice::Named(name) => (name, Vec::new()),
            Choice::Matched(best) => (best.template, Vec::new()),
            Choice::Default => (DEFAULT_TEMPLATE.to_owned(), Vec::new()),
            Choice::NotFound(rows) => (String::new(), rows),
        };
        if name == DEFAULT_TEMPLATE {
            let own = self.tree.templates.get(DEFAULT_TEMPLATE).cloned();
            return Ok(own.unwrap_or_else(graft::default_atomic));
        }
        found(&name).ok_or_else(|| not_found(request, &rows))
    }

    /// A root with only the inputs. Reports all names that its tree lacks before any call.
    fn bind(
        &self,
        op: &NodeInstance,
        template: &Template,
        request: &SubtaskRequest,
    ) -> Result<BTreeMap<String, Bound>, Box<TaskError>> {
        let origin = Origin { file: template.origin.file.clone(), ..Origin::default() };
        let given = graft::arguments(template, request).into_iter().map(|(name, value)| Evaluated {
            name: Some(name),
            literal: value.is_string(),
            bound: Bound::json(value, Trust::Model),
        });
        let root = Arc::new(Environment::root([]));
        let environment = bind_call(template, given.collect(), &root, &origin, op.id.as_str());
        let environment = environment.map_err(|fault| Box::new(fault.into_error()))?;
        let root = self.ambient(op).inner(environment.own().clone());
        let missing = self.missing_before_run(template, &root);
        if !missing.is_empty() {
            let fault = InputFaultDetails { missing, invalid: Vec::new() };
            return Err(Box::new(fault.into_error()));
        }
        Ok(environment.own().clone())
    }

    /// Refuses a request that equals one above it, or has the same template and inputs (spec 12).
    fn check_cycle(
        &self,
        op: &NodeInstance,
        template: &Template,
        request: &SubtaskRequest,
    ) -> Result<(), Box<TaskError>> {
        let own = identity(request, &template.name);
        let inputs = Value::Object(request.inputs.clone());
        let named = template.name != DEFAULT_TEMPLATE && !request.inputs.is_empty();
        let operators = self.run.operators();
        for above in operators.ancestry(op).skip(1) {
            let (equal, same) = match &above.place {
                ChildSlot::Subtask { .. } => {
                    let asked = self.request_of(above).and_then(|(read, _)| read.request);
                    let ran = above.opened.as_ref().and_then(|opened| opened.called.as_ref());
                    let Some((asked, ran)) = asked.zip(ran) else { continue };
                    let same = ran.name == template.name && Value::Object(asked.inputs.clone()) == inputs;
                    (identity(&asked, &ran.name) == own, same)
                }
                ChildSlot::Top => {
                    let given: Map<String, Value> = self.tree.variables.clone().into_iter().collect();
                    (false, above.template == template.name && Value::Object(given) == inputs)
                }
                ChildSlot::Body => {
                    let call = self.parent(above).filter(|call| !call.place.is_subtask());
                    let names = call.map(|call| Arc::clone(&self.names(call).bound)).unwrap_or_default();
                    let given: Map<String, Value> =
                        names.iter().map(|(name, bound)| (name.clone(), bound.value())).collect();
                    (false, above.template == template.name && Value::Object(given) == inputs)
                }
                _ => continue,
            };
            if equal || (named && same) {
                let words = Note::SubtaskCycle.fill(&[("task", above.id.as_str())]);
                return Err(Box::new(failure::halted(Halt::Cycle, words, Details::default())));
            }
        }
        Ok(())
    }

    /// Which settings the request overrode (T511).
    fn yielded(&self, op: &NodeInstance, request: &SubtaskRequest) -> Option<Yielded> {
        request.context_management.filter(|settings| *settings != PartialContext::default())?;
        let called = op.opened.as_ref()?.called.as_ref()?;
        let known = self.tree.templates.get(&called.name).cloned();
        let template = known.or_else(|| self.formats.evaluator().filter(|own| own.name == called.name));
        let template = template.unwrap_or_else(graft::default_atomic);
        graft::graft(&template, request, false, &[]).ok()?.1
    }
}

/// What identifies a request.
fn identity(request: &SubtaskRequest, template: &str) -> BlobId {
    let description = request.description.split_whitespace().collect::<Vec<_>>().join(" ").to_lowercase();
    let subtype = request.subtype.as_deref().unwrap_or("subtask");
    let inputs = sorted(&Value::Object(request.inputs.clone()));
    let parts = (request.kind.as_str(), subtype, template, description, inputs);
    BlobId::of(&serde_json::to_vec(&parts).unwrap_or_default())
}

/// Canonical JSON with ordered keys. The reader limits the depth.
fn sorted(value: &Value) -> Value {
    match value {
        Value::Object(map) => {
            let ordered: BTreeMap<&String, Value> = map.iter().map(|(key, value)| (key, sorted(value))).collect();
            ordered.into_iter().map(|(key, value)| (key.clone(), value)).collect()
        }
        Value::Array(list) => list.iter().map(sorted).collect(),
        other => other.clone(),
    }
}

/// Everything that is wrong with a request, as one error.
fn input_error(faults: &[String], of_inputs: Option<Box<TaskError>>) -> Box<TaskError> {
    let list: String = faults.iter().map(|fault| format!("- {fault}\n")).collect();
    let message = Note::SubtaskRefused.fill(&[("faults", list.trim_end())]);
    let mut details = Details::default();
    if let Some(error) = of_inputs
        && let ErrorKind::TaskFailure { details: Some(found), .. } = error.kind
    {
        details = *found;
    }
    details.violations = Some(faults.to_vec());
    Box::new(failure::asked_wrongly(Reason::InputValidationFailure, message, details))
}

fn not_found(request: &SubtaskRequest, rows: &[Match]) -> Box<TaskError> {
    let near: Vec<&str> = rows.iter().map(|row| row.template.as_str()).collect();
    let near = if near.is_empty() { "-".to_owned() } else { near.join(", ") };
    let message = match &request.name {
        Some(name) => Note::SubtaskUnknown.fill(&[("name", name), ("near", &near)]),
        None => Note::SubtaskUnnamed.fill(&[("type", request.kind.as_str()), ("near", &near)]),
    };
    Box::new(failure::asked_wrongly(Reason::TemplateNotFound, message, Details::default()))
}

/// The content cut at a character boundary and marked as cut. A value of that size is left out.
fn capped(mut result: TaskResult) -> TaskResult {
    let (kept, truncated) = cut(&result.content, CONTENT);
    if truncated {
        let whole = result.content.len();
        result.content = kept.to_owned();
        result.other.insert("truncated".to_owned(), Value::Bool(true));
        result.other.insert("original_bytes".to_owned(), Value::from(whole));
        result.parsed_content = None;
    }
    result
}

/// Keys that concern only the host and a person.
const OF_THE_HOST: [&str; 7] = ["metrics", "location", "related", "recovery", "subtask_request", "criteria", "notes"];

/// Keys for the place where a template lacks an input. A model does not know the template's file.
const PLACES: [&str; 5] = ["task", "file", "line", "column", "calls"];

/// Removes these keys at every depth. What a model wrote is kept.
fn plain_words(value: &mut Value) {
    match value {
        Value::Object(map) => {
            map.retain(|key, _| !OF_THE_HOST.contains(&key.as_str()));
            for faults in ["missing", "invalid"] {
                let each = map.get_mut(faults).and_then(Value::as_array_mut).into_iter().flatten();
                each.filter_map(Value::as_object_mut)
                    .for_each(|one| one.retain(|key, _| !PLACES.contains(&key.as_str())));
            }
            let own = |key: &str| matches!(key, "content" | "parsed_content" | "current_accumulator");
            map.iter_mut().filter(|(key, _)| !own(key)).for_each(|(_, value)| plain_words(value));
        }
        Value::Array(list) => list.iter_mut().for_each(plain_words),
        _ => {}
    }
}
