//! JavaScript, with JSX.

use super::Language;

/// JavaScript, with JSX.
pub(super) const LANGUAGES: &[Language] = &[Language {
    name: "javascript",
    extensions: &["js", "mjs", "cjs", "jsx"],
    grammar: tree_sitter_javascript::LANGUAGE,
    query: include_str!("outline.scm"),
    colours: &[tree_sitter_javascript::HIGHLIGHT_QUERY],
}];
