//! What a fact says of calls that are asked for again. Facts keep the rule they were recorded under.

use serde::{Deserialize, Serialize};

/// Whether a call of a conversation may be made again although an equal one was made before (spec 10.7).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "AgainWritten", into = "AgainWritten")]
pub enum Again {
    /// No: an equal earlier call answers it. So say logs that name nothing.
    #[default]
    No,
    /// If the nearest equal call had no effect; where that was itself answered from an earlier one, no. Logs write `true`.
    Nearest,
    /// If the nearest equal call that was made had no effect, whatever was answered from it since.
    Made,
}

impl Again {
    /// For the record, which leaves it out.
    pub fn is_no(&self) -> bool {
        *self == Self::No
    }
}

#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum AgainWritten {
    Flag(bool),
    Made(MadeWritten),
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum MadeWritten {
    Made,
}

impl From<AgainWritten> for Again {
    fn from(written: AgainWritten) -> Self {
        match written {
            AgainWritten::Flag(false) => Self::No,
            AgainWritten::Flag(true) => Self::Nearest,
            AgainWritten::Made(MadeWritten::Made) => Self::Made,
        }
    }
}

impl From<Again> for AgainWritten {
    fn from(again: Again) -> Self {
        match again {
            Again::No => Self::Flag(false),
            Again::Nearest => Self::Flag(true),
            Again::Made => Self::Made(MadeWritten::Made),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Again;

    #[test]
    fn older_logs_keep_their_rule() {
        for (again, written) in [(Again::No, "false"), (Again::Nearest, "true"), (Again::Made, "\"made\"")] {
            assert_eq!(serde_json::from_str::<Again>(written).ok(), Some(again));
            assert_eq!(serde_json::to_string(&again).ok().as_deref(), Some(written));
        }
    }
}
