//! A recorded run, the record behind it, and a screen in memory.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};

use callsheet_app::{Arrival, Cursor, Order, Receipt, Refusal, RunCommand, RunControl, RunView, SheetCheck, Started};
use callsheet_core::events::{Event, LogEntry};
use callsheet_core::nouns::{BlobId, RunId};
use callsheet_core::record::Gate;
use callsheet_core::run::Run;
use callsheet_core::symbols::Coloured;
use callsheet_format::edit::Hunk;
use callsheet_runtime::effects::gate_view;
use callsheet_runtime::ports::{GateView, LiveText, RunSummary, Store};
use callsheet_store::MemoryStore;
use callsheet_tui::{App, News, Next, Outside, Painter, Viewer, press};
use ratatui::Terminal;
use ratatui::backend::TestBackend;
use ratatui::crossterm::event::{KeyCode, KeyEvent};

/// A recorded run, and somebody who looks at it.
pub struct Recorded {
    pub entries: Vec<LogEntry>,
    interrupts: Arc<AtomicU32>,
    runs: Arc<Runs>,
    viewer: Viewer,
}

pub fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures")
}

impl Recorded {
    /// The garden's run, from its request to its end.
    pub fn garden() -> Self {
        let store = Arc::new(MemoryStore::default());
        let entries = crate::story::entries(&store);
        let run = RunId::new(crate::story::RUN);
        let lock = store.lock(&run).unwrap();
        store.append(&lock, &entries).unwrap();
        let (runs, interrupts) = (Arc::new(Runs { store, sent: Mutex::default() }), Arc::new(AtomicU32::new(0)));
        let outside = Box::new(NoEditor { interrupts: Arc::clone(&interrupts) });
        let viewer = Viewer { runs: Arc::clone(&runs) as Arc<dyn RunControl>, run, outside };
        Self { entries, interrupts, runs, viewer }
    }

    /// The commands that were given since this was asked last.
    pub fn sent(&self) -> Vec<RunCommand> {
        std::mem::take(&mut *self.runs.sent.lock().unwrap())
    }

    /// Whoever looks at it.
    pub fn viewer(&self) -> &Viewer {
        &self.viewer
    }

    /// How often the run was interrupted.
    pub fn interrupts(&self) -> u32 {
        self.interrupts.load(Ordering::Relaxed)
    }

    /// The run up to the last entry before one that fits.
    pub fn before(&self, fits: impl Fn(&Event) -> bool) -> App {
        let end = self.entries.iter().position(|entry| fits(&entry.event)).unwrap();
        self.first(end)
    }

    /// The run up to its first entries.
    pub fn first(&self, count: usize) -> App {
        let mut app = App::default();
        app.take(News::Driven(true));
        self.entries.iter().take(count).for_each(|entry| app.take(News::Entry(Box::new(entry.clone()))));
        self.look(&mut app);
        app
    }

    /// As the screen does before it draws; what is shown was on it for a while.
    pub fn look(&self, app: &mut App) {
        app.settle();
        app.look(&self.viewer);
        app.armed = app.shown_ask().map(|ask| ask.key.clone());
        app.now_ms = app.run.about().now_ms + 41_000;
    }

    /// Presses keys, one a character; others are `code`s.
    pub fn press(&self, app: &mut App, codes: impl IntoIterator<Item = KeyCode>) -> Next {
        let mut next = Next::Stay;
        for code in codes {
            next = press(app, &self.viewer, KeyEvent::from(code));
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
        terminal.draw(|frame| painter.draw(frame, app, &self.viewer)).unwrap();
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

/// The garden's runs: they remember which commands they were given.
pub struct Runs {
    store: Arc<MemoryStore>,
    sent: Mutex<Vec<RunCommand>>,
}

impl RunControl for Runs {
    fn project(&self) -> String {
        "garden".to_owned()
    }

    fn list(&self) -> Result<Vec<RunSummary>, Refusal> {
        Ok(self.store.runs()?)
    }

    fn watch(&self, run: &RunId, seen: Cursor) -> Result<Vec<LogEntry>, Refusal> {
        Ok(self.store.read(run, seen.0 + 1)?)
    }

    fn blob(&self, id: &BlobId) -> Result<Vec<u8>, Refusal> {
        Ok(self.store.blob(id)?)
    }

    fn has_messages(&self, run: &RunId) -> Result<bool, Refusal> {
        Ok(self.store.has_messages(run)?)
    }

    /// The run as it was when the person looked.
    fn gate(&self, run: &RunView, gate: &Gate) -> Result<GateView, Refusal> {
        let mut folded = Run::new();
        for entry in
            self.store.read(run.about().id.unwrap(), 1)?.into_iter().take_while(|entry| entry.n <= run.cursor().0)
        {
            folded.apply(&entry).unwrap();
        }
        gate_view(&*self.store, Path::new("/project"), &folded, gate).map_err(Refusal::from)
    }

    fn gates(&self, _: &RunView) -> Result<Vec<GateView>, Refusal> {
        Ok(Vec::new())
    }

    fn writing(&self, _: &RunId, _: &str) -> Vec<LiveText> {
        Vec::new()
    }

    fn colours(&self, _: &str, _: &str) -> Vec<Coloured> {
        Vec::new()
    }

    fn answer(&self, run: &RunView) -> String {
        run.answer()
    }

    fn order(&self, run: &RunId, order: &Order) -> Result<Receipt, Refusal> {
        self.sent.lock().unwrap().push(order.command.clone());
        let what = "restored plan.md".to_owned();
        Ok(Receipt {
            run: run.clone(),
            what,
            arrival: Arrival::Done,
            notes: callsheet_app::Advice::default(),
            undone: None,
            answers: None,
        })
    }

    fn resume(&self, _: &RunId) -> Result<Receipt, Refusal> {
        Err(Refusal::usage("nothing is resumed here", ""))
    }

    fn fork(&self, _: &RunId, _: Option<&str>) -> Result<Receipt, Refusal> {
        Err(Refusal::usage("nothing is forked here", ""))
    }

    fn started(&self, _: &RunId) -> Option<Started> {
        None
    }

    fn sheet(&self, _: &RunView) -> Result<String, Refusal> {
        Ok(String::new())
    }

    fn check_sheet(&self, _: &RunView, _: &str) -> Result<SheetCheck, Refusal> {
        Ok(SheetCheck::default())
    }
}

/// A terminal on which nothing is edited.
struct NoEditor {
    interrupts: Arc<AtomicU32>,
}

impl Outside for NoEditor {
    fn gate_text(&self, view: &GateView) -> String {
        let writers =
            view.writers.iter().map(|writer| format!("{}\n  needed: {}\n", writer.task.name, writer.task.need));
        writers.collect()
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

    fn interrupt(&self) -> bool {
        self.interrupts.fetch_add(1, Ordering::Relaxed);
        false
    }
}
