//! The embedded model: what is on this machine, fetching it, loading it.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use callsheet_local::weights::{self, HubCache, Progress, PullOptions, WeightsFault, WeightsRow};
use callsheet_models::config::ModelRef;
use callsheet_runtime::ports::{Model, ModelFault};
use tokio_util::sync::CancellationToken;

use crate::cli::Failure;
use crate::config::Folders;

use super::Choice;
use super::choose::unreachable;

/// Where fetched models are.
pub fn models_folder(folders: &Folders) -> PathBuf {
    folders.models()
}

/// The model hub's own cache on this machine.
pub fn hub_cache() -> Option<HubCache> {
    HubCache::locate(|name| std::env::var_os(name))
}

/// Fetched weights.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PullReport {
    /// The file.
    pub path: PathBuf,
    /// It was fetched now.
    pub fetched: bool,
}

/// Fetches one row, telling progress.
///
/// # Errors
/// As `weights::pull`.
pub async fn pull_row(
    row: &WeightsRow,
    folders: &Folders,
    progress: &(dyn Fn(Progress) + Send + Sync),
    cancel: &CancellationToken,
) -> Result<PullReport, WeightsFault> {
    let options = PullOptions {
        folder: models_folder(folders),
        hub: std::env::var("HF_ENDPOINT").ok().filter(|address| !address.is_empty()),
        python: None,
        allow_unverified: false,
    };
    let download = crate::download::HttpDownload::default();
    let pulled = weights::pull(row, &options, &download, progress, cancel).await?;
    Ok(PullReport { path: pulled.path, fetched: pulled.sha256.is_some() })
}

/// The file of a row, if it is on this machine.
fn on_disk(row: &WeightsRow, folders: &Folders) -> Option<PathBuf> {
    weights::installed(row, &models_folder(folders)).or_else(|| hub_cache().and_then(|cache| cache.find(row)))
}

/// The embedded model when nothing else is there: installed weights in the order of the catalogue, else a download.
pub(super) async fn choose(folders: &Folders, fetch: bool) -> Result<Choice, Failure> {
    if !cfg!(feature = "embedded") {
        return Err(unreachable(
            "found no model: no Ollama or llama.cpp server responds, no API key is set, and this build has no embedded model",
            "start a server, set an API key, choose a model with --model, or build with `--features embedded`. `callsheet doctor` shows what Callsheet checked",
        ));
    }
    for row in weights::catalogue() {
        if let Some(path) = on_disk(row, folders) {
            return Ok(chosen(row, path, "no server responds, no API key is set"));
        }
    }
    if !fetch {
        return Err(no_weights("not downloaded yet"));
    }
    let mut reasons = Vec::new();
    for row in weights::catalogue() {
        let bar = crate::term::Bar::new(&format!("downloading {} ({})", row.name, row.parameters));
        let cancel = CancellationToken::new();
        match pull_row(row, folders, &|progress| bar.show(progress.done, progress.total), &cancel).await {
            Ok(pulled) => {
                bar.finish();
                return Ok(chosen(row, pulled.path, "no server responds, no API key is set; just downloaded"));
            }
            Err(fault) => {
                bar.finish();
                reasons.push(format!("{}: {fault}", row.name));
            }
        }
    }
    Err(no_weights(&reasons.join("\n  ")))
}

fn chosen(row: &WeightsRow, path: PathBuf, reason: &str) -> Choice {
    let caution = row.demonstration.then(|| format!("{}: {}", row.name, row.note));
    Choice { model: ModelRef::Embedded(path), reason: format!("embedded: {reason}"), caution, slots: Some(1) }
}

fn no_weights(why: &str) -> Failure {
    unreachable(
        format!(
            "found no model: no Ollama or llama.cpp server responds, no API key is set, and the embedded model can't be used:\n  {why}"
        ),
        "start a server, set an API key, or run `callsheet model pull` while online; nothing was started or changed",
    )
}

/// Loads a GGUF file.
#[cfg(feature = "embedded")]
pub(super) fn load(path: &Path) -> Result<Arc<dyn Model>, ModelFault> {
    let options = callsheet_local::EmbeddedOptions::default();
    callsheet_local::EmbeddedModel::load(path, &options)
        .map(|model| Arc::new(model) as Arc<dyn Model>)
        .map_err(|fault| ModelFault::Configuration { message: fault.to_string() })
}

/// This build cannot load one.
#[cfg(not(feature = "embedded"))]
pub(super) fn load(path: &Path) -> Result<Arc<dyn Model>, ModelFault> {
    let message =
        format!("can't load {}: this build has no embedded engine; build with `--features embedded`", path.display());
    Err(ModelFault::Configuration { message })
}
