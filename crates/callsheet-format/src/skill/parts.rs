//! Splits a skill file at `---` lines outside fences (spec 7.2), and finds a section by heading key.

/// A piece of a file and the 1-based line it starts on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct FilePiece<'a> {
    pub(super) text: &'a str,
    pub(super) line: u32,
}

/// The front matter, and everything after its closing line. `None` if there is no closing line.
pub(super) struct Cut<'a> {
    pub(super) front: FilePiece<'a>,
    pub(super) body: Option<FilePiece<'a>>,
    /// Whether the file opens with a `---` line.
    pub(super) opened: bool,
}

/// Splits off the front matter. The opening `---` line may be missing (spec 7.2).
pub(super) fn cut_front_matter(text: &str) -> Cut<'_> {
    let mut rest = FilePiece { text, line: 1 };
    let mut opened = false;
    while let Some((line, after)) = split_line(rest.text) {
        if line.trim().is_empty() {
            rest = FilePiece { text: after, line: rest.line.saturating_add(1) };
        } else if is_rule(line.trim_end()) {
            opened = true;
            rest = FilePiece { text: after, line: rest.line.saturating_add(1) };
            break;
        } else {
            break;
        }
    }
    let (front, body) = cut_at_rule(rest, false);
    Cut { front, body, opened }
}

/// Splits at the first `---` line outside fences. `None` if there is none.
pub(super) fn cut_at_rule(part: FilePiece<'_>, fences: bool) -> (FilePiece<'_>, Option<FilePiece<'_>>) {
    let mut open = Fence::default();
    let mut offset = 0;
    let mut line_number = part.line;
    let mut rest = part.text;
    while let Some((line, after)) = split_line(rest) {
        line_number = line_number.saturating_add(1);
        let outside = !fences || open.outside(line);
        // Blanks behind the line that ends the front matter are not seen by its author.
        if outside && is_rule(if fences { line } else { line.trim_end() }) {
            let front = part.text.get(..offset).unwrap_or_default();
            return (FilePiece { text: front, line: part.line }, Some(FilePiece { text: after, line: line_number }));
        }
        offset += rest.len() - after.len();
        rest = after;
    }
    (part, None)
}

fn is_rule(line: &str) -> bool {
    line.strip_suffix('\r').unwrap_or(line) == "---"
}

/// The first line without its line feed, and the rest. `None` at the end.
fn split_line(text: &str) -> Option<(&str, &str)> {
    if text.is_empty() {
        return None;
    }
    Some(text.split_once('\n').unwrap_or((text, "")))
}

/// Tracks fences from line to line.
#[derive(Default)]
struct Fence {
    open: Option<(char, usize)>,
}

impl Fence {
    /// Processes the next line. Returns true if it is outside fences and not a fence line itself.
    fn outside(&mut self, line: &str) -> bool {
        let Some((mark, length, tail)) = fence_line(line) else { return self.open.is_none() };
        match self.open {
            Some((open, least)) => {
                if open == mark && length >= least && tail.trim().is_empty() {
                    self.open = None;
                }
            }
            None if mark == '`' && tail.contains('`') => return true,
            None => self.open = Some((mark, length)),
        }
        false
    }
}

/// Fence character, length of its run and the rest, if the line can open or close a fence.
fn fence_line(line: &str) -> Option<(char, usize, &str)> {
    let trimmed = line.trim_start_matches(' ');
    if line.len() - trimmed.len() > 3 {
        return None;
    }
    let mark = trimmed.chars().next().filter(|mark| matches!(mark, '`' | '~'))?;
    let tail = trimmed.trim_start_matches(mark);
    let length = trimmed.len() - tail.len();
    (length >= 3).then_some((mark, length, tail))
}

/// The key of a heading (spec 3.1): lower case, each run outside `[a-z0-9]` as one `-`, trimmed at both ends.
pub fn heading_key(title: &str) -> String {
    let mut key = String::with_capacity(title.len());
    for character in title.chars().flat_map(char::to_lowercase) {
        if character.is_ascii_lowercase() || character.is_ascii_digit() {
            key.push(character);
        } else if !key.ends_with('-') && !key.is_empty() {
            key.push('-');
        }
    }
    key.trim_end_matches('-').to_owned()
}

/// Body of the first section whose heading key is `key`, up to the next heading that is not deeper. Headings inside
/// fences do not count.
pub fn section<'a>(text: &'a str, key: &str) -> Option<&'a str> {
    let mut open = Fence::default();
    let mut offset = 0;
    let mut found: Option<(usize, usize)> = None;
    for line in text.split_inclusive('\n') {
        let next = offset + line.len();
        if open.outside(line.trim_end())
            && let Some((level, title)) = heading(line)
        {
            match found {
                Some((start, depth)) if level <= depth => return text.get(start..offset).map(str::trim),
                Some(_) => {}
                None if heading_key(title) == key => found = Some((next, level)),
                None => {}
            }
        }
        offset = next;
    }
    found.and_then(|(start, _)| text.get(start..)).map(str::trim)
}

/// Level and title of a heading line.
fn heading(line: &str) -> Option<(usize, &str)> {
    let trimmed = line.trim_start_matches(' ');
    if line.len() - trimmed.len() > 3 {
        return None;
    }
    let title = trimmed.trim_start_matches('#');
    let level = trimmed.len() - title.len();
    if !(1..=6).contains(&level) || !title.starts_with([' ', '\t', '\n', '\r']) {
        return None;
    }
    Some((level, title.trim().trim_end_matches('#').trim()))
}
