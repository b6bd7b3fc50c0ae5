//! `show`: prints a run, a task, a call with its prompt and reply, the events, or the timeline. `why` explains why a
//! task is not done.

use std::sync::Arc;

use callsheet_app::{
    Advice, CallRecord, Folded, Question, RunControl, RunView, State, TaskRun, answer_text, asked_about,
    joined_results, result_of_tree, run_folder, warnings_of_tree,
};
use callsheet_core::events::LogEntry;
use callsheet_core::nouns::{BlobId, Phase, RunId, Slug};
use callsheet_core::template::TaskResult;
use callsheet_core::view::{call_words, counted};
use callsheet_core::visible::visible;
use callsheet_format::edit::Hunk;
use callsheet_runtime::ports::{GateView, Message, ModelReply, ModelRequest, RunSummary, Store};
use callsheet_runtime::prompting::PromptRecord;
use serde_json::{Value, json};

use crate::cli::{Exit, Failure, ShowArgs};
use crate::setup::{Setup, find_run, recorded, store_failure};
use crate::term::{dollars, duration, harmless, hunk_to_edit, one_line, outcome_words, page, state_mark, thousands};

use super::questions::how_to_answer;
use super::show_json::{call_json, run_json};
use super::show_task;
use super::waits::{addresses, waits_text};
use super::why::failure_of_part;

pub(super) fn show(setup: &Setup, arguments: &ShowArgs) -> Result<Exit, Failure> {
    let store = setup.existing_store()?;
    let found = find_run(&store, arguments.run.as_deref(), |_| true, "")?;
    let Folded { run, entries, .. } = now(setup, &store, &found)?;
    let text = if arguments.events {
        return events(&entries);
    } else if let Some(task) = &arguments.why {
        return super::why::why(setup, &run, &found, task.as_deref());
    } else if arguments.timeline {
        return super::show_timeline::show(setup, &run, &entries, arguments.plain);
    } else if setup.json {
        return super::print_json(&as_json(setup, &store, &run, arguments, &found)?).map(|()| Exit::Complete);
    } else if let Some(number) = arguments.hunk {
        hunk_to_edit(&hunk(&setup.runs().gates(&run)?, number, arguments.task.as_deref(), &found.run)?)
    } else if let Some(why) = arguments.task.as_deref().and_then(|slug| failed_part(setup, &run, slug)) {
        why
    } else if let Some(slug) = &arguments.task {
        let task = show_task::find(&run, slug)?;
        let mut text = show_task::text(&store, &run, task, found.owner.is_some())?;
        // A reply that a template could not use is a failure of its part, although the task ended well.
        if let Some(why) = failure_of_part(setup, &run, &task.task.slug).filter(|_| task.failure().is_none()) {
            text.push_str(&format!("Failed: {}\n", one_line(&why, 600)));
        }
        text
    } else if let Some(number) = arguments.call {
        call_text(&store, call(&run, number)?)?
    } else if let Some(number) = arguments.prompt {
        prompt_text(&request(&store, call(&run, number)?)?)
    } else if arguments.plan {
        run.plan_text()
    } else {
        let gates = setup.runs().gates(&run)?;
        let saved = is_answered(&*store, &found)?;
        let mut text = run_text(setup, &run, &found, &gates, &run.questions());
        if saved {
            text.push_str(&format!(
                "\nYour answer is saved. It takes effect with: {} resume {}\n",
                setup.command, found.run
            ));
        }
        if let Some(result) = result_of_tree(&setup.runs(), &run) {
            text.push_str(&tree_text(&result));
        }
        for warning in warnings_of_tree(&setup.runs(), &run) {
            text.push_str(&format!("\nWarning: {}\n", one_line(&warning, 300)));
        }
        text
    };
    paged(&harmless(&text), arguments.plain)
}

