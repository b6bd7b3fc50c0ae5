//! What a worker must be able to do to perform an effect.

use callsheet_core::nouns::{RepeatClass, ToolEffect};
use callsheet_core::run::{Effect, Run};
use serde::{Deserialize, Serialize};

use crate::effects::models_of;
use crate::services::Services;

/// What a worker must be able to do to perform an effect. Every worker has the project and the record.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Needs {
    /// Nothing more.
    Nothing,
    /// To ask models of this provider.
    Provider(String),
    /// To run this tool.
    Tool(String),
    /// To run this tool, which starts a process that may change files of the project.
    Command(String),
    /// To change files of the project, and to check changes on a copy.
    Changes,
}

/// What an effect needs. If no model can be used, any worker can record that.
pub(super) fn needs(services: &Services, run: &Run, effect: &Effect) -> Needs {
    match effect {
        Effect::AskModel(asked) => {
            let first = models_of(services, run, asked).ok().and_then(|models| models.into_iter().next());
            first.map_or(Needs::Nothing, |model| Needs::Provider(model.info().provider.clone()))
        }
        Effect::RunTool { call, .. } => {
            let policy = run.policy(&call.name);
            let starts = policy.effect == ToolEffect::Execute && policy.repeat == RepeatClass::Once;
            if starts { Needs::Command(call.name.clone()) } else { Needs::Tool(call.name.clone()) }
        }
        Effect::TryChanges { .. } | Effect::ApplyChanges { .. } | Effect::RollBack { .. } => Needs::Changes,
        _ => Needs::Nothing,
    }
}
