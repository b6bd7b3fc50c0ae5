//! Turns found nodes into the outline of a file: paths, lines, comments, numbers. Pure.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use callsheet_core::symbols::{Symbol, SymbolKind};

use crate::nodes::{FoundSymbol, Nodes};

/// The longest name in characters. A longer text is not a name.
const LONGEST_NAME: usize = 200;

/// The symbols of a text, in the order of their starts, outer before inner.
pub(crate) fn symbols(nodes: Nodes, text: &str) -> Vec<Symbol> {
    let lines = Lines::of(text);
    let leads = Leads::of(&nodes.leads, text, &lines);
    let mut found = nodes.symbols;
    found.sort_by(|a, b| (a.range.start, b.range.end).cmp(&(b.range.start, a.range.end)));
    let mut open: Vec<Scope> = Vec::new();
    let mut symbols = Vec::new();
    for node in &found {
        // Several names of one declaration are siblings, although they have the same range.
        while open.last().is_some_and(|scope| scope.range.end <= node.range.start || scope.range == node.range) {
            open.pop();
        }
        let Some(name) = clean(&node.name) else { continue };
        let parent = open.last();
        if is_repeated(node, &name, parent) {
            continue;
        }
        let above = parent.map(|scope| scope.path.as_str()).unwrap_or_default();
        let owner = node.owner.as_deref().and_then(clean).unwrap_or_default();
        let path = [above, &owner, &name].into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(".");
        if let Some(kind) = node.kind {
            symbols.push(symbol(kind_in(kind, &node.name, parent), path.clone(), &node.range, &lines, &leads));
        }
        open.push(Scope { range: node.range.clone(), path, name, kind: node.kind });
    }
    without_declared(&mut symbols);
    number(&mut symbols);
    symbols
}

/// A scope around a node.
struct Scope {
    range: Range<usize>,
    path: String,
    name: String,
    kind: Option<SymbolKind>,
}

/// Whether a node repeats its parent. `typedef struct a { } a;` is one symbol, and so are two names for one node.
fn is_repeated(node: &FoundSymbol, name: &str, parent: Option<&Scope>) -> bool {
    let same = |scope: &Scope| scope.kind == Some(SymbolKind::Type) && scope.name == name;
    node.kind.is_some() && parent.is_some_and(same)
}

/// The kind of a symbol within its parent: a function of a type is a method.
fn kind_in(kind: SymbolKind, written: &str, parent: Option<&Scope>) -> SymbolKind {
    use SymbolKind::{Class, Enum, Function, Interface, Method, Struct, Trait, Union};
    let of_type = parent.is_some_and(|scope| {
        scope.kind.is_none_or(|kind| matches!(kind, Class | Enum | Interface | Struct | Trait | Union))
    });
    if kind == Function && (of_type || written.contains("::")) { Method } else { kind }
}

fn symbol(kind: SymbolKind, path: String, range: &Range<usize>, lines: &Lines<'_>, leads: &Leads) -> Symbol {
    let range = leads.behind(lines.trimmed(range), lines);
    let first = lines.line_of(range.start);
    Symbol {
        path,
        number: 0,
        kind,
        first,
        last: lines.line_of(range.end.saturating_sub(1).max(range.start)),
        outer_first: leads.above(first),
        start: range.start,
        end: range.end,
    }
}

/// Removes declarations of symbols that the file also defines.
fn without_declared(symbols: &mut Vec<Symbol>) {
    let is_declaration = |symbol: &Symbol| symbol.kind == SymbolKind::Declaration;
    let defined: BTreeSet<String> =
        symbols.iter().filter(|symbol| !is_declaration(symbol)).map(|symbol| symbol.path.clone()).collect();
    symbols.retain(|symbol| !is_declaration(symbol) || !defined.contains(&symbol.path));
}

fn number(symbols: &mut [Symbol]) {
    let mut seen: BTreeMap<String, u32> = BTreeMap::new();
    for symbol in symbols.iter() {
        *seen.entry(symbol.path.clone()).or_insert(0) += 1;
    }
    seen.retain(|_, count| *count > 1);
    for symbol in symbols.iter_mut().rev() {
        if let Some(left) = seen.get_mut(&symbol.path) {
            symbol.number = *left;
            *left = left.saturating_sub(1);
        }
    }
}

