//! Reviews: random verdicts, and the books about them.

use std::collections::BTreeSet;

use callsheet_core::events::{self, Event};
use callsheet_core::nouns::{ExecutionId, Slug};
use callsheet_core::record::CallKey;
use callsheet_format::reply::read_review;

use crate::checkers::Kept;
use crate::random::Random;

/// The event for the reply of a review.
pub(crate) fn verdict(random: &mut Random, key: CallKey) -> Event {
    let replies = ["yes", "no: the second file is missing", "It is fine."];
    let reading = read_review(random.pick(&replies).copied().unwrap_or_default());
    events::Reviewed { key, missing: reading.value, repairs: reading.repairs, issues: reading.issues }.into()
}

/// An execution in one listing of its task.
pub(crate) type ReviewedExecution = (Slug, ExecutionId, u32);

/// The verdicts that were read.
#[derive(Default)]
pub(crate) struct Verdicts {
    read: BTreeSet<ReviewedExecution>,
    no: BTreeSet<ReviewedExecution>,
}

impl Verdicts {
    pub fn note(&mut self, execution: ReviewedExecution, missing: bool) {
        if missing {
            self.no.insert(execution.clone());
        }
        self.read.insert(execution);
    }

    /// Forgets verdicts, because the contents of the task's references have changed and its executions may begin
    /// again.
    pub fn forget(&mut self, task: &Slug) {
        self.read.retain(|(of, ..)| of != task);
    }

    /// The number of attempts that a verdict adds.
    pub fn attempts(&self, execution: &ReviewedExecution) -> u32 {
        u32::from(self.no.contains(execution))
    }

    /// A result is reviewed once, and a second result is not reviewed.
    ///
    /// # Errors
    /// It is reviewed again.
    pub fn are_given_once(&self, execution: &ReviewedExecution) -> Kept {
        match self.read.contains(execution) {
            true => Err(format!("a result is reviewed once: {execution:?}")),
            false => Ok(()),
        }
    }
}
