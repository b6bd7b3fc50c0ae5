//! Known keys, by value. Wherever one occurs in shown text, its name replaces it.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::{PoisonError, RwLock};

/// A shorter value, in bytes, is not a key: masking it would hide ordinary words.
const SHORTEST: usize = 8;

/// How each mask begins.
pub const MASK: &str = "[masked: ";

/// Forms in which the values of keys appear, each with its mask.
#[derive(Debug, Default)]
struct Masker(BTreeMap<String, String>);

static KNOWN: RwLock<Masker> = RwLock::new(Masker(BTreeMap::new()));

/// Masks these values from now on. `name` is the replacement, such as the variable that holds the key.
pub fn keep_secret(values: impl IntoIterator<Item = (String, String)>) {
    let mut known = KNOWN.write().unwrap_or_else(PoisonError::into_inner);
    values.into_iter().for_each(|(name, value)| known.add(&name, &value));
}

/// The text with the names of known keys instead of their values.
pub fn mask(text: &str) -> Cow<'_, str> {
    KNOWN.read().unwrap_or_else(PoisonError::into_inner).mask(text)
}

/// Like `mask`, but for bytes that need not be text.
pub fn mask_bytes(bytes: &[u8]) -> Cow<'_, [u8]> {
    let known = KNOWN.read().unwrap_or_else(PoisonError::into_inner);
    let is_in = |form: &&String| bytes.windows(form.len()).any(|part| part == form.as_bytes());
    let found: Vec<(&String, &String)> = known.0.iter().filter(|(form, _)| is_in(form)).collect();
    if found.is_empty() {
        return Cow::Borrowed(bytes);
    }
    let mut out = Vec::with_capacity(bytes.len());
    let mut rest = bytes;
    while let Some(first) = rest.first() {
        match found.iter().rev().find(|(form, _)| rest.starts_with(form.as_bytes())) {
            Some((form, mask)) => {
                out.extend_from_slice(mask.as_bytes());
                rest = rest.get(form.len()..).unwrap_or_default();
            }
            None => {
                out.push(*first);
                rest = rest.get(1..).unwrap_or_default();
            }
        }
    }
    Cow::Owned(out)
}

impl Masker {
    /// Adds the value unchanged, and in its forms in JSON, HTML and addresses.
    fn add(&mut self, name: &str, value: &str) {
        let value = value.trim();
        if value.len() < SHORTEST {
            return;
        }
        let json = serde_json::to_string(value).unwrap_or_default();
        let html = value.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;");
        let address: String = value
            .bytes()
            .map(|byte| match byte {
                b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'~' => char::from(byte).to_string(),
                _ => format!("%{byte:02X}"),
            })
            .collect();
        for form in [value, json.trim_matches('"'), html.as_str(), address.as_str()] {
            self.0.entry(form.to_owned()).or_insert_with(|| format!("{MASK}{name}]"));
        }
    }

    fn mask<'a>(&self, text: &'a str) -> Cow<'a, str> {
        let mut masked = Cow::Borrowed(text);
        // If one value begins with another, the longer one comes first.
        for (form, mask) in self.0.iter().rev() {
            if masked.contains(form.as_str()) {
                masked = Cow::Owned(masked.replace(form.as_str(), mask));
            }
        }
        masked
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn known(values: &[(&str, &str)]) -> Masker {
        let mut masker = Masker::default();
        values.iter().for_each(|(name, value)| masker.add(name, value));
        masker
    }

    #[test]
    fn keys_are_masked_in_each_of_their_forms() {
        let masker = known(&[
            ("A_KEY", " sk-a\"b&c/d9\n"),
            ("SHORT", "1234567"),
            ("LONG", "sk-12345678"),
            ("LONGER", "sk-123456789"),
        ]);
        for form in ["sk-a\"b&c/d9", r#"sk-a\"b&c/d9"#, "sk-a&quot;b&amp;c/d9", "sk-a%22b%26c%2Fd9"] {
            assert_eq!(masker.mask(&format!("1{form}2{form}")), "1[masked: A_KEY]2[masked: A_KEY]", "{form}");
        }
        assert_eq!(masker.mask("1234567 sk-12345678 sk-123456789"), "1234567 [masked: LONG] [masked: LONGER]");
        assert!(matches!(masker.mask("nothing"), Cow::Borrowed(_)));
    }

    #[test]
    fn bytes_that_are_no_text_are_masked() {
        keep_secret([("OF_A_TEST".to_owned(), "the key of a test of bytes".to_owned())]);
        let found = mask_bytes(b"\xff the key of a test of bytes \xfe");
        assert_eq!(&*found, b"\xff [masked: OF_A_TEST] \xfe");
        assert!(matches!(mask_bytes(b"\xff none"), Cow::Borrowed(_)));
    }
}
