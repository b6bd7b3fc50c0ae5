//! What a person allowed for longer than one answer.

use crate::grants::{CommandCall, Grant};

/// The person's grants of commands.
pub trait Grants: Send + Sync {
    /// The grant that counts for this command in this project now. One that was revoked a moment ago does not.
    fn covering(&self, call: &CommandCall) -> Option<Grant>;
}
