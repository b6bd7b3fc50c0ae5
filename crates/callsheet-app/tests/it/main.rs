//! What commands leave for a run, and which are refused. Everything here asks a `dyn RunControl`, whoever implements it.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "tests")]

mod stage;

use callsheet_app::{Awaited, Cursor, Order, Receipt, Refusal, RunCommand, RunControl};
use callsheet_core::events::GateAnswered;
use callsheet_core::nouns::{ExecutionId, RunId, Slug};
use callsheet_core::record::{Answer, AnsweredBy, Verdict};
use callsheet_runtime::ports::{AskingCall, InboxMessage};

use crate::stage::{RUN, Stage};

fn order(runs: &dyn RunControl, command: RunCommand) -> Result<Receipt, Refusal> {
    order_of(runs, RUN, command)
}

fn order_of(runs: &dyn RunControl, run: &str, command: RunCommand) -> Result<Receipt, Refusal> {
    runs.order(&RunId::new(run), &Order::new(AnsweredBy::Page, command).unwrap())
}

fn approve(gates: &[u32], tasks: &[&str]) -> RunCommand {
    let tasks = tasks.iter().map(|&task| task.to_owned()).collect();
    RunCommand::Approve { gates: gates.to_vec(), tasks, later: false, always: None }
}

/// The answers that were left, with whether each speaks of its gate alone.
fn answers(stage: &Stage) -> Vec<(Answer, bool)> {
    let answer = |message| match message {
        InboxMessage::Answer { answer, named, by: Some(AnsweredBy::Page), gate: Some(_) } => (answer, named),
        other => panic!("{other:?}"),
    };
    stage.left().into_iter().map(answer).collect()
}

#[test]
fn an_answer_covers_what_was_seen_and_named() {
    let stage = Stage::of(&["write-a", "write-b"]);
    let receipt = order(stage.runs(), approve(&[], &[])).unwrap();
    assert!(receipt.is_sent() && receipt.words().starts_with("sent the answer to "), "{}", receipt.words());
    // It was said of nothing in particular, so a later word on one task counts before it.
    assert_eq!(answers(&stage), [(Answer::Listed, false)]);
    let gate = stage.gate();
    order(stage.runs(), approve(&[gate], &[])).unwrap();
    assert_eq!(answers(&stage), [(Answer::Listed, true)]);
    order(stage.runs(), approve(&[gate], &["write-b"])).unwrap();
    let verdicts = [(Slug::new("write-b"), Verdict::Approve)].into();
    assert_eq!(answers(&stage), [(Answer::Each { verdicts, words: String::new() }, false)]);
    let deny = RunCommand::Deny { gates: vec![gate], tasks: Vec::new(), because: "not now".to_owned() };
    order(stage.runs(), deny).unwrap();
    assert_eq!(answers(&stage), [(Answer::Deny { words: "not now".to_owned() }, true)]);
    let later = RunCommand::Approve { gates: Vec::new(), tasks: Vec::new(), later: true, always: None };
    order(stage.runs(), later).unwrap();
    assert_eq!(answers(&stage), [(Answer::All, false)]);
}

/// Of two answers to one gate, the record says which one counts, and the other person is told.
///
/// covers: 11.5
#[test]
fn an_answer_that_another_replaces_is_told_to_whoever_gave_it() {
    let mut stage = Stage::of(&["write-a"]);
    let gate = stage.gate();
    let given = |stage: &Stage, by: AnsweredBy, command: RunCommand| {
        let order = Order::new(by, command).unwrap();
        let receipt = stage.runs().order(&RunId::new(RUN), &order).unwrap();
        Awaited::of(&order, &receipt).unwrap()
    };
    let first = given(&stage, AnsweredBy::Command, approve(&[], &[]));
    let deny = RunCommand::Deny { gates: vec![gate], tasks: Vec::new(), because: String::new() };
    let second = given(&stage, AnsweredBy::Page, deny);
    assert!(first.look(stage.runs()).unwrap().is_none() && second.look(stage.runs()).unwrap().is_none());
    let posted = stage.posted();
    let InboxMessage::Answer { gate: Some(gate), answer, by, .. } = posted[1].message.clone() else { panic!() };
    stage.take(&posted[1], GateAnswered { gate, answer, by }.into());
    let lost = first.look(stage.runs()).unwrap_err();
    assert_eq!(lost.what, "your answer was not used: approval 1 was denied on the page");
    let counts = second.look(stage.runs()).unwrap().unwrap();
    assert!(counts.is_sent() && counts.words().starts_with("recorded the answer in "), "{}", counts.words());
}

