//! The keys and their actions. `?` shows the table.

use std::collections::BTreeSet;

use callsheet_app::{Receipt, RunCommand, State, WordCount, standing};
use callsheet_core::nouns::Slug;
use callsheet_core::record::{EffectKey, GateKind};
use callsheet_core::view::board::Ask;
use callsheet_format::edit::{Hunk, HunkVerdict};
use callsheet_runtime::ports::AskingCall;
use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use crate::app::{App, Leave, Page, Pick, Purpose, Sure, Tab};
use crate::input::{Input, Typed};
use crate::review::Review;
use crate::viewer::Viewer;
use crate::{limits, text, tree};

/// The keys in groups, each with its action.
pub const KEYS: &[(&str, &[(&str, &str)])] = &[
    (
        "Where to look",
        &[
            ("↑ ↓  j k", "another task"),
            ("g", "the next task that waits for you"),
            ("Esc", "back; then: follow the run"),
            ("⏎", "unfold a section; give the right side the whole screen"),
            ("Tab  1…5", "task, prompt, calls, tools, changes"),
            ("PgUp PgDn space", "scroll; Home and End: the beginning, the end"),
            ("t  s  l", "timeline, sheet, log"),
            ("/", "search the tasks"),
            ("m", "the mouse: off to select text, on to choose and scroll"),
        ],
    ),
    (
        "What waits for you",
        &[
            ("y", "approve"),
            ("n", "deny, with a reason"),
            ("o", "approve this task only"),
            ("a", "approve all tasks of the run, or all changes of a task; always allow a command"),
            ("h", "decide hunk by hunk"),
            ("r", "answer a question"),
        ],
    ),
    (
        "Steer",
        &[
            ("e", "edit the sheet: add, change, remove tasks"),
            ("R", "retry the task"),
            ("d", "drop the task"),
            ("x  Ctrl-C", "stop the run"),
            ("r", "resume a run that rests"),
            ("f", "follow up on a run that has ended"),
            ("+", "raise the limit of which most is used"),
            ("u", "revert the changes of a run that rests"),
            ("q", "leave; a run at work continues"),
        ],
    ),
];

/// What follows a key.
pub enum Next {
    /// Nothing outside the screen.
    Stay,
    /// The screen is left.
    Leave(Leave),
    /// The sheet is edited.
    EditSheet,
    /// A hunk is edited.
    EditHunk(Hunk),
    /// The program takes the mouse, or gives it back to the terminal.
    Mouse,
}

/// Handles a key.
pub fn press(app: &mut App, viewer: &Viewer, key: KeyEvent) -> Next {
    app.revision += 1;
    if is_interrupt(key) {
        let is_asked = app.sure == Some(Sure::Cancel);
        if is_asked || !app.driven {
            return Next::Leave(Leave::Quit);
        }
        app.input = None;
        app.sure = Some(Sure::Cancel);
        return Next::Stay;
    }
    if app.input.is_some() {
        return typed(app, viewer, key);
    }
    app.notice.clear();
    if let Some(sure) = app.sure.take() {
        if key.code == KeyCode::Char('y') {
            confirmed(app, viewer, sure);
        }
        return Next::Stay;
    }
    if app.page == Some(Page::Keys) {
        match key.code {
            KeyCode::Down | KeyCode::PageDown => scroll(app, 10),
            KeyCode::Up | KeyCode::PageUp => scroll(app, -10),
            _ => app.page = None,
        }
        return Next::Stay;
    }
    if app.review.is_some() && app.open_ask().is_some() {
        return of_review(app, viewer, key.code);
    }
    if let Some(ask) = app.open_ask().cloned()
        && of_ask(app, viewer, &ask, key.code)
    {
        return Next::Stay;
    }
    if app.is_arming() && matches!(key.code, KeyCode::Char('y' | 'n' | 'o' | 'a' | 'h' | 'r')) {
        return Next::Stay;
    }
    if looks(app, key.code) { Next::Stay } else { steers(app, viewer, key.code) }
}

/// Whether the key is Ctrl-C.
pub fn is_interrupt(key: KeyEvent) -> bool {
    key.code == KeyCode::Char('c') && key.modifiers.contains(KeyModifiers::CONTROL)
}

/// Handles pasted text. It is an answer only while a line is typed.
pub fn paste(app: &mut App, text: &str) {
    app.revision += 1;
    if let Some((_, input)) = &mut app.input {
        input.insert(text);
    }
}

