//! The lines of a file by byte, and the line ending that it uses.

/// The positions of the lines of a text.
pub(crate) struct Lines<'a> {
    text: &'a str,
    /// The byte at which each line starts, then the length of the text.
    starts: Vec<usize>,
}

impl<'a> Lines<'a> {
    pub(crate) fn of(text: &'a str) -> Self {
        let mut starts: Vec<usize> = std::iter::once(0).chain(text.match_indices('\n').map(|(at, _)| at + 1)).collect();
        if starts.last() != Some(&text.len()) {
            starts.push(text.len());
        }
        Self { text, starts }
    }

    /// Number of lines. A final newline ends the last line and starts none.
    pub(crate) fn count(&self) -> usize {
        self.starts.len().saturating_sub(1)
    }

    /// First byte of the 1-based line `line`. For the line after the last, the end of the text.
    pub(crate) fn start(&self, line: usize) -> usize {
        self.starts.get(line.saturating_sub(1)).copied().unwrap_or(self.text.len())
    }

    /// The 1-based line that contains byte `at`.
    pub(crate) fn line_at(&self, at: usize) -> usize {
        self.starts.partition_point(|start| *start <= at).clamp(1, self.count().max(1))
    }

    /// The 1-based line `line` without its ending.
    pub(crate) fn get(&self, line: usize) -> &'a str {
        let whole = self.text.get(self.start(line)..self.start(line.saturating_add(1))).unwrap_or("");
        let whole = whole.strip_suffix('\n').unwrap_or(whole);
        whole.strip_suffix('\r').unwrap_or(whole)
    }

    /// The ending of the 1-based line `line`.
    pub(crate) fn ending(&self, line: usize) -> &'a str {
        let whole = self.text.get(self.start(line)..self.start(line.saturating_add(1))).unwrap_or("");
        whole.get(self.get(line).len()..).filter(|ending| ending.ends_with('\n')).unwrap_or("")
    }

    /// All lines without their endings.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &'a str> {
        (1..=self.count()).map(|line| self.get(line))
    }
}

/// The line ending of most lines of a text.
pub(crate) fn ending(text: &str) -> &'static str {
    let all = text.matches('\n').count();
    let with_return = text.matches("\r\n").count();
    if with_return * 2 > all { "\r\n" } else { "\n" }
}

/// Whether all lines of a text end in the same way.
pub(crate) fn is_uniform(text: &str) -> bool {
    let mut endings = text.match_indices('\n').map(|(at, _)| text.get(..at).is_some_and(|line| line.ends_with('\r')));
    let first = endings.next();
    endings.all(|ending| Some(ending) == first)
}

/// `text` with the line endings of a file that uses `ending`.
pub(crate) fn with_ending(text: &str, ending: &str) -> String {
    let plain = text.replace("\r\n", "\n");
    if ending == "\n" { plain } else { plain.replace('\n', ending) }
}

/// `text` without one final line ending.
pub(crate) fn without_final(text: &str) -> &str {
    let text = text.strip_suffix('\n').unwrap_or(text);
    text.strip_suffix('\r').unwrap_or(text)
}

/// `text` with a final line ending, unless it is empty.
pub(crate) fn with_final(text: &str, ending: &str) -> String {
    if text.is_empty() || text.ends_with('\n') { text.to_owned() } else { format!("{text}{ending}") }
}
