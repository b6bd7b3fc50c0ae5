//! Makes text from bytes that arrive in pieces.

/// Holds back the bytes of an incomplete character.
#[derive(Default)]
pub(super) struct Utf8Stream {
    held: Vec<u8>,
}

impl Utf8Stream {
    /// The text that is complete now. Bytes that can never become a character are replaced.
    pub fn push(&mut self, bytes: &[u8]) -> String {
        self.held.extend_from_slice(bytes);
        let mut out = String::new();
        loop {
            match std::str::from_utf8(&self.held) {
                Ok(text) => {
                    out.push_str(text);
                    self.held.clear();
                    return out;
                }
                Err(fault) => {
                    let valid = fault.valid_up_to();
                    out.push_str(&String::from_utf8_lossy(self.held.get(..valid).unwrap_or_default()));
                    let Some(bad) = fault.error_len() else {
                        self.held.drain(..valid);
                        return out;
                    };
                    out.push(char::REPLACEMENT_CHARACTER);
                    self.held.drain(..(valid + bad).min(self.held.len()));
                }
            }
        }
    }

    /// The rest of the held bytes, at the end of the stream.
    pub fn finish(&mut self) -> String {
        let rest = std::mem::take(&mut self.held);
        String::from_utf8_lossy(&rest).into_owned()
    }
}
