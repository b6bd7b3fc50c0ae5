//! Fences that their content cannot close, and the blocks made with them (spec 4.7, 5.9).

/// `content` in a fence with a language. Uses three backticks, unless a line of the content starts with three (after at
/// most 3 spaces). Then it uses tildes: at least four, and one more than the longest run of tildes at a line start. No
/// final newline.
pub fn fence(lang: &str, content: &str) -> String {
    let mut backticks = false;
    let mut longest = 0;
    for line in content.split(['\n', '\r']) {
        // Reading allows more indentation than CommonMark, so every leading blank is skipped.
        let start = line.trim_start();
        backticks |= start.starts_with("```");
        longest = longest.max(start.chars().take_while(|c| *c == '~').count());
    }
    let marks = if backticks { "~".repeat((longest + 1).max(4)) } else { "```".to_owned() };
    let newline = if content.is_empty() || content.ends_with('\n') { "" } else { "\n" };
    format!("{marks}{lang}\n{content}{newline}{marks}")
}

/// A titled block: `### <title> - <target>`, or `### <target>` if equal or untitled, blank line, fence, newline.
pub fn block(title: &str, target: &str, lang: &str, content: &str) -> String {
    let title = title.split_whitespace().collect::<Vec<_>>().join(" ");
    let fenced = fence(lang, content);
    if title.is_empty() || title == target {
        format!("### {target}\n\n{fenced}\n")
    } else {
        format!("### {title} - {target}\n\n{fenced}\n")
    }
}

/// A text of Markdown that is put among other text. A fence that it leaves open is closed, so that what follows is not
/// a part of the code. A fence within a list item ends with the item.
pub fn closed(text: &str) -> String {
    let mut open: Option<(usize, &str)> = None;
    for line in text.lines() {
        let start = line.trim_start();
        let indent = line.len() - start.len();
        let ends_item = |within: usize| within > 1 && indent == 0 && !start.is_empty();
        open = open.filter(|(within, _)| !ends_item(*within));
        let (marks, rest) = fence_marks(start);
        open = match open {
            None if marks.len() >= 3 && !(marks.starts_with('`') && rest.contains('`')) => Some((indent, marks)),
            Some((_, opening)) if marks.starts_with(opening) && rest.trim().is_empty() => None,
            open => open,
        };
    }
    let Some((indent, marks)) = open else { return text.to_owned() };
    let newline = if text.ends_with('\n') { "" } else { "\n" };
    format!("{text}{newline}{}{marks}", " ".repeat(indent))
}

/// The equal backticks or tildes with which a line starts, and the rest of the line.
fn fence_marks(line: &str) -> (&str, &str) {
    let mark = line.chars().next().filter(|c| matches!(c, '`' | '~'));
    let end = mark.map_or(0, |mark| line.len() - line.trim_start_matches(mark).len());
    line.split_at(end)
}

#[cfg(test)]
mod tests {
    use super::closed;

    #[test]
    fn an_open_fence_is_closed_and_a_closed_one_stays() {
        for text in [
            "a",
            "```\na\n```",
            "````md\n```\na\n```\n````\nb",
            "~~~\n```\n~~~",
            "a ```b``` c",
            "```a``` b",
            "- a\n  ```\n  b\n\nc",
        ] {
            assert_eq!(closed(text), text);
        }
        for (text, end) in [
            ("a\n```rust\nb", "\n```"),
            ("~~~\nb\n```\n", "~~~"),
            ("`````\nb\n```", "\n`````"),
            ("```\nb\n``` c", "\n```"),
            ("- a\n  ```\n  b", "\n  ```"),
        ] {
            assert_eq!(closed(text), format!("{text}{end}"));
        }
    }
}
