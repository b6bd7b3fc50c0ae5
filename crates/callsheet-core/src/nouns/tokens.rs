//! The token estimate that is used if a provider's own count is not known (spec 5.8).

/// The maximum number of tokens of a skill's instructions in a prompt. From longer ones, the middle is left out.
pub const SKILL_TOKENS: u32 = 6_000;
/// The token limit for what a task needs.
pub const NEED_TOKENS: u32 = 4_000;

/// Estimated tokens of `text`: the number of ASCII characters divided by four, plus all others, rounded up.
pub fn tokens(text: &str) -> u32 {
    let mut count = TokenCount::default();
    count.add(text);
    count.tokens()
}

/// The estimate for a text that arrives in pieces. Equals [`tokens`] of the joined pieces.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TokenCount {
    ascii: u64,
    other: u64,
}

impl TokenCount {
    /// Counts a further piece.
    pub fn add(&mut self, text: &str) {
        let ascii = text.bytes().filter(u8::is_ascii).count() as u64;
        let all = text.chars().count() as u64;
        self.ascii = self.ascii.saturating_add(ascii);
        self.other = self.other.saturating_add(all.saturating_sub(ascii));
    }

    /// Counts further bytes of UTF-8 text, which may end inside a character. Continuation bytes count with their first
    /// byte, so stray ones in broken text are not counted.
    pub fn add_bytes(&mut self, bytes: &[u8]) {
        let (mut ascii, mut other) = (0_u64, 0_u64);
        for byte in bytes {
            ascii += u64::from(*byte < 0x80);
            other += u64::from(*byte >= 0xC0);
        }
        self.ascii = self.ascii.saturating_add(ascii);
        self.other = self.other.saturating_add(other);
    }

    /// Counts a further character.
    pub fn add_char(&mut self, character: char) {
        if character.is_ascii() {
            self.ascii = self.ascii.saturating_add(1);
        } else {
            self.other = self.other.saturating_add(1);
        }
    }

    /// The estimate so far.
    pub fn tokens(self) -> u32 {
        u32::try_from(self.ascii.div_ceil(4).saturating_add(self.other)).unwrap_or(u32::MAX)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{TokenCount, tokens};

    #[test]
    fn counts_ascii_by_four_and_others_one_by_one() {
        assert_eq!(tokens(""), 0);
        assert_eq!(tokens("abcd"), 1);
        assert_eq!(tokens("abcde"), 2);
        assert_eq!(tokens("éé"), 2);
        assert_eq!(tokens("日本語 text"), 5);
    }

    proptest! {
        #[test]
        fn pieces_count_like_the_whole(first in ".{0,40}", second in ".{0,40}") {
            let mut count = TokenCount::default();
            count.add(&first);
            for character in second.chars() {
                count.add_char(character);
            }
            let whole = format!("{first}{second}");
            prop_assert_eq!(count.tokens(), tokens(&whole));
            let mut bytes = TokenCount::default();
            for byte in whole.bytes() {
                bytes.add_bytes(&[byte]);
            }
            prop_assert_eq!(bytes, count);
        }
    }
}
