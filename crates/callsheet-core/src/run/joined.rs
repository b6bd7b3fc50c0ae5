//! The answer that a model wrote from several results (spec 2.15).

use crate::spec::Slug;

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
    /// Tasks whose results were joined. Equal tasks are equal results until one of them is done again.
    of: Vec<Slug>,
    joined: Option<Joined>,
}

impl Answer {
    /// What came of joining the results of exactly these tasks; `None`: they were not joined.
    pub fn of(&self, tasks: &[Slug]) -> Option<&Joined> {
        self.joined.as_ref().filter(|_| self.of == tasks)
    }

    /// A task whose result may be part of it is done again.
    pub fn forget(&mut self) {
        self.joined = None;
    }

    pub fn set(&mut self, of: Vec<Slug>, joined: Joined) {
        (self.of, self.joined) = (of, Some(joined));
    }
}
