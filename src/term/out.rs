//! The printers of a terminal. They accept only [`Words`], in which foreign text has passed the door.

use std::io::{self, Write};

use callsheet_runtime::shown::Shown;
use console::Style;

use crate::relay::{self, Relayed};

/// Prints the output of a run's driver. It passed the door there.
pub(crate) fn print_relayed(relayed: &Relayed) {
    let printed = match relayed {
        Relayed::Out(text) => Words(text.clone()).print(),
        Relayed::Err(text) => {
            Words(text.clone()).tell();
            Ok(())
        }
        _ => Ok(()),
    };
    // A reader that went away is not a failure of the run.
    drop(printed);
}

/// Prints a line for the viewer of this process, which prints its content.
pub(crate) fn to_viewer(line: &str) {
    let mut out = io::stdout().lock();
    // A viewer that has ended does not read it.
    let _closed = writeln!(out, "{line}").and_then(|()| out.flush());
}

/// Words for a terminal. They contain no escape sequences except those of their own colours.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Words(String);

impl From<Shown> for Words {
    fn from(text: Shown) -> Self {
        Self(text.into_string())
    }
}

impl Words {
    /// Words from any text.
    pub fn of(text: &str) -> Self {
        Shown::text(text).into()
    }

    /// Appends text.
    pub fn push_str(&mut self, text: &str) {
        self.0.push_str(Shown::text(text).as_str());
    }

    /// Appends words with their colours.
    pub fn append(&mut self, words: &Self) {
        self.0.push_str(&words.0);
    }

    /// Appends text in a colour.
    pub fn paint(&mut self, text: &str, style: Style) {
        self.0.push_str(&style.force_styling(true).apply_to(Shown::text(text)).to_string());
    }

    /// The words as they are printed.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Prints to stdout.
    ///
    /// # Errors
    /// The error of the operating system.
    pub fn print(&self) -> io::Result<()> {
        if relay::is_on() {
            relay::tell(&Relayed::Out(self.0.clone()));
            return Ok(());
        }
        let mut out = io::stdout().lock();
        out.write_all(self.0.as_bytes()).and_then(|()| out.flush())
    }

    /// Prints to stderr for the person. If nobody listens any more, this is not a failure of the command.
    pub fn tell(&self) {
        if relay::is_on() {
            return relay::tell(&Relayed::Err(self.0.clone()));
        }
        let mut out = io::stderr().lock();
        let _closed = out.write_all(self.0.as_bytes()).and_then(|()| out.flush());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_own_colours_are_escapes() {
        let mut words = Words::of("a\u{1b}[31m\n");
        words.paint("b\u{1b}[0mc", Style::new().red());
        words.append(&Words::of("\u{9b}"));
        assert_eq!(words.as_str(), "a<U+001B>[31m\n\u{1b}[31mb<U+001B>[0mc\u{1b}[0m<U+009B>");
    }
}
