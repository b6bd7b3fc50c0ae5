//! Runs inside calls of others (spec "Templates" 16): a person answers the run that was begun, whichever of them asks.

use std::collections::BTreeMap;
use std::sync::Arc;

use callsheet_core::fuzzy;
use callsheet_core::record::Outcome;
use callsheet_core::run::Run;
use callsheet_core::spec::{RunId, Slug};
use callsheet_runtime::driver::{Session, caller_of, is_awaited, runs_inside};
use callsheet_runtime::effects::{open_gates, open_questions};
use callsheet_runtime::ports::{AskingCall, InboxMessage, Store, address};

use crate::cli::Failure;
use crate::setup::Setup;
use crate::term;

use super::drive::drive_failure;

/// The runs that ask a person for `outcome`: `run` itself, and those inside calls of it in the order of the tasks that
/// made them, each with its fold.
///
/// # Errors
/// An inner run cannot be read.
pub(super) fn asking_runs(
    store: &Arc<dyn Store>,
    id: &RunId,
    run: Run,
    outcome: Outcome,
) -> Result<Vec<(RunId, Run)>, Failure> {
    let asks = |run: &Run| match outcome {
        Outcome::ApprovalRequired => open_gates(run).next().is_some(),
        _ => open_questions(run).next().is_some(),
    };
    let called = run.steps().iter().flatten().enumerate().map(|(index, task)| (Some(task.clone()), index));
    let order: BTreeMap<Option<Slug>, usize> = called.collect();
    let inside = runs_inside(store, id).map_err(|fault| drive_failure(&fault, id))?;
    let inside: Vec<RunId> = inside.into_iter().filter(|inner| is_awaited(&run, inner)).collect();
    let mut asking = vec![(id.clone(), run)];
    // Of a living run the call is in flight, and only the inner run knows that it asks.
    for inner in inside {
        let (folded, _) = Session::view(store, &inner).map_err(|fault| drive_failure(&fault, &inner))?;
        asking.push((inner, folded));
    }
    asking.retain(|(_, run)| asks(run));
    asking.sort_by_key(|(id, _)| order.get(&caller_of(id)).copied());
    Ok(asking)
}

/// A question that waits, of a run or of one inside it.
pub(super) struct Question {
    /// The name of the task that asks: by it a person says which is answered.
    pub task: String,
    /// Its words.
    pub text: String,
    /// The run whose question it is.
    pub run: RunId,
    asking: AskingCall,
}

/// The open questions of a run and of those inside it.
///
/// # Errors
/// An inner run cannot be read.
pub(super) fn questions(store: &Arc<dyn Store>, id: &RunId, run: &Run) -> Result<Vec<Question>, Failure> {
    let asking = asking_runs(store, id, run.clone(), Outcome::InputRequired)?;
    let asked = asking.iter().flat_map(|(id, run)| {
        let inside = caller_of(id);
        open_questions(run).map(move |open| Question {
            task: address(inside.as_ref(), &open.asking.task),
            text: open.question,
            run: id.clone(),
            asking: open.asking,
        })
    });
    Ok(asked.collect())
}

/// What an answer says to which question: to the one whose name stands in front of a `=`, else to the first, all of it.
/// One word there is a name, whatever it names: an answer that is meant for one question never goes to another.
///
/// # Errors
/// No question of that name is open.
pub(super) fn letter(asked: &[Question], given: &str) -> Result<(Option<RunId>, InboxMessage), Failure> {
    let (question, text) = match given.split_once('=').filter(|(name, _)| is_name(name)) {
        Some(("", text)) => (asked.first(), text),
        Some((name, text)) => match asked.iter().find(|question| question.task == name) {
            Some(question) => (Some(question), text),
            None => return Err(no_question(asked, name)),
        },
        None => (asked.first(), given),
    };
    let to = question.map(|question| question.asking.clone());
    Ok((question.map(|question| question.run.clone()), InboxMessage::Reply { text: text.to_owned(), to }))
}

fn is_name(word: &str) -> bool {
    word.chars().all(|c| c.is_alphanumeric() || matches!(c, '-' | '_' | '.' | '/'))
}

fn no_question(asked: &[Question], name: &str) -> Failure {
    let names: Vec<&str> = asked.iter().map(|question| question.task.as_str()).collect();
    let near = fuzzy::did_you_mean(name, names.iter().copied());
    let open = if names.is_empty() { "no question is open".to_owned() } else { format!("open: {}", names.join(", ")) };
    let literal = "if it is part of your answer: --answer \"=TEXT\"";
    Failure::usage(
        format!("{} has no open question", term::one_line(name, 64)),
        format!("{near} {open}; {literal}").trim_start().to_owned(),
    )
}

/// How several questions are answered, or the one there is: `answer: callsheet …`.
pub(super) fn how_to_answer(setup: &Setup, asked: &[Question], id: &RunId) -> String {
    let command = format!("{} resume {id} --answer \"…\"", setup.command);
    match asked {
        [] => String::new(),
        [_] => format!("Answer: {command}\n"),
        [first, rest @ ..] => {
            let other = rest.iter().find(|other| other.task != first.task);
            let named = other.map(|other| format!("Answer another one by name: --answer \"{}=…\"\n", other.task));
            format!("Answer the first: {command}\n{}", named.unwrap_or_default())
        }
    }
}
