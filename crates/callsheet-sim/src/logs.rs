//! Promises about a log as a whole.

use callsheet_core::events::{self, Event, LogEntry};
use callsheet_core::record::EffectKey;
use callsheet_core::run::Run;

use crate::checkers::Kept;

/// More facts than any run of this world needs.
const MOST_FACTS: usize = 4_000;

/// Folding the log gives the same run: state, list and all that can be read off it.
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

/// The run that a process folded from the log is the one that the process before had.
///
/// # Errors
/// It is another one.
pub fn a_resume_loses_nothing(before: &Run, after: &Run) -> Kept {
    if after.outstanding() != before.outstanding() {
        return Err("replay equals live: another list is outstanding".to_owned());
    }
    if after == before { Ok(()) } else { Err("replay equals live: the states differ".to_owned()) }
}

/// A fact makes the machine look at the tasks it concerns; looking at all of them finds nothing more. What was overlooked is
/// seen after the next fact as well, and looking costs a third of the time: every second fact is enough.
///
/// # Errors
/// It would have.
pub fn nothing_is_overlooked(run: &Run) -> Kept {
    if run.last_fact() % 2 == 1 || run.is_settled() {
        Ok(())
    } else {
        Err("nothing outstanding is forgotten: a task was overlooked".to_owned())
    }
}

/// A refused fact leaves no trace.
///
/// # Errors
/// It did.
pub fn a_refusal_changes_nothing(before: Option<&Run>, after: &Run) -> Kept {
    match before {
        Some(before) if before != after => Err("a refusal changes nothing: it did".to_owned()),
        _ => Ok(()),
    }
}

/// A run needs a bounded number of facts.
///
/// # Errors
/// This one goes on and on.
pub fn every_run_terminates(log: &[LogEntry]) -> Kept {
    if log.len() > MOST_FACTS { Err("every run terminates: this one goes on".to_owned()) } else { Ok(()) }
}

/// Nothing outside the process happens before its start is on disk. `unwritten`: facts that are not.
///
/// # Errors
/// It does.
pub fn nothing_happens_before_it_is_written(unwritten: &[LogEntry], key: &EffectKey) -> Kept {
    let starts =
        |fact: &LogEntry| matches!(&fact.event, Event::Started(events::Started { effect, .. }) if effect == key);
    match unwritten.iter().any(starts) {
        true => Err(format!("nothing happens before it is written: {key:?} does")),
        false => Ok(()),
    }
}
