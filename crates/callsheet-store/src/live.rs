//! The text that models are streaming now, for viewers in other processes. It is not recorded as a fact. It is a small
//! file beside the store, written at most twice a second and only while somebody watches, and removed when its calls
//! have ended. The record soon holds the same words, in the same folder and for the same users.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, SystemTime};

use callsheet_core::events::{self, Event};
use callsheet_core::nouns::{BlobId, RunId};
use callsheet_core::record::CallKey;
use callsheet_runtime::paths::{create_private_folder, private};
use callsheet_runtime::ports::{LiveText, Observer, Signal};
use serde::{Deserialize, Serialize};

use crate::owner::{Life, Owner};

/// Shortest time between two writes of the file.
const PERIOD: Duration = Duration::from_millis(500);

/// A viewer that has not looked for this long no longer watches.
const LOOKED: Duration = Duration::from_secs(5);

/// The files of a run, in a folder that only this user can read.
#[derive(Debug)]
struct Place {
    folder: PathBuf,
    text: PathBuf,
    /// Viewers touch this file.
    looked: PathBuf,
}

/// Whether somebody watches a run of the project of this folder, or did a few seconds ago.
pub fn is_looked_at(folder: &Path, run: &RunId) -> bool {
    Place::of(folder, run).is_looked_at()
}

/// The content of the file.
#[derive(Serialize, Deserialize)]
struct Written {
    owner: Owner,
    calls: Vec<LiveText>,
}

impl Place {
    fn of(folder: &Path, run: &RunId) -> Self {
        let folder = folder.join("live");
        // Not every run name is a valid file name on every system.
        let name = BlobId::of(run.as_str().as_bytes()).to_string();
        Self { text: folder.join(format!("{name}.json")), looked: folder.join(format!("{name}.looked")), folder }
    }

    fn create(&self, path: &Path) -> io::Result<File> {
        create_private_folder(&self.folder)?;
        private().write(true).create(true).truncate(true).open(path)
    }

    /// Tells the writer that somebody watches.
    fn look(&self) -> io::Result<()> {
        self.create(&self.looked)?.set_modified(SystemTime::now())
    }

    fn is_looked_at(&self) -> bool {
        let modified = fs::metadata(&self.looked).and_then(|metadata| metadata.modified());
        modified.is_ok_and(|at| at.elapsed().unwrap_or_default() < LOOKED)
    }

    /// Replaces the file in one step, so that nobody reads half of it.
    fn write(&self, written: &Written) -> io::Result<()> {
        let temporary = self.text.with_extension("tmp");
        self.create(&temporary)?.write_all(&serde_json::to_vec(written)?)?;
        fs::rename(&temporary, &self.text)
    }

    fn remove(&self) {
        let _was_not_there = fs::remove_file(&self.text);
    }
}

/// Reads the text that another process streams.
#[derive(Debug)]
pub struct LiveReader(Place);

impl LiveReader {
    /// For a run whose store is in this folder.
    pub fn new(folder: &Path, run: &RunId) -> Self {
        Self(Place::of(folder, run))
    }

    /// What the process that drives the run streams now; `owner` names that process as the store does. The process
    /// writes its text only while somebody asks for it, so the first call returns nothing. Text that an ended process
    /// left is ignored.
    pub fn read(&self, owner: &str) -> Vec<LiveText> {
        if let Err(error) = self.0.look() {
            tracing::debug!(%error, "cannot ask for streamed text");
        }
        let written = fs::read(&self.0.text).ok().and_then(|bytes| serde_json::from_slice::<Written>(&bytes).ok());
        let lives = |written: &Written| written.owner.to_string() == owner && written.owner.life() == Life::MayRun;
        written.filter(lives).map(|written| written.calls).unwrap_or_default()
    }
}

/// Observes a run, and passes the streamed text to other processes.
pub struct LiveWriter {
    inner: Arc<dyn Observer>,
    shared: Arc<Shared>,
    place: Arc<Place>,
}

