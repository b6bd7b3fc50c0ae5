//! Closing a task: its result, by operator (spec 8).

use serde_json::Value;

use crate::prompt::Note;
use crate::record::Step;
use crate::run::{Place, TaskOp, Work};
use crate::template::{
    AccumulationFormat, Details, ErrorKind, Kind, Node, OnError, Reason, ReturnStatus, TaskError, TaskResult, Template,
    check_returns,
};

use super::open::failed;
use super::{Evaluator, details, failure};

impl Evaluator<'_> {
    pub(super) fn close(&self, op: &TaskOp) -> Step {
        let node = match self.work(op) {
            Some(Work::Script(_)) => return self.closed(op, self.process_result(op, true, true)),
            Some(Work::Node(node)) => node,
            None => return self.failed(op, lost()),
        };
        let result = match &node.kind {
            Kind::Atomic => return self.close_handler(op, node),
            Kind::Script { on_nonzero_continue, .. } => self.process_result(op, *on_nonzero_continue, false),
            Kind::Sequential { steps, .. } => self.sequence_result(op, node, steps.len()),
            Kind::Parallel { on_error, .. } | Kind::Map { on_error, .. } => self.pool_result(op, *on_error),
            Kind::Reduce { .. } => self.reduce_result(op),
            // These are transparent: what is declared is declared by what they run.
            Kind::Cond { .. } => {
                let mut result = self.only_child(op);
                self.warn_of_unknown(op, &mut result);
                return self.closed(op, self.located(op, node, result));
            }
            Kind::Call { .. } => return self.closed(op, self.call_result(op, node)),
            Kind::DirectorEvaluatorLoop { .. } => return self.loop_part_failed(op, node),
            Kind::Phase(_) => return self.failed(op, lost()),
        };
        self.closed(op, self.located(op, node, self.held(node, result)))
    }

    pub(super) fn located(&self, op: &TaskOp, node: &Node, mut result: TaskResult) -> TaskResult {
        if let Some(error) = result.error.take() {
            result.error = Some(Box::new(failure::located(*error, &node.origin, op.id.as_str())));
        }
        result
    }

    /// The result of a handler, or another try where the template asks for it (spec 15).
    fn close_handler(&self, op: &TaskOp, node: &Node) -> Step {
        let result = self.located(op, node, self.handler_result(op, node));
        let again = result.error.as_deref().is_some_and(is_recoverable)
            && op.attempt.saturating_sub(op.retried) < node.recovery.attempts
            && !self.run.is_spent(op);
        let splits = || result.error.as_deref().is_some_and(|error| self.reparses(op, node, error));
        if !again && splits() {
            return self.ask_for_split(op, node, &result);
        }
        if !again {
            return self.closed(op, result);
        }
        let error = result.error.as_ref().filter(|_| node.recovery.feed_issues);
        let issues = error.map(|error| self.keep_text(told_of(error)));
        Step::Again { result: self.keep(&result), issues }
    }

    fn sequence_result(&self, op: &TaskOp, node: &Node, total: usize) -> TaskResult {
        let steps: Vec<&TaskOp> =
            self.children(op).into_iter().filter(|child| matches!(child.place, Place::Child { .. })).collect();
        let settings = node.context.settings;
        let format =
            if settings.accumulate_data { settings.accumulation_format } else { AccumulationFormat::NotesOnly };
        let entries = serde_json::to_value(self.step_entries(op, format)).unwrap_or_default();
        let failing = steps.iter().position(|step| step.failed());
        let mut result = match (failing, steps.last()) {
            (None, Some(last)) => (*self.result(last)).clone(),
            (None, None) => TaskResult::default(),
            (Some(index), _) => {
                let partial = steps.iter().enumerate().filter(|(_, step)| !step.failed());
                let more = Details {
                    failed_step: Some(index),
                    total_steps: Some(total),
                    partial_results: Some(
                        partial
                            .map(|(index, step)| crate::template::PartialResult {
                                step_index: Some(index),
                                ..self.partial_result(step)
                            })
                            .collect(),
                    ),
                    ..Details::default()
                };
                self.with_error(steps.get(index), more)
            }
        };
        result.notes.other.insert("step_results".to_owned(), entries);
        result
    }

    /// The error of the child that failed, with what the operator knows.
    fn with_error(&self, child: Option<&&TaskOp>, more: Details) -> TaskResult {
        let of_child = child.map(|child| self.result(child)).unwrap_or_default();
        let mut error = failed(&of_child).unwrap_or_else(|| Box::new(lost()));
        details::add(&mut error, more);
        TaskResult {
            status: ReturnStatus::Failed,
            content: of_child.content.clone(),
            error: Some(error),
            ..TaskResult::default()
        }
    }

    /// An array in input order; what was never started or failed is null.
    fn pool_result(&self, op: &TaskOp, on_error: OnError) -> TaskResult {
        let parts: Vec<&TaskOp> = self.children(op).into_iter().filter(|child| !child.place.is_nested()).collect();
        let total = match op.opened.as_ref().map(|opened| &opened.plan) {
            Some(crate::record::Plan::Items { count }) => usize::try_from(*count).unwrap_or(usize::MAX),
            _ => match self.node(op).map(|node| &node.kind) {
                Some(Kind::Parallel { children, .. }) => children.len(),
                _ => parts.len(),
            },
        };
        let failing: Vec<usize> =
            parts.iter().enumerate().filter(|(_, part)| part.failed()).map(|(index, _)| index).collect();
        let values: Vec<Value> =
            parts.iter().map(|part| if part.failed() { Value::Null } else { self.result(part).value() }).collect();
        let errors: Vec<_> = failing.iter().filter_map(|index| self.item_error(*index, parts.get(*index)?)).collect();
        let all_failed = !parts.is_empty() && failing.len() == parts.len() && parts.len() == total;
        // A spent budget ends the task, whatever would be collected (spec 9).
        let fatal = |part: &&TaskOp| part.closed.as_ref().is_some_and(|closed| closed.fatal);
        let stopped = parts.len() < total || parts.iter().any(fatal);
        if failing.is_empty() && !stopped || (on_error == OnError::Collect && !all_failed && !stopped) {
            let mut result = TaskResult {
                content: serde_json::to_string(&values).unwrap_or_default(),
                parsed_content: Some(Value::Array(values)),
                ..TaskResult::default()
            };
            if !errors.is_empty() {
                result.notes.other.insert("failed_indexes".to_owned(), Value::from(failing));
                let errors = serde_json::to_value(&errors).unwrap_or_default();
                result.notes.other.insert("errors".to_owned(), errors);
            }
            return result;
        }
        let partial = parts.iter().enumerate().filter(|(_, part)| !part.failed() && part.closed.is_some());
        let more = Details {
            total_items: Some(total),
            partial_results: Some(
                partial
                    .map(|(index, part)| crate::template::PartialResult {
                        item_index: Some(index),
                        ..self.partial_result(part)
                    })
                    .collect(),
            ),
            errors: Some(errors),
            failed_indexes: Some(failing.clone()),
            ..Details::default()
        };
        let first = failing.first().and_then(|index| parts.get(*index));
        let mut result = self.with_error(first, more);
        result.content = serde_json::to_string(&values).unwrap_or_default();
        result
    }

    fn reduce_result(&self, op: &TaskOp) -> TaskResult {
        let total = match op.opened.as_ref().map(|opened| &opened.plan) {
            Some(crate::record::Plan::Items { count }) => *count,
            _ => 0,
        };
        let failing = self.children(op).into_iter().filter(|child| !child.place.is_nested()).find(|part| part.failed());
        let Some(part) = failing else {
            let (value, _) = self.accumulator(op, total);
            let content = match &value {
                Value::String(text) => text.clone(),
                other => other.to_string(),
            };
            // The accumulator is the reduction's value where it is one, else its text (spec 8).
            let parsed = (!value.is_string()).then_some(value);
            return TaskResult { content, parsed_content: parsed, ..TaskResult::default() };
        };
        let index = match part.place {
            Place::Inner { index } | Place::Reduction { index } => index,
            _ => 0,
        };
        let (accumulator, _) = self.accumulator(op, index);
        let done = (0..index).filter_map(|index| {
            let reduction = self.run.operators().child(op, &Place::Reduction { index })?;
            let input_index = usize::try_from(index).ok();
            Some(crate::template::PartialResult { input_index, ..self.partial_result(reduction) })
        });
        let of_list = matches!(self.node(op).map(|node| &node.kind), Some(Kind::Reduce { items: Some(_), .. }));
        let processed = (0..index).filter_map(|index| self.element(op, index));
        let processed = processed.map(|(name, bound)| if of_list { bound.value() } else { Value::from(name) });
        let more = Details {
            failed_input_index: usize::try_from(index).ok(),
            total_inputs: usize::try_from(total).ok(),
            processed_inputs: Some(processed.collect()),
            current_accumulator: Some(accumulator),
            partial_results: Some(done.collect()),
            ..Details::default()
        };
        self.with_error(Some(&part), more)
    }

    fn only_child(&self, op: &TaskOp) -> TaskResult {
        let child = self.children(op).into_iter().find(|child| !child.place.is_nested());
        child.map(|child| (*self.result(child)).clone()).unwrap_or_default()
    }

    /// Names that the tests of a `cond` asked for and nothing binds: such a comparison is false (spec 8).
    pub(super) fn warn_of_unknown(&self, op: &TaskOp, result: &mut TaskResult) {
        let Some(Kind::Cond { cases, .. }) = self.node(op).map(|node| &node.kind) else { return };
        let own = self.own_scope(op);
        let mut unknown = Vec::new();
        for case in cases {
            let outcome = case.test.test.evaluate(&mut |path| own.value(path));
            unknown.extend(outcome.unknown.iter().map(ToString::to_string));
            if outcome.holds {
                break;
            }
        }
        unknown.dedup();
        for name in unknown {
            result.notes.warn("condition", format!("a test uses the unknown name {name}"));
        }
    }

    /// The body's result, checked by `returns` (spec 7.4). An error says which call it came through (spec 8).
    fn call_result(&self, op: &TaskOp, node: &Node) -> TaskResult {
        let template = node.template.as_deref().and_then(|name| self.template(name));
        let mut result = self.located(op, node, returned(self.only_child(op), template, op));
        if let Some(error) = &mut result.error {
            let call = failure::location(&node.origin, op.id.as_str());
            // What a skill runs as is ours: its author wrote nothing of it but the call.
            let of_skill = node.template.as_deref().is_some_and(|name| name.starts_with("skill:"));
            match of_skill && error.related.is_empty() {
                true => error.location = Some(call),
                false if error.location.as_ref() != Some(&call) => error.related.push(call),
                false => {}
            }
        }
        result
    }
}

