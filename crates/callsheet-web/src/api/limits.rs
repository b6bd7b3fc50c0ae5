//! All limits of the interface for programs.

use std::time::Duration;

/// The largest request body in bytes.
pub(super) const BODY: usize = 1024 * 1024;

/// The largest recorded text that a response contains, in bytes.
pub(super) const BLOB: usize = 16 * 1024 * 1024;

/// How many connections may be open at a time, including those of the page.
pub(crate) const CONNECTIONS: usize = 256;

/// How many event streams may be open at a time.
pub(super) const STREAMS: usize = 32;

/// How often the log of a followed run is read.
pub(super) const TICK: Duration = Duration::from_millis(250);

/// How many keys of starts and resumes are remembered.
pub(super) const KEYS: usize = 1_024;

/// The longest key in characters.
pub(super) const KEY: usize = 64;

/// How many runs one list contains at most.
pub(super) const LISTED: usize = 200;

/// How many runs that programs started may be in progress at a time.
pub const RUNS: usize = 32;
