//! Cassettes at the model port: a recorder writes every call of a run to a folder, and a replay answers from it. A
//! request must match completely, so a change of any word that a model reads appears as a mismatch with its place.

mod cassette;
mod difference;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use async_trait::async_trait;
use callsheet_runtime::paths::{create_private_folder, write_private};
use callsheet_runtime::ports::{DeltaSink, Model, ModelFault, ModelInfo, ModelReply, ModelRequest};
use tokio_util::sync::CancellationToken;

use cassette::{Cassette, Outcome, key_of};
use difference::first_difference;

/// Into how many pieces a timed reply is split.
const PIECES: usize = 40;

/// Why a folder of cassettes cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CassetteError {
    /// The folder or one of its files cannot be read or written.
    #[error("{path}: {message}")]
    Io {
        /// The file.
        path: PathBuf,
        /// The system's message.
        message: String,
    },
    /// A file is not a cassette.
    #[error("{path} is not a cassette: {message}")]
    Invalid {
        /// The file.
        path: PathBuf,
        /// Where and what is wrong.
        message: String,
    },
    /// The folder contains no call of this model.
    #[error("{path} contains no call to {model}, only to: {known}")]
    NoSuchModel {
        /// The folder.
        path: PathBuf,
        /// The requested model.
        model: String,
        /// Models in the folder, separated by commas.
        known: String,
    },
}

/// A folder to which calls are recorded. Several models of a run share it.
#[derive(Debug)]
pub struct Recording {
    folder: PathBuf,
    last: AtomicU32,
}

impl Recording {
    /// Creates the folder if necessary. Numbers continue after the existing cassettes.
    pub fn create(folder: &Path) -> Result<Arc<Self>, CassetteError> {
        create_private_folder(folder).map_err(|error| io(folder, &error))?;
        // Prompts list the files of the project. A recording inside the project would change the prompts of its own
        // replay. Unlike `.gitignore`, this file lets the recording be committed.
        let ignore = folder.join(".ignore");
        write_private(&ignore, b"*\n").map_err(|error| io(&ignore, &error))?;
        let last = cassette::files(folder)?.iter().filter_map(|path| cassette::number_of(path)).max().unwrap_or(0);
        Ok(Arc::new(Self { folder: folder.to_owned(), last: AtomicU32::new(last) }))
    }

    /// A model whose calls are recorded.
    pub fn record(self: &Arc<Self>, model: Arc<dyn Model>) -> Arc<dyn Model> {
        Arc::new(Recorder { model, recording: Arc::clone(self) })
    }
}

/// Passes calls on and records each.
struct Recorder {
    model: Arc<dyn Model>,
    recording: Arc<Recording>,
}

#[async_trait]
impl Model for Recorder {
    fn info(&self) -> &ModelInfo {
        self.model.info()
    }

    async fn ask(
        &self,
        request: &ModelRequest,
        deltas: DeltaSink<'_>,
        cancel: &CancellationToken,
    ) -> Result<ModelReply, ModelFault> {
        let started = Instant::now();
        let result = self.model.ask(request, deltas, cancel).await;
        let took_ms = u64::try_from(started.elapsed().as_millis()).unwrap_or(u64::MAX);
        // A cancelled call says nothing about the model.
        if let Some(outcome) = Outcome::of(&result) {
            let number = self.recording.last.fetch_add(1, Ordering::Relaxed).saturating_add(1);
            let cassette = Cassette::new(self.model.info().clone(), request.clone(), outcome, took_ms);
            cassette
                .write(&self.recording.folder, number)
                .map_err(|error| ModelFault::Configuration { message: format!("cannot record the call: {error}") })?;
        }
        result
    }

    fn count_tokens(&self, text: &str) -> Option<u32> {
        self.model.count_tokens(text)
    }
}

/// Calls read from a folder.
#[derive(Debug)]
pub struct Cassettes {
    folder: PathBuf,
    /// In numeric order.
    all: Vec<(PathBuf, Cassette)>,
    /// The fraction of its recorded time that a reply takes.
    pace: f64,
}

impl Cassettes {
    /// Reads every cassette of a folder. They answer at once.
    pub fn open(folder: &Path) -> Result<Arc<Self>, CassetteError> {
        Self::open_paced(folder, 0.0)
    }

    /// Reads every cassette of a folder. A reply takes the fraction `pace` of its recorded time.
    pub fn open_paced(folder: &Path, pace: f64) -> Result<Arc<Self>, CassetteError> {
        let mut all = Vec::new();
        for path in cassette::files(folder)? {
            let cassette = Cassette::read(&path)?;
            all.push((path, cassette));
        }
        Ok(Arc::new(Self { folder: folder.to_owned(), all, pace }))
    }

