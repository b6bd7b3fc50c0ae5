//! The evaluation that a director requests (spec 8): a request for a subtask with the subtype `evaluator`, matched by
//! its criteria, whose result becomes an EvaluationResult.

use serde_json::{Map, Value};

use crate::prompt::Note;
use crate::template::{
    InheritContext, PartialContext, SubtaskRequest, SubtaskType, TaskResult, Template, ValueType, judged, type_word,
};

use super::request::{EVALUATION_REQUEST, ReadRequest, missing, wrong};

const SUBTYPE: &str = "evaluator";

/// The request of a call that asks for an evaluation. `None` if it asks for another subtask.
pub(super) fn read_evaluation(arguments: &Value, by_director: bool) -> Option<ReadRequest> {
    let wanted = arguments.get(EVALUATION_REQUEST)?;
    let mut faults = Vec::new();
    if !by_director {
        faults.push(Note::EvaluationOutside.text().to_owned());
    }
    let field = |name: &str| wanted.get(name).filter(|value| !value.is_null());
    let criteria = match field("criteria") {
        Some(Value::String(text)) if !text.trim().is_empty() => text.clone(),
        Some(list @ Value::Array(items)) if !items.is_empty() && ValueType::StringArray.holds(list) => {
            items.iter().filter_map(Value::as_str).map(|item| format!("- {item}")).collect::<Vec<_>>().join("\n")
        }
        None | Some(Value::String(_) | Value::Array(_)) => {
            faults.push(missing(&format!("{EVALUATION_REQUEST}.criteria")));
            String::new()
        }
        Some(other) => {
            let expected = ValueType::StringArray.as_str();
            faults.push(wrong(&format!("{EVALUATION_REQUEST}.criteria"), type_word(other), expected));
            String::new()
        }
    };
    if !faults.is_empty() {
        return Some(ReadRequest { faults, ..ReadRequest::default() });
    }
    let mut inputs = Map::new();
    for name in ["type", "target"] {
        inputs.extend(field(name).map(|value| (name.to_owned(), value.clone())));
    }
    inputs.insert("criteria".to_owned(), Value::from(criteria.as_str()));
    let request = SubtaskRequest {
        kind: SubtaskType::ATOMIC,
        description: criteria,
        inputs,
        template_hints: Vec::new(),
        name: None,
        subtype: Some(SUBTYPE.to_owned()),
        context_management: Some(PartialContext {
            inherit_context: Some(InheritContext::Subset),
            fresh_context: Some(false),
            ..PartialContext::default()
        }),
        max_depth: None,
        file_paths: None,
        expected_output: None,
        other: Map::new(),
    };
    Some(ReadRequest { readable: Some(request.clone()), request: Some(request), faults })
}

/// Limits the inputs to the parameters of a function template.
pub(super) fn fit(inputs: &mut Map<String, Value>, template: &Template) {
    if let Some(params) = &template.params {
        inputs.retain(|name, _| params.iter().any(|param| param.name == *name));
    }
}

/// The result as an EvaluationResult: its notes contain success and feedback (spec 6).
pub(super) fn into_evaluation(result: &mut TaskResult) {
    let (success, _, warning) = judged(result);
    let feedback = crate::template::operators::advice(result).0;
    result.notes.other.insert("success".to_owned(), Value::Bool(success));
    result.notes.other.insert("feedback".to_owned(), Value::from(feedback));
    if let Some(warning) = warning {
        result.notes.warn("evaluation", warning);
    }
}
