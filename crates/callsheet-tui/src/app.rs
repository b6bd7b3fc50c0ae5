//! What the screen knows: the run, what is streamed, and where the person looks.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use callsheet_app::{Cursor, LimitUse, RunView, Stage};
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

/// Lines of the log that are kept.
const LOGGED: usize = 500;

/// What a row of the tree stands for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Pick {
    /// The run as a whole: its plan, then its answer.
    Run,
    /// A task.
    Task(Slug),
    /// The done tasks of a section, by its place.
    Section(usize),
}

/// What the right pane shows of a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tab {
    /// What it is, does, gave, and waits for.
    Task,
    /// The last prompt.
    Prompt,
    /// Its model calls with their replies.
    Calls,
    /// Its tool calls with their outputs.
    Tools,
    /// What it changed, or wants to.
    Changes,
}

impl Tab {
    /// All, in the order of the keys 1 to 5.
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
    /// The sheet as it is now.
    Sheet,
    /// What happened.
    Log,
    /// The keys.
    Keys,
}

/// What a typed line is for.
pub enum Purpose {
    /// Why a gate is refused, or one of the tasks that it asks about.
    Refuse(Ask, Option<Slug>),
    /// Why not all hunks are kept.
    RefuseHunks(Ask),
    /// The answer to a question.
    Reply(Ask),
    /// What the tree shows.
    Search,
    /// A request that goes on with the run.
    FollowUp,
    /// The new bound of a limit.
    Raise(LimitUse),
}

/// What a person is asked before it is done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Sure {
    /// Stop the run.
    Cancel,
    /// Take a task off the list.
    Drop(Slug),
    /// Do a task again that is done.
    Retry(Slug),
    /// Put these files back as they were before the run. The cursor: when the person was asked.
    Undo(Vec<String>, Cursor),
}

/// Why the screen was left.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Leave {
    /// The person looks no longer; the run is as it was.
    Quit,
    /// Go on with a run that rests.
    Resume,
    /// Go on with this follow-up.
    FollowUp(String),
    /// Their terminal is gone.
    Gone,
}

/// Text of a call that is under way.
#[derive(Default, PartialEq)]
pub struct Stream {
    /// The last of it.
    pub text: String,
    /// Characters so far.
    pub count: u64,
}

/// All of it.
pub struct App {
    /// The run so far.
    pub run: RunView,
    /// The same as a board.
    pub board: Board,
    /// Replies under way.
    pub streams: BTreeMap<CallKey, Stream>,
    /// Notices, oldest first.
    pub log: VecDeque<String>,
    /// The newest one, until a key is pressed.
    pub notice: String,
    /// A process drives the run.
    pub driven: bool,
    /// The time, milliseconds since the Unix epoch.
    pub now_ms: u64,
    /// The row that the person chose; `None`: the one that matters most.
    pub chosen: Option<Pick>,
    /// Sections whose done tasks are listed.
    pub unfolded: BTreeSet<usize>,
    /// What of a task is shown.
    pub tab: Tab,
    /// What is shown instead.
    pub page: Option<Page>,
    /// The pane has the whole screen.
    pub zoomed: bool,
    /// Lines above the pane; `None`: where reading begins.
    pub scroll: Option<usize>,
    /// Lines above the pane as it was drawn last.
    pub offset: usize,
    /// A line that is typed, and what for.
    pub input: Option<(Purpose, Input)>,
    /// What a yes would do.
    pub sure: Option<Sure>,
    /// Hunks that are being decided.
    pub review: Option<Review>,
    /// What open gates show.
    pub gates: BTreeMap<EffectKey, GateView>,
    /// What was answered and not taken yet.
    pub sent: BTreeSet<EffectKey>,
    /// The gate or question on the screen whose keys count.
    pub armed: Option<EffectKey>,
    /// Only rows with this text are listed.
    pub filter: String,
    /// Changes whenever the pane may show something else.
    pub revision: u64,
    /// The board is older than the run: it is made once for all that was recorded since.
    stale: bool,
}

