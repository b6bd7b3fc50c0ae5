//! What people see: a full screen or plain lines on stderr, JSON lines on stdout, and questions at the terminal. Only
//! [`Words`] are printed, so text from models, tools and files must pass its door.

mod always;
mod bar;
mod hunks;
mod json;
mod out;
mod pager;
mod person;
mod piped;
mod plain;
mod safe;
#[cfg(feature = "share")]
mod secret;
mod words;

pub use bar::Bar;
pub use callsheet_core::view::state_mark;
pub use hunks::{edit_file, edit_hunk, hunk_of, hunk_to_edit};
pub use json::JsonLines;
pub use out::Words;
pub(crate) use out::{print_relayed, to_viewer};
pub use pager::page;
pub use person::{Decision, TerminalPerson, gate_text};
pub use piped::{Piped, piped};
pub use plain::{Notices, PlainLines};
pub use safe::{harmless, one_line};
#[cfg(feature = "share")]
pub use secret::ask_secret;
pub use words::{dollars, duration, outcome_words, picture_words, sentence, thousands, window_words};

use std::io::IsTerminal;

/// Whether stdin and stderr are both a terminal.
pub fn is_interactive() -> bool {
    std::io::stdin().is_terminal() && std::io::stderr().is_terminal()
}

/// Whether somebody is at this terminal, or at that of a viewer.
pub fn is_attended() -> bool {
    is_interactive() || crate::relay::is_on()
}

/// Whether the terminal can show a full screen and somebody is there.
pub fn has_screen() -> bool {
    is_interactive() && std::env::var_os("TERM").is_some_and(|name| !name.is_empty() && name != "dumb")
}

/// Whether to use colours on stderr.
pub fn colours() -> bool {
    std::io::stderr().is_terminal()
        && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty())
        && std::env::var_os("TERM").is_none_or(|term| term != "dumb")
}
