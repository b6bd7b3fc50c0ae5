//! Sharing (spec 14): a run as one file for another machine or person, and approvals that come back. A file is checked
//! as a whole before any of it is used. Nothing in it is unpacked to a path on this machine.

mod approval;
mod container;
mod fault;
mod keys;
mod limits;
mod record;
mod sealed;

pub use approval::{ApprovedGate, SignedApproval, is_approval};
pub use container::{PackageKind, Packed, Unpacked, pack, unpack};
pub use fault::ShareFault;
pub use keys::{PublicKey, SigningKey};
pub use limits::FILE;
pub use record::{Adopted, RunRecord, adopt, collect};
pub use sealed::{
    Recipient, Unsealing, is_recipient, is_sealed, needs_passphrase, new_identity, open, recipient_of, seal,
};
