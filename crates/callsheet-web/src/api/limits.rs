//! The limits of the interface for programs, all in one place.

use std::time::Duration;

/// The largest body of a request in bytes.
pub(super) const BODY: usize = 1024 * 1024;

/// The largest recorded text that is sent, in bytes.
pub(super) const BLOB: usize = 16 * 1024 * 1024;

/// How many connections are open at a time, those of the page included.
pub(crate) const CONNECTIONS: usize = 256;

/// How many streams of events are open at a time.
pub(super) const STREAMS: usize = 32;

/// How often the log of a followed run is read.
pub(super) const TICK: Duration = Duration::from_millis(250);

/// How many keys of started and resumed runs are remembered.
pub(super) const KEYS: usize = 1_024;

/// The longest key in characters.
pub(super) const KEY: usize = 64;

/// How many runs are listed at most.
pub(super) const LISTED: usize = 200;

/// How many runs that programs started are at work at a time.
pub const RUNS: usize = 32;
