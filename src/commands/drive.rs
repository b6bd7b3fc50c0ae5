//! Drives a run from the command line, and prints the final messages.

use std::borrow::Cow;
use std::sync::Arc;

use callsheet_app::{
    Advice, Joined, Refusal, RunControl, RunView, State, TaskRun, answer_text, join_json, result_of_tree, results_json,
    run_folder, warnings_of_tree,
};
use callsheet_core::nouns::{Phase, RunId, Settings, Slug};
use callsheet_core::record::{Outcome, Tree};
use callsheet_core::template::{ErrorKind, TaskError, TaskResult};
use callsheet_core::view::amount;
use callsheet_core::view::{CALLS_FAILED, Summary, review_words};
use callsheet_core::visible::visible;
use callsheet_format::prompt::PromptKey;
use callsheet_runtime::driver::{Session, drive};
use callsheet_runtime::effects::unpriced_words;
use callsheet_runtime::effects::{HookRefusal, ask_hooks};
use callsheet_runtime::fault::DriveFault;
use callsheet_runtime::ports::{ModelInfo, Signal, Store};
use callsheet_runtime::services::{HookPoint, Services};
use tokio_util::sync::CancellationToken;

use crate::cli::{Exit, Failure, WorkArgs};
use crate::config::{Config, Origin};
use crate::models::{Choice, Models, Tape, is_forced, recorded_environment};
use crate::notify::notify;
use crate::relay;
use crate::setup::{Setup, find_run, shell_word};
use crate::term;
use crate::wiring::{Parts, observed, services, set_aside_left, without_model};

use super::day_limit::hold_to_day;
use super::first_choice::first_choice;
pub(super) use super::front::Front;
use super::questions::how_to_answer;
use super::raise::flag_of;
use super::show_json::problems_json;
use super::tree_needs::{ModelWish, model_wish};
use super::waits::{commands, waits_text};

/// How many lines of a failed script's output are shown.
const SCRIPT_LINES: usize = 10;

/// Chooses the model, says which and why, writes it to the settings, and builds the services. A model in the settings
/// stays, unless this command names another. `tree` is the tree of a template run, which may need no model.
pub(super) async fn prepare(
    setup: &Setup,
    work: &WorkArgs,
    front: &Front,
    store: Arc<dyn Store>,
    run: &RunId,
    settings: &mut Settings,
    tree: Option<&Tree>,
) -> Result<Arc<Services>, Failure> {
    set_aside_left(setup, &*front.observer);
    let config = config_of(setup, front, settings.model.as_deref());
    let named = is_forced(&config);
    let is_new = settings.model.is_none();
    let mut by_template = false;
    match tree.map(model_wish) {
        Some(ModelWish::Nothing) => {
            return Ok(Arc::new(without_model(
                setup,
                observed(setup, &front.observer),
                store,
                run,
                settings,
                &work.opened,
            )?));
        }
        // Every task names a model, so no default model must be found.
        Some(ModelWish::Named(model)) if !config.values.contains_key("model") => {
            by_template = settings.model.is_none();
            settings.model.get_or_insert(model);
        }
        _ => {}
    }
    let choice = match settings.model.as_deref().filter(|_| !named) {
        Some(model) if by_template => Choice { reason: "from the template".to_owned(), ..Choice::recorded(model)? },
        Some(model) => Choice::recorded(model)?,
        None => first_choice(setup, work).await?,
    };
    settings.model = Some(choice.model.to_string());
    let warn_to = Arc::clone(&front.observer);
    let warn = Box::new(move |text: &str| warn_to.see(&Signal::Notice(&format!("note: {text}"))));
    let models = Arc::new(Models::new(&config, &choice, Tape::of(work, &config)?, warn)?);
    if work.replay.is_none() {
        models.connect().await;
    }
    models.check()?;
    hold_to_day(setup, front, &store, run, settings)?;
    refuse_unpriced(&models, settings)?;
    front.observer.see(&Signal::Notice(&format!("model {} ({})", choice.model, choice.reason)));
    let known = models.infos();
    let slots = models.slots(&choice);
    if is_new && !setup.config.values.contains_key("jobs") {
        settings.jobs = settings.jobs.max(choice.units(&slots));
    }
    let parts = Parts {
        store,
        attendance: front.attendance(setup, run),
        observer: observed(setup, &front.observer),
        slots,
        models,
        open: work.opened.clone(),
    };
    let mut services = services(setup, run, settings, parts)?;
    services.reuse = work.reuse.as_deref().map(|name| run_to_reuse(setup, run, name)).transpose()?;
    services.environment = recorded_environment(work, services.environment)?;
    tell_first(&services, &known);
    check_prompts(&services)?;
    Ok(Arc::new(services))
}

