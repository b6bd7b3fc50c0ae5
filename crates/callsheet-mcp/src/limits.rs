//! All limits on what a server may send and do.

use std::time::Duration;

/// Largest message from a server, in bytes.
pub(crate) const MESSAGE: usize = 8 << 20;

/// Deepest nesting of a message. The library reads none that is deeper.
pub(crate) const NESTING: usize = 127;

/// Most bytes that a server may send between the start of one call and the start of the next.
pub(crate) const FLOOD: usize = 64 << 20;

/// Most bytes of one process's stderr that are kept. The rest is read and dropped.
pub(crate) const LOG: u64 = 1 << 20;

/// Most bytes of stderr that a message shows.
pub(crate) const LAST_WORDS: usize = 600;

/// Most pages of a list of tools.
pub(crate) const PAGES: usize = 32;

/// Most tools of a server.
pub(crate) const TOOLS: usize = 256;

/// Most bytes of a declared name.
pub(crate) const NAME: usize = 128;

/// Most bytes of a declared description.
pub(crate) const DESCRIPTION: usize = 16 << 10;

/// Most bytes of a declared schema.
pub(crate) const SCHEMA: usize = 32 << 10;

/// Most parts of a declared schema after each reference is replaced by its target. Validating arguments can visit all
/// of them.
pub(crate) const EXPANSION: u64 = 100_000;

/// Most references in a row in a declared schema.
pub(crate) const REFERENCES: usize = 64;

/// Most characters of a tool's description that a model reads.
pub(crate) const TOLD: usize = 1_024;

/// Most characters that a model reads of a description inside a tool's schema.
pub(crate) const TOLD_PART: usize = 300;

/// How long a server may take to start and to list its tools, unless its settings say otherwise.
pub(crate) const START: Duration = Duration::from_secs(60);

/// How often the streams of a server may break off and be reopened during one call.
pub(crate) const REOPENED: usize = 16;

/// How long to wait before a stream is reopened.
pub(crate) const REOPEN: Duration = Duration::from_secs(1);

/// How often a run may connect to one server. Each time, its process may start twice: the second time for the older
/// revision of the protocol.
pub(crate) const STARTS: usize = 3;

/// How long a server has to exit by itself, and again after it is signalled to.
pub(crate) const FAREWELL: Duration = Duration::from_millis(500);

/// How many runs of one program may be in progress at the same time.
pub const RUNS: usize = 8;

/// Most resources of a server.
pub(crate) const RESOURCES: usize = 4_096;

/// Most bytes of a resource that are kept, as of a page.
pub(crate) const RESOURCE: usize = 1 << 20;

/// Most questions that a server may ask a person during one call.
pub(crate) const QUESTIONS: usize = 10;

/// Most values that one question may ask for.
pub(crate) const FIELDS: usize = 20;

/// Most characters of an error that a server returns.
pub(crate) const ERROR: usize = 2_000;

/// How long a person has to log in.
pub(crate) const LOGIN: Duration = Duration::from_secs(5 * 60);

/// How long an authorization server may take to revoke a login.
pub(crate) const REVOCATION: Duration = Duration::from_secs(10);

/// Most characters of a scope that a message names.
pub(crate) const SCOPE: usize = 200;

/// Most bytes of a browser's request after a login.
pub(crate) const REDIRECT: usize = 16 << 10;

/// How long a browser may take for that request.
pub(crate) const REDIRECT_WAIT: Duration = Duration::from_secs(5);
