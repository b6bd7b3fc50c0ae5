//! Repair `whole-file-implied` (spec 4.4): fences without an address that can only be the whole of a file.

mod likeness;

use std::collections::BTreeMap;

use callsheet_core::fuzzy::normalize;
use callsheet_core::issue::RepairCode;

use crate::edit;
use crate::edit::{ChangeBlock, ChangeKey};
use crate::reading::{Answer, Diagnostics, Lookup, ReadContext};
use crate::sheet::split_mark;

use self::likeness::{alters_like, keeps_items};
use super::write::{path_lookup, words_of_files};

/// Keys of a whole file that there is.
const OVERWRITE: &[&str] = &["complete_file", "overwrite"];

/// One text and no address is the whole of a file, if the task asks for a new file of that name, or if every line of a file
/// that was shown stands in it, or all but a few lines at their places; so is the second of two texts that both span the file from its first line to its last.
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
        (Some(Answer::File(facts)), [fence])
            if keeps_all(&facts.path, &fence.content, context, notes)
                || alters_few(&facts.path, &fence.content, context, notes)
                || mends(&facts.path, &fence.content, context, notes) =>
        {
            OVERWRITE
        }
        (Some(Answer::File(facts)), [old, new])
            if spans_twice(&facts.path, [&old.content, &new.content], context, notes) =>
        {
            OVERWRITE
        }
        _ => return,
    };
    if let [_, _] = block.fences.as_slice() {
        block.fences.remove(0);
    } else if implied.iter().all(|name| block.keys.iter().any(|one| key(one) == normalize(name))) {
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

/// Whether a text has every line of a file that was shown in full at its place, but for three at most, each between lines that
/// are the same: nothing of it is lost. The file itself is no change.
fn alters_few(path: &str, written: &str, context: &ReadContext, notes: &mut Diagnostics) -> bool {
    const MOST: usize = 3;
    let Some(old) = shown(path, context, notes).map(trimmed) else { return false };
    let new = trimmed(written);
    let same: Vec<bool> = old.iter().zip(&new).map(|(old, new)| old == new).collect();
    let changed = same.iter().filter(|same| !**same).count();
    let lonely = same.windows(2).all(|pair| pair.iter().any(|same| *same));
    let ends = same.first() == Some(&true) && same.last() == Some(&true);
    old.len() == new.len() && (1..=MOST).contains(&changed) && changed * MOST <= same.len() && lonely && ends
}

/// Whether a text is a file that was shown in full with a few of its lines made other ones like them, or with more items.
fn mends(path: &str, written: &str, context: &ReadContext, notes: &mut Diagnostics) -> bool {
    let Some(old) = shown(path, context, notes).filter(|_| !has_shown_heading(path, written)) else { return false };
    alters_like(old, written) || path.ends_with(".json") && keeps_items(old, written)
}

/// Whether a text holds every line of a file that was shown in full, in order, and more: nothing of it is lost. The file itself
/// is no change.
fn keeps_all(path: &str, written: &str, context: &ReadContext, notes: &mut Diagnostics) -> bool {
    let Some(old) = shown(path, context, notes).filter(|_| !has_shown_heading(path, written)) else { return false };
    let mut new = written.lines().map(str::trim_end);
    let adds = written.lines().count() > old.lines().count();
    adds && !old.trim().is_empty() && old.lines().map(str::trim_end).all(|line| new.any(|other| other == line))
}

/// Whether two texts, the old and the new, are both the whole of a file that was shown in full: they begin with its first line
/// and end with its last one, and lack a few of its lines at most. An old text that stands in the file is an excerpt.
fn spans_twice(path: &str, texts: [&str; 2], context: &ReadContext, notes: &mut Diagnostics) -> bool {
    let Some(file) = shown(path, context, notes).map(trimmed) else { return false };
    let [old, new] = texts.map(trimmed);
    let spans = |text: &[&str]| text.first() == file.first() && text.last() == file.last() && lacks_few(&file, text);
    spans(&old)
        && spans(&new)
        && new != file
        && !texts.iter().any(|text| has_shown_heading(path, text))
        && !joined(&file).contains(&joined(&old))
}

/// Lines without blanks at their ends, from the first to the last that says something.
fn trimmed(text: &str) -> Vec<&str> {
    let lines: Vec<&str> = text.lines().map(str::trim_end).collect();
    let first = lines.iter().position(|line| !line.is_empty()).unwrap_or(0);
    let last = lines.iter().rposition(|line| !line.is_empty()).map_or(first, |at| at + 1);
    lines.get(first..last).unwrap_or_default().to_vec()
}

/// Lines as excerpts are looked for: their indentation may differ.
fn joined(lines: &[&str]) -> String {
    let lines: Vec<&str> = lines.iter().map(|line| line.trim()).collect();
    format!("\n{}\n", lines.join("\n"))
}

/// Whether a text has all lines of a file but three at most, and no more than a third of them. Blank ones do not count.
fn lacks_few(file: &[&str], text: &[&str]) -> bool {
    const MOST: usize = 3;
    let mut there: BTreeMap<&str, usize> = BTreeMap::new();
    for line in text {
        *there.entry(line).or_default() += 1;
    }
    let (mut all, mut lost) = (0, 0);
    for line in file.iter().filter(|line| !line.is_empty()) {
        all += 1;
        match there.get_mut(line).filter(|count| **count > 0) {
            Some(count) => *count -= 1,
            None => lost += 1,
        }
    }
    lost <= MOST && lost * MOST <= all
}

/// Whether the current task names a file, with or without its folders.
fn is_asked_for(name: &str, context: &ReadContext) -> bool {
    let Some(task) = context.current.as_ref().filter(|_| name.contains('.')) else { return false };
    [&task.need, &task.expected].into_iter().flat_map(|text| words_of_files(text)).any(|word| word == name)
}
