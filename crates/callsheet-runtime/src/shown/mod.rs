//! The only way for foreign text to a surface: for what models, tools, files, servers and projects say. It masks known
//! keys and marks every invisible character. A surface prints [`Shown`], which only these functions create, so new code
//! cannot forget them. The record keeps the bytes unchanged.

mod mask;

use std::fmt;

use callsheet_core::visible::{hidden_marks_in_html, readable, visible, visible_json};
use callsheet_format::markdown::inert;

pub use mask::{MASK, keep_secret, mask, mask_bytes};

/// Text that a surface may show.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Shown(String);

impl Shown {
    /// For a terminal, a screen, a sheet or a text file.
    pub fn text(text: &str) -> Self {
        Self(readable(&mask(text)))
    }

    /// Like `text`, but for what a person approves. Hidden characters within emoji are marked, too.
    pub fn exact(text: &str) -> Self {
        Self(visible(&mask(text)))
    }

    /// For programs: JSON on one or several lines, with the same meaning.
    pub fn json(text: &str) -> Self {
        Self(visible_json(&mask(text)))
    }

    /// For a browser: a page or a part of one, whose texts are already escaped.
    pub fn html(page: &str) -> Self {
        Self(hidden_marks_in_html(&mask(page)))
    }

    /// For a Markdown file that another program renders. It contains no HTML and loads no picture.
    pub fn markdown(text: &str) -> Self {
        Self(inert(&readable(&mask(text))))
    }

    /// The text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The text.
    pub fn into_string(self) -> String {
        self.0
    }
}

impl fmt::Display for Shown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// What a person meant with a text that they were shown: lines that they left as shown are those of `original`.
pub fn edited(original: &str, shown: fn(&str) -> Shown, text: &str) -> String {
    let seen = shown(original);
    let changed: Vec<(&str, &str)> =
        seen.as_str().split('\n').zip(original.split('\n')).filter(|(seen, line)| seen != line).collect();
    if changed.is_empty() {
        return text.to_owned();
    }
    let own = |line| changed.iter().find(|(seen, _)| *seen == line).map_or(line, |(_, own)| *own);
    text.split('\n').map(own).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_that_a_person_left_are_the_original_ones() {
        let original = "one\u{200b}\r\ntwo\u{a0}words\nthree\n";
        let seen = Shown::text(original).into_string();
        assert_eq!(seen, "one<U+200B>␍\ntwo<U+00A0>words\nthree\n");
        assert_eq!(edited(original, Shown::text, &seen), original);
        let own = seen.replace("three", "four\u{a0}");
        assert_eq!(edited(original, Shown::text, &own), "one\u{200b}\r\ntwo\u{a0}words\nfour\u{a0}\n");
    }

    #[test]
    fn each_surface_gets_marks_of_its_own() {
        let text = "a\u{1b}[2J";
        assert_eq!(Shown::text(text).as_str(), "a<U+001B>[2J");
        assert_eq!(Shown::json("\"a\u{7f}\"").as_str(), "\"a\\u007f\"");
        assert_eq!(Shown::html("<p>a\u{202e}</p>").as_str(), "<p>a&lt;U+202E&gt;</p>");
        assert_eq!(Shown::markdown("<b>\u{202e}").as_str(), "&lt;b>&lt;U+202E>");
    }
}
