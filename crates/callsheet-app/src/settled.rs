//! Whether an answer took effect, or another one came first.

use std::collections::BTreeSet;
use std::thread::sleep;
use std::time::Duration;

use callsheet_core::events::{Event, GateAnswered, LogEntry};
use callsheet_core::record::Answer;

use crate::command::{Arrival, Order, Receipt, RunCommand};
use crate::control::RunControl;
use crate::refusal::Refusal;

/// How often to look for the effect of an answer, and the pause before the next look.
const LOOKS: u32 = 40;
const PAUSE: Duration = Duration::from_millis(50);

/// Waits until the process that drives the run has recorded an answer that names its gates, for two seconds at most.
/// The order must say which revision the client saw.
///
/// # Errors
/// All the gates were answered by somebody else before.
pub fn settled(runs: &dyn RunControl, order: &Order, receipt: Receipt) -> Result<Receipt, Refusal> {
    let (RunCommand::Approve { gates, .. } | RunCommand::Keep { gates, .. } | RunCommand::Deny { gates, .. }) =
        &order.command
    else {
        return Ok(receipt);
    };
    let Some(seen) = order.revision.filter(|_| receipt.is_sent() && !gates.is_empty()) else { return Ok(receipt) };
    for _ in 0..LOOKS {
        let entries = runs.watch(&receipt.run, seen)?;
        if entries.iter().flat_map(|entry| &entry.orders).any(|id| order.owns(id)) {
            let what = format!("recorded {} in {}", receipt.what, receipt.run);
            return Ok(Receipt { arrival: Arrival::Done, what, ..receipt });
        }
        let answered: Vec<&GateAnswered> = entries.iter().filter_map(|entry| answer_to(entry, gates)).collect();
        let numbers: BTreeSet<u32> = answered.iter().map(|answered| answered.gate.n).collect();
        if gates.iter().all(|gate| numbers.contains(gate)) {
            let others: Vec<String> = answered.into_iter().map(words).collect();
            let what = format!("your answer came too late: {}", others.join("; "));
            return Err(Refusal::usage(what, "look at what is asked now"));
        }
        sleep(PAUSE);
    }
    Ok(receipt)
}

/// The answer that an entry records to one of these gates.
fn answer_to<'a>(entry: &'a LogEntry, gates: &[u32]) -> Option<&'a GateAnswered> {
    match &entry.event {
        Event::GateAnswered(answered) => Some(answered).filter(|answered| gates.contains(&answered.gate.n)),
        _ => None,
    }
}

fn words(answered: &GateAnswered) -> String {
    let verdict = match &answered.answer {
        Answer::Deny { .. } => "denied",
        Answer::Stop => "stopped",
        Answer::All | Answer::Listed | Answer::Part { .. } => "approved",
        Answer::Each { .. } => "answered",
    };
    let by = answered.by.as_ref().map(|by| format!(" {}", by.words())).unwrap_or_default();
    format!("approval {} was {verdict}{by}", answered.gate.n)
}
