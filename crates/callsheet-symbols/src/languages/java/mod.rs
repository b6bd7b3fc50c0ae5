//! Java.

use super::Language;

/// Java.
pub(super) const LANGUAGES: &[Language] = &[Language {
    name: "java",
    extensions: &["java"],
    grammar: tree_sitter_java::LANGUAGE,
    query: include_str!("outline.scm"),
    colours: &[tree_sitter_java::HIGHLIGHTS_QUERY],
}];
