//! The books about joined answers.

use std::collections::BTreeSet;

use callsheet_core::nouns::{Policy, Settings, Slug};
use callsheet_core::run::{Run, State};

use crate::checkers::Kept;

/// The results that were joined.
#[derive(Default)]
pub(crate) struct Answers {
    joined: BTreeSet<(usize, BTreeSet<(Slug, String)>)>,
}

impl Answers {
    /// Notes that an answer was read while no task was at work.
    pub fn note(&mut self, run: &Run) {
        self.joined.insert((run.follow_ups().len(), done(run)));
    }

    /// Several results are joined once, at the end.
    ///
    /// # Errors
    /// They are not.
    pub fn are_joined_once(&self, run: &Run, settings: &Settings) -> Kept {
        let results = done(run);
        let several = results.len() > 1;
        let ended = run.tasks().all(|task| task.state().is_ended());
        let fits = [
            ("results are joined where that is wanted", settings.join != Policy::Never),
            ("several results are joined", several),
            ("the same results are joined once", !self.joined.contains(&(run.follow_ups().len(), results))),
            ("results are joined when all tasks have ended", ended),
        ];
        fits.iter().find(|(_, holds)| !holds).map_or(Ok(()), |(promise, _)| Err((*promise).to_owned()))
    }
}

/// The done tasks with their results in words. After a follow-up, they may answer another question.
fn done(run: &Run) -> BTreeSet<(Slug, String)> {
    let done = run.tasks().filter(|task| task.state() == State::Done);
    done.map(|task| (task.task.slug.clone(), format!("{:?}", task.result()))).collect()
}
