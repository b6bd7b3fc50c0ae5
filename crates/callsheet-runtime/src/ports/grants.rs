//! What a person allowed for longer than one answer.

use crate::grants::{Caller, CommandCall, Grant, ToolGrant};
use crate::paths::Granted;

/// The person's grants. Each call reads their current state, so a grant that was just revoked does not count.
pub trait Grants: Send + Sync {
    /// The grant that covers this command of a task.
    fn covering(&self, call: &CommandCall, caller: Caller<'_>) -> Option<Grant>;

    /// The grant that covers calls of this tool of a server by a task.
    fn covering_tool(&self, tool: &ToolGrant, caller: Caller<'_>) -> Option<Grant>;

    /// Adds what else commands of a task may do.
    fn add_to(&self, granted: &mut Granted, caller: Caller<'_>);
}
