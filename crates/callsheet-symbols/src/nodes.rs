//! What the query of a language finds in a tree.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use callsheet_core::symbols::SymbolKind;
use callsheet_runtime::ports::OutlineFault;
use tree_sitter::{Node, Query, QueryCursor, QueryCursorOptions, StreamingIterator, Tree};

use crate::Deadline;

/// A symbol, or a scope that is not a symbol, as found.
pub(crate) struct FoundSymbol {
    /// Its bytes, including what wraps it.
    pub(crate) range: Range<usize>,
    /// `None` for a scope.
    pub(crate) kind: Option<SymbolKind>,
    /// As written.
    pub(crate) name: String,
    /// The part of its path before the name.
    pub(crate) owner: Option<String>,
}

/// Everything found in one file.
#[derive(Default)]
pub(crate) struct Nodes {
    /// Symbols and scopes. If several patterns match one node and name, the first in the query counts.
    pub(crate) symbols: Vec<FoundSymbol>,
    /// Bytes of comments, attributes and decorators.
    pub(crate) leads: Vec<Range<usize>>,
}

/// A symbol with the pattern that found it.
struct Candidate<'tree> {
    pattern: usize,
    node: Node<'tree>,
    kind: Option<SymbolKind>,
    owner: Option<String>,
}

/// Runs the query.
pub(crate) fn find(query: &Query, tree: &Tree, text: &str, deadline: &Deadline) -> Result<Nodes, OutlineFault> {
    let captures = query.capture_names();
    let mut timed_out = false;
    let mut look = |_: &tree_sitter::QueryCursorState| {
        let flow = deadline.look();
        timed_out |= flow.is_break();
        flow
    };
    let mut cursor = QueryCursor::new();
    cursor.set_match_limit(4_096);
    let options = QueryCursorOptions::new().progress_callback(&mut look);
    let mut matches = cursor.matches_with_options(query, tree.root_node(), text.as_bytes(), options);
    let mut wraps: BTreeSet<usize> = BTreeSet::new();
    let mut inner: BTreeSet<usize> = BTreeSet::new();
    let mut leads: Vec<Node<'_>> = Vec::new();
    let mut found: BTreeMap<(usize, usize, String), Candidate<'_>> = BTreeMap::new();
    while let Some(matched) = matches.next() {
        let (mut name, mut owner, mut symbol) = (None, None, None);
        for capture in matched.captures() {
            let node = capture.node;
            match captures.get(capture.index as usize).copied().unwrap_or_default() {
                "name" => name = Some(written(node, text)),
                "owner" => owner = Some(written(node, text)),
                "wrap" => drop(wraps.insert(node.id())),
                "inner" => drop(inner.insert(node.id())),
                "lead" => leads.push(node),
                "scope" => symbol = Some((node, None)),
                kind => symbol = Some((node, SymbolKind::ALL.iter().copied().find(|known| known.as_str() == kind))),
            }
        }
        let (Some(name), Some((node, kind))) = (name, symbol) else { continue };
        let candidate = Candidate { pattern: matched.pattern_index, node, kind, owner };
        let key = (node.start_byte(), node.end_byte(), name);
        if found.get(&key).is_none_or(|known| candidate.pattern < known.pattern) {
            found.insert(key, candidate);
        }
    }
    drop(matches);
    if timed_out {
        return Err(OutlineFault::TimedOut);
    }
    let symbols = found.into_iter().map(|((_, _, name), candidate)| FoundSymbol {
        range: wrapped(candidate.node, &wraps),
        kind: candidate.kind,
        name,
        owner: candidate.owner,
    });
    leads.retain(|node| !inner.contains(&node.id()));
    Ok(Nodes { symbols: symbols.collect(), leads: leads.iter().map(Node::byte_range).collect() })
}

fn wrapped(node: Node<'_>, wraps: &BTreeSet<usize>) -> Range<usize> {
    let mut node = node;
    while let Some(parent) = node.parent().filter(|parent| wraps.contains(&parent.id())) {
        node = parent;
    }
    node.byte_range()
}

fn written(node: Node<'_>, text: &str) -> String {
    text.get(node.byte_range()).unwrap_or_default().to_owned()
}
