//! What a person should know about a model. Each note is reported once.

use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};

/// Notes of one model.
#[derive(Debug, Default)]
pub(crate) struct Notes(Mutex<Kept>);

#[derive(Debug, Default)]
struct Kept {
    told: BTreeSet<String>,
    waiting: Vec<String>,
}

impl Notes {
    /// Keeps a note for the next reply, unless it was already reported.
    pub fn note(&self, words: String) {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if kept.told.insert(words.clone()) {
            kept.waiting.push(words);
        }
    }

    /// The notes to report now, including `more`.
    pub fn take(&self, more: Option<String>) -> Vec<String> {
        more.into_iter().for_each(|words| self.note(words));
        std::mem::take(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner).waiting)
    }
}