struct Shared {
    state: Mutex<State>,
    news: Condvar,
}

#[derive(Default)]
struct State {
    calls: BTreeMap<CallKey, LiveText>,
    changed: bool,
    ended: bool,
    writing: Option<JoinHandle<()>>,
}

impl LiveWriter {
    /// For a run whose store is in this folder. Writes nothing before a call streams.
    pub fn new(folder: &Path, run: &RunId, inner: Arc<dyn Observer>) -> Self {
        let shared = Arc::new(Shared { state: Mutex::default(), news: Condvar::new() });
        Self { inner, shared, place: Arc::new(Place::of(folder, run)) }
    }

    fn streamed(&self, key: &CallKey, text: &str) {
        let mut state = self.shared.state();
        state.calls.entry(key.clone()).or_insert_with(|| LiveText::new(key)).push(text);
        if state.writing.is_none() {
            let (shared, place) = (Arc::clone(&self.shared), Arc::clone(&self.place));
            let spawned =
                std::thread::Builder::new().name("live".to_owned()).spawn(move || shared.keep_writing(&place));
            state.writing = spawned.ok();
        }
        self.shared.note(state);
    }

    fn ended(&self, ended: impl Fn(&CallKey) -> bool) {
        let mut state = self.shared.state();
        let before = state.calls.len();
        state.calls.retain(|key, _| !ended(key));
        if state.calls.len() < before {
            self.shared.note(state);
        }
    }
}

impl Observer for LiveWriter {
    fn see(&self, signal: &Signal<'_>) {
        match signal {
            Signal::Delta { key, text } => self.streamed(key, text),
            Signal::LogEntry { fact, .. } => match &fact.event {
                Event::ReplyReceived(events::ReplyReceived { key, .. })
                | Event::CallFailed(events::CallFailed { key, .. }) => self.ended(|one| one == key),
                Event::RunConcluded(_) => self.ended(|_| true),
                _ => {}
            },
            Signal::Silent { .. } | Signal::Retry { .. } | Signal::Notice(_) => {}
        }
        self.inner.see(signal);
    }
}

impl Drop for LiveWriter {
    fn drop(&mut self) {
        let mut state = self.shared.state();
        state.ended = true;
        let writing = state.writing.take();
        drop(state);
        self.shared.news.notify_all();
        if writing.is_some_and(|writing| writing.join().is_err()) {
            tracing::debug!("the writer of streamed text ended abnormally");
        }
    }
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn note(&self, mut state: MutexGuard<'_, State>) {
        let is_known = std::mem::replace(&mut state.changed, true);
        drop(state);
        if !is_known {
            self.news.notify_all();
        }
    }

    /// Writes until the run has ended. Writes nothing while nobody watches.
    fn keep_writing(&self, place: &Place) {
        let owner = Owner::current();
        while self.wait_for_change() {
            let looked = place.is_looked_at();
            match self.take(looked) {
                Some(calls) if !calls.is_empty() => {
                    if let Err(error) = place.write(&Written { owner: owner.clone(), calls }) {
                        tracing::debug!(%error, "cannot tell other processes what is streamed");
                    }
                }
                // This also removes what a dead process left.
                _ => place.remove(),
            }
            self.rest();
        }
        place.remove();
        let _was_not_there = fs::remove_file(&place.looked);
    }

    /// Returns false when nothing more comes.
    fn wait_for_change(&self) -> bool {
        let mut state = self.state();
        while !state.changed && !state.ended {
            state = self.news.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        !state.ended
    }

    /// The calls as they are now. `None` if nobody watches; the change then stays pending for the next viewer.
    fn take(&self, looked: bool) -> Option<Vec<LiveText>> {
        let mut state = self.state();
        if !looked && !state.calls.is_empty() {
            return None;
        }
        state.changed = false;
        Some(state.calls.values().map(LiveText::last).collect())
    }

    fn rest(&self) {
        let waits = |state: &mut State| !state.ended;
        let _rested = self.news.wait_timeout_while(self.state(), PERIOD, waits);
    }
}
