//! Pages over HTTP, confined according to spec 5.7: only GET, text types, 1 MiB, 20 s, and at most 5 redirects, each of
//! which is checked again. Loopback, link-local and private addresses are refused unless they are listed.

use async_trait::async_trait;
use tokio_util::sync::CancellationToken;

/// A fetched page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Page {
    /// Address after redirects.
    pub url: String,
    /// Media type without parameters.
    pub media_type: String,
    /// Its text, at most 1 MiB.
    pub text: String,
    /// It was cut.
    pub truncated: bool,
}

/// Why a page could not be fetched. These words are for people and logs; a model reads those of the issue or the tool
/// output.
#[derive(Debug, thiserror::Error)]
pub enum FetchFault {
    /// There is no network access.
    #[error("there is no network access")]
    Off,
    /// The address is not allowed, for the reason in the text. A retry does not help.
    #[error("refused: {0}")]
    Refused(String),
    /// The server answered with a status other than 2xx.
    #[error("the server answered {0}")]
    Status(u16),
    /// No text.
    #[error("content of type {0} is not text")]
    NotText(String),
    /// Network failure. A retry may help.
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
