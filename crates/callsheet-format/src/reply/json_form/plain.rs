//! Converts free text of a JSON form to Markdown that is only content.

use callsheet_core::fuzzy::normalize;

use crate::markdown::{Format, Label, Part, Tracker, label_line, marker_of, plain_start};
use crate::reply::list::TASK_LABELS;

/// Tags and marks that readers search everywhere outside fences (spec 4.4 `thinking-removed`, `json-shape`,
/// `example-dropped`).
const TAGS: &[&str] = &[
    "think",
    "reasoning",
    "thought",
    "/think",
    "/reasoning",
    "/thought",
    "tool_call",
    "function",
    "|",
    "end_of_turn>",
    "start_of_turn>",
    "eos>",
    "/s>",
];
/// The longest line, in bytes, that can be a title without markup.
const LONGEST_TITLE: usize = 48;

/// A text as one line after a label.
pub(super) fn one_line(text: &str) -> String {
    let line = text.split(|c: char| c.is_whitespace() || c.is_control()).filter(|word| !word.is_empty());
    let line = line.collect::<Vec<_>>().join(" ");
    // A colon or dash here would count as a part of the label (spec 4.4 `label-form`).
    tagless(line.trim_start_matches([':', '-', '\u{2013}', '\u{2014}', ' ']))
}

/// A text as a separate line. What would be a label without markup loses its colon.
pub(super) fn sentence(text: &str, formats: &[Format]) -> String {
    let line = one_line(text);
    let labelled = label_line(&line, TASK_LABELS).is_some_and(|label| matches!(label.label, Label::Known(_)));
    let line = if labelled { line.replacen(':', " \u{2013}", 1) } else { line };
    block(&line, formats, false)
}

/// A text as separate lines below a heading of level 2. With `headings`, headings in it stay, below that level.
pub(super) fn block(text: &str, formats: &[Format], headings: bool) -> String {
    let mut out: Vec<String> = Vec::new();
    let mut tracker = Tracker::default();
    let mut open: Option<String> = None;
    let text = text.replace("\r\n", "\n").replace('\r', "\n");
    for line in text.trim().lines() {
        let line: String = line.chars().filter(|c| *c == '\t' || !c.is_control()).collect();
        match tracker.next(&line) {
            Part::Open(mark) => {
                open = Some(format!("{}{}", " ".repeat(mark.indent), mark.sign.to_string().repeat(mark.count)));
            }
            Part::Close => open = None,
            Part::Inside => {}
            Part::Outside => {
                let dashes = !line.trim().is_empty() && line.trim().chars().all(|c| c == '-');
                if dashes && out.last().is_some_and(|last| !last.trim().is_empty()) {
                    // Directly below a text, this line would turn the text into a heading.
                    out.push(String::new());
                }
                out.push(content(&line, formats, headings));
                continue;
            }
        }
        out.push(line);
    }
    out.extend(open);
    out.join("\n")
}

/// One line outside fences.
fn content(line: &str, formats: &[Format], headings: bool) -> String {
    let line = tagless(&plain_start(line).unwrap_or_else(|| line.to_owned()));
    let body = line.trim_start();
    let title = |format: &Format| {
        format.is_title_line(&line)
            || format.plain_titles && body.len() <= LONGEST_TITLE && format.knows(body)
            || marker_of(&line, format).is_some()
    };
    let underline = !body.is_empty() && body.trim_end().chars().all(|c| c == '=');
    let signs = body.chars().take_while(|c| *c == '#').count();
    if underline || formats.iter().any(title) || signs > 0 && !headings {
        return format!("\\{body}");
    }
    if (1..3).contains(&signs) && body.get(signs..).is_some_and(|rest| rest.is_empty() || rest.starts_with([' ', '\t']))
    {
        return format!("###{}", body.get(signs..).unwrap_or_default());
    }
    if normalize(&line) == "output mode next section" {
        return format!("{line} (as text)");
    }
    line
}

/// The text without tags that a reader takes for reasoning or calls. Their bracket is written as an entity.
fn tagless(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for (at, part) in text.split('<').enumerate() {
        if at > 0 {
            let tag = TAGS.iter().any(|tag| part.get(..tag.len()).is_some_and(|head| head.eq_ignore_ascii_case(tag)));
            out.push_str(if tag { "&lt;" } else { "<" });
        }
        out.push_str(part);
    }
    out
}