impl Default for App {
    /// Before anything is known.
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
            armed: None,
            filter: String::new(),
            revision: 0,
            stale: true,
        }
    }
}

impl App {
    /// Takes one piece of news. What does not fit the run so far is left out: the record is what counts.
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

    /// What another process streams takes the place of what it streamed before. A call that has ended since is left out.
    fn show_streams(&mut self, calls: Vec<LiveText>) {
        let calls = calls.into_iter().filter(|call| self.run.is_in_flight(&call.key));
        let streams: BTreeMap<CallKey, Stream> =
            calls.map(|LiveText { key, text, count }| (key, Stream { text, count })).collect();
        if self.streams != streams {
            self.streams = streams;
            self.revision += 1;
        }
    }

    /// Says something to the person.
    pub fn say(&mut self, text: &str) {
        self.notice = text::one_line(text);
        self.log.push_back(self.notice.clone());
        if self.log.len() > LOGGED {
            self.log.pop_front();
        }
        self.revision += 1;
    }

    fn note(&mut self, event: &Event) {
        match event {
            Event::ReplyReceived(events::ReplyReceived { key, .. })
            | Event::CallFailed(events::CallFailed { key, .. }) => drop(self.streams.remove(key)),
            // What an earlier process streamed is lost with it.
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

    /// Brings the board up to date. True if there is something new that waits for the person.
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

    /// Reads what the gate on the screen shows.
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

    /// The run has ended, or waits with nobody at work: no process will take a message by itself.
    pub fn rests(&self) -> bool {
        !self.driven
    }

    /// The run ended, and nothing of it is outstanding.
    pub fn is_over(&self) -> bool {
        matches!(self.run.about().stage, Stage::Concluded(_))
    }

    /// The row that is shown in the pane.
    pub fn pick(&self) -> Pick {
        match &self.chosen {
            Some(Pick::Task(slug)) if self.board.row(slug).is_none() => self.best(),
            Some(Pick::Section(at)) if *at >= self.board.sections.len() => self.best(),
            Some(pick) => pick.clone(),
            None => self.best(),
        }
    }

    /// What matters most: what waits for the person, then what runs.
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

    /// The task that is shown, if a gate asks about it and about others.
    pub fn picked_of(&self, gate: &Gate) -> Option<&Slug> {
        let GateKind::BeforeRun(tasks) = &gate.kind else { return None };
        self.picked_task().filter(|task| tasks.len() > 1 && tasks.contains(task))
    }

    /// Its row.
    pub fn picked_row(&self) -> Option<&Row> {
        self.board.row(self.picked_task()?)
    }

    /// What the shown task asks the person.
    pub fn shown_ask(&self) -> Option<&Ask> {
        let slug = self.picked_task()?;
        let shown = self.page.is_none() && self.tab == Tab::Task;
        self.board.queue.iter().find(|ask| ask.tasks.contains(slug)).filter(|_| shown)
    }

    /// The same, if keys answer it now.
    pub fn open_ask(&self) -> Option<&Ask> {
        let armed = |ask: &&Ask| self.armed.as_ref() == Some(&ask.key) && !self.sent.contains(&ask.key);
        self.shown_ask().filter(armed)
    }

    /// A gate or question is on the screen whose keys do not count yet: what was typed before answers nothing.
    pub fn is_arming(&self) -> bool {
        self.shown_ask().is_some_and(|ask| self.armed.as_ref() != Some(&ask.key))
    }

    /// What the shown gate shows.
    pub fn shown_gate(&self) -> Option<&GateView> {
        self.gates.get(&self.shown_ask()?.key)
    }

    /// Looks at another row.
    pub fn choose(&mut self, pick: Option<Pick>) {
        self.chosen = pick;
        self.scroll = None;
        self.review = None;
        self.page = None;
        self.revision += 1;
    }

    /// Looks at another part of a task.
    pub fn turn_to(&mut self, tab: Tab) {
        self.tab = tab;
        self.page = None;
        self.scroll = None;
        self.revision += 1;
    }
}
