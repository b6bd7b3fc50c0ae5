//! Chooses the model if none is configured: that of a vendor whose key is set, or else one of a local server that
//! answers, or else the embedded model. The first printed line says which one and why.

use std::collections::BTreeMap;
use std::path::Path;

use callsheet_app::Advice;
use callsheet_models::config::{Environment, ModelRef};
use callsheet_models::probe;
use callsheet_models::replay::Cassettes;

use crate::cli::{Exit, Failure};
use crate::config::{Config, Folders, Origin};

use super::embedded;

/// Whether a model may be downloaded if there is no other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fetch {
    /// It may not be downloaded.
    Never,
    /// It may be downloaded if the person at the terminal agrees.
    Ask,
    /// The person has agreed.
    Agreed,
}

/// A model and why it was chosen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Choice {
    /// The model.
    pub model: ModelRef,
    /// The reason for the first printed line: `from flag --model`, `Ollama answers on …`.
    pub reason: String,
    /// How many requests the provider accepts at the same time, if it said so.
    pub slots: Option<u32>,
}

impl Choice {
    /// The model that a run has.
    ///
    /// # Errors
    /// The name is invalid.
    pub fn recorded(model: &str) -> Result<Self, Failure> {
        let model = model.parse().map_err(|fault: callsheet_models::config::ModelRefError| {
            Failure::usage(format!("can't use the model of this run: {fault}"), "name one with --model")
        })?;
        Ok(Self { model, reason: "the run's own".to_owned(), slots: None })
    }

    /// The number of work units that keep the model busy: one more than its provider accepts at the same time, so
    /// that a prompt is ready when a slot becomes free.
    pub fn units(&self, slots: &BTreeMap<String, usize>) -> u32 {
        let of_model = match &self.model {
            ModelRef::Provided { provider, .. } => slots.get(provider).copied(),
            ModelRef::Embedded(_) | ModelRef::Scripted(_) => None,
        };
        of_model.map_or(0, |slots| u32::try_from(slots).unwrap_or(u32::MAX).saturating_add(1))
    }
}

/// Chooses the model of a run. `fetch` says whether the embedded model may be downloaded, with progress on stderr.
///
/// # Errors
/// A failure with advice if there is none: exit 7 if nothing answers and nothing can be downloaded, exit 2 for an
/// invalid name.
pub async fn choose(
    config: &Config,
    folders: &Folders,
    environment: &(dyn Environment + Sync),
    fetch: Fetch,
) -> Result<Choice, Failure> {
    if let Some(value) = config.values.get("model") {
        let text = value.value.as_str().unwrap_or_default();
        let model = text.parse().map_err(|fault: callsheet_models::config::ModelRefError| {
            Failure::usage(format!("{}: {fault}", value.origin), list_models())
        })?;
        return Ok(Choice { model, reason: origin_words(&value.origin), slots: None });
    }
    if let Some(choice) = from_key(environment) {
        return Ok(choice);
    }
    if let Some(choice) = from_server(environment).await {
        return Ok(choice);
    }
    embedded::choose(folders, fetch).await
}

/// The model whose calls a folder of cassettes contains, if none is named.
///
/// # Errors
/// The cassettes cannot be read, there are none, or they belong to several models.
pub fn choose_recorded(folder: &Path) -> Result<Choice, Failure> {
    let cassettes = Cassettes::open(folder).map_err(|fault| Failure::usage(fault.to_string(), ""))?;
    match cassettes.models().as_slice() {
        [only] => Ok(Choice { reason: "as recorded".to_owned(), ..Choice::recorded(only)? }),
        [] => {
            let what = format!("{} contains no recorded call", folder.display());
            Err(Failure::usage(what, Advice::command("record calls first", ["run", "…", "--record", "DIR"])))
        }
        several => {
            let what = format!("{} contains calls of several models", folder.display());
            Err(Failure::usage(what, format!("name one with --model: {}", several.join(", "))))
        }
    }
}

fn origin_words(origin: &Origin) -> String {
    match origin {
        Origin::Flag(_) => "as you asked".to_owned(),
        origin => format!("from {origin}"),
    }
}

async fn from_server(environment: &(dyn Environment + Sync)) -> Option<Choice> {
    for server in probe::running(environment).await {
        let writers = server.writers();
        let Some(model) = writers.first() else { continue };
        let others = writers.len() - 1;
        let more = if others > 0 { format!(", which offers {others} more") } else { String::new() };
        return Some(Choice {
            model: ModelRef::Provided { provider: server.provider.clone(), model: model.name.clone() },
            reason: format!("{} answers at {}{more}", server.provider, server.base_url),
            slots: server.slots,
        });
    }
    None
}

fn from_key(environment: &(dyn Environment + Sync)) -> Option<Choice> {
    probe::keys_present(environment).into_iter().find_map(|key| {
        let vendor = callsheet_models::config::vendors().iter().find(|vendor| vendor.name == key.provider)?;
        let model = vendor.default_model.clone()?;
        Some(Choice {
            model: ModelRef::Provided { provider: key.provider, model },
            reason: format!("{} is set", key.variable),
            slots: None,
        })
    })
}

/// Advice to choose among the models that there are.
pub fn list_models() -> Advice {
    Advice::command("list the available models", ["model", "list"])
}

pub(super) fn unreachable(what: impl Into<String>, advice: impl Into<Advice>) -> Failure {
    Failure::new(Exit::Unreachable, what, advice)
}
