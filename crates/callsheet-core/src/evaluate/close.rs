//! Closing a task: its result, by operator (spec 8).

use crate::prompt::Note;
use crate::record::Step;
use crate::run::{Place, TaskOp, Work};
use crate::template::{
    AccumulationFormat, Details, ErrorKind, Kind, Node, Reason, ReturnStatus, TaskError, TaskResult, Template,
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
    pub(super) fn with_error(&self, child: Option<&&TaskOp>, more: Details) -> TaskResult {
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
            result.notes.warn("condition", format!("a test asks for {name}, which is not known"));
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
        let message = format!("the template returns {}, its body gave something else: {misfit}", returns.as_str());
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
