//! Words of the form above both texts of a change (repair `change-key`, spec 4.4).

use callsheet_core::fuzzy::normalize;
use callsheet_core::issue::RepairCode;

use crate::edit;
use crate::edit::ChangeBlock;
use crate::reading::{Answer, Diagnostics, Lookup, ReadContext};
use crate::sheet::split_mark;

use super::write::path_lookup;

/// Removes `old text:` and `new text:` if both fences begin with these words and the file contains the old text without
/// them.
pub(super) fn remove(block: &mut ChangeBlock, context: &ReadContext, notes: &mut Diagnostics) {
    let [old, new] = block.fences.as_slice() else { return };
    let (Some(before), Some(after)) = (below(&old.content, "old text"), below(&new.content, "new text")) else {
        return;
    };
    let mut paths = block.keys.iter().filter(|key| edit::is_path_key(&key.label));
    let (Some(path), None) = (paths.next(), paths.next()) else { return };
    let written = path.value.trim().trim_matches('`').trim();
    let Some(Answer::File(facts)) = notes.answer(context, path_lookup(written)) else { return };
    let content = Lookup::Content(facts.path.clone());
    let Some(Answer::Content(file)) = notes.answer(context, content) else { return };
    let file = plain(split_mark(file).1);
    if before.trim().is_empty() || file.contains(&plain(&old.content)) || !file.contains(&plain(before)) {
        return;
    }
    let texts = [before.to_owned(), after.to_owned()];
    for (fence, text) in block.fences.iter_mut().zip(texts) {
        notes.repair(RepairCode::ChangeKey, fence.span, fence.content.lines().next().unwrap_or_default(), "");
        fence.content = text;
    }
}

/// The text after a first line that consists of these words and a colon.
fn below<'a>(content: &'a str, words: &str) -> Option<&'a str> {
    let (first, rest) = content.split_once('\n')?;
    (first.trim().trim_end_matches('*').ends_with(':') && normalize(first) == words).then_some(rest)
}

/// Lines in the form for finding excerpts: their indentation may differ.
fn plain(text: &str) -> String {
    let lines: Vec<&str> = text.trim().lines().map(str::trim).collect();
    format!("\n{}\n", lines.join("\n"))
}
