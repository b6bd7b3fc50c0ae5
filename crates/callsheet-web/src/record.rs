//! Runs as their logs say, folded once and brought up to date by what was recorded since: another process may write them.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use callsheet_core::events::{self, Event, LogEntry};
use callsheet_core::run::Run;
use callsheet_core::spec::RunId;
use callsheet_runtime::ports::{RunSummary, Store, StoreFault};

use callsheet_app::{Refusal, RunControl};

/// Runs that are kept folded.
const KEPT: usize = 8;

/// How old the list of runs may be.
const FRESH: Duration = Duration::from_millis(500);

/// Characters of a run's own words that are searched.
const WORDS: usize = 64 * 1_024;

/// A run and its log.
#[derive(Default)]
pub(crate) struct Folded {
    /// As its log says.
    pub run: Run,
    /// The log.
    pub entries: Vec<LogEntry>,
    /// An entry that does not fit: what follows it is not shown.
    pub broken: Option<String>,
}

impl Folded {
    fn catch_up(&mut self, store: &dyn Store, id: &RunId) -> Result<(), StoreFault> {
        if self.broken.is_some() {
            return Ok(());
        }
        let from = self.entries.last().map_or(1, |entry| entry.n + 1);
        for entry in store.read(id, from)? {
            if let Err(reject) = self.run.apply(&entry) {
                self.broken = Some(format!("event {} of the record does not fit: {reject}", entry.n));
                break;
            }
            self.entries.push(entry);
        }
        Ok(())
    }
}

/// What is known of a run without folding it.
#[derive(Clone, Default)]
pub(crate) struct Gist {
    /// Number of the last entry that was read.
    facts: u64,
    /// Tokens read and written.
    pub tokens: u64,
    /// US dollars, as far as known.
    pub cost_usd: f64,
    /// What its tasks are called and came to, in lower case.
    pub words: String,
}

impl Gist {
    fn read(&mut self, entries: &[LogEntry]) {
        for entry in entries {
            self.facts = self.facts.max(entry.n);
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

/// The runs of the project.
pub(crate) struct Record {
    control: Arc<dyn RunControl>,
    /// Folded runs, that which was looked at last at the end.
    runs: Mutex<Vec<(RunId, Arc<Mutex<Folded>>)>>,
    gists: Mutex<BTreeMap<RunId, Gist>>,
    listed: Mutex<Option<(Instant, Vec<RunSummary>)>>,
}

/// What holds a lock only reads and replaces values, so a poisoned one is whole.
pub(crate) fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn refusal(fault: &StoreFault) -> Refusal {
    let advice = match fault {
        StoreFault::NoRun(_) => "the list of runs shows all there are",
        StoreFault::TooNew { .. } => "use a newer Callsheet",
        _ => "`callsheet doctor` shows where Callsheet stores runs",
    };
    Refusal { advice: advice.to_owned(), ..Refusal::internal(fault.to_string(), "") }
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
        let Some(store) = self.control.record()? else { return Ok(Vec::new()) };
        let runs = store.runs().map_err(|fault| refusal(&fault))?;
        *listed = Some((Instant::now(), runs.clone()));
        Ok(runs)
    }

    /// The next list is read anew: something was just done to a run.
    pub fn forget_list(&self) {
        *locked(&self.listed) = None;
    }

    /// A run as it is listed.
    pub fn summary(&self, id: &RunId) -> Result<RunSummary, Refusal> {
        self.list()?.into_iter().find(|run| run.run == *id).ok_or_else(|| refusal(&StoreFault::NoRun(id.clone())))
    }

    /// A run, up to date.
    pub fn folded(&self, id: &RunId) -> Result<Arc<Mutex<Folded>>, Refusal> {
        let store = self.store(id)?;
        let folded = {
            let mut runs = locked(&self.runs);
            let known = runs.iter().position(|(known, _)| known == id).map(|at| runs.remove(at).1);
            let folded = known.unwrap_or_default();
            runs.push((id.clone(), Arc::clone(&folded)));
            if runs.len() > KEPT {
                runs.remove(0);
            }
            folded
        };
        locked(&folded).catch_up(&*store, id).map_err(|fault| refusal(&fault))?;
        Ok(folded)
    }

    /// The store, which has the run.
    pub fn store(&self, id: &RunId) -> Result<Arc<dyn Store>, Refusal> {
        self.control.record()?.ok_or_else(|| refusal(&StoreFault::NoRun(id.clone())))
    }

    /// What a run cost and says. Of its log only what is new is read.
    pub fn gist(&self, run: &RunSummary) -> Result<Gist, Refusal> {
        let mut gist = locked(&self.gists).get(&run.run).cloned().unwrap_or_default();
        if gist.facts < run.facts {
            let new = self.store(&run.run)?.read(&run.run, gist.facts + 1).map_err(|fault| refusal(&fault))?;
            gist.read(&new);
            locked(&self.gists).insert(run.run.clone(), gist.clone());
        }
        Ok(gist)
    }
}
