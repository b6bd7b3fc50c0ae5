//! C++. Headers are read as C++, which also covers headers of C.

use super::Language;

/// C++ and headers.
pub(super) const LANGUAGES: &[Language] = &[Language {
    name: "cpp",
    extensions: &["cc", "cpp", "cxx", "h", "hh", "hpp", "hxx"],
    grammar: tree_sitter_cpp::LANGUAGE,
    query: include_str!("outline.scm"),
    colours: &[tree_sitter_c::HIGHLIGHT_QUERY, tree_sitter_cpp::HIGHLIGHT_QUERY],
}];
