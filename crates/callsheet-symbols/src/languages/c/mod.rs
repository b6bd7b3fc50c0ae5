//! C.

use super::Language;

/// C.
pub(super) const LANGUAGES: &[Language] = &[Language {
    name: "c",
    extensions: &["c"],
    grammar: tree_sitter_c::LANGUAGE,
    query: include_str!("outline.scm"),
    colours: &[tree_sitter_c::HIGHLIGHT_QUERY],
}];
