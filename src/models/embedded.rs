//! The embedded model: finds it on this machine, downloads it and loads it.

use std::io::BufRead;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use callsheet_app::Advice;
use callsheet_local::weights::{self, Fallback, HubCache, Progress, PullOptions, WeightsFault, WeightsRow};
use callsheet_models::config::ModelRef;
use callsheet_runtime::ports::{Model, ModelFault};
use tokio_util::sync::CancellationToken;

use crate::cli::Failure;
use crate::config::Folders;
use crate::term::Bar;

use super::choose::{list_models, unreachable};
use super::{Choice, Fetch};

/// Whether this build can run the models that it would download.
pub const RUNS_EMBEDDED: bool = cfg!(feature = "embedded");

/// The folder with downloaded models.
pub fn models_folder(folders: &Folders) -> PathBuf {
    folders.models()
}

/// The model hub's own cache on this machine.
pub fn hub_cache() -> Option<HubCache> {
    HubCache::locate(|name| std::env::var_os(name))
}

/// The result of a download.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PullReport {
    /// The file.
    pub path: PathBuf,
    /// Whether it was downloaded now.
    pub fetched: bool,
}

/// Downloads the file of a row, with progress and failed sources on stderr.
///
/// # Errors
/// The same as for `weights::pull`.
pub async fn pull_row(
    row: &WeightsRow,
    folders: &Folders,
    cancel: &CancellationToken,
) -> Result<PullReport, WeightsFault> {
    let options = PullOptions {
        folder: models_folder(folders),
        hub: weights::hub_address(|name| std::env::var(name).ok()),
        python: None,
        allow_unverified: false,
    };
    let download = crate::download::HttpDownload::new(std::env::var("HF_TOKEN").ok());
    let bar = Bar::new(&format!("downloading {} ({} parameters, {})", row.name, row.parameters, size(row)));
    let progress = |progress: Progress| bar.show(progress.done, progress.total);
    let fallback = |fallback: Fallback<'_>| bar.say(&crate::term::harmless(&fallback.to_string()));
    let pulled = weights::pull(row, &options, &download, &progress, &fallback, cancel).await;
    bar.finish();
    let pulled = pulled?;
    Ok(PullReport { path: pulled.path, fetched: pulled.sha256.is_some() })
}

/// The size of a row's file in words.
pub fn size(row: &WeightsRow) -> String {
    bytes_words(row.about_bytes)
}

/// A size in words.
pub fn bytes_words(bytes: u64) -> String {
    match bytes / 1_000_000 {
        megabytes @ ..1_000 => format!("{megabytes} MB"),
        megabytes => format!("{}.{} GB", megabytes / 1_000, megabytes % 1_000 / 100),
    }
}

/// The file of a row, if it is on this machine.
pub(super) fn on_disk(row: &WeightsRow, folders: &Folders) -> Option<PathBuf> {
    weights::installed(row, &models_folder(folders)).or_else(|| hub_cache().and_then(|cache| cache.find(row)))
}

/// Chooses the embedded model if there is no other: installed weights in the order of the catalogue, or else a
/// download if the person agrees. Demonstration models must be named explicitly.
pub(super) async fn choose(folders: &Folders, fetch: Fetch) -> Result<Choice, Failure> {
    if !RUNS_EMBEDDED {
        return Err(unreachable(
            "found no model: no Ollama or llama.cpp server responds, no API key is set, and this build has no embedded model",
            Advice::from(
                "start a server, set an API key, choose a model with --model, or build with `--features embedded`",
            )
            .or("see what Callsheet checked", ["doctor"]),
        ));
    }
    for row in weights::unasked() {
        if let Some(path) = on_disk(row, folders) {
            return Ok(chosen(path, "no server responds, no API key is set"));
        }
    }
    let agreed = match fetch {
        Fetch::Never => false,
        Fetch::Ask => weights::unasked().next().is_some_and(agrees),
        Fetch::Agreed => true,
    };
    if !agreed {
        let rows: Vec<String> = weights::unasked().map(|row| format!("{} ({})", row.name, size(row))).collect();
        return Err(no_weights(&format!("not downloaded: {}", rows.join(", "))));
    }
    let mut reasons = Vec::new();
    for row in weights::unasked() {
        match pull_row(row, folders, &CancellationToken::new()).await {
            Ok(pulled) => return Ok(chosen(pulled.path, "no server responds, no API key is set; just downloaded")),
            Err(fault) => reasons.push(format!("{}: {fault}", row.name)),
        }
    }
    Err(no_weights(&reasons.join("\n  ")))
}

/// Asks the person at the terminal whether to download a model.
fn agrees(row: &WeightsRow) -> bool {
    tell_part!(
        "No server responds and no API key is set. Download the embedded model {} once ({})? An interrupted download \
         resumes. [y/N] ",
        row.name,
        size(row)
    );
    let mut line = String::new();
    let _closed = std::io::stdin().lock().read_line(&mut line);
    ["y", "yes"].contains(&line.trim().to_ascii_lowercase().as_str())
}

fn chosen(path: PathBuf, reason: &str) -> Choice {
    Choice { model: ModelRef::Embedded(path), reason: format!("embedded: {reason}"), slots: Some(1) }
}

fn no_weights(why: &str) -> Failure {
    unreachable(
        format!(
            "found no model: no Ollama or llama.cpp server responds, no API key is set, and the embedded model can't be used:\n  {why}"
        ),
        Advice::from("nothing was started or changed; start a server, set an API key, or name a model with --model")
            .and(list_models())
            .or("or download one, also with --download of this command", ["model", "pull"]),
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

/// Fails, because this build cannot load a GGUF file.
#[cfg(not(feature = "embedded"))]
pub(super) fn load(path: &Path) -> Result<Arc<dyn Model>, ModelFault> {
    let message =
        format!("can't load {}: this build has no embedded engine; build with `--features embedded`", path.display());
    Err(ModelFault::Configuration { message })
}
