//! Where a part of a tree was written.

use serde::{Deserialize, Serialize};

use crate::template::place::Spot;

/// What a part of a tree was written in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FrontEnd {
    /// A template.
    #[default]
    Template,
    /// A sheet.
    Sheet,
}

/// File, bytes and place. Two trees are equal wherever they were written, so every origin equals every other.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Origin {
    /// The file as shown to a person.
    pub file: String,
    /// Bytes and place.
    #[serde(flatten)]
    pub spot: Spot,
    /// Its language.
    pub front_end: FrontEnd,
}

impl PartialEq for Origin {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Eq for Origin {}
