//! What happened, in one line: the same words in plain lines and in the live view.

use callsheet_core::issue::{Issue, Severity};
use callsheet_core::record::{Answer, CallFault, CallKey, CheckEnd, Event, GateKind};
use callsheet_core::run::{Run, State};
use callsheet_core::view::{
    call_words, counted, limit_words, list_words, own_failure, raised_words, reuse_words, unsupported_line,
};

use super::{dollars, duration, one_line, state_mark, thousands};

/// A fact in words, if it is worth a line.
pub(super) fn event_line(event: &Event, run: &Run) -> Option<String> {
    match event {
        Event::RunStarted { run, .. } => Some(format!("run {run}")),
        Event::RunResumed { .. } => {
            let words = run.reused().and_then(|reuse| reuse_words(&reuse));
            Some(words.map_or_else(|| "resumed".to_owned(), |words| format!("resumed: {words}")))
        }
        Event::RunContinued { text, .. } => Some(format!("follow-up: {}", one_line(text, 200))),
        Event::TaskRetried { task, .. } => Some(format!("{task}: retried")),
        Event::ListAdopted { list, .. } => Some(list_words(list)),
        Event::ReplyRefused { key, issues, .. } => Some(refused_line(key, issues, run)),
        Event::ReplyReceived { key, usage, ms, .. } => Some(format!(
            "{}: {} input tokens, {} output tokens, {}{}",
            call_words(key, run.part(key)),
            thousands(usage.input),
            thousands(usage.output),
            duration(*ms),
            usage.cost_usd.filter(|cost| *cost > 0.0).map(|cost| format!(", {}", dollars(cost))).unwrap_or_default()
        )),
        // It ends the run, whose last words say it.
        Event::CallFailed { fault: CallFault::Configuration, .. } => None,
        Event::CallFailed { key, message, sends, .. } => {
            let words = call_words(key, run.part(key));
            let what = if *sends == 0 { "not sent".to_owned() } else { format!("no reply after {sends} sends") };
            Some(format!("{words}: {what}: {}", one_line(message, 200)))
        }
        Event::Reviewed { key, issues, .. } => {
            let words = call_words(key, run.part(key));
            issues.first().map(|issue| format!("{words}: {}", one_line(&issue.what, 200)))
        }
        Event::RunFinished { key, result, .. } => {
            let line = unsupported_line(result.unsupported.iter().map(String::as_str))?;
            Some(format!("note: {}: {}", call_words(key, run.part(key)), one_line(&line, 300)))
        }
        Event::GateAnswered { gate, answer, .. } => Some(match (&gate.kind, answer) {
            (GateKind::BeforeRun(tasks), Answer::Each { verdicts, .. }) if verdicts.len() < tasks.len() => {
                format!("answered the gate for {} of {}", verdicts.len(), counted(tasks.len(), "writer"))
            }
            (GateKind::BeforeRun(tasks), _) => format!("answered the gate for {}", counted(tasks.len(), "writer")),
            (GateKind::BeforeApply { task, .. } | GateKind::BeforeCall { task, .. }, _) => {
                format!("answered the gate for {task}")
            }
        }),
        Event::ChangesChecked { task, check, .. } => Some(match check.end {
            CheckEnd::Passed => format!("{task}: the check {} passed", check.name),
            CheckEnd::Failed => format!("{task}: the check {} failed", check.name),
            CheckEnd::NotRun => format!("{task}: the check {} did not run", check.name),
        }),
        Event::ChangesApplied { task, changes, .. } => {
            Some(format!("{task}: changed {}", counted(changes.files.len(), "file")))
        }
        Event::LimitNear { task, limit, used, max } => {
            Some(format!("note: {}", limit_words(task.as_ref(), limit, *used, *max)))
        }
        Event::LimitRaised { limit, max } => Some(raised_words(limit, *max)),
        Event::ReferencesChecked { task, apart: Some(apart), .. } => Some(format!(
            "note: {task}: its references are too large for one prompt (about {} tokens, limit {}); reading them one by one, then one call over the parts",
            thousands(apart.tokens),
            thousands(apart.most.into())
        )),
        // How a run ends or why it waits stands in the last words.
        _ => None,
    }
}

/// A task with parts that failed by itself: it is no task of the list, whose states are told.
pub(super) fn own_failure_line(event: &Event, run: &Run) -> Option<String> {
    let (mark, word) = state_mark(State::Failed);
    own_failure(event, run).map(|task| format!("{mark} {task} {word}"))
}

/// A reply that is asked again.
pub(super) fn refused_line(key: &CallKey, issues: &[Issue], run: &Run) -> String {
    let errors = issues.iter().filter(|issue| issue.severity == Severity::Error);
    let each: String = errors.map(|issue| format!("\n    {}", one_line(&issue.to_string(), 200))).collect();
    format!("{}: rejected the reply{}{each}", call_words(key, run.part(key)), if each.is_empty() { "" } else { ":" })
}

/// A call without an answer; `part` as in [`call_words`].
pub(super) fn silent_line(key: &CallKey, part: &str, seconds: u64) -> String {
    format!("{}: no answer for {seconds} s", call_words(key, part))
}

/// A send that is tried again; `part` as in [`call_words`].
pub(super) fn retry_line(key: &CallKey, part: &str, send: u32, wait_ms: u64, message: &str) -> String {
    if send == 0 {
        return format!("{}: waits {} because its provider is busy", call_words(key, part), duration(wait_ms));
    }
    let message = one_line(message, 160);
    format!(
        "{}: attempt {send} to send failed ({message}), next attempt in {}",
        call_words(key, part),
        duration(wait_ms)
    )
}
