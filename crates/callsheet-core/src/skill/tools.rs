//! Names of tools as skills write them.

use crate::spec::ToolEffect;

/// The canonical names that one written name stands for: itself, or the tools of an alias (spec of templates, 14).
/// Names are compared without case.
pub fn canonical_tools(written: &str) -> Vec<String> {
    let folded = written.trim().to_lowercase().replace('-', "_");
    let names: &[&str] = match folded.as_str() {
        "file_access" => &["read_file", "list_files", "write_file"],
        "bash" | "run_script" => &["run_command"],
        "text_editor" => &["read_file", "write_file"],
        "request_user_input" | "requestuserinput" => &["ask_user"],
        _ if known_effect(&folded).is_some() => return vec![folded],
        _ => return vec![written.trim().to_owned()],
    };
    names.iter().map(|name| (*name).to_owned()).collect()
}

/// Whether a bundled tool runs commands.
pub fn executes(tool: &str) -> bool {
    known_effect(tool) == Some(ToolEffect::Execute)
}

/// The effect of a bundled tool (spec 11.1), known even where the tool is switched off.
pub(super) fn known_effect(name: &str) -> Option<ToolEffect> {
    match name {
        "read_file" | "list_files" | "find_files" | "search_text" | "fetch_url" | "ask_user" | "spawn_subtask" => {
            Some(ToolEffect::Read)
        }
        "write_file" => Some(ToolEffect::Write),
        "run_command" => Some(ToolEffect::Execute),
        _ => None,
    }
}
