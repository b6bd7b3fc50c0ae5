//! Finds the JSON that a reply means: alone, in a fence, or once among words. If several values are possible, all are
//! returned, so that nobody guesses.

use callsheet_core::issue::RepairCode;
use serde_json::Value;

use crate::markdown::{Part, Tracker, without_thinking};
use crate::reading::{clause, excerpt};

use super::{Document, Fault, JsonRepair, Located, Scanner, read_document};

/// Tags of a fence that contains only JSON.
const JSON_FENCES: [&str; 4] = ["", "json", "jsonc", "json5"];

/// The maximum number of values that may be meant.
const MOST: usize = 16;

/// A value that a reply may mean.
#[derive(Clone, Debug, PartialEq)]
pub struct Meant {
    /// The value and its bytes in the reply.
    pub located: Located,
    /// Liberties taken.
    pub repairs: Vec<JsonRepair>,
}

/// The values that a reply may mean, in order. Usually there is one.
///
/// # Errors
/// The reply contains no value, or one that cannot be read.
pub fn meant(reply: &str) -> Result<Vec<Meant>, Fault> {
    if let Ok(found) = alone(reply) {
        return Ok(found);
    }
    let text = without_thinking(reply);
    let mut found = match alone(&text) {
        Ok(found) => found,
        Err(_) => among(&text)?,
    };
    if let (Some(first), true) = (found.first_mut(), *text != *reply) {
        first.repairs.insert(0, JsonRepair::new(RepairCode::ThinkingRemoved, 0, "thinking", ""));
    }
    Ok(found)
}

/// The only value of the whole reply: in a fence, or after thinking, but not among words.
pub fn whole(reply: &str) -> Option<Value> {
    let mut found = meant(reply).ok()?;
    let one = found.pop().filter(|_| found.is_empty())?;
    one.repairs.iter().all(|repair| repair.code != RepairCode::ProseTrimmed).then_some(one.located.value)
}

/// The list or object in a text value that contains nothing else.
pub fn in_a_string(value: &Value) -> Option<Meant> {
    let text = value.as_str()?;
    let mut found = alone(text).ok()?;
    let mut one = found.pop().filter(|one| found.is_empty() && is_container(&one.located.value))?;
    one.repairs.insert(0, JsonRepair::new(RepairCode::JsonShape, 0, "JSON in a string", "JSON"));
    Some(one)
}

/// Reads a text that is only JSON.
fn alone(text: &str) -> Result<Vec<Meant>, Fault> {
    let Document { values, repairs } = read_document(text)?;
    if values.is_empty() {
        return Err(nothing());
    }
    Ok(values.into_iter().map(|located| Meant { located, repairs: repairs.clone() }).collect())
}

/// The values in fences. If there are no fences, the values among the words.
fn among(text: &str) -> Result<Vec<Meant>, Fault> {
    let fences = fences(text);
    let mut found = Vec::new();
    for fence in &fences {
        let Some(inside) = text.get(fence.start..fence.end) else { continue };
        let json = JSON_FENCES.contains(&fence.word.as_str());
        match alone(inside) {
            Ok(values) => {
                let fit = values.into_iter().filter(|one| json || is_container(&one.located.value));
                found.extend(fit.map(|one| moved(one, fence.start)));
            }
            Err(fault) if json && has_begun(inside.trim_start(), &fault, inside) => return Err(at(fault, fence.start)),
            Err(_) => {}
        }
    }
    let outside = |one: &Meant| {
        let fence = fences.iter().find(|fence| fence.start <= one.located.start && one.located.end <= fence.end);
        fence.map_or((one.located.start, one.located.end), |fence| (fence.open, fence.close))
    };
    if found.is_empty() {
        found = in_prose(text, &fences)?;
    }
    if found.is_empty() {
        return Err(nothing());
    }
    found.truncate(MOST);
    for one in &mut found {
        let (start, end) = outside(one);
        let around = [text.get(..start), text.get(end..)].map(|words| words.unwrap_or_default().trim());
        if around.iter().any(|words| !words.trim_matches('`').trim().is_empty()) {
            let words = around.join(" … ");
            one.repairs.insert(0, JsonRepair::new(RepairCode::ProseTrimmed, start, &excerpt(&words), ""));
        }
    }
    Ok(found)
}

/// Lists and objects among words, outside fences. An unreadable one ends the search, because its parts are not what is
/// meant.
fn in_prose(text: &str, fences: &[Fence]) -> Result<Vec<Meant>, Fault> {
    let mut scanner = Scanner::new(text);
    let mut found = Vec::new();
    let mut next = 0;
    while let Some(start) = text.get(next..).and_then(|rest| rest.find(['{', '['])).map(|at| next + at) {
        if let Some(fence) = fences.iter().find(|fence| fence.open <= start && start < fence.close) {
            next = fence.close;
            continue;
        }
        match scanner.one(start) {
            Ok(Document { mut values, repairs }) => {
                let Some(located) = values.pop() else { return Ok(found) };
                next = located.end.max(start + 1);
                // An unclosed bracket is not a list unless it has content.
                let open = repairs.iter().any(|repair| repair.before.is_empty());
                if !open || holds_signs(text.get(start..next).unwrap_or_default()) {
                    found.push(Meant { located, repairs });
                }
            }
            Err(fault) => {
                if has_begun(text.get(start..).unwrap_or_default(), &fault, text) {
                    return Err(fault);
                }
                next = fault.reached.max(start + 1);
            }
        }
    }
    Ok(found)
}

/// Whether unreadable text was begun as JSON: one of its keys or elements was read.
fn has_begun(begin: &str, fault: &Fault, text: &str) -> bool {
    let start = text.len() - begin.len();
    let read = text.get(start..fault.reached).unwrap_or_default();
    fault.truncated || begin.starts_with(['{', '[']) && holds_signs(read)
}

/// Whether a text contains signs that are common between JSON brackets and rare in prose.
fn holds_signs(text: &str) -> bool {
    text.contains(['"', ':', ','])
}

/// A fenced part of a text: its first and last byte, with and without the marks.
struct Fence {
    open: usize,
    start: usize,
    end: usize,
    close: usize,
    word: String,
}

fn fences(text: &str) -> Vec<Fence> {
    let mut tracker = Tracker::default();
    let mut fences: Vec<Fence> = Vec::new();
    let (mut at, mut open) = (0, false);
    for line in text.split_inclusive('\n') {
        let end = at + line.len();
        match tracker.next(line.trim_end_matches(['\n', '\r'])) {
            Part::Open(mark) => {
                let word = mark.info.split_whitespace().next().unwrap_or_default().to_ascii_lowercase();
                fences.push(Fence { open: at, start: end, end: text.len(), close: text.len(), word });
                open = true;
            }
            Part::Close if open => {
                if let Some(fence) = fences.last_mut() {
                    (fence.end, fence.close) = (at, end);
                }
                open = false;
            }
            _ => {}
        }
        at = end;
    }
    fences
}

fn moved(mut one: Meant, by: usize) -> Meant {
    one.located.start += by;
    one.located.end += by;
    one.repairs.iter_mut().for_each(|repair| repair.at += by);
    one
}

fn at(mut fault: Fault, by: usize) -> Fault {
    fault.at += by;
    fault.reached += by;
    fault
}

fn nothing() -> Fault {
    Fault { truncated: false, at: 0, reached: 0, what: clause("json-none", &[]) }
}

fn is_container(value: &Value) -> bool {
    value.is_object() || value.is_array()
}
