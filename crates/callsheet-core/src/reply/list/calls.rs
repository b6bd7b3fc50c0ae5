//! Tool calls that a plan carries (spec 3.4 `call-dropped`): the fences behind a task's list.

use serde_json::Value;

use crate::reply::markdown::Document;
use crate::reply::{IssueCode, Notes, ReadContext};
use crate::spec::{Task, ToolCall};

/// The valid calls of a task. A bad call is a warning: it is asked for again at refinement, so all are dropped.
pub fn read(
    fences: &[usize],
    document: &Document,
    task: &Task,
    context: &ReadContext,
    notes: &mut Notes,
) -> Vec<ToolCall> {
    let mut calls: Vec<ToolCall> = Vec::new();
    let mut bad = false;
    for fence in fences.iter().filter_map(|index| document.fences.get(*index)) {
        match call(&fence.content, task, context, calls.len()) {
            Ok(call) => calls.push(call),
            Err(reason) => {
                bad = true;
                let issue = notes.issue(IssueCode::CallDropped, "", fence.span, &[("reason", &reason)]);
                notes.push(issue.warning().raw(&fence.content));
            }
        }
    }
    if bad { Vec::new() } else { calls }
}

fn call(text: &str, task: &Task, context: &ReadContext, before: usize) -> Result<ToolCall, String> {
    let value: Value = serde_json::from_str(text).map_err(|error| error.to_string())?;
    let name = value.get("name").and_then(Value::as_str).unwrap_or_default().to_owned();
    let skill = context.catalog.iter().find(|skill| Some(&skill.name) == task.skill.as_ref());
    let allowed = skill.is_some_and(|skill| skill.policy.tools.contains(&name));
    let tool = context.tools.iter().find(|tool| tool.name == name && allowed);
    let Some(tool) = tool else { return Err(name) };
    let arguments = value.get("arguments").cloned().unwrap_or_else(|| Value::Object(serde_json::Map::new()));
    let schema = jsonschema::validator_for(&tool.parameters).map_err(|error| error.to_string())?;
    schema.validate(&arguments).map_err(|error| error.to_string())?;
    let id = value.get("id").and_then(Value::as_str).map_or_else(|| format!("{name}-{}", before + 1), str::to_owned);
    Ok(ToolCall { name, id, arguments })
}
