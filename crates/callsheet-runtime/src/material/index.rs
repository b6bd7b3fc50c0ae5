//! The words of a project's files, kept in memory and fresh: of a file that looks as it did nothing is read again.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Mutex, MutexGuard, PoisonError};

use callsheet_core::spec::tokens;
use callsheet_core::words::{Counts, Question, Words, scores};

use crate::memory::{FileText, read_text};
use crate::paths::Workspace;
use crate::references::{Stamp, files};

/// A word of the path counts as often as this many in the text.
const IN_PATH: u32 = 3;

/// The words of the files of one project.
#[derive(Debug, Default)]
pub struct WordIndex(Mutex<Kept>);

#[derive(Debug, Default)]
struct Kept {
    /// Terms by their text.
    numbers: HashMap<String, u32>,
    files: BTreeMap<String, IndexedFile>,
}

#[derive(Debug)]
struct IndexedFile {
    /// What vouches for it; `None`: it may change again without its times showing it.
    stamp: Option<Stamp>,
    /// How often each term stands in it, by number.
    terms: Vec<(u32, u32)>,
    length: u32,
    /// Tokens of its text; `None`: it is binary, too large or cannot be read, and only its path has words.
    tokens: Option<u32>,
}

/// A file of the project as a question finds it.
#[derive(Clone, Debug, PartialEq)]
pub struct RankedFile {
    /// Its path.
    pub path: String,
    /// How well it fits; 0: not at all.
    pub score: f64,
    /// Tokens of its text; `None` of what is no text, or too large to look for words in.
    pub tokens: Option<u32>,
}

impl WordIndex {
    /// All files of a project, those that fit a text best first, equal ones in path order. Ignored and hidden files are
    /// left out. Reads what changed since it was asked last; blocks.
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
        // Stable, and the files are in path order.
        ranked.sort_by(|a, b| b.score.total_cmp(&a.score));
        ranked
    }
}

impl Kept {
    fn refresh(&mut self, workspace: &Workspace) {
        let mut former = std::mem::take(&mut self.files);
        for (path, about) in files(workspace) {
            let stamp = about.as_ref().map(Stamp::of_metadata);
            let known = former.remove(&path).filter(|file| file.stamp.is_some() && file.stamp == stamp);
            let file = known.unwrap_or_else(|| self.read(workspace, &path, stamp));
            self.files.insert(path, file);
        }
    }

    fn read(&mut self, workspace: &Workspace, path: &str, stamp: Option<Stamp>) -> IndexedFile {
        let mut words = Words::default();
        words.add(path, IN_PATH);
        let tokens = match read_text(workspace, path) {
            FileText::Text(bytes) => {
                let text = String::from_utf8_lossy(&bytes);
                words.add(&text, 1);
                Some(tokens(&text))
            }
            FileText::Binary | FileText::TooLarge | FileText::Unreadable => None,
        };
        let mut terms: Vec<(u32, u32)> = words.terms().map(|(term, times)| (self.number(term), times)).collect();
        terms.sort_unstable();
        IndexedFile { stamp: stamp.filter(Stamp::is_settled), terms, length: words.length(), tokens }
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

impl IndexedFile {
    fn counts(&self, numbers: &[Option<u32>]) -> Counts {
        let times = |number: &Option<u32>| {
            let found = number.and_then(|number| self.terms.binary_search_by_key(&number, |(term, _)| *term).ok());
            found.and_then(|at| self.terms.get(at)).map_or(0, |(_, times)| *times)
        };
        Counts { times: numbers.iter().map(times).collect(), length: self.length }
    }
}
