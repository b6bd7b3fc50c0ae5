//! Shortens a text of rules. Each rule either stays complete or is removed.

use callsheet_core::nouns::tokens;

/// A shortened text.
pub(super) struct Cut {
    /// The rules that fit.
    pub text: String,
    /// Number of rules left out.
    pub omitted: usize,
    /// Number of all rules.
    pub total: usize,
}

/// A heading or a rule: a list item with its content, a paragraph, or a code block.
struct Block<'a> {
    text: &'a str,
    heading: bool,
}

/// As many rules, from the first one on, as fit. A heading stays if a rule below it does.
pub(super) fn cut(text: &str, room: u32) -> Cut {
    let blocks = blocks(text);
    let total = blocks.iter().filter(|block| !block.heading).count();
    if tokens(text) <= room {
        return Cut { text: text.to_owned(), omitted: 0, total };
    }
    let (mut kept, mut headings, mut left, mut omitted) = (String::new(), String::new(), room, 0);
    for block in blocks {
        if block.heading {
            headings.push_str(block.text);
            continue;
        }
        let need = tokens(block.text).saturating_add(tokens(&headings));
        match left.checked_sub(need) {
            Some(rest) => {
                left = rest;
                kept.push_str(&std::mem::take(&mut headings));
                kept.push_str(block.text);
            }
            None => omitted += 1,
        }
    }
    Cut { text: kept.trim_end().to_owned(), omitted, total }
}

fn blocks(text: &str) -> Vec<Block<'_>> {
    let mut starts: Vec<(usize, bool)> = Vec::new();
    let (mut at, mut fence, mut blank, mut after_heading) = (0, None, true, false);
    for line in text.split_inclusive('\n') {
        let was_in_fence = fence.is_some();
        follow_fence(&mut fence, line);
        let content = line.trim();
        let indent = line.len() - line.trim_start_matches(' ').len();
        if !was_in_fence && !content.is_empty() {
            let heading = indent < 4 && content.starts_with('#');
            if heading || after_heading || indent < 2 && (blank || is_item(content)) {
                starts.push((at, heading));
            }
            after_heading = heading;
        }
        blank = content.is_empty();
        at += line.len();
    }
    let ends = starts.iter().skip(1).map(|(at, _)| *at).chain([text.len()]).collect::<Vec<_>>();
    let block = |((from, heading), to): (&(usize, bool), usize)| {
        text.get(*from..to).map(|text| Block { text, heading: *heading })
    };
    starts.iter().zip(ends).filter_map(block).collect()
}

/// `- text`, `* text`, `12. text`, `3) text`.
fn is_item(line: &str) -> bool {
    let behind = line.trim_start_matches(|c: char| c.is_ascii_digit());
    let mark =
        if behind.len() < line.len() { behind.strip_prefix(['.', ')']) } else { line.strip_prefix(['-', '*', '+']) };
    mark.is_some_and(|rest| rest.starts_with(' '))
}

/// Tracks whether a code block is open after a line, and with which mark.
pub(super) fn follow_fence(fence: &mut Option<String>, line: &str) {
    let content = line.trim();
    let Some(mark) = content.chars().next().filter(|c| matches!(c, '`' | '~')) else { return };
    let marks: String = content.chars().take_while(|c| *c == mark).collect();
    if marks.len() < 3 {
        return;
    }
    match fence {
        None => *fence = Some(marks),
        Some(open) if marks.starts_with(open.as_str()) && content == marks => *fence = None,
        Some(_) => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "# Rules\n\n- one\n  goes on\n- two\n\n  still two\n\n## Code\nA paragraph\nof two lines.\n```sh\n# no heading\n- no item\n\nmake\n```\n\n1. last\n";

    #[test]
    fn a_rule_is_an_item_a_paragraph_or_a_block() {
        let shown: Vec<(bool, &str)> =
            blocks(TEXT).iter().map(|block| (block.heading, block.text.trim_end())).collect();
        assert_eq!(
            shown,
            [
                (true, "# Rules"),
                (false, "- one\n  goes on"),
                (false, "- two\n\n  still two"),
                (true, "## Code"),
                (false, "A paragraph\nof two lines.\n```sh\n# no heading\n- no item\n\nmake\n```"),
                (false, "1. last"),
            ]
        );
    }

    #[test]
    fn every_rule_stays_whole_or_goes() {
        for room in 0..80 {
            let cut = cut(TEXT, room);
            assert_eq!(cut.total, 4);
            let whole = blocks(TEXT);
            let kept: Vec<&Block<'_>> = whole.iter().filter(|block| cut.text.contains(block.text.trim_end())).collect();
            assert_eq!(kept.iter().filter(|block| !block.heading).count(), 4 - cut.omitted, "{room}: {}", cut.text);
            assert!(tokens(&cut.text) <= room.max(1) + 2, "{room}: {}", cut.text);
        }
    }
}
