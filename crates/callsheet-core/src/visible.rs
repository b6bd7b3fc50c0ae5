//! Makes invisible characters visible, so that what a person approves is what they see (spec 11.3).

use icu_properties::props::{DefaultIgnorableCodePoint, ExtendedPictographic, GeneralCategory};
use icu_properties::{CodePointMapData, CodePointSetData};

/// Blank characters that Unicode counts among symbols and marks: an empty braille cell, a note without a head, a Khitan
/// filler, an object replacement.
const BLANK: [char; 4] = ['\u{2800}', '\u{1d159}', '\u{16fe4}', '\u{fffc}'];

/// Whether a reader cannot see this character, or cannot distinguish it from a plain blank: controls, format
/// characters, direction marks, tags, fillers, odd blanks, and unassigned and private characters. Newlines and tabs are
/// visible.
pub fn is_hidden(c: char) -> bool {
    if matches!(c, ' '..='~' | '\n' | '\t') {
        return false;
    }
    let by_category = matches!(
        CodePointMapData::<GeneralCategory>::new().get(c),
        GeneralCategory::Control
            | GeneralCategory::Format
            | GeneralCategory::LineSeparator
            | GeneralCategory::ParagraphSeparator
            | GeneralCategory::SpaceSeparator
            | GeneralCategory::PrivateUse
            | GeneralCategory::Unassigned
    );
    by_category || CodePointSetData::new::<DefaultIgnorableCodePoint>().contains(c) || BLANK.contains(&c)
}

/// Number of hidden characters in a text. A carriage return before a newline is not counted.
pub fn hidden_count(text: &str) -> usize {
    text.replace("\r\n", "\n").chars().filter(|c| is_hidden(*c)).count()
}

/// Shows every hidden character as `<U+200B>`, and a carriage return before a newline as `␍`.
pub fn visible(text: &str) -> String {
    shown(text, false)
}

/// Like `visible`, but on one line, for file names: newlines and tabs are shown too.
pub fn visible_line(text: &str) -> String {
    visible(text).replace('\n', "<U+000A>").replace('\t', "<U+0009>")
}

/// Like `visible_line`, but for prose: characters that join emoji or choose their appearance are visible in the
/// emoji, and stay.
pub fn readable(text: &str) -> String {
    shown(text, true)
}

/// A line of JSON with every hidden character as an escape, so that it means the same to programs.
pub fn visible_json(line: &str) -> String {
    let mut out = String::with_capacity(line.len());
    for c in line.chars() {
        if is_hidden(c) {
            c.encode_utf16(&mut [0; 2]).iter().for_each(|unit| out.push_str(&format!("\\u{unit:04x}")));
        } else {
            out.push(c);
        }
    }
    out
}

/// HTML with escaped texts, in which a mark replaces every hidden character. The mark is escaped too.
pub fn hidden_marks_in_html(html: &str) -> String {
    marked(html, true, ["&lt;U+", "&gt;"])
}

fn shown(text: &str, prose: bool) -> String {
    marked(text, prose, ["<U+", ">"])
}

fn marked(text: &str, prose: bool, [open, close]: [&str; 2]) -> String {
    let mut out = String::with_capacity(text.len());
    let mut characters = text.chars().peekable();
    let mut in_picture = false;
    while let Some(c) = characters.next() {
        let joins = in_picture && matches!(c, '\u{200d}' | '\u{fe0e}' | '\u{fe0f}');
        if c == '\r' && characters.peek() == Some(&'\n') {
            out.push('\u{240d}');
        } else if is_hidden(c) && !joins {
            out.push_str(&format!("{open}{:04X}{close}", u32::from(c)));
        } else {
            out.push(c);
        }
        let skin = matches!(c, '\u{1f3fb}'..='\u{1f3ff}');
        in_picture = prose && (joins || in_picture && skin || is_pictograph(c));
    }
    out
}

fn is_pictograph(c: char) -> bool {
    !c.is_ascii() && CodePointSetData::new::<ExtendedPictographic>().contains(c)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// One of each kind: blanks, joiners, direction, tags, fillers, variation selectors, separators, controls.
    const KINDS: &[char] = &[
        '\u{00a0}',
        '\u{00ad}',
        '\u{034f}',
        '\u{061c}',
        '\u{115f}',
        '\u{1160}',
        '\u{1680}',
        '\u{17b4}',
        '\u{180e}',
        '\u{2003}',
        '\u{200b}',
        '\u{200d}',
        '\u{200e}',
        '\u{2028}',
        '\u{2029}',
        '\u{202e}',
        '\u{2060}',
        '\u{2066}',
        '\u{206f}',
        '\u{2800}',
        '\u{3000}',
        '\u{3164}',
        '\u{fe0f}',
        '\u{feff}',
        '\u{ffa0}',
        '\u{fff9}',
        '\u{1d159}',
        '\u{1d173}',
        '\u{e0001}',
        '\u{e0041}',
        '\u{e0100}',
        '\u{1b}',
        '\u{7f}',
        '\u{9b}',
        '\r',
        '\u{fffc}',
        '\u{fdd0}',
        '\u{ffff}',
        '\u{e000}',
        '\u{378}',
        '\u{10fffd}',
    ];

    /// covers: 11.3
    #[test]
    fn every_hidden_character_is_shown_and_counted() {
        for c in KINDS {
            let text = format!("a{c}b");
            assert_eq!(visible(&text), format!("a<U+{:04X}>b", u32::from(*c)));
            assert_eq!(readable(&text), visible(&text));
            assert_eq!(hidden_count(&text), 1, "{}", u32::from(*c));
            let json = serde_json::to_string(&text).unwrap();
            let shown = visible_json(&json);
            assert!(shown.is_ascii() && serde_json::from_str::<String>(&shown).unwrap() == text, "{shown}");
        }
    }

    #[test]
    fn what_is_seen_stays() {
        let text = "plain text,\ttabs\nand lines: äß 漢字 العربية עברית ✓ ⚠ 🌹 `<U+200B>`";
        assert_eq!(visible(text), text);
        assert_eq!(hidden_count(text), 0);
        assert_eq!((visible("a\r\nb").as_str(), hidden_count("a\r\nb")), ("a\u{240d}\nb", 0));
    }

    #[test]
    fn a_name_stays_on_its_line() {
        assert_eq!(visible_line("a\nb\tc\u{200b}"), "a<U+000A>b<U+0009>c<U+200B>");
    }

    #[test]
    fn prose_keeps_its_pictures_whole() {
        let family = "⚠\u{fe0f} 👩🏽\u{200d}🌾";
        assert_eq!(readable(family), family);
        assert_eq!(visible("⚠\u{fe0f}"), "⚠<U+FE0F>");
        assert_eq!(readable("1\u{fe0f} a\u{200d}b ⚠\u{200b}"), "1<U+FE0F> a<U+200D>b ⚠<U+200B>");
    }
}
