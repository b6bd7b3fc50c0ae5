//! What keys do, and what they do not.

use std::collections::BTreeMap;

use callsheet_app::RunCommand;
use callsheet_core::events::{self, Event};
use callsheet_core::nouns::Slug;
use callsheet_core::record::GateKind;
use callsheet_tui::{App, Leave, News, Next, Painter, Pick, Tab, moved, paste, press};
use ratatui::Terminal;
use ratatui::backend::TestBackend;
use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers, MouseButton, MouseEvent, MouseEventKind};

use crate::stage::Recorded;

fn at(recorded: &Recorded, kind: impl Fn(&GateKind) -> bool) -> App {
    recorded.before(|event| matches!(event, Event::GateAnswered(events::GateAnswered { gate, .. }) if kind(&gate.kind)))
}

fn before_run(recorded: &Recorded) -> App {
    at(recorded, |kind| matches!(kind, GateKind::BeforeRun(_)))
}

fn before_apply(recorded: &Recorded) -> App {
    at(recorded, |kind| matches!(kind, GateKind::BeforeApply { .. }))
}

fn approve(app: &App, later: bool) -> RunCommand {
    RunCommand::Approve { gates: vec![gate(app)], tasks: Vec::new(), later, always: None }
}

fn deny(app: &App, because: &str) -> RunCommand {
    RunCommand::Deny { gates: vec![gate(app)], tasks: Vec::new(), because: because.to_owned() }
}

/// The number of the gate that waits first.
fn gate(app: &App) -> u32 {
    app.run.open_gates()[0].n
}

#[test]
fn a_gate_is_answered_once() {
    let recorded = Recorded::garden();
    let mut app = before_run(&recorded);
    recorded.type_in(&mut app, "yy");
    assert_eq!(recorded.sent(), [approve(&app, false)]);
    let mut app = before_run(&recorded);
    recorded.type_in(&mut app, "a");
    assert_eq!(recorded.sent(), [approve(&app, true)]);
    let mut app = before_run(&recorded);
    recorded.type_in(&mut app, "nnot now");
    assert!(recorded.sent().is_empty());
    recorded.press(&mut app, [KeyCode::Enter]);
    assert_eq!(recorded.sent(), [deny(&app, "not now")]);
    let mut app = before_run(&recorded);
    recorded.type_in(&mut app, "nnot");
    recorded.press(&mut app, [KeyCode::Esc]);
    assert!(recorded.sent().is_empty() && app.input.is_none());
}

/// What was typed or pasted before a gate was on the screen for a while answers nothing.
#[test]
fn keys_of_before_answer_nothing() {
    let recorded = Recorded::garden();
    let mut app = before_run(&recorded);
    app.armed = None;
    for key in "yanohr".chars() {
        press(&mut app, recorded.viewer(), KeyCode::Char(key).into());
    }
    paste(&mut app, "y\ny\n");
    assert!(recorded.sent().is_empty() && app.input.is_none() && app.sure.is_none());
    // Nor do they while another part of the screen is looked at.
    recorded.type_in(&mut app, "s");
    recorded.type_in(&mut app, "y");
    assert!(recorded.sent().is_empty());
}

#[test]
fn a_change_is_decided_hunk_by_hunk() {
    let recorded = Recorded::garden();
    let mut app = before_apply(&recorded);
    let count = app.shown_gate().unwrap().hunks.len();
    assert!(count > 1, "the recording has a change of several hunks");
    recorded.type_in(&mut app, "h");
    recorded.press(&mut app, [KeyCode::Enter]);
    assert!(recorded.sent().is_empty() && app.notice.contains("no verdict"), "{}", app.notice);
    recorded.type_in(&mut app, &format!("{}n", "y".repeat(count - 1)));
    recorded.press(&mut app, [KeyCode::Enter]);
    recorded.type_in(&mut app, "the first only");
    recorded.press(&mut app, [KeyCode::Enter]);
    let keep = |app: &App, hunks: u32, because: &str| RunCommand::Keep {
        gates: vec![gate(app)],
        tasks: Vec::new(),
        hunks: Some((1..=hunks).map(|number| (number, number)).collect()),
        edits: BTreeMap::new(),
        because: because.to_owned(),
    };
    let all = u32::try_from(count).unwrap();
    assert_eq!(recorded.sent(), [keep(&app, all - 1, "the first only")]);
    let mut app = before_apply(&recorded);
    recorded.type_in(&mut app, &format!("h{}", "y".repeat(count)));
    recorded.press(&mut app, [KeyCode::Enter]);
    assert_eq!(recorded.sent(), [keep(&app, all, "")]);
    let mut app = before_apply(&recorded);
    recorded.type_in(&mut app, &format!("h{}", "n".repeat(count)));
    recorded.press(&mut app, [KeyCode::Enter, KeyCode::Enter]);
    assert_eq!(recorded.sent(), [keep(&app, 0, "")]);
}

#[test]
fn a_run_is_stopped_or_left() {
    let recorded = Recorded::garden();
    let mut app = before_run(&recorded);
    assert!(matches!(recorded.type_in(&mut app, "q"), Next::Leave(Leave::Quit)));
    recorded.type_in(&mut app, "xn");
    assert_eq!((recorded.interrupts(), recorded.sent().len()), (0, 0));
    recorded.type_in(&mut app, "xy");
    assert_eq!((recorded.interrupts(), recorded.sent()), (1, vec![RunCommand::Stop]));
    // Ctrl-C asks as well, and leaves the run at work if it is pressed once more.
    let ctrl_c = || KeyEvent::new(KeyCode::Char('c'), KeyModifiers::CONTROL);
    assert!(matches!(press(&mut app, recorded.viewer(), ctrl_c()), Next::Stay));
    assert!(recorded.drawn(&mut app, 120, 35).contains("Stop the run?"));
    assert!(matches!(press(&mut app, recorded.viewer(), ctrl_c()), Next::Leave(Leave::Quit)));
    assert!(recorded.sent().is_empty());
}

