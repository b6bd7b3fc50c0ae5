//! What a player tells of prompts, gates and results.

use std::fmt::Write as _;

use callsheet_core::nouns::Slug;
use serde_json::{Value, json};

use super::Player;

impl Player {
    /// What the handler is told, in one line.
    pub(super) fn prompt_line(&self, task: &Slug) -> String {
        let op = self.run.operators().get(task).expect("a leaf");
        let told = self.told(task);
        let mut line = format!("→ ask {task}: {}", told["description"].as_str().unwrap());
        if told["instructions"] != told["description"] {
            let _ = write!(line, " | {}", told["instructions"].as_str().unwrap());
        }
        for entry in told["earlier"].as_array().unwrap() {
            let content = entry.get("content").and_then(Value::as_str).unwrap_or("-");
            let _ = write!(
                line,
                " | earlier {} {}: {content}",
                entry["id"].as_str().unwrap(),
                entry["status"].as_str().unwrap()
            );
        }
        for item in told["inherited"].as_array().unwrap() {
            let _ = write!(line, " | inherited {item}");
        }
        for pair in told["inputs"].as_array().unwrap() {
            let _ = write!(line, " | input {}={}", pair[0].as_str().unwrap(), pair[1].as_str().unwrap());
        }
        if told["files"]["paths"] != json!([]) {
            let _ = write!(line, " | files {}", told["files"]["paths"]);
        }
        for (name, word) in [("printed", "printed"), ("described", "described"), ("related", "fresh")] {
            if let Some(found) = told["files"].get(name) {
                let _ = write!(line, " | {word} {found}");
            }
        }
        if let Some(issues) = &op.issues {
            let _ = write!(line, " | issues {}", String::from_utf8_lossy(&self.blobs[issues]));
        }
        for answer in self.answers(task) {
            let _ = write!(line, " | {answer}");
        }
        line.replace('\n', "⏎")
    }

    pub(super) fn told(&self, task: &Slug) -> Value {
        let op = self.run.operators().get(task).expect("a leaf");
        let Some(callsheet_core::record::Plan::Handler(plan)) = op.opened.as_ref().map(|opened| &opened.plan) else {
            panic!("a handler");
        };
        serde_json::from_slice(&self.blobs[&plan.task]).unwrap()
    }
}

pub(super) fn gate_words(kind: &callsheet_core::record::GateKind) -> String {
    use callsheet_core::record::GateKind;
    match kind {
        GateKind::BeforeRun(tasks) => {
            format!("before {}", tasks.iter().map(Slug::as_str).collect::<Vec<_>>().join(", "))
        }
        GateKind::BeforeApply { task, .. } => format!("changes of {task}"),
        GateKind::BeforeCall { task, call, .. } => format!("call {call} of {task}"),
    }
}

pub(super) fn without_metrics(value: &mut Value) {
    match value {
        Value::Object(map) => {
            map.remove("metrics");
            map.values_mut().for_each(without_metrics);
        }
        Value::Array(list) => list.iter_mut().for_each(without_metrics),
        _ => {}
    }
}

/// Leaves out what says nothing.
pub(super) fn trim(value: &mut Value) {
    if let Value::Object(map) = value {
        map.values_mut().for_each(trim);
        map.retain(|key, value| {
            !(value.is_null()
                || *value == json!([])
                || *value == json!({})
                || *value == json!("")
                || matches!(key.as_str(), "data_sources" | "context_files_count" | "recovery" | "location")
                || (key == "data_usage" && *value == json!("none"))
                || (key == "context_source" && *value == json!("none")))
        });
    } else if let Value::Array(list) = value {
        list.iter_mut().for_each(trim);
    }
}
