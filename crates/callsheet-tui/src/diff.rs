//! Changes as lines, with numbers, signs and marks on changed words.

use std::collections::BTreeMap;
use std::ops::Range;

use callsheet_core::symbols::Coloured;
use callsheet_core::view::{DiffKind, DiffLine, diff_lines};
use callsheet_format::edit::{Hunk, HunkVerdict, Painter, diff_colours, header};
use ratatui::style::Style;
use ratatui::text::Line;
use similar::{ChangeTag, TextDiff};

use crate::review::Review;
use crate::text::{Piece, exact, wrap};
use crate::theme::Theme;

/// The hunks under the names of their files, each with its number. `review` contains the decisions so far.
pub fn hunks(
    hunks: &[Hunk],
    review: Option<&Review>,
    (theme, paint): (Theme, Painter<'_>),
    cells: usize,
) -> (Vec<Line<'static>>, usize) {
    let mut lines = Vec::new();
    let mut at = 0;
    let mut file = "";
    for (index, hunk) in hunks.iter().enumerate() {
        let current = review.is_some_and(|review| review.at == index);
        if current {
            at = lines.len();
        }
        if hunk.path != file {
            file = &hunk.path;
            for line in header(file, hunk.kind).lines() {
                lines.extend(wrap(&[(exact(line), theme.strong())], cells, 4));
            }
        }
        let word = review.map(|review| review.word(hunk.number)).unwrap_or_default();
        let word = if word.is_empty() { String::new() } else { format!(", {word}") };
        let mark = if current { "▶ " } else { "" };
        let title = format!("{mark}hunk {} of {}{word}", hunk.number, hunks.len());
        let style = if current { theme.chosen() } else { theme.label() };
        lines.push(Line::styled(title, style));
        let text = match review.and_then(|review| review.verdicts.get(&hunk.number)) {
            Some(HunkVerdict::Edited(text)) => text,
            _ => &hunk.text,
        };
        lines.extend(unified(text, &hunk.path, (theme, paint), cells));
    }
    (lines, at)
}

/// A unified diff. `path` is its file, unless the diff names other files.
pub fn unified(diff: &str, path: &str, (theme, paint): (Theme, Painter<'_>), cells: usize) -> Vec<Line<'static>> {
    let text = exact(diff);
    let read = diff_lines(&text);
    let texts: Vec<&str> = read.iter().map(|line| line.text).collect();
    let colours = diff_colours(&texts, path, paint);
    let marks = marks(&read);
    let numbered = read.iter().any(|line| line.old.or(line.new).is_some());
    let mut out = Vec::new();
    for (at, line) in read.iter().enumerate() {
        let style = match line.kind {
            DiffKind::Hunk => {
                out.extend(wrap(&[(line.text.to_owned(), theme.label())], cells, 0));
                continue;
            }
            DiffKind::Name => theme.strong(),
            DiffKind::Added => theme.good(),
            DiffKind::Removed => theme.bad(),
            DiffKind::Same | DiffKind::Note | DiffKind::Other => Style::new(),
        };
        let number = match line.new.or(line.old) {
            Some(number) => format!("{number:>5} "),
            None if numbered && line.kind != DiffKind::Name => "      ".to_owned(),
            None => String::new(),
        };
        let mut pieces: Vec<Piece> = vec![(number, theme.quiet())];
        let coloured = colours.get(at).map(Vec::as_slice).unwrap_or_default();
        pieces.extend(styled(line.text, marks.get(&at), coloured, (theme, style)));
        out.extend(wrap(&pieces, cells, 7));
    }
    out
}

/// The pieces of a line. Changed parts are marked, and code has its colours.
fn styled(line: &str, marks: Option<&Marked>, colours: &[Coloured], (theme, style): (Theme, Style)) -> Vec<Piece> {
    let mut changed: Vec<Range<usize>> = Vec::new();
    let mut at = 0;
    for (text, is_changed) in marks.into_iter().flatten() {
        changed.extend(is_changed.then(|| at..at + text.len()));
        at += text.len();
    }
    let ends = |range: &Range<usize>| [range.start, range.end];
    let mut cuts: Vec<usize> = changed.iter().chain(colours.iter().map(|(range, _)| range)).flat_map(ends).collect();
    cuts.extend([0, line.len()]);
    cuts.sort_unstable();
    cuts.dedup();
    let piece = |cut: &[usize]| {
        let [from, to] = *cut else { return None };
        let token = colours.iter().find(|(range, _)| range.contains(&from)).map(|(_, token)| *token);
        let style = token.map_or(style, |token| theme.token(token, style));
        let is_changed = changed.iter().any(|range| range.contains(&from));
        Some((line.get(from..to)?.to_owned(), if is_changed { theme.marked(style) } else { style }))
    };
    cuts.windows(2).filter_map(piece).collect()
}

/// The parts of lines that replace each other, each with whether it changed.
fn marks(lines: &[DiffLine<'_>]) -> BTreeMap<usize, Vec<(String, bool)>> {
    let mut marks = BTreeMap::new();
    let of = |kind, from: usize| lines.iter().skip(from).take_while(|line| line.kind == kind).count();
    let mut at = 0;
    while at < lines.len() {
        let gone = of(DiffKind::Removed, at);
        let come = of(DiffKind::Added, at + gone);
        if gone > 0 && gone == come {
            for index in at..at + gone {
                if let Some((old, new)) = lines.get(index).zip(lines.get(index + gone)) {
                    let (old, new) = words(old.text, new.text);
                    marks.insert(index, old);
                    marks.insert(index + gone, new);
                }
            }
        }
        at += (gone + come).max(1);
    }
    marks
}

/// The pieces of a line, each with whether it differs from the other line.
type Marked = Vec<(String, bool)>;

/// The parts of two lines. The comparison ignores their signs.
fn words(old: &str, new: &str) -> (Marked, Marked) {
    let text = |line: &str| line.get(1..).unwrap_or_default().to_owned();
    let (was, is) = (text(old), text(new));
    let diff = TextDiff::from_words(was.as_str(), is.as_str());
    let (mut from, mut to) = (vec![("-".to_owned(), false)], vec![("+".to_owned(), false)]);
    let alike = diff.ratio() > 0.3;
    for change in diff.iter_all_changes() {
        let part = |changed: bool| (change.value().to_owned(), changed && alike);
        match change.tag() {
            ChangeTag::Equal => {
                from.push(part(false));
                to.push(part(false));
            }
            ChangeTag::Delete => from.push(part(true)),
            ChangeTag::Insert => to.push(part(true)),
        }
    }
    (from, to)
}

#[cfg(test)]
mod tests {
    use callsheet_core::symbols::Token;

    use super::*;

    #[test]
    fn lines_have_numbers_and_words_have_marks() {
        let diff = "@@ -11,3 +11,3 @@\n except ConnectionError:\n-    sleep(0.5 * tries)\n+    sleep(PAUSE * tries)\n";
        let lines = unified(diff, "x.py", (Theme::new(false), &|_, _| Vec::new()), 60);
        let shown: Vec<String> = lines.iter().map(ToString::to_string).collect();
        assert_eq!(
            shown[1..],
            ["   11  except ConnectionError:", "   12 -    sleep(0.5 * tries)", "   12 +    sleep(PAUSE * tries)"]
        );
        let marked: Vec<&str> = lines[3]
            .spans
            .iter()
            .filter(|span| span.style == Theme::new(false).marked(Style::new()))
            .map(|span| span.content.as_ref())
            .collect();
        assert_eq!(marked, ["sleep(PAUSE"]);
    }

    #[test]
    fn a_hostile_diff_stays_in_its_lines() {
        let diff =
            format!("@@ -99999999999999999999,1 +1 @@\n-\u{1b}[2J{}\n+é\n\\ No newline\nno sign", "漢".repeat(99));
        for line in unified(&diff, "", (Theme::new(true), &|_, text| vec![(0..text.len(), Token::Keyword)]), 20) {
            assert!(crate::text::width(&line.to_string()) <= 20 && !line.to_string().contains('\u{1b}'));
        }
    }
}
