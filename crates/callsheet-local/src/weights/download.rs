//! Downloads from a hub through a port, because this crate has no HTTP client.

use async_trait::async_trait;
use tokio_util::sync::CancellationToken;

use super::digest::PartFile;
use super::{Progress, Source, WeightsFault};

/// How often one download is opened at most. If a stream breaks after it delivered bytes, it is opened again at that
/// place.
const MAX_OPENS: u32 = 4;

/// Fetches bytes over HTTP. The caller of [`super::pull`] provides the implementation.
#[async_trait]
pub trait Download: Send + Sync {
    /// Opens `url` at byte `from` (`Range: bytes=<from>-` if it is not 0) and follows redirects.
    async fn open(&self, url: &str, from: u64) -> Result<Opened, DownloadFault>;
}

/// An open download.
pub struct Opened {
    /// Byte that the body starts at: `from`, or 0 if the server ignored the range (status 200).
    pub from: u64,
    /// Size of the whole file, if the server reported it.
    pub total: Option<u64>,
    /// The body.
    pub body: Box<dyn Chunks>,
}

/// A body in pieces.
#[async_trait]
pub trait Chunks: Send {
    /// The next piece; `None` at the end.
    async fn next(&mut self) -> Result<Option<Vec<u8>>, DownloadFault>;
}

/// Why a download stopped.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DownloadFault {
    /// The server answered with a status other than 200 and 206.
    #[error("the server answered {0}")]
    Status(u16),
    /// The connection, the name lookup, TLS or the stream failed.
    #[error("{0}")]
    Network(String),
}

/// The address of a hub file below `base`.
fn address(base: &str, owner: &str, repo: &str, file: &str) -> String {
    format!("{}/{owner}/{repo}/resolve/main/{file}", base.trim_end_matches('/'))
}

/// Fetches a hub source into `part` and continues where an earlier try stopped.
pub(super) async fn fetch(
    source: &Source,
    hub: &str,
    download: &dyn Download,
    part: &mut PartFile<'_>,
    progress: &(dyn Fn(Progress) + Send + Sync),
    cancel: &CancellationToken,
) -> Result<(), WeightsFault> {
    let Source::Hub { owner, repo, file } = source else { return Ok(()) };
    let url = address(hub, owner, repo, file);
    let mut opens = 0;
    loop {
        opens += 1;
        let before = part.size();
        let done = tokio::select! {
            biased;
            () = cancel.cancelled() => return Err(WeightsFault::Cancelled),
            done = once(&url, download, part, progress) => done?,
        };
        let Some(fault) = done else { return Ok(()) };
        if part.size() > before && opens < MAX_OPENS && matches!(fault, DownloadFault::Network(_)) {
            continue;
        }
        return Err(match fault {
            DownloadFault::Status(status) => WeightsFault::Refused { address: url, status },
            DownloadFault::Network(reason) => WeightsFault::Offline { address: url, reason, kept: part.size() },
        });
    }
}

/// Opens the source once and reads all its pieces. A network fault is returned as a value, a disk fault as an error.
async fn once(
    url: &str,
    download: &dyn Download,
    part: &mut PartFile<'_>,
    progress: &(dyn Fn(Progress) + Send + Sync),
) -> Result<Option<DownloadFault>, WeightsFault> {
    let mut opened = match download.open(url, part.size()).await {
        Ok(opened) => opened,
        // The range starts at or past the end: either the file is complete, or our bytes are of another file.
        Err(DownloadFault::Status(416)) => return Ok(None),
        Err(fault) => return Ok(Some(fault)),
    };
    if opened.from != part.size() {
        part.restart()?;
        if opened.from != 0 {
            return Ok(Some(DownloadFault::Network("the server sent a different part than requested".into())));
        }
    }
    loop {
        match opened.body.next().await {
            Ok(Some(bytes)) => part.write(&bytes)?,
            Ok(None) if opened.total.is_some_and(|total| part.size() < total) => {
                return Ok(Some(DownloadFault::Network("the stream ended early".into())));
            }
            Ok(None) => return Ok(None),
            Err(fault) => return Ok(Some(fault)),
        }
        progress(Progress { done: part.size(), total: opened.total });
    }
}
