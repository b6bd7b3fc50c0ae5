//! Untrusted text on a terminal.

pub use callsheet_app::one_line;
use callsheet_core::visible::hidden_count;
use callsheet_runtime::shown::Shown;

/// Replaces invisible characters, including escape sequences, by visible marks, and known keys by their names.
/// Newlines and tabs stay. Printers already do this for everything that they print.
pub fn harmless(text: &str) -> String {
    Shown::text(text).into_string()
}

/// Shows text that a person must approve. Every hidden character is shown and counted, including those in emoji.
#[derive(Default)]
pub(super) struct Exact {
    hidden: usize,
}

impl Exact {
    /// The text with its marks.
    pub(super) fn show(&mut self, text: &str) -> String {
        self.count(text);
        Shown::exact(text).into_string()
    }

    /// Counts the hidden characters of a text that is shown elsewhere.
    pub(super) fn count(&mut self, text: &str) {
        self.hidden += hidden_count(text);
    }

    /// A warning about hidden characters. Empty if there are none.
    pub(super) fn told(&self) -> String {
        match self.hidden {
            0 => String::new(),
            1 => "1 hidden character is shown as <U+...>.\n".to_owned(),
            count => format!("{count} hidden characters are shown as <U+...>.\n"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escapes_become_visible() {
        assert_eq!(harmless("a\u{1b}[2Jb\r\n\u{9b}31m"), "a<U+001B>[2Jb␍\n<U+009B>31m");
        assert_eq!(harmless("safe\u{202e}txet"), "safe<U+202E>txet");
    }

    #[test]
    fn long_lines_are_cut_at_characters() {
        assert_eq!(one_line("äöü\nß", 4), "äöü…");
        assert_eq!(one_line(" a \n b ", 9), "a b");
    }
}
