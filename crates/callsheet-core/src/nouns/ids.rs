//! Identifiers. Each is a text with its own rule, and the types keep them apart. A run names a task or a blob in many
//! places, so copies share the text.

use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

macro_rules! text_id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(transparent)]
        #[cfg_attr(test, derive(schemars::JsonSchema))]
        pub struct $name(
            #[serde(with = "shared")]
            #[cfg_attr(test, schemars(with = "String"))]
            Arc<str>,
        );

        impl $name {
            /// Wraps a text that already satisfies the rule of this identifier.
            pub fn new(text: impl Into<String>) -> Self {
                let text: String = text.into();
                Self(Arc::from(text))
            }

            /// The text itself.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }
    };
}

text_id! {
    /// The stable name of a task within a run (spec 6.2): `[a-z0-9-]`, at most 64 characters, never reassigned.
    Slug
}
text_id! {
    /// The name of a run, unique in a project: date, time and a few letters of the request.
    RunId
}
text_id! {
    /// The name of one execution of a task (spec 10.1): `exec`, `loop`, `tool-<i>` or `ref-<i>`.
    ExecutionId
}
text_id! {
    /// The content hash of a blob: lower-case hexadecimal SHA-256.
    BlobId
}

impl BlobId {
    /// The id of `bytes`.
    pub fn of(bytes: &[u8]) -> Self {
        let mut hasher = BlobHasher::default();
        hasher.update(bytes);
        hasher.finish()
    }
}

/// The id of bytes that arrive in pieces.
#[derive(Clone, Default)]
pub struct BlobHasher(Sha256);

impl BlobHasher {
    /// Takes a further piece.
    pub fn update(&mut self, bytes: &[u8]) {
        self.0.update(bytes);
    }

    /// The id of all pieces.
    pub fn finish(self) -> BlobId {
        let digest = self.0.finalize();
        let mut text = String::with_capacity(64);
        for byte in digest {
            text.push(char::from_digit(u32::from(byte >> 4), 16).unwrap_or('0'));
            text.push(char::from_digit(u32::from(byte & 15), 16).unwrap_or('0'));
        }
        BlobId(Arc::from(text))
    }
}

mod shared {
    use std::sync::Arc;

    use serde::{Deserialize, Deserializer, Serializer};

    pub(super) fn serialize<S: Serializer>(text: &Arc<str>, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(text)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Arc<str>, D::Error> {
        String::deserialize(deserializer).map(Arc::from)
    }
}
