//! The event `calls_asked`.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::issue::{Issue, Repair};
use crate::record::CallKey;
use crate::run::{Reject, Run};
use crate::run::conversations::Conversations;
use crate::nouns::{BlobId, Phase, ToolCall};

use super::check::{require, Check};
use super::{Checked, Recorded};

/// A turn of a loop task asks for tool calls. Equal earlier calls may answer some of them (spec 10.7).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct CallsAsked {
    /// The model call.
    pub key: CallKey,
    /// The tool calls. Their ids are unique within the task.
    pub calls: Vec<ToolCall>,
    /// The hash of what a handler said and asked for, without ids. Used to detect a lack of progress.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub said: Option<BlobId>,
    /// The calls that are not made because an equal earlier call answers them, by id, with the id of the earlier
    /// call.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub repeats: BTreeMap<String, String>,
    /// The calls that cannot start, by id, with the text for the model that becomes their output. They are not made.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub stuck: BTreeMap<String, BlobId>,
    /// Repairs made.
    pub repairs: Vec<Repair>,
    /// Warnings.
    pub issues: Vec<Issue>,
}

impl Recorded for CallsAsked {
    fn concerns_one_task(&self) -> bool {
        true
    }

    /// Call ids must be unique within the task, and a call that answers another must have been requested before it.
    fn check(&self, run: &Run) -> Checked {
        let Self { key, calls, repeats, .. } = self;
        let not_awaited = || Reject::NotAwaited(key.clone());
        let (Phase::Execute, Some(slug), Some(id)) = (key.phase, &key.task, &key.run) else {
            return Err(not_awaited());
        };
        let task = run.tasks.get(slug).ok_or_else(not_awaited)?;
        let exec = task.run(id).filter(|exec| exec.is_loop).ok_or_else(not_awaited)?;
        for (index, call) in calls.iter().enumerate() {
            let earlier = calls.iter().take(index).any(|other| other.id == call.id);
            require(!earlier && exec.call(&call.id).is_none(), || Reject::DuplicateCall(call.id.clone()))?;
        }
        for (id, of) in repeats {
            let before = calls.iter().take_while(|call| call.id != *id).any(|call| call.id == *of);
            let known = calls.iter().any(|call| call.id == *id) && (before || exec.call(of).is_some());
            require(known, || Reject::UnknownCall { call: id.clone(), of: of.clone() })?;
        }
        Check(run).to_be_read(key, true)
    }

    fn apply(&self, run: &mut Run, _at: u64) {
        let answered = (self.said.as_ref(), &self.repeats, &self.stuck);
        Conversations(run).tool_calls_requested(&self.key, &self.calls, answered, &self.repairs, &self.issues);
    }

    fn blobs(&self) -> Vec<&BlobId> {
        self.stuck.values().collect()
    }
}
