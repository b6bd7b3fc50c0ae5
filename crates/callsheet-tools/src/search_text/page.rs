//! What a search shows: a limited number of matches in path order, and the count of the rest.

use std::io;

use callsheet_runtime::ports::{DocumentKind, Documents};
use grep_matcher::Matcher;
use grep_regex::RegexMatcher;
use grep_searcher::{Searcher, Sink, SinkContext, SinkFinish, SinkMatch};

use crate::common::document;
use crate::common::place::Place;
use crate::common::text::{Capped, clip, count};
use crate::common::walk::Found;
use crate::common::words::say;
use crate::common::{Stop, Ticket};

/// The maximum number of matches shown.
const MATCHES: usize = 100;
/// The maximum number of matches shown from one file, so that one file does not hide the others.
const IN_FILE: usize = 25;
/// The maximum number of matches shown for one word of a pattern without matches, in all and from one file.
const OF_WORD: (usize, usize) = (10, 3);
/// The maximum number of bytes shown of a line.
const LINE: usize = 300;

/// The maximum number of documents that one search reads. Each takes a process of its own.
const DOCUMENTS: usize = 50;

/// Matches found so far.
pub(super) struct Page {
    text: Capped,
    /// The maximum number of matches shown, in all and from one file.
    most: (usize, usize),
    shown: usize,
    left_out: usize,
    files_left_out: usize,
    searched: usize,
    documents: usize,
    documents_left_out: usize,
}

impl Page {
    pub(super) fn new(limit: usize) -> Self {
        Self::with(limit, (MATCHES, IN_FILE))
    }

    /// For one word of a pattern without matches.
    pub(super) fn of_word(limit: usize) -> Self {
        Self::with(limit, OF_WORD)
    }

    fn with(limit: usize, most: (usize, usize)) -> Self {
        Self {
            text: Capped::new(limit),
            most,
            shown: 0,
            left_out: 0,
            files_left_out: 0,
            searched: 0,
            documents: 0,
            documents_left_out: 0,
        }
    }

    pub(super) fn matches(&self) -> usize {
        self.shown + self.left_out
    }

    /// The lines found so far.
    pub(super) fn lines(&self) -> impl Iterator<Item = &str> {
        self.text.lines()
    }

    /// Whether there were more matches than are shown.
    pub(super) fn is_cut(&self) -> bool {
        self.left_out > 0
    }

    /// Searches one file. An unreadable file is skipped, as in every search tool.
    pub(super) fn search(
        &mut self,
        searcher: &mut Searcher,
        matcher: &RegexMatcher,
        (start, found, documents): (&Place, &Found, &dyn Documents),
        ticket: &Ticket,
    ) -> Result<(), Stop> {
        let Some(file) = start.open_below(&found.shown) else { return Ok(()) };
        let kind = DocumentKind::of(&found.shown);
        if kind.is_some() && self.documents == DOCUMENTS {
            self.documents_left_out += 1;
            return Ok(());
        }
        self.documents += usize::from(kind.is_some());
        self.searched += 1;
        let before = self.left_out;
        let mut lines = Lines { page: self, matcher, name: &found.shown, in_file: 0, ticket };
        let text =
            kind.and_then(|kind| document::text(kind, start.open_below(&found.shown)?, documents).ok().flatten());
        let _unreadable = match text {
            Some(text) => searcher.search_slice(matcher, text.as_bytes(), &mut lines),
            None => searcher.search_file(matcher, &file, &mut lines),
        };
        self.files_left_out += usize::from(self.left_out > before);
        ticket.check()
    }

    pub(super) fn render(self, pattern: &str, ignore_case: bool, note: &str) -> String {
        let mut notes = Vec::new();
        if !note.is_empty() {
            notes.push(note.to_owned());
        }
        if self.matches() == 0 {
            let case = if ignore_case { String::new() } else { say("search-case", &[]) };
            let files = count(self.searched, "file");
            notes.push(say("search-none", &[("pattern", &clip(pattern, LINE)), ("files", &files), ("case", &case)]));
        }
        if self.left_out > 0 {
            let files = count(self.files_left_out, "file");
            notes.push(say("search-more", &[("count", &count(self.left_out, "more match")), ("files", &files)]));
        }
        if self.documents_left_out > 0 {
            let files = count(self.documents_left_out, "document");
            notes.push(say("search-documents", &[("searched", &DOCUMENTS), ("files", &files)]));
        }
        self.text.with_note(&notes.join("; "))
    }
}

/// The lines of one file.
struct Lines<'a> {
    page: &'a mut Page,
    matcher: &'a RegexMatcher,
    name: &'a str,
    in_file: usize,
    ticket: &'a Ticket,
}

impl Lines<'_> {
    fn add(&mut self, number: Option<u64>, mark: char, bytes: &[u8]) -> bool {
        let line = String::from_utf8_lossy(bytes);
        let line = line.trim_end_matches(['\r', '\n']);
        let (before, shown, cut) = self.part(line);
        self.page.text.line(&format!("{}{mark}{}{mark} {before}{shown}{cut}", self.name, number.unwrap_or(0)))
    }

    /// The shown part of a line, with signs where it is cut. Of a long line, the part around its first match.
    fn part<'l>(&self, line: &'l str) -> (&'static str, &'l str, &'static str) {
        if line.len() <= LINE {
            return ("", line, "");
        }
        let found = self.matcher.find(line.as_bytes()).ok().flatten();
        let end = found.map_or(0, |found| found.end());
        let from = if end <= LINE { 0 } else { found.map_or(0, |found| found.start()).saturating_sub(LINE / 3) };
        let rest = line.get(line.floor_char_boundary(from)..).unwrap_or_default();
        let shown = clip(rest, LINE);
        (if from > 0 { "[cut] " } else { "" }, shown, if shown.len() < rest.len() { " [cut]" } else { "" })
    }
}

impl Sink for Lines<'_> {
    type Error = io::Error;

    fn matched(&mut self, _searcher: &Searcher, found: &SinkMatch<'_>) -> Result<bool, io::Error> {
        self.in_file += 1;
        let (most, most_in_file) = self.page.most;
        let room = self.page.shown < most && self.in_file <= most_in_file;
        if room && self.add(found.line_number(), ':', found.bytes()) {
            self.page.shown += 1;
        } else {
            self.page.left_out += 1;
        }
        Ok(self.ticket.check().is_ok())
    }

    fn context(&mut self, _searcher: &Searcher, line: &SinkContext<'_>) -> Result<bool, io::Error> {
        if self.page.shown < self.page.most.0 && self.in_file < self.page.most.1 {
            self.add(line.line_number(), '-', line.bytes());
        }
        Ok(true)
    }

    fn context_break(&mut self, _searcher: &Searcher) -> Result<bool, io::Error> {
        if self.page.shown < self.page.most.0 && self.in_file < self.page.most.1 {
            self.page.text.line("--");
        }
        Ok(true)
    }

    fn finish(&mut self, _searcher: &Searcher, _end: &SinkFinish) -> Result<(), io::Error> {
        Ok(())
    }
}
