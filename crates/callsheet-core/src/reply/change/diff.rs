//! Unified diffs of a change set: what a person approves and what is stored as `changes/<slug>.diff` (spec 3.10, 11.4).

use similar::TextDiff;

use super::FileEdit;

/// Lines of context around a hunk.
const CONTEXT: usize = 3;

/// The unified diff of one file in the form `patch -p1` reads; `None` stands for a file that is not there. Empty if
/// nothing changes.
pub fn unified(path: &str, before: Option<&str>, after: Option<&str>) -> String {
    if before == after {
        return String::new();
    }
    let old_name = before.map_or_else(|| "/dev/null".to_owned(), |_| format!("a/{path}"));
    let new_name = after.map_or_else(|| "/dev/null".to_owned(), |_| format!("b/{path}"));
    let diff = TextDiff::from_lines(before.unwrap_or(""), after.unwrap_or(""));
    let body = diff.unified_diff().context_radius(CONTEXT).header(&old_name, &new_name).to_string();
    if body.is_empty() { format!("--- {old_name}\n+++ {new_name}\n") } else { body }
}

/// The diff of a whole set, files in the order given.
pub fn diff_of(edits: &[FileEdit]) -> String {
    edits.iter().map(|edit| unified(&edit.path, edit.before.as_deref(), edit.after.as_deref())).collect()
}
