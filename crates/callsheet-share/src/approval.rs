//! An approval as a file: what somebody approved, signed. It counts only for exactly that.

use callsheet_core::nouns::{BlobId, RunId};
use serde::{Deserialize, Serialize};

use crate::fault::ShareFault;
use crate::keys::{PublicKey, SigningKey};
use crate::limits;

/// The version of the format.
const VERSION: u32 = 1;

/// What a signature of an approval is about.
const ABOUT: &str = "callsheet approval";

/// A gate that was approved.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ApprovedGate {
    /// The number of the gate.
    pub gate: u32,
    /// The hash of what it asks about.
    pub asked: BlobId,
    /// Only these of its tasks. Empty means all.
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

/// An approval and its signature, as they are in a file.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Signed {
    /// The approval as text, because the signature is about exactly these characters.
    approval: String,
    key: PublicKey,
    signature: String,
}

/// An approval whose signature is right. Whether its key is granted anything is for others to say.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SignedApproval {
    /// The run.
    pub run: RunId,
    /// The gates that were approved.
    pub gates: Vec<ApprovedGate>,
    /// Who signed it.
    pub key: PublicKey,
    /// The hash of the signed text, which tells one approval from another.
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
    /// It is no approval, or was changed after it was signed.
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
