//! The words of issues. They are read by models, so they are files under `prompts/`, one line a wording:
//! `code[.variant]: what | what to do`, with `{fact}` placeholders.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use callsheet_core::issue::IssueCode;

const TABLES: &[&str] = &[include_str!("prompts/issues.txt"), include_str!("prompts/task_issues.txt")];

/// What is wrong and what to do, placeholders filled in one pass. A wording that is missing falls back to the code
/// itself; a test keeps that from happening.
pub fn of(code: IssueCode, variant: &str, facts: &[(&str, &str)]) -> (String, String) {
    let Some(line) = find(code, variant).or_else(|| find(code, "")) else {
        return (code.as_str().to_owned(), String::new());
    };
    let (what, todo) = line.split_once(" | ").unwrap_or((line, ""));
    (fill(what.trim(), facts), fill(todo.trim(), facts))
}

/// A clause that issues are put together from, such as why a JSON text cannot be read.
pub fn clause(name: &str, facts: &[(&str, &str)]) -> String {
    line_of("clause", name).map_or_else(|| name.to_owned(), |line| fill(line.trim(), facts))
}

/// Wordings by code and variant.
static LINES: LazyLock<BTreeMap<(&'static str, &'static str), &'static str>> = LazyLock::new(|| {
    let lines = TABLES.iter().flat_map(|table| table.lines()).filter_map(|line| line.split_once(": "));
    lines.map(|(head, words)| (head.split_once('.').unwrap_or((head, "")), words)).collect()
});

fn find(code: IssueCode, variant: &str) -> Option<&'static str> {
    line_of(code.as_str(), variant)
}

fn line_of(name: &str, variant: &str) -> Option<&'static str> {
    LINES.get(&(name, variant)).copied()
}

fn fill(words: &str, facts: &[(&str, &str)]) -> String {
    let mut out = String::with_capacity(words.len());
    let mut rest = words;
    while let Some((before, after)) = rest.split_once('{') {
        out.push_str(before);
        match after.split_once('}') {
            Some((name, tail)) => {
                out.push_str(facts.iter().find(|(key, _)| *key == name).map_or("", |(_, value)| value));
                rest = tail;
            }
            None => {
                out.push('{');
                rest = after;
            }
        }
    }
    out.push_str(rest);
    out
}
