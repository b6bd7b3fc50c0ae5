//! One recorded call: a JSON file that a person can read and edit.

use std::path::{Path, PathBuf};
use std::time::Duration;

use callsheet_runtime::paths::write_private;
use callsheet_runtime::ports::{ModelFault, ModelInfo, ModelReply, ModelRequest};
use callsheet_runtime::shown::mask;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use sha2::{Digest, Sha256};

use super::{CassetteError, io};

/// Version of the file format.
const VERSION: u32 = 1;

/// A recorded call.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Cassette {
    version: u32,
    /// What the model said about itself.
    pub model: ModelInfo,
    /// The request as sent.
    pub request: ModelRequest,
    /// The reply or fault.
    pub outcome: Outcome,
    /// Time from the request to the whole reply.
    #[serde(default)]
    pub took_ms: u64,
    /// Hash of the canonical request. It is computed on reading, so an edited request counts as edited.
    #[serde(skip)]
    pub key: String,
}

/// A reply or a fault.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Outcome {
    Reply(ModelReply),
    Communication { message: String },
    Busy { message: String, wait_ms: Option<u64> },
    Configuration { message: String },
    Exhausted { message: String },
    ContextOverflow { message: String },
    Deadline,
}

impl Outcome {
    /// `None` if the call was cancelled, because that is not recorded.
    pub(super) fn of(result: &Result<ModelReply, ModelFault>) -> Option<Self> {
        Some(match result {
            Ok(reply) => Self::Reply(reply.clone()),
            Err(ModelFault::Communication { message }) => Self::Communication { message: message.clone() },
            Err(ModelFault::Busy { message, wait }) => Self::Busy {
                message: message.clone(),
                wait_ms: wait.map(|wait| u64::try_from(wait.as_millis()).unwrap_or(u64::MAX)),
            },
            Err(ModelFault::Configuration { message }) => Self::Configuration { message: message.clone() },
            Err(ModelFault::Exhausted { message }) => Self::Exhausted { message: message.clone() },
            Err(ModelFault::ContextOverflow { message }) => Self::ContextOverflow { message: message.clone() },
            Err(ModelFault::Deadline) => Self::Deadline,
            Err(ModelFault::Cancelled) => return None,
        })
    }

    pub(super) fn result(&self) -> Result<ModelReply, ModelFault> {
        match self.clone() {
            Self::Reply(reply) => Ok(reply),
            Self::Communication { message } => Err(ModelFault::Communication { message }),
            Self::Busy { message, wait_ms } => {
                Err(ModelFault::Busy { message, wait: wait_ms.map(Duration::from_millis) })
            }
            Self::Configuration { message } => Err(ModelFault::Configuration { message }),
            Self::Exhausted { message } => Err(ModelFault::Exhausted { message }),
            Self::ContextOverflow { message } => Err(ModelFault::ContextOverflow { message }),
            Self::Deadline => Err(ModelFault::Deadline),
        }
    }
}

impl Cassette {
    pub(super) fn new(model: ModelInfo, request: ModelRequest, outcome: Outcome, took_ms: u64) -> Self {
        let key = key_of(&request);
        Self { version: VERSION, model, request, outcome, took_ms, key }
    }

    pub(super) fn read(path: &Path) -> Result<Self, CassetteError> {
        let invalid = |message: String| CassetteError::Invalid { path: path.to_owned(), message };
        let text = std::fs::read_to_string(path).map_err(|error| io(path, &error))?;
        let mut cassette: Self = serde_json::from_str(&text).map_err(|error| invalid(error.to_string()))?;
        if cassette.version != VERSION {
            return Err(invalid(format!("it has version {}, this build reads {VERSION}", cassette.version)));
        }
        cassette.key = key_of(&cassette.request);
        Ok(cassette)
    }

    /// Writes `NNNN-label.json` in one step.
    pub(super) fn write(&self, folder: &Path, number: u32) -> Result<(), CassetteError> {
        let path = folder.join(format!("{number:04}-{}.json", file_words(&self.request.label)));
        let partial = path.with_extension("part");
        let text = serde_json::to_string_pretty(self)
            .map_err(|error| CassetteError::Invalid { path: path.clone(), message: error.to_string() })?;
        let text = mask(&text).into_owned();
        write_private(&partial, (text + "\n").as_bytes()).map_err(|error| io(&partial, &error))?;
        std::fs::rename(&partial, &path).map_err(|error| io(&path, &error))
    }
}

/// The cassettes of a folder, in numeric order.
pub(super) fn files(folder: &Path) -> Result<Vec<PathBuf>, CassetteError> {
    let mut paths = Vec::new();
    for entry in std::fs::read_dir(folder).map_err(|error| io(folder, &error))? {
        let path = entry.map_err(|error| io(folder, &error))?.path();
        if path.extension().is_some_and(|extension| extension == "json") && number_of(&path).is_some() {
            paths.push(path);
        }
    }
    paths.sort_by_key(|path| (number_of(path), path.clone()));
    Ok(paths)
}

/// The number at the start of a file name.
pub(super) fn number_of(path: &Path) -> Option<u32> {
    let name = path.file_name()?.to_str()?;
    name.split_once('-')?.0.parse().ok()
}

/// The request as JSON with sorted keys.
pub(super) fn canonical(request: &ModelRequest) -> Value {
    sorted(serde_json::to_value(request).unwrap_or_default())
}

/// Hash of the canonical request.
pub(super) fn key_of(request: &ModelRequest) -> String {
    // Known keys are masked in the recording.
    let digest = Sha256::digest(mask(&canonical(request).to_string()).as_bytes());
    digest.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn sorted(value: Value) -> Value {
    match value {
        Value::Object(map) => {
            let mut entries: Vec<(String, Value)> = map.into_iter().map(|(key, value)| (key, sorted(value))).collect();
            entries.sort_by(|a, b| a.0.cmp(&b.0));
            Value::Object(entries.into_iter().collect())
        }
        Value::Array(items) => Value::Array(items.into_iter().map(sorted).collect()),
        other => other,
    }
}

/// A label as part of a file name.
fn file_words(label: &str) -> String {
    let words: String = label.chars().take(60).map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).collect();
    let words = words.trim_matches('-').to_owned();
    if words.is_empty() { "call".to_owned() } else { words }
}