/// The configuration for a run. A run keeps its model, so a variable that names another one does not count for it.
fn config_of<'a>(setup: &'a Setup, front: &Front, own: Option<&str>) -> Cow<'a, Config> {
    let value = setup.config.values.get("model").filter(|value| matches!(value.origin, Origin::Environment(_)));
    let Some((value, _)) = value.zip(own).filter(|(value, own)| value.value.as_str() != Some(*own)) else {
        return Cow::Borrowed(&setup.config);
    };
    let other = value.value.as_str().unwrap_or_default();
    front.observer.see(&Signal::Notice(&format!(
        "note: {} names {other}, and this run keeps its model; for another one: --model {}",
        value.origin,
        shell_word(other)
    )));
    let mut config = setup.config.clone();
    config.values.remove("model");
    Cow::Owned(config)
}

/// The run whose replies this one may reuse.
fn run_to_reuse(setup: &Setup, run: &RunId, name: &str) -> Result<RunId, Failure> {
    let found = find_run(&setup.existing_store()?, Some(name), |_| true, "")?;
    if found.run == *run {
        return Err(Failure::usage(
            "a run can't reuse its own calls",
            Advice::command("name another run; list them", ["runs"]),
        ));
    }
    Ok(found.run)
}

/// Prints what a person must know before anything is sent.
fn tell_first(services: &Services, known: &[ModelInfo]) {
    known.iter().for_each(|model| services.warn_unknown_window(model));
    if let Ok(model) = services.models.model(Phase::Execute, None) {
        services.tell_of_rules(model.info());
    }
}

/// Reports faulty prompts now, before tasks are half done.
fn check_prompts(services: &Services) -> Result<(), Failure> {
    for key in PromptKey::ALL {
        if let Err(fault) = services.templates.get(*key) {
            let source = services.templates.source(*key).map(|source| source.path.as_str()).unwrap_or_default();
            return Err(Failure::internal(
                format!("prompt {} ({source}): {fault}", key.as_str()),
                Advice::command("fix or delete the file; list all prompts", ["prompts", "list"]),
            ));
        }
    }
    Ok(())
}

/// Refuses a cost limit that cannot be enforced for the model, before anything is paid.
fn refuse_unpriced(models: &Models, settings: &Settings) -> Result<(), Failure> {
    if settings.limits.cost_usd().is_none() || settings.limits.allow_unpriced {
        return Ok(());
    }
    let Some(model) = models.unpriced() else { return Ok(()) };
    let words = unpriced_words(&model);
    let (what, advice) = words.split_once("; ").unwrap_or((words.as_str(), ""));
    Err(Failure::usage(what, format!("{advice}, or allow it with --set limits.allow_unpriced=true")))
}

/// Asks the hooks before a run or a follow-up begins (spec 12.11).
pub(super) async fn ask_to_begin(services: &Services, run: &RunId, request: &str) -> Result<(), Failure> {
    let input = serde_json::json!({ "run": run, "request": request });
    let asked = ask_hooks(services, HookPoint::PrePlan, &input, &CancellationToken::new()).await;
    asked.map_err(|HookRefusal { hook, why }| {
        Failure::new(
            Exit::Incomplete,
            format!("the hook {} refuses this: {}", term::one_line(&hook, 80), term::one_line(&why, 600)),
            "change the request, or the hook (`hooks.pre-plan` in the configuration)",
        )
    })
}

