//! Answers to questions of tasks (spec "Templates" 14).

use std::collections::BTreeSet;

use callsheet_core::fuzzy;
use callsheet_core::nouns::RunId;
use callsheet_runtime::ports::{AskingCall, InboxMessage};

use super::{Ordered, recorded};
use crate::advice::Advice;
use crate::command::{AnswerTo, Receipt};
use crate::refusal::Refusal;
use crate::view::Question;
use crate::words::one_line;

pub(super) fn reply(runs: &Ordered<'_>, id: &RunId, to: &AskingCall, text: &str) -> Result<Receipt, Refusal> {
    let (store, found) = runs.found(id)?;
    let run = recorded(&store, &found)?.run;
    if !run.questions().iter().any(|open| open.asking == *to) {
        return Err(Refusal::usage(
            "this question was answered or withdrawn in the meantime",
            "look at what is asked now",
        ));
    }
    runs.post(&store, &found, &[InboxMessage::Reply { text: text.to_owned(), to: Some(to.clone()) }])?;
    let asked = AnswerTo { seen: run.cursor(), gates: BTreeSet::new(), question: Some(to.clone()) };
    Ok(Receipt { answers: Some(asked), ..Receipt::new(id, "the answer", found.owner.as_ref()) })
}

/// A refusal of an answer to a task that asks nothing, with the tasks that may be meant, and those that ask.
pub fn no_question(asked: &[Question], name: &str) -> Refusal {
    let names: Vec<&str> = asked.iter().map(|question| question.task.as_str()).collect();
    let near = fuzzy::did_you_mean(name, names.iter().copied());
    let open = if names.is_empty() { "no question is open".to_owned() } else { format!("open: {}", names.join(", ")) };
    let advice = Advice::from(near).and(open);
    Refusal::usage(format!("{} has no open question", one_line(name, 64)), advice)
}
