//! What every `RunControl` does, on this machine and on a cluster. Each check begins a run of its own.

use std::collections::BTreeMap;

use callsheet::config::{Config, Folders, Sources};
use callsheet::setup::Setup;
use callsheet_app::{Cursor, LocalRuns, Order, Receipt, Refusal, RunCommand, RunControl, RunView};
use callsheet_core::events::{self, Event, ListOrigin, LogEntry};
use callsheet_core::nouns::{RunId, Slug};
use callsheet_core::record::{Answer, AnsweredBy, Outcome, Verdict};
use callsheet_core::run::State;

use super::garden::TestProject;

/// Where commands are tried.
pub trait World {
    /// The project, with the sheet of [`super::killed::SHEET`] as `work.md`.
    fn project(&self) -> &TestProject;
    /// The runs under test.
    fn runs(&self) -> &LocalRuns;
    /// Begins a run of the sheet. Both its writers wait for approval when this returns.
    fn begin(&self) -> RunId;
    /// Lets the run handle what was left for it, until it waits for a person or has ended.
    fn settle(&self, run: &RunId);
    /// Lets a run that rests go on, and waits like [`World::settle`].
    fn resume(&self, run: &RunId);
}

/// A check and its name.
pub type Check = (&'static str, fn(&dyn World));

/// All checks.
pub const CHECKS: [Check; 9] = [
    ("an_answer_covers_what_was_named", an_answer),
    ("a_refused_command_leaves_nothing", a_refused_command),
    ("an_order_that_is_given_again_is_done_once", an_order_again),
    ("what_was_asked_after_a_person_looked_is_not_approved", not_seen),
    ("an_edit_changes_the_plan", an_edit),
    ("an_edit_over_the_edit_of_another_is_refused", an_edit_over_another),
    ("a_removed_task_is_not_done", a_removed_task),
    ("a_fork_rests_until_it_is_resumed", a_fork),
    ("changes_are_undone_and_made_again", an_undo),
];

/// The basis of a command in a project.
pub fn setup(project: &TestProject) -> Setup {
    let folders = Folders::below(&project.home());
    let root = project.project().canonicalize().unwrap();
    let environment = BTreeMap::from([("CALLSHEET_MODEL".to_owned(), project.model())]);
    let sources = Sources { user: Some(folders.config_file()), project: None, environment, flags: Vec::new() };
    let config = Config::load(&sources, Some(&folders)).unwrap();
    Setup {
        project: root,
        folders,
        config,
        json: false,
        here: None,
        verbose: 0,
        command: "callsheet".to_owned(),
        templates: Default::default(),
        vouched: None,
        #[cfg(feature = "cluster")]
        on: None,
    }
}

fn view(world: &dyn World, run: &RunId) -> RunView {
    let mut view = RunView::default();
    for entry in world.runs().watch(run, Cursor(0)).unwrap() {
        view.take(&entry).unwrap();
    }
    view
}

fn log(world: &dyn World, run: &RunId) -> Vec<LogEntry> {
    world.runs().watch(run, Cursor(0)).unwrap()
}

fn order(world: &dyn World, run: &RunId, command: RunCommand) -> Result<Receipt, Refusal> {
    world.runs().order(run, &Order::new(AnsweredBy::Page, command).unwrap())
}

fn done(world: &dyn World, run: &RunId, command: RunCommand) -> Receipt {
    let receipt = order(world, run, command).unwrap_or_else(|refusal| panic!("{refusal}"));
    world.settle(run);
    receipt
}

fn approve(gates: &[u32], tasks: &[&str]) -> RunCommand {
    RunCommand::Approve { gates: gates.to_vec(), tasks: names(tasks), later: false, always: None }
}

fn names(tasks: &[&str]) -> Vec<String> {
    tasks.iter().map(|&task| task.to_owned()).collect()
}

fn gate(world: &dyn World, run: &RunId) -> u32 {
    view(world, run).open_gates().first().expect("a gate waits").n
}

fn state(world: &dyn World, run: &RunId, task: &str) -> State {
    view(world, run).task(&Slug::new(task)).expect("there is such a task").state()
}

/// The answers to gates, with who gave them.
fn answers(world: &dyn World, run: &RunId) -> Vec<(Answer, Option<AnsweredBy>)> {
    let answer = |entry: LogEntry| match entry.event {
        Event::GateAnswered(events::GateAnswered { answer, by, .. }) => Some((answer, by)),
        _ => None,
    };
    log(world, run).into_iter().filter_map(answer).collect()
}

fn an_answer(world: &dyn World) {
    let run = world.begin();
    done(world, &run, approve(&[gate(world, &run)], &["write-rota-1"]));
    let verdicts = [(Slug::new("write-rota-1"), Verdict::Approve)].into();
    let named = Answer::Each { verdicts, words: String::new() };
    assert!(answers(world, &run).contains(&(named, Some(AnsweredBy::Page))), "{:?}", answers(world, &run));
    assert_ne!(state(world, &run, "write-thanks-1"), State::Done);
    let gates = world.runs().gates(&view(world, &run)).unwrap();
    assert!(gates.iter().any(|gate| gate.writers.iter().any(|one| one.task.slug.as_str() == "write-thanks-1")));
    let because = "not now".to_owned();
    done(world, &run, RunCommand::Deny { gates: Vec::new(), tasks: names(&["write-thanks-1"]), because });
    assert!(answers(world, &run).iter().any(|(answer, _)| format!("{answer:?}").contains("not now")));
    assert!(!world.project().path("thanks.md").exists());
}

fn a_refused_command(world: &dyn World) {
    let run = world.begin();
    let (gate, before) = (gate(world, &run), log(world, &run).len());
    let refused = |command| order(world, &run, command).expect_err("refused");
    assert!(refused(approve(&[gate + 7], &[])).what.contains("answered or withdrawn"));
    let near = refused(approve(&[gate], &["write-rots-1"]));
    assert!(near.what.contains("is not waiting") && near.advice.to_string().contains("write-rota-1"), "{near}");
    let (hunks, edits) = (None, BTreeMap::new());
    let keep = RunCommand::Keep { gates: vec![gate], tasks: Vec::new(), hunks, edits, because: String::new() };
    assert!(refused(keep).what.contains("no pending change with hunks"));
    let raise = RunCommand::Raise { limits: vec![("max_calls".to_owned(), 1.0)] };
    assert!(refused(raise).what.contains("was not raised"));
    let retry = RunCommand::Retry { tasks: names(&["write-rota-1"]), keep_changes: false, because: String::new() };
    assert!(refused(retry).what.contains("nothing to retry"));
    assert!(refused(RunCommand::Remove { tasks: names(&["nothing"]) }).what.contains("has no task nothing"));
    let nothing = RunId::new("nothing");
    assert!(order(world, &nothing, RunCommand::Stop).expect_err("refused").what.contains("there is no run nothing"));
    world.settle(&run);
    let gained: Vec<LogEntry> = log(world, &run).split_off(before);
    let is_rest =
        |entry: &LogEntry| matches!(entry.event, Event::RunResumed(_) | Event::RunWaiting(_) | Event::Started(_));
    assert!(gained.iter().all(is_rest), "{gained:?}");
}

fn an_order_again(world: &dyn World) {
    let run = world.begin();
    let seen = Cursor(log(world, &run).last().unwrap().n);
    let command = approve(&[gate(world, &run)], &[]);
    let order = Order { revision: Some(seen), ..Order::new(AnsweredBy::Page, command).unwrap() };
    world.runs().order(&run, &order).unwrap();
    world.settle(&run);
    let again = world.runs().order(&run, &order).unwrap();
    assert_eq!(again.words(), "this was done already");
    let carried = log(world, &run).into_iter().filter(|entry| !entry.orders.is_empty()).count();
    assert_eq!(carried, 1);
}

fn not_seen(world: &dyn World) {
    let run = world.begin();
    let order = Order { revision: Some(Cursor(1)), ..Order::new(AnsweredBy::Page, approve(&[], &[])).unwrap() };
    let refusal = world.runs().order(&run, &order).expect_err("refused");
    assert!(refusal.what.contains("that you have not seen"), "{refusal}");
    assert!(answers(world, &run).is_empty());
}

/// The plan of a run with other words in it.
fn edited(world: &dyn World, run: &RunId, from: &str, to: &str) -> (String, String) {
    let seen = world.runs().sheet(&view(world, run)).unwrap();
    let text = seen.replace(from, to);
    assert_ne!(seen, text, "{seen}");
    (seen, text)
}

fn an_edit(world: &dyn World) {
    let run = world.begin();
    let (seen, broken) = edited(world, &run, "write_document", "write_dokument");
    let check = world.runs().check_sheet(&view(world, &run), &broken).unwrap();
    assert!(check.effect.is_empty() && !check.issues.is_empty(), "{check:?}");
    let refusal = order(world, &run, RunCommand::Edit { seen, text: broken }).expect_err("refused");
    assert!(refusal.what.contains("nothing was saved"), "{refusal}");
    let (seen, text) = edited(world, &run, "Add thanks.md.", "Add thanks.md, with names.");
    let check = world.runs().check_sheet(&view(world, &run), &text).unwrap();
    assert!(check.issues.is_empty() && check.effect.contains("changes 1"), "{check:?}");
    done(world, &run, RunCommand::Edit { seen, text });
    let adopts = |entry: &LogEntry| match &entry.event {
        Event::ListAdopted(events::ListAdopted { origin: ListOrigin::Edit(text), .. }) => Some(text.clone()),
        _ => None,
    };
    let adopted: Vec<_> = log(world, &run).iter().filter_map(adopts).collect();
    assert_eq!(adopted.len(), 1);
    let text = String::from_utf8(world.runs().blob(&adopted[0]).unwrap()).unwrap();
    assert!(text.contains("with names"), "{text}");
    let view = view(world, &run);
    assert_eq!(view.task(&Slug::new("write-thanks-1")).unwrap().task.need, "Add thanks.md, with names.");
    assert!(world.runs().sheet(&view).unwrap().contains("with names"));
    done(world, &run, approve(&[], &[]));
    assert_ne!(state(world, &run, "write-thanks-1"), State::Planned);
}

fn an_edit_over_another(world: &dyn World) {
    let run = world.begin();
    let began = Cursor(log(world, &run).last().unwrap().n);
    let (seen, mine) = edited(world, &run, "Add thanks.md.", "Add thanks.md, mine.");
    let theirs = seen.replace("Add thanks.md.", "Add thanks.md, theirs.");
    done(world, &run, RunCommand::Edit { seen: seen.clone(), text: theirs });
    let command = RunCommand::Edit { seen, text: mine };
    let late = Order { revision: Some(began), ..Order::new(AnsweredBy::Page, command).unwrap() };
    let refusal = world.runs().order(&run, &late).expect_err("refused");
    assert!(refusal.what.contains("somebody else edited the plan"), "{refusal}");
    world.settle(&run);
    assert!(view(world, &run).task(&Slug::new("write-thanks-1")).unwrap().task.need.contains("theirs"));
}

fn a_removed_task(world: &dyn World) {
    let run = world.begin();
    done(world, &run, RunCommand::Remove { tasks: names(&["write-thanks-1"]) });
    assert_eq!(state(world, &run, "write-thanks-1"), State::Dropped);
    to_the_end(world, &run);
    assert!(world.project().path("rota.md").exists() && !world.project().path("thanks.md").exists());
}

/// Approves until the run has ended.
fn to_the_end(world: &dyn World, run: &RunId) -> Outcome {
    for _ in 0..20 {
        let now = view(world, run);
        match now.about().outcome {
            Some(outcome) if now.open_gates().is_empty() => return outcome,
            _ => drop(done(world, run, approve(&[], &[]))),
        }
    }
    panic!("run {run} does not end");
}

fn a_fork(world: &dyn World) {
    let run = world.begin();
    let whole = log(world, &run);
    let receipt = world.runs().fork(&run, None).unwrap();
    let fork = receipt.run;
    assert_ne!(fork, run);
    let copied = log(world, &fork);
    assert_eq!(copied.len(), whole.len(), "nothing was done in it yet");
    let listed = world.runs().list().unwrap().into_iter().find(|one| one.run == fork).unwrap();
    assert_eq!(listed.owner, None);
    let early = world.runs().fork(&run, Some("3")).unwrap().run;
    assert_eq!(log(world, &early).len(), 3);
    assert!(world.runs().fork(&run, Some("9999")).expect_err("refused").what.contains("has events 1 to"));
    assert!(world.runs().fork(&run, Some("write-rota-1")).expect_err("refused").what.contains("has not begun"));
    world.resume(&fork);
    assert_eq!(to_the_end(world, &fork), Outcome::Complete);
    assert!(world.project().path("rota.md").exists());
    assert_eq!(view(world, &run).open_gates().len(), 1, "the other run still waits");
}

fn an_undo(world: &dyn World) {
    let run = world.begin();
    let seen = Cursor(log(world, &run).last().unwrap().n);
    assert_eq!(to_the_end(world, &run), Outcome::Complete);
    let minutes = || world.project().path("minutes.md").exists();
    assert!(world.project().path("rota.md").exists() && !minutes());
    let undo = RunCommand::Undo { tasks: Vec::new() };
    let stale = Order { revision: Some(seen), ..Order::new(AnsweredBy::Page, undo.clone()).unwrap() };
    let refusal = world.runs().order(&run, &stale).expect_err("refused");
    assert!(refusal.what.contains("changed files since you looked"), "{refusal}");
    let undone = order(world, &run, undo.clone()).unwrap().undone.unwrap();
    assert!(undone.deleted.contains(&"rota.md".to_owned()) && undone.restored == ["minutes.md"], "{undone:?}");
    assert!(!world.project().path("rota.md").exists() && minutes());
    let again = order(world, &run, undo).unwrap();
    assert!(again.what.contains("has no changes to revert"), "{}", again.what);
    done(
        world,
        &run,
        RunCommand::Retry { tasks: names(&["write-rota-1"]), keep_changes: false, because: String::new() },
    );
    assert_eq!(to_the_end(world, &run), Outcome::Complete);
    assert!(world.project().path("rota.md").exists() && !minutes());
    let stop = order(world, &run, RunCommand::Stop).expect_err("refused");
    assert!(stop.what.contains("is not running"), "{stop}");
}
