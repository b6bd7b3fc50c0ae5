//! The normaliser of keys: camelCase spellings of known names become snake_case (spec 6).

use serde_json::{Map, Value};

/// All names of spec 6 that contain an underscore.
const NAMES: &[&str] = &[
    "accumulate_data",
    "accumulation_format",
    "actual_type",
    "add_files",
    "context_files_count",
    "context_management",
    "context_metrics",
    "context_source",
    "current_accumulator",
    "data_sources",
    "data_usage",
    "end_column",
    "end_line",
    "evaluation_request",
    "exit_code",
    "expected_output",
    "expected_type",
    "failed_indexes",
    "failed_input_index",
    "failed_part",
    "failed_step",
    "file_paths",
    "final_evaluation",
    "fresh_context",
    "inherit_context",
    "input_index",
    "invalid_model",
    "item_index",
    "iteration_history",
    "iterations_completed",
    "last_turn_at",
    "limit_ms",
    "max_depth",
    "nesting_depth",
    "next_input",
    "original_output",
    "parse_error",
    "parsed_content",
    "partial_context",
    "partial_output",
    "partial_results",
    "peak_usage",
    "processed_inputs",
    "recovery_attempts",
    "script_exit_code",
    "script_output",
    "script_stderr",
    "script_stdout",
    "step_index",
    "step_results",
    "subtask_error",
    "subtask_request",
    "subtask_requests",
    "success_score",
    "template_hints",
    "template_used",
    "termination_reason",
    "timed_out",
    "total_inputs",
    "total_items",
    "total_steps",
];

/// Fields whose values are data of a user or a model.
const OPAQUE: &[&str] =
    &["parsed_content", "criteria", "inputs", "processed_inputs", "current_accumulator", "partial_context", "model"];

/// The value with canonical keys, and the names that occur in both spellings with different values. The snake_case
/// value is kept. Data inside a value is not changed.
pub fn snake_keys(value: Value) -> (Value, Vec<String>) {
    let mut conflicts = Vec::new();
    (normal(value, &mut conflicts), conflicts)
}

/// The JSON reader limits the depth.
fn normal(value: Value, conflicts: &mut Vec<String>) -> Value {
    match value {
        Value::Array(list) => Value::Array(list.into_iter().map(|value| normal(value, conflicts)).collect()),
        Value::Object(map) => Value::Object(normal_map(map, conflicts)),
        other => other,
    }
}

fn normal_map(map: Map<String, Value>, conflicts: &mut Vec<String>) -> Map<String, Value> {
    let mut out = Map::new();
    let mut aliases = Vec::new();
    for (key, value) in map {
        let canonical = canonical(&key);
        let opaque = OPAQUE.contains(&canonical.unwrap_or(&key));
        let value = if opaque { value } else { normal(value, conflicts) };
        match canonical {
            Some(name) if name != key => aliases.push((name, value)),
            _ => drop(out.insert(key, value)),
        }
    }
    for (name, value) in aliases {
        match out.get(name) {
            None => drop(out.insert(name.to_owned(), value)),
            Some(own) if *own != value => conflicts.push(name.to_owned()),
            Some(_) => {}
        }
    }
    out
}

/// The known name for another spelling of `key`.
fn canonical(key: &str) -> Option<&'static str> {
    if !key.contains(|c: char| c.is_ascii_uppercase()) {
        return None;
    }
    NAMES.iter().copied().find(|name| {
        let mut letters = key.chars();
        let mut upper = false;
        for expected in name.chars() {
            if expected == '_' {
                upper = true;
                continue;
            }
            let wanted = if upper { expected.to_ascii_uppercase() } else { expected };
            upper = false;
            if letters.next() != Some(wanted) {
                return false;
            }
        }
        letters.next().is_none()
    })
}
