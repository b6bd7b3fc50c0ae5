//! Symbols of code files, and the fragments that name them (spec 5.3). The shell finds symbols in a text.

use std::ops::Range;

use serde::{Deserialize, Serialize};

/// The kind of a piece of code, for colouring.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Token {
    /// A word of the language.
    Keyword,
    /// A string.
    Text,
    /// A comment.
    Comment,
    /// A number, or another constant of the language.
    Number,
    /// The name of a type.
    Type,
}

/// A coloured piece of code, by its bytes.
pub type Coloured = (Range<usize>, Token);

/// The kind of a symbol.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SymbolKind {
    /// A function that belongs to no type.
    Function,
    /// A function of a type, constructors included.
    Method,
    /// A class.
    Class,
    /// A structure or record.
    Struct,
    /// An enumeration.
    Enum,
    /// A union.
    Union,
    /// A trait.
    Trait,
    /// An interface.
    Interface,
    /// A name for a type.
    Type,
    /// A constant.
    Constant,
    /// A variable.
    Variable,
    /// A module or namespace.
    Module,
    /// A macro.
    Macro,
    /// A signature without a body.
    Declaration,
}

impl SymbolKind {
    /// All kinds.
    pub const ALL: &'static [Self] = &[
        Self::Function,
        Self::Method,
        Self::Class,
        Self::Struct,
        Self::Enum,
        Self::Union,
        Self::Trait,
        Self::Interface,
        Self::Type,
        Self::Constant,
        Self::Variable,
        Self::Module,
        Self::Macro,
        Self::Declaration,
    ];

    /// Its word, as queries and outlines write it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Function => "function",
            Self::Method => "method",
            Self::Class => "class",
            Self::Struct => "struct",
            Self::Enum => "enum",
            Self::Union => "union",
            Self::Trait => "trait",
            Self::Interface => "interface",
            Self::Type => "type",
            Self::Constant => "constant",
            Self::Variable => "variable",
            Self::Module => "module",
            Self::Macro => "macro",
            Self::Declaration => "declaration",
        }
    }
}

/// A symbol of a code file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Symbol {
    /// Full path, such as `Type.method`. In the implementation of a trait, the trait comes first: `Display.Type.fmt`.
    pub path: String,
    /// Counted from 1 in file order among symbols with the same path. 0 if it is the only one.
    pub number: u32,
    /// What it is.
    pub kind: SymbolKind,
    /// 1-based first line.
    pub first: u32,
    /// 1-based last line.
    pub last: u32,
    /// First line of the comment, attributes or decorators directly above it. `first` if there are none.
    pub outer_first: u32,
    /// First byte.
    pub start: usize,
    /// The byte behind it.
    pub end: usize,
}

impl Symbol {
    /// A name that is unique in the file: the path, with a number if it repeats.
    pub fn name(&self) -> String {
        if self.number == 0 { self.path.clone() } else { format!("{}-{}", self.path, self.number) }
    }
}

/// The symbol that a fragment names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SymbolMatch<'a> {
    /// Exactly one.
    One(&'a Symbol),
    /// Several fit equally.
    Several(Vec<&'a Symbol>),
    /// No symbol fits.
    None,
}

/// The symbol that `wanted` names: by its full path, else by a suffix of whole parts; first as written, then ignoring
/// case. The first rule that finds anything decides.
pub fn find_symbol<'a>(symbols: &'a [Symbol], wanted: &str) -> SymbolMatch<'a> {
    for fold in [false, true] {
        for whole in [true, false] {
            let found: Vec<&Symbol> = symbols.iter().filter(|symbol| fits(symbol, wanted, whole, fold)).collect();
            match found.as_slice() {
                [] => {}
                [only] => return SymbolMatch::One(only),
                _ => return SymbolMatch::Several(found),
            }
        }
    }
    SymbolMatch::None
}

/// Whether the symbol path `full` ends with `wanted`, by whole parts.
pub fn is_symbol_suffix(wanted: &str, full: &str) -> bool {
    let wanted: Vec<&str> = parts(wanted).collect();
    !wanted.is_empty() && parts(full).collect::<Vec<_>>().ends_with(&wanted)
}