pub(super) fn paged(text: &str, plain: bool) -> Result<Exit, Failure> {
    let shown = page(text, plain).map_err(|error| Failure::internal(format!("cannot write to stdout: {error}"), ""));
    shown.map(|()| Exit::Complete)
}

/// Prints what was asked for as one object.
fn as_json(
    setup: &Setup,
    store: &Arc<dyn Store>,
    run: &RunView,
    arguments: &ShowArgs,
    found: &RunSummary,
) -> Result<Value, Failure> {
    if let Some(number) = arguments.hunk {
        let hunk = hunk(&setup.runs().gates(run)?, number, arguments.task.as_deref(), &found.run)?;
        return Ok(json!({ "run": found.run, "hunk": hunk, "text": hunk_to_edit(&hunk) }));
    }
    if let Some((slug, why)) = arguments.task.as_deref().and_then(|slug| Some((slug, failed_part(setup, run, slug)?))) {
        return Ok(json!({ "task": slug, "state": "failed", "text": why }));
    }
    if let Some(slug) = &arguments.task {
        return show_task::json(store, run, show_task::find(run, slug)?, found.owner.is_some());
    }
    if let Some(number) = arguments.call {
        let record = call(run, number)?;
        let mut shown = call_json(record);
        shown["repairs"] = json!(record.repairs);
        shown["issues"] = json!(record.issues);
        shown["prompt"] = json!(request(store, record)?);
        shown["reply"] = json!(reply(store, record)?);
        return Ok(shown);
    }
    if let Some(number) = arguments.prompt {
        return Ok(json!(request(store, call(run, number)?)?));
    }
    if arguments.plan {
        let tasks =
            |step: &Vec<Slug>| step.iter().filter_map(|slug| run.task(slug)).map(|task| json!(task.task)).collect();
        let sections: Vec<Value> = run.steps().iter().map(tasks).collect();
        let text = run.plan_text();
        return Ok(json!({ "run": found.run, "goals": run.about().goals, "sections": sections, "text": text }));
    }
    let mut shown = run_json(setup, run, found);
    shown["saved_answer"] = json!(is_answered(&**store, found)?);
    shown["task_result"] = json!(result_of_tree(&setup.runs(), run));
    shown["warnings"] = json!(warnings_of_tree(&setup.runs(), run));
    shown["waits"] = json!(setup.runs().gates(run)?);
    let asked: Vec<Value> = run.questions().iter().map(|one| json!({ "task": one.task, "text": one.text })).collect();
    shown["question"] = asked.first().cloned().into();
    shown["questions"] = asked.into();
    Ok(shown)
}

/// A failed task of a template that no call was made for, with its reason. `None` for every other task.
fn failed_part(setup: &Setup, run: &RunView, slug: &str) -> Option<String> {
    let part = Slug::new(slug);
    let is_only_part = run.task(&part).is_none();
    let why = failure_of_part(setup, run, &part).filter(|_| is_only_part)?;
    Some(format!("{slug}: failed\nFailed: {}\n", one_line(&why, 600)))
}

/// Whether a person's answer waits until the run is resumed.
fn is_answered(store: &dyn Store, found: &RunSummary) -> Result<bool, Failure> {
    Ok(found.owner.is_none() && store.has_messages(&found.run).map_err(store_failure)?)
}

/// The run with the edit of its sheet, if the edit is valid.
fn now(setup: &Setup, store: &Arc<dyn Store>, found: &RunSummary) -> Result<Folded, Failure> {
    let folded = recorded(store, found)?;
    match setup.runs().take_in(found, &folded.run) {
        Ok(false) => return Ok(folded),
        Ok(true) => {}
        Err(refusal) => tell!("{}", refusal.what),
    }
    Ok(recorded(store, found)?)
}

/// The failure for several pending changes. Each change numbers its hunks separately, so one must be named.
fn several_changes(id: &RunId, tasks: &[String], how: &str) -> Failure {
    Failure::usage(
        format!("run {id} has {} pending changes: {}", tasks.len(), tasks.join(", ")),
        format!("name the task whose hunks you mean: {how}"),
    )
}

