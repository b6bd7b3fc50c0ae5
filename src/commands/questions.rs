//! Questions that wait, and the answers to them by name (spec "Templates" 14).

use callsheet_core::fuzzy;
use callsheet_core::run::Run;
use callsheet_core::spec::RunId;
use callsheet_runtime::effects::open_questions;
use callsheet_runtime::ports::{AskingCall, InboxMessage};

use crate::cli::Failure;
use crate::setup::Setup;
use crate::term;

/// A question that waits.
pub(super) struct Question {
    /// The name of the task that asks: by it a person says which is answered.
    pub task: String,
    /// Its words.
    pub text: String,
    asking: AskingCall,
}

/// The open questions of a run.
pub(super) fn questions(run: &Run) -> Vec<Question> {
    let open = open_questions(run);
    open.map(|open| Question { task: open.asking.task.to_string(), text: open.question, asking: open.asking }).collect()
}

/// What an answer says to which question: to the one whose name stands in front of a `=`, else to the first, all of it.
/// One word there is a name, whatever it names: an answer that is meant for one question never goes to another.
///
/// # Errors
/// No question of that name is open.
pub(super) fn letter(asked: &[Question], given: &str) -> Result<InboxMessage, Failure> {
    let (question, text) = match given.split_once('=').filter(|(name, _)| is_name(name)) {
        Some(("", text)) => (asked.first(), text),
        Some((name, text)) => match asked.iter().find(|question| question.task == name) {
            Some(question) => (Some(question), text),
            None => return Err(no_question(asked, name)),
        },
        None => (asked.first(), given),
    };
    let to = question.map(|question| question.asking.clone());
    Ok(InboxMessage::Reply { text: text.to_owned(), to })
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
