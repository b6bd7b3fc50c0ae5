//! A run that waits for approval, the runs around it, and a program that starts nothing.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use callsheet_app::{Cursor, Host, LocalRuns, Refusal, RunControl, Started};
use callsheet_core::events::{self, Event, ListOrigin, LogEntry};
use callsheet_core::nouns::{Goals, Policy, RunId, Settings, Slug, Task};
use callsheet_core::record::{AdoptedList, Entry, PlannedTask};
use callsheet_core::run::{Effect, Run};
use callsheet_core::symbols::Coloured;
use callsheet_runtime::effects::open_gates;
use callsheet_runtime::grants::GrantedThing;
use callsheet_runtime::ports::{InboxMessage, LiveText, Lock, Posted, Store};
use callsheet_runtime::services::Services;
use callsheet_store::MemoryStore;
use tempfile::TempDir;

/// Name of the run.
pub const RUN: &str = "20260301-101112-write-it";

/// A run at its first gate, driven by somebody.
pub struct Stage {
    program: Arc<Program>,
    runs: LocalRuns,
    lock: Lock,
    run: Run,
}

impl Stage {
    /// Its tasks all wait for approval.
    pub fn of(tasks: &[&str]) -> Self {
        let store: Arc<dyn Store> = Arc::new(MemoryStore::new());
        let lock = store.lock(&RunId::new(RUN)).unwrap();
        let folder = tempfile::tempdir().unwrap();
        let project = folder.path().canonicalize().unwrap();
        let program = Arc::new(Program { store, project, _folder: folder, resumed: AtomicU32::new(0) });
        let runs = LocalRuns::new(Arc::clone(&program) as Arc<dyn Host>);
        let mut stage = Self { program, runs, lock, run: Run::new() };
        let entry = Entry::Sheet { prompt: "Write it.".to_owned() };
        let settings = Settings { refine: Policy::Never, ..Settings::default() };
        stage.note(events::RunStarted { run: RunId::new(RUN), entry, settings, tools: Default::default() }.into());
        let goals = Goals { text: "Written.".to_owned(), plan_complete: true, plan_continues: false };
        let steps = vec![tasks.iter().map(|name| planned(name)).collect()];
        let list = AdoptedList { goals, steps, ..AdoptedList::default() };
        stage.note(
            events::ListAdopted { origin: ListOrigin::Host, list, repairs: Vec::new(), issues: Vec::new() }.into(),
        );
        while let Some(Effect::CheckReferences { task, n, stage: at }) = stage.run.outstanding().into_iter().next() {
            let (issues, contents) = (Vec::new(), Default::default());
            stage.note(events::ReferencesChecked { task, n, stage: at, issues, contents, apart: None }.into());
        }
        stage
    }

    /// The driver records what a message says.
    pub fn take(&mut self, posted: &Posted, event: Event) {
        let n = self.run.last_fact() + 1;
        let orders = posted.order.clone().into_iter().collect();
        let entry = LogEntry { orders, ..LogEntry::new(n, 1_772_000_000_000 + n * 1_000, event) };
        self.run.apply(&entry).unwrap();
        self.program.store.append(&self.lock, &[entry]).unwrap();
    }

    /// What a person sees now.
    pub fn seen(&self) -> Cursor {
        Cursor(self.run.last_fact())
    }

    /// Records an event.
    pub fn note(&mut self, event: Event) {
        let n = self.run.last_fact() + 1;
        let entry = LogEntry::new(n, 1_772_000_000_000 + n * 1_000, event);
        self.run.apply(&entry).unwrap();
        self.program.store.append(&self.lock, &[entry]).unwrap();
    }

    /// The runs.
    pub fn runs(&self) -> &dyn RunControl {
        &self.runs
    }

    /// Number of the gate that waits.
    pub fn gate(&self) -> u32 {
        open_gates(&self.run).next().expect("a gate waits").n
    }

    /// What was left for the run since this was asked last.
    pub fn left(&self) -> Vec<InboxMessage> {
        self.posted().into_iter().map(|posted| posted.message).collect()
    }

    /// The same with the orders that left it.
    pub fn posted(&self) -> Vec<Posted> {
        let messages = self.program.store.messages(&self.lock).unwrap();
        if let Some((last, _)) = messages.last() {
            self.program.store.discard(&self.lock, *last).unwrap();
        }
        messages.into_iter().map(|(_, posted)| posted).collect()
    }

    /// The process that drove the run is gone.
    pub fn release(&self) {
        self.program.store.unlock(&self.lock).unwrap();
    }

    /// How many processes were started.
    pub fn resumed(&self) -> u32 {
        self.program.resumed.load(Ordering::Relaxed)
    }
}

fn planned(name: &str) -> PlannedTask {
    let task = Task {
        name: name.to_owned(),
        slug: Slug::new(name),
        aliases: Vec::new(),
        need: "To be written.".to_owned(),
        skill: None,
        for_each: None,
        references: Vec::new(),
        expected: "A file.".to_owned(),
        approval: true,
        review: None,
        calls: Vec::new(),
        extra: String::new(),
    };
    PlannedTask { task, unchanged: false, writer: Some("the task asks for approval".to_owned()), direct: false }
}

/// A program that counts what it would start.
struct Program {
    store: Arc<dyn Store>,
    project: PathBuf,
    _folder: TempDir,
    resumed: AtomicU32,
}

impl Host for Program {
    fn project(&self) -> &Path {
        &self.project
    }

    fn store_folder(&self) -> PathBuf {
        self.project.join("state")
    }

    fn seen_from_here(&self, path: &str) -> String {
        path.to_owned()
    }

    fn store(&self) -> Result<Option<Arc<dyn Store>>, Refusal> {
        Ok(Some(Arc::clone(&self.store)))
    }

    fn no_runs(&self) -> Refusal {
        Refusal::usage("there are no runs", "")
    }

    fn reading(&self, _: Arc<dyn Store>, _: &RunId, _: &Settings) -> Result<Services, Refusal> {
        Err(Refusal::internal("no plan file is read here", ""))
    }

    fn executing_model(&self, _: &Settings, _: Option<&str>) -> Option<String> {
        None
    }

    fn writing(&self, _: &RunId, _: &str) -> Vec<LiveText> {
        Vec::new()
    }

    fn colours(&self, _: &str, _: &str) -> Vec<Coloured> {
        Vec::new()
    }

    fn grant(&self, _: GrantedThing, _: Option<(RunId, Slug)>) -> Result<String, Refusal> {
        Ok("granted".to_owned())
    }

    fn unset_keys(&self, _: &BTreeSet<String>) -> Vec<(String, String)> {
        Vec::new()
    }

    fn start(&self, _: &RunId) -> Result<String, Refusal> {
        self.resumed.fetch_add(1, Ordering::Relaxed);
        Ok("started".to_owned())
    }

    fn started(&self, _: &RunId) -> Option<Started> {
        None
    }
}
