//! `resume`: go on with an interrupted or waiting run.

use std::sync::Arc;

use callsheet_core::record::Outcome;
use callsheet_runtime::driver::{Session, reopen};
use callsheet_runtime::ports::{Letter, RunSummary};

use crate::cli::{Exit, Failure, ResumeArgs};
use crate::setup::{Setup, config_failure, find_run, store_failure};

use super::drive::{Front, drive_failure, prepare, to_the_end};

pub(super) fn resume(setup: &Setup, arguments: &ResumeArgs) -> Result<Exit, Failure> {
    let store = setup.own_store()?;
    let finished = |outcome: Option<Outcome>| {
        matches!(outcome, Some(Outcome::Complete | Outcome::Incomplete | Outcome::PlanFailed))
    };
    let only_planned = |run: &RunSummary| {
        Session::view(&store, &run.run).is_ok_and(|(folded, _)| folded.settings().plan_only && folded.has_list())
    };
    let fits = |run: &RunSummary| !finished(run.outcome) && !only_planned(run);
    let found = find_run(&store, arguments.run.as_deref(), fits, "unfinished")?;
    if found.outcome == Some(Outcome::Complete) {
        eprintln!("run {} is complete; nothing to go on with", found.run);
        return Ok(Exit::Complete);
    }
    if let Some(text) = &arguments.answer {
        store.post(&found.run, &Letter::Reply { text: text.clone() }).map_err(store_failure)?;
    }
    let front = Front::new(setup, &arguments.work);
    let configured = setup.config.settings().map_err(config_failure)?;
    let (run, _) = Session::view(&store, &found.run).map_err(|fault| drive_failure(&fault, &found.run))?;
    // What the run was started with stays, unless this command says otherwise.
    let mut settings = run.settings().clone();
    for (name, value) in &setup.config.values {
        if matches!(value.origin, crate::config::Origin::Flag(_)) {
            overlay(&mut settings, &configured, name);
        }
    }
    front.begin_with(run);
    let runtime = super::runtime()?;
    runtime.block_on(async {
        let world = prepare(setup, &arguments.work, &front, store, &found.run, &mut settings).await?;
        let given = settings.clone();
        let session = reopen(&world, &found.run, move |_| given).map_err(|fault| drive_failure(&fault, &found.run))?;
        to_the_end(setup, &front, Arc::clone(&world), session, &found.run).await
    })
}

fn overlay(settings: &mut callsheet_core::spec::Settings, given: &callsheet_core::spec::Settings, name: &str) {
    match name {
        "jobs" => settings.jobs = given.jobs,
        "max_rounds" => settings.max_rounds = given.max_rounds,
        "skills" => settings.skills.clone_from(&given.skills),
        "refine" => settings.refine = given.refine,
        "iterate" => settings.iterate = given.iterate,
        "approval.mode" => settings.approval = given.approval,
        "approval.headless" => settings.headless = given.headless.clone(),
        "allow_http" => settings.allow_http = given.allow_http,
        "strict" => settings.strict = given.strict,
        "limits.max_calls" => settings.limits.max_calls = given.limits.max_calls,
        "limits.max_tokens" => settings.limits.max_tokens = given.limits.max_tokens,
        "limits.max_cost_usd" => settings.limits.max_cost_usd = given.limits.max_cost_usd,
        "limits.run_timeout_seconds" => settings.limits.run_timeout_seconds = given.limits.run_timeout_seconds,
        _ => {}
    }
}
