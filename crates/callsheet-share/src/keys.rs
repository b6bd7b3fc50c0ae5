//! Keys that sign and check signatures (Ed25519).

use std::fmt;

use ring::rand::{SecureRandom, SystemRandom};
use ring::signature::{ED25519, Ed25519KeyPair, KeyPair, UnparsedPublicKey};
use serde::{Deserialize, Serialize};

use crate::fault::ShareFault;

/// The prefix of a signing key as text.
const SECRET: &str = "CALLSHEET-SIGNING-KEY-";

/// The prefix of a public key as text.
const PUBLIC: &str = "callsheet-key-";

/// A key that signs.
pub struct SigningKey {
    seed: [u8; 32],
    pair: Ed25519KeyPair,
}

impl fmt::Debug for SigningKey {
    /// Hides the key.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SigningKey").finish_non_exhaustive()
    }
}

impl SigningKey {
    /// Makes a new key.
    ///
    /// # Errors
    /// The system cannot provide random bytes.
    pub fn generate() -> Result<Self, ShareFault> {
        let mut seed = [0_u8; 32];
        SystemRandom::new()
            .fill(&mut seed)
            .map_err(|_| ShareFault::Key("the system cannot provide random bytes".to_owned()))?;
        Self::of(seed)
    }

    fn of(seed: [u8; 32]) -> Result<Self, ShareFault> {
        let pair = Ed25519KeyPair::from_seed_unchecked(&seed);
        pair.map(|pair| Self { seed, pair }).map_err(|_| ShareFault::Key("this signing key is damaged".to_owned()))
    }

    /// The key in the text of a key file.
    ///
    /// # Errors
    /// The text contains no signing key, or a damaged one.
    pub fn read(text: &str) -> Result<Self, ShareFault> {
        let line = text.lines().find_map(|line| line.trim().strip_prefix(SECRET));
        let seed = line.and_then(bytes).and_then(|bytes| <[u8; 32]>::try_from(bytes).ok());
        seed.map_or_else(|| Err(ShareFault::Key("there is no signing key in this file".to_owned())), Self::of)
    }

    /// The line for a key file. Whoever has it can sign.
    pub fn secret(&self) -> String {
        format!("{SECRET}{}", hex(&self.seed))
    }

    /// The key with which others check its signatures.
    pub fn public(&self) -> PublicKey {
        PublicKey(format!("{PUBLIC}{}", hex(self.pair.public_key().as_ref())))
    }

    /// Signs bytes. `about` says what the bytes are, so that a signature for one purpose counts for no other.
    pub(crate) fn sign(&self, about: &str, bytes: &[u8]) -> String {
        hex(self.pair.sign(&signed(about, bytes)).as_ref())
    }
}

/// A public key as text. It checks signatures.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct PublicKey(String);

impl PublicKey {
    /// Reads a key. `None` if the text is not a public key.
    pub fn read(text: &str) -> Option<Self> {
        let key = text.strip_prefix(PUBLIC).and_then(bytes)?;
        (key.len() == 32).then(|| Self(format!("{PUBLIC}{}", hex(&key))))
    }

    /// The text of the key.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Checks a signature.
    pub(crate) fn check(&self, about: &str, message: &[u8], signature: &str) -> Result<(), ShareFault> {
        let key = self.0.strip_prefix(PUBLIC).and_then(bytes).ok_or(ShareFault::Signature)?;
        let signature = bytes(signature).ok_or(ShareFault::Signature)?;
        UnparsedPublicKey::new(&ED25519, key)
            .verify(&signed(about, message), &signature)
            .map_err(|_| ShareFault::Signature)
    }
}

fn signed(about: &str, bytes: &[u8]) -> Vec<u8> {
    [about.as_bytes(), &[0], bytes].concat()
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn bytes(hex: &str) -> Option<Vec<u8>> {
    if !hex.len().is_multiple_of(2) || !hex.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return None;
    }
    let pairs = hex.as_bytes().chunks(2);
    pairs.map(|pair| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok()).collect()
}
