//! Encryption of a file in the age format. The program `age` can also open it.

use std::io::{Read, Write};
use std::iter;

use age::secrecy::{ExposeSecret, SecretString};
use age::{DecryptError, Decryptor, Encryptor, Identity, scrypt, x25519};

use crate::fault::ShareFault;
use crate::limits;

/// How an encrypted file begins.
const MAGIC: &[u8] = b"age-encryption.org/v1\n";

/// Who can open a file.
#[derive(Clone, Debug)]
pub enum Recipient {
    /// Whoever has the identity of one of these keys, `age1…`.
    Keys(Vec<String>),
    /// Whoever knows the passphrase.
    Passphrase(String),
}

/// What opens a file.
#[derive(Clone, Debug)]
pub enum Unsealing {
    /// The text of a key file with identities.
    Identities(String),
    /// A passphrase.
    Passphrase(String),
}

/// Whether a text is a public key to which files can be encrypted.
pub fn is_recipient(text: &str) -> bool {
    text.parse::<x25519::Recipient>().is_ok()
}

/// Makes a new identity, as a line for a key file.
pub fn new_identity() -> String {
    x25519::Identity::generate().to_string().expose_secret().to_owned()
}

/// The public key for the first identity of a key file. Others encrypt to it.
///
/// # Errors
/// The text contains no identity, or a damaged one.
pub fn recipient_of(text: &str) -> Result<String, ShareFault> {
    identities(text)?.first().map(|identity| identity.to_public().to_string()).ok_or_else(no_identity)
}

fn no_identity() -> ShareFault {
    ShareFault::Key("there is no identity (AGE-SECRET-KEY-1…) in this file".to_owned())
}

fn identities(text: &str) -> Result<Vec<x25519::Identity>, ShareFault> {
    let lines = text.lines().map(str::trim).filter(|line| line.starts_with("AGE-SECRET-KEY-1"));
    lines
        .map(|line| line.parse().map_err(|_| ShareFault::Key("an identity in this file is damaged".to_owned())))
        .collect()
}

/// Whether a file is encrypted.
pub fn is_sealed(bytes: &[u8]) -> bool {
    bytes.starts_with(MAGIC)
}

/// Whether an encrypted file opens with a passphrase.
pub fn needs_passphrase(bytes: &[u8]) -> bool {
    Decryptor::new(bytes).is_ok_and(|sealed| sealed.is_scrypt())
}

/// Encrypts bytes.
///
/// # Errors
/// A key is not valid.
pub fn seal(bytes: &[u8], to: &Recipient) -> Result<Vec<u8>, ShareFault> {
    let failed = |error: &dyn std::fmt::Display| ShareFault::Key(format!("the file can't be encrypted: {error}"));
    let encryptor = match to {
        Recipient::Keys(keys) => {
            let keys: Vec<x25519::Recipient> = keys
                .iter()
                .map(|key| key.parse().map_err(|_| ShareFault::Key(format!("{key} is not an age key (age1…)"))))
                .collect::<Result<_, _>>()?;
            Encryptor::with_recipients(keys.iter().map(|key| key as &dyn age::Recipient)).map_err(|e| failed(&e))?
        }
        Recipient::Passphrase(words) => Encryptor::with_user_passphrase(SecretString::from(words.clone())),
    };
    let mut sealed = Vec::new();
    let mut writer = encryptor.wrap_output(&mut sealed).map_err(|error| failed(&error))?;
    writer.write_all(bytes).map_err(|error| failed(&error))?;
    writer.finish().map_err(|error| failed(&error))?;
    Ok(sealed)
}

/// Decrypts bytes. Refuses a file that was changed.
///
/// # Errors
/// The key or the passphrase is wrong, or the file was changed or is too large.
pub fn open(bytes: &[u8], with: &Unsealing) -> Result<Vec<u8>, ShareFault> {
    let sealed = Decryptor::new(bytes).map_err(|error| wrong(&error))?;
    let mut opened = Vec::new();
    let reader = match with {
        Unsealing::Identities(text) => {
            let identities = identities(text)?;
            if identities.is_empty() {
                return Err(no_identity());
            }
            sealed.decrypt(identities.iter().map(|identity| identity as &dyn Identity))
        }
        Unsealing::Passphrase(words) => {
            let mut identity = scrypt::Identity::new(SecretString::from(words.clone()));
            identity.set_max_work_factor(limits::WORK_FACTOR);
            sealed.decrypt(iter::once(&identity as &dyn Identity))
        }
    };
    let most = u64::try_from(limits::FILE).unwrap_or(u64::MAX);
    let mut reader = reader.map_err(|error| wrong(&error))?.take(most.saturating_add(1));
    reader.read_to_end(&mut opened).map_err(|error| ShareFault::Damaged(error.to_string()))?;
    if opened.len() > limits::FILE {
        return Err(ShareFault::TooLarge(format!("more than {} bytes", limits::FILE)));
    }
    Ok(opened)
}

fn wrong(error: &DecryptError) -> ShareFault {
    match error {
        DecryptError::NoMatchingKeys => ShareFault::Key("this file was encrypted to another key".to_owned()),
        DecryptError::DecryptionFailed | DecryptError::KeyDecryptionFailed => {
            ShareFault::Key("this passphrase does not open the file".to_owned())
        }
        DecryptError::ExcessiveWork { .. } => ShareFault::TooLarge("its passphrase takes too long to check".to_owned()),
        other => ShareFault::Damaged(other.to_string()),
    }
}
