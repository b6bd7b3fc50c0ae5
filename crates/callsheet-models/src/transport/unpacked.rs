//! Unpacks bodies that a server or proxy compressed without being asked.

use std::io::Write;

use flate2::write::MultiGzDecoder;
use reqwest::header::{CONTENT_ENCODING, HeaderMap};

/// Unpacks the bytes of a body as they arrive.
pub(super) enum Unpacked {
    Plain,
    Gzip(Box<MultiGzDecoder<Vec<u8>>>),
}

impl Unpacked {
    /// Chooses the method from the headers of an answer.
    pub fn of(headers: &HeaderMap) -> Self {
        let encoding = headers.get(CONTENT_ENCODING).and_then(|value| value.to_str().ok()).unwrap_or_default();
        match encoding.trim().to_lowercase().as_str() {
            "gzip" | "x-gzip" => Self::Gzip(Box::new(MultiGzDecoder::new(Vec::new()))),
            _ => Self::Plain,
        }
    }

    /// The next bytes.
    pub fn push(&mut self, bytes: &[u8]) -> std::io::Result<Vec<u8>> {
        match self {
            Self::Plain => Ok(bytes.to_vec()),
            Self::Gzip(decoder) => {
                decoder.write_all(bytes)?;
                decoder.flush()?;
                Ok(std::mem::take(decoder.get_mut()))
            }
        }
    }
}
