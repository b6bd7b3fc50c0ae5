//! Command lines without a shell: split into words by quotes and backslash before filling (spec 2.4).

use callsheet_core::template::{Code, Command, Filled, Piece};

use crate::template::report::Draft;
use crate::template::xml::Mapped;

use super::Reader;

/// Characters that only mean something to a shell.
const SHELL: &[char] = &['|', ';', '&', '<', '>', '`'];

/// Reports what only a shell would understand.
pub(super) fn check(reader: &mut Reader<'_>, value: &Mapped) {
    let text = value.as_str();
    let (_, faults) = words(text);
    for (at, length, message) in faults {
        let found = text.get(at..at + length).unwrap_or_default();
        let draft = Draft::new(Code::T055, value.span(at, at + length), message).found(found);
        reader.add(draft.advice("commands run without a shell: quote it, or put the steps into a script file"));
    }
}

/// The words of a command line.
pub(in crate::template) fn split(text: &str) -> Command {
    Command { words: words(text).0 }
}

type Faults = Vec<(usize, usize, String)>;

fn words(text: &str) -> (Vec<Filled>, Faults) {
    let places = Filled::read(text).1;
    let mut splitter = Splitter::default();
    let mut faults = Faults::new();
    let mut quote: Option<(char, usize)> = None;
    let mut escaped = false;
    let mut behind = 0;
    let mut next = places.iter().filter(|written| written.path.is_some()).peekable();
    for (at, character) in text.char_indices() {
        if at < behind {
            continue;
        }
        if let Some(written) = next.next_if(|written| written.start == at) {
            if let Some(path) = written.path.clone() {
                splitter.place(path);
            }
            behind = written.end;
            escaped = false;
            continue;
        }
        if text.get(at..).is_some_and(|rest| rest.starts_with("{{{{")) {
            splitter.text("{{");
            behind = at + 4;
            escaped = false;
            continue;
        }
        match (quote, character) {
            _ if escaped => {
                escaped = false;
                splitter.character(character);
            }
            (None | Some(('"', _)), '\\') => escaped = true,
            (Some((open, _)), _) if open == character => quote = None,
            (Some(_), _) => splitter.character(character),
            (None, '"' | '\'') => {
                quote = Some((character, at));
                splitter.begin();
            }
            (None, ' ' | '\t' | '\n' | '\r') => splitter.end(),
            (None, _) => {
                let dollar = character == '$' && text.get(at + 1..).is_some_and(|rest| rest.starts_with('('));
                if SHELL.contains(&character) || dollar {
                    let length = if dollar { 2 } else { character.len_utf8() };
                    faults.push((at, length, "this needs a shell, but commands run without one".to_owned()));
                }
                splitter.character(character);
            }
        }
    }
    if let Some((_, at)) = quote {
        faults.push((at, 1, "this quote is not closed".to_owned()));
    }
    splitter.end();
    (splitter.words, faults)
}

#[derive(Default)]
struct Splitter {
    words: Vec<Filled>,
    word: Option<Vec<Piece>>,
}

impl Splitter {
    fn begin(&mut self) -> &mut Vec<Piece> {
        self.word.get_or_insert_with(Vec::new)
    }

    fn text(&mut self, text: &str) {
        match self.begin().last_mut() {
            Some(Piece::Literal(last)) => last.push_str(text),
            _ => self.begin().push(Piece::Literal(text.to_owned())),
        }
    }

    fn character(&mut self, character: char) {
        self.text(character.encode_utf8(&mut [0; 4]));
    }

    fn place(&mut self, path: callsheet_core::template::Path) {
        self.begin().push(Piece::Placeholder(path, Default::default()));
    }

    fn end(&mut self) {
        if let Some(word) = self.word.take() {
            self.words.push(Filled::from_pieces(word));
        }
    }
}
