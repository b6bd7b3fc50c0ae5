//! `approve`, `deny`, `cancel`: leave a letter for a run. A living run takes it at once, a waiting one on `resume`.

use std::collections::BTreeMap;
use std::sync::Arc;

use callsheet_core::record::{Answer, Gate, GateKind, Outcome, Verdict};
use callsheet_core::reply::change::{HunkPick, HunkVerdict};
use callsheet_core::spec::Slug;
use callsheet_runtime::driver::{Session, gate_view, open_gate};
use callsheet_runtime::ports::{Letter, PartAnswer, RunSummary, Store};

use crate::cli::{ApproveArgs, DenyArgs, Exit, Failure, HunksArg, RunNameArgs};
use crate::setup::{Setup, find_run, store_failure};

use super::drive::drive_failure;

fn waits(run: &RunSummary) -> bool {
    run.owner.is_some() || run.outcome == Some(Outcome::ApprovalRequired)
}

/// A run at an open gate.
struct Open {
    store: Arc<dyn Store>,
    run: RunSummary,
    gate: Gate,
    /// The tasks it asks about.
    tasks: Vec<Slug>,
}

fn open(setup: &Setup, run: Option<&str>) -> Result<Open, Failure> {
    let store = setup.own_store()?;
    let found = find_run(&store, run, waits, "waiting")?;
    let (folded, _) = Session::view(&store, &found.run).map_err(|fault| drive_failure(&fault, &found.run))?;
    let gate = open_gate(&folded).ok_or_else(|| {
        Failure::usage(
            format!("run {} waits for no approval", found.run),
            format!("look: callsheet show {}", found.run),
        )
    })?;
    let tasks = match &gate.kind {
        GateKind::BeforeRun(tasks) => tasks.clone(),
        GateKind::BeforeApply { task, .. } | GateKind::BeforeCall { task, .. } => vec![task.clone()],
    };
    Ok(Open { store, run: found, gate, tasks })
}

fn chosen(slugs: &[String], offered: &[Slug]) -> Result<Vec<Slug>, Failure> {
    slugs
        .iter()
        .map(|slug| {
            offered.iter().find(|task| task.as_str() == slug).cloned().ok_or_else(|| {
                let names: Vec<&str> = offered.iter().map(Slug::as_str).collect();
                Failure::usage(format!("{slug} does not wait for approval"), format!("waiting: {}", names.join(", ")))
            })
        })
        .collect()
}

pub(super) fn approve(setup: &Setup, arguments: &ApproveArgs) -> Result<Exit, Failure> {
    let Open { store, run: found, gate, tasks } = open(setup, arguments.run.as_deref())?;
    if let Some(hunks) = &arguments.hunks {
        let part = part(setup, &store, &found, &gate, hunks, arguments.because.as_deref())?;
        return leave(&store, &found, Letter::Part { gate: Some(gate), part });
    }
    let named = chosen(&arguments.slugs, &tasks)?;
    let before_run = matches!(gate.kind, GateKind::BeforeRun(_));
    let answer = if arguments.all {
        if !before_run {
            return Err(Failure::usage(
                format!("run {} waits with one change or call, which --all does not answer", found.run),
                format!("look: callsheet show {0}; then: callsheet approve {0}", found.run),
            ));
        }
        Answer::All
    } else if named.is_empty() || named.len() == tasks.len() {
        Answer::Listed
    } else {
        let verdicts = named.into_iter().map(|slug| (slug, Verdict::Approve)).collect();
        Answer::Each { verdicts, words: String::new() }
    };
    leave(&store, &found, Letter::Answer { gate: Some(gate), answer })
}

/// The hunks to keep, if the change that waits has them.
fn part(
    setup: &Setup,
    store: &Arc<dyn Store>,
    found: &RunSummary,
    gate: &Gate,
    hunks: &HunksArg,
    because: Option<&str>,
) -> Result<PartAnswer, Failure> {
    let look = format!("look: callsheet show {}", found.run);
    let (run, _) = Session::view(store, &found.run).map_err(|fault| drive_failure(&fault, &found.run))?;
    let view = gate_view(&**store, &setup.project, &run, gate).map_err(store_failure)?;
    let count = view.hunks.iter().map(|hunk| hunk.number).max().unwrap_or(0);
    if count == 0 {
        return Err(Failure::usage(format!("run {} waits with no change that has hunks", found.run), look));
    }
    if let Some((_, last)) = hunks.0.iter().find(|(_, last)| *last > count) {
        return Err(Failure::usage(format!("there is no hunk {last}; the change has {count}"), look));
    }
    let kept =
        view.hunks.iter().filter(|hunk| hunks.0.iter().any(|(first, last)| (*first..=*last).contains(&hunk.number)));
    let picks = kept.map(|hunk| HunkPick { number: hunk.number, verdict: HunkVerdict::Keep }).collect();
    Ok(PartAnswer { hunks: picks, words: because.unwrap_or_default().to_owned() })
}

pub(super) fn deny(setup: &Setup, arguments: &DenyArgs) -> Result<Exit, Failure> {
    let Open { store, run: found, gate, tasks } = open(setup, arguments.run.as_deref())?;
    let named = chosen(&arguments.slugs, &tasks)?;
    let words = arguments.because.clone().unwrap_or_default();
    let answer = if named.is_empty() || named.len() == tasks.len() {
        Answer::Deny { words }
    } else {
        let verdicts: BTreeMap<Slug, Verdict> = named.into_iter().map(|slug| (slug, Verdict::Deny)).collect();
        Answer::Each { verdicts, words }
    };
    leave(&store, &found, Letter::Answer { gate: Some(gate), answer })
}

pub(super) fn cancel(setup: &Setup, arguments: &RunNameArgs) -> Result<Exit, Failure> {
    let store = setup.own_store()?;
    let found = find_run(&store, arguments.run.as_deref(), |run| run.owner.is_some(), "running")?;
    leave(&store, &found, Letter::Cancel)
}

fn leave(store: &Arc<dyn Store>, found: &RunSummary, letter: Letter) -> Result<Exit, Failure> {
    store.post(&found.run, &letter).map_err(store_failure)?;
    match &found.owner {
        Some(owner) => eprintln!("told {} ({owner})", found.run),
        None => eprintln!("noted for {0}; go on with: callsheet resume {0}", found.run),
    }
    Ok(Exit::Complete)
}
