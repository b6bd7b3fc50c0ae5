//! Promises about a whole log.

use callsheet_core::events::{self, Event, LogEntry};
use callsheet_core::record::EffectKey;
use callsheet_core::run::Run;

use crate::checkers::Kept;

/// More events than any run of this world needs.
const MOST_FACTS: usize = 4_000;

/// Folding the log gives the same run: its state, its list and everything that can be read from it.
///
/// # Errors
/// It does not.
pub fn replay_equals_live(log: &[LogEntry], live: &Run) -> Kept {
    let mut replayed = Run::new();
    for fact in log {
        replayed.apply(fact).map_err(|reject| format!("replay equals live: fact {} is refused: {reject}", fact.n))?;
    }
    if let Some(refused) = replayed.refused_moves().first() {
        return Err(format!("no move is refused: {refused}"));
    }
    a_resume_loses_nothing(live, &replayed)
}

/// The run that a process folded from the log equals the run of the process before.
///
/// # Errors
/// They differ.
pub fn a_resume_loses_nothing(before: &Run, after: &Run) -> Kept {
    if after.outstanding() != before.outstanding() {
        return Err("replay equals live: another list is outstanding".to_owned());
    }
    if after == before { Ok(()) } else { Err("replay equals live: the states differ".to_owned()) }
}

/// An event makes the machine examine the tasks that it concerns. Examining all tasks finds nothing more. An
/// overlooked task is still found after the next event, and this check takes a third of the time, so every second
/// event is checked.
///
/// # Errors
/// A task was overlooked.
pub fn nothing_is_overlooked(run: &Run) -> Kept {
    if run.last_fact() % 2 == 1 || run.is_settled() {
        Ok(())
    } else {
        Err("nothing outstanding is forgotten: a task was overlooked".to_owned())
    }
}

/// A rejected event changes nothing.
///
/// # Errors
/// It changed the run.
pub fn a_refusal_changes_nothing(before: Option<&Run>, after: &Run) -> Kept {
    match before {
        Some(before) if before != after => Err("a refusal changes nothing: it did".to_owned()),
        _ => Ok(()),
    }
}

/// A run needs a bounded number of events.
///
/// # Errors
/// This one does not end.
pub fn every_run_terminates(log: &[LogEntry]) -> Kept {
    if log.len() > MOST_FACTS { Err("every run terminates: this one goes on".to_owned()) } else { Ok(()) }
}

/// Nothing happens outside the process before its start is on disk. `unwritten` contains the events that are not on
/// disk.
///
/// # Errors
/// Something does.
pub fn nothing_happens_before_it_is_written(unwritten: &[LogEntry], key: &EffectKey) -> Kept {
    let starts =
        |fact: &LogEntry| matches!(&fact.event, Event::Started(events::Started { effect, .. }) if effect == key);
    match unwritten.iter().any(starts) {
        true => Err(format!("nothing happens before it is written: {key:?} does")),
        false => Ok(()),
    }
}
