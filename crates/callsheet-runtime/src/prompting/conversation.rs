//! Tool outputs as a model sees them: after the references of a run that interprets them, and as messages of a
//! conversation (spec 10.4, 10.7).

use callsheet_core::fence::fence;
use callsheet_core::nouns::{BlobId, PICTURES, Picture};
use callsheet_core::prompt::Note;
use callsheet_core::record::RefusedPart;
use callsheet_core::run::{Execution, ModelCall, Run, SUBTASK_REQUEST, TaskRun, ToolOutput, ToolRun};

use crate::fault::DriveFault;
use crate::pictures;
use crate::ports::{Message, ModelInfo, ShownPicture};
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

/// `## Tool Calls`, then one `### Tool output <id>` per call, each in a typed fence, with the pictures that they name.
pub(crate) fn fixed_outputs(
    services: &Services,
    run: &Run,
    task: &TaskRun,
    exec: &Execution,
    scale: f64,
    model: &ModelInfo,
) -> Result<(String, Vec<ShownPicture>), DriveFault> {
    let mut pictures = Vec::new();
    if exec.calls.is_empty() {
        return Ok((String::new(), pictures));
    }
    let mut text = String::from("## Tool Calls\n");
    for call in &exec.calls {
        let json = serde_json::to_string_pretty(&call.call).map_err(DriveFault::defect)?;
        text.push_str(&format!("\n{}\n", fence("json", &json).trim_end()));
    }
    for call in &exec.calls {
        let shown = shown(services, run, task, exec, call, scale)?;
        text.push_str(&format!("\n### Tool output {}\n\n{}\n", call.call.id, fence("text", &shown.text).trim_end()));
        let room = PICTURES.saturating_sub(pictures.len());
        match visible_pictures(services, task, call, scale, model) {
            Ok(seen) if seen.len() <= room => {
                for picture in seen {
                    text.push_str(&format!("\n{}\n", pictures::words("shown", picture, pictures.len() + 1)));
                    pictures.push(pictures::loaded(services, picture)?);
                }
            }
            Ok(_) => text.push_str(&format!("\n{}\n", Note::PicturesLeftOut.text())),
            Err(note) => text.push_str(&format!("\n{}\n", note.text())),
        }
    }
    Ok((text, pictures))
}

/// The pictures of an output, or the note that says why they are not shown. Together they count like its text.
fn visible_pictures<'a>(
    services: &Services,
    task: &TaskRun,
    call: &'a ToolRun,
    scale: f64,
    model: &ModelInfo,
) -> Result<&'a [Picture], Note> {
    let all = call.pictures.as_slice();
    if !all.is_empty() && !model.capabilities.vision {
        services.tell_unseen(model);
        return Err(Note::PicturesUnseen);
    }
    let tokens = all.iter().fold(0, |sum: u32, picture| sum.saturating_add(picture.tokens()));
    if tokens <= scaled(output_tokens(task), scale) { Ok(all) } else { Err(Note::PicturesLeftOut) }
}

/// How many tokens of a tool output its task is shown.
fn output_tokens(task: &TaskRun) -> u32 {
    task.skill.as_ref().and_then(|skill| skill.limits.tool_output_tokens).unwrap_or(TOOL_OUTPUT_TOKENS)
}

/// Messages after the first: each turn with its outputs, the rejected final reply with its issues, and the message that
/// tools are no longer available.
pub(crate) fn later(
    services: &Services,
    run: &Run,
    task: &TaskRun,
    exec: &Execution,
    asked: &ModelCall,
    model: &ModelInfo,
) -> Result<Vec<Message>, DriveFault> {
    let mut messages = Vec::new();
    // Only the newest pictures stay.
    let mut newer = exec.calls.iter().map(|call| call.pictures.len()).sum::<usize>();
    for turn in &exec.turns {
        let text = match &turn.reply {
            Some(blob) => recorded::reply(services, blob)?.text,
            None => String::new(),
        };
        let calls: Vec<&ToolRun> = turn.calls.iter().filter_map(|id| exec.call(id)).collect();
        if calls.first().is_some_and(|call| call.call.name == SUBTASK_REQUEST) {
            // The reply was an envelope, so this output belongs to no call (spec "Templates" 12).
            messages.push(Message::Assistant { text, calls: Vec::new() });
            messages.push(Message::user(subtask_results(services, &calls)?));
            continue;
        }
        messages.push(Message::Assistant { text, calls: calls.iter().map(|call| call.call.clone()).collect() });
        let (mut lines, mut pictures) = (Vec::new(), Vec::new());
        for call in calls {
            let Shown { mut text, error } = shown(services, run, task, exec, call, asked.budget_scale)?;
            let seen = match visible_pictures(services, task, call, asked.budget_scale, model) {
                Ok(_) if newer > PICTURES && !call.pictures.is_empty() => Err(Note::PicturesLeftOut),
                seen => seen,
            };
            newer = newer.saturating_sub(call.pictures.len());
            for picture in seen.unwrap_or_default() {
                let said = pictures::words("shown", picture, pictures.len() + 1);
                lines.push(format!("- {}: {said}", call.call.id));
                pictures.push(pictures::loaded(services, picture)?);
            }
            if let Err(note) = seen {
                text.push_str(&format!("\n{}", note.text()));
            }
            messages.push(Message::Tool { id: call.call.id.clone(), name: call.call.name.clone(), text, error });
        }
        if !pictures.is_empty() {
            let text = Note::ToolPictures.fill(&[("pictures", &lines.join("\n"))]);
            messages.push(Message::User { text, pictures });
        }
    }
    if let Some(attempts) = run.attempts(&asked.key).filter(|attempts| !attempts.issues.is_empty()) {
        if let Some(refused) = &attempts.refused {
            let reply = recorded::reply(services, refused)?;
            messages.push(Message::Assistant { text: reply.text, calls: Vec::new() });
        }
        let issues = texts::issues_text(&attempts.issues);
        let note = if task.is_handler() { Note::HandlerIssues } else { Note::LoopIssues };
        messages.push(Message::user(note.fill(&[("issues", &issues)])));
    }
    if asked.without_tools {
        messages.push(Message::user(Note::LoopLastTurn.text()));
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
    let limit = output_tokens(task);
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
