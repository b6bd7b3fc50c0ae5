//! Replies that only repeat themselves. Small models fall into a loop that nothing but their length limit ends, minutes
//! later; the reply is lost either way.

/// Bytes at the end of a text that have to repeat one piece.
const REPEATED: usize = 1_500;

/// Bytes of that piece at most.
const PIECE: usize = 150;

/// Watches a text as it is written.
#[derive(Clone, Debug, Default)]
pub struct Repetition {
    /// The last bytes, at most [`REPEATED`].
    end: Vec<u8>,
}

impl Repetition {
    /// Adds what was written. True once the text repeats one short piece, ten times and more, and nothing else.
    pub fn push(&mut self, text: &str) -> bool {
        self.end.extend_from_slice(text.as_bytes());
        let surplus = self.end.len().saturating_sub(REPEATED);
        self.end.drain(..surplus);
        self.end.len() == REPEATED && (1..=PIECE).any(|piece| self.repeats(piece))
    }

    fn repeats(&self, piece: usize) -> bool {
        self.end.iter().zip(self.end.iter().skip(piece)).all(|(before, after)| before == after)
    }
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
    fn lists_and_tables_are_none() {
        assert_eq!(ends_at((0..).map(|n| format!("| {n} | yes |\n"))), None);
        assert_eq!(ends_at((0..20).map(|_| "-".repeat(70) + "\n")), None);
        let long = |n: usize| format!("{}{}", "a".repeat(n % 7), "b".repeat(160));
        assert_eq!(ends_at((0..).map(long)), None);
    }
}
