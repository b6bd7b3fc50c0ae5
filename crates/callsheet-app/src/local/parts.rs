//! Approves changes hunk by hunk (spec 11.4).

use std::collections::BTreeMap;

use callsheet_core::record::{Answer, AnsweredBy, Gate};
use callsheet_format::edit::{Hunk, HunkPick, HunkVerdict};
use callsheet_runtime::effects::{gate_view, part_fault};
use callsheet_runtime::ports::{InboxMessage, PartAnswer};
use callsheet_runtime::shown::{Shown, edited};

use super::LocalRuns;
use super::gates::Asked;
use crate::command::HunkRanges;
use crate::refusal::{Refusal, inspect};

/// The hunks to keep, their edited texts, and the reason for rejecting the others.
type Kept<'a> = (Option<&'a HunkRanges>, &'a BTreeMap<u32, String>, &'a str);

/// The answer that keeps these hunks. Refuses if the change does not have them, or cannot be applied with them alone.
/// The run checks this again.
pub(super) fn message(
    runs: &LocalRuns,
    asked: &Asked,
    gate: &Gate,
    (hunks, edits, because): Kept<'_>,
    by: &AnsweredBy,
) -> Result<InboxMessage, Refusal> {
    let (store, id) = (&asked.store, &asked.found.run);
    let look = inspect(id);
    let view = gate_view(&**store, runs.host.project(), &asked.run, gate)?;
    let count = view.hunks.iter().map(|hunk| hunk.number).max().unwrap_or(0);
    if count == 0 {
        return Err(Refusal::usage(format!("run {id} has no pending change with hunks"), look));
    }
    let named = hunks.iter().flat_map(|hunks| hunks.iter().map(|(_, last)| *last));
    if let Some(number) = named.chain(edits.keys().copied()).find(|number| *number > count) {
        return Err(Refusal::usage(format!("there is no hunk {number}; the change has {count} hunks"), look));
    }
    let kept =
        |number: u32| hunks.is_none_or(|hunks| hunks.iter().any(|(first, last)| (*first..=*last).contains(&number)));
    let meant = |hunk: &Hunk| edits.get(&hunk.number).map(|text| edited(&hunk.text, Shown::text, text));
    let verdict = |hunk: &Hunk| match meant(hunk) {
        Some(text) if !is_same(hunk, &text) => Some(HunkVerdict::Edited(text)),
        Some(_) => Some(HunkVerdict::Keep),
        None => kept(hunk.number).then_some(HunkVerdict::Keep),
    };
    let picks: Vec<HunkPick> = view
        .hunks
        .iter()
        .filter_map(|hunk| verdict(hunk).map(|verdict| HunkPick { number: hunk.number, verdict }))
        .collect();
    let whole = |answer| InboxMessage::Answer { gate: Some(gate.clone()), answer, named: true, by: Some(by.clone()) };
    if picks.is_empty() {
        return Ok(whole(Answer::Deny { words: because.to_owned() }));
    }
    if picks.len() == view.hunks.len() && picks.iter().all(|pick| pick.verdict == HunkVerdict::Keep) {
        return Ok(whole(Answer::Listed));
    }
    let part = PartAnswer { hunks: picks, words: because.to_owned() };
    match part_fault(&**store, &asked.run, gate, &part)? {
        Some(fault) => Err(Refusal::usage(format!("can't apply the edited change: {fault}"), look)),
        None => Ok(InboxMessage::Part { gate: Some(gate.clone()), part, by: Some(by.clone()) }),
    }
}

/// Whether the text of a hunk came back unedited.
fn is_same(hunk: &Hunk, text: &str) -> bool {
    hunk.text.replace("\r\n", "\n").trim_end_matches('\n') == text.trim_end_matches('\n')
}