/// Drives a run to the end, or follows it on a cluster. The first Ctrl-C stops it cleanly, the second at once.
pub(super) async fn to_the_end(
    setup: &Setup,
    front: &Front,
    services: Arc<Services>,
    session: Session,
    id: &RunId,
) -> Result<Exit, Failure> {
    #[cfg(feature = "cluster")]
    if setup.on.is_some() {
        let run = RunView::from(session.run().clone());
        // The client's right to begin the run is used up.
        drop(session);
        return super::on_cluster::follow(setup, front, run, id).await;
    }
    let stop = CancellationToken::new();
    front.listen_for_interrupt(stop.clone(), format!("{} resume {id}", setup.command));
    setup.note_place();
    front.begins(id);
    let ended = drive(services, session, stop).await;
    let (outcome, run) = ended.map_err(|fault| drive_failure(&fault, id))?;
    let run = RunView::from(run);
    if relay::viewer_left().is_none_or(|left| left.is_cancelled()) {
        notify(setup, id, term::outcome_words(outcome));
    }
    last_words(setup, &run, id, outcome)?;
    Ok(Exit::from(outcome))
}

/// Prints the answer of a finished run to stdout, and files, cost and the next steps to stderr.
pub(super) fn last_words(setup: &Setup, run: &RunView, id: &RunId, outcome: Outcome) -> Result<(), Failure> {
    let summary = run.summary(true);
    if let Some(result) = result_of_tree(&setup.runs(), run) {
        return tree_words(setup, run, id, outcome, &result, &summary);
    }
    let host = setup.program();
    let answer = answer_text(&host, run);
    if setup.json {
        let gates = setup.runs().gates(run)?;
        let next: Vec<String> = gates.iter().flat_map(|view| commands(setup, &gates, view, id)).collect();
        return super::print_json(&serde_json::json!({
            "result": outcome, "run": id, "answer": answer, "join": join_json(run), "results": results_json(&host, run),
            "read_only": run.is_read_only(), "unwritten": run.unwritten(), "unchanged": run.said_unchanged(),
            "removed": run.removals(), "remarks": run.about().remarks, "files": run_folder(id), "summary": summary, "waits": gates,
            "next": next, "problems": problems_json(run), "parts_failed": run.collected(),
        }));
    }
    tell!();
    if !answer.is_empty() {
        super::print(&format!("{}\n", term::harmless(&answer)))?;
        tell!();
    }
    let mut words = term::outcome_words(outcome).to_owned();
    if let Some(message) = run.about().message.filter(|message| !words.starts_with(message.trim_end_matches('.'))) {
        let message = term::one_line(message, 600);
        // The message of a provider's refusal is printed once, without other words.
        words = if outcome == Outcome::Misconfigured { message } else { format!("{words}: {message}") };
    }
    if outcome.is_finished() && run.is_read_only() {
        words.push_str(" (read only)");
    }
    tell!("{}", term::sentence(&words));
    for words in run.asked_files().iter().filter(|_| outcome.is_finished()) {
        tell!("  {}", term::one_line(words, 600));
    }
    for problem in run.all_problems() {
        let line = term::one_line(&run.problem_line(&problem), 600);
        if !line.contains(words.as_str()) {
            tell!("  {line}");
        }
    }
    for parts in run.collected() {
        tell!("  {}", term::one_line(&parts.words(), 300));
    }
    tell_of_plan(run);
    tell_of_results(run);
    tell_of_held(setup, run, id, outcome);
    tell_of_whole_results(setup, run, id);
    tell!("Files: {}", setup.seen_from_here(&run_folder(id)));
    tell_part!("{summary}");
    tell_next(setup, run, id, outcome)?;
    tell_of_changes(setup, run, id);
    Ok(())
}

