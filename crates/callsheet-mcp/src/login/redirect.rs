//! The address on this machine to which a browser comes back after a login.

use std::io;

use reqwest::Url;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

use crate::limits::{REDIRECT, REDIRECT_WAIT};

/// The path of the address.
const PATH: &str = "/callback";

/// Listens for the browser.
pub(super) struct Redirect {
    listener: TcpListener,
    address: String,
}

impl Redirect {
    /// Listens on this machine only, on any free port if none is named.
    pub async fn listen(port: Option<u16>) -> io::Result<Self> {
        let listener = TcpListener::bind(("127.0.0.1", port.unwrap_or_default())).await?;
        let address = format!("http://127.0.0.1:{}{PATH}", listener.local_addr()?.port());
        Ok(Self { listener, address })
    }

    /// The address to come back to.
    pub fn address(&self) -> &str {
        &self.address
    }

    /// Waits for the browser. Returns the address that it requests, once this has the right `state`.
    pub async fn comes(&self, state: &str) -> io::Result<Url> {
        loop {
            let (stream, _) = self.listener.accept().await?;
            let answered = tokio::time::timeout(REDIRECT_WAIT, self.answered(stream, state)).await;
            // Anything on this machine may connect. Whatever is no answer of the login changes nothing.
            if let Ok(Ok(Some(url))) = answered {
                return Ok(url);
            }
        }
    }

    async fn answered(&self, mut stream: TcpStream, state: &str) -> io::Result<Option<Url>> {
        let mut head = Vec::new();
        while !head.windows(4).any(|end| end == b"\r\n\r\n") && head.len() < REDIRECT {
            let mut part = [0; 1024];
            match stream.read(&mut part).await? {
                0 => break,
                read => head.extend_from_slice(part.get(..read).unwrap_or_default()),
            }
        }
        let url = self.requested(&head).filter(|url| is_answer(url, state));
        let (status, words) = match &url {
            Some(_) => ("200 OK", "The login is back in Callsheet. You can close this page."),
            None => ("404 Not Found", "This address belongs to no login that is in progress."),
        };
        let kind = "content-type: text/plain; charset=utf-8\r\ncache-control: no-store\r\nconnection: close";
        let answer = format!("HTTP/1.1 {status}\r\n{kind}\r\ncontent-length: {}\r\n\r\n{words}", words.len());
        // What counts is what the browser asked, not whether it reads the answer.
        let _told = stream.write_all(answer.as_bytes()).await;
        let _closed = stream.shutdown().await;
        Ok(url)
    }

    /// The address of a request.
    fn requested(&self, head: &[u8]) -> Option<Url> {
        let line = std::str::from_utf8(head.split(|byte| *byte == b'\r').next()?).ok()?;
        let target = line.strip_prefix("GET ")?.split(' ').next()?;
        let url = Url::parse(&self.address).ok()?.join(target).ok()?;
        url.as_str().starts_with(&format!("{}?", self.address)).then_some(url)
    }
}

/// Whether an address answers the login that has this `state`.
pub(super) fn is_answer(url: &Url, state: &str) -> bool {
    let value = |name: &str| url.query_pairs().find(|(key, _)| key == name).map(|(_, value)| value.into_owned());
    value("state").as_deref() == Some(state) && (value("code").is_some() || value("error").is_some())
}
