//! Open questions, and answers to named questions (spec "Templates" 14).

use callsheet_app::{Question, RunCommand};
use callsheet_core::nouns::RunId;

use crate::cli::Failure;
use crate::setup::Setup;

/// Finds the question for an answer. The question of the task before a `=`, or else the first question, gets it. A
/// single word before the `=` always counts as the name of a task, so that an answer never goes to the wrong
/// question.
///
/// # Errors
/// No question of a task with this name is open.
pub(super) fn reply_to(asked: &[Question], given: &str) -> Result<RunCommand, Failure> {
    let (question, text) = match given.split_once('=').filter(|(name, _)| is_name(name)) {
        Some(("", text)) => (asked.first(), text),
        Some((name, text)) => match asked.iter().find(|question| question.task == name) {
            Some(question) => (Some(question), text),
            None => return Err(no_question(asked, name)),
        },
        None => (asked.first(), given),
    };
    let Some(question) = question else { return Err(Failure::usage("no question is open", "")) };
    Ok(RunCommand::Reply { to: question.asking.clone(), text: text.to_owned() })
}

fn is_name(word: &str) -> bool {
    word.chars().all(|c| c.is_alphanumeric() || matches!(c, '-' | '_' | '.' | '/'))
}

fn no_question(asked: &[Question], name: &str) -> Failure {
    let mut refusal = callsheet_app::no_question(asked, name);
    refusal.advice.add("if it is part of your answer: --answer \"=TEXT\"");
    refusal.into()
}

/// How to answer the open questions: `answer: callsheet …`.
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
