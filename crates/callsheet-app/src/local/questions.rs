//! Answers to questions of tasks (spec "Templates" 14).

use std::collections::BTreeSet;

use callsheet_core::nouns::RunId;
use callsheet_runtime::ports::{AskingCall, InboxMessage};

use super::{Ordered, recorded};
use crate::command::{AnswerTo, Receipt};
use crate::refusal::Refusal;

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
