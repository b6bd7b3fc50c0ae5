//! Go.

use super::Language;

/// Go.
pub(super) const LANGUAGES: &[Language] = &[Language {
    name: "go",
    extensions: &["go"],
    grammar: tree_sitter_go::LANGUAGE,
    query: include_str!("outline.scm"),
    colours: &[tree_sitter_go::HIGHLIGHTS_QUERY],
}];
