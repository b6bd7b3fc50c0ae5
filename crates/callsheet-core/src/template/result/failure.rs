//! Creates errors of tasks (spec 6), with who is responsible and what may be done.

use crate::template::tree::Origin;

use super::{
    Blame, Details, ErrorKind, Halt, Hears, Reason, RecoveryAdvice, Resource, ResourceMetrics, SourceLocation,
    TaskError,
};

/// Who is responsible for a reason, whether trying again helps, and what a person can do.
fn advice(reason: Reason) -> (Blame, bool, &'static str) {
    match reason {
        Reason::ContextRetrievalFailure => (Blame::Callsheet, true, "rebuild the index, or disable fresh context"),
        Reason::ContextMatchingFailure => (Blame::Model, true, "retry, or match without a model"),
        Reason::ContextParsingFailure => (Blame::Model, true, "retry, or match without a model"),
        Reason::XmlValidationFailure => (Blame::Model, false, "fix the tree"),
        Reason::OutputFormatFailure => (Blame::Model, true, "retry, or relax the declared format"),
        Reason::ExecutionTimeout => (Blame::User, true, "raise timeout_seconds, or split the task"),
        Reason::ExecutionHalted => (Blame::User, false, "check what stopped it"),
        Reason::SubtaskFailure => (Blame::Model, false, "check the error of the subtask"),
        Reason::InputValidationFailure => (Blame::User, false, "pass the missing values, or fix the template"),
        Reason::UnexpectedError => (Blame::Callsheet, false, "check the log"),
        Reason::TemplateNotFound => (Blame::User, false, "name a template that exists and has no errors"),
        Reason::ToolExecutionError => (Blame::Tool, true, "check the tool's output"),
        Reason::LlmError => (Blame::Provider, true, "check that the provider responds, then resume the run"),
        Reason::ConfigurationError => (Blame::User, false, "check the provider, the model and the API key"),
    }
}

fn recovery(blame: Blame, retryable: bool, advice: &str) -> RecoveryAdvice {
    let hear = match blame {
        Blame::Model | Blame::Tool => vec![Hears::Model, Hears::Person, Hears::Log],
        _ => vec![Hears::Person, Hears::Log],
    };
    RecoveryAdvice { blame, retryable, hear, advice: advice.to_owned() }
}

/// The error of a task that failed for a reason.
pub(crate) fn failure(reason: Reason, message: impl Into<String>, details: Details) -> TaskError {
    let (blame, retryable, words) = advice(reason);
    let details = Some(Box::new(details)).filter(|details| **details != Details::default());
    TaskError {
        kind: ErrorKind::TaskFailure { reason, content: None, notes: None, details },
        message: message.into(),
        location: None,
        related: Vec::new(),
        metrics: ResourceMetrics::default(),
        recovery: recovery(blame, retryable, words),
    }
}

/// The error of a failure that a model reports. Whatever reason the model names, no outage, limit or wrong setting
/// was observed.
pub(crate) fn said_by_a_model(reason: Reason, message: impl Into<String>) -> TaskError {
    let mut error = failure(reason, message, Details::default());
    error.recovery = recovery(Blame::Model, true, "read the model's explanation, then retry, or use another model");
    error
}

/// The error of a model's request that cannot be run.
pub(crate) fn asked_wrongly(reason: Reason, message: impl Into<String>, details: Details) -> TaskError {
    let mut error = failure(reason, message, details);
    error.recovery = recovery(Blame::Model, true, "the model can correct its request");
    error
}

/// The error of a task that was halted.
pub(crate) fn halted(halt: Halt, message: impl Into<String>, details: Details) -> TaskError {
    let words = match halt {
        Halt::MaxDepth => "reduce the nesting",
        Halt::Cycle => "the same task is already running above it; change the request",
        Halt::NoProgress => "change the instructions: the model repeats itself",
        Halt::IterationsExhausted => "raise max_iterations, or relax the evaluator's criteria",
        Halt::Aborted => "check why the evaluator gave up",
        Halt::ApprovalDenied => "approve it, or remove the part that writes",
        Halt::Cancelled => "resume the run",
    };
    let mut error = failure(Reason::ExecutionHalted, message, Details { halt: Some(halt), ..details });
    let blame = if matches!(halt, Halt::NoProgress | Halt::Cycle) { Blame::Model } else { Blame::User };
    error.recovery = recovery(blame, false, words);
    error
}

/// The error of a limit that was reached.
pub(crate) fn exhausted(resource: Resource, used: f64, limit: f64, message: impl Into<String>) -> TaskError {
    let (blame, words) = match resource {
        Resource::Turns => (Blame::Model, "raise max_turns, or ask for less"),
        Resource::Context => (Blame::User, "use fewer or smaller files, or a model with a larger context window"),
        Resource::Output => (Blame::Model, "ask for less, or raise max_output_bytes"),
        Resource::Calls => (Blame::User, "raise max_calls"),
        Resource::Tokens => (Blame::User, "raise max_tokens"),
        Resource::Cost => (Blame::User, "raise max_cost_usd"),
    };
    TaskError {
        kind: ErrorKind::ResourceExhaustion { resource, used, limit, content: None, details: None },
        message: message.into(),
        location: None,
        related: Vec::new(),
        metrics: ResourceMetrics::default(),
        recovery: recovery(blame, false, words),
    }
}

/// The error of a reply with neither text nor tool call.
pub(crate) fn invalid_output(message: impl Into<String>) -> TaskError {
    TaskError {
        kind: ErrorKind::InvalidOutput { content: None, violations: None, details: None },
        message: message.into(),
        location: None,
        related: Vec::new(),
        metrics: ResourceMetrics::default(),
        recovery: recovery(Blame::Model, true, "retry, or use another model"),
    }
}

/// Adds the place in the template to an error that has none.
pub(crate) fn located(mut error: TaskError, origin: &Origin, task: &str) -> TaskError {
    error.location.get_or_insert_with(|| location(origin, task));
    error
}

/// The place where a task was written.
pub(crate) fn location(origin: &Origin, task: &str) -> SourceLocation {
    SourceLocation {
        file: origin.file.clone(),
        line: origin.spot.place.line,
        column: origin.spot.place.column,
        task: task.to_owned(),
    }
}

/// Adds the text that was produced before the error.
pub(crate) fn with_content(mut error: TaskError, text: &str) -> TaskError {
    if let ErrorKind::ResourceExhaustion { content, .. }
    | ErrorKind::TaskFailure { content, .. }
    | ErrorKind::InvalidOutput { content, .. } = &mut error.kind
    {
        *content = Some(text.to_owned()).filter(|text| !text.is_empty());
    }
    error
}

/// The reason, if the error is a task failure.
pub(crate) fn reason(error: &TaskError) -> Option<Reason> {
    match &error.kind {
        ErrorKind::TaskFailure { reason, .. } => Some(*reason),
        _ => None,
    }
}

/// Why the task was halted.
pub(crate) fn halt(error: &TaskError) -> Option<Halt> {
    match &error.kind {
        ErrorKind::TaskFailure { details: Some(details), .. } => details.halt,
        _ => None,
    }
}

/// The error of a record that lacks required data.
pub(crate) fn lost() -> TaskError {
    failure(Reason::UnexpectedError, "the record lacks required data", Details::default())
}
