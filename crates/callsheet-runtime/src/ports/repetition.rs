//! Detects replies that only repeat themselves. Small models fall into a loop that only their length limit ends,
//! minutes later. Either way the reply is lost.

/// How many bytes at the end of a text must repeat one piece.
const REPEATED: usize = 1_500;

/// The longest such piece in bytes.
const PIECE: usize = 150;

/// How many consecutive lines may say the same, apart from numbers.
const SAME_LINES: usize = 40;

/// Shortest such line in letters. Short rows of a table may well have the same words.
const LETTERS: usize = 24;

/// How many bytes at the end must repeat a longer piece.
const LONG: usize = 6_000;

/// Watches a text while it is written.
#[derive(Clone, Debug, Default)]
pub struct Repetition {
    /// The last bytes, at most [`LONG`].
    end: Vec<u8>,
    /// The current line.
    line: String,
    /// The letters of the last line, and how many consecutive lines had them.
    same: (String, usize),
}

impl Repetition {
    /// Adds text. Returns true as soon as the text only repeats itself: a short piece at least ten times, a longer one
    /// four times, or lines that differ only in numbers.
    pub fn push(&mut self, text: &str) -> bool {
        self.end.extend_from_slice(text.as_bytes());
        let surplus = self.end.len().saturating_sub(LONG);
        self.end.drain(..surplus);
        let short = self.end.len().saturating_sub(REPEATED);
        let short = self.end.get(short..).filter(|end| end.len() == REPEATED);
        let is_short = short.is_some_and(|end| (1..=PIECE).any(|piece| repeats(end, piece)));
        let ends_line = text.contains('\n');
        // A longer piece is searched only at line ends, because that costs more.
        let is_long =
            || ends_line && self.end.len() == LONG && (PIECE + 1..=LONG / 4).any(|piece| repeats(&self.end, piece));
        is_short || is_long() || self.follows_lines(text)
    }

    fn follows_lines(&mut self, text: &str) -> bool {
        for piece in text.split_inclusive('\n') {
            self.line.push_str(piece);
            if !piece.ends_with('\n') {
                continue;
            }
            let letters: String = self.line.chars().filter(|c| c.is_alphabetic()).collect();
            self.line.clear();
            if letters.is_empty() {
                continue;
            }
            if letters == self.same.0 {
                self.same.1 += 1;
            } else {
                self.same = (letters, 1);
            }
        }
        self.same.1 >= SAME_LINES && self.same.0.chars().nth(LETTERS).is_some()
    }
}

fn repeats(end: &[u8], piece: usize) -> bool {
    end.iter().zip(end.iter().skip(piece)).all(|(before, after)| before == after)
}

#[cfg(test)]
mod tests {
    use super::Repetition;

    fn ends_at(pieces: impl Iterator<Item = String>) -> Option<usize> {
        let mut watch = Repetition::default();
        pieces.take(1_000).position(|piece| watch.push(&piece))
    }

    #[test]
    fn a_loop_is_noticed_after_some_rounds() {
        let line = "- The receipt is printed by the function that prints it.\n".to_owned();
        let before = std::iter::once("Findings:\n".to_owned());
        let rounds = ends_at(before.chain(std::iter::repeat(line)));
        assert_eq!(rounds, Some(1 + 1_500 / 57));
    }

    #[test]
    fn a_long_paragraph_and_lines_that_only_count_are_noticed() {
        let words: Vec<String> = (0..120).map(|n| format!("word{n} ")).collect();
        let paragraph = words.concat() + "\n";
        assert!(paragraph.len() > 800);
        assert!(ends_at(std::iter::repeat(paragraph)).is_some_and(|pushes| pushes < 10));
        let line = |n: usize| format!("{n}. The function reads the level of the water at station {n}.\n");
        assert_eq!(ends_at((0..).map(line)), Some(39));
    }

    #[test]
    fn lists_and_tables_are_none() {
        assert_eq!(ends_at((0..).map(|n| format!("| {n} | yes |\n"))), None);
        assert_eq!(ends_at((0..20).map(|_| "-".repeat(70) + "\n")), None);
        let long = |n: usize| format!("{}{}", "a".repeat(n % 7), "b".repeat(160));
        assert_eq!(ends_at((0..).map(long)), None);
    }
}
