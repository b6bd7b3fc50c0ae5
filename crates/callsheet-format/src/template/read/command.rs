//! Command lines without a shell. Quotes and backslashes split them into words before placeholders are filled (spec
//! 2.4).

use callsheet_core::template::{Bytes, Code, Command, Filled, Piece};

use crate::template::report::Draft;
use crate::template::xml::Mapped;

use super::Reader;

/// Characters that have a meaning only for a shell.
const SHELL: &[char] = &['|', ';', '&', '<', '>', '`'];

/// Reports what only a shell would interpret.
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
    Command { words: words(text).0.into_iter().map(|word| word.text).collect() }
}

/// A word of a command line.
pub(super) struct Word {
    pub(super) text: Filled,
    /// The first byte, and the byte after the last.
    start: usize,
    end: usize,
    /// Whether it contains quotes or a backslash.
    quoted: bool,
}

/// The words of a command line without quotes and backslashes, which a shell would interpret, with their places.
pub(super) fn unquoted(value: &Mapped) -> Vec<(Filled, Bytes)> {
    let words = words(value.as_str()).0.into_iter();
    // Quoted words are kept as the predecessors of the next words.
    words
        .map(|word| (if word.quoted { Filled::default() } else { word.text }, value.span(word.start, word.end)))
        .collect()
}

/// Programs whose words are patterns that they expand themselves.
const READ_PATTERNS: [&str; 12] =
    ["find", "fd", "git", "rg", "grep", "egrep", "sed", "awk", "jq", "expr", "tar", "zip"];

/// Reports words that a shell would expand and that a program gets as written (T526). In a line, T055 reports what only a
/// shell would interpret.
pub(super) fn unexpanded(reader: &mut Reader<'_>, words: &[(Filled, Bytes)], is_line: bool) {
    let program = words.first().and_then(|(word, _)| word.as_literal()).unwrap_or_default();
    let program = program.rsplit('/').next().unwrap_or_default();
    let mut before = "";
    for (word, span) in words {
        let text = word.to_string();
        let advice = match (is_glob(&text) || has_alternatives(&text), text == "~" || text.starts_with("~/")) {
            (_, true) => "write the path out, or take it as an input",
            (true, _) if READ_PATTERNS.contains(&program) || before.starts_with("--") => "",
            (true, _) => "name the files, or run the command for each file of a list",
            _ if !is_line && !text.is_empty() && text.chars().all(|c| SHELL.contains(&c)) => {
                "run each command as a task of its own, or put the line into a script file"
            }
            _ if !is_line && is_substitution(&text) && !READ_PATTERNS.contains(&program) => {
                "write the value, take it as an input, or run the command as a task of its own"
            }
            _ => "",
        };
        if !advice.is_empty() {
            let message = format!("no shell expands `{text}` here, so the program gets it as it is");
            reader.add(Draft::new(Code::T526, *span, message).found(&text).advice(advice));
        }
        before = word.as_literal().unwrap_or_default();
    }
}

/// Whether a word begins like a variable or a command that a shell replaces.
fn is_substitution(word: &str) -> bool {
    let rest = word.strip_prefix('$').and_then(|rest| rest.chars().next());
    rest.is_some_and(|next| next == '(' || next == '{' || next == '_' || next.is_ascii_alphabetic())
}

/// Whether a word is a path with a star.
fn is_glob(word: &str) -> bool {
    word.contains('*') && is_path(word)
}

/// Whether a word is a path with alternatives: `src/{net,poll}.rs`.
fn has_alternatives(word: &str) -> bool {
    let mut groups = word.split('{').skip(1).filter_map(|rest| rest.split_once('}'));
    groups.any(|(inside, _)| inside.contains(',')) && is_path(word)
}

/// Whether a word may be a path. Code, addresses and options contain other characters.
fn is_path(word: &str) -> bool {
    let in_paths = |c: char| c.is_alphanumeric() || "_-./*?[]{},~".contains(c);
    !word.starts_with('-') && word.chars().all(in_paths)
}

type Faults = Vec<(usize, usize, String)>;

fn words(text: &str) -> (Vec<Word>, Faults) {
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
        splitter.at = at;
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
            (None | Some(('"', _)), '\\') => {
                escaped = true;
                splitter.quoted = true;
            }
            (Some((open, _)), _) if open == character => quote = None,
            (Some(_), _) => splitter.character(character),
            (None, '"' | '\'') => {
                quote = Some((character, at));
                splitter.begin();
                splitter.quoted = true;
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
    splitter.at = text.len();
    splitter.end();
    (splitter.words, faults)
}

#[derive(Default)]
struct Splitter {
    words: Vec<Word>,
    word: Option<Vec<Piece>>,
    at: usize,
    start: usize,
    quoted: bool,
}

impl Splitter {
    fn begin(&mut self) -> &mut Vec<Piece> {
        if self.word.is_none() {
            self.start = self.at;
        }
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
            let (start, end, quoted) = (self.start, self.at, self.quoted);
            self.words.push(Word { text: Filled::from_pieces(word), start, end, quoted });
        }
        self.quoted = false;
    }
}
