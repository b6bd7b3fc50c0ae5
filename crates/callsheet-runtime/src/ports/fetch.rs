//! Pages over HTTP, confined as spec 5.7 says: GET only, text types, 1 MiB, 20 s, at most 5 redirects each checked
//! again; loopback, link-local and private addresses refused unless listed.

use async_trait::async_trait;
use tokio_util::sync::CancellationToken;

/// A fetched page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Page {
    /// Address after redirects.
    pub url: String,
    /// Media type without parameters.
    pub media_type: String,
    /// Its text, cut at 1 MiB.
    pub text: String,
    /// It was cut.
    pub truncated: bool,
}

/// Why a page could not be had. Its words are for people and logs; a model reads those of the issue or tool output.
#[derive(Debug, thiserror::Error)]
pub enum FetchFault {
    /// There is no network access.
    #[error("there is no network access")]
    Off,
    /// The address is not allowed; the text says why. A retry does not help.
    #[error("refused: {0}")]
    Refused(String),
    /// The server answered with another status than 2xx.
    #[error("the server answered {0}")]
    Status(u16),
    /// No text.
    #[error("content of type {0} is not text")]
    NotText(String),
    /// Network trouble; a retry may help.
    #[error("could not fetch: {0}")]
    Network(String),
    /// Cancelled by us.
    #[error("cancelled")]
    Cancelled,
}

/// Fetches pages.
#[async_trait]
pub trait Fetch: Send + Sync {
    /// One page.
    async fn fetch(&self, url: &str, cancel: &CancellationToken) -> Result<Page, FetchFault>;
}