fn typed(app: &mut App, viewer: &Viewer, key: KeyEvent) -> Next {
    let Some((purpose, mut input)) = app.input.take() else { return Next::Stay };
    let done = input.key(key);
    if let Purpose::Search = purpose {
        app.filter = if matches!(done, Typed::Left) { String::new() } else { input.text().trim().to_lowercase() };
        tree::stay_in_sight(app);
    }
    match done {
        Typed::On => app.input = Some((purpose, input)),
        Typed::Left => {}
        Typed::Done => return said(app, viewer, purpose, input.text()),
    }
    Next::Stay
}

fn said(app: &mut App, viewer: &Viewer, purpose: Purpose, words: String) -> Next {
    match purpose {
        Purpose::Search => {}
        Purpose::Raise(one) => limits::raise(app, viewer, &one, &words),
        Purpose::FollowUp if words.trim().is_empty() => {}
        Purpose::FollowUp => return Next::Leave(Leave::FollowUp(words)),
        Purpose::Refuse(ask, one) => {
            let tasks = one.iter().map(ToString::to_string).collect();
            let command = RunCommand::Deny { gates: seen(app, &ask), tasks, because: words.trim().to_owned() };
            send(app, viewer, &ask, command);
        }
        Purpose::RefuseHunks(ask) => {
            let command = app.review.take().and_then(|review| review.command(words.trim().to_owned()));
            if let Some(command) = command {
                send(app, viewer, &ask, command);
            }
        }
        Purpose::Reply(ask) => {
            if let EffectKey::Question { task, run, call } = &ask.key {
                let to = AskingCall { task: task.clone(), run: run.clone(), call: call.clone() };
                send(app, viewer, &ask, RunCommand::Reply { to, text: words.trim().to_owned() });
            }
        }
    }
    Next::Stay
}

/// Handles keys that answer. Returns whether the key was one.
fn of_ask(app: &mut App, viewer: &Viewer, ask: &Ask, code: KeyCode) -> bool {
    let EffectKey::Gate(gate) = &ask.key else {
        let replies = matches!(code, KeyCode::Char('r' | 'y'));
        if replies {
            app.input = Some((Purpose::Reply(ask.clone()), Input::default()));
        }
        return replies;
    };
    let before_run = matches!(&gate.kind, GateKind::BeforeRun(_));
    match code {
        KeyCode::Char('y') => send(app, viewer, ask, approve(seen(app, ask))),
        KeyCode::Char('n') => {
            app.input = Some((Purpose::Refuse(ask.clone(), app.picked_of(gate).cloned()), Input::default()));
        }
        KeyCode::Char('a') if before_run => {
            let (gates, tasks) = (seen(app, ask), Vec::new());
            send(app, viewer, ask, RunCommand::Approve { gates, tasks, later: true, always: None });
        }
        KeyCode::Char('a') if app.shown_gate().and_then(standing).is_some() => {
            let (gates, tasks) = (seen(app, ask), Vec::new());
            let always = Some(WordCount::All);
            send(app, viewer, ask, RunCommand::Approve { gates, tasks, later: false, always });
        }
        KeyCode::Char('o') if app.picked_of(gate).is_some() => {
            let tasks = app.picked_of(gate).iter().map(ToString::to_string).collect();
            send(app, viewer, ask, RunCommand::Approve { gates: vec![gate.n], tasks, later: false, always: None });
        }
        KeyCode::Char('h') if app.shown_gate().is_some_and(|view| !view.hunks.is_empty()) => {
            app.review = Some(Review::new(ask.clone()));
            app.scroll = None;
        }
        _ => return false,
    }
    true
}

/// The numbers of the gate on the screen and of the gates that are shown with it as one question.
fn seen(app: &App, ask: &Ask) -> Vec<u32> {
    let EffectKey::Gate(gate) = &ask.key else { return Vec::new() };
    let also = app.gates.get(&ask.key).map(|view| view.also.as_slice()).unwrap_or_default();
    std::iter::once(gate.n).chain(also.iter().map(|also| also.gate.n)).collect()
}

fn approve(gates: Vec<u32>) -> RunCommand {
    RunCommand::Approve { gates, tasks: Vec::new(), later: false, always: None }
}

