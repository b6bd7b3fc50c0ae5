//! Texts of models, tools and files as lines of the screen. They contain no escape sequences, and no line is wider
//! than the screen.

use callsheet_runtime::shown::{Shown, mask};
use ratatui::style::Style;
use ratatui::text::{Line, Span};
use unicode_segmentation::UnicodeSegmentation;
use unicode_width::UnicodeWidthStr;

/// How many bytes of a text are shown. The size of the rest is shown as a number.
const SHOWN: usize = 200_000;

/// A part of a line in one style.
pub type Piece = (String, Style);

/// Prose without harmful characters.
pub fn clean(text: &str) -> String {
    Shown::text(text).as_str().replace('\t', "    ")
}

/// Text that a person approves, with all hidden characters shown.
pub fn exact(text: &str) -> String {
    Shown::exact(text).as_str().replace('\t', "    ")
}

/// Prose on one line.
pub fn one_line(text: &str) -> String {
    // The beginning is long enough for any screen.
    let beginning: String = mask(text).chars().take(2_000).collect();
    clean(&beginning).split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The width of a text in cells.
pub fn width(text: &str) -> usize {
    text.width()
}

/// The text in at most `cells`, shortened with an ellipsis.
pub fn cut(text: &str, cells: usize) -> String {
    if width(text) <= cells {
        return text.to_owned();
    }
    let mut kept = String::new();
    let mut used = 0;
    for part in text.graphemes(true) {
        let next = used + width(part);
        if next > cells.saturating_sub(1) {
            break;
        }
        kept.push_str(part);
        used = next;
    }
    if cells > 0 {
        kept.push('…');
    }
    kept
}

/// The text in exactly `cells`.
pub fn padded(text: &str, cells: usize) -> String {
    let mut text = cut(text, cells);
    let missing = cells.saturating_sub(width(&text));
    text.extend(std::iter::repeat_n(' ', missing));
    text
}

/// A text as lines of at most `cells`. Only the beginning of a very long text is shown.
pub fn wrapped(text: &str, style: Style, cells: usize) -> Vec<Line<'static>> {
    let shown = beginning(text);
    let mut lines: Vec<Line<'static>> =
        clean(shown).lines().flat_map(|line| wrap(&[(line.to_owned(), style)], cells, 0)).collect();
    if shown.len() < text.len() {
        lines.push(Line::styled(format!("… {} more bytes", text.len() - shown.len()), style));
    }
    lines
}

fn beginning(text: &str) -> &str {
    let end = (0..=SHOWN.min(text.len())).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
    text.get(..end).unwrap_or_default()
}

/// Wraps a line, at blanks if possible. The lines after the first are indented by `hang` cells.
pub fn wrap(pieces: &[Piece], cells: usize, hang: usize) -> Vec<Line<'static>> {
    let cells = cells.max(2);
    let hang = if hang * 2 < cells { hang } else { 0 };
    let parts: Vec<(&str, usize, Style)> =
        pieces.iter().flat_map(|(text, style)| text.graphemes(true).map(|part| (part, width(part), *style))).collect();
    let mut lines = Vec::new();
    let mut rest = parts.as_slice();
    loop {
        let indent = if lines.is_empty() { 0 } else { hang };
        let (line, after) = rest.split_at(fitting(rest, cells - indent));
        lines.push(line_of(line, indent));
        if after.is_empty() {
            return lines;
        }
        rest = after;
    }
}

/// How many of the parts fit on one line.
fn fitting(parts: &[(&str, usize, Style)], cells: usize) -> usize {
    let mut used = 0;
    let mut blank = None;
    for (at, (part, wide, _)) in parts.iter().enumerate() {
        used += wide;
        if used > cells && at > 0 {
            return blank.filter(|blank| blank * 3 > at).unwrap_or(at);
        }
        if *part == " " {
            blank = Some(at + 1);
        }
    }
    parts.len()
}

fn line_of(parts: &[(&str, usize, Style)], indent: usize) -> Line<'static> {
    let mut spans: Vec<Span<'static>> = Vec::new();
    if indent > 0 {
        spans.push(Span::raw(" ".repeat(indent)));
    }
    let mut open: Option<(String, Style)> = None;
    for (part, _, style) in parts {
        match &mut open {
            Some((text, same)) if same == style => text.push_str(part),
            _ => {
                spans.extend(open.take().map(|(text, style)| Span::styled(text, style)));
                open = Some(((*part).to_owned(), *style));
            }
        }
    }
    spans.extend(open.map(|(text, style)| Span::styled(text, style)));
    Line::from(spans)
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests")]
mod tests {
    use super::*;

    fn plain(lines: &[Line<'_>]) -> Vec<String> {
        lines.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn nothing_is_wider_than_the_screen() {
        let hostile =
            format!("\u{1b}[2J{}\u{202e}{}👩🏽\u{200d}🌾漢字{}", "x".repeat(90), "e\u{301}".repeat(70), "漢".repeat(50));
        for cells in 2..80 {
            for line in wrapped(&hostile, Style::new(), cells) {
                assert!(width(&line.to_string()) <= cells, "{cells}: {line}");
                assert!(!line.to_string().contains('\u{1b}'));
            }
            assert!(width(&cut(&clean(&hostile), cells)) <= cells);
            assert_eq!(width(&padded(&clean(&hostile), cells)), cells);
        }
    }

    #[test]
    fn lines_break_at_blanks() {
        let lines = wrap(&[("one two three four".to_owned(), Style::new())], 9, 2);
        assert_eq!(plain(&lines), ["one two ", "  three ", "  four"]);
        assert_eq!(plain(&wrapped("a\n\nb", Style::new(), 9)), ["a", "", "b"]);
    }
}
