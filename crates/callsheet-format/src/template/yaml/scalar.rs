//! The text of a scalar, with the places of its words in the file.

use callsheet_core::template::Bytes;

use crate::template::xml::Mapped;

/// Words that older YAML versions and many people read as true or false.
const TRUTH: [&str; 6] = ["yes", "no", "on", "off", "y", "n"];

/// Whether a word without quotes may have been intended as true or false.
pub(super) fn is_truth_word(text: &str) -> bool {
    TRUTH.iter().any(|word| word.eq_ignore_ascii_case(text))
}

/// Maps a decoded scalar at `span` to the file. Each word is located between blanks, quotes and escapes.
pub(super) fn mapped(file: &str, text: &str, span: Bytes) -> Mapped {
    let mut out = Mapped::default();
    let source = file.get(span.start..span.end).unwrap_or_default();
    let mut at = 0;
    for word in text.split_inclusive([' ', '\n', '\t']) {
        let bare = word.trim_end_matches([' ', '\n', '\t']);
        let rest = source.get(at..).unwrap_or_default();
        let skipped = rest.len() - rest.trim_start_matches([' ', '\n', '\t', '\r', '"', '\'', '\\']).len();
        let straight =
            [0, skipped].into_iter().find(|skip| rest.get(*skip..).is_some_and(|rest| rest.starts_with(bare)));
        let start = at + straight.unwrap_or(skipped);
        // The length of a word with escapes is its length as written.
        let behind = source.get(start..).unwrap_or_default();
        let length = match straight {
            Some(_) => bare.len(),
            None => behind.find([' ', '\n', '\t']).unwrap_or(behind.len()),
        };
        out.push(bare, span.start + start, length);
        out.push(word.get(bare.len()..).unwrap_or_default(), span.start + start + length, 0);
        at = start + length;
    }
    out.ending(span.end)
}

/// Maps a scalar like text between tags. The first of several lines keeps its indentation as written.
pub(super) fn block(words: &Mapped) -> Mapped {
    let mut out = Mapped::default();
    if words.as_str().contains('\n') {
        out.push("\n", words.source(0), 0);
    }
    out.append(words);
    out
}

#[cfg(test)]
mod tests {
    use super::mapped;
    use callsheet_core::template::Bytes;

    #[test]
    fn words_are_found_where_they_are_written() {
        let file = "a: \"x \\\"y\\\" {{z}}\"\nb: >\n  one\n  {{two}}\n";
        let quoted = mapped(file, "x \"y\" {{z}}", Bytes::new(3, 18));
        let at = quoted.as_str().find("{{").unwrap_or_default();
        assert_eq!(quoted.source(at), file.find("{{z}}").unwrap());
        let folded = mapped(file, "one {{two}}\n", Bytes::new(26, 38));
        let at = folded.as_str().find("{{").unwrap_or_default();
        assert_eq!(folded.source(at), file.find("{{two}}").unwrap());
    }
}
