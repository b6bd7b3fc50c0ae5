//! A recorded run, the record behind it, and a screen in memory.

use std::cell::RefCell;
use std::path::{Path, PathBuf};

use callsheet_core::record::{Event, Gate, LogEntry};
use callsheet_core::run::Run;
use callsheet_core::spec::BlobId;
use callsheet_format::edit::Hunk;
use callsheet_runtime::effects::gate_view;
use callsheet_runtime::ports::{GateView, InboxMessage, Store};
use callsheet_store::MemoryStore;
use callsheet_tui::{App, Desk, News, Next, Painter, press};
use ratatui::Terminal;
use ratatui::backend::TestBackend;
use ratatui::crossterm::event::{KeyCode, KeyEvent};

/// A desk without a world: it remembers what was sent.
pub struct Recorded {
    store: MemoryStore,
    pub entries: Vec<LogEntry>,
    pub sent: RefCell<Vec<InboxMessage>>,
    pub interrupts: RefCell<u32>,
    pub undone: RefCell<u32>,
}

pub fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures")
}

impl Recorded {
    /// The garden's run, from its request to its end.
    pub fn garden() -> Self {
        let store = MemoryStore::default();
        let entries = crate::story::entries(&store);
        Self { store, entries, sent: RefCell::default(), interrupts: RefCell::default(), undone: RefCell::default() }
    }

    /// The run up to the last entry before one that fits, as this process drives it or as it is watched.
    pub fn before(&self, own: bool, fits: impl Fn(&Event) -> bool) -> App {
        let end = self.entries.iter().position(|entry| fits(&entry.event)).unwrap();
        self.first(own, end)
    }

    /// The run up to its first entries.
    pub fn first(&self, own: bool, count: usize) -> App {
        let mut app = App::new(own);
        app.take(News::Driven(true));
        self.entries.iter().take(count).for_each(|entry| app.take(News::Entry(Box::new(entry.clone()))));
        self.look(&mut app);
        app
    }

    /// As the screen does before it draws; what is shown was on it for a while.
    pub fn look(&self, app: &mut App) {
        app.settle();
        app.look(self);
        app.armed = app.shown_ask().map(|ask| ask.key.clone());
        app.now_ms = app.run.now_ms() + 41_000;
    }

    /// Presses keys, one a character; others are `code`s.
    pub fn press(&self, app: &mut App, codes: impl IntoIterator<Item = KeyCode>) -> Next {
        let mut next = Next::Stay;
        for code in codes {
            next = press(app, self, KeyEvent::from(code));
            self.look(app);
        }
        next
    }

    pub fn type_in(&self, app: &mut App, text: &str) -> Next {
        self.press(app, text.chars().map(KeyCode::Char))
    }

    /// What is drawn, as lines of text.
    pub fn drawn(&self, app: &mut App, width: u16, height: u16) -> String {
        let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
        let mut painter = Painter::new(false);
        terminal.draw(|frame| painter.draw(frame, app, self)).unwrap();
        let buffer = terminal.backend().buffer();
        let mut text = String::new();
        for y in 0..height {
            let mut line = String::new();
            let mut x = 0;
            while x < width {
                let symbol = buffer[(x, y)].symbol();
                line.push_str(symbol);
                x += u16::try_from(unicode_width::UnicodeWidthStr::width(symbol).max(1)).unwrap();
            }
            assert_eq!(unicode_width::UnicodeWidthStr::width(line.as_str()), usize::from(width), "{line}");
            assert!(!line.chars().any(char::is_control), "{line:?}");
            text.push_str(line.trim_end());
            text.push('\n');
        }
        text
    }
}

impl Desk for Recorded {
    fn blob(&self, id: &BlobId) -> Option<String> {
        self.store.blob(id).ok().map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
    }

    fn entries(&self) -> Vec<LogEntry> {
        self.entries.clone()
    }

    fn gate(&self, run: &Run, gate: &Gate) -> Result<GateView, String> {
        gate_view(&self.store, Path::new("/project"), run, gate).map_err(|fault| fault.to_string())
    }

    fn gate_text(&self, view: &GateView) -> String {
        let writers =
            view.writers.iter().map(|writer| format!("{}\n  needed: {}\n", writer.task.name, writer.task.need));
        writers.collect()
    }

    fn send(&self, _: &Run, message: InboxMessage) -> Result<(), String> {
        self.sent.borrow_mut().push(message);
        Ok(())
    }

    fn answer(&self, run: &Run) -> String {
        callsheet_core::view::answer(run, &|_, text| text.to_owned())
    }

    fn sheet_file(&self) -> PathBuf {
        PathBuf::from("/project/.callsheet/runs/a-run/sheet.md")
    }

    fn edit_sheet(&self) -> Result<(), String> {
        Ok(())
    }

    fn edit_hunk(&self, _: &Hunk) -> Result<Option<String>, String> {
        Ok(None)
    }

    fn undo(&self) -> Result<String, String> {
        *self.undone.borrow_mut() += 1;
        Ok("restored plan.md".to_owned())
    }

    fn interrupt(&self) {
        *self.interrupts.borrow_mut() += 1;
    }
}
