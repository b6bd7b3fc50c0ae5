//! Where a part of a tree was written.

use serde::{Deserialize, Serialize};

use crate::template::place::Spot;

/// The file, the bytes and the place. Trees are compared without their places, so every origin equals every other.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Origin {
    /// The file as shown to a person.
    pub file: String,
    /// The bytes and the place.
    #[serde(flatten)]
    pub spot: Spot,
}

impl PartialEq for Origin {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Eq for Origin {}
