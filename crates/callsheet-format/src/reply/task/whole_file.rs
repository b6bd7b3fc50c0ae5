//! Repair `whole-file-implied` (spec 4.4): fences without an address that can only be the whole of a file.

use callsheet_core::fuzzy::normalize;
use callsheet_core::issue::RepairCode;

use crate::edit;
use crate::edit::{ChangeBlock, ChangeKey};
use crate::reading::{Answer, Diagnostics, Lookup, ReadContext};
use crate::sheet::split_mark;

use super::write::{path_lookup, words_of_files};

/// Infers that one text without an address is the whole of a file, in two cases: the task asks for a new file with that
/// name; or the file was shown completely, and the text covers it, because it contains every line in order and more, or
/// begins with the first line and ends with the last one.
pub(super) fn imply(block: &mut ChangeBlock, context: &ReadContext, notes: &mut Diagnostics) {
    let key = |key: &ChangeKey| normalize(&key.label);
    let is_path = |key: &&ChangeKey| edit::is_path_key(&key.label);
    let says_whole = block.keys.iter().any(|one| key(one) == "complete file");
    // `location replace` and `overwrite` do not say which part is meant.
    let no_address = block.keys.iter().all(|one| match key(one).as_str() {
        "location" => normalize(&one.value) == "replace",
        "complete file" => !matches!(normalize(&one.value).as_str(), "false" | "no" | "0"),
        label => label == "overwrite" && one.value.trim() != "false" || edit::is_path_key(label),
    });
    let paths: Vec<&ChangeKey> = block.keys.iter().filter(is_path).collect();
    let ([one], None, true) = (paths.as_slice(), &block.tail, no_address) else { return };
    let [fence] = block.fences.as_slice() else { return };
    if !fence.closed || fence.content.trim().is_empty() {
        return;
    }
    let path = one.value.trim().trim_matches('`').trim().to_owned();
    let name = path.rsplit('/').next().unwrap_or_default();
    let span = one.span;
    let implied: &[&str] = match notes.answer(context, path_lookup(&path)) {
        Some(Answer::Missing(other)) if !says_whole && other.near.is_empty() && is_asked_for(name, context) => {
            &["complete_file"]
        }
        Some(Answer::File(facts))
            if shown(&facts.path, context, notes)
                .is_some_and(|file| !has_shown_heading(&facts.path, &fence.content) && spans(file, &fence.content)) =>
        {
            &["complete_file", "overwrite"]
        }
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

/// The text of a file that was shown completely.
fn shown<'c>(path: &str, context: &'c ReadContext, notes: &mut Diagnostics) -> Option<&'c str> {
    if !context.shown_in_full.contains_key(path) {
        return None;
    }
    match notes.answer(context, Lookup::Content(path.to_owned())) {
        Some(Answer::Content(text)) => Some(split_mark(text).1),
        _ => None,
    }
}

/// Whether a text contains the heading under which a file was shown. Then it copies more than the file.
fn has_shown_heading(path: &str, written: &str) -> bool {
    let heading = |line: &str| {
        line.starts_with('#') && (line.ends_with(&format!(" - {path}")) || line.ends_with(&format!("# {path}")))
    };
    written.lines().map(str::trim_end).any(heading)
}

/// Whether a text covers a file: with as many lines, it begins with the file's first line and ends with its last one;
/// with more lines, it contains all of them in order. Blank lines do not count. A file with one line has no ends to
/// compare.
fn spans(file: &str, written: &str) -> bool {
    let lines = |text| -> Vec<&str> { str::lines(text).map(str::trim_end).filter(|line| !line.is_empty()).collect() };
    let (old, new) = (lines(file), lines(written));
    let same_ends = old.len() > 1 && old.first() == new.first() && old.last() == new.last();
    let mut rest = new.iter();
    let keeps_all = !old.is_empty() && new.len() > old.len() && old.iter().all(|line| rest.any(|other| other == line));
    keeps_all || same_ends && new.len() >= old.len()
}

/// Whether the current task names a file, with or without its folders.
fn is_asked_for(name: &str, context: &ReadContext) -> bool {
    let Some(task) = context.current.as_ref().filter(|_| name.contains('.')) else { return false };
    [&task.need, &task.expected].into_iter().flat_map(|text| words_of_files(text)).any(|word| word == name)
}
