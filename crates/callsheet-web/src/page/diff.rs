//! Changes of files as lines with signs.

use std::ops::Range;

use callsheet_core::symbols::{Coloured, Token};
use callsheet_core::view::{DiffKind, DiffLine, diff_lines};
use callsheet_core::visible::visible;
use callsheet_format::edit::{Hunk, HunkKind, Painter, diff_colours};
use maud::{Markup, html};

/// The lines of a unified diff. Invisible characters are shown, and differences between an old and a new line are
/// marked. `path` is the file, unless the diff names other files. It determines the language of the code.
pub(crate) fn lines(text: &str, path: &str, paint: Painter<'_>) -> Markup {
    let read = diff_lines(text);
    let marks = marks(&read);
    let lines: Vec<&str> = read.iter().map(|line| line.text).collect();
    let colours = diff_colours(&lines, path, paint);
    html! {
        pre.diff tabindex="0" {
            @for ((DiffLine { kind, text: line, .. }, mark), colours) in read.iter().zip(&marks).zip(&colours) {
                @let mark = mark.clone().unwrap_or(line.len()..line.len());
                span class=(class(*kind)) {
                    (code(line, 0..mark.start, colours))
                    @if !mark.is_empty() { mark { (code(line, mark.clone(), colours)) } }
                    (code(line, mark.end..line.len(), colours))
                    "\n"
                }
            }
        }
    }
}

/// A part of a line, with its code in colours.
fn code(line: &str, part: Range<usize>, colours: &[Coloured]) -> Markup {
    let mut pieces: Vec<(&str, Option<Token>)> = Vec::new();
    let mut at = part.start;
    for (range, token) in colours {
        let (from, to) = (range.start.max(at), range.end.min(part.end));
        if from < to {
            pieces.push((line.get(at..from).unwrap_or_default(), None));
            pieces.push((line.get(from..to).unwrap_or_default(), Some(*token)));
            at = to;
        }
    }
    pieces.push((line.get(at..part.end).unwrap_or_default(), None));
    html! {
        @for (text, token) in pieces.into_iter().filter(|(text, _)| !text.is_empty()) {
            @match token {
                Some(token) => { span class=(token_class(token)) { (visible(text)) } }
                None => { (visible(text)) }
            }
        }
    }
}

fn token_class(token: Token) -> &'static str {
    match token {
        Token::Keyword => "t-key",
        Token::Text => "t-text",
        Token::Comment => "t-note",
        Token::Number => "t-number",
        Token::Type => "t-type",
    }
}

/// For each line, the range that differs from its partner. Removed lines are paired one by one with the added lines
/// after them.
fn marks(lines: &[DiffLine<'_>]) -> Vec<Option<Range<usize>>> {
    let mut marks = vec![None; lines.len()];
    let mut at = 0;
    while at < lines.len() {
        let run = |from: usize, kind| lines.iter().skip(from).take_while(|line| line.kind == kind).count();
        let removed = run(at, DiffKind::Removed);
        let added = if removed > 0 { run(at + removed, DiffKind::Added) } else { 0 };
        for pair in 0..removed.min(added) {
            let (old, new) = (at + pair, at + removed + pair);
            if let (Some(before), Some(after)) = (lines.get(old), lines.get(new))
                && let Some((of_old, of_new)) = differing(before.text, after.text)
            {
                for (at, of_line) in [(old, of_old), (new, of_new)] {
                    marks
                        .get_mut(at)
                        .into_iter()
                        .for_each(|mark| *mark = Some(of_line.clone()).filter(|mark| !mark.is_empty()));
                }
            }
        }
        at += (removed + added).max(1);
    }
    marks
}

/// The ranges in which two lines differ, after their signs. `None` if too much differs for a useful mark.
fn differing(old: &str, new: &str) -> Option<(Range<usize>, Range<usize>)> {
    let (old_text, new_text) = (old.get(1..)?, new.get(1..)?);
    let same = |pair: &(char, char)| pair.0 == pair.1;
    let first: usize = old_text.chars().zip(new_text.chars()).take_while(same).map(|(c, _)| c.len_utf8()).sum();
    let (old_rest, new_rest) = (old_text.get(first..)?, new_text.get(first..)?);
    let last: usize =
        old_rest.chars().rev().zip(new_rest.chars().rev()).take_while(same).map(|(c, _)| c.len_utf8()).sum();
    let is_alike = (first + last) * 3 >= old_text.len().max(new_text.len());
    let range = |text: &str| 1 + first..1 + text.len() - last;
    is_alike.then(|| (range(old_text), range(new_text)))
}

fn class(kind: DiffKind) -> &'static str {
    match kind {
        DiffKind::Name => "l file",
        DiffKind::Added => "l add",
        DiffKind::Removed => "l del",
        DiffKind::Hunk => "l at",
        DiffKind::Note => "l note",
        DiffKind::Same | DiffKind::Other => "l",
    }
}

