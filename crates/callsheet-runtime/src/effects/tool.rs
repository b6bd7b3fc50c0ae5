//! Tool calls: checked once more against the skill's list (spec 7.10), run, and recorded.

use std::sync::Arc;
use std::time::{Duration, Instant};

use callsheet_core::evaluate::ProcessReport;
use callsheet_core::events;
use callsheet_core::fence::fence;
use callsheet_core::nouns::{Picture, RepeatClass, Slug, ToolCall, ToolEffect};
use callsheet_core::prompt::Note;
use callsheet_core::record::{EffectKey, ToolRecord};
use callsheet_core::run::{Effect, PersonAnswer, Run, TaskRun};
use serde_json::json;

use crate::ports::{Tool, ToolContext, ToolFault, ToolOutcome};

use super::hooks::{HookRefusal, ask_hooks};
use super::stage;
use super::work::{EffectFuture, EffectResult, Work, ready};
use crate::fault::DriveFault;
use crate::grants::Caller;
use crate::prompting::texts;
use crate::services::{HookPoint, Services};
use crate::sheetfile::SheetWatch;

/// Runs one call whose start is on disk.
pub(crate) fn run(work: Work, run: &Run, effect: Effect) -> EffectFuture {
    let key = effect.key();
    let Effect::RunTool { task, run: exec, call, deadline_ms, answer } = effect else {
        return ready(Err(DriveFault::defect("another effect is performed as a tool call")));
    };
    let Some(owner) = run.task(&task) else {
        return ready(Err(DriveFault::defect("a tool call of an unknown task")));
    };
    let shown = stage::shown(&work.services, run, &task, &exec);
    let refusal = refusal(&work, owner, &call);
    let tool = tool_of(&work, owner, &call);
    let own = owner.skill.as_ref().filter(|_| owner.is_process()).and_then(|skill| skill.limits.task.max_output_bytes);
    let limit = usize::try_from(own.unwrap_or(run.settings().limits.max_output_bytes)).unwrap_or(usize::MAX);
    let skill_dir = work.services.skill_dir(owner);
    // Its time is that of the task, or what is left of the run's.
    let of_run = run.time_left_ms().is_some_and(|left| left <= deadline_ms);
    let is_process = owner.is_process();
    // A model cannot fetch a page that a reference may not name (spec 5.7).
    let fetch = work.services.fetch.clone().filter(|_| run.settings().allow_http);
    let caller = Caller::of(run, &task);
    Box::pin(async move {
        // A call that goes on was allowed when it began.
        let refusal = if answer.is_some() { None } else { refused(&work, &task, &call, refusal).await };
        let (begun, started) = (work.services.clock.now_ms(), Instant::now());
        let timeout = Duration::from_millis(deadline_ms);
        let mut lost = false;
        let outcome = match (refusal, tool) {
            (Some(refusal), _) => ToolOutcome::Failed(refusal),
            (None, None) => return Err(DriveFault::defect("an allowed tool is not registered")),
            (None, Some(tool)) => {
                let context = ToolContext {
                    workspace: work.services.workspace_for(&caller, skill_dir.as_deref()),
                    skill_dir,
                    fetch,
                    documents: Arc::clone(&work.services.documents),
                    max_output_bytes: limit,
                    timeout,
                    cancel: work.cancel.clone(),
                };
                let writes_sheets = tool.spec().effect == ToolEffect::Execute && !work.services.commands_apart;
                let watch = writes_sheets.then(|| SheetWatch::begin(&work.services));
                let made = match &answer {
                    None => tool.run(&call.arguments, &context).await,
                    Some(answer) => go_on(&work.services, &key, answer, &context).await?,
                };
                lost = matches!(made, Err(ToolFault::Lost(_))) && tool.spec().repeat == RepeatClass::Once;
                let made = settled(&work.services, &task, &call, made);
                if let Some(watch) = watch {
                    watch.settle(&work.services);
                }
                match made {
                    Some(outcome) => outcome,
                    None => return Ok(EffectResult::Events(Vec::new())),
                }
            }
        };
        let ms = work.services.clock.now_ms().saturating_sub(begun);
        tracing::info!(tool = call.name, ms, how = outcome.name(), "a tool was called");
        let timed_out = is_timed_out(&outcome, is_process, started.elapsed() >= timeout);
        let record = match outcome {
            _ if lost => ToolRecord::Lost,
            _ if timed_out && of_run => ToolRecord::Cut,
            outcome => recorded(&work.services, key, outcome, (&shown, timed_out))?,
        };
        Ok(EffectResult::Events(vec![events::ToolFinished { task, run: exec, call: call.id, record, ms }.into()]))
    })
}

