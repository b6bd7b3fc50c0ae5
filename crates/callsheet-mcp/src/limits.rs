//! All limits on what a server may say and do.

use std::time::Duration;

/// Largest message of a server in bytes.
pub(crate) const MESSAGE: usize = 8 << 20;

/// Most bytes that a server may send from the start of one call to the start of the next one.
pub(crate) const FLOOD: usize = 64 << 20;

/// Most bytes of stderr that are kept of one process. The rest is read and dropped.
pub(crate) const LOG: u64 = 1 << 20;

/// Most bytes of stderr that a message shows.
pub(crate) const LAST_WORDS: usize = 600;

/// Most pages of a list of tools.
pub(crate) const PAGES: usize = 32;

/// Most tools of a server.
pub(crate) const TOOLS: usize = 256;

/// Most bytes of a declared name, description and schema.
pub(crate) const NAME: usize = 128;
pub(crate) const DESCRIPTION: usize = 16 << 10;
pub(crate) const SCHEMA: usize = 32 << 10;

/// Most characters of a description that a model reads: of a tool, and of a part of its arguments.
pub(crate) const TOLD: usize = 1_024;
pub(crate) const TOLD_PART: usize = 300;

/// How long a server may take to start and to list its tools, unless its settings say otherwise.
pub(crate) const START: Duration = Duration::from_secs(60);

/// How often a run starts one server.
pub(crate) const STARTS: usize = 3;

/// How long a server has to end by itself, and again after it was asked to.
pub(crate) const FAREWELL: Duration = Duration::from_millis(500);

/// Most characters of an error that a server returns.
pub(crate) const ERROR: usize = 2_000;
