//! TypeScript, with and without JSX: two grammars, one query.

use super::Language;

/// TypeScript and TSX.
pub(super) const LANGUAGES: &[Language] = &[
    Language {
        name: "typescript",
        extensions: &["ts", "mts", "cts"],
        grammar: tree_sitter_typescript::LANGUAGE_TYPESCRIPT,
        query: include_str!("outline.scm"),
        colours: &[tree_sitter_javascript::HIGHLIGHT_QUERY, tree_sitter_typescript::HIGHLIGHTS_QUERY],
    },
    Language {
        name: "tsx",
        extensions: &["tsx"],
        grammar: tree_sitter_typescript::LANGUAGE_TSX,
        query: include_str!("outline.scm"),
        colours: &[tree_sitter_javascript::HIGHLIGHT_QUERY, tree_sitter_typescript::HIGHLIGHTS_QUERY],
    },
];
