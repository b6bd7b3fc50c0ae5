//! Parts of events in words for people.

use crate::nouns::Phase;

use super::CallKey;

/// A call in words: `plan`, `refine find-code-1`, `execute find-code-1 (search_text retries)`. `part` names its
/// execution run, or is empty.
pub fn call_words(key: &CallKey, part: &str) -> String {
    let phase = match key.phase {
        Phase::Route => "route",
        Phase::Plan => "plan",
        Phase::Refine => "refine",
        Phase::Execute => "execute",
        Phase::Review => "review",
        Phase::Merge => "merge",
        Phase::Iterate => "iterate",
        Phase::Continue => "continue",
        Phase::Join => "join",
    };
    let mut words = phase.to_owned();
    if let Some(task) = &key.task {
        words.push(' ');
        words.push_str(task.as_str());
    }
    if let (Phase::Route, Some(drafted)) = (key.phase, &key.run) {
        words.push_str(&format!(" {drafted}"));
    }
    if !part.is_empty() {
        words.push_str(&format!(" ({part})"));
    }
    words
}

/// Marks of a result as one line for a person. `None` if there are none.
pub fn unsupported_line<'a>(marks: impl IntoIterator<Item = &'a str>) -> Option<String> {
    let marks: Vec<&str> = marks.into_iter().collect();
    (!marks.is_empty()).then(|| format!("not found in what it read: {}", marks.join(", ")))
}
