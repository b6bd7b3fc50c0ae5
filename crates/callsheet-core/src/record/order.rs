//! An order of a person, as the log names it.

use serde::{Deserialize, Serialize};

use super::AnsweredBy;

/// Which order it is, and where it was given. An order that is given again has the same key, and no effect.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct OrderId {
    /// Where it was given.
    pub by: AnsweredBy,
    /// Its key: unlike that of any other order.
    pub key: String,
}
