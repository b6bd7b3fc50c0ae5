//! What happened, in a line of the log.

use callsheet_core::record::{Answer, Event};
use callsheet_core::run::Run;
use callsheet_core::view::{call_words, counted, duration, list_words, raised_words, thousands};

use crate::text::one_line;

/// The line of an event, if it is worth one.
pub fn line(event: &Event, run: &Run) -> Option<String> {
    Some(match event {
        Event::RunStarted { run, .. } => format!("run {run}"),
        Event::RunResumed { .. } => "resumed".to_owned(),
        Event::RunContinued { text, .. } => format!("follow-up: {}", one_line(text)),
        Event::ListAdopted { list, .. } => list_words(list),
        Event::ReplyReceived { key, usage, ms, .. } => format!(
            "{}: {} input tokens, {} output tokens, {}",
            call_words(key, run.part(key)),
            thousands(usage.input),
            thousands(usage.output),
            duration(*ms)
        ),
        Event::CallFailed { key, message, .. } => {
            format!("{}: no reply: {}", call_words(key, run.part(key)), one_line(message))
        }
        Event::ReplyRefused { key, issues, .. } => {
            let first = issues.first().map(|issue| one_line(&issue.to_string())).unwrap_or_default();
            let issues = counted(issues.len(), "issue");
            format!("{}: rejected the reply, {issues}: {first}", call_words(key, run.part(key)))
        }
        Event::GateAnswered { gate, answer, .. } => {
            let what = match answer {
                Answer::All | Answer::Listed => "approved",
                Answer::Each { .. } | Answer::Part { .. } => "approved in part",
                Answer::Deny { .. } => "denied",
                Answer::Stop => "stopped",
            };
            format!("gate {}: {what}", gate.n)
        }
        Event::QuestionAnswered { task, .. } => format!("{task}: answered"),
        Event::ToolFinished { task, call, ms, .. } => format!("{task}: tool {call}, {}", duration(*ms)),
        Event::ChangesApplied { task, changes, .. } => {
            format!("{task}: changed {}", counted(changes.files.len(), "file"))
        }
        Event::ChangesRejected { task, .. } => format!("{task}: its changes could not be made"),
        Event::TaskFailed { task, reason } => format!("{task}: failed: {}", one_line(reason)),
        Event::TaskRetried { task, .. } => format!("{task}: retried"),
        Event::TaskDropped { task } => format!("{task}: dropped"),
        Event::LimitRaised { limit, max } => raised_words(limit, *max),
        Event::CancelRequested => "asked to stop".to_owned(),
        _ => return None,
    })
}
