//! The names of tree tasks.

use crate::nouns::Slug;

/// The longest slug (spec 6.2).
const LONGEST: usize = 64;
/// The number of letters of the hash at the end of a shortened slug.
const HASHED: usize = 8;

/// The name of a part of a task: the name of the task and one more word.
pub(super) fn extended(id: &Slug, word: &str) -> Slug {
    match id.as_str().split_once('/') {
        Some((caller, own)) => Slug::new(format!("{caller}/{}", slug_of(&[own, word]))),
        None => slug_of(&[id.as_str(), word]),
    }
}

/// The name of the top task of a call's tree. It contains a `/`, which no task of a list has in its name.
pub(super) fn below_caller(caller: &Slug, template: &str) -> Slug {
    Slug::new(format!("{caller}/{}", slug_of(&[template])))
}

/// Makes a slug from words. A slug that is too long is shortened and gets a hash of the whole.
pub(super) fn slug_of(words: &[&str]) -> Slug {
    let mut text = String::new();
    for character in words.join("-").chars().flat_map(char::to_lowercase) {
        let kept = if character.is_ascii_alphanumeric() { character } else { '-' };
        if kept != '-' || !text.ends_with('-') {
            text.push(kept);
        }
    }
    let trimmed = text.trim_matches('-');
    let text = if trimmed.is_empty() { "task" } else { trimmed };
    if text.len() <= LONGEST {
        return Slug::new(text);
    }
    let hash = crate::nouns::BlobId::of(words.join("-").as_bytes());
    let (head, tail) = (text.get(..LONGEST - HASHED - 1), hash.as_str().get(..HASHED));
    Slug::new(format!("{}-{}", head.unwrap_or_default().trim_end_matches('-'), tail.unwrap_or_default()))
}
