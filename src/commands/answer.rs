//! `approve`, `deny`, `cancel`: leave a letter for a run. A living run takes it at once, a waiting one on `resume`, which
//! `--resume` does as well.

use std::collections::BTreeMap;
use std::sync::Arc;

use callsheet_core::fuzzy;
use callsheet_core::record::{Answer, AnsweredBy, Gate, GateKind, Outcome, Verdict};
use callsheet_core::spec::{RunId, Slug};
use callsheet_format::edit::{Hunk, HunkPick, HunkVerdict};
use callsheet_runtime::driver::{ResumeKind, Session};
use callsheet_runtime::effects::{gate_view, open_gates, part_fault};
use callsheet_runtime::ports::{InboxMessage, PartAnswer, RunSummary, Store};
use callsheet_runtime::shown::{self, Shown};

use crate::cli::{ApproveArgs, DenyArgs, EditArg, Exit, Failure, HunksArg, RunNameArgs, WorkArgs};
use crate::setup::{Setup, find_run, store_failure};
use crate::term::hunk_of;

use super::drive::drive_failure;
use super::resume::resume_run;
use super::take_in::{recorded, take_in};

fn waits(run: &RunSummary) -> bool {
    run.owner.is_some() || run.outcome == Some(Outcome::ApprovalRequired)
}

/// What waits for an approval in a run that a person names.
pub(super) struct Asked {
    pub(super) store: Arc<dyn Store>,
    pub(super) run: RunSummary,
    /// In the order they were opened. Never empty.
    pub(super) open: Vec<Gate>,
    /// Those of them that ask whether an interrupted call is made again.
    interrupted: Vec<Gate>,
}

/// The tasks a gate asks about.
pub(super) fn asked_about(gate: &Gate) -> impl Iterator<Item = &Slug> {
    let tasks = match &gate.kind {
        GateKind::BeforeRun(tasks) => tasks.as_slice(),
        GateKind::BeforeApply { task, .. } | GateKind::BeforeCall { task, .. } => std::slice::from_ref(task),
    };
    tasks.iter()
}

/// Hunks are numbered in each change by itself, so one has to be named.
pub(super) fn several_changes(id: &RunId, tasks: &[String], how: &str) -> Failure {
    Failure::usage(
        format!("run {id} has {} pending changes: {}", tasks.len(), tasks.join(", ")),
        format!("name the task whose hunks you mean: {how}"),
    )
}

pub(super) fn open(setup: &Setup, run: Option<&str>) -> Result<Asked, Failure> {
    let store = setup.existing_store()?;
    let found = find_run(&store, run, waits, "waiting")?;
    let mut run = recorded(&store, &found)?.run;
    let edited = take_in(setup, &store, &found, &run)?;
    if edited {
        run = recorded(&store, &found)?.run;
    }
    let open: Vec<Gate> = open_gates(&run).collect();
    if open.is_empty() && edited {
        return Err(Failure::usage(
            format!("after the edit of its sheet, run {} no longer waits for approval", found.run),
            format!("resume it to apply the edit: callsheet resume {}", found.run),
        ));
    }
    if open.is_empty() {
        return Err(Failure::usage(
            format!("run {} is not waiting for approval", found.run),
            format!("inspect it: callsheet show {}", found.run),
        ));
    }
    let interrupted = open.iter().filter(|gate| run.needs_own_answer(gate)).cloned().collect();
    Ok(Asked { store, run: found, open, interrupted })
}

impl Asked {
    /// The gates that ask about the named tasks, each with those of them it asks about; all gates if none is named.
    fn chosen(&self, slugs: &[String]) -> Result<Vec<(&Gate, Vec<Slug>)>, Failure> {
        let named = |gate: &Gate, slugs: &[String]| {
            let asked = asked_about(gate).filter(|task| slugs.iter().any(|name| means(name, task)));
            asked.cloned().collect::<Vec<_>>()
        };
        let waits = |name: &String| self.open.iter().any(|gate| !named(gate, std::slice::from_ref(name)).is_empty());
        if let Some(slug) = slugs.iter().find(|name| !waits(name)) {
            let offered: Vec<&str> = self.open.iter().flat_map(asked_about).map(Slug::as_str).collect();
            let near = fuzzy::did_you_mean(slug, offered.iter().copied());
            let advice = format!("{near} pending: {}", offered.join(", "));
            return Err(Failure::usage(format!("{slug} is not waiting for approval"), advice.trim_start().to_owned()));
        }
        let gates = self.open.iter().map(|gate| (gate, named(gate, slugs)));
        Ok(gates.filter(|(_, named)| slugs.is_empty() || !named.is_empty()).collect())
    }

