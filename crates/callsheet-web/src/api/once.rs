//! Remembers the keys of starts and resumes, so that a repeated request has no second effect as long as this server
//! runs. Orders to a run need no such memory, because the log holds their keys.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

use super::limits;
use super::problem::Problem;
use crate::record::locked;

/// The result for one key. Locked while the work is done, so that a second request waits for the first.
type Outcome = Arc<Mutex<Option<String>>>;

/// The results for the latest keys.
#[derive(Default)]
pub(super) struct Once(Mutex<VecDeque<(String, Outcome)>>);

impl Once {
    /// Does the work, or returns the earlier result for this key. Refusals are not remembered.
    pub fn run(&self, key: &str, work: impl FnOnce() -> Result<String, Problem>) -> Result<String, Problem> {
        let outcome = self.outcome(key);
        let mut outcome = locked(&outcome);
        if let Some(done) = &*outcome {
            return Ok(done.clone());
        }
        let done = work()?;
        *outcome = Some(done.clone());
        Ok(done)
    }

    fn outcome(&self, key: &str) -> Outcome {
        let mut known = locked(&self.0);
        if let Some((_, outcome)) = known.iter().find(|(one, _)| one == key) {
            return Arc::clone(outcome);
        }
        if known.len() >= limits::KEYS {
            known.pop_front();
        }
        let outcome = Outcome::default();
        known.push_back((key.to_owned(), Arc::clone(&outcome)));
        outcome
    }
}

#[cfg(test)]
mod tests {
    use super::super::problem::Code;
    use super::*;

    #[test]
    fn a_key_is_carried_out_once_and_a_refusal_is_forgotten() {
        let once = Once::default();
        let refused = once.run("a", || Err(Problem::new(Code::CannotRun, "no", "")));
        assert!(refused.is_err());
        let done = |words: &str| once.run("a", || Ok(words.to_owned())).unwrap();
        assert_eq!([done("first"), done("second")], ["first", "first"]);
        for other in 0..limits::KEYS {
            once.run(&format!("b{other}"), || Ok(String::new())).unwrap();
        }
        assert_eq!(done("third"), "third", "only so many are kept");
    }
}
