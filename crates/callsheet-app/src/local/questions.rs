//! Questions of tasks that wait for an answer (spec "Templates" 14).

use callsheet_core::run::Run;
use callsheet_core::spec::RunId;
use callsheet_runtime::effects::open_questions;
use callsheet_runtime::ports::{AskingCall, InboxMessage};

use super::{LocalRuns, recorded};
use crate::command::Receipt;
use crate::refusal::Refusal;

/// A question that waits.
pub struct Question {
    /// The name of the task that asks. A person says by it which question they answer.
    pub task: String,
    /// Its words.
    pub text: String,
    /// The call that asks.
    pub asking: AskingCall,
}

/// The open questions of a run.
pub fn questions(run: &Run) -> Vec<Question> {
    let open = open_questions(run);
    open.map(|open| Question { task: open.asking.task.to_string(), text: open.question, asking: open.asking }).collect()
}

pub(super) fn reply(runs: &LocalRuns, id: &RunId, to: &AskingCall, text: &str) -> Result<Receipt, Refusal> {
    let (store, found) = runs.found(id)?;
    let run = recorded(&store, &found)?.run;
    if !open_questions(&run).any(|open| open.asking == *to) {
        return Err(Refusal::usage("this question was answered or withdrawn meanwhile", "look at what is asked now"));
    }
    runs.post(&store, &found, &[InboxMessage::Reply { text: text.to_owned(), to: Some(to.clone()) }])?;
    Ok(Receipt::new(id, "the answer", found.owner.as_ref()))
}