fn fits(symbol: &Symbol, wanted: &str, whole: bool, fold: bool) -> bool {
    let case = |text: &str| if fold { text.to_lowercase() } else { text.to_owned() };
    let (wanted, path) = (case(wanted), case(&symbol.path));
    let wanted: Vec<&str> = parts(&wanted).collect();
    let full: Vec<&str> = parts(&path).collect();
    let number = symbol.number.to_string();
    let ends = |full: &[&str], wanted: &[&str]| {
        !wanted.is_empty() && full.ends_with(wanted) && (!whole || full.len() == wanted.len())
    };
    ends(&full, &wanted)
        || symbol.number > 0 && wanted.split_last().is_some_and(|(last, stem)| **last == *number && ends(&full, stem))
}

/// The parts of a written symbol path. `::`, `.` and `-` separate them; the brackets of a call are ignored.
fn parts(path: &str) -> impl Iterator<Item = &str> {
    let path = path.trim().trim_start_matches('#').trim_end_matches("()");
    path.split("::").flat_map(|part| part.split(['.', '-'])).map(str::trim).filter(|part| !part.is_empty())
}

#[cfg(test)]
mod tests {
    use super::{Symbol, SymbolKind, SymbolMatch, find_symbol, is_symbol_suffix};

    fn symbols(paths: &[(&str, u32)]) -> Vec<Symbol> {
        let symbol = |(path, number): &(&str, u32)| Symbol {
            path: (*path).to_owned(),
            number: *number,
            kind: SymbolKind::Function,
            first: 1,
            last: 1,
            outer_first: 1,
            start: 0,
            end: 0,
        };
        paths.iter().map(symbol).collect()
    }

    fn found(all: &[Symbol], wanted: &str) -> String {
        match find_symbol(all, wanted) {
            SymbolMatch::One(symbol) => symbol.name(),
            SymbolMatch::Several(several) => several.iter().map(|symbol| symbol.name()).collect::<Vec<_>>().join(" | "),
            SymbolMatch::None => "none".to_owned(),
        }
    }

    /// covers: 5.3
    #[test]
    fn a_symbol_is_named_by_its_path_or_a_unique_suffix() {
        let all = symbols(&[
            ("run", 0),
            ("net.Server.run", 0),
            ("net.Client.run", 0),
            ("Display.Server.fmt", 0),
            ("Debug.Server.fmt", 0),
            ("Widget.draw", 1),
            ("Widget.draw", 2),
            ("Widget", 0),
            ("widget", 0),
        ]);
        for (wanted, name) in [
            ("run", "run"),
            ("Server.run", "net.Server.run"),
            ("Server::run", "net.Server.run"),
            ("net-Client-run", "net.Client.run"),
            ("#Client.run()", "net.Client.run"),
            ("Server.fmt", "Display.Server.fmt | Debug.Server.fmt"),
            ("Debug.Server.fmt", "Debug.Server.fmt"),
            ("draw", "Widget.draw-1 | Widget.draw-2"),
            ("Widget.draw", "Widget.draw-1 | Widget.draw-2"),
            ("Widget.draw-2", "Widget.draw-2"),
            ("draw.1", "Widget.draw-1"),
            ("Widget", "Widget"),
            ("widget", "widget"),
            ("WIDGET", "Widget | widget"),
            ("SERVER.RUN", "net.Server.run"),
            ("erver.run", "none"),
            ("draw.3", "none"),
            ("", "none"),
            ("::.-", "none"),
        ] {
            assert_eq!(found(&all, wanted), name, "{wanted}");
        }
    }

    #[test]
    fn a_suffix_is_of_whole_parts() {
        assert!(is_symbol_suffix("B::run", "A.B.run") && is_symbol_suffix("run-1", "A.run-1"));
        assert!(
            !is_symbol_suffix("un", "A.run") && !is_symbol_suffix("", "A.run") && !is_symbol_suffix("x.A.run", "A.run")
        );
    }
}
