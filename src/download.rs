//! Downloads model weights over HTTP: the `Download` port of `callsheet-local`.

use async_trait::async_trait;
use callsheet_local::weights::{Chunks, Download, DownloadFault, Opened};
use secrecy::{ExposeSecret, SecretString};

/// One client, created at the first download.
pub struct HttpDownload {
    client: std::sync::OnceLock<reqwest::Client>,
    token: Option<SecretString>,
}

impl HttpDownload {
    /// Downloads with this token of the model hub, if there is one. A redirect to another host does not get the
    /// token.
    pub fn new(token: Option<String>) -> Self {
        let token = token.map(|token| token.trim().to_owned()).filter(|token| !token.is_empty());
        Self { client: std::sync::OnceLock::new(), token: token.map(SecretString::from) }
    }
}

struct Body(reqwest::Response);

#[async_trait]
impl Download for HttpDownload {
    async fn open(&self, url: &str, from: u64) -> Result<Opened, DownloadFault> {
        // Another part of the process may have chosen a provider already. Any provider is fine.
        let _chosen = rustls::crypto::ring::default_provider().install_default();
        let client = self.client.get_or_init(reqwest::Client::new);
        let mut request = client.get(url);
        if let Some(token) = &self.token {
            request = request.bearer_auth(token.expose_secret());
        }
        if from > 0 {
            request = request.header("Range", format!("bytes={from}-"));
        }
        let response = request.send().await.map_err(|error| network(&error))?;
        let status = response.status().as_u16();
        if status != 200 && status != 206 {
            return Err(DownloadFault::Status(status));
        }
        let from = if status == 206 { from } else { 0 };
        let total = response.content_length().map(|length| length + from);
        Ok(Opened { from, total, body: Box::new(Body(response)) })
    }
}

#[async_trait]
impl Chunks for Body {
    async fn next(&mut self) -> Result<Option<Vec<u8>>, DownloadFault> {
        let chunk = self.0.chunk().await.map_err(|error| network(&error))?;
        Ok(chunk.map(|bytes| bytes.to_vec()))
    }
}

fn network(error: &reqwest::Error) -> DownloadFault {
    let mut text = error.to_string();
    let mut source = std::error::Error::source(error);
    while let Some(inner) = source {
        text = inner.to_string();
        source = inner.source();
    }
    DownloadFault::Network(text)
}
