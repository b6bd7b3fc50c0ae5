//! The terminal session: takes the terminal, draws on it, reads from it, and always restores it.

use std::io::{BufWriter, Stderr, Write, stderr};
use std::mem::ManuallyDrop;
use std::sync::Once;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::Receiver;
use std::time::{Duration, Instant, SystemTime};

use callsheet_core::record::EffectKey;
use callsheet_format::edit::HunkVerdict;
use ratatui::Terminal;
use ratatui::backend::CrosstermBackend;
use ratatui::crossterm::cursor::Show;
use ratatui::crossterm::event::{
    DisableBracketedPaste, DisableMouseCapture, EnableBracketedPaste, EnableMouseCapture, Event, KeyEventKind,
};
use ratatui::crossterm::execute;
use ratatui::crossterm::style::Print;
use ratatui::crossterm::terminal::{
    EnterAlternateScreen, LeaveAlternateScreen, SetTitle, disable_raw_mode, enable_raw_mode,
};

use tokio_util::sync::CancellationToken;

use crate::app::{App, Leave};
use crate::draw::Painter;
use crate::hangup::Line;
use crate::keys::{Next, is_interrupt, paste, press};
use crate::mouse::moved;
use crate::news::News;
use crate::viewer::Viewer;

/// How long to wait for a key before the next look at news.
const WAIT: Duration = Duration::from_millis(50);
/// How long a gate must be on the screen before keys may answer it.
const ARMING: Duration = Duration::from_millis(400);
/// Rings the bell.
const BELL: &str = "\u{7}";
/// Saves the title of the window, so that it can be restored.
const KEEP_TITLE: &str = "\u{1b}[22;0t";
const FORMER_TITLE: &str = "\u{1b}[23;0t";

static TAKEN: AtomicBool = AtomicBool::new(false);

/// Restores the terminal if it was taken, for exits that run no other code.
pub fn restore() {
    if TAKEN.swap(false, Ordering::SeqCst) {
        let _closed = execute!(
            stderr(),
            DisableMouseCapture,
            DisableBracketedPaste,
            LeaveAlternateScreen,
            Show,
            Print(FORMER_TITLE)
        );
        let _closed = disable_raw_mode();
    }
}

/// Whether the terminal is taken.
pub fn is_open() -> bool {
    TAKEN.load(Ordering::SeqCst)
}

/// Takes over the terminal.
pub(crate) fn take() -> std::io::Result<()> {
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        let former = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| {
            restore();
            former(info);
        }));
    });
    enable_raw_mode()?;
    TAKEN.store(true, Ordering::SeqCst);
    execute!(stderr(), Print(KEEP_TITLE), EnterAlternateScreen, EnableBracketedPaste)
}

/// Shows a run that any process drives, until the person leaves.
///
/// # Errors
/// The terminal cannot be used.
pub fn watch(viewer: Box<Viewer>, news: Receiver<News>, colour: bool) -> std::io::Result<Leave> {
    let gone = CancellationToken::new();
    let left = take().and_then(|()| Loop::new(viewer, news, gone.clone(), colour)).and_then(Loop::run);
    restore();
    if gone.is_cancelled() { Ok(Leave::Gone) } else { left }
}

struct Loop {
    app: App,
    line: Line,
    viewer: Box<Viewer>,
    news: Receiver<News>,
    painter: Painter,
    /// Never dropped, because its drop prints an error if the cursor cannot be shown, and fails if the terminal is
    /// gone.
    terminal: ManuallyDrop<Terminal<CrosstermBackend<BufWriter<Stderr>>>>,
    /// The gate or question on the screen, and when it appeared.
    shown: Option<(EffectKey, Instant)>,
    /// What was last drawn.
    drawn: Option<(u64, u64)>,
    /// Whether the program handles the mouse. Otherwise the terminal uses it to select text.
    mouse: bool,
}

impl Loop {
    fn new(viewer: Box<Viewer>, news: Receiver<News>, gone: CancellationToken, colour: bool) -> std::io::Result<Self> {
        let line = Line::watch(gone)?;
        let terminal = ManuallyDrop::new(Terminal::new(CrosstermBackend::new(BufWriter::new(stderr())))?);
        let painter = Painter::new(colour);
        let mut made =
            Self { app: App::default(), line, viewer, news, painter, terminal, shown: None, drawn: None, mouse: true };
        made.set_mouse()?;
        Ok(made)
    }

    fn set_mouse(&mut self) -> std::io::Result<()> {
        let out = self.terminal.backend_mut();
        if self.mouse { execute!(out, EnableMouseCapture) } else { execute!(out, DisableMouseCapture) }
    }

    fn run(mut self) -> std::io::Result<Leave> {
        loop {
            self.hear();
            self.app.now_ms = now_ms();
            if self.app.settle() {
                self.ring()?;
            }
            self.app.look(&self.viewer);
            self.draw()?;
            self.arm()?;
            if !self.line.has_key(WAIT)? {
                continue;
            }
            if let Some(leave) = self.keys()? {
                return Ok(leave);
            }
        }
    }

