//! Words of the form inside the fences of a change: over both texts (repair `change-key`, spec 4.4), or in place of a text.

use crate::reply::change::{self, ChangeBlock};
use crate::reply::markdown::{Label, label_line};
use crate::reply::near::folded;
use crate::reply::{Answer, Lookup, Notes, ReadContext, RepairCode, Span};
use crate::sheet::split_mark;

use super::formats::CHANGE_LABELS;
use super::write::path_lookup;

/// Where the one fence of a change of a whole file stands, if it has nothing but keys of the form, as items in bold. A text may
/// have a place or a file in such an item, so that one of the keys must be of two words; and a task that speaks of one of them
/// may want just this.
pub(super) fn stand_alone(block: &ChangeBlock, context: &ReadContext) -> Option<Span> {
    let [fence] = block.fences.as_slice() else { return None };
    if block.tail.is_some() || !block.keys.iter().any(|key| folded(&key.label) == "complete file") {
        return None;
    }
    let key = |line: &str| match label_line(line, CHANGE_LABELS).filter(|found| found.marked)?.label {
        Label::Known(name) if line.contains("**") => Some(name),
        _ => None,
    };
    let lines = fence.content.lines().filter(|line| !line.trim().is_empty());
    let keys: Vec<&str> = lines.map(key).collect::<Option<_>>()?;
    let asked = context.current.iter().flat_map(|task| [&task.need, &task.expected]).chain(&context.prompts);
    let is_asked = |key: &&str| asked.clone().any(|text| text.contains(*key));
    let of_the_form = keys.iter().any(|key| key.contains('_')) && !keys.iter().any(is_asked);
    of_the_form.then_some(fence.span)
}

/// Takes `old text:` and `new text:` away where both fences begin so, and what stands in the file is the old text without these
/// words.
pub(super) fn remove(block: &mut ChangeBlock, context: &ReadContext, notes: &mut Notes) {
    let [old, new] = block.fences.as_slice() else { return };
    let (Some(before), Some(after)) = (below(&old.content, "old text"), below(&new.content, "new text")) else {
        return;
    };
    let mut paths = block.keys.iter().filter(|key| change::is_path_key(&key.label));
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

/// The text below a first line of these words and a colon.
fn below<'a>(content: &'a str, words: &str) -> Option<&'a str> {
    let (first, rest) = content.split_once('\n')?;
    (first.trim().trim_end_matches('*').ends_with(':') && folded(first) == words).then_some(rest)
}

/// Lines as excerpts are looked for: their indentation may differ.
fn plain(text: &str) -> String {
    let lines: Vec<&str> = text.trim().lines().map(str::trim).collect();
    format!("\n{}\n", lines.join("\n"))
}
