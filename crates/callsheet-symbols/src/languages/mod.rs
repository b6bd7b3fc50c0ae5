//! The languages whose symbols are found. A language is one folder: its grammar, the extensions of its files, and
//! `outline.scm`, a query with these captures:
//!
//! - a word of `SymbolKind`, such as `@function` or `@class`: a symbol, or `@scope`: no symbol of its own, but a part of
//!   the paths of those inside it;
//! - `@name`: its name, and `@owner`: what stands before the name in its path;
//! - `@wrap`: a node that belongs to the symbol right inside it, such as `export`;
//! - `@lead`: a comment, attribute or decorator, which belongs to the symbol right below it;
//! - `@inner`: a `@lead` that belongs to what it stands in.
//!
//! Two patterns that find the same node with the same name are one symbol, of the kind that the query names first.

mod c;
mod cpp;
mod go;
mod java;
mod javascript;
mod python;
mod rust;
mod typescript;

use tree_sitter_language::LanguageFn;

/// One language.
#[derive(Clone, Copy)]
pub(crate) struct Language {
    /// Its name for messages.
    pub(crate) name: &'static str,
    /// Extensions of its files, in lower case, without the dot.
    pub(crate) extensions: &'static [&'static str],
    /// Its grammar.
    pub(crate) grammar: LanguageFn,
    /// The query that finds its symbols.
    pub(crate) query: &'static str,
    /// The queries of its grammar that classify pieces of code. The queries of a language that it extends come first.
    pub(crate) colours: &'static [&'static str],
}

const ALL: &[&[Language]] = &[
    c::LANGUAGES,
    cpp::LANGUAGES,
    go::LANGUAGES,
    java::LANGUAGES,
    javascript::LANGUAGES,
    python::LANGUAGES,
    rust::LANGUAGES,
    typescript::LANGUAGES,
];

/// All languages.
pub(crate) fn all() -> impl Iterator<Item = &'static Language> {
    ALL.iter().copied().flatten()
}

/// The language of a path, by its extension.
pub(crate) fn of_path(path: &str) -> Option<&'static Language> {
    let name = path.rsplit('/').next().unwrap_or_default();
    let (_, extension) = name.rsplit_once('.')?;
    let extension = extension.to_ascii_lowercase();
    all().find(|language| language.extensions.contains(&extension.as_str()))
}
