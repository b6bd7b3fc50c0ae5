//! What a task used (spec 6). A limit that is absent is unlimited.

use serde::{Deserialize, Serialize};

/// Assistant messages of one handler.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct TurnUse {
    /// So far.
    pub used: u32,
    /// At most.
    pub limit: Option<u32>,
    /// Milliseconds since the Unix epoch.
    pub last_turn_at: Option<u64>,
}

/// Tokens in the window of one handler.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ContextUse {
    /// Now.
    pub used: u64,
    /// At most.
    pub limit: Option<u64>,
    /// The most so far.
    pub peak_usage: u64,
}

/// Bytes of the longest reply.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct OutputUse {
    /// Bytes.
    pub bytes: u64,
    /// At most.
    pub limit: Option<u64>,
}

/// Tokens of the task and all below it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct TokenUse {
    /// Read.
    pub input: u64,
    /// Written.
    pub output: u64,
    /// Read from a cache.
    pub cached: u64,
    /// At most.
    pub limit: Option<u64>,
}

/// US dollars.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct CostUse {
    /// Spent.
    pub usd: f64,
    /// At most.
    pub limit: Option<f64>,
}

/// Wall time without waiting for a person.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct WallUse {
    /// Milliseconds.
    pub ms: u64,
    /// At most.
    pub limit_ms: Option<u64>,
}

/// Nesting of subtasks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct DepthUse {
    /// Of this task.
    pub used: u32,
    /// At most.
    pub limit: Option<u32>,
}

/// Everything a task used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ResourceMetrics {
    /// Turns.
    pub turns: TurnUse,
    /// Window.
    pub context: ContextUse,
    /// Replies.
    pub output: OutputUse,
    /// Model calls of the task and all below it.
    pub calls: u32,
    /// Tokens.
    pub tokens: TokenUse,
    /// Cost.
    pub cost: CostUse,
    /// Time.
    pub wall: WallUse,
    /// Depth.
    pub depth: DepthUse,
}

impl ResourceMetrics {
    /// Leaves out what differs from one run to the next.
    pub(crate) fn forget_times(&mut self) {
        self.wall.ms = 0;
        self.turns.last_turn_at = None;
    }
}
