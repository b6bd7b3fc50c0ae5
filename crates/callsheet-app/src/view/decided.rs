//! The decisions of persons about changes.

use callsheet_core::events::{self, Event, LogEntry};
use callsheet_core::nouns::{BlobId, ExecutionId, Slug};
use callsheet_core::record::{Answer, AnsweredBy, Gate, GateKind};
use callsheet_core::run::Run;

/// An answer to a gate before a change.
pub struct Decided {
    /// The task of the change, its execution, and the number of the change.
    pub set: (Slug, ExecutionId, u32),
    /// The number of the gate.
    pub gate: u32,
    /// The answer.
    pub answer: Answer,
    /// Where it was given, if that is recorded.
    pub by: Option<AnsweredBy>,
    /// The diff as it was shown.
    pub shown: Option<BlobId>,
}

/// All answers to gates before changes, in order.
pub fn decisions(entries: &[LogEntry]) -> Vec<Decided> {
    let is_asked = |entry: &LogEntry| {
        matches!(
            &entry.event,
            Event::GateAnswered(events::GateAnswered { gate: Gate { kind: GateKind::BeforeApply { .. }, .. }, .. })
        )
    };
    let Some(last) = entries.iter().rposition(is_asked) else { return Vec::new() };
    let mut run = Run::new();
    let mut decided = Vec::new();
    for entry in entries.iter().take(last + 1) {
        if let Event::GateAnswered(events::GateAnswered {
            gate: Gate { n, kind: GateKind::BeforeApply { task, run: exec, set } },
            answer,
            by,
        }) = &entry.event
        {
            let shown = run.pending_changes(task, exec, *set).and_then(|changes| changes.diff.clone());
            let set = (task.clone(), exec.clone(), *set);
            decided.push(Decided { set, gate: *n, answer: answer.clone(), by: by.clone(), shown });
        }
        if run.apply(entry).is_err() {
            break;
        }
    }
    decided
}