/// What is recorded of an outcome. A call that asks a person is kept until it gets the answer.
fn recorded(
    services: &Services,
    key: EffectKey,
    outcome: ToolOutcome,
    (shown, timed_out): (&stage::ShownFiles, bool),
) -> Result<ToolRecord, DriveFault> {
    let output = |text: String, failed: bool, pictures: Vec<Picture>| {
        let error = failed.then(|| first_line(&text));
        ToolRecord::Output { blob: services.store.stage_blob(text.into_bytes()), error, pictures, timed_out }
    };
    Ok(match outcome {
        ToolOutcome::Output(text) => output(text, false, Vec::new()),
        ToolOutcome::Pictures(text, pictures) => {
            let kept = pictures.into_iter().map(|picture| {
                let blob = services.store.stage_blob(picture.content.to_vec());
                Picture { blob, ..picture.about }
            });
            output(text, false, kept.collect())
        }
        ToolOutcome::Failed(text) => output(text, true, Vec::new()),
        ToolOutcome::Question(text) => ToolRecord::Question(text),
        ToolOutcome::Midway(midway) => {
            if let Some(held) = midway.take() {
                services.held_calls.keep(key, held);
            }
            ToolRecord::Midway(midway.question)
        }
        ToolOutcome::Changes(changes) => match stage::stage(services, &changes, shown)? {
            Ok(set) => ToolRecord::Changes(set),
            Err(issues) => output(texts::issues_text(&issues), true, Vec::new()),
        },
    })
}

/// Why a call is not made, in words for the model: what is known already, or why a hook refuses it (spec 12.11).
async fn refused(work: &Work, task: &Slug, call: &ToolCall, known: Option<String>) -> Option<String> {
    if known.is_some() {
        return known;
    }
    let input = json!({ "task": task, "tool": call.name, "arguments": call.arguments });
    let asked = ask_hooks(&work.services, HookPoint::PreTool, &input, &work.cancel).await;
    let HookRefusal { hook, why } = asked.err()?;
    if work.cancel.is_cancelled() {
        return None;
    }
    work.services.notice(&format!("note: {task}: the hook {hook} refused a call of {}: {why}", call.name));
    Some(Note::HookRefused.fill(&[("hook", &hook), ("why", &fence("text", &why))]))
}

/// How many characters of the first line of a failure the log keeps for a person.
const FIRST_LINE: usize = 200;

fn first_line(text: &str) -> String {
    let line = text.lines().find(|line| !line.trim().is_empty()).unwrap_or_default();
    line.trim().chars().take(FIRST_LINE).collect()
}

/// Goes on with a call after a person answered its question.
async fn go_on(
    services: &Services,
    key: &EffectKey,
    answer: &PersonAnswer,
    context: &ToolContext,
) -> Result<Result<ToolOutcome, ToolFault>, DriveFault> {
    let Some(held) = services.held_calls.take(key) else {
        return Ok(Ok(ToolOutcome::Failed(Note::ToolLost.fill(&[]))));
    };
    let text = match answer {
        PersonAnswer::Given(blob) => Some(String::from_utf8_lossy(&services.store.blob(blob)?).into_owned()),
        PersonAnswer::Declined => None,
    };
    Ok(held.go_on(text.as_deref(), context).await)
}

/// The outcome of a call, once the person knows what concerns them. `None` if it was cancelled.
fn settled(
    services: &Services,
    task: &Slug,
    call: &ToolCall,
    made: Result<ToolOutcome, ToolFault>,
) -> Option<ToolOutcome> {
    match made {
        Ok(outcome) => Some(outcome),
        Err(ToolFault::Cancelled) => None,
        Err(ToolFault::Told { person, model }) => {
            services.notice(&format!("{task}: {person}"));
            Some(ToolOutcome::Failed(model))
        }
        Err(fault @ (ToolFault::Defect(_) | ToolFault::Lost(_))) => {
            tracing::error!(tool = call.name, %fault, "a tool is broken");
            services.notice(&format!("{task}: {}: {fault}", call.name));
            Some(ToolOutcome::Failed(Note::ToolDefect.fill(&[("tool", &call.name)])))
        }
    }
}

/// Whether a call was ended because its time was over. A process reports that itself; other tools fail.
fn is_timed_out(outcome: &ToolOutcome, is_process: bool, time_is_over: bool) -> bool {
    match outcome {
        ToolOutcome::Output(text) if is_process => {
            serde_json::from_str::<ProcessReport>(text).is_ok_and(|report| report.timed_out)
        }
        ToolOutcome::Failed(_) => time_is_over,
        ToolOutcome::Output(_)
        | ToolOutcome::Pictures(..)
        | ToolOutcome::Question(_)
        | ToolOutcome::Midway(_)
        | ToolOutcome::Changes(_) => false,
    }
}

/// The tool of a call. A process has its own tool.
fn tool_of(work: &Work, owner: &TaskRun, call: &ToolCall) -> Option<Arc<dyn Tool>> {
    let process = work.services.process_tools.iter().find(|tool| owner.is_process() && tool.spec().name == call.name);
    process.or_else(|| work.services.tools.get(&call.name)).map(Arc::clone)
}

/// Why a call is refused at dispatch, in words for the model.
fn refusal(work: &Work, owner: &TaskRun, call: &ToolCall) -> Option<String> {
    let allowed = owner.skill.as_ref().is_some_and(|skill| skill.tools.contains(&call.name));
    let disabled = work.services.disabled_tools.contains(&call.name);
    let known = tool_of(work, owner, call).is_some();
    (!allowed || disabled || !known).then(|| Note::ToolRefused.fill(&[("tool", &call.name)]))
}