/// Whether `name` refers to a task of the gate.
fn is_asked(view: &GateView, name: &str) -> bool {
    asked_about(&view.gate).any(|task| task.as_str() == name || task.as_str().starts_with(&format!("{name}/")))
}

/// One hunk of the pending change, as a person edits it (spec 11.4).
fn hunk(waits: &[GateView], number: u32, task: Option<&str>, id: &RunId) -> Result<Hunk, Failure> {
    let changes: Vec<&GateView> =
        waits.iter().filter(|view| !view.hunks.is_empty() && task.is_none_or(|name| is_asked(view, name))).collect();
    if let [_, _, ..] = changes.as_slice() {
        let tasks: Vec<String> = changes.iter().flat_map(|view| addresses(view)).collect();
        return Err(several_changes(id, &tasks, "--task SLUG"));
    }
    let hunk = changes.first().and_then(|view| view.hunks.iter().find(|hunk| hunk.number == number));
    hunk.cloned().ok_or_else(|| {
        Failure::usage(
            format!("run {id} has no pending hunk {number}"),
            Advice::command("inspect it", ["show", id.as_str()]),
        )
    })
}

fn events(facts: &[LogEntry]) -> Result<Exit, Failure> {
    facts.iter().try_for_each(super::print_json).map(|()| Exit::Complete)
}

fn run_text(setup: &Setup, run: &RunView, found: &RunSummary, waits: &[GateView], questions: &[Question]) -> String {
    let (id, driven) = (&found.run, found.owner.is_some());
    let state = run.about().outcome.map_or("not finished", outcome_words);
    let mut text = format!("Run {id}: {state}\nRequest: {}\n{}", one_line(run.about().prompt, 300), models_text(run));
    if !run.about().goals.text.trim().is_empty() {
        text.push_str(&format!("Goals: {}\n", one_line(&run.about().goals.text, 300)));
    }
    for (index, step) in run.steps().iter().enumerate() {
        let tasks = step.iter().filter_map(|slug| run.task(slug)).filter(|task| !is_removed(task));
        text.push_str(&section_text(run, &format!("Step {}", index + 1), tasks, driven));
    }
    let earlier = run.tasks().filter(|task| run.step_of(&task.task.slug).is_none() && !is_removed(task));
    text.push_str(&section_text(run, "From earlier lists", earlier, driven));
    text.push_str(&section_text(run, "Removed", run.tasks().filter(|task| is_removed(task)), driven));
    for problem in run.all_problems() {
        text.push_str(&format!("Problem: {}\n", one_line(&run.problem_line(&problem), 400)));
    }
    text.push_str(&waits_text(setup, waits, id));
    for question in questions {
        text.push_str(&format!("{} asks: {}\n", question.task, one_line(&visible(&question.text), 600)));
    }
    text.push_str(&how_to_answer(setup, questions, id));
    if !run.calls().is_empty() {
        text.push_str("Calls\n");
    }
    for call in run.calls() {
        text.push_str(&call_line(call));
    }
    let summary = run.summary(driven);
    text.push_str(&format!("{summary}Files: {}\n", setup.seen_from_here(&run_folder(id))));
    let answer = answer_text(&setup.program(), run);
    if !answer.is_empty() {
        text.push_str(&format!("\n{answer}\n"));
    }
    if let Some(line) = run.unsupported_line() {
        text.push_str(&format!("\nWarning: {}\n", one_line(&line, 600)));
    }
    let results = joined_results(&setup.program(), run);
    if !results.is_empty() {
        text.push_str(&format!("\nSingle results\n\n{results}\n"));
    }
    text
}

fn is_removed(task: &TaskRun) -> bool {
    task.state() == State::Dropped
}

