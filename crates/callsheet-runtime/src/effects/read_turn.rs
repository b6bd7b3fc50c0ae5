//! Reads a turn of a template's handler: calls, or its result.

use std::collections::{BTreeMap, BTreeSet};

use callsheet_core::evaluate::names_a_status;
use callsheet_core::events::{self, Event};
use callsheet_core::issue::{Repair, Severity};
use callsheet_core::nouns::{BlobId, ToolCall, ToolSpec};
use callsheet_core::record::ResultParts;
use callsheet_core::run::{ModelCall, Run, TaskRun};
use callsheet_format::reading::ReadContext;
use callsheet_format::reply::LoopTurn;
use callsheet_format::reply::task::{TurnInput, read_loop_turn};
use callsheet_format::template::{Said, read_turn};
use serde::Deserialize;

use crate::effects::unsupported::not_found;
use crate::fault::DriveFault;
use crate::ports::ModelReply;
use crate::prompting::handler::handler_task;
use crate::reading;
use crate::services::Services;
use crate::skills::reader_skill;

/// The part of the recorded prompt that says whether tools were offered natively.
#[derive(Default, Deserialize)]
#[serde(default)]
struct AskedWith {
    request: Offered,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Offered {
    tools: Vec<serde_json::Value>,
}

/// Calls of a turn that cannot start, each with the words for the model.
pub(crate) fn stuck(services: &Services, calls: &[ToolCall]) -> BTreeMap<String, BlobId> {
    let why = |call: &ToolCall| services.tools.get(&call.name)?.obstacle(&call.arguments, &services.workspace);
    let words = calls.iter().filter_map(|call| Some((call.id.clone(), why(call)?)));
    words.map(|(id, why)| (id, services.store.stage_blob(why.into_bytes()))).collect()
}

/// A recorded reply.
pub(crate) struct Recorded<'a> {
    pub reply: &'a ModelReply,
    /// Repairs that led to its text.
    pub repaired: &'a [Repair],
    /// The prompt as recorded.
    pub prompt: &'a [u8],
}

/// Reads a turn: calls, or the final reply, which is stored unchanged.
pub(crate) fn read(
    services: &Services,
    run: &Run,
    asked: &ModelCall,
    task: &TaskRun,
    Recorded { reply, repaired, prompt }: Recorded<'_>,
    mut context: ReadContext,
) -> Result<Event, DriveFault> {
    let key = asked.key.clone();
    let policy = task.skill.clone().unwrap_or_default();
    let mut skill = reader_skill();
    skill.policy = policy;
    let has_tools = !skill.policy.tools.is_empty();
    // A request for a subtask is checked as a whole when it is opened. Its faults cost no call there.
    for tool in &mut context.tools {
        if run.operators().is_subtask_tool(&tool.name) {
            let parameters = serde_json::json!({ "type": "object" });
            *tool = std::sync::Arc::new(ToolSpec { parameters, ..(**tool).clone() });
        }
    }
    context.catalog = vec![skill.clone()];
    if let Some(current) = &mut context.current {
        current.skill = Some(skill.name.clone());
    }
    let taken: BTreeSet<String> =
        task.runs.iter().flat_map(|exec| &exec.calls).map(|call| call.call.id.clone()).collect();
    let native_tools = serde_json::from_slice::<AskedWith>(prompt).unwrap_or_default().request.tools;
    // In a cut reply, nobody knows what its calls would have been. It is the last reply and has no calls.
    let cut = run.call_record(&key).is_some_and(|call| call.stop.is_cut() || call.stop.is_withheld());
    let reads_calls = !cut && (!reply.calls.is_empty() || (has_tools && native_tools.is_empty()));
    // If there is nothing else, a call of an unknown tool is reported instead of dropped.
    let calls_only = !reply.calls.is_empty() && reply.text.trim().is_empty();
    let mut calls = Vec::new();
    let (mut repairs, mut issues) = (repaired.to_vec(), Vec::new());
    if reads_calls {
        let input = TurnInput { native: &reply.calls, taken_ids: &taken, tools_offered: has_tools || calls_only };
        let reading = reading::read_with(services, &reply.text, &mut context, |text, context| {
            read_loop_turn(text, input, context)
        });
        if let LoopTurn::Calls(found) = reading.value {
            repairs.extend(reading.repairs);
            if reading.issues.iter().any(|issue| issue.severity == Severity::Error) {
                return Ok(events::ReplyRefused { key, issues: reading.issues, repairs, valid: None }.into());
            }
            calls = found;
            issues = reading.issues;
        }
    }
    let told = handler_task(services, run, task)?;
    let manual = cut || told.manual_xml || told.schema.as_ref().is_some_and(names_a_status);
    Ok(match read_turn(&reply.text, &calls, &taken, manual) {
        Said::Calls(calls, said) => {
            let stuck = stuck(services, &calls);
            events::CallsAsked { key, calls, said: Some(said), repeats: BTreeMap::new(), stuck, repairs, issues }.into()
        }
        Said::Final => {
            let document = services.store.stage_blob(reply.text.clone().into_bytes());
            let unsupported = not_found(prompt, &reply.text, "", [])?;
            let result = ResultParts { document: Some(document), unsupported, ..ResultParts::default() };
            events::ExecutionFinished { key, result, repairs, issues }.into()
        }
    })
}
