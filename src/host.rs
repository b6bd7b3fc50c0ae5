//! The program that contains the application layer: configuration, adapters, and processes that drive runs.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex, PoisonError};

use callsheet_app::{Advice, Host, Refusal, Started};
use callsheet_core::nouns::{Phase, RunId, Settings, Slug};
use callsheet_core::symbols::Coloured;
use callsheet_runtime::grants::{GrantedThing, Scope};
use callsheet_runtime::ports::{LiveText, Observer, Store};
use callsheet_runtime::services::Services;
use callsheet_store::LiveReader;

use crate::cli::OpenArgs;
use crate::models::{configured, unset_keys};
use crate::setup::Setup;
use crate::wiring::without_model;

/// How many bytes of a process's output are shown.
const LAST_WORDS: u64 = 4_096;

/// This program for one project.
pub struct Program {
    setup: Setup,
    observer: Arc<dyn Observer>,
    processes: Mutex<BTreeMap<RunId, Process>>,
}

/// A process that drives a run, and the file for its output.
struct Process {
    child: Child,
    words: File,
}

impl Program {
    /// A program that reports to this observer.
    pub fn new(setup: Setup, observer: Arc<dyn Observer>) -> Self {
        Self { setup, observer, processes: Mutex::default() }
    }
}

impl Host for Program {
    fn project(&self) -> &Path {
        &self.setup.project
    }

    fn store_folder(&self) -> PathBuf {
        self.setup.store_folder()
    }

    fn seen_from_here(&self, path: &str) -> String {
        self.setup.seen_from_here(path)
    }

    fn store(&self) -> Result<Option<Arc<dyn Store>>, Refusal> {
        if self.setup.has_store() { self.setup.store().map(Some).map_err(Refusal::from) } else { Ok(None) }
    }

    fn no_runs(&self) -> Refusal {
        self.setup.no_runs()
    }

    fn reading(&self, store: Arc<dyn Store>, id: &RunId, settings: &Settings) -> Result<Services, Refusal> {
        let observer = Arc::clone(&self.observer);
        without_model(&self.setup, observer, store, id, settings, &OpenArgs::default()).map_err(Refusal::from)
    }

    fn executing_model(&self, settings: &Settings, wish: Option<&str>) -> Option<String> {
        configured(&self.setup.config, Phase::Execute, wish, settings.model.as_deref())
    }

    fn writing(&self, run: &RunId, owner: &str) -> Vec<LiveText> {
        LiveReader::new(&self.setup.store_folder(), run).read(owner)
    }

    fn colours(&self, path: &str, text: &str) -> Vec<Coloured> {
        crate::wiring::colours(path, text)
    }

    fn grant(&self, what: GrantedThing, only: Option<(RunId, Slug)>) -> Result<String, Refusal> {
        let list = self.setup.grants();
        let (run, task) = only.unzip();
        list.add(what, Scope { run, task, ..list.here() }, None).map(|grant| grant.told()).map_err(|error| {
            Refusal::internal(
                format!("can't use the list of grants, {}: {error}", list.file().display()),
                "repair or delete the file; until then, no grant is valid",
            )
        })
    }

    fn unset_keys(&self, providers: &BTreeSet<String>) -> Vec<(String, String)> {
        unset_keys(&self.setup.config, providers)
    }

    /// Resumes a run like `callsheet resume RUN --plain`.
    fn start(&self, run: &RunId) -> Result<String, Refusal> {
        let command = &self.setup.command;
        let failed = |error: std::io::Error| {
            Refusal::internal(
                format!("can't start a process: {error}"),
                Advice::command("resume it in a terminal", ["resume", run.as_str()]),
            )
        };
        let words = tempfile::tempfile().map_err(failed)?;
        let mut process = Command::new(std::env::current_exe().map_err(failed)?);
        process.envs(crate::log::inherited());
        process.arg("-C").arg(&self.setup.project).args(["resume", run.as_str(), "--plain"]);
        process
            .stdin(Stdio::null())
            .stdout(words.try_clone().map_err(failed)?)
            .stderr(words.try_clone().map_err(failed)?);
        let child = process.process_group(0).spawn().map_err(failed)?;
        let said = format!(
            "Started process {}, which resumes the run as `{command} resume {run}` does. It ends when the run ends or next waits for you",
            child.id(),
        );
        self.processes.lock().unwrap_or_else(PoisonError::into_inner).insert(run.clone(), Process { child, words });
        Ok(said)
    }

    fn started(&self, run: &RunId) -> Option<Started> {
        let mut processes = self.processes.lock().unwrap_or_else(PoisonError::into_inner);
        let process = processes.get_mut(run)?;
        let Ok(Some(status)) = process.child.try_wait() else { return Some(Started::Working) };
        // The other codes describe the state of the run, which every face shows.
        let failed = !matches!(status.code(), Some(0 | 3..=6 | 130));
        Some(Started::Ended { failed, words: last_words(&mut process.words) })
    }
}

/// The end of a process's output.
fn last_words(file: &mut File) -> String {
    let mut bytes = Vec::new();
    let length = file.metadata().map_or(0, |metadata| metadata.len());
    let read = file.seek(SeekFrom::Start(length.saturating_sub(LAST_WORDS))).and_then(|_| file.read_to_end(&mut bytes));
    match read {
        Ok(_) => String::from_utf8_lossy(&bytes).trim().to_owned(),
        Err(error) => format!("its output can't be read: {error}"),
    }
}