/// Tasks below a title. Empty if there are none.
fn section_text<'a>(run: &RunView, title: &str, tasks: impl Iterator<Item = &'a TaskRun>, driven: bool) -> String {
    let lines: String = tasks.map(|task| task_lines(run, task, driven)).collect();
    if lines.is_empty() { lines } else { format!("{title}\n{lines}") }
}

fn tree_text(result: &TaskResult) -> String {
    let mut text = String::new();
    if let Some(error) = &result.error {
        text.push_str(&format!("Failed: {}\n", one_line(&error.message, 600)));
    }
    let printed = result.words();
    if !printed.trim().is_empty() {
        text.push_str(&format!("\n{}\n", printed.trim_end()));
    }
    text
}

/// The models that answered, each with its phases if there were several models.
fn models_text(run: &RunView) -> String {
    let mut models: Vec<(&str, Vec<String>)> = Vec::new();
    for call in run.calls() {
        let phase = call_words(&call.key, "").split(' ').next().unwrap_or_default().to_owned();
        match models.iter_mut().find(|(model, _)| *model == call.model) {
            Some((_, phases)) if phases.contains(&phase) => {}
            Some((_, phases)) => phases.push(phase),
            None => models.push((&call.model, vec![phase])),
        }
    }
    match models.as_slice() {
        [] => String::new(),
        [(model, _)] => format!("Model: {}\n", one_line(model, 200)),
        several => {
            let each =
                several.iter().map(|(model, phases)| format!("{} ({})", one_line(model, 200), phases.join(", ")));
            format!("Models: {}\n", each.collect::<Vec<_>>().join(", "))
        }
    }
}

/// The lines of a task and of the templates that it calls.
fn task_lines(run: &RunView, task: &TaskRun, driven: bool) -> String {
    let below = run.tasks_below(&task.task.slug).filter(|task| !is_removed(task));
    let below: String = below.map(|task| format!("  {}", task_line(run, task, driven))).collect();
    format!("{}{below}", task_line(run, task, driven))
}

/// The state of a task. `driven` means that a process drives the run. Without one, no task is running.
pub(super) fn standing(run: &RunView, task: &TaskRun, driven: bool) -> State {
    let state = run.standing(task);
    if driven { state } else { state.at_rest() }
}

pub(super) fn task_line(run: &RunView, task: &TaskRun, driven: bool) -> String {
    let (mark, word) = state_mark(standing(run, task, driven));
    let writes = match task.writer {
        Some(_) if task.may_change() => " (writes)",
        Some(_) => " (asks first)",
        None => "",
    };
    let back = if task.applied.last().is_some_and(|set| set.reverted) { " (changes reverted)" } else { "" };
    format!("  {mark} {} [{}]{writes} {word}{back}\n", one_line(&task.task.name, 60), task.task.slug)
}

pub(super) fn call_line(call: &CallRecord) -> String {
    let how = match call.accepted {
        Some(_) if call.key.phase == Phase::Review => match call.issues.first() {
            Some(issue) => one_line(&issue.what, 200),
            None => "complete".to_owned(),
        },
        Some(true) if !call.rejected.is_empty() => {
            let codes: Vec<&str> = call.rejected.iter().map(|issue| issue.code.as_str()).collect();
            format!("accepted, but its changes could not be applied ({})", codes.join(", "))
        }
        Some(true) if call.repairs.is_empty() => "accepted".to_owned(),
        Some(true) => format!("accepted with {}", counted(call.repairs.len(), "repair")),
        Some(false) => format!("rejected, {}", counted(call.issues.len(), "issue")),
        None => "not read".to_owned(),
    };
    if let Some(earlier) = &call.reused {
        let words = call_words(&call.key, &call.part);
        let earlier = earlier.words();
        return format!("  {:>3} {words} attempt {}: {how}, reply of {earlier}\n", call.number, call.attempt);
    }
    format!(
        "  {:>3} {} attempt {}: {how}, {} + {} tokens, {}{}\n",
        call.number,
        call_words(&call.key, &call.part),
        call.attempt,
        thousands(call.usage.input),
        thousands(call.usage.output),
        duration(call.ms),
        call.usage.cost_usd.filter(|cost| *cost > 0.0).map(|cost| format!(", {}", dollars(cost))).unwrap_or_default()
    )
}

