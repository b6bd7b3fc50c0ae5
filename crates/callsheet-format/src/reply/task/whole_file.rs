//! Repair `whole-file-implied` (spec 4.4): fences without an address that can only be the whole of a file.

use callsheet_core::fuzzy::normalize;
use callsheet_core::issue::RepairCode;
use serde_json::Value;

use crate::edit;
use crate::edit::{ChangeBlock, ChangeKey};
use crate::reading::{Answer, Diagnostics, Lookup, ReadContext};
use crate::sheet::split_mark;

use super::write::{path_lookup, words_of_files};

/// Keys of a whole file that there is.
const OVERWRITE: &[&str] = &["complete_file", "overwrite"];

/// One text and no address is the whole of a file, if the task asks for a new file of that name, or if nothing of a file that
/// was shown is lost in it: all its lines stand there in order and others too, or all its items if it is JSON.
pub(super) fn imply(block: &mut ChangeBlock, context: &ReadContext, notes: &mut Diagnostics) {
    let key = |key: &ChangeKey| normalize(&key.label);
    let is_path = |key: &&ChangeKey| edit::is_path_key(&key.label);
    let says_whole = block.keys.iter().any(|one| key(one) == "complete file");
    // `location replace` and `overwrite` say nothing of which part.
    let no_address = block.keys.iter().all(|one| match key(one).as_str() {
        "location" => normalize(&one.value) == "replace",
        "complete file" => !matches!(normalize(&one.value).as_str(), "false" | "no" | "0"),
        label => label == "overwrite" && one.value.trim() != "false" || edit::is_path_key(label),
    });
    let paths: Vec<&ChangeKey> = block.keys.iter().filter(is_path).collect();
    let ([one], None, true) = (paths.as_slice(), &block.tail, no_address) else { return };
    let path = one.value.trim().trim_matches('`').trim().to_owned();
    let name = path.rsplit('/').next().unwrap_or_default();
    let span = one.span;
    if !block.fences.iter().all(|fence| fence.closed && !fence.content.trim().is_empty()) {
        return;
    }
    let implied: &[&str] = match (notes.answer(context, path_lookup(&path)), block.fences.as_slice()) {
        (Some(Answer::Missing(other)), [_]) if !says_whole && other.near.is_empty() && is_asked_for(name, context) => {
            &["complete_file"]
        }
        (Some(Answer::File(facts)), [fence]) if keeps_all(&facts.path, &fence.content, context, notes) => OVERWRITE,
        _ => return,
    };
    if implied.iter().all(|name| block.keys.iter().any(|one| key(one) == normalize(name))) {
        return;
    }
    notes.repair(RepairCode::WholeFileImplied, block.span, "", format!("- **{}** true", implied.join("**, **")));
    block.keys.retain(|key| edit::is_path_key(&key.label));
    let keys = implied.iter().map(|name| ChangeKey { label: (*name).into(), value: "true".into(), span });
    block.keys.extend(keys);
}

/// The text of a file that was shown in full.
fn shown<'c>(path: &str, context: &'c ReadContext, notes: &mut Diagnostics) -> Option<&'c str> {
    if !context.shown_in_full.contains_key(path) {
        return None;
    }
    match notes.answer(context, Lookup::Content(path.to_owned())) {
        Some(Answer::Content(text)) => Some(split_mark(text).1),
        _ => None,
    }
}

/// Whether a text has the heading under which a file was shown: then it is a copy of more than the file.
fn has_shown_heading(path: &str, written: &str) -> bool {
    let heading = |line: &str| {
        line.starts_with('#') && (line.ends_with(&format!(" - {path}")) || line.ends_with(&format!("# {path}")))
    };
    written.lines().map(str::trim_end).any(heading)
}

/// Whether a text keeps a file that was shown in full, and has more: nothing of it is lost. The file itself is no change.
fn keeps_all(path: &str, written: &str, context: &ReadContext, notes: &mut Diagnostics) -> bool {
    let Some(old) = shown(path, context, notes).filter(|_| !has_shown_heading(path, written)) else { return false };
    keeps_lines(old, written) || path.ends_with(".json") && keeps_items(old, written)
}

/// Whether a text holds every line of a file, in order, and others.
fn keeps_lines(file: &str, written: &str) -> bool {
    let mut new = written.lines().map(str::trim_end);
    let adds = written.lines().count() > file.lines().count();
    adds && !file.trim().is_empty() && file.lines().map(str::trim_end).all(|line| new.any(|other| other == line))
}

/// Whether both texts are lists or objects of JSON, however their lines are set, and the new one has all items or members of the
/// old one as they were, in order, and more.
fn keeps_items(file: &str, written: &str) -> bool {
    match (serde_json::from_str(file), serde_json::from_str(written)) {
        (Ok(Value::Array(old)), Ok(Value::Array(new))) => {
            let mut others = new.iter();
            !old.is_empty() && new.len() > old.len() && old.iter().all(|item| others.any(|other| other == item))
        }
        (Ok(Value::Object(old)), Ok(Value::Object(new))) => {
            !old.is_empty() && new.len() > old.len() && old.iter().all(|(key, value)| new.get(key) == Some(value))
        }
        _ => false,
    }
}

/// Whether the current task names a file, with or without its folders.
fn is_asked_for(name: &str, context: &ReadContext) -> bool {
    let Some(task) = context.current.as_ref().filter(|_| name.contains('.')) else { return false };
    [&task.need, &task.expected].into_iter().flat_map(|text| words_of_files(text)).any(|word| word == name)
}