/// Prints the removed tasks and what reviews said about their changes.
fn tell_of_plan(run: &RunView) {
    for line in run.removals() {
        tell!("  {}", term::one_line(&line, 600));
    }
    for words in run.about().remarks {
        tell!("  review of the plan: {}", term::one_line(words, 600));
    }
}

/// Prints what a person should know about the results and the changes on disk.
fn tell_of_results(run: &RunView) {
    for (task, review) in run.tasks().flat_map(|task| task.reviews().map(move |review| (task, review))) {
        if review.failed().is_some() {
            tell!("  {}: {}", task.task.slug, term::one_line(&review_words(review), 600));
        }
    }
    for task in run.tasks().filter(|task| task.is_done_without_calls()) {
        tell!("  {}: {CALLS_FAILED}", task.task.slug);
    }
    if let Some(line) = run.unsupported_line() {
        tell!("  {}", term::one_line(&line, 600));
    }
    if let Some(Joined::Failed(why)) = run.joined() {
        tell!("  no answer was written from the results: {}", term::one_line(why, 300));
    }
    tell_of_checks(run);
}

/// Prints the checks that did not pass and whose changes are on disk.
fn tell_of_checks(run: &RunView) {
    run.failed_checks().iter().for_each(|line| tell!("  {}", term::one_line(line, 600)));
}

/// Prints how to read the whole results if the answer is only their summaries.
fn tell_of_whole_results(setup: &Setup, run: &RunView, id: &RunId) {
    let results = run.results().into_iter().map(|(task, _)| task);
    let longer = results.filter(|task| task.result().is_some_and(|result| result.says_more()));
    let names: Vec<&str> = longer.map(|task| task.task.slug.as_str()).collect();
    let Some((first, others)) = names.split_first() else { return };
    let also = if others.is_empty() { String::new() } else { format!(" (also {})", others.join(", ")) };
    let call = &setup.command;
    tell!("Whole result: {call} show {id} --task {first}{}", term::one_line(&also, 300));
}

/// Prints the tasks that wait until an edit of the sheet is fixed.
fn tell_of_held(setup: &Setup, run: &RunView, id: &RunId, outcome: Outcome) {
    if let Some(held) = run.about().held_by_edit.filter(|_| outcome == Outcome::InputRequired) {
        let held: Vec<&str> = held.iter().map(Slug::as_str).collect();
        let sheet = setup.seen_from_here(&run_folder(id));
        let waits = if held.is_empty() {
            "the run does not end"
        } else {
            &format!("these tasks do not start: {}", held.join(", "))
        };
        tell!("  {sheet}/sheet.md has errors, so {waits}");
        tell!("Next: fix them, then {} resume {id}", setup.command);
    }
}

/// Prints the next steps of a person, each with its command.
fn tell_next(setup: &Setup, run: &RunView, id: &RunId, outcome: Outcome) -> Result<(), Failure> {
    let call = &setup.command;
    match outcome {
        Outcome::ApprovalRequired => {
            tell_gates(setup, run, id)?;
            tell_questions(setup, run, id, "also asks");
        }
        Outcome::InputRequired => {
            tell_questions(setup, run, id, "asks");
            tell_gates(setup, run, id)?;
        }
        Outcome::LimitReached => {
            let flag = run.about().ended_by.map(|limit| flag_of(run, limit, false)).unwrap_or_default();
            tell!("Next: {call} resume {id}{flag}");
        }
        Outcome::Incomplete => tell_of_retry(setup, run, id),
        _ if run.about().pending_follow_up.is_some() => tell_of_retry(setup, run, id),
        Outcome::Cancelled
        | Outcome::Unreachable
        | Outcome::MaxRounds
        | Outcome::PlanFailed
        | Outcome::IterationFailed => tell!("Next: {call} resume {id}"),
        Outcome::Misconfigured => {
            tell!("Next: {call} resume {id}, or with another model: {call} resume {id} --model PROVIDER/MODEL");
        }
        Outcome::Planned => tell!("Next: {call} resume {id}"),
        Outcome::Complete if !run.collected().is_empty() => tell!("Next: {call} retry {id}"),
        _ => {}
    }
    if let Some(text) = run.about().pending_follow_up {
        tell!("The follow-up has no task list yet: {}", term::one_line(text, 300));
        if run.about().follow_up_waits {
            tell!("Run the other tasks first: {call} resume {id}");
        } else {
            tell!("Retry it: {call} resume {id}, or rephrase it: {call} continue {id} \"…\"");
        }
        tell!("Or withdraw it: {call} continue {id} --withdraw");
    }
    Ok(())
}