#[test]
fn a_refused_command_leaves_nothing() {
    let stage = Stage::of(&["write-a", "write-b"]);
    let gate = stage.gate();
    let refused = |command| order(stage.runs(), command).unwrap_err();
    assert!(refused(approve(&[gate + 7], &[])).what.contains("answered or withdrawn"));
    let near = refused(approve(&[gate], &["write-c"]));
    assert!(near.what.contains("write-c is not waiting") && near.advice.to_string().contains("write-a"), "{near:?}");
    let keep = RunCommand::Keep {
        gates: vec![gate],
        tasks: Vec::new(),
        hunks: None,
        edits: Default::default(),
        because: String::new(),
    };
    assert!(refused(keep).what.contains("no pending change with hunks"));
    let always = Some(callsheet_app::WordCount::All);
    let always = RunCommand::Approve { gates: vec![gate], tasks: Vec::new(), later: false, always };
    assert!(refused(always).what.contains("can't answer for write-a"));
    let (task, run, call) = (Slug::new("write-a"), ExecutionId::new("e"), "1".to_owned());
    let reply = RunCommand::Reply { to: AskingCall { task, run, call }, text: "yes".to_owned() };
    assert!(refused(reply).what.contains("answered or withdrawn"));
    let raise = |max| RunCommand::Raise { limits: vec![("max_calls".to_owned(), max)] };
    assert!(refused(raise(1.0)).what.contains("was not raised"));
    assert!(refused(raise(f64::NAN)).what.contains("was not raised"));
    assert!(
        refused(RunCommand::Retry { tasks: vec!["write-a".to_owned()], keep_changes: false, because: String::new() })
            .what
            .contains("nothing to retry")
    );
    assert!(refused(RunCommand::Remove { tasks: vec!["nothing".to_owned()] }).what.contains("has no task nothing"));
    assert!(stage.left().is_empty());
}

#[test]
fn a_run_is_stopped_only_while_it_is_driven() {
    let stage = Stage::of(&["write-a"]);
    assert!(order(stage.runs(), RunCommand::Stop).unwrap().is_sent());
    assert_eq!(stage.left(), [InboxMessage::Cancel]);
    let raise = RunCommand::Raise { limits: vec![("max_calls".to_owned(), 5_000.0)] };
    assert_eq!(order(stage.runs(), raise).unwrap().what, "max_calls 5000");
    assert!(matches!(stage.left().as_slice(), [InboxMessage::Raise { .. }]));
    stage.release();
    let refusal = order(stage.runs(), RunCommand::Stop).unwrap_err();
    assert!(refusal.what.contains("is not running"), "{refusal:?}");
    let receipt = order(stage.runs(), approve(&[], &[])).unwrap();
    assert!(!receipt.is_sent() && receipt.words().contains("takes effect when the run resumes"), "{}", receipt.words());
    assert_eq!(stage.resumed(), 0);
    stage.runs().resume(&RunId::new(RUN)).unwrap();
    assert_eq!(stage.resumed(), 1);
    let unknown = order_of(stage.runs(), "nothing", RunCommand::Stop);
    assert!(unknown.unwrap_err().what.contains("there is no run nothing"));
}

/// Remote faces send commands as text.
#[test]
fn commands_are_data() {
    let text = r#"{"by":"page","key":"a1","revision":7,"command":"raise","limits":[["max_calls",40.0]]}"#;
    let read: Order = serde_json::from_str(text).unwrap();
    assert_eq!((read.key.as_str(), read.revision), ("a1", Some(Cursor(7))));
    assert_eq!(read.command, RunCommand::Raise { limits: vec![("max_calls".to_owned(), 40.0)] });
    assert_eq!(serde_json::to_string(&read).unwrap(), text);
}

#[test]
fn an_order_that_is_given_again_is_done_once() {
    let mut stage = Stage::of(&["write-a", "write-b"]);
    let stop = Order { revision: Some(stage.seen()), ..Order::new(AnsweredBy::Page, RunCommand::Stop).unwrap() };
    let run = RunId::new(RUN);
    stage.runs().order(&run, &stop).unwrap();
    // Nobody has taken it: what is left has the same name, so the driver takes one of the two.
    stage.runs().order(&run, &stop).unwrap();
    let posted = stage.posted();
    assert!(posted[0].order.is_some() && posted[0] == posted[1], "{posted:?}");
    stage.take(&posted[0], callsheet_core::events::CancelRequested {}.into());
    let again = stage.runs().order(&run, &stop).unwrap();
    assert_eq!(again.words(), "this was done already");
    assert!(stage.left().is_empty());
    // Another order of the same words is another one.
    order(stage.runs(), RunCommand::Stop).unwrap();
    assert_eq!(stage.left(), [InboxMessage::Cancel]);
}

#[test]
fn what_was_asked_after_a_person_looked_is_not_approved() {
    let stage = Stage::of(&["write-a"]);
    let approve = |seen| Order { revision: Some(seen), ..Order::new(AnsweredBy::Page, approve(&[], &[])).unwrap() };
    let refusal = stage.runs().order(&RunId::new(RUN), &approve(Cursor(1))).unwrap_err();
    assert!(refusal.what.contains("that you have not seen"), "{refusal:?}");
    stage.runs().order(&RunId::new(RUN), &approve(stage.seen())).unwrap();
    assert_eq!(stage.left().len(), 1);
}
