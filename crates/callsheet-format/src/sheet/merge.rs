//! Merging the runs of a task by code (spec 3.12).

use pulldown_cmark::{Event, HeadingLevel, Options, Parser, Tag};

/// Most characters of the first paragraph of an item.
const FIRST_PARAGRAPH: usize = 600;

/// One run's title, summary and document.
pub type RunText<'a> = (&'a str, &'a str, &'a str);

/// Returns the summary of each run, in run order under its bold title, and a document that contains this summary and a
/// section for each run, whose headings are one level deeper. `note` comes first and may be empty.
pub fn merge_runs(note: &str, runs: &[RunText<'_>]) -> (String, String) {
    let mut summary = note.to_owned();
    let mut sections = String::new();
    for (title, text, document) in runs {
        if !summary.is_empty() {
            summary.push_str("\n\n");
        }
        summary.push_str(&format!("**{title}**\n\n{}", closed(text.trim())));
        sections.push_str(&format!("\n\n## {title}\n\n{}", closed(deeper(document).trim())));
    }
    let document = format!("## Result summary\n\n{summary}{sections}\n");
    (summary, document)
}

/// The results of items of a list: a summary with the first paragraph of each under its bold title, and a document with a
/// section for each. `note` comes first in both and may be empty.
pub fn join_items(note: &str, items: &[(&str, String)]) -> (String, String) {
    let (mut summary, mut document) = (note.to_owned(), note.to_owned());
    for (title, text) in items {
        for out in [&mut summary, &mut document] {
            out.push_str(if out.is_empty() { "" } else { "\n\n" });
        }
        let first = text.trim_start().split("\n\n").next().unwrap_or_default();
        let first: String = first.trim_end().chars().take(FIRST_PARAGRAPH).collect();
        summary.push_str(&format!("**{title}**\n\n{}", closed(&first)));
        document.push_str(&format!("## {title}\n\n{}", closed(deeper(text).trim())));
    }
    document.push('\n');
    (summary, document)
}

/// All headings one level deeper. The sixth level is the deepest and stays.
fn deeper(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 64);
    let mut done = 0;
    let mut depth = 0usize;
    for (event, range) in Parser::new_ext(text, Options::ENABLE_TABLES).into_offset_iter() {
        match event {
            Event::Start(Tag::Heading { level, .. }) => {
                if depth == 0 {
                    let source = text.get(range.clone()).unwrap_or("");
                    out.push_str(text.get(done..range.start).unwrap_or(""));
                    out.push_str(&deeper_heading(source, level));
                    done = range.end;
                }
                depth += 1;
            }
            Event::Start(_) => depth += 1,
            Event::End(_) => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    out.push_str(text.get(done..).unwrap_or(""));
    out
}

fn deeper_heading(source: &str, level: HeadingLevel) -> String {
    let indent = source.len() - source.trim_start_matches(' ').len();
    let body = source.get(indent..).unwrap_or(source);
    if body.starts_with('#') {
        return if level == HeadingLevel::H6 { source.to_owned() } else { format!("#{body}") };
    }
    // Underlined headings have only two levels, so they get number signs.
    let mut lines: Vec<&str> = body.lines().collect();
    lines.pop();
    let title: Vec<&str> = lines.iter().map(|line| line.trim()).collect();
    let marks = if level == HeadingLevel::H1 { "##" } else { "###" };
    let end = if source.ends_with('\n') { "\n" } else { "" };
    format!("{marks} {}{end}", title.join(" "))
}

/// Adds a closing line for a fence that is still open, so that it does not swallow what follows.
fn closed(text: &str) -> String {
    let mut open: Option<(char, usize)> = None;
    for line in text.lines() {
        let start = line.trim_start_matches(' ');
        let Some(sign) = start.chars().next().filter(|c| matches!(c, '`' | '~')) else { continue };
        let count = start.chars().take_while(|c| *c == sign).count();
        let info = start.trim_start_matches(sign).trim();
        match open {
            Some((mark, length)) if mark == sign && count >= length && info.is_empty() => open = None,
            Some(_) => {}
            None if count >= 3 && line.len() - start.len() <= 3 && !(sign == '`' && info.contains('`')) => {
                open = Some((sign, count));
            }
            None => {}
        }
    }
    match open {
        Some((sign, count)) => format!("{text}\n{}", sign.to_string().repeat(count)),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::merge_runs;

    #[test]
    fn runs_keep_their_order_and_their_headings_sink() {
        let runs = [
            (
                "search_text retries",
                "One.",
                "## Result summary\nOne.\n\nTitle\n=====\n```sh\n# a comment\n```\n###### Deep\n",
            ),
            ("Net", "Two.", "## Result summary\nTwo.\n```rust\nfn open() {"),
            ("poll.rs", "Three.", "Three."),
        ];
        let (summary, document) = merge_runs("", &runs);
        assert_eq!(summary, "**search_text retries**\n\nOne.\n\n**Net**\n\nTwo.\n\n**poll.rs**\n\nThree.");
        let expected = format!(
            "## Result summary\n\n{summary}\n\n\
             ## search_text retries\n\n### Result summary\nOne.\n\n## Title\n```sh\n# a comment\n```\n###### Deep\n\n\
             ## Net\n\n### Result summary\nTwo.\n```rust\nfn open() {{\n```\n\n## poll.rs\n\nThree.\n"
        );
        assert_eq!(document, expected);
    }
}