    /// The gates that a yes covers. Whether a call that was interrupted is made again, a yes says only by the name of its
    /// task, or if nothing else waits.
    fn without_interrupted<'a>(
        &self,
        mut chosen: Vec<(&'a Gate, Vec<Slug>)>,
        arguments: &ApproveArgs,
    ) -> Result<Vec<(&'a Gate, Vec<Slug>)>, Failure> {
        let alone = self.open.len() == 1 && !arguments.all;
        let named =
            |gate: &Gate| asked_about(gate).all(|task| arguments.slugs.iter().any(|name| name == task.as_str()));
        let left_out: Vec<&Gate> = self
            .interrupted
            .iter()
            .filter(|gate| !alone && !named(gate))
            .filter(|gate| chosen.iter().any(|(one, _)| one == gate))
            .collect();
        chosen.retain(|(gate, _)| !left_out.contains(gate));
        let tasks: Vec<&str> = left_out.iter().flat_map(|gate| asked_about(gate)).map(Slug::as_str).collect();
        if tasks.is_empty() {
            return Ok(chosen);
        }
        let tasks = tasks.join(" ");
        let what = format!("started and never finished: {tasks}; to run again, each has to be named");
        if chosen.is_empty() {
            return Err(Failure::usage(what, format!("callsheet approve {} {tasks}", self.run.run)));
        }
        tell!("{what}: callsheet approve {} {tasks}", self.run.run);
        Ok(chosen)
    }

    /// Whether an answer speaks of a gate alone, and not of what else waits: its tasks were named, or there is no rest.
    pub(super) fn speaks_of(&self, gate: &Gate, named: &[Slug]) -> bool {
        let asked = self.open.iter().map(|gate| asked_about(gate).count()).sum::<usize>();
        asked == 1 || named.len() == asked_about(gate).count()
    }
}

/// Whether a person who says `name` means the task: by its own name, or by that of the task whose call it is part of.
pub(super) fn means(name: &str, task: &Slug) -> bool {
    name == task.as_str() || task.as_str().split_once('/').is_some_and(|(caller, _)| name == caller)
}

fn is_change(gate: &Gate) -> bool {
    matches!(gate.kind, GateKind::BeforeApply { .. })
}

pub(super) fn post(store: &Arc<dyn Store>, id: &RunId, letters: &[InboxMessage]) -> Result<(), Failure> {
    letters.iter().try_for_each(|letter| store.post(id, letter).map_err(store_failure))
}

/// Leaves letters for `run`. `resume`: a run that rests goes on with them.
fn leave(
    setup: &Setup,
    store: &Arc<dyn Store>,
    run: &RunSummary,
    letters: Vec<InboxMessage>,
    resume: bool,
) -> Result<Exit, Failure> {
    let id = &run.run;
    post(store, id, &letters)?;
    let what = match letters.as_slice() {
        [InboxMessage::Cancel] => "the cancel request".to_owned(),
        [_] => "the answer".to_owned(),
        several => format!("{} answers", several.len()),
    };
    if resume && run.owner.is_none() {
        let (folded, _) = Session::view(store, id).map_err(|fault| drive_failure(&fault, id))?;
        return resume_run(setup, &WorkArgs::default(), Arc::clone(store), id, folded, ResumeKind::Resume);
    }
    let words = match &run.owner {
        Some(owner) => format!("sent {what} to {id} ({owner})"),
        None => format!("saved {what} for {id}. Next: {} resume {id}", setup.command),
    };
    super::say(setup, &words).map(|()| Exit::Complete)
}

