//! The answer that a model wrote from several results (spec 2.15).

use std::sync::Arc;

use crate::nouns::Slug;
use crate::record::ResultParts;

/// What came of the call that joins results.
#[derive(Clone, Debug, PartialEq)]
pub enum Joined {
    /// The answer.
    Answer {
        /// Prose.
        text: String,
        /// What of it stands in nothing that its prompt showed (spec 3.14).
        unsupported: Vec<String>,
    },
    /// There is none: the results stand as a list. Why.
    Failed(String),
}

/// The last joining.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Answer {
    /// The results that were joined, with their tasks.
    of: Vec<(Slug, Arc<ResultParts>)>,
    joined: Option<Joined>,
}

impl Answer {
    /// What came of joining exactly these results; `None`: they were not joined.
    pub fn of(&self, results: &[(Slug, Arc<ResultParts>)]) -> Option<&Joined> {
        self.joined.as_ref().filter(|_| self.of == results)
    }

    pub fn set(&mut self, of: Vec<(Slug, Arc<ResultParts>)>, joined: Joined) {
        (self.of, self.joined) = (of, Some(joined));
    }
}
