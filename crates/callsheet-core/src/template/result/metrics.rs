//! The resources that a task used (spec 6). A missing limit means unlimited.

use serde::{Deserialize, Serialize};

/// The assistant messages of one handler.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct TurnUse {
    /// How many there were so far.
    pub used: u32,
    /// The maximum.
    pub limit: Option<u32>,
    /// The time of the last one, in milliseconds since the Unix epoch.
    pub last_turn_at: Option<u64>,
}

/// The tokens in the context window of one handler.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ContextUse {
    /// How many there are now.
    pub used: u64,
    /// The maximum.
    pub limit: Option<u64>,
    /// The largest number so far.
    pub peak_usage: u64,
}

/// The size of the longest reply.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct OutputUse {
    /// Its size in bytes.
    pub bytes: u64,
    /// The maximum.
    pub limit: Option<u64>,
}

/// The tokens of the task and all tasks below it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct TokenUse {
    /// Tokens read.
    pub input: u64,
    /// Tokens written.
    pub output: u64,
    /// Tokens read from a cache.
    pub cached: u64,
    /// The maximum.
    pub limit: Option<u64>,
}

/// The cost in US dollars.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct CostUse {
    /// The amount spent.
    pub usd: f64,
    /// The maximum.
    pub limit: Option<f64>,
}

/// The elapsed time without waiting for a person.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct WallUse {
    /// Milliseconds.
    pub ms: u64,
    /// The maximum in milliseconds.
    pub limit_ms: Option<u64>,
}

/// The nesting depth of subtasks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct DepthUse {
    /// The depth of this task.
    pub used: u32,
    /// The maximum.
    pub limit: Option<u32>,
}

/// All resources that a task used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ResourceMetrics {
    /// Its assistant messages.
    pub turns: TurnUse,
    /// Its context window.
    pub context: ContextUse,
    /// Its replies.
    pub output: OutputUse,
    /// The model calls of the task and all tasks below it.
    pub calls: u32,
    /// Its tokens.
    pub tokens: TokenUse,
    /// Its cost.
    pub cost: CostUse,
    /// Its time.
    pub wall: WallUse,
    /// Its depth.
    pub depth: DepthUse,
}

impl ResourceMetrics {
    /// Removes the values that differ between runs.
    pub(crate) fn forget_times(&mut self) {
        self.wall.ms = 0;
        self.turns.last_turn_at = None;
    }
}
