//! Where a part of a tree was written.

use serde::{Deserialize, Serialize};

use crate::template::place::Spot;

/// File, bytes and place. Two trees are equal wherever they were written, so every origin equals every other.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Origin {
    /// The file as shown to a person.
    pub file: String,
    /// Bytes and place.
    #[serde(flatten)]
    pub spot: Spot,
}

impl PartialEq for Origin {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Eq for Origin {}
