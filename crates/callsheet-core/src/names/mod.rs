//! Names, slugs and heading keys (spec 3.1, 6).

mod fill;
mod titles;

use std::collections::BTreeSet;

use crate::nouns::Slug;

pub use fill::{NameChange, fill_names, folded};
pub use titles::{call_title, distinct_title, reference_title};

/// The longest slug, characters (spec 6.2).
const LONGEST: usize = 64;

/// Heading keys of spec 3.3 and words that references use. They are never slugs of tasks (spec 6.3).
const RESERVED: &[&str] = &[
    "original-prompt",
    "goals-summary",
    "tasks",
    "task-section",
    "issues-with-the-tasks",
    "no-longer-relevant",
    "completed-tasks",
    "task",
    "tool-calls",
    "result-summary",
    "details",
    "change-details",
    "project-description",
    "current-file",
    "con",
    "prn",
    "aux",
    "nul",
];

/// The heading key of spec 3.1: lower case, each run outside `[a-z0-9]` as one `-`, trimmed at both ends.
pub fn heading_key(title: &str) -> String {
    let mut key = String::with_capacity(title.len());
    if title.is_ascii() {
        for word in title.as_bytes().split(|byte| !byte.is_ascii_alphanumeric()).filter(|word| !word.is_empty()) {
            if !key.is_empty() {
                key.push('-');
            }
            key.extend(word.iter().map(|byte| char::from(byte.to_ascii_lowercase())));
        }
        return key;
    }
    let mut gap = false;
    let mut take = |c: char| {
        if c.is_ascii_lowercase() || c.is_ascii_digit() {
            if std::mem::take(&mut gap) && !key.is_empty() {
                key.push('-');
            }
            key.push(c);
        } else {
            gap = true;
        }
    };
    for c in title.chars() {
        if c.is_ascii() {
            take(c.to_ascii_lowercase());
        } else {
            c.to_lowercase().for_each(&mut take);
        }
    }
    key
}

/// The slug of a name (spec 6.2): its key, cut to 64 characters at a `-`, with the prefix `task-` if it has no letter.
/// For a name in another script, whose key is empty, letters are derived from the name.
pub fn slug_of(name: &str) -> Slug {
    let mut key = heading_key(name);
    if key.is_empty() {
        key = code_of(name).map_or_else(|| "task".to_owned(), |code| format!("task-{code}"));
    } else if !key.contains(|c: char| c.is_ascii_lowercase()) {
        key = format!("task-{key}");
    }
    if key.len() > LONGEST {
        // Keys are ASCII. A key without a `-` before the limit is cut at the limit.
        let cut = key.get(..=LONGEST).and_then(|head| head.rfind('-')).filter(|at| *at > 0).unwrap_or(LONGEST);
        key.truncate(cut);
    }
    Slug::new(key)
}

/// Seven letters that represent the words of a name, however they are separated. `None` if there are no words. The
/// result must never change, because slugs are recorded in runs.
fn code_of(name: &str) -> Option<String> {
    const LETTERS: usize = 7;
    let lower = name.to_lowercase();
    let mut words = lower.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()).peekable();
    words.peek()?;
    // FNV-1a.
    let mut hash = 0x811c_9dc5_u32;
    for byte in words.flat_map(|word| word.bytes().chain([b' '])) {
        hash = (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193);
    }
    let letter = |_| {
        let letter = char::from(b'a' + u8::try_from(hash % 26).unwrap_or(0));
        hash /= 26;
        letter
    };
    Some((0..LETTERS).map(letter).collect())
}

/// Whether this slug is reserved (spec 6.3).
pub fn is_reserved(slug: &Slug) -> bool {
    let text = slug.as_str();
    let numbered = |stem: &str| text.strip_prefix(stem).is_some_and(|n| n.len() == 1 && n != "0" && is_number(n));
    let section = text.strip_prefix("task-section-").is_some_and(is_number);
    RESERVED.contains(&text) || numbered("com") || numbered("lpt") || section
}

fn is_number(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

/// The default name of a task (spec 6.1): `<Skill> <n>`, or `Task <n>`, with the smallest number whose slug is free.
pub fn default_name(skill: Option<&str>, taken: &BTreeSet<Slug>) -> (String, Slug) {
    default_name_from(skill, taken, &mut 1)
}

/// Like `default_name`, but starts at a number below which all are known to be in use. Stores the number after the
/// one that was found.
pub(super) fn default_name_from(skill: Option<&str>, taken: &BTreeSet<Slug>, from: &mut u32) -> (String, Slug) {
    let stem = skill.map(str::trim).filter(|skill| !skill.is_empty()).unwrap_or("Task");
    first_free(taken, from, |n| format!("{stem} {n}"))
}

/// A free name: the name itself, else with ` (2)`, ` (3)` added (spec 6.3).
pub fn free_name(name: &str, taken: &BTreeSet<Slug>) -> (String, Slug) {
    free_name_from(name, taken, &mut 2)
}

/// Like `free_name`, but starts at a number below which all are known to be in use.
pub(super) fn free_name_from(name: &str, taken: &BTreeSet<Slug>, from: &mut u32) -> (String, Slug) {
    let slug = slug_of(name);
    if !is_taken(&slug, taken) {
        return (name.to_owned(), slug);
    }
    // A long name may already have its number, which the cut slug lost.
    if let Some(number) = number_at_end(name) {
        let slug = numbered_slug(name, number);
        if !is_taken(&slug, taken) {
            return (name.to_owned(), slug);
        }
    }
    first_free(taken, from, |n| format!("{name} ({n})"))
}

/// The number of `NAME (2)`.
fn number_at_end(name: &str) -> Option<u32> {
    name.strip_suffix(')')?.rsplit_once(" (")?.1.parse().ok()
}

/// Whether no task may get this slug.
pub(super) fn is_taken(slug: &Slug, taken: &BTreeSet<Slug>) -> bool {
    taken.contains(slug) || is_reserved(slug)
}

/// The first numbered name with a free slug. If cutting the slug would lose the number, the stem is shortened.
fn first_free(taken: &BTreeSet<Slug>, from: &mut u32, name: impl Fn(u32) -> String) -> (String, Slug) {
    loop {
        let number = *from;
        *from = number.saturating_add(1);
        let candidate = name(number);
        let slug = numbered_slug(&candidate, number);
        if !is_taken(&slug, taken) || number == u32::MAX {
            return (candidate, slug);
        }
    }
}

pub(super) fn numbered_slug(name: &str, number: u32) -> Slug {
    let slug = slug_of(name);
    // An uncut key is no longer than its name, except for a few letters that become two.
    if name.is_ascii() && name.len() <= LONGEST {
        return slug;
    }
    let tail = format!("-{number}");
    if heading_key(name).len() <= LONGEST || slug.as_str().ends_with(&tail) {
        return slug;
    }
    let mut text = slug.as_str().to_owned();
    text.truncate(LONGEST - tail.len());
    Slug::new(format!("{}{tail}", text.trim_end_matches('-')))
}
