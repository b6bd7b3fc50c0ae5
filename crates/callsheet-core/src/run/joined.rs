//! The answer that a model wrote from several results (spec 2.15).

use std::sync::Arc;

use crate::nouns::Slug;
use crate::record::ResultParts;

/// The outcome of the call that joins results.
#[derive(Clone, Debug, PartialEq)]
pub enum Joined {
    /// The call gave an answer.
    Answer {
        /// The text of the answer.
        text: String,
        /// The parts of the answer that nothing in its prompt supports (spec 3.14).
        unsupported: Vec<String>,
    },
    /// The call gave no answer, for this reason. The results are shown as a list.
    Failed(String),
}

/// The last joining of results.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Answer {
    /// The results that were joined, with their tasks.
    of: Vec<(Slug, Arc<ResultParts>)>,
    joined: Option<Joined>,
}

impl Answer {
    /// The outcome of joining exactly these results. `None` if they were not joined.
    pub fn of(&self, results: &[(Slug, Arc<ResultParts>)]) -> Option<&Joined> {
        self.joined.as_ref().filter(|_| self.of == results)
    }

    pub fn set(&mut self, of: Vec<(Slug, Arc<ResultParts>)>, joined: Joined) {
        (self.of, self.joined) = (of, Some(joined));
    }
}
