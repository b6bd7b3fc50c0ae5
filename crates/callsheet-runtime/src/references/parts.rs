//! The lines of a file that a fragment names (spec 5.3): a heading's section or a symbol.

use callsheet_core::fuzzy::nearest;
use callsheet_core::symbols::{Symbol, SymbolMatch, find_symbol};
use callsheet_format::sheet::{find_heading, headings};

use crate::ports::Outline;

use super::files::TextFile;
use super::language::is_markdown;
use super::project::CANDIDATES;

/// What a fragment means.
pub(super) enum FragmentTarget {
    /// Lines, 1-based and inclusive. A symbol includes the comment above it.
    Lines { first: u32, last: u32 },
    /// Several symbols. Lists all their full names.
    Several(Vec<String>),
    /// Nothing. Lists the nearest names.
    Missing(Vec<String>),
}

/// Finds a fragment. `None` if names cannot be looked up in this file.
pub(super) fn part_of(path: &str, text: &TextFile, anchor: &str, outline: &dyn Outline) -> Option<FragmentTarget> {
    if !text.complete {
        return None;
    }
    let content = &text.excerpt.head;
    if is_markdown(path) {
        let all = headings(content);
        return Some(match find_heading(&all, anchor) {
            Some(heading) => FragmentTarget::Lines { first: heading.first, last: heading.last },
            None => {
                FragmentTarget::Missing(nearest(anchor, all.iter().map(|heading| heading.slug.as_str()), CANDIDATES))
            }
        });
    }
    let symbols = outline.outline(path, content).ok()?;
    Some(match find_symbol(&symbols, anchor) {
        SymbolMatch::One(symbol) => FragmentTarget::Lines { first: symbol.outer_first, last: symbol.last },
        SymbolMatch::Several(several) => FragmentTarget::Several(several.into_iter().map(Symbol::name).collect()),
        SymbolMatch::None => {
            let names: Vec<String> = symbols.iter().map(Symbol::name).collect();
            FragmentTarget::Missing(nearest(anchor, names.iter().map(String::as_str), CANDIDATES))
        }
    })
}
