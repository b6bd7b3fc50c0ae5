//! Keeps folded runs and updates them with new entries, because other processes may write to their logs.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use callsheet_core::events::{self, Event, LogEntry};
use callsheet_core::nouns::RunId;
use callsheet_core::view::Board;
use callsheet_runtime::ports::RunSummary;

use callsheet_app::{Cursor, Folded, Refusal, RunControl, unknown_run};

/// The number of folded runs that are kept.
const KEPT: usize = 8;

/// The largest age of the list of runs.
const FRESH: Duration = Duration::from_millis(500);

/// How many characters of a run's own words are searched.
const WORDS: usize = 64 * 1_024;

/// What is known of a run without folding it.
#[derive(Clone, Default)]
pub(crate) struct Gist {
    /// How much of its log was read.
    seen: Cursor,
    /// The tokens read and written.
    pub tokens: u64,
    /// The cost in US dollars, as far as known.
    pub cost_usd: f64,
    /// The names and results of its tasks, in lower case.
    pub words: String,
}

impl Gist {
    fn read(&mut self, entries: &[LogEntry]) {
        for entry in entries {
            self.seen = Cursor(entry.n);
            match &entry.event {
                Event::ReplyReceived(events::ReplyReceived { usage, .. }) => {
                    self.tokens = self.tokens.saturating_add(usage.tokens());
                    self.cost_usd += usage.cost_usd.unwrap_or(0.0);
                }
                Event::ListAdopted(events::ListAdopted { list, .. }) => {
                    self.note(&list.goals.text);
                    for planned in list.steps.iter().flatten() {
                        self.note(&planned.task.name);
                        self.note(&planned.task.need);
                    }
                }
                Event::ExecutionFinished(events::ExecutionFinished { result, .. }) => self.note(&result.summary),
                Event::Joined(events::Joined { answer, .. }) => self.note(answer),
                _ => {}
            }
        }
    }

    fn note(&mut self, words: &str) {
        if self.words.len() < WORDS {
            self.words.extend(words.chars().take(4_096).flat_map(char::to_lowercase));
            self.words.push('\n');
        }
    }
}

/// A folded run, and its board as it was drawn last, for all who look at it.
#[derive(Default)]
pub(crate) struct Known {
    pub folded: Folded,
    board: Option<(Cursor, bool, Arc<Board>)>,
}

impl Known {
    /// Its board. `driven`: a process works at it.
    pub fn board(&mut self, driven: bool) -> Arc<Board> {
        let cursor = self.folded.cursor();
        if let Some((at, by, board)) = &self.board
            && *at == cursor
            && *by == driven
        {
            return Arc::clone(board);
        }
        let board = Arc::new(self.folded.run.board(driven));
        self.board = Some((cursor, driven, Arc::clone(&board)));
        board
    }
}

/// The runs of the project.
pub(crate) struct Record {
    control: Arc<dyn RunControl>,
    /// The folded runs. The most recently used one is the last.
    runs: Mutex<Vec<(RunId, Arc<Mutex<Known>>)>>,
    gists: Mutex<BTreeMap<RunId, Gist>>,
    listed: Mutex<Option<(Instant, Vec<RunSummary>)>>,
}

/// Locks a mutex. Code that has a lock only reads and replaces values, so the value of a poisoned mutex is intact.
pub(crate) fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Record {
    pub fn new(control: Arc<dyn RunControl>) -> Self {
        Self { control, runs: Mutex::default(), gists: Mutex::default(), listed: Mutex::default() }
    }

    /// All runs, newest first.
    pub fn list(&self) -> Result<Vec<RunSummary>, Refusal> {
        let mut listed = locked(&self.listed);
        if let Some((at, runs)) = &*listed
            && at.elapsed() < FRESH
        {
            return Ok(runs.clone());
        }
        let runs = self.control.list()?;
        *listed = Some((Instant::now(), runs.clone()));
        Ok(runs)
    }

    /// Makes the next list be read again, because a run was just changed.
    pub fn forget_list(&self) {
        *locked(&self.listed) = None;
    }

    /// A run as it is listed. One that is not listed may be newer than the list.
    pub fn summary(&self, id: &RunId) -> Result<RunSummary, Refusal> {
        let of = |runs: &[RunSummary]| runs.iter().find(|run| run.run == *id).cloned();
        if let Some(found) = of(&self.list()?) {
            return Ok(found);
        }
        self.forget_list();
        let runs = self.list()?;
        of(&runs).ok_or_else(|| unknown_run(id.as_str(), &runs))
    }

    /// A run after all its entries.
    pub fn folded(&self, id: &RunId) -> Result<Arc<Mutex<Known>>, Refusal> {
        let known = {
            let mut runs = locked(&self.runs);
            let known = runs.iter().position(|(known, _)| known == id).map(|at| runs.remove(at).1);
            let known = known.unwrap_or_default();
            runs.push((id.clone(), Arc::clone(&known)));
            if runs.len() > KEPT {
                runs.remove(0);
            }
            known
        };
        {
            let folded = &mut locked(&known).folded;
            if folded.broken.is_none() {
                let new = self.control.watch(id, folded.cursor())?;
                folded.take(new);
            }
        }
        Ok(known)
    }

    /// The cost and the words of a run. Only new entries of its log are read.
    pub fn gist(&self, run: &RunSummary) -> Result<Gist, Refusal> {
        let mut gist = locked(&self.gists).get(&run.run).cloned().unwrap_or_default();
        if gist.seen.0 < run.facts {
            let new = self.control.watch(&run.run, gist.seen)?;
            gist.read(&new);
            locked(&self.gists).insert(run.run.clone(), gist.clone());
        }
        Ok(gist)
    }
}
