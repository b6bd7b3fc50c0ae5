//! The first screen: what was found in the project, earlier runs, and a line for a request.

use std::io::{BufWriter, stderr};
use std::mem::ManuallyDrop;
use std::time::Duration;

use ratatui::backend::CrosstermBackend;
use ratatui::crossterm::event::{Event, KeyCode, KeyEvent, KeyEventKind};
use ratatui::layout::Rect;
use ratatui::text::{Line as Row, Span};
use ratatui::widgets::Paragraph;
use ratatui::{Frame, Terminal};
use tokio_util::sync::CancellationToken;

use crate::hangup::Line;
use crate::input::{Input, Typed};
use crate::keys::is_interrupt;
use crate::screen::{restore, take};
use crate::text::{cut, one_line, padded};
use crate::theme::Theme;

/// How long to wait for a key.
const WAIT: Duration = Duration::from_millis(100);
/// The width in cells of the names of what was found.
const NAMES: usize = 14;
/// The width in cells of the state before the request of a run.
const STATES: usize = 20;

/// What the first screen shows.
pub struct Home {
    /// The name of the project.
    pub project: String,
    /// What was found, each item with its name.
    pub found: Vec<(String, String)>,
    /// The earlier runs, newest first: the state and the request of each.
    pub runs: Vec<(String, String)>,
    /// The request as typed so far.
    input: Input,
    /// The chosen run.
    chosen: Option<usize>,
}

/// What a person chooses on the first screen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Wish {
    /// Leave.
    Leave,
    /// Start a run with this request.
    Request(String),
    /// Show the run with this index.
    Run(usize),
}

impl Home {
    /// A screen without typed text.
    pub fn new(project: String, found: Vec<(String, String)>, runs: Vec<(String, String)>) -> Self {
        Self { project, found, runs, input: Input::default(), chosen: None }
    }

    /// Handles a key. Returns `None` if the screen stays.
    pub fn press(&mut self, key: KeyEvent) -> Option<Wish> {
        if is_interrupt(key) {
            return Some(Wish::Leave);
        }
        let last = self.runs.len().checked_sub(1);
        match key.code {
            KeyCode::Down => self.chosen = last.map(|last| self.chosen.map_or(0, |at| last.min(at + 1))),
            KeyCode::Up => self.chosen = self.chosen.and_then(|at| at.checked_sub(1)),
            _ => match self.input.key(key) {
                Typed::On => self.chosen = None,
                Typed::Left if self.input.text().is_empty() => return Some(Wish::Leave),
                Typed::Left => self.input = Input::default(),
                Typed::Done => {
                    let text = self.input.text().trim().to_owned();
                    return match self.chosen {
                        Some(at) => Some(Wish::Run(at)),
                        None => (!text.is_empty()).then_some(Wish::Request(text)),
                    };
                }
            },
        }
        None
    }

    /// Inserts pasted text.
    pub fn paste(&mut self, text: &str) {
        self.input.insert(text);
    }

    /// Draws the screen.
    pub fn draw(&self, frame: &mut Frame<'_>, colour: bool) {
        let (area, theme) = (frame.area(), Theme::new(colour));
        let cells = usize::from(area.width);
        let mut rows = vec![
            Row::from(vec![
                Span::styled(" Callsheet  ", theme.strong()),
                Span::styled(cut(&one_line(&self.project), cells.saturating_sub(13)), theme.quiet()),
            ]),
            Row::default(),
        ];
        for (name, value) in &self.found {
            rows.push(Row::from(vec![
                Span::styled(format!(" {}", padded(name, NAMES)), theme.label()),
                Span::raw(cut(&one_line(value), cells.saturating_sub(NAMES + 2))),
            ]));
        }
        rows.push(Row::default());
        let room = usize::from(area.height).saturating_sub(rows.len() + 4);
        let from = self.chosen.map_or(0, |at| (at + 1).saturating_sub(room));
        for (at, (state, request)) in self.runs.iter().enumerate().skip(from).take(room) {
            let style = if self.chosen == Some(at) { theme.chosen() } else { ratatui::style::Style::new() };
            let words =
                cut(&format!("{}{}", padded(&one_line(state), STATES), one_line(request)), cells.saturating_sub(4));
            rows.push(Row::styled(format!(" {} {words}", if self.chosen == Some(at) { "▸" } else { " " }), style));
        }
        frame.render_widget(Paragraph::new(rows), Rect { height: area.height.saturating_sub(3), ..area });
        let foot = |up: u16| Rect { y: area.y + area.height.saturating_sub(up), height: 1.min(area.height), ..area };
        frame.render_widget(Paragraph::new("─".repeat(cells)), foot(3));
        let (typed, place) = self.input.window(cells.saturating_sub(4));
        let at = u16::try_from(place + 3).unwrap_or(u16::MAX);
        let hint = if typed.is_empty() { "What is to be done in this folder?" } else { "" };
        let line = vec![Span::styled(" > ", theme.strong()), Span::raw(typed), Span::styled(hint, theme.quiet())];
        frame.render_widget(Paragraph::new(Row::from(line)), foot(2));
        frame.set_cursor_position((area.x + at.min(area.width.saturating_sub(1)), foot(2).y));
        let keys = match (self.chosen, self.runs.is_empty()) {
            (Some(_), _) => " ⏎ look at this run   ↑↓ another one   Esc leave",
            (None, true) => {
                " ⏎ start   Esc leave   `callsheet demo` needs no model; `callsheet --help` lists all commands"
            }
            (None, false) => " ⏎ start   ↓ earlier runs   Esc leave   `callsheet --help` lists all commands",
        };
        frame.render_widget(Paragraph::new(Span::styled(cut(keys, cells), theme.quiet())), foot(1));
    }
}

/// Shows the first screen until the person makes a choice.
///
/// # Errors
/// The terminal cannot be used.
pub fn home(mut home: Home, colour: bool) -> std::io::Result<Wish> {
    let gone = CancellationToken::new();
    let wished = take().and_then(|()| shown(&mut home, &gone, colour));
    restore();
    if gone.is_cancelled() { Ok(Wish::Leave) } else { wished }
}

fn shown(home: &mut Home, gone: &CancellationToken, colour: bool) -> std::io::Result<Wish> {
    let line = Line::watch(gone.clone())?;
    let mut terminal = ManuallyDrop::new(Terminal::new(CrosstermBackend::new(BufWriter::new(stderr())))?);
    loop {
        terminal.draw(|frame| home.draw(frame, colour))?;
        while !line.has_key(WAIT)? {}
        match line.key()? {
            Event::Key(key) if key.kind != KeyEventKind::Release => {
                if let Some(wish) = home.press(key) {
                    return Ok(wish);
                }
            }
            Event::Paste(text) => home.paste(&text),
            _ => {}
        }
    }
}
