//! The limits that a task of a template can set: names, ranges and values. The defaults are in `Limits`.

use serde::{Deserialize, Serialize};

use super::Limits;

/// The range of one limit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum LimitRange {
    /// Whole numbers, including both ends.
    Count {
        /// Least.
        least: u64,
        /// Most.
        most: u64,
    },
    /// A share: more than 0, at most 1.
    Share,
    /// An amount: more than 0.
    Amount,
}

/// One limit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LimitRow {
    /// The name of its setting.
    pub name: &'static str,
    /// Its allowed values.
    pub range: LimitRange,
    /// Whether a smaller value is stricter, so that a child may not exceed its parent.
    pub inherited: bool,
}

const fn count(name: &'static str, most: u64, inherited: bool) -> LimitRow {
    LimitRow { name, range: LimitRange::Count { least: 1, most }, inherited }
}

/// Every limit that a task can set.
pub const LIMIT_ROWS: [LimitRow; 11] = [
    count("max_turns", 1_000, false),
    LimitRow { name: "max_context_fraction", range: LimitRange::Share, inherited: false },
    count("max_output_bytes", 1 << 30, false),
    count("max_calls", 1_000_000, true),
    count("max_tokens", 1 << 40, true),
    LimitRow { name: "max_cost_usd", range: LimitRange::Amount, inherited: true },
    count("timeout_seconds", 86_400, true),
    count("max_depth", 5, true),
    count("max_items", 1_000_000, false),
    // One turn repeats nothing.
    LimitRow { name: "no_progress_repeats", range: LimitRange::Count { least: 2, most: 1_000 }, inherited: false },
    LimitRow { name: "warning_threshold", range: LimitRange::Share, inherited: false },
];

impl LimitRange {
    /// Whether a value is in the range.
    pub fn holds(self, value: f64) -> bool {
        match self {
            // Both ends are far below 2^53, where this would lose precision.
            #[allow(clippy::cast_precision_loss)]
            Self::Count { least, most } => value.fract() == 0.0 && value >= least as f64 && value <= most as f64,
            Self::Share => value > 0.0 && value <= 1.0,
            Self::Amount => value > 0.0 && value.is_finite(),
        }
    }
}

/// The limits that one task sets. Absent ones come from its parent or from `Limits`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(default)]
pub struct TaskLimits {
    /// Assistant messages of one handler.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_turns: Option<u32>,
    /// Share of the model's window.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_context_fraction: Option<f64>,
    /// Bytes of one reply.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_output_bytes: Option<u64>,
    /// Model calls of the task and everything below it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_calls: Option<u32>,
    /// Tokens of the task and everything below it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_tokens: Option<u64>,
    /// Cost of the task and everything below it, in US dollars.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_cost_usd: Option<f64>,
    /// Wall time in seconds, without time waiting for a person.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timeout_seconds: Option<u32>,
    /// Nesting of subtasks, and how often one template may be on the call stack.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_depth: Option<u32>,
    /// Elements of `items`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_items: Option<u32>,
    /// Number of equal turns after which a handler ends.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub no_progress_repeats: Option<u32>,
    /// Share of a limit at which a person is warned.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub warning_threshold: Option<f64>,
}

impl TaskLimits {
    /// Sets a limit by its name. Returns `false` if no limit has that name or the value is out of its range.
    // In range, every number is whole and fits.
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
    pub fn set(&mut self, name: &str, value: f64) -> bool {
        let Some(row) = LIMIT_ROWS.iter().find(|row| row.name == name).filter(|row| row.range.holds(value)) else {
            return false;
        };
        let (small, large) = (value as u32, value as u64);
        match row.name {
            "max_turns" => self.max_turns = Some(small),
            "max_context_fraction" => self.max_context_fraction = Some(value),
            "max_output_bytes" => self.max_output_bytes = Some(large),
            "max_calls" => self.max_calls = Some(small),
            "max_tokens" => self.max_tokens = Some(large),
            "max_cost_usd" => self.max_cost_usd = Some(value),
            "timeout_seconds" => self.timeout_seconds = Some(small),
            "max_depth" => self.max_depth = Some(small),
            "max_items" => self.max_items = Some(small),
            "no_progress_repeats" => self.no_progress_repeats = Some(small),
            _ => self.warning_threshold = Some(value),
        }
        true
    }

    /// The limits that are set, by name, in the order of [`LIMIT_ROWS`].
    // Values in range are far below 2^53, where this would lose precision.
    #[allow(clippy::cast_precision_loss)]
    pub fn entries(&self) -> Vec<(&'static str, f64)> {
        let values = [
            self.max_turns.map(f64::from),
            self.max_context_fraction,
            self.max_output_bytes.map(|value| value as f64),
            self.max_calls.map(f64::from),
            self.max_tokens.map(|value| value as f64),
            self.max_cost_usd,
            self.timeout_seconds.map(f64::from),
            self.max_depth.map(f64::from),
            self.max_items.map(f64::from),
            self.no_progress_repeats.map(f64::from),
            self.warning_threshold,
        ];
        LIMIT_ROWS.iter().zip(values).filter_map(|(row, value)| Some((row.name, value?))).collect()
    }

    /// Whether one is set that calls of the task and of everything below it use up: calls, tokens, cost or time.
    pub fn are_spent(&self) -> bool {
        let counts = self.max_calls.is_some() || self.max_tokens.is_some();
        counts || self.max_cost_usd.is_some() || self.timeout_seconds.is_some()
    }

    /// Whether none is set.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

impl Limits {
    /// The default limits of templates: those of sheets, but with fewer turns.
    pub fn of_templates() -> Self {
        Self { max_turns: 10, ..Self::default() }
    }
}
