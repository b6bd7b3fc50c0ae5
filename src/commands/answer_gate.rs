//! Answers of somebody who looks at one gate, and not at a command line: the letters are those of `approve`, `deny` and
//! `cancel`.

use std::collections::BTreeMap;

use callsheet_core::record::{AnsweredBy, Gate, Verdict};
use callsheet_core::spec::{RunId, Slug};
use callsheet_runtime::ports::InboxMessage;

use crate::cli::{Failure, HunksArg};
use crate::setup::Setup;

use super::answer::{Asked, asked_about, means, open, part, post, running, verdict};

/// What is said of a gate.
pub(super) enum Said {
    /// These of its tasks, or all if none is named.
    Approve(Vec<String>),
    /// These hunks, some with another text, and why not the others.
    Keep(HunksArg, BTreeMap<u32, String>, String),
    /// Not these of its tasks, or none if none is named; and why.
    Deny(Vec<String>, String),
}

/// Answers the gate of a number. True if a process drives the run and takes the answer by itself.
pub(super) fn answer_gate(setup: &Setup, run: &RunId, number: u32, said: &Said) -> Result<bool, Failure> {
    let asked = open(setup, Some(run.as_str()))?;
    let gate = asked.open.iter().find(|gate| gate.n == number).ok_or_else(|| {
        Failure::usage("this question was answered or withdrawn meanwhile", "look at what is asked now")
    })?;
    let by = Some(AnsweredBy::Page);
    let whole = |answer| InboxMessage::Answer { gate: Some(gate.clone()), answer, named: true, by };
    let letter = match said {
        Said::Keep(hunks, edits, because) => {
            let part = part(setup, &asked, gate, (Some(hunks), edits), because)?;
            InboxMessage::Part { gate: Some(gate.clone()), part, by }
        }
        Said::Approve(tasks) => named_answer(&asked, gate, tasks, "", Verdict::Approve)?
            .unwrap_or_else(|| whole(verdict(gate, Vec::new(), "", Verdict::Approve))),
        Said::Deny(tasks, because) => named_answer(&asked, gate, tasks, because, Verdict::Deny)?
            .unwrap_or_else(|| whole(verdict(gate, Vec::new(), because, Verdict::Deny))),
    };
    post(&asked.store, run, &[letter])?;
    Ok(asked.run.owner.is_some())
}

/// An answer to the named tasks of a gate; `None`: none is named.
fn named_answer(
    asked: &Asked,
    gate: &Gate,
    tasks: &[String],
    words: &str,
    answer: Verdict,
) -> Result<Option<InboxMessage>, Failure> {
    if tasks.is_empty() {
        return Ok(None);
    }
    let named: Vec<Slug> =
        asked_about(gate).filter(|task| tasks.iter().any(|name| means(name, task))).cloned().collect();
    if named.is_empty() {
        return Err(Failure::usage("these tasks are not asked about any more", "look at what is asked now"));
    }
    let by_name = asked.speaks_of(gate, &named);
    let answer = verdict(gate, named, words, answer);
    Ok(Some(InboxMessage::Answer { gate: Some(gate.clone()), answer, named: by_name, by: Some(AnsweredBy::Page) }))
}

/// Asks a living run to stop.
pub(super) fn ask_to_stop(setup: &Setup, run: &RunId) -> Result<(), Failure> {
    let (store, run) = running(setup, Some(run.as_str()))?;
    post(&store, &run.run, &[InboxMessage::Cancel])
}
