//! Tool outputs as a model sees them: after the references of a run that interprets them, and as messages of a
//! conversation (spec 10.4, 10.7).

use callsheet_core::fence::fence;
use callsheet_core::nouns::BlobId;
use callsheet_core::prompt::Note;
use callsheet_core::record::RefusedPart;
use callsheet_core::run::{Execution, ModelCall, Run, SUBTASK_REQUEST, TaskRun, ToolOutput, ToolRun};

use crate::fault::DriveFault;
use crate::ports::Message;
use crate::prompting::{recorded, texts};
use crate::references;
use crate::references::Excerpt;
use crate::services::Services;

/// How many tokens of one tool output the model is shown (spec 10.4).
const TOOL_OUTPUT_TOKENS: u32 = 6_000;

/// An output for the model, and whether it is an error.
struct Shown {
    text: String,
    error: bool,
}

/// `## Tool Calls`, then one `### Tool output <id>` per call, each in a typed fence.
pub(crate) fn fixed_outputs(
    services: &Services,
    run: &Run,
    task: &TaskRun,
    exec: &Execution,
    scale: f64,
) -> Result<String, DriveFault> {
    if exec.calls.is_empty() {
        return Ok(String::new());
    }
    let mut text = String::from("## Tool Calls\n");
    for call in &exec.calls {
        let json = serde_json::to_string_pretty(&call.call).map_err(DriveFault::defect)?;
        text.push_str(&format!("\n{}\n", fence("json", &json).trim_end()));
    }
    for call in &exec.calls {
        let shown = shown(services, run, task, exec, call, scale)?;
        text.push_str(&format!("\n### Tool output {}\n\n{}\n", call.call.id, fence("text", &shown.text).trim_end()));
    }
    Ok(text)
}

/// Messages after the first: each turn with its outputs, the rejected final reply with its issues, and the message that
/// tools are no longer available.
pub(crate) fn later(
    services: &Services,
    run: &Run,
    task: &TaskRun,
    exec: &Execution,
    asked: &ModelCall,
) -> Result<Vec<Message>, DriveFault> {
    let mut messages = Vec::new();
    for turn in &exec.turns {
        let text = match &turn.reply {
            Some(blob) => recorded::reply(services, blob)?.text,
            None => String::new(),
        };
        let calls: Vec<&ToolRun> = turn.calls.iter().filter_map(|id| exec.call(id)).collect();
        if calls.first().is_some_and(|call| call.call.name == SUBTASK_REQUEST) {
            // The reply was an envelope, so this output belongs to no call (spec "Templates" 12).
            messages.push(Message::Assistant { text, calls: Vec::new() });
            messages.push(Message::User { text: subtask_results(services, &calls)? });
            continue;
        }
        messages.push(Message::Assistant { text, calls: calls.iter().map(|call| call.call.clone()).collect() });
        for call in calls {
            let Shown { text, error } = shown(services, run, task, exec, call, asked.budget_scale)?;
            messages.push(Message::Tool { id: call.call.id.clone(), name: call.call.name.clone(), text, error });
        }
    }
    if let Some(attempts) = run.attempts(&asked.key).filter(|attempts| !attempts.issues.is_empty()) {
        if let Some(refused) = &attempts.refused {
            let reply = recorded::reply(services, refused)?;
            messages.push(Message::Assistant { text: reply.text, calls: Vec::new() });
        }
        let issues = texts::issues_text(&attempts.issues);
        let note = if task.is_handler() { Note::HandlerIssues } else { Note::LoopIssues };
        messages.push(Message::User { text: note.fill(&[("issues", &issues)]) });
    }
    if asked.without_tools {
        messages.push(Message::User { text: Note::LoopLastTurn.text().to_owned() });
    }
    Ok(messages)
}

/// Results of the subtasks of an envelope, in the order of its requests.
fn subtask_results(services: &Services, calls: &[&ToolRun]) -> Result<String, DriveFault> {
    let mut texts = Vec::new();
    for call in calls {
        let Some(ToolOutput::Text { blob, .. }) = call.output() else { continue };
        let result = fence("json", &services.text(blob)?);
        texts.push(Note::SubtaskResult.fill(&[("result", result.trim_end())]));
    }
    Ok(texts.join("\n\n"))
}