/// The result of a template's body, if it is what the template returns (spec 7.4).
pub(super) fn returned(mut result: TaskResult, template: Option<&Template>, op: &TaskOp) -> TaskResult {
    let Some((template, returns)) = template.and_then(|template| Some((template, template.returns?))) else {
        return result;
    };
    if result.status != ReturnStatus::Complete {
        return result;
    }
    if let Some(details) = check_returns(result.parsed_content.as_ref(), &result.content, returns) {
        let misfit = super::output::misfit(&details);
        let message = format!(
            "the template declares returns={}, but its body returned something else: {misfit}",
            returns.as_str()
        );
        let error = failure::failure(Reason::OutputFormatFailure, message, *details);
        let error = failure::located(error, &template.origin, op.id.as_str());
        result.error = Some(Box::new(failure::with_content(error, &result.content)));
        result.status = ReturnStatus::Failed;
    }
    result
}

/// What the next handler is told of an error (spec 15).
fn told_of(error: &TaskError) -> String {
    if matches!(error.kind, ErrorKind::InvalidOutput { .. }) {
        return Note::AttemptEmpty.text().to_owned();
    }
    let details = match &error.kind {
        ErrorKind::TaskFailure { reason: Reason::OutputFormatFailure, details, .. } => details.as_deref(),
        _ => None,
    };
    let Some(details) = details else {
        return Note::AttemptFailed.fill(&[("message", &super::open::one_line(&error.message, TOLD))]);
    };
    // What broke a schema stands in the violations: that it was an object says nothing.
    let broken = details.path.is_some() && details.violations.is_some();
    let mut words = match (&details.expected_type, &details.actual_type) {
        (Some(expected), Some(actual)) if !broken => {
            Note::AttemptType.fill(&[("expected", expected), ("actual", actual)])
        }
        _ => Note::AttemptFormat.text().to_owned(),
    };
    for violation in details.violations.iter().flatten() {
        words.push_str(&format!("\n- {violation}"));
    }
    words
}

/// Longest message of a provider or a tool that a model is told, in characters.
const TOLD: usize = 300;

/// Another handler may be tried after these (spec 15).
fn is_recoverable(error: &TaskError) -> bool {
    let reasons = [Reason::OutputFormatFailure, Reason::ToolExecutionError, Reason::LlmError];
    matches!(error.kind, ErrorKind::InvalidOutput { .. })
        || failure::reason(error).is_some_and(|reason| reasons.contains(&reason))
}

fn lost() -> TaskError {
    failure::failure(Reason::UnexpectedError, "the record does not hold what is needed", Details::default())
}
