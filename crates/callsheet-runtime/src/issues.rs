//! Issues that the shell finds, with their words in `prompts/issues.txt`. Models read them.

use std::sync::LazyLock;

use callsheet_core::issue::{Issue, IssueCode, Location, Severity, Span};
use callsheet_core::nouns::Phase;
use callsheet_core::texts::{Texts, fill};

static WORDS: LazyLock<Texts> = LazyLock::new(|| Texts::of(&[include_str!("prompts/issues.txt")]));
static PATHS: LazyLock<Texts> = LazyLock::new(|| Texts::of(&[include_str!("prompts/paths.txt")]));

/// Builds an issue from a line of `prompts/issues.txt`.
pub(crate) struct Finding<'a> {
    pub(crate) code: IssueCode,
    pub(crate) severity: Severity,
    pub(crate) phase: Phase,
    /// Name of the task, if it is known here.
    pub(crate) task: Option<&'a str>,
    /// The link or path that it is about. Also fills `{target}`.
    pub(crate) target: &'a str,
    /// Key of the line with the words.
    pub(crate) words: &'a str,
    /// Further values for the words.
    pub(crate) values: &'a [(&'a str, &'a str)],
    pub(crate) allowed: Vec<String>,
}

impl Finding<'_> {
    pub(crate) fn issue(self) -> Issue {
        let (what, todo) = WORDS.clauses(self.words).unwrap_or((self.words, ""));
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

/// Why a path cannot be read or written, from a key of `prompts/paths.txt`. The text is a clause within other words.
pub(crate) fn path_reason(key: &str) -> String {
    PATHS.get(key).unwrap_or(key).to_owned()
}

#[cfg(test)]
mod tests {
    use super::{PATHS, WORDS, path_reason};

    #[test]
    fn every_line_has_a_key_and_both_clauses() {
        for (key, text) in WORDS.iter() {
            assert!(key.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'-'), "{key}");
            let (what, todo) = text.split_once(" | ").expect(key);
            assert!(!what.is_empty() && !todo.is_empty() && !what.ends_with('.') && !todo.ends_with('.'), "{key}");
        }
    }

    #[test]
    fn every_reason_of_a_path_is_given_somewhere_and_is_a_clause() {
        let sources = ["paths/locate.rs", "paths/read.rs", "references/files.rs", "references/answer.rs"];
        let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
        let code: String = sources.iter().map(|file| std::fs::read_to_string(folder.join(file)).unwrap()).collect();
        for (key, text) in PATHS.iter() {
            assert!(code.contains(&format!("\"{key}\"")), "{key} is never given");
            assert!(text.starts_with("it") || text.starts_with("a "), "{key}");
        }
        let given: Vec<&str> = code.split("path_reason(\"").skip(1).filter_map(|rest| rest.split('"').next()).collect();
        assert!(given.len() >= 8);
        for key in given {
            assert_ne!(path_reason(key), key, "{key} has no words");
        }
    }
}
