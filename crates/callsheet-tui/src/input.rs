//! A text that a person types, usually of one line.

use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use unicode_segmentation::UnicodeSegmentation;

use crate::text;

/// The largest number of bytes in a typed text.
const LONGEST: usize = 8_000;

/// A text with a cursor.
#[derive(Default)]
pub struct Input {
    before: String,
    after: String,
}

/// The effect of a key on a line.
pub enum Typed {
    /// Typing goes on.
    On,
    /// The person has finished the line.
    Done,
    /// The person has cancelled the line.
    Left,
}

impl Input {
    /// A line that already contains a text.
    pub fn with(text: &str) -> Self {
        let mut input = Self::default();
        input.insert(text);
        input
    }

    /// The whole line.
    pub fn text(&self) -> String {
        format!("{}{}", self.before, self.after)
    }

    /// Inserts text at the cursor. Tabs become blanks, and invisible characters are dropped.
    pub fn insert(&mut self, text: &str) {
        let room = LONGEST.saturating_sub(self.before.len() + self.after.len());
        let text = text.replace("\r\n", "\n").replace('\r', "\n").replace('\t', " ");
        let mut put = 0;
        for c in text.chars().filter(|c| *c == '\n' || !c.is_control()) {
            put += c.len_utf8();
            if put > room {
                return;
            }
            self.before.push(c);
        }
    }

    /// Handles a key.
    pub fn key(&mut self, key: KeyEvent) -> Typed {
        let control = key.modifiers.contains(KeyModifiers::CONTROL);
        let alt = key.modifiers.contains(KeyModifiers::ALT);
        match key.code {
            KeyCode::Enter if alt => self.insert("\n"),
            KeyCode::Char('j') if control => self.insert("\n"),
            KeyCode::Enter => return Typed::Done,
            KeyCode::Esc => return Typed::Left,
            KeyCode::Char('u') if control => self.before.clear(),
            KeyCode::Char('k') if control => self.after.clear(),
            KeyCode::Char('w') if control => self.word_back(),
            KeyCode::Char('a') if control => self.home(),
            KeyCode::Char('e') if control => self.end(),
            KeyCode::Char(c) if !control && !alt => {
                self.insert(c.encode_utf8(&mut [0; 4]));
            }
            KeyCode::Backspace => drop(self.last()),
            KeyCode::Delete => drop(self.first()),
            KeyCode::Left => {
                let last = self.last();
                self.after.insert_str(0, &last);
            }
            KeyCode::Right => {
                let first = self.first();
                self.before.push_str(&first);
            }
            KeyCode::Home => self.home(),
            KeyCode::End => self.end(),
            _ => {}
        }
        Typed::On
    }

    fn home(&mut self) {
        self.after.insert_str(0, &std::mem::take(&mut self.before));
    }

    fn end(&mut self) {
        self.before.push_str(&std::mem::take(&mut self.after));
    }

    fn word_back(&mut self) {
        let kept = self.before.trim_end().rfind([' ', '\n']).map_or(0, |at| at + 1);
        self.before.truncate(kept);
    }

    /// Removes the character before the cursor.
    fn last(&mut self) -> String {
        let at = self.before.grapheme_indices(true).next_back().map_or(0, |(at, _)| at);
        self.before.split_off(at)
    }

    /// Removes the character after the cursor.
    fn first(&mut self) -> String {
        let end = self.after.graphemes(true).next().map_or(0, str::len);
        let rest = self.after.split_off(end);
        std::mem::replace(&mut self.after, rest)
    }

    /// The visible part of the text in so many cells of one line, and the cell of the cursor. A mark stands for a line
    /// break.
    pub fn window(&self, cells: usize) -> (String, usize) {
        let shown = |part: &str| text::clean(&part.replace('\n', "⏎"));
        let (before, after) = (shown(&self.before), shown(&self.after));
        let mut used = 0;
        let mut kept: Vec<&str> = Vec::new();
        for part in before.graphemes(true).rev() {
            used += text::width(part);
            if used >= cells {
                break;
            }
            kept.push(part);
        }
        let left: String = kept.into_iter().rev().collect();
        let place = text::width(&left);
        (text::cut(&format!("{left}{after}"), cells), place)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn press(input: &mut Input, code: KeyCode) {
        input.key(KeyEvent::from(code));
    }

    #[test]
    fn typing_and_erasing() {
        let mut input = Input::with("wrong file");
        press(&mut input, KeyCode::Backspace);
        press(&mut input, KeyCode::Left);
        press(&mut input, KeyCode::Char('漢'));
        press(&mut input, KeyCode::Delete);
        assert_eq!(input.text(), "wrong fi漢");
        input.key(KeyEvent::new(KeyCode::Char('w'), KeyModifiers::CONTROL));
        assert_eq!(input.text(), "wrong ");
        press(&mut input, KeyCode::Home);
        input.insert("a\tb\u{1b}[2J");
        assert_eq!(input.text(), "a b[2Jwrong ");
    }

    #[test]
    fn a_line_break_is_inserted_by_a_key_and_stays_in_what_is_pasted() {
        let mut input = Input::with("a: x");
        input.key(KeyEvent::new(KeyCode::Char('j'), KeyModifiers::CONTROL));
        input.insert("b: y\r\nc: z\r");
        input.key(KeyEvent::new(KeyCode::Enter, KeyModifiers::ALT));
        assert_eq!(input.text(), "a: x\nb: y\nc: z\n\n");
        assert_eq!(input.window(40).0, "a: x⏎b: y⏎c: z⏎⏎");
        assert!(matches!(input.key(KeyEvent::from(KeyCode::Enter)), Typed::Done));
    }

    #[test]
    fn a_long_line_shows_where_one_types() {
        let input = Input::with(&"漢字 and more ".repeat(40));
        for cells in 1..60 {
            let (seen, place) = input.window(cells);
            assert!(text::width(&seen) <= cells && place < cells.max(1), "{cells}: {seen}");
        }
    }
}
