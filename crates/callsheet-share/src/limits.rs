//! All limits on files that come from elsewhere.

/// The largest file in bytes.
pub const FILE: usize = 512 * 1024 * 1024;

/// The largest number of parts.
pub(crate) const PARTS: usize = 200_000;

/// The largest manifest in bytes.
pub(crate) const MANIFEST: usize = 64 * 1024 * 1024;

/// The largest part in bytes, unpacked.
pub(crate) const PART: usize = 256 * 1024 * 1024;

/// The largest size of all parts together in bytes, unpacked.
pub(crate) const UNPACKED: usize = 1024 * 1024 * 1024;

/// The longest name of a run in characters.
pub(crate) const NAME: usize = 100;

/// The largest approval in bytes.
pub(crate) const APPROVAL: usize = 1024 * 1024;

/// The largest work factor of scrypt that a file may demand, as a power of two. A larger one would take minutes.
pub(crate) const WORK_FACTOR: u8 = 22;