/// The place of a hunk in words: `notes/rota.md, lines 3 to 5`.
pub(crate) fn place(hunk: &Hunk) -> String {
    let path = visible(&hunk.path);
    match hunk.kind {
        HunkKind::Creates => format!("{path}, new file"),
        HunkKind::Deletes => format!("{path}, deleted"),
        HunkKind::Lines if hunk.last < hunk.first => format!("{path}, after line {}", hunk.last),
        HunkKind::Lines if hunk.last == hunk.first => format!("{path}, line {}", hunk.first),
        HunkKind::Lines => format!("{path}, lines {} to {}", hunk.first, hunk.last),
    }
}

/// A hunk as a person sees it.
pub(crate) fn hunk(hunk: &Hunk, paint: Painter<'_>) -> Markup {
    html! {
        @if hunk.text.is_empty() { p.soft { "An empty file." } } @else { (lines(&hunk.text, &hunk.path, paint)) }
    }
}

/// A unified diff, file by file.
pub(crate) fn files(text: &str) -> Vec<(String, String)> {
    let mut files: Vec<(String, String)> = Vec::new();
    let lines = diff_lines(text);
    let mut lines = lines.iter().peekable();
    while let Some(line) = lines.next() {
        if line.kind == DiffKind::Name {
            let next = lines.next_if(|next| next.kind == DiffKind::Name).map_or("", |next| next.text);
            let named = [next.trim_start_matches("+++ "), line.text.trim_start_matches("--- ")];
            let path = named.into_iter().find(|path| *path != "/dev/null").unwrap_or_default();
            let path = path.strip_prefix("a/").or_else(|| path.strip_prefix("b/")).unwrap_or(path);
            files.push((path.to_owned(), String::new()));
        } else if let Some((_, body)) = files.last_mut() {
            body.push_str(line.text);
            body.push('\n');
        }
    }
    files
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_differs_in_a_line_is_marked() {
        let text = lines(
            "@@ -1,2 +1,2 @@\n-week 3: Ana\n-übung\n+week 3: Ana and <b>\n+Übung\n+more\n",
            "a.md",
            &|_, _| vec![],
        )
        .0;
        assert!(text.contains("+week 3: Ana<mark> and &lt;b&gt;</mark>"), "{text}");
        assert!(text.contains("-<mark>ü</mark>bung") && text.contains(">+more\n<"), "{text}");
    }

    #[test]
    fn code_has_its_colour_inside_and_outside_of_marks() {
        let paint = |path: &str, text: &str| {
            assert_eq!(path, "a.py");
            text.match_indices("is").map(|(at, _)| (at..at + 2, Token::Keyword)).collect()
        };
        let text = lines("-x <is> 1\n+x <is> is 1\n is\n", "a.py", &paint).0;
        let key = "<span class=\"t-key\">is</span>";
        assert!(text.contains(&format!("+x &lt;{key}&gt; <mark>{key} </mark>1")), "{text}");
        assert!(text.contains(&format!("> {key}\n")) && text.contains(">-x &lt;is&gt; 1\n<"), "{text}");
    }

    #[test]
    fn a_diff_falls_into_files() {
        let text = "--- a/x.md\n+++ b/x.md\n@@ -1,2 +1,2 @@\n--- a\n+++ b\n c\n--- /dev/null\n+++ b/new.md\n@@ -0,0 +1 @@\n+n\n";
        let found = files(text);
        assert_eq!(found[0], ("x.md".to_owned(), "@@ -1,2 +1,2 @@\n--- a\n+++ b\n c\n".to_owned()));
        assert_eq!(found[1].0, "new.md");
        let shown = lines(&found[0].1, "x.md", &|_, _| vec![]).0;
        assert!(!shown.contains("l file") && shown.contains("l del") && shown.contains("l add"), "{shown}");
    }
}
