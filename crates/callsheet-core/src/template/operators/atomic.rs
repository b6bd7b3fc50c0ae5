//! `atomic`: one task of a model, a handler until a reply without tool calls.

use serde::{Deserialize, Serialize};

use crate::template::result::TaskError;
use crate::template::tree::Role;

use super::{Facts, Kind, Leaf, Names, Opening, Opens, Operator, Rows};

/// A task of a model. What it is for stands in its node.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Atomic;

pub(super) static FACTS: Facts = Facts {
    word: "atomic",
    rows: Rows::Task { attributes: &[], children: &[] },
    read: |_| Some(Kind::Atomic(Atomic)),
    leaf: Some(Leaf::Handler),
    role: Role::Atomic,
    spawned: Role::Subtask,
    binds: &[],
    shows_inputs: true,
    looks_up: true,
    splits: true,
    transparent: false,
    guards: false,
    lends_ids: false,
    in_order: false,
    gives_its_last: false,
};

impl Operator for Atomic {
    fn facts(&self) -> &'static Facts {
        &FACTS
    }

    fn open(&self, at: &dyn Opening, _: &mut Names) -> Result<Opens, Box<TaskError>> {
        at.handler().map(Opens::Plan)
    }
}
