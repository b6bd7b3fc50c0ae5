//! Tools that a vendor's models were trained on, as other forms of the canonical ones (spec "Templates" 14). An
//! incoming native call becomes a canonical call, so both share one implementation, one confinement and one approval.
//! Outgoing calls are converted back. Pure.

use std::borrow::Cow;

use callsheet_core::nouns::ToolCall;
use callsheet_runtime::ports::{Message, ModelRequest, NativeNotation, NativeTool};
use serde_json::{Map, Value, json};

/// The canonical call for a native one. If it has no such meaning, the call itself.
pub(crate) fn canonical(name: &str, arguments: &Value, native: &[NativeTool]) -> (String, Value) {
    let meant = native.iter().find(|tool| tool.name == name).and_then(|tool| match tool.notation {
        NativeNotation::TextEditor => of_editor(arguments, &tool.executes),
        NativeNotation::Bash => of_bash(arguments, &tool.executes),
    });
    meant.unwrap_or_else(|| (name.to_owned(), arguments.clone()))
}

/// The first tool reads, the last one writes.
fn of_editor(arguments: &Value, executes: &[String]) -> Option<(String, Value)> {
    let (reads, writes) = (executes.first()?.clone(), executes.last()?.clone());
    let text = |key: &str| arguments.get(key).and_then(Value::as_str);
    let path = text("path")?;
    Some(match text("command")? {
        "view" => {
            let mut read = Map::from_iter([("path".to_owned(), json!(path))]);
            let range = arguments.get("view_range").and_then(Value::as_array);
            if let Some([first, last]) = range.map(Vec::as_slice) {
                read.insert("start_line".to_owned(), first.clone());
                // -1 means the end of the file.
                if last.as_i64().is_some_and(|last| last > 0) {
                    read.insert("end_line".to_owned(), last.clone());
                }
            }
            (reads, Value::Object(read))
        }
        "create" => {
            let content = text("file_text").unwrap_or_default();
            (writes, json!({"path": path, "content": content, "overwrite": true}))
        }
        "str_replace" => {
            let (old, new) = (text("old_str")?, text("new_str").unwrap_or_default());
            (writes, json!({"path": path, "old_text": old, "new_text": new}))
        }
        "insert" => {
            let after = arguments.get("insert_line").and_then(Value::as_u64)?;
            let new = text("insert_text").or_else(|| text("new_str"))?;
            // A range that ends before it starts replaces nothing.
            let first = after.saturating_add(1);
            (writes, json!({"path": path, "start_line": first, "end_line": after, "new_text": new}))
        }
        _ => return None,
    })
}

fn of_bash(arguments: &Value, executes: &[String]) -> Option<(String, Value)> {
    let command = arguments.get("command").and_then(Value::as_str)?;
    Some((executes.first()?.clone(), json!({"shell": true, "command": command})))
}

/// The request with earlier calls in the form in which the model made them.
pub(crate) fn encode(request: &ModelRequest) -> Cow<'_, ModelRequest> {
    if request.native_tools.is_empty() {
        return Cow::Borrowed(request);
    }
    let mut written = request.clone();
    for message in &mut written.messages {
        if let Message::Assistant { calls, .. } = message {
            calls.iter_mut().for_each(|call| *call = native_call(call, &request.native_tools));
        }
    }
    Cow::Owned(written)
}

/// A canonical call in the form in which the model made it.
fn native_call(call: &ToolCall, native: &[NativeTool]) -> ToolCall {
    let tool = native.iter().find(|tool| tool.executes.contains(&call.name));
    let written = tool.and_then(|tool| {
        let arguments = match tool.notation {
            NativeNotation::TextEditor => to_editor(call, &tool.executes),
            NativeNotation::Bash => to_bash(call),
        };
        Some(ToolCall { name: tool.name.clone(), id: call.id.clone(), arguments: arguments? })
    });
    written.unwrap_or_else(|| call.clone())
}

