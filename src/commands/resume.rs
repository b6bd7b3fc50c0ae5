//! `resume`: continues an interrupted or waiting run. A working run takes higher limits and answers.

use std::sync::Arc;

use callsheet_app::{Advice, Refusal, RunCommand, RunView};
use callsheet_core::nouns::{RunId, Settings};
use callsheet_core::record::Outcome;
use callsheet_runtime::driver::{ResumeKind, reopen};
use callsheet_runtime::ports::{RunSummary, Store, StoreFault};

use crate::cli::{Exit, Failure, ResumeArgs, WorkArgs};
use crate::library::offer;
use crate::setup::{Setup, config_failure, find_run, recorded, store_failure};

use super::answer::{order, say};
use super::drive::{Front, ask_to_begin, drive_failure, last_words, prepare, to_the_end};
use super::questions::reply_to;
use super::raise::{given, raise, refuse_flags};

pub(super) fn resume(setup: &Setup, arguments: &ResumeArgs) -> Result<Exit, Failure> {
    let store = setup.existing_store()?;
    let fits = |run: &RunSummary| goes_on(setup, &store, run).unwrap_or(false);
    let found = find_run(&store, arguments.run.as_deref(), fits, "unfinished")?;
    let run = recorded(&store, &found)?.run;
    if arguments.files_as_they_are {
        setup.runs().accept_files(&found.run, &run)?;
    }
    let asked = run.questions();
    if arguments.answer.is_some() && asked.is_empty() {
        return Err(Failure::usage(
            format!("run {} asks nothing now, so the answer was not used", found.run),
            Advice::command("inspect the run", ["show", found.run.as_str()]),
        ));
    }
    let limits = arguments.limit.clone();
    if !limits.is_empty() {
        let receipt = order(setup, &found.run, RunCommand::Raise { limits })?;
        if receipt.is_sent() {
            return say(setup, &receipt);
        }
    }
    // A template belongs to many runs, so only a run that is named follows its edits when it is complete.
    if found.outcome == Some(Outcome::Complete)
        && !has_more(setup, &store, &found.run, &run)?
        && !(arguments.run.is_some() && has_edited_templates(setup, &run)?)
    {
        tell_unused(setup, &found.run);
        setup.runs().commit_late(&*store, &run).iter().for_each(|note| tell!("{note}"));
        last_words(setup, &run, &found.run, Outcome::Complete)?;
        return Ok(Exit::Complete);
    }
    let answer = arguments.answer.as_deref().map(|text| reply_to(&asked, text)).transpose()?;
    if let Some(owner) = &found.owner {
        if answer.is_none() && given(setup).is_empty() {
            let failure = store_failure(StoreFault::Locked { owner: owner.clone() });
            let more = "`--set limits.max_calls=N` and the like raise its limits meanwhile";
            let advice = failure.advice.and(more);
            return Err(Failure { advice, ..failure });
        }
        refuse_flags(setup, &found.run)?;
        let raised = raise(setup, &found.run)?;
        let answered = answer.map(|command| order(setup, &found.run, command)).transpose()?;
        let what: Vec<String> = raised.into_iter().chain(answered).map(|receipt| receipt.what).collect();
        let words = format!("sent {} to {} ({owner})", what.join(", "), found.run);
        return super::say(setup, &words).map(|()| Exit::Complete);
    }
    if let Some(command) = answer {
        order(setup, &found.run, command)?;
    }
    resume_run(setup, &arguments.work, store, &found.run, run, ResumeKind::Resume)
}

/// Tells that the settings of this command were not used, because the run is complete.
fn tell_unused(setup: &Setup, id: &RunId) {
    let given = &setup.config.given().values;
    let mut flags: Vec<String> = given.values().map(|value| value.origin.to_string()).collect();
    flags.dedup();
    if !flags.is_empty() {
        let call = &setup.command;
        tell!(
            "note: {id} is complete, so {} changes nothing; to do a task again: {call} retry {id} TASK",
            flags.join(", ")
        );
    }
}

/// Whether `resume` without a name continues this run, because it has work left or a message from a person since its
/// end. `retry` continues failed and denied tasks, and the name of a run continues a plan.
fn goes_on(setup: &Setup, store: &Arc<dyn Store>, found: &RunSummary) -> Result<bool, Failure> {
    match found.outcome {
        Some(outcome) if outcome.is_finished() || outcome == Outcome::Planned => {
            let run = recorded(store, found)?.run;
            has_more(setup, store, &found.run, &run)
        }
        _ => Ok(true),
    }
}

/// Whether a person left something for an ended run: a follow-up without a list, an edit, or an answer.
fn has_more(setup: &Setup, store: &Arc<dyn Store>, id: &RunId, run: &RunView) -> Result<bool, Failure> {
    let left = run.about().pending_follow_up.is_some() || store.has_messages(id).map_err(store_failure)?;
    Ok(left || setup.runs().is_edited(id, run)?)
}

/// Whether a template of the run was edited since the run recorded it.
fn has_edited_templates(setup: &Setup, run: &RunView) -> Result<bool, Failure> {
    Ok(run.about().tree.is_some() && run.has_edited_templates(&setup.project, &offer(setup)?))
}

/// Resumes a run and drives it to its end. `run` is the run as recorded.
pub(super) fn resume_run(
    setup: &Setup,
    work: &WorkArgs,
    store: Arc<dyn Store>,
    id: &RunId,
    run: RunView,
    how: ResumeKind,
) -> Result<Exit, Failure> {
    let front = Front::new(setup, work);
    // The settings of the run's start stay, unless this command sets others.
    let given = setup.config.given();
    #[cfg(feature = "cluster")]
    if setup.on.is_some() && how == ResumeKind::Resume && given.values.is_empty() {
        front.begin_with(&run);
        let settings = run.about().settings.clone();
        return super::runtime()?.block_on(super::on_cluster::go_on(setup, &front, run, id, how, settings));
    }
    let mut settings = given.over(run.about().settings).map_err(config_failure)?;
    settings.plan_only &= how == ResumeKind::Resume && !run.about().has_list;
    let tree = run.about().tree.cloned();
    front.begin_with(&run);
    let runtime = super::runtime()?;
    runtime.block_on(async {
        let services = prepare(setup, work, &front, store, id, &mut settings, tree.as_deref()).await?;
        if let ResumeKind::Continue(text) = &how {
            ask_to_begin(&services, id, text).await?;
        }
        let prepared = settings.clone();
        // The limit of a day holds whatever was recorded.
        let day_share_usd = settings.limits.day_share_usd;
        let follows_up = matches!(how, ResumeKind::Continue(_));
        let change = move |recorded: Settings| {
            let settings = Settings { limits: recorded.limits, ..prepared };
            // The same values were already applied to the settings above.
            let mut settings = given.over(&settings).unwrap_or(settings);
            settings.limits.day_share_usd = day_share_usd;
            settings
        };
        #[cfg(feature = "cluster")]
        if setup.on.is_some() {
            let settings = change(run.about().settings.clone());
            return super::on_cluster::go_on(setup, &front, run, id, how, settings).await;
        }
        let session = reopen(&services, id, run.into_run(), how, change).map_err(|fault| match &fault {
            // Nothing of the follow-up is recorded yet, so only the same command repeats it.
            fault if follows_up => Refusal::of_drive_again(fault, id, &["continue", id.as_str(), "…"]).into(),
            _ => drive_failure(&fault, id),
        })?;
        to_the_end(setup, &front, Arc::clone(&services), session, id).await
    })
}
