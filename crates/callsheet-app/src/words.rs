//! What happened, in one line: the same words in plain lines, on the screen and on the page.

use callsheet_core::issue::{Issue, Severity};
use callsheet_core::record::{Answer, AnsweredBy, CallFault, CallKey, CheckEnd, Event, Gate, GateKind};
use callsheet_core::run::Run;
use callsheet_core::view::{
    call_words, counted, dollars, duration, limit_words, list_words, raised_words, reuse_words, thousands,
    unsupported_line,
};
use callsheet_runtime::shown::Shown;

/// A line about an event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EventLine {
    /// The words. Issues of a reply follow on lines of their own.
    pub text: String,
    /// The state of a task says it as well, so only a log shows it.
    pub is_detail: bool,
}

/// Text on one line, at most `width` characters, cut with an ellipsis. What a reader cannot see in it has marks.
pub fn one_line(text: &str, width: usize) -> String {
    let line = Shown::text(text).as_str().split_whitespace().collect::<Vec<_>>().join(" ");
    if line.chars().count() <= width {
        return line;
    }
    let mut cut: String = line.chars().take(width.saturating_sub(1)).collect();
    cut.truncate(cut.trim_end().len());
    cut.push('…');
    cut
}

/// An event in words, if it is worth a line. `run`: the run after it.
pub fn event_line(event: &Event, run: &Run) -> Option<EventLine> {
    if let Some(text) = detail(event) {
        return Some(EventLine { text, is_detail: true });
    }
    let text = match event {
        Event::RunStarted { run, .. } => format!("run {run}"),
        Event::RunResumed { .. } => {
            let words = run.reused().and_then(|reuse| reuse_words(&reuse));
            words.map_or_else(|| "resumed".to_owned(), |words| format!("resumed: {words}"))
        }
        Event::RunContinued { text, .. } => format!("follow-up: {}", one_line(text, 200)),
        Event::TaskRetried { task, .. } => format!("{task}: retried"),
        Event::ListAdopted { list, .. } => list_words(list),
        Event::ReplyRefused { key, issues, .. } => refused_line(key, issues, run),
        Event::ReplyReceived { key, usage, ms, .. } => format!(
            "{}: {} input tokens, {} output tokens, {}{}",
            call_words(key, run.part(key)),
            thousands(usage.input),
            thousands(usage.output),
            duration(*ms),
            usage.cost_usd.filter(|cost| *cost > 0.0).map(|cost| format!(", {}", dollars(cost))).unwrap_or_default()
        ),
        // It ends the run, whose last words say it.
        Event::CallFailed { fault: CallFault::Configuration, .. } => return None,
        Event::CallFailed { key, message, sends, .. } => {
            let what = if *sends == 0 { "not sent".to_owned() } else { format!("no reply after {sends} sends") };
            format!("{}: {what}: {}", call_words(key, run.part(key)), one_line(message, 200))
        }
        Event::Reviewed { key, issues, .. } => {
            let issue = issues.first()?;
            format!("{}: {}", call_words(key, run.part(key)), one_line(&issue.what, 200))
        }
        Event::RunFinished { key, result, .. } => {
            let line = unsupported_line(result.unsupported.iter().map(String::as_str))?;
            format!("note: {}: {}", call_words(key, run.part(key)), one_line(&line, 300))
        }
        Event::GateAnswered { gate, answer, by } => answered_line(gate, answer, *by),
        Event::ChangesChecked { task, check, .. } => match check.end {
            CheckEnd::Passed => format!("{task}: the check {} passed", check.name),
            CheckEnd::Failed => format!("{task}: the check {} failed", check.name),
            CheckEnd::NotRun => format!("{task}: the check {} did not run", check.name),
        },
        Event::ChangesApplied { task, changes, .. } => {
            format!("{task}: changed {}", counted(changes.files.len(), "file"))
        }
        Event::LimitNear { task, limit, used, max } => {
            format!("note: {}", limit_words(task.as_ref(), limit, *used, *max))
        }
        Event::LimitRaised { limit, max } => raised_words(limit, *max),
        Event::ReferencesChecked { task, apart: Some(apart), .. } => format!(
            "note: {task}: its references are too large for one prompt (about {} tokens, limit {}); reading them one by one, then one call over the parts",
            thousands(apart.tokens),
            thousands(apart.most.into())
        ),
        // How a run ends or why it waits stands in the last words.
        _ => return None,
    };
    Some(EventLine { text, is_detail: false })
}

/// What the state of a task says as well.
fn detail(event: &Event) -> Option<String> {
    Some(match event {
        Event::QuestionAnswered { task, .. } => format!("{task}: its question is answered"),
        Event::ToolFinished { task, call, ms, .. } => format!("{task}: tool {call}, {}", duration(*ms)),
        Event::ChangesRejected { task, .. } => format!("{task}: its changes could not be made"),
        Event::TaskFailed { task, reason } => format!("{task}: failed: {}", one_line(reason, 200)),
        Event::TaskDropped { task } => format!("{task}: removed"),
        Event::CancelRequested => "asked to stop".to_owned(),
        _ => return None,
    })
}

fn answered_line(gate: &Gate, answer: &Answer, by: Option<AnsweredBy>) -> String {
    let how = match answer {
        Answer::All | Answer::Listed => "approved",
        Answer::Each { .. } | Answer::Part { .. } => "approved in part",
        Answer::Deny { .. } => "denied",
        Answer::Stop => "stopped at the gate",
    };
    let by = by.map(|by| format!(" {}", by.words())).unwrap_or_default();
    let what = match &gate.kind {
        GateKind::BeforeRun(tasks) => match (answer, tasks.as_slice()) {
            (_, [task]) => task.to_string(),
            (Answer::Each { verdicts, .. }, _) if verdicts.len() < tasks.len() => {
                format!("{} of {} tasks", verdicts.len(), tasks.len())
            }
            _ => counted(tasks.len(), "task"),
        },
        GateKind::BeforeApply { task, .. } => return format!("{task}: changes {how}{by}"),
        GateKind::BeforeCall { task, .. } => return format!("{task}: call {how}{by}"),
    };
    format!("{what}: {how}{by}")
}

/// A reply that is asked again.
pub fn refused_line(key: &CallKey, issues: &[Issue], run: &Run) -> String {
    let errors = issues.iter().filter(|issue| issue.severity == Severity::Error);
    let each: String = errors.map(|issue| format!("\n    {}", one_line(&issue.to_string(), 200))).collect();
    format!("{}: rejected the reply{}{each}", call_words(key, run.part(key)), if each.is_empty() { "" } else { ":" })
}

/// A call without an answer.
pub fn silent_line(key: &CallKey, seconds: u64) -> String {
    format!("{}: no answer for {seconds} s", call_words(key, ""))
}

/// A send that is tried again. `send`: which one failed; 0: none, the provider is busy.
pub fn retry_line(key: &CallKey, send: u32, wait_ms: u64, message: &str) -> String {
    let (call, wait) = (call_words(key, ""), duration(wait_ms));
    match send {
        0 => format!("{call}: waits {wait} because its provider is busy"),
        _ => format!("{call}: attempt {send} to send failed ({}), next attempt in {wait}", one_line(message, 160)),
    }
}
