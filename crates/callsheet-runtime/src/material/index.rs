//! The words of a project's files, kept in memory and updated. An unchanged file is not read again.

use std::collections::{BTreeMap, HashMap};
use std::fs::Metadata;
use std::num::NonZero;
use std::sync::{Mutex, MutexGuard, PoisonError};

use callsheet_core::nouns::tokens;
use callsheet_core::words::{Counts, Question, Words, scores};

use crate::file_index::{FileText, LARGEST, read_text};
use crate::paths::Workspace;
use crate::references::{Stamp, files};

/// A word of the path counts as often as this many words in the text.
const IN_PATH: u32 = 3;

/// How many bytes of text of a project are read. In a larger project, the rest, in path order, has only the words of
/// its paths.
const MOST_BYTES: u64 = 64 * 1024 * 1024;

/// How many files are read before their words are stored.
const BATCH: usize = 256;

/// The words of the files of one project. They are not saved: to read 5,000 files of 40 MB once takes some seconds in a
/// debug build, and each question takes 45 ms from then on.
#[derive(Debug, Default)]
pub struct WordIndex(Mutex<Kept>);

#[derive(Debug, Default)]
struct Kept {
    /// Term numbers by text.
    numbers: HashMap<String, u32>,
    files: BTreeMap<String, IndexedFile>,
}

#[derive(Debug)]
struct IndexedFile {
    /// Shows whether the file is unchanged since it was read. `None` if nothing was read, or if the file may change
    /// again without a visible change of its times.
    stamp: Option<Stamp>,
    /// How often each term occurs in it, by number.
    terms: Vec<(u32, u32)>,
    length: u32,
    /// Tokens of its text. `None` if it is binary, too large or unreadable, so that only its path has words.
    tokens: Option<u32>,
}

/// A file of the project with its score for a question.
#[derive(Clone, Debug, PartialEq)]
pub struct RankedFile {
    /// Its path.
    pub path: String,
    /// How well it matches. 0 means not at all.
    pub score: f64,
    /// Tokens of its text. `None` if it is not text, or too large to search.
    pub tokens: Option<u32>,
}

impl WordIndex {
    /// All files of a project: those that match a text first, best first, equal ones in path order. Ignored and hidden
    /// files are left out. Reads what changed since the last call, so it blocks.
    pub fn rank(&self, workspace: &Workspace, text: &str) -> Vec<RankedFile> {
        let mut kept: MutexGuard<'_, Kept> = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        kept.refresh(workspace);
        let question = Question::of(text);
        let numbers: Vec<Option<u32>> =
            question.terms().iter().map(|term| kept.numbers.get(term.as_str()).copied()).collect();
        let counts: Vec<Counts> = kept.files.values().map(|file| file.counts(&numbers)).collect();
        let files = kept.files.iter().zip(scores(&counts));
        let mut ranked: Vec<RankedFile> =
            files.map(|((path, file), score)| RankedFile { path: path.clone(), score, tokens: file.tokens }).collect();
        // The sort is stable, and the files are in path order.
        ranked.sort_by(|a, b| b.score.total_cmp(&a.score));
        ranked
    }
}

/// A file that must be read.
struct Unread {
    path: String,
    in_reach: bool,
    stamp: Option<Stamp>,
}

impl Kept {
    fn refresh(&mut self, workspace: &Workspace) {
        let mut former = std::mem::take(&mut self.files);
        let mut unread: Vec<Unread> = Vec::new();
        let mut left = MOST_BYTES;
        for (path, about) in files(workspace) {
            let size = about.as_ref().map_or(0, Metadata::len);
            let in_reach = size <= LARGEST && size <= left;
            left = if in_reach { left.saturating_sub(size) } else { left };
            let stamp = about.as_ref().filter(|_| in_reach).map(Stamp::of_metadata);
            let is_known = |file: &IndexedFile| match stamp {
                Some(_) => file.stamp == stamp,
                None => !in_reach && file.tokens.is_none(),
            };
            match former.remove(&path).filter(is_known) {
                Some(file) => drop(self.files.insert(path, file)),
                None => unread.push(Unread { path, in_reach, stamp }),
            }
        }
        for batch in unread.chunks(BATCH) {
            for (file, (words, tokens)) in batch.iter().zip(read_all(workspace, batch)) {
                let mut terms: Vec<(u32, u32)> =
                    words.terms().map(|(term, times)| (self.number(term), times)).collect();
                terms.sort_unstable();
                let stamp = file.stamp.filter(Stamp::is_settled);
                let indexed = IndexedFile { stamp, terms, length: words.length(), tokens };
                self.files.insert(file.path.clone(), indexed);
            }
        }
    }

    fn number(&mut self, term: &str) -> u32 {
        if let Some(number) = self.numbers.get(term) {
            return *number;
        }
        let number = u32::try_from(self.numbers.len()).unwrap_or(u32::MAX);
        self.numbers.insert(term.to_owned(), number);
        number
    }
}

/// Reads files on all processors and keeps their order.
fn read_all(workspace: &Workspace, batch: &[Unread]) -> Vec<(Words, Option<u32>)> {
    let threads = std::thread::available_parallelism().map_or(1, NonZero::get);
    let part = batch.len().div_ceil(threads).max(1);
    std::thread::scope(|scope| {
        let read = |files: &[Unread]| files.iter().map(|file| read(workspace, file)).collect::<Vec<_>>();
        let working: Vec<_> = batch.chunks(part).map(|files| (files, scope.spawn(move || read(files)))).collect();
        let done = working.into_iter().flat_map(|(files, thread)| thread.join().unwrap_or_else(|_| read(files)));
        done.collect()
    })
}

/// The words of a file with its path, and the tokens of its text.
fn read(workspace: &Workspace, file: &Unread) -> (Words, Option<u32>) {
    let mut words = Words::default();
    words.add(&file.path, IN_PATH);
    let text = if file.in_reach { read_text(workspace, &file.path) } else { FileText::TooLarge };
    let tokens = match text {
        FileText::Text(bytes) => {
            let text = String::from_utf8_lossy(&bytes);
            words.add(&text, 1);
            Some(tokens(&text))
        }
        FileText::Binary | FileText::TooLarge | FileText::Unreadable => None,
    };
    (words, tokens)
}

impl IndexedFile {
    fn counts(&self, numbers: &[Option<u32>]) -> Counts {
        let times = |number: &Option<u32>| {
            let found = number.and_then(|number| self.terms.binary_search_by_key(&number, |(term, _)| *term).ok());
            found.and_then(|at| self.terms.get(at)).map_or(0, |(_, times)| *times)
        };
        Counts { times: numbers.iter().map(times).collect(), length: self.length }
    }
}