/// A name as a part of a path: without type arguments, quotes and blanks. `::` becomes a dot.
fn clean(written: &str) -> Option<String> {
    if written.chars().nth(LONGEST_NAME).is_some() {
        return None;
    }
    let (plain, operator) = match written.find("operator") {
        Some(at) => written.split_at_checked(at).unwrap_or((written, "")),
        None => (written, ""),
    };
    let mut depth = 0_u32;
    let mut name = String::with_capacity(written.len());
    for character in plain.chars() {
        match character {
            '<' => depth += 1,
            '>' => depth = depth.saturating_sub(1),
            character if depth > 0 || character.is_whitespace() || matches!(character, '"' | '\'') => {}
            character => name.push(character),
        }
    }
    // `operator()` is a name; what follows the type of a conversion is not part of it.
    let end = operator.find('(').filter(|_| !operator.starts_with("operator()")).unwrap_or(operator.len());
    name.extend(operator.get(..end).unwrap_or(operator).split_whitespace());
    let name = name.replace("::", ".");
    let name = name.trim_matches('.').to_owned();
    if name.is_empty() { None } else { Some(name) }
}

/// The lines of a text by byte.
struct Lines<'a> {
    text: &'a str,
    starts: Vec<usize>,
}

impl<'a> Lines<'a> {
    fn of(text: &'a str) -> Self {
        Self { text, starts: std::iter::once(0).chain(text.match_indices('\n').map(|(at, _)| at + 1)).collect() }
    }

    /// 1-based.
    fn line_of(&self, at: usize) -> u32 {
        u32::try_from(self.starts.partition_point(|start| *start <= at)).unwrap_or(u32::MAX)
    }

    fn start(&self, line: u32) -> usize {
        let index = usize::try_from(line).unwrap_or(usize::MAX).saturating_sub(1);
        self.starts.get(index).copied().unwrap_or(self.text.len())
    }

    /// A node without the blanks at its end, because some grammars include a line end.
    fn trimmed(&self, range: &Range<usize>) -> Range<usize> {
        let length = self.text.get(range.clone()).map_or(range.len(), |text| text.trim_end().len());
        range.start..range.start.saturating_add(length)
    }

    fn is_blank(&self, range: Range<usize>) -> bool {
        self.text.get(range).is_some_and(|text| text.trim().is_empty())
    }
}

/// Comments, attributes and decorators.
struct Leads {
    /// For each one that has its lines to itself: the line below it, and its first line.
    above: BTreeMap<u32, u32>,
    /// End by start, in bytes.
    ends: BTreeMap<usize, usize>,
}

impl Leads {
    fn of(ranges: &[Range<usize>], text: &str, lines: &Lines<'_>) -> Self {
        let mut leads = Self { above: BTreeMap::new(), ends: BTreeMap::new() };
        for range in ranges {
            let range = lines.trimmed(range);
            leads.ends.insert(range.start, range.end);
            let first = lines.line_of(range.start);
            let last = lines.line_of(range.end.saturating_sub(1).max(range.start));
            let behind = lines.start(last.saturating_add(1)).min(text.len());
            if lines.is_blank(lines.start(first)..range.start) && lines.is_blank(range.end..behind) {
                let known = leads.above.entry(last.saturating_add(1)).or_insert(first);
                *known = first.min(*known);
            }
        }
        leads
    }

    /// The range without the decorators at its start.
    fn behind(&self, range: Range<usize>, lines: &Lines<'_>) -> Range<usize> {
        let mut start = range.start;
        while let Some(end) = self.ends.get(&start).filter(|end| **end < range.end) {
            let rest = lines.text.get(*end..range.end).unwrap_or_default();
            start = end + (rest.len() - rest.trim_start().len());
            if start <= *end && rest.is_empty() {
                break;
            }
        }
        start..range.end
    }

    /// The first line of what is directly above a line, without a gap. Returns the line itself if there is nothing.
    fn above(&self, line: u32) -> u32 {
        let mut first = line;
        while let Some(lead) = self.above.get(&first) {
            first = *lead;
        }
        first
    }
}