fn call(run: &RunView, number: u32) -> Result<&CallRecord, Failure> {
    run.calls().iter().find(|call| call.number == number).ok_or_else(|| {
        Failure::usage(
            format!("there is no call {number}"),
            format!("this run has {}", counted(run.calls().len(), "call")),
        )
    })
}

pub(super) fn blob(store: &Arc<dyn Store>, id: &BlobId) -> Result<String, Failure> {
    Ok(String::from_utf8_lossy(&store.blob(id).map_err(store_failure)?).into_owned())
}

fn request(store: &Arc<dyn Store>, call: &CallRecord) -> Result<ModelRequest, Failure> {
    let record: PromptRecord = serde_json::from_str(&blob(store, &call.prompt)?)
        .map_err(|error| Failure::internal(format!("can't read the recorded prompt: {error}"), ""))?;
    Ok(record.request)
}

fn reply(store: &Arc<dyn Store>, call: &CallRecord) -> Result<ModelReply, Failure> {
    serde_json::from_str(&blob(store, &call.reply)?)
        .map_err(|error| Failure::internal(format!("can't read the recorded reply: {error}"), ""))
}

/// The prompt as sent: the system text, then each message under its role.
fn prompt_text(request: &ModelRequest) -> String {
    let mut text = format!("==== system\n{}\n", request.system);
    for message in &request.messages {
        text.push_str(&match message {
            Message::User { text, .. } => format!("==== user\n{text}\n"),
            Message::Assistant { text, calls } => {
                let calls: Vec<String> =
                    calls.iter().map(|call| format!("{} {} {}", call.id, call.name, call.arguments)).collect();
                format!("==== assistant\n{text}\n{}\n", calls.join("\n"))
            }
            Message::Tool { id, name, text, .. } => format!("==== tool {name} {id}\n{text}\n"),
        });
    }
    text
}

/// The sampling parameters of the request, as far as they were sent.
fn sampling(request: &ModelRequest) -> String {
    let temperature = request.temperature.map(|number| format!(", temperature {number}"));
    let seed = request.seed.map(|number| format!(", seed {number}"));
    [temperature, seed].into_iter().flatten().collect()
}

fn call_text(store: &Arc<dyn Store>, call: &CallRecord) -> Result<String, Failure> {
    let request = request(store, call)?;
    let reply = reply(store, call)?;
    let mut text = format!("{}model {}, {} sends{}\n\n", call_line(call), call.model, call.sends, sampling(&request));
    text.push_str(&prompt_text(&request));
    if let Some(thinking) = &reply.thinking {
        text.push_str(&format!("==== thinking\n{thinking}\n"));
    }
    text.push_str(&format!("==== reply\n{}\n", reply.text));
    for call in &reply.calls {
        text.push_str(&format!("{} {} {}\n", call.id, call.name, call.arguments));
    }
    if !call.repairs.is_empty() {
        text.push_str("==== repairs\n");
    }
    for repair in &call.repairs {
        let (first, last) = repair.span.into();
        text.push_str(&format!("{} (lines {first}-{last}): {} -> {}\n", repair.code, repair.before, repair.after));
    }
    if !call.issues.is_empty() {
        text.push_str("==== issues\n");
    }
    call.issues.iter().for_each(|issue| text.push_str(&format!("{}: {issue}\n", issue.code)));
    if !call.rejected.is_empty() {
        text.push_str("==== changes that could not be applied\n");
    }
    call.rejected.iter().for_each(|issue| text.push_str(&format!("{}: {issue}\n", issue.code)));
    Ok(text)
}