fn send(app: &mut App, viewer: &Viewer, ask: &Ask, command: RunCommand) {
    match viewer.give(command) {
        Ok((receipt, awaited)) => {
            app.awaited.extend(awaited);
            app.sent.insert(ask.key.clone());
            let also = app.gates.get(&ask.key).map(|view| view.also.clone()).unwrap_or_default();
            app.sent.extend(also.into_iter().map(|also| EffectKey::Gate(also.gate)));
            app.review = None;
            app.armed = None;
            let rests = app.rests().then(|| "your answer is saved; r resumes the run with it".to_owned());
            let words: Vec<String> =
                receipt.notes.steps().iter().map(|note| note.for_shell("callsheet")).chain(rests).collect();
            if !words.is_empty() {
                app.say(&words.join("; "));
            }
            // Show what waits next, or what is running.
            app.choose(None);
        }
        Err(why) => app.say(&why),
    }
}

fn of_review(app: &mut App, viewer: &Viewer, code: KeyCode) -> Next {
    let hunks = app.shown_gate().map(|view| view.hunks.clone()).unwrap_or_default();
    let Some(review) = &mut app.review else { return Next::Stay };
    app.scroll = None;
    match code {
        KeyCode::Char('y') => review.keep(&hunks),
        KeyCode::Char('n') => review.decide(&hunks, HunkVerdict::Refuse),
        KeyCode::Char('e') => {
            let hunk = hunks.get(review.at).cloned();
            let edited = hunk.as_ref().and_then(|hunk| match review.verdicts.get(&hunk.number) {
                Some(HunkVerdict::Edited(text)) => Some(text.clone()),
                _ => None,
            });
            return hunk.map_or(Next::Stay, |hunk| {
                Next::EditHunk(Hunk { text: edited.unwrap_or_else(|| hunk.text.clone()), ..hunk })
            });
        }
        KeyCode::Down | KeyCode::Char('j') => review.go(&hunks, 1),
        KeyCode::Up | KeyCode::Char('k') => review.go(&hunks, -1),
        KeyCode::Enter if !review.is_whole(&hunks) => app.say("some hunks have no verdict yet: y keeps, n rejects"),
        KeyCode::Enter if review.refuses() => {
            app.input = Some((Purpose::RefuseHunks(review.ask.clone()), Input::default()));
        }
        KeyCode::Enter => {
            let (ask, command) = (review.ask.clone(), review.command(String::new()));
            if let Some(command) = command {
                send(app, viewer, &ask, command);
            }
        }
        KeyCode::Esc | KeyCode::Char('q' | 'h') => app.review = None,
        KeyCode::Char('?') => app.page = Some(Page::Keys),
        _ => {}
    }
    Next::Stay
}

/// Handles keys that navigate. Returns whether the key was one.
fn looks(app: &mut App, code: KeyCode) -> bool {
    let page = |app: &mut App, page: Page| {
        app.page = if app.page == Some(page) { None } else { Some(page) };
        app.scroll = None;
    };
    match code {
        KeyCode::Down | KeyCode::Char('j') => tree::go(app, 1),
        KeyCode::Up | KeyCode::Char('k') => tree::go(app, -1),
        KeyCode::Char('g') => tree::next_asking(app),
        KeyCode::Enter => match app.pick() {
            Pick::Section(at) => {
                if !app.unfolded.remove(&at) {
                    app.unfolded.insert(at);
                }
            }
            _ => app.zoomed = !app.zoomed,
        },
        KeyCode::Esc if app.page.is_some() => app.page = None,
        KeyCode::Esc if app.zoomed => app.zoomed = false,
        KeyCode::Esc if !app.filter.is_empty() => app.filter.clear(),
        KeyCode::Esc => app.choose(None),
        KeyCode::Tab | KeyCode::BackTab => {
            let back = code == KeyCode::BackTab;
            let at = Tab::ALL.iter().position(|tab| *tab == app.tab).unwrap_or(0);
            let next = if back { at + Tab::ALL.len() - 1 } else { at + 1 } % Tab::ALL.len();
            app.turn_to(Tab::ALL.get(next).copied().unwrap_or(Tab::Task));
        }
        KeyCode::Char(digit @ '1'..='5') => {
            let at = digit.to_digit(10).and_then(|number| usize::try_from(number).ok()).unwrap_or(1);
            app.turn_to(Tab::ALL.get(at.saturating_sub(1)).copied().unwrap_or(Tab::Task));
        }
        KeyCode::PageDown | KeyCode::Char(' ') => scroll(app, 10),
        KeyCode::PageUp => scroll(app, -10),
        KeyCode::Home => app.scroll = Some(0),
        KeyCode::End => app.scroll = Some(usize::MAX / 2),
        KeyCode::Char('t') => page(app, Page::Timeline),
        KeyCode::Char('s') => page(app, Page::Sheet),
        KeyCode::Char('l') => page(app, Page::Log),
        KeyCode::Char('?') => page(app, Page::Keys),
        KeyCode::Char('/') => app.input = Some((Purpose::Search, Input::with(&app.filter))),
        _ => return false,
    }
    true
}

