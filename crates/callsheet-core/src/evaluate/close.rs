//! Closes a task: computes its result, by operator (spec 8).

use crate::prompt::Note;
use crate::record::Step;
use crate::run::{NodeInstance, Work};
use crate::template::operators::Judged;
use crate::template::{Details, ErrorKind, Node, Reason, TaskError, TaskResult};

use super::{Evaluator, failure};

impl Evaluator<'_> {
    pub(super) fn close(&self, op: &NodeInstance) -> Step {
        if let Some(Work::Script(_)) = self.work(op) {
            return self.closed(op, self.process_result(op, true, true));
        }
        let Some(known) = self.known(op) else { return self.failed(op, failure::lost()) };
        if known.node.kind.is_atomic() {
            return self.close_handler(op, known.node);
        }
        self.gives(op, known.node, known.node.kind.operator().close(&known))
    }

    /// Whether a task continues after a turn.
    pub(super) fn judge(&self, op: &NodeInstance) -> Step {
        let Some(known) = self.known(op) else { return self.failed(op, failure::lost()) };
        match known.node.kind.operator().judge(&known) {
            Judged::GoesOn => Step::GoesOn,
            Judged::Ends(result) => self.gives(op, known.node, *result),
        }
    }

    fn gives(&self, op: &NodeInstance, node: &Node, result: TaskResult) -> Step {
        self.closed(op, self.held(node, result).located(&node.origin, op.id.as_str()))
    }

    /// The result of a handler, or another attempt if the template asks for it (spec 15).
    fn close_handler(&self, op: &NodeInstance, node: &Node) -> Step {
        let result = self.handler_result(op, node).located(&node.origin, op.id.as_str());
        let fault = result.error.as_deref().cloned().or_else(|| unread(&result));
        let again = fault.as_ref().is_some_and(is_recoverable)
            && op.tries() < attempts(node, fault.as_ref())
            && !self.run.is_spent(op);
        let splits = || result.error.as_deref().is_some_and(|error| self.reparses(op, node, error));
        if !again && splits() {
            return self.ask_for_split(op, node, &result);
        }
        if !again {
            return self.closed(op, result);
        }
        let told = fault.as_ref().filter(|_| node.recovery.feed_issues);
        let issues = told.map(|fault| self.keep_text(told_of(fault)));
        Step::Again { result: self.keep(&result), issues }
    }
}

/// What the next handler is told about an error (spec 15).
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
    // The violations show what broke a schema; that the value was an object adds nothing.
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

/// The longest message of a provider or a tool that a model sees, in characters.
const TOLD: usize = 300;

/// The fault of a declared value that could not be read, for a task that may also continue with the text. The value is
/// first requested again.
fn unread(result: &TaskResult) -> Option<TaskError> {
    let fault = result.notes.parse_error.as_ref()?;
    let details = Details { violations: Some(vec![fault.message.clone()]), ..Details::default() };
    Some(failure::failure(Reason::OutputFormatFailure, fault.message.as_str(), details))
}

/// Number of attempts of a task. If its author sets none, a reply that violates its declaration is requested once more.
fn attempts(node: &Node, error: Option<&TaskError>) -> u32 {
    let misfit = error.and_then(failure::reason) == Some(Reason::OutputFormatFailure);
    node.recovery.attempts.unwrap_or(if misfit { 2 } else { 1 })
}

/// Whether another handler may be tried after this error (spec 15).
fn is_recoverable(error: &TaskError) -> bool {
    let reasons = [Reason::OutputFormatFailure, Reason::ToolExecutionError, Reason::LlmError];
    matches!(error.kind, ErrorKind::InvalidOutput { .. })
        || failure::reason(error).is_some_and(|reason| reasons.contains(&reason))
}
