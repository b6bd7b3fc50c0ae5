//! Reads a unified diff line by line. This is the only place that classifies diff lines. A hunk says how many lines it
//! has, so a changed line that begins with dashes or pluses is never taken for a file name.

/// What kind of line this is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DiffKind {
    /// The name of a file, before the change or after it.
    Name,
    /// The head of a hunk.
    Hunk,
    /// An unchanged line.
    Same,
    /// An added line.
    Added,
    /// A removed line.
    Removed,
    /// A remark, such as that the last line has no line end.
    Note,
    /// It belongs to no hunk.
    Other,
}

/// A line with its numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DiffLine<'a> {
    /// What it is.
    pub kind: DiffKind,
    /// The line, including its sign.
    pub text: &'a str,
    /// Its number in the old file, if it is in the old file.
    pub old: Option<u64>,
    /// Its number in the new file, if it is in the new file.
    pub new: Option<u64>,
}

/// Reads lines one after the other, also from a text that contains diffs among other lines.
#[derive(Debug, Default)]
pub struct DiffReader {
    /// Within a hunk: the number of the next old line and how many are left, and the same for new lines.
    hunk: Option<[Side; 2]>,
    /// Whether the next line is the second name of a file.
    named: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Side {
    next: u64,
    left: u64,
}

impl Side {
    fn take(&mut self) -> Option<u64> {
        let number = self.next;
        self.left = self.left.checked_sub(1)?;
        self.next = number.saturating_add(1);
        Some(number)
    }
}

impl DiffReader {
    /// Reads a line. `next` is the line after it.
    pub fn read<'a>(&mut self, line: &'a str, next: Option<&str>) -> DiffLine<'a> {
        let of = |kind, old, new| DiffLine { kind, text: line, old, new };
        if let Some(inside) = self.inside(line) {
            return inside;
        }
        self.hunk = None;
        if std::mem::take(&mut self.named) {
            return of(DiffKind::Name, None, None);
        }
        if line.starts_with("--- ") && next.is_some_and(|next| next.starts_with("+++ ")) {
            self.named = true;
            return of(DiffKind::Name, None, None);
        }
        self.hunk = sides(line);
        of(if self.hunk.is_some() { DiffKind::Hunk } else { DiffKind::Other }, None, None)
    }

    fn inside<'a>(&mut self, line: &'a str) -> Option<DiffLine<'a>> {
        let [old, new] = self.hunk.as_mut()?;
        let (kind, old, new) = match line.as_bytes().first() {
            Some(b'\\') => (DiffKind::Note, None, None),
            Some(b'-') => (DiffKind::Removed, Some(old.take()?), None),
            Some(b'+') => (DiffKind::Added, None, Some(new.take()?)),
            Some(b' ') | None if old.left > 0 => (DiffKind::Same, Some(old.take()?), Some(new.take()?)),
            _ => return None,
        };
        Some(DiffLine { kind, text: line, old, new })
    }
}

/// The lines of a text that is a diff or a part of one. A line outside of hunks is classified by its sign.
pub fn diff_lines(text: &str) -> Vec<DiffLine<'_>> {
    let mut reader = DiffReader::default();
    let mut lines = text.lines().peekable();
    let mut read = Vec::new();
    while let Some(line) = lines.next() {
        let mut line = reader.read(line, lines.peek().copied());
        if line.kind == DiffKind::Other {
            line.kind = match line.text.as_bytes().first() {
                Some(b'+') => DiffKind::Added,
                Some(b'-') => DiffKind::Removed,
                Some(b'\\') => DiffKind::Note,
                Some(b'@') => DiffKind::Hunk,
                _ => DiffKind::Same,
            };
        }
        read.push(line);
    }
    read
}

/// How many lines a change adds and removes.
pub fn diff_counts(text: &str) -> (usize, usize) {
    let lines = diff_lines(text);
    let count = |kind| lines.iter().filter(|line| line.kind == kind).count();
    (count(DiffKind::Added), count(DiffKind::Removed))
}

/// The first lines and lengths from the head of a hunk: `@@ -11,3 +12 @@`.
fn sides(line: &str) -> Option<[Side; 2]> {
    let (old, new) = line.strip_prefix("@@ -")?.split_once(" +")?;
    let side = |text: &str| {
        let range: &str = text.split([' ', '@']).next().unwrap_or_default();
        let (first, length) = range.split_once(',').unwrap_or((range, "1"));
        Some(Side { next: first.parse().ok()?, left: length.parse().ok()? })
    };
    Some([side(old)?, side(new)?])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kinds(text: &str) -> String {
        let letter = |line: &DiffLine<'_>| match line.kind {
            DiffKind::Name => 'f',
            DiffKind::Hunk => '@',
            DiffKind::Same => '=',
            DiffKind::Added => '+',
            DiffKind::Removed => '-',
            DiffKind::Note => 'n',
            DiffKind::Other => 'o',
        };
        diff_lines(text).iter().map(letter).collect()
    }

    #[test]
    fn changed_lines_that_begin_like_names_are_changed_lines() {
        let sql = "--- a/x.sql\n+++ b/x.sql\n@@ -1,3 +1,3 @@\n--- old\n+++ new\n same\n--- /dev/null\n+++ b/rule\n";
        assert_eq!(kinds(sql), "ff@-+=-+");
        assert_eq!(diff_counts(sql), (2, 2));
        let two = "--- a/x\n+++ b/x\n@@ -1 +1 @@\n--- a\n+++ b\n\\ No newline at end of file\n--- a/y\n+++ b/y\n@@ -0,0 +1,2 @@\n++i\n+\n";
        assert_eq!(kinds(two), "ff@-+nff@++");
        assert_eq!(diff_counts(two), (3, 1));
    }

    #[test]
    fn a_part_without_a_head_is_read_by_its_signs() {
        assert_eq!(kinds("-old\n+new\n same\n"), "-+=");
        assert_eq!(kinds("@@ -1 +1 @@ hunk 3\n-old\n+new\n+more than it says\n"), "@-++");
        assert_eq!(kinds("@@ -99999999999999999999,1 +1 @@\n-old\n"), "@-");
    }

    #[test]
    fn lines_have_the_numbers_of_their_files() {
        let lines = diff_lines("@@ -11,2 +12,2 @@\n same\n-old\n+new\n");
        let numbers: Vec<_> = lines.iter().skip(1).map(|line| (line.old, line.new)).collect();
        assert_eq!(numbers, [(Some(11), Some(12)), (Some(12), None), (None, Some(13))]);
    }

    #[test]
    fn in_another_text_only_a_diff_is_one() {
        let mut reader = DiffReader::default();
        let text = ["- cost: 1", "--- a/x", "+++ b/x", "@@ -1 +1 @@", "-a", "+b", "- item"];
        let next = text.iter().skip(1).copied().map(Some).chain([None]);
        let kinds: Vec<DiffKind> = text.iter().zip(next).map(|(line, next)| reader.read(line, next).kind).collect();
        use DiffKind::{Added, Hunk, Name, Other, Removed};
        assert_eq!(kinds, [Other, Name, Name, Hunk, Removed, Added, Other]);
    }
}
