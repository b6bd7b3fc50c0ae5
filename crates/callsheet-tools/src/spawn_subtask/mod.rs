//! Tools that ask for a subtask: `spawn_subtask`, and those that a configuration registers by name. In a template the
//! run itself handles their calls and opens a task for each. Elsewhere there is no tree for a subtask.

use async_trait::async_trait;
use callsheet_core::nouns::{RepeatClass, ToolEffect, ToolSpec};
use callsheet_core::run::SPAWN_SUBTASK;
use callsheet_runtime::ports::{Tool, ToolContext, ToolFault, ToolOutcome};
use serde_json::Value;

use crate::common::{Stop, reading_tool, settle, spec};

reading_tool!(SpawnSubtask, SPAWN_SUBTASK);

impl SpawnSubtask {
    /// A tool with another name whose subtasks are of one kind.
    pub fn registered(name: &str, description: &str) -> Self {
        Self(spec(name, &[], description, include_str!("registered.json"), (ToolEffect::Read, RepeatClass::Read)))
    }
}

#[async_trait]
impl Tool for SpawnSubtask {
    fn spec(&self) -> &ToolSpec {
        &self.0
    }

    async fn run(&self, _: &Value, context: &ToolContext) -> Result<ToolOutcome, ToolFault> {
        if context.cancel.is_cancelled() {
            return Err(ToolFault::Cancelled);
        }
        settle(Err(Stop::failed("subtask-outside-template", &[])))
    }
}