    /// Ids of the recorded models, sorted.
    pub fn models(&self) -> Vec<&str> {
        let mut ids: Vec<&str> = self.all.iter().map(|(_, cassette)| cassette.model.id.as_str()).collect();
        ids.sort_unstable();
        ids.dedup();
        ids
    }

    /// The model `id`, answering from its cassettes.
    pub fn replay(self: &Arc<Self>, id: &str) -> Result<Arc<dyn Model>, CassetteError> {
        let info = self.all.iter().find(|(_, cassette)| cassette.model.id == id).map(|(_, cassette)| &cassette.model);
        let info = info.cloned().ok_or_else(|| CassetteError::NoSuchModel {
            path: self.folder.clone(),
            model: id.to_owned(),
            known: self.models().join(", "),
        })?;
        let mut answers: BTreeMap<String, Vec<usize>> = BTreeMap::new();
        for (position, (_, cassette)) in self.all.iter().enumerate() {
            if cassette.model.id == id {
                answers.entry(cassette.key.clone()).or_default().push(position);
            }
        }
        Ok(Arc::new(Replay { info, cassettes: Arc::clone(self), answers, given: Mutex::new(BTreeMap::new()) }))
    }
}

/// Answers from cassettes.
struct Replay {
    info: ModelInfo,
    cassettes: Arc<Cassettes>,
    /// Positions of the cassettes by request key, in the order of recording.
    answers: BTreeMap<String, Vec<usize>>,
    /// Number of answers given, by request key.
    given: Mutex<BTreeMap<String, usize>>,
}

impl Replay {
    fn answer(&self, request: &ModelRequest) -> Result<&Cassette, ModelFault> {
        let key = key_of(request);
        let Some(positions) = self.answers.get(&key) else { return Err(self.mismatch(request)) };
        let mut given = self.given.lock().unwrap_or_else(PoisonError::into_inner);
        let count = given.entry(key).or_default();
        let position = positions.get(*count).copied();
        *count = count.saturating_add(1);
        let cassette = position.and_then(|position| self.cassettes.all.get(position)).map(|(_, cassette)| cassette);
        cassette.ok_or_else(|| ModelFault::Configuration {
            message: format!(
                "the request `{}` was recorded {} times, but is made once more",
                request.label,
                positions.len()
            ),
        })
    }

    fn mismatch(&self, request: &ModelRequest) -> ModelFault {
        let asked = cassette::canonical(request);
        let mine = self.cassettes.all.iter().filter(|(_, cassette)| cassette.model.id == self.info.id);
        let nearest = mine.max_by_key(|(path, cassette)| {
            let near = difference::likeness(&cassette::canonical(&cassette.request), &asked);
            // Among equals, the first recorded one.
            (cassette.request.label == request.label, near, std::cmp::Reverse(path.clone()))
        });
        let message = match nearest {
            None => format!("no cassette answers `{}`", request.label),
            Some((path, cassette)) => {
                let file = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
                let place = first_difference(&cassette::canonical(&cassette.request), &asked);
                format!(
                    "no cassette answers `{}`; the nearest is {file}, which differs {}",
                    request.label,
                    place.unwrap_or_else(|| "only in parts that are not compared".to_owned())
                )
            }
        };
        ModelFault::Configuration { message }
    }
}

#[async_trait]
impl Model for Replay {
    fn info(&self) -> &ModelInfo {
        &self.info
    }

    async fn ask(
        &self,
        request: &ModelRequest,
        deltas: DeltaSink<'_>,
        cancel: &CancellationToken,
    ) -> Result<ModelReply, ModelFault> {
        if cancel.is_cancelled() {
            return Err(ModelFault::Cancelled);
        }
        let cassette = self.answer(request)?;
        let result = cassette.outcome.result();
        let text = result.as_ref().map(|reply| reply.text.as_str()).unwrap_or_default();
        let took = Duration::try_from_secs_f64(cassette.took_ms as f64 / 1_000.0 * self.cassettes.pace);
        tokio::select! {
            () = spoken(text, took.unwrap_or_default(), deltas) => result,
            () = cancel.cancelled() => Err(ModelFault::Cancelled),
        }
    }
}

/// Delivers a text in pieces over some time.
async fn spoken(text: &str, took: Duration, deltas: DeltaSink<'_>) {
    let characters: Vec<char> = text.chars().collect();
    if took.is_zero() || characters.is_empty() {
        tokio::time::sleep(took).await;
        if !text.is_empty() {
            deltas(text);
        }
        return;
    }
    let pieces = characters.chunks(characters.len().div_ceil(PIECES));
    let pause = took / u32::try_from(pieces.len()).unwrap_or(1);
    for piece in pieces {
        tokio::time::sleep(pause).await;
        deltas(&piece.iter().collect::<String>());
    }
}

fn io(path: &Path, error: &std::io::Error) -> CassetteError {
    CassetteError::Io { path: path.to_owned(), message: error.to_string() }
}