/// An answer to the tasks of a gate that were named: the whole of it if none or all were.
pub(super) fn verdict(gate: &Gate, named: Vec<Slug>, words: &str, verdict: Verdict) -> Answer {
    if named.is_empty() || named.len() == asked_about(gate).count() {
        return match verdict {
            Verdict::Approve => Answer::Listed,
            Verdict::Deny => Answer::Deny { words: words.to_owned() },
        };
    }
    Answer::Each { verdicts: named.into_iter().map(|slug| (slug, verdict)).collect(), words: words.to_owned() }
}

pub(super) fn approve(setup: &Setup, arguments: &ApproveArgs) -> Result<Exit, Failure> {
    let asked = open(setup, arguments.run.as_deref())?;
    let id = &asked.run.run;
    let chosen = asked.chosen(&arguments.slugs)?;
    if arguments.hunks.is_some() || !arguments.edit.is_empty() {
        let changes: Vec<&Gate> = chosen.iter().map(|(gate, _)| *gate).filter(|gate| is_change(gate)).collect();
        let Some(gate) = changes.first().copied().or(chosen.first().map(|(gate, _)| *gate)) else {
            return Err(Failure::internal(format!("run {id} has no gate to answer"), ""));
        };
        if changes.len() > 1 {
            return Err(several_changes(
                id,
                &changes.iter().flat_map(|gate| asked_about(gate)).map(ToString::to_string).collect::<Vec<_>>(),
                &format!("callsheet approve {id} SLUG --hunks …"),
            ));
        }
        let because = arguments.because.as_deref().unwrap_or_default();
        let edits = edited(&arguments.edit)?;
        let part = part(setup, &asked, gate, (arguments.hunks.as_ref(), &edits), because)?;
        let letter = InboxMessage::Part { gate: Some(gate.clone()), part, by: Some(AnsweredBy::Command) };
        return leave(setup, &asked.store, &asked.run, vec![letter], arguments.resume);
    }
    if arguments.all && chosen.iter().all(|(gate, _)| is_change(gate)) {
        return Err(Failure::usage(
            format!("run {id} has only pending changes, and --all does not approve changes"),
            format!("inspect them: callsheet show {id}; then: callsheet approve {id}"),
        ));
    }
    let chosen = asked.without_interrupted(chosen, arguments)?;
    if let Some(words) = arguments.always {
        let gates: Vec<&Gate> = chosen.iter().map(|(gate, _)| *gate).collect();
        super::grants::always(setup, &asked, &gates, words)?;
    }
    let letters = chosen.into_iter().filter(|(gate, _)| !arguments.all || !is_change(gate)).map(|(gate, named)| {
        let by_name = asked.speaks_of(gate, &named);
        let answer = match gate.kind {
            GateKind::BeforeRun(_) if arguments.all => Answer::All,
            _ => verdict(gate, named, "", Verdict::Approve),
        };
        InboxMessage::Answer { gate: Some(gate.clone()), answer, named: by_name, by: Some(AnsweredBy::Command) }
    });
    leave(setup, &asked.store, &asked.run, letters.collect(), arguments.resume)
}