#[test]
fn a_run_that_rests_goes_on() {
    let recorded = Recorded::garden();
    let mut app = recorded.first(3);
    app.take(News::Driven(false));
    assert!(matches!(recorded.type_in(&mut app, "r"), Next::Leave(Leave::Resume)));
    let mut app = recorded.first(recorded.entries.len());
    app.take(News::Driven(false));
    recorded.type_in(&mut app, "fand the fence?");
    let next = recorded.press(&mut app, [KeyCode::Enter]);
    assert!(matches!(next, Next::Leave(Leave::FollowUp(text)) if text == "and the fence?"));
}

#[test]
fn looking_around_changes_nothing() {
    let recorded = Recorded::garden();
    let mut app = before_run(&recorded);
    let all = "jk g12345tslg?x";
    recorded.type_in(&mut app, all);
    recorded.press(&mut app, [KeyCode::Tab, KeyCode::BackTab, KeyCode::PageDown, KeyCode::PageUp, KeyCode::End]);
    recorded.press(&mut app, [KeyCode::Home, KeyCode::Enter, KeyCode::Esc, KeyCode::Esc, KeyCode::Esc]);
    assert!(recorded.sent().is_empty() && recorded.interrupts() == 0);
    assert!(app.shown_ask().is_some(), "it comes back to what waits");
}

#[test]
fn a_limit_is_raised_to_more_than_it_is() {
    let recorded = Recorded::garden();
    let mut app = before_run(&recorded);
    recorded.type_in(&mut app, "+");
    assert!(
        recorded.drawn(&mut app, 120, 35).contains("To how many model calls? 2000"),
        "twice as much is there to be taken"
    );
    recorded.press(&mut app, [KeyCode::Enter]);
    assert_eq!(recorded.sent(), [RunCommand::Raise { limits: vec![("max_calls".to_owned(), 2_000.0)] }]);
    recorded.type_in(&mut app, "+");
    recorded.press(&mut app, [KeyCode::Backspace; 4]);
    recorded.type_in(&mut app, "1000");
    recorded.press(&mut app, [KeyCode::Enter]);
    assert!(recorded.sent().is_empty() && app.notice.contains("stays at 1000"), "{}", app.notice);
}

#[test]
fn changes_are_reverted_after_a_yes_that_names_them() {
    let recorded = Recorded::garden();
    let mut app = recorded.first(recorded.entries.len());
    recorded.type_in(&mut app, "u");
    assert!(app.sure.is_none() && app.notice.contains("stop the run first"), "{}", app.notice);
    app.take(News::Driven(false));
    recorded.type_in(&mut app, "u");
    assert!(recorded.drawn(&mut app, 80, 24).contains("Revert plan.md?"));
    recorded.type_in(&mut app, "n");
    assert_eq!(recorded.sent(), []);
    recorded.type_in(&mut app, "uy");
    assert_eq!(
        (recorded.sent().as_slice(), app.notice.as_str()),
        ([RunCommand::Undo { tasks: Vec::new() }].as_slice(), "restored plan.md")
    );
}

#[test]
fn the_mouse_chooses_and_scrolls_and_answers_nothing() {
    let recorded = Recorded::garden();
    let mut app = before_run(&recorded);
    let mut terminal = Terminal::new(TestBackend::new(120, 35)).unwrap();
    let mut painter = Painter::new(false);
    terminal.draw(|frame| painter.draw(frame, &mut app, recorded.viewer())).unwrap();
    let drawn = recorded.drawn(&mut app, 120, 35);
    let lines: Vec<&str> = drawn.lines().collect();
    let row = lines.iter().position(|line| line.contains("Check Plan")).unwrap();
    let column = lines[3].find("Calls").map(|at| lines[3][..at].chars().count()).unwrap();
    let at = |app: &mut App, kind: MouseEventKind, column: usize, row: usize| {
        let (column, row) = (u16::try_from(column).unwrap(), u16::try_from(row).unwrap());
        moved(app, &painter.places, MouseEvent { kind, column, row, modifiers: KeyModifiers::NONE });
    };
    let click = MouseEventKind::Down(MouseButton::Left);
    at(&mut app, click, column, 3);
    assert_eq!(app.tab, Tab::Calls);
    at(&mut app, click, 5, row);
    assert_eq!(app.pick(), Pick::Task(Slug::new("check-plan")));
    at(&mut app, MouseEventKind::ScrollUp, 5, row);
    assert_ne!(app.pick(), Pick::Task(Slug::new("check-plan")));
    at(&mut app, MouseEventKind::ScrollDown, 80, 10);
    assert_eq!(app.scroll, Some(3));
    // While something is typed or asked, it does nothing.
    recorded.type_in(&mut app, "/");
    let chosen = app.pick();
    at(&mut app, click, 5, row);
    assert_eq!(app.pick(), chosen);
    assert!(recorded.sent().is_empty());
}

/// `d` once removed a task that the search had hidden.
#[test]
fn a_search_chooses_what_it_shows() {
    let recorded = Recorded::garden();
    let mut app = before_run(&recorded);
    let chosen = app.pick();
    recorded.type_in(&mut app, "/check plan");
    assert_ne!(app.pick(), chosen);
    recorded.press(&mut app, [KeyCode::Enter]);
    assert_eq!(app.pick(), Pick::Task(Slug::new("check-plan")));
    recorded.type_in(&mut app, "dy");
    assert_eq!(recorded.sent(), [RunCommand::Remove { tasks: vec!["check-plan".to_owned()] }]);
}