/// Scrolls the pane by some lines.
pub fn scroll(app: &mut App, by: isize) {
    app.scroll = Some(app.scroll.unwrap_or(app.offset).saturating_add_signed(by));
}

/// Handles keys that control the run.
fn steers(app: &mut App, viewer: &Viewer, code: KeyCode) -> Next {
    match code {
        KeyCode::Char('q') => return Next::Leave(Leave::Quit),
        KeyCode::Char('x') if app.driven => app.sure = Some(Sure::Cancel),
        KeyCode::Char('e') if app.run.about().has_list => return Next::EditSheet,
        KeyCode::Char('r') if app.rests() => return Next::Leave(Leave::Resume),
        KeyCode::Char('f') if app.rests() && app.is_over() => {
            app.input = Some((Purpose::FollowUp, Input::default()));
        }
        KeyCode::Char('R') => retry(app, viewer),
        KeyCode::Char('+') => limits::ask(app),
        KeyCode::Char('u') => undo(app),
        KeyCode::Char('m') => return Next::Mouse,
        KeyCode::Char('d') => match app.picked_row() {
            Some(row) if !row.state.is_ended() => app.sure = Some(Sure::Drop(row.slug.clone())),
            _ => app.say("choose a task that has not started; only such tasks can be dropped"),
        },
        _ => {}
    }
    Next::Stay
}

fn retry(app: &mut App, viewer: &Viewer) {
    let ended = |state: State| state.is_problem() || state == State::Done;
    let row = app.picked_row().filter(|row| ended(row.state)).map(|row| (row.slug.clone(), row.state));
    match row.filter(|(slug, _)| app.run.may_retry(slug)) {
        None => app.say("choose a task that has ended; only such tasks can be retried"),
        Some((task, State::Done)) => app.sure = Some(Sure::Retry(task)),
        Some((task, _)) => retry_now(app, viewer, &task),
    }
}

fn retry_now(app: &mut App, viewer: &Viewer, task: &Slug) {
    let said =
        viewer.order(RunCommand::Retry { tasks: vec![task.to_string()], keep_changes: false, because: String::new() });
    told(app, said, &format!("{task} is retried"));
}

/// Asks whether to revert what the run changed.
fn undo(app: &mut App) {
    if !app.rests() {
        return app.say("stop the run first (x): changes are reverted only while it rests");
    }
    let sets = app.run.all_tasks().flat_map(|task| &task.applied).filter(|set| !set.reverted);
    let files: BTreeSet<String> =
        sets.flat_map(|set| &set.changes.files).map(|file| text::one_line(&file.path)).collect();
    if files.is_empty() {
        return app.say("this run has no changes to revert");
    }
    app.sure = Some(Sure::Undo(files.into_iter().collect(), app.run.cursor()));
}

fn confirmed(app: &mut App, viewer: &Viewer, sure: Sure) {
    match sure {
        Sure::Cancel if viewer.outside.interrupt() => {}
        Sure::Cancel => {
            let said = viewer.order(RunCommand::Stop);
            told(app, said, "the run is asked to stop");
        }
        Sure::Drop(task) => {
            let said = viewer.order(RunCommand::Remove { tasks: vec![task.to_string()] });
            told(app, said, &format!("{task} is dropped"));
        }
        Sure::Retry(task) => retry_now(app, viewer, &task),
        Sure::Undo(_, seen) => match viewer.order_at(Some(seen), RunCommand::Undo { tasks: Vec::new() }) {
            Ok(receipt) => app.say(&receipt.words()),
            Err(why) => app.say(&why),
        },
    }
}

/// Shows the outcome of a command.
pub fn told(app: &mut App, said: Result<Receipt, String>, words: &str) {
    match said {
        Ok(_) if app.rests() => app.say(&format!("{words} when you resume the run (r)")),
        Ok(_) => app.say(words),
        Err(why) => app.say(&why),
    }
}