fn to_editor(call: &ToolCall, executes: &[String]) -> Option<Value> {
    let given = &call.arguments;
    let path = given.get("path")?;
    if executes.first() == Some(&call.name) {
        let mut view = json!({"command": "view", "path": path});
        if let (Some(first), Some(members)) = (given.get("start_line"), view.as_object_mut()) {
            let last = given.get("end_line").cloned().unwrap_or_else(|| json!(-1));
            members.insert("view_range".to_owned(), json!([first, last]));
        }
        return Some(view);
    }
    if let Some(content) = given.get("content") {
        return Some(json!({"command": "create", "path": path, "file_text": content}));
    }
    let new = given.get("new_text")?;
    if let Some(old) = given.get("old_text") {
        return Some(json!({"command": "str_replace", "path": path, "old_str": old, "new_str": new}));
    }
    let (first, last) = (given.get("start_line")?.as_u64()?, given.get("end_line")?.as_u64()?);
    (first == last.saturating_add(1))
        .then(|| json!({"command": "insert", "path": path, "insert_line": last, "insert_text": new}))
}

fn to_bash(call: &ToolCall) -> Option<Value> {
    call.arguments.get("command").map(|command| json!({"command": command}))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tools() -> Vec<NativeTool> {
        crate::config::vendors().iter().find(|row| row.name == "anthropic").unwrap().native_tools.clone()
    }

    /// covers: templates 14, C45
    #[test]
    fn every_native_call_is_a_canonical_one_and_back() {
        let editor = "str_replace_based_edit_tool";
        let pairs = [
            (editor, json!({"command": "view", "path": "a"}), "read_file", json!({"path": "a"})),
            (
                editor,
                json!({"command": "view", "path": "a", "view_range": [2, 5]}),
                "read_file",
                json!({"path": "a", "start_line": 2, "end_line": 5}),
            ),
            (
                editor,
                json!({"command": "view", "path": "a", "view_range": [2, -1]}),
                "read_file",
                json!({"path": "a", "start_line": 2}),
            ),
            (
                editor,
                json!({"command": "create", "path": "a", "file_text": "x\n"}),
                "write_file",
                json!({"path": "a", "content": "x\n", "overwrite": true}),
            ),
            (
                editor,
                json!({"command": "str_replace", "path": "a", "old_str": "x", "new_str": ""}),
                "write_file",
                json!({"path": "a", "old_text": "x", "new_text": ""}),
            ),
            (
                editor,
                json!({"command": "insert", "path": "a", "insert_line": 0, "insert_text": "x"}),
                "write_file",
                json!({"path": "a", "start_line": 1, "end_line": 0, "new_text": "x"}),
            ),
            ("bash", json!({"command": "ls"}), "run_command", json!({"shell": true, "command": "ls"})),
        ];
        let tools = tools();
        for (name, arguments, wanted, given) in pairs {
            let (found, meant) = canonical(name, &arguments, &tools);
            assert_eq!((found.as_str(), &meant), (wanted, &given), "{arguments}");
            let call = ToolCall { name: found, id: "1".to_owned(), arguments: meant };
            let back = native_call(&call, &tools);
            assert_eq!((back.name.as_str(), back.arguments), (name, arguments));
        }
    }

    /// A call without a meaning is passed on unchanged, and refused in words for the model.
    /// covers: templates 14
    #[test]
    fn what_is_no_native_call_stays_as_it_is() {
        let tools = tools();
        for arguments in
            [json!({"restart": true}), json!(null), json!("ls"), json!({"command": "undo_edit", "path": "a"})]
        {
            for name in ["bash", "str_replace_based_edit_tool", "other"] {
                let (found, kept) = canonical(name, &arguments, &tools);
                if found != "run_command" {
                    assert_eq!((found.as_str(), &kept), (name, &arguments));
                }
            }
        }
        let argv = ToolCall { name: "run_command".to_owned(), id: String::new(), arguments: json!({"argv": ["ls"]}) };
        assert_eq!(native_call(&argv, &tools), argv);
    }
}