fn shown(
    services: &Services,
    run: &Run,
    task: &TaskRun,
    exec: &Execution,
    call: &ToolRun,
    scale: f64,
) -> Result<Shown, DriveFault> {
    let limit = task.skill.as_ref().and_then(|skill| skill.limits.tool_output_tokens).unwrap_or(TOOL_OUTPUT_TOKENS);
    // The result of a subtask has its own cap, and is shown as recorded.
    let limit = if run.operators().is_subtask_tool(&call.call.name) { u32::MAX } else { scaled(limit, scale) };
    let plain = |text: String| Shown { text, error: false };
    Ok(match call.output() {
        None => plain(String::new()),
        Some(ToolOutput::Text { blob, error: false }) => plain(cut(services, task, call, blob, limit)?),
        Some(ToolOutput::Text { blob, error: true }) => {
            let text = cut(services, task, call, blob, limit)?;
            Shown { text: format!("{}\n{text}", Note::ToolFailed.text()), error: true }
        }
        Some(ToolOutput::Answered(blob)) => plain(cut(services, task, call, blob, limit)?),
        Some(ToolOutput::Applied { set }) => plain(applied(services, task, *set)?),
        Some(ToolOutput::Rejected(issues)) => Shown { text: texts::issues_text(issues), error: true },
        Some(ToolOutput::Repeated { of }) => {
            let earlier = exec.call(of).map(|call| shown(services, run, task, exec, call, scale)).transpose()?;
            let text = earlier.map(|earlier| earlier.text).unwrap_or_default();
            plain(format!("{}\n{text}", Note::RepeatedCall.fill(&[("id", of)])))
        }
    })
}

/// The output, cut to its tokens. If it is cut, the whole output goes to the run directory.
fn cut(services: &Services, task: &TaskRun, call: &ToolRun, blob: &BlobId, limit: u32) -> Result<String, DriveFault> {
    let whole = services.text(blob)?;
    let shown = references::cut(&Excerpt::whole(whole.as_str()), limit);
    if !shown.whole
        && let Err(fault) = services.files.write_tool_output(&task.task.slug, &call.call.id, &whole)
    {
        tracing::debug!(%fault, "a view was not written");
    }
    Ok(shown.text)
}

fn applied(services: &Services, task: &TaskRun, set: u32) -> Result<String, DriveFault> {
    let found = task.applied.iter().find(|applied| applied.set == set);
    let Some(diff) = found.and_then(|applied| applied.changes.diff.as_ref()) else { return Ok(String::new()) };
    let made = services.text(diff)?;
    if found.is_some_and(|applied| applied.reverted) {
        let reverted = Note::ChangesTakenBack.fill(&[("diff", &fence("diff", &made))]);
        // What was skipped before, and why, still applies.
        let refused = found.and_then(|applied| applied.refused.as_ref());
        return Ok(refused.map_or(reverted.clone(), |part| format!("{}\n\n{}", reverted.trim_end(), part.told)));
    }
    match found.and_then(|applied| applied.refused.as_ref()) {
        Some(refused) => output(services, &made, refused),
        None => Ok(Note::ChangesApplied.fill(&[("diff", &fence("diff", &made))])),
    }
}

/// After a context overflow, outputs shrink as references do (spec 12.3).
#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "float casts saturate, which is wanted")]
fn scaled(limit: u32, scale: f64) -> u32 {
    (f64::from(limit) * scale.clamp(0.0, 1.0)) as u32
}

/// What a model reads about a call whose changes were made in part. Both diffs and the words of the person are fenced.
pub(crate) fn output(services: &Services, made: &str, refused: &RefusedPart) -> Result<String, DriveFault> {
    let diff = services.text(&refused.diff)?;
    let text = Note::ChangesAppliedInPart.fill(&[
        ("diff", &fence("diff", made)),
        ("refused", &fence("diff", &diff)),
        ("words", &fenced(&refused.words)),
    ]);
    Ok(text.trim_end().to_owned())
}

pub(crate) fn fenced(words: &str) -> String {
    if words.trim().is_empty() { String::new() } else { fence("text", words) }
}
