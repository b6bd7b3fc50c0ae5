//! The state of the screen: the run, the streamed text, and what the person looks at.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use callsheet_app::{Awaited, Cursor, LimitUse, RunView, Stage};
use callsheet_core::events::{self, Event};
use callsheet_core::nouns::Slug;
use callsheet_core::record::{CallKey, EffectKey, Gate, GateKind};
use callsheet_core::view::Board;
use callsheet_core::view::board::{Ask, Row};
use callsheet_runtime::ports::{GateView, LiveText};

use crate::input::Input;
use crate::news::News;
use crate::review::Review;
use crate::text;
use crate::viewer::Viewer;

/// The number of log lines that are kept.
const LOGGED: usize = 500;

/// What a row of the tree stands for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Pick {
    /// The run as a whole: its plan, then its answer.
    Run,
    /// A task.
    Task(Slug),
    /// The done tasks of the section with this index.
    Section(usize),
}

/// The part of a task that the right pane shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tab {
    /// What it must do, what it does, its result, and what it waits for.
    Task,
    /// The last prompt.
    Prompt,
    /// Its model calls with their replies.
    Calls,
    /// Its tool calls with their outputs.
    Tools,
    /// The changes that it made or proposes.
    Changes,
}

impl Tab {
    /// All tabs, in the order of the keys 1 to 5.
    pub const ALL: [Self; 5] = [Self::Task, Self::Prompt, Self::Calls, Self::Tools, Self::Changes];

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Task => "Task",
            Self::Prompt => "Prompt",
            Self::Calls => "Calls",
            Self::Tools => "Tools",
            Self::Changes => "Changes",
        }
    }
}

/// What the right pane shows instead of a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Page {
    /// When each piece of work ran.
    Timeline,
    /// The current sheet.
    Sheet,
    /// What happened.
    Log,
    /// The keys.
    Keys,
}

/// The purpose of a typed line.
pub enum Purpose {
    /// Why a gate, or one of the tasks that it asks about, is denied.
    Refuse(Ask, Option<Slug>),
    /// Why not all hunks are kept.
    RefuseHunks(Ask),
    /// The answer to a question.
    Reply(Ask),
    /// The text that rows of the tree must contain.
    Search,
    /// A request that continues the run.
    FollowUp,
    /// The new bound of a limit.
    Raise(LimitUse),
}

/// What a person must confirm before it is done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Sure {
    /// Stop the run.
    Cancel,
    /// Remove a task from the list.
    Drop(Slug),
    /// Repeat a done task.
    Retry(Slug),
    /// Restore these files to their state before the run. The cursor is how much of the log was seen when the person
    /// was asked.
    Undo(Vec<String>, Cursor),
}

/// Why the screen was left.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Leave {
    /// The person stopped looking. The run is unchanged.
    Quit,
    /// Resume a resting run.
    Resume,
    /// Continue the run with this follow-up.
    FollowUp(String),
    /// The terminal is gone.
    Gone,
}

/// The text of a call in progress.
#[derive(Default, PartialEq)]
pub struct Stream {
    /// The end of the text.
    pub text: String,
    /// The number of characters so far.
    pub count: u64,
}

/// The whole state of the screen.
pub struct App {
    /// The run so far.
    pub run: RunView,
    /// The run as a board.
    pub board: Board,
    /// The texts of calls in progress.
    pub streams: BTreeMap<CallKey, Stream>,
    /// Notices, oldest first.
    pub log: VecDeque<String>,
    /// The newest notice, until a key is pressed.
    pub notice: String,
    /// Whether a process drives the run.
    pub driven: bool,
    /// The time in milliseconds since the Unix epoch.
    pub now_ms: u64,
    /// The row that the person chose. `None` means the row that matters most.
    pub chosen: Option<Pick>,
    /// The sections whose done tasks are listed.
    pub unfolded: BTreeSet<usize>,
    /// The tab that is shown of a task.
    pub tab: Tab,
    /// The page that is shown instead of a task.
    pub page: Option<Page>,
    /// Whether the pane fills the whole screen.
    pub zoomed: bool,
    /// The number of lines above the pane. `None` means the default position.
    pub scroll: Option<usize>,
    /// The number of lines above the pane when it was last drawn.
    pub offset: usize,
    /// The typed line and its purpose.
    pub input: Option<(Purpose, Input)>,
    /// The action that waits for a confirmation.
    pub sure: Option<Sure>,
    /// The hunks that the person is deciding.
    pub review: Option<Review>,
    /// The views of open gates.
    pub gates: BTreeMap<EffectKey, GateView>,
    /// The gates and questions whose answers were sent and not handled yet.
    pub sent: BTreeSet<EffectKey>,
    /// The answers that were sent and are not recorded yet.
    pub awaited: Vec<Awaited>,
    /// The gate or question on the screen that keys may answer.
    pub armed: Option<EffectKey>,
    /// The text that listed rows must contain.
    pub filter: String,
    /// Changes whenever the pane may have to show something else.
    pub revision: u64,
    /// Whether the board is older than the run. It is rebuilt once for all new entries.
    stale: bool,
}

