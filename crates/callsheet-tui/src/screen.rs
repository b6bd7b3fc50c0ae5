//! The terminal: taken, drawn on, read from, and always given back.

use std::io::{BufWriter, Stderr, Write, stderr};
use std::mem::ManuallyDrop;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, TryRecvError, channel};
use std::sync::{Arc, Mutex, Once, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant, SystemTime};

use callsheet_core::record::EffectKey;
use callsheet_core::run::Run;
use callsheet_format::edit::HunkVerdict;
use callsheet_runtime::ports::{Observer, Signal};
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
use crate::news::{News, Wire};
use crate::viewer::Viewer;

/// How long a key is waited for before news are looked at.
const WAIT: Duration = Duration::from_millis(50);
/// How long a gate is on the screen before keys answer it.
const ARMING: Duration = Duration::from_millis(400);
/// How long the last drawing is waited for: a terminal that takes no more may hold it for ever.
const CLOSING: Duration = Duration::from_secs(1);
/// Rings.
const BELL: &str = "\u{7}";
/// Keeps the title of the window, and puts it back.
const KEEP_TITLE: &str = "\u{1b}[22;0t";
const FORMER_TITLE: &str = "\u{1b}[23;0t";

static TAKEN: AtomicBool = AtomicBool::new(false);

/// Gives the terminal back, if it was taken: for ends that nobody waits for.
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

fn take() -> std::io::Result<()> {
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

/// The screen of a run that this process drives: opened and closed by whoever drives it, drawn by a thread of its own.
pub struct Screen {
    wire: Arc<Wire>,
    news: Mutex<Option<Receiver<News>>>,
    thread: Mutex<Option<Drawing>>,
    open: AtomicBool,
    /// Cancelled when the terminal goes away.
    gone: CancellationToken,
}

/// The thread that draws, and a channel that it closes at its end.
struct Drawing {
    thread: JoinHandle<()>,
    ended: Receiver<()>,
}

impl Default for Screen {
    fn default() -> Self {
        let (wire, news) = Wire::new();
        Self {
            wire: Arc::new(wire),
            news: Mutex::new(Some(news)),
            thread: Mutex::new(None),
            open: AtomicBool::new(false),
            gone: CancellationToken::new(),
        }
    }
}

impl Screen {
    /// Cancelled when the terminal goes away; then nobody sits there any more.
    pub fn gone(&self) -> CancellationToken {
        self.gone.clone()
    }

    /// A run whose earlier log entries nobody watches again.
    pub fn begin_with(&self, run: Run) {
        self.wire.tell(News::Run(Box::new(run)));
    }

    /// Takes the terminal and draws until it is closed.
    ///
    /// # Errors
    /// The terminal cannot be used.
    pub fn open(&self, viewer: Box<Viewer>, colour: bool) -> std::io::Result<()> {
        let Some(news) = self.news.lock().unwrap_or_else(PoisonError::into_inner).take() else { return Ok(()) };
        take().inspect_err(|_| restore())?;
        self.open.store(true, Ordering::SeqCst);
        let gone = self.gone.clone();
        let (held, ended): (Sender<()>, _) = channel();
        let thread = std::thread::Builder::new().name("screen".to_owned()).spawn(move || {
            // A screen that ends by itself is as gone as its terminal. Whoever drives the run decides what follows.
            let guard = gone.clone().drop_guard();
            if Loop::new(viewer, news, (true, gone), colour).and_then(Loop::run).is_ok() {
                guard.disarm();
            }
            restore();
            drop(held);
        })?;
        *self.thread.lock().unwrap_or_else(PoisonError::into_inner) = Some(Drawing { thread, ended });
        Ok(())
    }

    /// Whether the terminal belongs to it, even if the person's editor is on it for a while.
    pub fn is_open(&self) -> bool {
        self.open.load(Ordering::SeqCst)
    }

    /// Gives the terminal back.
    pub fn close(&self) {
        self.wire.tell(News::Close);
        if let Some(Drawing { thread, ended }) = self.thread.lock().unwrap_or_else(PoisonError::into_inner).take()
            && matches!(ended.recv_timeout(CLOSING), Err(RecvTimeoutError::Disconnected))
        {
            let _panicked = thread.join();
        }
        self.open.store(false, Ordering::SeqCst);
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        self.close();
    }
}

impl Observer for Screen {
    fn see(&self, signal: &Signal<'_>) {
        self.wire.see(signal);
    }
}

/// Draws a run that another process drives, or none, until the person leaves.
///
/// # Errors
/// The terminal cannot be used.
pub fn watch(viewer: Box<Viewer>, news: Receiver<News>, colour: bool) -> std::io::Result<Leave> {
    let gone = CancellationToken::new();
    let left = take().and_then(|()| Loop::new(viewer, news, (false, gone.clone()), colour)).and_then(Loop::run);
    restore();
    if gone.is_cancelled() { Ok(Leave::Gone) } else { left }
}

struct Loop {
    app: App,
    line: Line,
    viewer: Box<Viewer>,
    news: Receiver<News>,
    painter: Painter,
    /// Never dropped: it would say that it cannot show the cursor, and fail over saying so where the terminal is gone.
    terminal: ManuallyDrop<Terminal<CrosstermBackend<BufWriter<Stderr>>>>,
    /// The gate or question on the screen, and since when.
    shown: Option<(EffectKey, Instant)>,
    /// What was drawn last.
    drawn: Option<(u64, u64)>,
    /// The mouse chooses and scrolls; else it is the terminal's, which selects text with it.
    mouse: bool,
}

impl Loop {
    fn new(
        viewer: Box<Viewer>,
        news: Receiver<News>,
        (own, gone): (bool, CancellationToken),
        colour: bool,
    ) -> std::io::Result<Self> {
        let line = Line::watch(gone)?;
        let terminal = ManuallyDrop::new(Terminal::new(CrosstermBackend::new(BufWriter::new(stderr())))?);
        let painter = Painter::new(colour);
        let mut made =
            Self { app: App::new(own), line, viewer, news, painter, terminal, shown: None, drawn: None, mouse: true };
        made.set_mouse()?;
        Ok(made)
    }

    fn set_mouse(&mut self) -> std::io::Result<()> {
        let out = self.terminal.backend_mut();
        if self.mouse { execute!(out, EnableMouseCapture) } else { execute!(out, DisableMouseCapture) }
    }

    fn run(mut self) -> std::io::Result<Leave> {
        loop {
            if self.hear() {
                return Ok(Leave::Quit);
            }
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

    /// Takes all news. True: nothing more comes, and the screen is to be closed.
    fn hear(&mut self) -> bool {
        loop {
            match self.news.try_recv() {
                Ok(News::Close) => return true,
                Ok(news) => {
                    self.drawn = None;
                    self.app.take(news);
                }
                Err(TryRecvError::Empty) => return false,
                // Whoever drives or reads the run is gone without a word.
                Err(TryRecvError::Disconnected) => return self.app.own,
            }
        }
    }

    fn ring(&mut self) -> std::io::Result<()> {
        let words = format!("waits for you: {}", crate::text::cut(&crate::text::one_line(self.app.run.prompt()), 60));
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

    /// What was typed before a gate was on the screen answers nothing.
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
                // A line that is being typed goes on.
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
                            Ok(()) if rests => "an edit of the sheet counts when you resume the run (r)".to_owned(),
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
            // Keys that came together are one step, unless they opened a gate: its keys are looked at after it is drawn.
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
