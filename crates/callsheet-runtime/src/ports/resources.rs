//! Resources of the MCP servers that a person named (spec 5.13).

use async_trait::async_trait;

use super::{Page, ShownPicture};

/// The content of a resource.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Resource {
    /// A text, cut like a page.
    Text(Page),
    /// A picture that models may see (spec 5.14).
    Picture(ShownPicture),
}

/// Why a resource cannot be shown.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ResourceFault {
    /// There is no such server, or it does not list the resource. Names links to others.
    #[error("there is no such resource")]
    Missing(Vec<String>),
    /// The server cannot be reached, or the resource is neither text nor a picture.
    #[error("{0}")]
    Unreadable(String),
}

/// Reads resources.
#[async_trait]
pub trait Resources: Send + Sync {
    /// A resource that its server lists. Blocks until the server has answered. Its content is untrusted.
    ///
    /// # Errors
    /// See `ResourceFault`.
    fn read(&self, server: &str, uri: &str) -> Result<Resource, ResourceFault>;

    /// Ends the servers that were started.
    async fn end(&self) {}
}

/// No server is named.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoResources;

impl Resources for NoResources {
    fn read(&self, _: &str, _: &str) -> Result<Resource, ResourceFault> {
        Err(ResourceFault::Missing(Vec::new()))
    }
}
