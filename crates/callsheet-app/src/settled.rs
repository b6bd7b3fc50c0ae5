//! Whether an answer took effect, or another one came first.

use std::collections::BTreeSet;
use std::thread::sleep;
use std::time::Duration;

use callsheet_core::events::{Event, GateAnswered, LogEntry, QuestionAnswered};
use callsheet_core::record::Answer;
use callsheet_runtime::ports::AskingCall;

use crate::command::{AnswerTo, Arrival, Order, Receipt};
use crate::control::RunControl;
use crate::refusal::Refusal;

/// How often to look for the effect of an answer, and the pause before the next look.
const LOOKS: u32 = 40;
const PAUSE: Duration = Duration::from_millis(50);

/// An answer that was sent to the process that drives a run, and that is not in the record yet.
#[derive(Clone, Debug)]
pub struct Awaited {
    order: Order,
    receipt: Receipt,
    asked: AnswerTo,
}

impl Awaited {
    /// The answer of an order. `None` if the order is no answer, or if nothing drives the run.
    pub fn of(order: &Order, receipt: &Receipt) -> Option<Self> {
        let asked = receipt.answers.clone().filter(|_| receipt.is_sent())?;
        let asked = Some(asked).filter(|asked| !asked.gates.is_empty() || asked.question.is_some())?;
        Some(Self { order: order.clone(), receipt: receipt.clone(), asked })
    }

    /// Looks for the effect of the answer. `None` if there is none yet.
    ///
    /// # Errors
    /// All that the person was asked was answered by others, or the record cannot be read.
    pub fn look(&self, runs: &dyn RunControl) -> Result<Option<Receipt>, Refusal> {
        let entries = runs.watch(&self.receipt.run, self.asked.seen)?;
        if entries.iter().flat_map(|entry| &entry.orders).any(|id| self.order.owns(id)) {
            return Ok(Some(Receipt { arrival: Arrival::Recorded, ..self.receipt.clone() }));
        }
        match self.answered_by_others(&entries) {
            Some(others) => {
                Err(Refusal::usage(format!("your answer was not used: {others}"), "look at what is asked now"))
            }
            None => Ok(None),
        }
    }

    /// The answers of others, if they leave nothing of what the person was asked.
    fn answered_by_others(&self, entries: &[LogEntry]) -> Option<String> {
        if let Some(question) = &self.asked.question {
            let mut answers = entries.iter().filter(|entry| is_answer_to(entry, question));
            return answers.next().map(|_| format!("the question of {} was answered before", question.task));
        }
        let answers = entries.iter().filter_map(|entry| answer_to(entry, &self.asked.gates));
        let answers: Vec<&GateAnswered> = answers.collect();
        let numbers: BTreeSet<u32> = answers.iter().map(|answered| answered.gate.n).collect();
        let others = || answers.iter().map(|answered| answered.words()).collect::<Vec<_>>().join("; ");
        (numbers == self.asked.gates).then(others)
    }
}

/// Waits until the process that drives the run has recorded an answer, for two seconds at most.
///
/// # Errors
/// All that the person was asked was answered by others, or the record cannot be read.
pub fn settled(runs: &dyn RunControl, order: &Order, receipt: Receipt) -> Result<Receipt, Refusal> {
    let Some(awaited) = Awaited::of(order, &receipt) else { return Ok(receipt) };
    for _ in 0..LOOKS {
        if let Some(receipt) = awaited.look(runs)? {
            return Ok(receipt);
        }
        sleep(PAUSE);
    }
    Ok(receipt)
}

/// The answer that an entry records to one of these gates. One for single tasks leaves the others to the next answer.
fn answer_to<'a>(entry: &'a LogEntry, gates: &BTreeSet<u32>) -> Option<&'a GateAnswered> {
    match &entry.event {
        Event::GateAnswered(answered) if !matches!(answered.answer, Answer::Each { .. }) => {
            Some(answered).filter(|answered| gates.contains(&answered.gate.n))
        }
        _ => None,
    }
}

fn is_answer_to(entry: &LogEntry, question: &AskingCall) -> bool {
    let AskingCall { task, run, call } = question;
    matches!(&entry.event, Event::QuestionAnswered(QuestionAnswered { task: of, run: exec, call: asked, .. })
        if (of, exec, asked) == (task, run, call))
}