/// Prints how to repeat tasks that ended without output, and how to get requested files written.
fn tell_of_retry(setup: &Setup, run: &RunView, id: &RunId) {
    let call = &setup.command;
    let (empty, problems): (Vec<&TaskRun>, Vec<&TaskRun>) =
        run.all_problems().map(|problem| problem.task).partition(|task| task.reads_nothing());
    if !empty.is_empty() {
        tell!("Next: add files or go to a folder that has some, then ask again: {call} run \"…\"");
    }
    let problems = problems.into_iter().filter(|task| !is_lost(run, task));
    let problems: Vec<&TaskRun> = problems.collect();
    for limit in problems.iter().filter_map(|task| run.limit_of_failure(task)) {
        tell_of_limit(setup, id, limit);
    }
    let problems: Vec<&str> = problems.iter().map(|task| task.task.slug.as_str()).collect();
    let unwritten = run.unwritten();
    if !problems.is_empty() {
        tell!("Next: {call} retry {id} {}", problems.join(" "));
        if run.is_misconfigured() {
            tell!(
                "  or with another model, which `{call} model list` names: {call} retry {id} {} --model PROVIDER/MODEL",
                problems.join(" ")
            );
        }
    } else if !unwritten.is_empty() {
        tell!("Next: {call} continue {id} \"Write {}\"", term::one_line(&unwritten.join(", "), 300));
    }
}

/// Prints how to raise the limit of a task that made it fail.
fn tell_of_limit(setup: &Setup, id: &RunId, (limit, now): (String, f64)) {
    let next = amount(now * 2.0);
    tell!("  {limit} is {}; raise it: {} resume {id} --limit {limit}={next}", amount(now), setup.command);
}

/// Whether a task does not come back: it is lost itself, or it reads a removed task.
fn is_lost(run: &RunView, task: &TaskRun) -> bool {
    let mut seen = std::collections::BTreeSet::new();
    let mut open = vec![task];
    while let Some(task) = open.pop() {
        for producer in task.producers().filter_map(|producer| run.task(producer)) {
            if producer.state() == State::Dropped {
                return true;
            }
            if producer.state() != State::Done && seen.insert(&producer.task.slug) {
                open.push(producer);
            }
        }
    }
    false
}

/// Prints the open questions and how to answer them.
fn tell_questions(setup: &Setup, run: &RunView, id: &RunId, verb: &str) {
    let asked = run.questions();
    for question in &asked {
        tell!("{} {verb}: {}", question.task, term::one_line(&visible(&question.text), 600));
    }
    tell_part!("{}", how_to_answer(setup, &asked, id));
}

/// Prints the open gates and how to answer them. If there are also questions, chance decides which of them ended the
/// run.
fn tell_gates(setup: &Setup, run: &RunView, id: &RunId) -> Result<(), Failure> {
    let gates = setup.runs().gates(run)?;
    tell_part!("{}", term::harmless(&waits_text(setup, &gates, id)));
    Ok(())
}

/// Prints how to revert the run's changes on disk.
fn tell_of_changes(setup: &Setup, run: &RunView, id: &RunId) {
    if run.all_tasks().flat_map(|task| &task.applied).any(|applied| !applied.reverted) {
        tell!("Revert the changes: {} undo {id}", setup.command);
    }
}