impl Default for App {
    /// The state before anything is known.
    fn default() -> Self {
        let run = RunView::default();
        Self {
            board: run.board(false),
            run,
            streams: BTreeMap::new(),
            log: VecDeque::new(),
            notice: String::new(),
            driven: false,
            now_ms: 0,
            chosen: None,
            unfolded: BTreeSet::new(),
            tab: Tab::Task,
            page: None,
            zoomed: false,
            scroll: None,
            offset: 0,
            input: None,
            sure: None,
            review: None,
            gates: BTreeMap::new(),
            sent: BTreeSet::new(),
            awaited: Vec::new(),
            armed: None,
            filter: String::new(),
            revision: 0,
            stale: true,
        }
    }
}

impl App {
    /// Takes one piece of news. Entries that do not fit the run are dropped, because the record is authoritative.
    pub fn take(&mut self, news: News) {
        match news {
            News::Entry(entry) => {
                if self.run.take(&entry).is_ok() {
                    self.note(&entry.event);
                    self.changed();
                }
            }
            News::Streams(calls) => self.show_streams(calls),
            News::Notice(text) => self.say(&text),
            News::Driven(driven) => {
                self.revision += u64::from(self.driven != driven);
                self.stale |= self.driven != driven;
                self.driven = driven;
            }
        }
    }

    /// Replaces the streamed text of another process. Calls that have ended since are dropped.
    fn show_streams(&mut self, calls: Vec<LiveText>) {
        let calls = calls.into_iter().filter(|call| self.run.is_in_flight(&call.key));
        let streams: BTreeMap<CallKey, Stream> =
            calls.map(|LiveText { key, text, count }| (key, Stream { text, count })).collect();
        if self.streams != streams {
            self.streams = streams;
            self.revision += 1;
        }
    }

    /// Shows a notice to the person.
    pub fn say(&mut self, text: &str) {
        self.notice = text::one_line(text);
        self.log.push_back(self.notice.clone());
        if self.log.len() > LOGGED {
            self.log.pop_front();
        }
        self.revision += 1;
    }

    fn note(&mut self, event: &Event) {
        // The same call may ask again, before the board is rebuilt.
        if let Some(ended) = event.ends() {
            self.sent.remove(&ended);
        }
        match event {
            Event::ReplyReceived(events::ReplyReceived { key, .. })
            | Event::CallFailed(events::CallFailed { key, .. }) => drop(self.streams.remove(key)),
            // The streamed text of an earlier process is lost with that process.
            Event::RunResumed(_) => self.streams.clear(),
            _ => {}
        }
        if let Some(line) = self.run.event_line(event) {
            self.log.push_back(text::one_line(&line.text));
            if self.log.len() > LOGGED {
                self.log.pop_front();
            }
        }
    }

    fn changed(&mut self) {
        self.revision += 1;
        self.gates.clear();
        self.stale = true;
    }

    /// Updates the board. Returns whether something new waits for the person.
    pub fn settle(&mut self) -> bool {
        if !std::mem::take(&mut self.stale) {
            return false;
        }
        let former: BTreeSet<EffectKey> = self.board.queue.iter().map(|ask| ask.key.clone()).collect();
        self.board = self.run.board(self.driven);
        let open: BTreeSet<&EffectKey> = self.board.queue.iter().map(|ask| &ask.key).collect();
        self.sent.retain(|key| open.contains(key));
        if self.review.as_ref().is_some_and(|review| !open.contains(&review.ask.key)) {
            self.review = None;
        }
        let asks = open.into_iter().any(|key| !former.contains(key));
        crate::tree::stay_in_sight(self);
        asks
    }

