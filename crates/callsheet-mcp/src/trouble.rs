//! Why a server gave no result, in words for the person and for the model.

use callsheet_core::visible::visible_line;
use callsheet_runtime::ports::{ToolFault, ToolOutcome};

use crate::words::say;

/// Why a server gave no result.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Trouble {
    /// The server cannot be started or reached, or breaks the protocol.
    #[error("the server {server} can't be used: {reason}")]
    Unusable {
        /// The server.
        server: String,
        /// The reason, with a full stop.
        reason: String,
    },
    /// The server requires a login, and there is none that it accepts.
    #[error(
        "the server {server} requires a login; run callsheet mcp login {server}, or add a header with a token to its settings"
    )]
    Login {
        /// The server.
        server: String,
    },
    /// The login lacks a right that the server requires.
    #[error("the server {server} requires more rights than its login has; run {}", login_command(server, scope))]
    Scope {
        /// The server.
        server: String,
        /// The scope. Empty if it is unknown.
        scope: String,
    },
    /// The server ended during a request.
    #[error("the server {server} ended during a call ({said})")]
    Ended {
        /// The server.
        server: String,
        /// How it ended, and the end of its stderr.
        said: String,
    },
    /// The server sent more than it may.
    #[error("the server {server} sent too much data, or data that is nested too deeply, and was ended")]
    Flood {
        /// The server.
        server: String,
    },
    /// The server did not answer in time.
    #[error("the server {server} did not answer within {seconds} s")]
    Slow {
        /// The server.
        server: String,
        /// The time it had.
        seconds: u64,
    },
    /// The server returned an error.
    #[error("the server {server} returned an error: {error}")]
    Refused {
        /// The server.
        server: String,
        /// The error message of the server.
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
    /// The server no longer has the tool.
    #[error("the server {server} no longer has the tool {tool}; look at it: callsheet tools confirm {server}")]
    Gone {
        /// The server.
        server: String,
        /// The tool.
        tool: String,
    },
    /// Files of the server's program are not as the person confirmed them.
    #[error(
        "the server {server} isn't started, because these files are not as you confirmed them: {files}; look at them, then run callsheet tools confirm {server}"
    )]
    Altered {
        /// The server.
        server: String,
        /// The files.
        files: String,
    },
    /// The server answered a call with something other than a result.
    #[error("the server {server} answered a call with something other than a result")]
    Odd {
        /// The server.
        server: String,
    },
    /// The server asks for something during a call that it does not get.
    #[error(
        "the server {server} asks during a call for something that Callsheet does not give: a model, folders, a page to open, or too many answers"
    )]
    AsksBack {
        /// The server.
        server: String,
    },
}

/// The command that logs in with one more scope.
fn login_command(server: &str, scope: &str) -> String {
    let scope = scope.trim();
    if scope.is_empty() {
        return format!(
            "callsheet mcp login {server} --scope SCOPE, with the scope that the server's documentation names"
        );
    }
    format!("callsheet mcp login {server} --scope '{scope}'")
}

impl Trouble {
    /// The outcome of the call for the run. If the model cannot fix the problem, the person is notified, too.
    pub(crate) fn outcome(self) -> Result<ToolOutcome, ToolFault> {
        let person = visible_line(&self.to_string());
        let model = match &self {
            Self::Unusable { server, reason } => say("unusable", &[("server", server), ("reason", reason)]),
            Self::Login { server } => say("unusable", &[("server", server), ("reason", &"it requires a login.")]),
            Self::Scope { server, .. } => say("forbidden", &[("server", server)]),
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