/// The error output of the failed script, or else its output. The first one if several failed.
fn said_by_script(error: &TaskError) -> Option<&str> {
    let ErrorKind::TaskFailure { details: Some(details), .. } = &error.kind else { return None };
    let own = [&details.script_stderr, &details.script_stdout].into_iter().flatten();
    let own = own.map(String::as_str).find(|text| !text.trim().is_empty());
    let inner = || details.errors.iter().flatten().map(|item| &*item.error);
    own.or_else(|| inner().chain(details.subtask_error.as_deref()).find_map(said_by_script))
}

/// The first and the last lines of a script's output, because one of them usually says why it failed. Some scripts
/// print the error and then their usage. Others print everything that they did first.
fn told_lines(text: &str) -> Vec<String> {
    let lines: Vec<&str> = text.lines().filter(|line| !line.trim().is_empty()).collect();
    let cut = lines.len().saturating_sub(SCRIPT_LINES);
    let mut told: Vec<String> = lines.iter().skip(cut).map(|line| term::one_line(line, 300)).collect();
    if let (Some(first), 1..) = (lines.first(), cut) {
        told.insert(0, term::one_line(first, 300));
        if cut > 1 {
            told.insert(1, format!("[{} lines omitted]", cut - 1));
        }
    }
    told
}

/// Prints the content of a complete result, or the whole result as JSON, to stdout, and everything else to stderr.
fn tree_words(
    setup: &Setup,
    run: &RunView,
    id: &RunId,
    outcome: Outcome,
    result: &TaskResult,
    summary: &Summary,
) -> Result<(), Failure> {
    let warnings = warnings_of_tree(&setup.runs(), run);
    if setup.json {
        return super::print_json(&serde_json::json!({
            "result": outcome, "run": id, "task_result": result, "files": run_folder(id), "summary": summary,
            "parts_failed": run.collected(), "warnings": warnings,
        }));
    }
    tell!();
    let printed = result.words();
    if outcome == Outcome::Complete && !printed.trim().is_empty() {
        super::print(&format!("{}\n", term::harmless(printed.trim_end())))?;
        tell!();
    }
    tell!("{}", term::sentence(term::outcome_words(outcome)));
    if let Some(error) = &result.error {
        let place = error.location.as_ref();
        let place = place.map(|at| format!("{}:{}:{}: {}: ", at.file, at.line, at.column, at.task)).unwrap_or_default();
        tell!("  {}", term::one_line(&format!("{place}{}", error.message), 600));
        for call in &error.related {
            tell!("  called at {}:{}:{}: {}", call.file, call.line, call.column, call.task);
        }
        for line in told_lines(said_by_script(error).unwrap_or_default()) {
            tell!("  | {line}");
        }
        match run.limit_of_error(error) {
            Some(limit) => tell_of_limit(setup, id, limit),
            None => tell!("  {}", term::one_line(&error.recovery.advice, 200)),
        }
    }
    if let Some(code) = result.exit_code.filter(|code| outcome == Outcome::Complete && *code != 0) {
        tell!(
            "  warning: the command ended with exit code {code}; its output is the result, because it has `on_nonzero: continue`"
        );
    }
    for parts in run.collected() {
        tell!("  {}", term::one_line(&parts.words(), 300));
    }
    for warning in warnings {
        tell!("  warning: {}", term::one_line(&warning, 300));
    }
    tell_of_checks(run);
    tell!("Files: {}", setup.seen_from_here(&run_folder(id)));
    tell_part!("{summary}");
    if matches!(outcome, Outcome::Cancelled | Outcome::Unreachable) {
        tell!("Next: {} resume {id}", setup.command);
    } else if run.may_retry_of_tree() {
        tell!("Next: {} retry {id}", setup.command);
    }
    tell_of_changes(setup, run, id);
    Ok(())
}

/// Turns a drive fault into a failure with advice.
pub(super) fn drive_failure(fault: &DriveFault, id: &RunId) -> Failure {
    Refusal::of_drive(fault, id).into()
}
