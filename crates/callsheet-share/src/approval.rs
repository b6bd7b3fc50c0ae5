//! A signed approval as a file. It counts for exactly what the signer saw, and for nothing else.

use callsheet_core::nouns::{BlobId, RunId};
use serde::{Deserialize, Serialize};

use crate::fault::ShareFault;
use crate::keys::{PublicKey, SigningKey};
use crate::limits;

/// The version of the format.
const VERSION: u32 = 1;

/// The prefix of what is signed, so that a signature of an approval counts for nothing else.
const ABOUT: &str = "callsheet approval";

/// A gate that was approved.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ApprovedGate {
    /// The number of the gate.
    pub gate: u32,
    /// The hash of what the gate asks about.
    pub asked: BlobId,
    /// The approved tasks of the gate. Empty means all.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tasks: Vec<String>,
}

/// What was approved in a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Approved {
    callsheet_approval: u32,
    run: RunId,
    gates: Vec<ApprovedGate>,
}

/// An approval and its signature, as a file contains them.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Signed {
    /// The approval as text, because the signature covers exactly these characters.
    approval: String,
    key: PublicKey,
    signature: String,
}

/// An approval with a valid signature. The caller decides whether the key may approve anything.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SignedApproval {
    /// The run.
    pub run: RunId,
    /// The gates that were approved.
    pub gates: Vec<ApprovedGate>,
    /// The key of the signer.
    pub key: PublicKey,
    /// The hash of the signed text. It identifies the approval.
    pub id: BlobId,
}

/// Whether a file is an approval.
pub fn is_approval(bytes: &[u8]) -> bool {
    bytes.trim_ascii_start().starts_with(b"{")
}

impl SignedApproval {
    /// Signs an approval. Returns the file.
    pub fn sign(run: &RunId, gates: Vec<ApprovedGate>, key: &SigningKey) -> String {
        let approved = Approved { callsheet_approval: VERSION, run: run.clone(), gates };
        let approval = serde_json::to_string(&approved).unwrap_or_default();
        let signature = key.sign(ABOUT, approval.as_bytes());
        let signed = Signed { approval, key: key.public(), signature };
        serde_json::to_string_pretty(&signed).unwrap_or_default() + "\n"
    }

    /// Reads a file.
    ///
    /// # Errors
    /// The file is not an approval, or was changed after it was signed.
    pub fn read(bytes: &[u8]) -> Result<Self, ShareFault> {
        if bytes.len() > limits::APPROVAL {
            return Err(ShareFault::TooLarge(format!("an approval has at most {} bytes", limits::APPROVAL)));
        }
        let foreign = |error: serde_json::Error| ShareFault::Foreign(error.to_string());
        let Signed { approval, key, signature } = serde_json::from_slice(bytes).map_err(foreign)?;
        key.check(ABOUT, approval.as_bytes(), &signature)?;
        let version = serde_json::from_str::<serde_json::Value>(&approval).map_err(foreign)?;
        let found = version["callsheet_approval"].as_u64().and_then(|found| u32::try_from(found).ok()).unwrap_or(0);
        if found > VERSION {
            return Err(ShareFault::TooNew { found, known: VERSION });
        }
        let id = BlobId::of(approval.as_bytes());
        let Approved { run, gates, .. } = serde_json::from_str(&approval).map_err(foreign)?;
        Ok(Self { run, gates, key, id })
    }
}
