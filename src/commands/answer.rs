//! `approve`, `deny`, `cancel`: leave a letter for a run. A living run takes it at once, a waiting one on `resume`.

use std::collections::BTreeMap;
use std::sync::Arc;

use callsheet_core::record::{Answer, Gate, GateKind, Outcome, Verdict};
use callsheet_core::reply::change::{HunkPick, HunkVerdict};
use callsheet_core::spec::Slug;
use callsheet_runtime::driver::{Session, gate_view, open_gate, outer_of, part_fault};
use callsheet_runtime::ports::{Letter, PartAnswer, RunSummary, Store};

use crate::cli::{ApproveArgs, DenyArgs, EditArg, Exit, Failure, RunNameArgs};
use crate::setup::{Setup, find_run, store_failure};
use crate::term::hunk_of;

use super::drive::drive_failure;
use super::inside::asking_run;

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
    let (asking, folded) = asking_run(&store, &found.run, folded, Outcome::ApprovalRequired)?;
    let gate = open_gate(&folded).ok_or_else(|| {
        Failure::usage(
            format!("run {} waits for no approval", found.run),
            format!("look: callsheet show {}", found.run),
        )
    })?;
    let found = if asking == found.run { found } else { find_run(&store, Some(asking.as_str()), |_| true, "")? };
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
    if arguments.hunks.is_some() || !arguments.edit.is_empty() {
        let part = part(setup, &store, &found, &gate, arguments)?;
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

/// The hunks to keep, as they are or as edited, if the change that waits has them. What can be told of them from the
/// change alone is told here; the run checks what is kept again, whole, when it takes it (spec 11.4).
fn part(
    setup: &Setup,
    store: &Arc<dyn Store>,
    found: &RunSummary,
    gate: &Gate,
    arguments: &ApproveArgs,
) -> Result<PartAnswer, Failure> {
    let look = format!("look: callsheet show {}", found.run);
    let (run, _) = Session::view(store, &found.run).map_err(|fault| drive_failure(&fault, &found.run))?;
    let view = gate_view(&**store, &setup.project, &run, gate).map_err(store_failure)?;
    let count = view.hunks.iter().map(|hunk| hunk.number).max().unwrap_or(0);
    if count == 0 {
        return Err(Failure::usage(format!("run {} waits with no change that has hunks", found.run), look));
    }
    let named = arguments.hunks.iter().flat_map(|hunks| hunks.0.iter().map(|(_, last)| *last));
    if let Some(number) = named.chain(arguments.edit.iter().map(|edit| edit.number)).find(|number| *number > count) {
        return Err(Failure::usage(format!("there is no hunk {number}; the change has {count}"), look));
    }
    let edited = edited(&arguments.edit)?;
    let kept = |number: u32| match &arguments.hunks {
        Some(hunks) => hunks.0.iter().any(|(first, last)| (*first..=*last).contains(&number)),
        None => true,
    };
    let verdict = |number: u32| match edited.get(&number) {
        Some(text) => Some(HunkVerdict::Edited(text.clone())),
        None => kept(number).then_some(HunkVerdict::Keep),
    };
    let picks = view
        .hunks
        .iter()
        .filter_map(|hunk| verdict(hunk.number).map(|verdict| HunkPick { number: hunk.number, verdict }));
    let part = PartAnswer { hunks: picks.collect(), words: arguments.because.clone().unwrap_or_default() };
    match part_fault(&**store, &run, gate, &part).map_err(store_failure)? {
        Some(fault) => Err(Failure::usage(format!("the edited change cannot be made: {fault}"), look)),
        None => Ok(part),
    }
}

/// The texts of edited hunks by number.
fn edited(edits: &[EditArg]) -> Result<BTreeMap<u32, String>, Failure> {
    let mut texts = BTreeMap::new();
    for EditArg { number, file } in edits {
        let name = file.display();
        let text = std::fs::read_to_string(file)
            .map_err(|error| Failure::usage(format!("{name} cannot be read: {error}"), "name a text file"))?;
        let text = hunk_of(&text).ok_or_else(|| {
            Failure::usage(
                format!("{name} holds nothing of a hunk"),
                format!("to refuse hunk {number}, name the others with --hunks"),
            )
        })?;
        if texts.insert(*number, text).is_some() {
            return Err(Failure::usage(format!("hunk {number} is edited twice"), "give each hunk one file"));
        }
    }
    Ok(texts)
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
        None => eprintln!("noted for {}; go on with: callsheet resume {}", found.run, outer_of(&found.run)),
    }
    Ok(Exit::Complete)
}
