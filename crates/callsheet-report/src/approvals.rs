//! Who approved what, and with which words: the answers to approvals and questions, from the log.

use callsheet_app::RunView;
use callsheet_core::events::{self, Event, LogEntry};
use callsheet_core::nouns::{ApprovalMode, Headless, Slug};
use callsheet_core::record::{Answer, AnsweredBy, Gate, GateKind, Verdict};

/// One person's answer to one approval, about one task.
pub(crate) struct Approval {
    pub task: Slug,
    /// What was asked.
    pub asked: String,
    pub approved: bool,
    /// What the person answered, and their words, if any.
    pub verdict: &'static str,
    /// Where it was answered; empty if that is not recorded.
    pub place: String,
    pub words: String,
}

/// All answers, in the order they were given.
pub(crate) fn approvals(facts: &[LogEntry]) -> Vec<Approval> {
    let mut all = Vec::new();
    for fact in facts {
        if let Event::GateAnswered(events::GateAnswered { gate, answer, by }) = &fact.event {
            all.extend(of_gate(gate, answer, &by.as_ref().map(AnsweredBy::words).unwrap_or_default()));
        }
        if let Event::AnswerUnused(unused) = &fact.event {
            all.extend(not_used(unused));
        }
    }
    all
}

/// An answer that a later one replaced.
fn not_used(unused: &events::AnswerUnused) -> impl Iterator<Item = Approval> {
    let (tasks, asked) = what(&unused.gate);
    let place = unused.by.as_ref().map(|by| by.words().into_owned()).unwrap_or_default();
    let words = format!("{}; a later answer counted instead", unused.verdict);
    tasks.into_iter().map(move |task| {
        let (asked, place, words) = (asked.clone(), place.clone(), words.clone());
        Approval { task, asked, approved: false, verdict: "not used", place, words }
    })
}

/// The tasks that a gate asks about, and what it asks.
fn what(gate: &Gate) -> (Vec<Slug>, String) {
    match &gate.kind {
        GateKind::BeforeRun(tasks) => (tasks.clone(), "whether to run".to_owned()),
        GateKind::BeforeApply { task, .. } => (vec![task.clone()], "whether to apply the change".to_owned()),
        GateKind::BeforeCall { task, call, .. } => (vec![task.clone()], format!("whether to make the call {call}")),
    }
}

fn of_gate(gate: &Gate, answer: &Answer, place: &str) -> Vec<Approval> {
    let (tasks, asked) = what(gate);
    let one = |task: Slug| {
        let (approved, verdict, words) = said(answer, &task)?;
        Some(Approval { task, asked: asked.clone(), approved, verdict, place: place.to_owned(), words })
    };
    tasks.into_iter().filter_map(one).collect()
}

/// `None` if the answer does not concern this task.
fn said(answer: &Answer, task: &Slug) -> Option<(bool, &'static str, String)> {
    Some(match answer {
        Answer::All => (true, "approved, with all later tasks", String::new()),
        Answer::Listed => (true, "approved", String::new()),
        Answer::Each { verdicts, words } => match verdicts.get(task)? {
            Verdict::Approve => (true, "approved", String::new()),
            Verdict::Deny => (false, "denied", words.clone()),
        },
        Answer::Deny { words } => (false, "denied", words.clone()),
        Answer::Part { refused, .. } => (true, "approved in part", refused.words.clone()),
        Answer::Stop => (false, "cancelled the run", String::new()),
    })
}

/// How the run decides approvals, if it does not ask a person each time.
pub(crate) fn standing(run: &RunView) -> Option<&'static str> {
    let settings = run.about().settings;
    match (settings.approval, &settings.headless) {
        (ApprovalMode::Never, _) => Some("Approval was turned off for this run, so nobody was asked."),
        (_, Headless::Approve) => Some("Approval was given in advance for everything (--headless approve)."),
        (_, Headless::Slugs(_)) => Some("Approval was given in advance for named tasks (--headless)."),
        (_, Headless::Deny) => Some("If nobody could be asked, the answer was no (--headless deny)."),
        (_, Headless::Stop) => None,
    }
}