    /// Tells the person about answers that were not used, because others came first.
    pub fn look_for_effects(&mut self, viewer: &Viewer) {
        for answer in std::mem::take(&mut self.awaited) {
            match viewer.is_recorded(&answer) {
                Ok(true) => {}
                Ok(false) => self.awaited.push(answer),
                Err(why) => self.say(&why),
            }
        }
    }

    /// Reads the view of the gate on the screen.
    pub fn look(&mut self, viewer: &Viewer) {
        let Some(ask) = self.shown_ask() else { return };
        let EffectKey::Gate(gate) = &ask.key else { return };
        if self.gates.contains_key(&ask.key) {
            return;
        }
        let key = ask.key.clone();
        match viewer.gate(&self.run, gate) {
            Ok(view) => drop(self.gates.insert(key, view)),
            Err(why) => self.say(&why),
        }
        self.revision += 1;
    }

    /// Whether the run has ended or waits without a process, so that no process handles messages.
    pub fn rests(&self) -> bool {
        !self.driven
    }

    /// Whether the run has ended and nothing is outstanding.
    pub fn is_over(&self) -> bool {
        matches!(self.run.about().stage, Stage::Concluded(_))
    }

    /// The row that the pane shows.
    pub fn pick(&self) -> Pick {
        match &self.chosen {
            Some(Pick::Task(slug)) if self.board.row(slug).is_none() => self.best(),
            Some(Pick::Section(at)) if *at >= self.board.sections.len() => self.best(),
            Some(pick) => pick.clone(),
            None => self.best(),
        }
    }

    /// The row that matters most: one that waits for the person, or else one that is running.
    fn best(&self) -> Pick {
        let asked = self.board.queue.iter().find(|ask| !self.sent.contains(&ask.key));
        let asked = asked.or(self.board.queue.first()).and_then(|ask| ask.tasks.first());
        if self.is_over() && self.board.queue.is_empty() {
            return Pick::Run;
        }
        let running = || {
            let row =
                self.board.open().into_iter().find(|row| row.need == callsheet_core::view::board::Need::Running)?;
            let below = row.below.iter().find(|below| below.need == row.need);
            Some(below.unwrap_or(row).slug.clone())
        };
        asked.cloned().or_else(running).map_or(Pick::Run, Pick::Task)
    }

    /// The task that is shown.
    pub fn picked_task(&self) -> Option<&Slug> {
        match self.pick() {
            Pick::Task(slug) => self.board.row(&slug).map(|row| &row.slug),
            Pick::Run | Pick::Section(_) => None,
        }
    }

    /// The task that is shown, if a gate asks about it and other tasks.
    pub fn picked_of(&self, gate: &Gate) -> Option<&Slug> {
        let GateKind::BeforeRun(tasks) = &gate.kind else { return None };
        self.picked_task().filter(|task| tasks.len() > 1 && tasks.contains(task))
    }

    /// The row of the task that is shown.
    pub fn picked_row(&self) -> Option<&Row> {
        self.board.row(self.picked_task()?)
    }

    /// The question of the shown task to the person.
    pub fn shown_ask(&self) -> Option<&Ask> {
        let slug = self.picked_task()?;
        let shown = self.page.is_none() && self.tab == Tab::Task;
        self.board.queue.iter().find(|ask| ask.tasks.contains(slug)).filter(|_| shown)
    }

    /// The question of the shown task, if keys may answer it now.
    pub fn open_ask(&self) -> Option<&Ask> {
        let armed = |ask: &&Ask| self.armed.as_ref() == Some(&ask.key) && !self.sent.contains(&ask.key);
        self.shown_ask().filter(armed)
    }

    /// Whether a gate or question has just appeared that keys may not answer yet. Keys that were pressed before it
    /// appeared answer nothing.
    pub fn is_arming(&self) -> bool {
        self.shown_ask().is_some_and(|ask| self.armed.as_ref() != Some(&ask.key))
    }

    /// The view of the shown gate.
    pub fn shown_gate(&self) -> Option<&GateView> {
        self.gates.get(&self.shown_ask()?.key)
    }

    /// Shows another row.
    pub fn choose(&mut self, pick: Option<Pick>) {
        self.chosen = pick;
        self.scroll = None;
        self.review = None;
        self.page = None;
        self.revision += 1;
    }

    /// Shows another tab of a task.
    pub fn turn_to(&mut self, tab: Tab) {
        self.tab = tab;
        self.page = None;
        self.scroll = None;
        self.revision += 1;
    }
}
