//! Changes of files in the form in which a model or a tool gives them.

use callsheet_core::issue::Span;
use serde::{Deserialize, Serialize};

/// Where a symbol change goes (spec 3.9).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SymbolPosition {
    /// Replaces the symbol or the heading's section.
    #[default]
    Replace,
    /// With its comment.
    ReplaceWithComment,
    /// Above its comment.
    Before,
    /// Below it.
    After,
    /// Taken away.
    Remove,
}

/// The four ways to address a change (spec 3.9), and deletion of a file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ChangeWay {
    /// `old` must occur exactly once. Neither text includes the ending of its last line, so a text that ends with a
    /// line break ends with a blank line.
    Excerpt {
        /// Text to find.
        old: String,
        /// The replacement.
        new: String,
    },
    /// 1-based, inclusive; `last == first - 1` inserts before `first`.
    Lines {
        /// First line.
        first: u32,
        /// Last line.
        last: u32,
        /// New text. Empty to delete the lines.
        new: String,
    },
    /// The complete file.
    Whole {
        /// Its content.
        content: String,
        /// Whether an existing file may be replaced.
        overwrite: bool,
    },
    /// The file is deleted.
    Delete,
    /// Addresses a heading of a Markdown file or a symbol of a code file.
    Symbol {
        /// Fragment of spec 5.3.
        path: String,
        /// The position relative to the symbol.
        location: SymbolPosition,
        /// New text. `None` for `Remove`.
        new: Option<String>,
    },
}

/// One change of a reply or tool call.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Change {
    /// Path relative to the project root.
    pub path: String,
    /// How it is addressed.
    pub way: ChangeWay,
    /// Lines of the reply it came from.
    pub span: Span,
}
