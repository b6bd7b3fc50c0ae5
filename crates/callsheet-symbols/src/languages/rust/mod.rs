//! Rust.

use super::Language;

/// Rust.
pub(super) const LANGUAGES: &[Language] = &[Language {
    name: "rust",
    extensions: &["rs"],
    grammar: tree_sitter_rust::LANGUAGE,
    query: include_str!("outline.scm"),
    colours: &[tree_sitter_rust::HIGHLIGHTS_QUERY],
}];
