//! Why a server gave no result: words for the person, and for the model.

use callsheet_core::visible::visible_line;
use callsheet_runtime::ports::{ToolFault, ToolOutcome};

use crate::words::say;

/// Why a server gave no result.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Trouble {
    /// It cannot be started or reached, or breaks the protocol.
    #[error("the server {server} can't be used: {reason}")]
    Unusable {
        /// The server.
        server: String,
        /// Why, as a sentence.
        reason: String,
    },
    /// It wants a login that it was not given.
    #[error("the server {server} wants a login; give it a header with a token")]
    Login {
        /// The server.
        server: String,
    },
    /// It ended while it was asked.
    #[error("the server {server} ended during a call ({said})")]
    Ended {
        /// The server.
        server: String,
        /// How, and its last words.
        said: String,
    },
    /// It sent more than it may.
    #[error("the server {server} sent too much data and was ended")]
    Flood {
        /// The server.
        server: String,
    },
    /// It did not answer in time.
    #[error("the server {server} did not answer within {seconds} s")]
    Slow {
        /// The server.
        server: String,
        /// The time it had.
        seconds: u64,
    },
    /// It returned an error.
    #[error("the server {server} refused: {error}")]
    Refused {
        /// The server.
        server: String,
        /// Its words.
        error: String,
    },
    /// The tool is not what the person confirmed.
    #[error("the server {server} changed its tool {tool}; look at it: callsheet tools confirm {server}")]
    Changed {
        /// The server.
        server: String,
        /// The tool.
        tool: String,
    },
    /// The tool is no longer there.
    #[error("the server {server} no longer has the tool {tool}; look at it: callsheet tools confirm {server}")]
    Gone {
        /// The server.
        server: String,
        /// The tool.
        tool: String,
    },
    /// Files of its program are not as the person confirmed them.
    #[error(
        "the server {server} isn't started, because these files are not as you confirmed them: {files}; look at them, then run callsheet tools confirm {server}"
    )]
    Altered {
        /// The server.
        server: String,
        /// The files.
        files: String,
    },
    /// Its answer to a call is not a result.
    #[error("the server {server} answered a call with something that is not a result")]
    Odd {
        /// The server.
        server: String,
    },
    /// It asks a person something during a call.
    #[error("the server {server} asks a question during a call, which Callsheet does not support")]
    AsksBack {
        /// The server.
        server: String,
    },
}

impl Trouble {
    /// What became of a call. The person hears what the model cannot fix.
    pub(crate) fn outcome(self) -> Result<ToolOutcome, ToolFault> {
        let person = visible_line(&self.to_string());
        let model = match &self {
            Self::Unusable { server, reason } => say("unusable", &[("server", server), ("reason", reason)]),
            Self::Login { server } => say("unusable", &[("server", server), ("reason", &"it wants a login.")]),
            Self::Ended { server, said } => say("ended", &[("server", server), ("said", said)]),
            Self::Flood { server } => say("flood", &[("server", server)]),
            Self::Slow { server, seconds } => {
                return Ok(ToolOutcome::Failed(say("slow", &[("server", server), ("seconds", seconds)])));
            }
            Self::Refused { server, error } => {
                return Ok(ToolOutcome::Failed(say("refused", &[("server", server), ("error", error)])));
            }
            Self::Changed { server, .. } => say("changed", &[("server", server)]),
            Self::Gone { server, .. } => say("gone", &[("server", server)]),
            Self::Altered { server, .. } => say("altered", &[("server", server)]),
            Self::Odd { server } => say("odd", &[("server", server)]),
            Self::AsksBack { server } => say("asks-back", &[("server", server)]),
        };
        Err(ToolFault::Told { person, model })
    }
}
