//! Python.

use super::Language;

/// Python.
pub(super) const LANGUAGES: &[Language] = &[Language {
    name: "python",
    extensions: &["py", "pyi"],
    grammar: tree_sitter_python::LANGUAGE,
    query: include_str!("outline.scm"),
    colours: &[tree_sitter_python::HIGHLIGHTS_QUERY],
}];
