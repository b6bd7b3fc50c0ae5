//! Untrusted text on a terminal.

/// Control characters and terminal escapes become visible marks; newlines and tabs stay. Bidirectional overrides, which
/// can make a diff read differently from what it does, become visible too.
pub fn harmless(text: &str) -> String {
    text.chars()
        .map(|c| match c {
            '\n' | '\t' => c,
            '\r' => '\u{240d}',
            c if (c as u32) < 0x20 => char::from_u32(0x2400 + c as u32).unwrap_or('\u{fffd}'),
            '\u{7f}' => '\u{2421}',
            '\u{80}'..='\u{9f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{200e}' | '\u{200f}' => {
                '\u{fffd}'
            }
            c => c,
        })
        .collect()
}

/// The same on one line, at most `width` characters, cut with an ellipsis.
pub fn one_line(text: &str, width: usize) -> String {
    let line = harmless(text).split_whitespace().collect::<Vec<_>>().join(" ");
    if line.chars().count() <= width {
        return line;
    }
    let mut cut: String = line.chars().take(width.saturating_sub(1)).collect();
    cut.push('…');
    cut
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escapes_become_visible() {
        assert_eq!(harmless("a\u{1b}[2Jb\r\n\u{9b}31m"), "a␛[2Jb␍\n\u{fffd}31m");
        assert_eq!(harmless("safe\u{202e}txet"), "safe\u{fffd}txet");
    }

    #[test]
    fn long_lines_are_cut_at_characters() {
        assert_eq!(one_line("äöü\nß", 4), "äöü…");
        assert_eq!(one_line(" a \n b ", 9), "a b");
    }
}