    /// Reads all news.
    fn hear(&mut self) {
        let mut records = false;
        while let Ok(news) = self.news.try_recv() {
            self.drawn = None;
            records |= matches!(news, News::Entry(_));
            self.app.take(news);
        }
        if records {
            self.app.look_for_effects(&self.viewer);
        }
    }

    fn ring(&mut self) -> std::io::Result<()> {
        let words =
            format!("waits for you: {}", crate::text::cut(&crate::text::one_line(self.app.run.about().prompt), 60));
        execute!(self.terminal.backend_mut(), Print(BELL), SetTitle(words))
    }

    fn draw(&mut self) -> std::io::Result<()> {
        let now = (self.app.revision, self.app.now_ms / 1_000);
        if self.drawn == Some(now) {
            return Ok(());
        }
        self.drawn = Some(now);
        let Self { terminal, painter, app, viewer, .. } = self;
        terminal.draw(|frame| painter.draw(frame, app, viewer)).map(drop)
    }

    /// Discards keys that were pressed before a gate appeared on the screen.
    fn arm(&mut self) -> std::io::Result<()> {
        let key = self.app.shown_ask().map(|ask| ask.key.clone());
        match (&self.shown, key) {
            (_, None) => {
                self.shown = None;
                self.app.armed = None;
            }
            (Some((shown, since)), Some(key)) if *shown == key => {
                if self.app.armed.as_ref() != Some(&key) && since.elapsed() >= ARMING {
                    self.app.armed = Some(key);
                    self.drawn = None;
                }
            }
            (_, Some(key)) => {
                self.app.armed = None;
                self.shown = Some((key, Instant::now()));
                // A line that is being typed is continued.
                while self.app.input.is_none() && self.line.has_key(Duration::ZERO)? {
                    match self.line.key()? {
                        Event::Key(key) if is_interrupt(key) => drop(press(&mut self.app, &self.viewer, key)),
                        _ => self.drawn = None,
                    }
                }
            }
        }
        Ok(())
    }

    fn keys(&mut self) -> std::io::Result<Option<Leave>> {
        loop {
            match self.line.key()? {
                Event::Key(key) if key.kind != KeyEventKind::Release => match press(&mut self.app, &self.viewer, key) {
                    Next::Stay => {}
                    Next::Leave(leave) => return Ok(Some(leave)),
                    Next::EditSheet => {
                        let edited = self.outside(|viewer| viewer.outside.edit_sheet())?;
                        let rests = self.app.rests();
                        self.app.say(&match edited {
                            Ok(()) if rests => {
                                "an edit of the sheet takes effect when you resume the run (r)".to_owned()
                            }
                            Ok(()) => "the run reads the sheet now".to_owned(),
                            Err(why) => why,
                        });
                    }
                    Next::EditHunk(hunk) => {
                        let edited = self.outside(|viewer| viewer.outside.edit_hunk(&hunk))?;
                        self.hunk(edited);
                    }
                    Next::Mouse => {
                        self.mouse = !self.mouse;
                        self.set_mouse()?;
                        let words = if self.mouse {
                            "the mouse chooses and scrolls; m gives it back for selecting text"
                        } else {
                            "the mouse selects text; m takes it for choosing and scrolling"
                        };
                        self.app.say(words);
                    }
                },
                Event::Mouse(event) => moved(&mut self.app, &self.painter.places, event),
                Event::Paste(text) => paste(&mut self.app, &text),
                Event::Resize(..) => self.drawn = None,
                _ => {}
            }
            // Keys that arrived together are handled together, unless they opened a gate, which must be drawn before
            // its keys are read.
            if self.app.is_arming() || !self.line.has_key(Duration::ZERO)? {
                return Ok(None);
            }
            self.app.settle();
        }
    }

    fn hunk(&mut self, edited: Result<Option<String>, String>) {
        let hunks = self.app.shown_gate().map(|view| view.hunks.clone()).unwrap_or_default();
        match (edited, &mut self.app.review) {
            (Ok(Some(text)), Some(review)) => review.decide(&hunks, HunkVerdict::Edited(text)),
            (Ok(_), _) => self.app.say("the file was empty, so the hunk is unchanged"),
            (Err(why), _) => self.app.say(&why),
        }
        self.app.revision += 1;
    }

    /// Gives the terminal to another program for a while.
    fn outside<T>(&mut self, work: impl FnOnce(&Viewer) -> T) -> std::io::Result<T> {
        restore();
        let done = work(&self.viewer);
        take()?;
        self.set_mouse()?;
        self.terminal.clear()?;
        self.drawn = None;
        Ok(done)
    }
}

impl Drop for Loop {
    fn drop(&mut self) {
        let _closed = self.terminal.backend_mut().flush();
        restore();
    }
}

fn now_ms() -> u64 {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}
