//! Issues that the shell finds, with their words in `prompts/issues.txt`: models read them.

use callsheet_core::issue::{Issue, IssueCode, Location, Severity, Span};
use callsheet_core::spec::Phase;

const WORDS: &str = include_str!("prompts/issues.txt");
const PATHS: &str = include_str!("prompts/paths.txt");

/// Builds an issue from a line of `prompts/issues.txt`.
pub(crate) struct Finding<'a> {
    pub(crate) code: IssueCode,
    pub(crate) severity: Severity,
    pub(crate) phase: Phase,
    /// Name of the task, if it is known here.
    pub(crate) task: Option<&'a str>,
    /// The link or path it is about; also fills `{target}`.
    pub(crate) target: &'a str,
    /// Key of the line with the words.
    pub(crate) words: &'a str,
    /// Further values for the words.
    pub(crate) values: &'a [(&'a str, &'a str)],
    pub(crate) allowed: Vec<String>,
}

impl Finding<'_> {
    pub(crate) fn issue(self) -> Issue {
        let (what, todo) = words(self.words);
        let mut values = vec![("target", self.target)];
        values.extend_from_slice(self.values);
        Issue {
            code: self.code,
            severity: self.severity,
            place: Location {
                phase: self.phase,
                section: None,
                task: self.task.map(str::to_owned),
                item: Some(self.target.to_owned()),
                key: None,
                span: Span::default(),
            },
            what: fill(what, &values),
            todo: fill(todo, &values),
            allowed: self.allowed,
            raw: None,
        }
    }
}

/// Why a path cannot be read or written, of one key of `prompts/paths.txt`: a clause inside such words.
pub(crate) fn path_reason(key: &str) -> String {
    let found = PATHS.lines().filter_map(|line| line.split_once(" = ")).find(|(name, _)| *name == key);
    found.map_or(key, |(_, text)| text).to_owned()
}

/// What is wrong and what to do, of one key.
fn words(key: &str) -> (&'static str, &'static str) {
    WORDS
        .lines()
        .filter_map(|line| line.split_once(" = "))
        .find(|(name, _)| *name == key)
        .and_then(|(_, text)| text.split_once(" | "))
        .unwrap_or((WORDS, ""))
}

/// Replaces `{name}` by its value in one pass; inserted text is not scanned.
pub(crate) fn fill(template: &str, values: &[(&str, &str)]) -> String {
    let mut text = String::with_capacity(template.len());
    let mut rest = template;
    while let Some((before, after)) = rest.split_once('{') {
        text.push_str(before);
        let known = after
            .split_once('}')
            .and_then(|(name, tail)| values.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value, tail)));
        match known {
            Some((value, tail)) => {
                text.push_str(value);
                rest = tail;
            }
            None => {
                text.push('{');
                rest = after;
            }
        }
    }
    text.push_str(rest);
    text
}

#[cfg(test)]
mod tests {
    use super::{PATHS, WORDS, fill, path_reason};

    #[test]
    fn every_line_has_a_key_and_both_clauses() {
        for line in WORDS.lines() {
            let (key, text) = line.split_once(" = ").expect(line);
            assert!(key.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'-'), "{line}");
            let (what, todo) = text.split_once(" | ").expect(line);
            assert!(!what.is_empty() && !todo.is_empty() && !what.ends_with('.') && !todo.ends_with('.'), "{line}");
        }
    }

    #[test]
    fn every_reason_of_a_path_is_given_somewhere_and_is_a_clause() {
        let sources = ["paths/locate.rs", "paths/read.rs", "references/files.rs", "references/answer.rs"];
        let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
        let code: String = sources.iter().map(|file| std::fs::read_to_string(folder.join(file)).unwrap()).collect();
        for line in PATHS.lines() {
            let (key, text) = line.split_once(" = ").expect(line);
            assert!(code.contains(&format!("\"{key}\"")), "{key} is never given");
            assert!(text.starts_with("it") || text.starts_with("a "), "{line}");
        }
        let given: Vec<&str> = code.split("path_reason(\"").skip(1).filter_map(|rest| rest.split('"').next()).collect();
        assert!(given.len() >= 8);
        for key in given {
            assert_ne!(path_reason(key), key, "{key} has no words");
        }
    }

    #[test]
    fn inserted_text_is_not_scanned() {
        assert_eq!(fill("{a} and {b} {c", &[("a", "{b}"), ("b", "2")]), "{b} and 2 {c");
    }
}