/// The hunks to keep, as they are or as edited, if the change that waits has them. What can be told of them from the
/// change alone is told here; the run checks what is kept again, whole, when it takes it (spec 11.4).
pub(super) fn part(
    setup: &Setup,
    asked: &Asked,
    gate: &Gate,
    (hunks, edits): (Option<&HunksArg>, &BTreeMap<u32, String>),
    because: &str,
) -> Result<PartAnswer, Failure> {
    let (store, id) = (&asked.store, &asked.run.run);
    let look = format!("inspect it: callsheet show {id}");
    let (run, _) = Session::view(store, id).map_err(|fault| drive_failure(&fault, id))?;
    let view = gate_view(&**store, &setup.project, &run, gate).map_err(store_failure)?;
    let count = view.hunks.iter().map(|hunk| hunk.number).max().unwrap_or(0);
    if count == 0 {
        return Err(Failure::usage(format!("run {id} has no pending change with hunks"), look));
    }
    let named = hunks.iter().flat_map(|hunks| hunks.0.iter().map(|(_, last)| *last));
    if let Some(number) = named.chain(edits.keys().copied()).find(|number| *number > count) {
        return Err(Failure::usage(format!("there is no hunk {number}; the change has {count} hunks"), look));
    }
    let kept = |number: u32| match hunks {
        Some(hunks) => hunks.0.iter().any(|(first, last)| (*first..=*last).contains(&number)),
        None => true,
    };
    let meant = |hunk: &Hunk| edits.get(&hunk.number).map(|text| shown::edited(&hunk.text, Shown::text, text));
    let verdict = |hunk: &Hunk| match &meant(hunk) {
        Some(text) if !is_same(hunk, text) => Some(HunkVerdict::Edited(text.clone())),
        Some(_) => Some(HunkVerdict::Keep),
        None => kept(hunk.number).then_some(HunkVerdict::Keep),
    };
    let picks =
        view.hunks.iter().filter_map(|hunk| verdict(hunk).map(|verdict| HunkPick { number: hunk.number, verdict }));
    let part = PartAnswer { hunks: picks.collect(), words: because.to_owned() };
    match part_fault(&**store, &run, gate, &part).map_err(store_failure)? {
        Some(fault) => Err(Failure::usage(format!("can't apply the edited change: {fault}"), look)),
        None => Ok(part),
    }
}

/// Whether the text of a hunk came back as it was shown.
fn is_same(hunk: &Hunk, text: &str) -> bool {
    hunk.text.replace("\r\n", "\n").trim_end_matches('\n') == text.trim_end_matches('\n')
}

/// The texts of edited hunks by number.
fn edited(edits: &[EditArg]) -> Result<BTreeMap<u32, String>, Failure> {
    let mut texts = BTreeMap::new();
    for EditArg { number, file } in edits {
        let name = file.display();
        let text = std::fs::read_to_string(file)
            .map_err(|error| Failure::usage(format!("can't read {name}: {error}"), "name a text file"))?;
        let text = hunk_of(&text).ok_or_else(|| {
            Failure::usage(
                format!("{name} does not contain a hunk"),
                format!("to reject hunk {number}, list the other hunks with --hunks"),
            )
        })?;
        if texts.insert(*number, text).is_some() {
            return Err(Failure::usage(format!("--edit names hunk {number} twice"), "give one file for each hunk"));
        }
    }
    Ok(texts)
}

pub(super) fn deny(setup: &Setup, arguments: &DenyArgs) -> Result<Exit, Failure> {
    let asked = open(setup, arguments.run.as_deref())?;
    let words = arguments.because.as_deref().unwrap_or_default();
    let letters = asked.chosen(&arguments.slugs)?.into_iter().map(|(gate, named)| {
        let by_name = asked.speaks_of(gate, &named);
        let answer = verdict(gate, named, words, Verdict::Deny);
        InboxMessage::Answer { gate: Some(gate.clone()), answer, named: by_name, by: Some(AnsweredBy::Command) }
    });
    leave(setup, &asked.store, &asked.run, letters.collect(), arguments.resume)
}

pub(super) fn cancel(setup: &Setup, arguments: &RunNameArgs) -> Result<Exit, Failure> {
    let (store, run) = running(setup, arguments.run.as_deref())?;
    leave(setup, &store, &run, vec![InboxMessage::Cancel], false)
}

/// A run that a process drives.
pub(super) fn running(setup: &Setup, run: Option<&str>) -> Result<(Arc<dyn Store>, RunSummary), Failure> {
    let store = setup.existing_store()?;
    let run = find_run(&store, run, |run| run.owner.is_some(), "running")?;
    if run.owner.is_none() {
        // A letter would wait, and stop the next resume at once.
        let what = format!("run {} is not running; there is nothing to cancel", run.run);
        let advice = match run.outcome {
            Some(Outcome::ApprovalRequired) => format!("to reject what is pending: callsheet deny {}", run.run),
            _ => String::new(),
        };
        return Err(Failure::usage(what, advice));
    }
    Ok((store, run))
}
