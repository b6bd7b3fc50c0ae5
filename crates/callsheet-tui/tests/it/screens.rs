//! What stands on the screen at the moments of a run.

use callsheet_core::events::{self, Event};
use callsheet_core::nouns::Phase;
use callsheet_core::record::GateKind;
use callsheet_runtime::ports::LiveText;
use callsheet_tui::{App, Home, News, Wish};
use ratatui::Terminal;
use ratatui::backend::TestBackend;
use ratatui::crossterm::event::KeyCode;

use crate::stage::{Recorded, folder};

const SIZES: [(u16, u16); 3] = [(80, 24), (120, 35), (200, 60)];

/// The gate that is answered by this event is one of that kind.
fn answers(event: &Event, kind: impl Fn(&GateKind) -> bool) -> bool {
    matches!(event, Event::GateAnswered(events::GateAnswered { gate, .. }) if kind(&gate.kind))
}

fn run() -> Recorded {
    Recorded::garden()
}

fn check(recorded: &Recorded, app: &mut App, moment: &str) {
    let mut wrong = Vec::new();
    for (width, height) in SIZES {
        let drawn = recorded.drawn(app, width, height);
        let path = folder().join("screens").join(format!("{moment}-{width}x{height}.txt"));
        let expected = std::fs::read_to_string(&path).unwrap_or_default();
        if drawn == expected {
            continue;
        }
        if std::env::var_os("UPDATE_EXPECT").is_some() {
            std::fs::write(&path, drawn).unwrap();
        } else {
            wrong.push(format!("{}\n--- expected\n{expected}--- drawn\n{drawn}", path.display()));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// What the call has streamed whose reply comes first of those that fit.
fn stream(recorded: &Recorded, fits: impl Fn(&Event) -> bool, text: &str) -> News {
    let key = recorded.entries.iter().find_map(|entry| match &entry.event {
        Event::ReplyReceived(events::ReplyReceived { key, .. }) if fits(&entry.event) => Some(key.clone()),
        _ => None,
    });
    News::Streams(vec![LiveText { key: key.unwrap(), text: text.to_owned(), count: text.chars().count() as u64 }])
}

#[test]
fn the_plan_is_written() {
    let recorded = run();
    let mut app = recorded.before(|event| matches!(event, Event::ReplyReceived(_)));
    app.take(stream(&recorded, |_| true, "## Goals / summary\nFind out which troubles nobody"));
    recorded.look(&mut app);
    check(&recorded, &mut app, "plan");
}

#[test]
fn tasks_run() {
    let recorded = run();
    let executes = |event: &Event| matches!(event, Event::ReplyReceived(events::ReplyReceived { key, .. }) if key.phase == Phase::Execute);
    let mut app = recorded.before(executes);
    app.take(stream(&recorded, executes, "## Result summary\nThe barrel at the shed leaks.\n"));
    recorded.look(&mut app);
    check(&recorded, &mut app, "tasks");
}

#[test]
fn a_gate_asks_before_tasks_start() {
    let recorded = run();
    let mut app = recorded.before(|event| answers(event, |kind| matches!(kind, GateKind::BeforeRun(_))));
    check(&recorded, &mut app, "before-run");
    recorded.type_in(&mut app, "n");
    recorded.type_in(&mut app, "not in wïnter 漢字, and this goes on for longer than a narrow screen is wide, I fear");
    check(&recorded, &mut app, "refusing");
}

#[test]
fn a_gate_shows_a_change() {
    let recorded = run();
    let mut app = recorded.before(|event| answers(event, |kind| matches!(kind, GateKind::BeforeApply { .. })));
    check(&recorded, &mut app, "before-apply");
    recorded.type_in(&mut app, "hn");
    check(&recorded, &mut app, "hunks");
}

#[test]
fn the_run_is_over() {
    let recorded = run();
    let mut app = recorded.first(recorded.entries.len());
    app.take(News::Driven(false));
    recorded.look(&mut app);
    check(&recorded, &mut app, "over");
    for (key, moment) in [('t', "timeline"), ('s', "sheet"), ('l', "log"), ('?', "keys")] {
        recorded.type_in(&mut app, &key.to_string());
        check(&recorded, &mut app, moment);
        recorded.press(&mut app, [KeyCode::Esc]);
    }
}

#[test]
fn the_parts_of_a_task() {
    let recorded = run();
    let mut app = recorded.first(recorded.entries.len());
    recorded.type_in(&mut app, "/");
    recorded.type_in(&mut app, "write");
    recorded.press(&mut app, [KeyCode::Enter, KeyCode::Down]);
    for (key, moment) in [('1', "task"), ('2', "prompt"), ('3', "calls"), ('4', "tools"), ('5', "changes")] {
        recorded.type_in(&mut app, &key.to_string());
        check(&recorded, &mut app, moment);
    }
}

/// Whatever a model writes and however small the screen is: nothing breaks it.
#[test]
fn hostile_text_stays_inside() {
    let recorded = run();
    let executes = |event: &Event| matches!(event, Event::ReplyReceived(events::ReplyReceived { key, .. }) if key.phase == Phase::Execute);
    let mut app = recorded.before(executes);
    let hostile = format!(
        "\u{1b}[2J\u{1b}]0;owned\u{7}\r\n\t{}\u{202e}gnp.exe \u{9b}31m {} {}👩🏽\u{200d}🌾 한국어 {}\u{0}\n",
        "x".repeat(5_000),
        "e\u{301}\u{302}\u{303}".repeat(500),
        "漢字".repeat(700),
        "\u{feff}\u{200b}".repeat(90),
    );
    app.take(stream(&recorded, executes, &hostile));
    app.take(News::Notice(hostile.clone()));
    recorded.look(&mut app);
    for width in (1..150).step_by(7) {
        for height in (1..50).step_by(5) {
            recorded.drawn(&mut app, width, height);
        }
    }
    recorded.type_in(&mut app, "/");
    recorded.type_in(&mut app, &hostile);
    for width in (1..150).step_by(7) {
        recorded.drawn(&mut app, width, 24);
    }
}

#[test]
fn the_first_screen() {
    let found =
        [("servers", "ollama at http://127.0.0.1:11434, 2 models"), ("model", "ollama:qwen3:4b (it answers here)")];
    let found = found.map(|(name, value)| (name.to_owned(), value.to_owned())).to_vec();
    let runs = [("approval required", "Which trouble?"), ("complete", "漢\u{1b}[2J字")];
    let runs = runs.map(|(state, request)| (state.to_owned(), request.to_owned())).to_vec();
    let mut home = Home::new("garden".to_owned(), found, runs);
    let drawn = |home: &Home| {
        let mut terminal = Terminal::new(TestBackend::new(80, 14)).unwrap();
        terminal.draw(|frame| home.draw(frame, false)).unwrap();
        let lines = terminal.backend().buffer().content().chunks(80);
        let line =
            |cells: &[ratatui::buffer::Cell]| cells.iter().map(ratatui::buffer::Cell::symbol).collect::<String>();
        lines.map(|cells| line(cells).trim_end().to_owned() + "\n").collect::<String>()
    };
    let key = |code: KeyCode| ratatui::crossterm::event::KeyEvent::from(code);
    let mut screens = drawn(&home);
    assert_eq!(home.press(key(KeyCode::Enter)), None, "nothing was typed");
    home.press(key(KeyCode::Down));
    home.press(key(KeyCode::Down));
    screens += &drawn(&home);
    assert_eq!(home.press(key(KeyCode::Enter)), Some(Wish::Run(1)));
    home.paste("water the\nbed");
    home.press(key(KeyCode::Char('s')));
    screens += &drawn(&home);
    assert_eq!(home.press(key(KeyCode::Enter)), Some(Wish::Request("water the\nbeds".to_owned())));
    home.press(key(KeyCode::Esc));
    assert_eq!(home.press(key(KeyCode::Esc)), Some(Wish::Leave));
    let path = crate::stage::folder().join("screens/home.txt");
    if std::env::var_os("UPDATE_EXPECT").is_some() {
        std::fs::write(&path, &screens).unwrap();
    }
    assert_eq!(screens, std::fs::read_to_string(&path).unwrap());
}
