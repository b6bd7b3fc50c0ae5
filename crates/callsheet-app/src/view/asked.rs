//! What a gate asks about, as a hash that is the same on every machine.

use callsheet_core::nouns::BlobId;
use callsheet_core::record::GateKind;
use callsheet_runtime::ports::GateView;
use serde_json::json;

use super::RunView;

impl RunView {
    /// The hash of what a gate asks about: its run, its number, and the change, the call or the tasks as they are
    /// recorded. An approval that names this hash counts for nothing else.
    pub fn asked(&self, view: &GateView) -> BlobId {
        let change = match &view.gate.kind {
            GateKind::BeforeApply { task, run, set } => self.run.pending_changes(task, run, *set),
            GateKind::BeforeRun(_) | GateKind::BeforeCall { .. } => None,
        };
        let tasks: Vec<_> = view.writers.iter().map(|writer| &writer.task).collect();
        let asked = json!({
            "run": self.run.id(), "gate": view.gate, "tasks": tasks, "change": change, "call": view.call,
        });
        BlobId::of(asked.to_string().as_bytes())
    }
}
