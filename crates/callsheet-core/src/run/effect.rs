//! What a run wants the driver to do, derived from its state alone.

use crate::nouns::{BlobId, ExecutionId, Slug, ToolCall};
use crate::record::{CallKey, ChangeSet, EffectKey, Gate, Outcome, ReferenceStage};
use crate::template::operators::EvalPhase;

use super::execution::PersonAnswer;

/// A model call to make, including what the driver cannot find in the run by the call's key.
#[derive(Clone, Debug, PartialEq)]
pub struct ModelCall {
    /// Identity.
    pub key: CallKey,
    /// Attempt of its phase, from 1.
    pub attempt: u32,
    /// Turn of a loop task, from 1; 1 otherwise.
    pub turn: u32,
    /// Whether the model is offered no more tools. This is so on the last turn and after the third repeated call
    /// (spec 10.7).
    pub without_tools: bool,
    /// The factor for reference budgets after context overflows (spec 12.3).
    pub budget_scale: f64,
    /// Milliseconds that the call may take within the time of its task and its run.
    pub deadline_ms: u64,
    /// Tokens for prompt and reply that the budgets of the run, the task and the tasks above it leave. `None` if
    /// there is no budget.
    pub max_tokens: Option<u64>,
    /// US dollars that the cost limits of the run, the task and the tasks above it leave. `None` if there is no
    /// limit.
    pub max_cost_usd: Option<f64>,
    /// Tokens that the call reserves of these budgets while it is in flight.
    pub reserved: u64,
    /// Whether a call that does not fit the budgets may wait, because other calls have reserved a part and will
    /// return what they do not use.
    pub may_wait: bool,
    /// Whether an earlier equal call of the run gives the reply.
    pub reuses: bool,
}

/// One piece of work for the driver. The variants mirror `EffectKey`.
#[derive(Clone, Debug, PartialEq)]
pub enum Effect {
    /// Render the prompt, send it, record `ReplyReceived` or `CallFailed`.
    AskModel(ModelCall),
    /// Read a recorded reply; record `ReplyRefused` or the event for an accepted reply.
    ReadReply(ModelCall),
    /// Resolve the references of a task; record `ReferencesChecked`.
    CheckReferences {
        /// Task.
        task: Slug,
        /// The number of the check of this task, counted over the whole log.
        n: u32,
        /// The stage at which references are checked.
        stage: ReferenceStage,
    },
    /// Run a tool; record `ToolFinished`.
    RunTool {
        /// Task.
        task: Slug,
        /// Execution.
        run: ExecutionId,
        /// The call.
        call: ToolCall,
        /// Milliseconds it may still take.
        deadline_ms: u64,
        /// The answer with which a call that asked a person goes on.
        answer: Option<PersonAnswer>,
    },
    /// Bind the arguments of a call of a template; record `CallMounted`, or `CallReturned` if they do not fit.
    MountTemplate {
        /// Task.
        task: Slug,
        /// Execution.
        run: ExecutionId,
        /// The call.
        call: ToolCall,
    },
    /// Make the result of a call whose template came back; record `CallReturned`.
    ReturnTemplate {
        /// Task.
        task: Slug,
        /// Execution.
        run: ExecutionId,
        /// Call id.
        call: String,
    },
    /// Merge the finished runs of a task by code; record `RunsMerged`.
    MergeByCode {
        /// Task.
        task: Slug,
        /// The number of the merge of this task, counted over the whole log.
        n: u32,
    },
    /// Evaluate a task of the tree; record `Evaluated`.
    Evaluate {
        /// Task.
        task: Slug,
        /// The number of the evaluation of this task, counted over the whole log.
        n: u32,
        /// The phase that is evaluated.
        moment: EvalPhase,
    },
    /// Look up the context of a task of the tree; record `ContextRetrieved`. It uses no slot, so it delays no other
    /// task.
    Retrieve {
        /// Task.
        task: Slug,
        /// The number of the lookup of this task, counted over the whole log.
        n: u32,
        /// The request, as JSON.
        request: BlobId,
    },
    /// Ask a person at a gate; record `GateAnswered`, or `RunWaiting` when nobody can be asked.
    AskApproval(Gate),
    /// Put a tool's question to a person; record `QuestionAnswered`, or `RunWaiting`.
    AskPerson {
        /// Task.
        task: Slug,
        /// Execution.
        run: ExecutionId,
        /// Call id.
        call: String,
        /// The question.
        question: String,
        /// Whether the call goes on with the answer. Otherwise, the answer is its output.
        midway: bool,
    },
    /// Check a change set on a copy of the project; record `ChangesChecked`.
    TryChanges {
        /// Task.
        task: Slug,
        /// Execution.
        run: ExecutionId,
        /// Number of the set.
        set: u32,
        /// The set.
        changes: ChangeSet,
        /// Name of the check.
        check: String,
        /// Its program and arguments.
        argv: Vec<String>,
        /// Milliseconds it may take.
        deadline_ms: u64,
    },
    /// Apply a change set; record `ChangesApplied`, `ChangesRebased` or `ChangesRejected`.
    ApplyChanges {
        /// Task.
        task: Slug,
        /// Execution.
        run: ExecutionId,
        /// Number of the set.
        set: u32,
        /// The set.
        changes: ChangeSet,
    },
    /// Restore the originals after an interrupted apply; record `ChangesRolledBack`.
    RollBack {
        /// Task.
        task: Slug,
        /// Execution.
        run: ExecutionId,
        /// Number of the set.
        set: u32,
        /// The set.
        changes: ChangeSet,
    },
    /// Write the report; record `RunConcluded`.
    Conclude(Outcome),
}

impl Effect {
    /// The task that the work belongs to. Lists, gates, questions and the report belong to no task.
    pub fn task(&self) -> Option<&Slug> {
        match self {
            Self::AskModel(asked) | Self::ReadReply(asked) => asked.key.task.as_ref(),
            Self::CheckReferences { task, .. }
            | Self::RunTool { task, .. }
            | Self::MountTemplate { task, .. }
            | Self::ReturnTemplate { task, .. }
            | Self::MergeByCode { task, .. }
            | Self::Evaluate { task, .. }
            | Self::Retrieve { task, .. }
            | Self::TryChanges { task, .. }
            | Self::ApplyChanges { task, .. }
            | Self::RollBack { task, .. } => Some(task),
            Self::AskApproval(_) | Self::AskPerson { .. } | Self::Conclude(_) => None,
        }
    }

    /// The name of this kind of work, for logs.
    pub fn name(&self) -> &'static str {
        match self {
            Self::AskModel(_) => "ask_model",
            Self::ReadReply(_) => "read_reply",
            Self::CheckReferences { .. } => "check_references",
            Self::RunTool { .. } => "run_tool",
            Self::MountTemplate { .. } => "mount_template",
            Self::ReturnTemplate { .. } => "return_template",
            Self::MergeByCode { .. } => "merge_by_code",
            Self::Evaluate { .. } => "evaluate",
            Self::Retrieve { .. } => "retrieve",
            Self::AskApproval(_) => "ask_approval",
            Self::AskPerson { .. } => "ask_person",
            Self::TryChanges { .. } => "try_changes",
            Self::ApplyChanges { .. } => "apply_changes",
            Self::RollBack { .. } => "roll_back",
            Self::Conclude(_) => "conclude",
        }
    }

    /// Whether the effect has this key.
    pub fn has_key(&self, key: &EffectKey) -> bool {
        match (self, key) {
            (Self::AskModel(asked), EffectKey::Ask(call)) | (Self::ReadReply(asked), EffectKey::Read(call)) => {
                asked.key == *call
            }
            (Self::AskModel(_) | Self::ReadReply(_), _) | (_, EffectKey::Ask(_) | EffectKey::Read(_)) => false,
            _ => self.key() == *key,
        }
    }

    /// The key under which the effect is started. Two effects with one key are never performed at the same time.
    pub fn key(&self) -> EffectKey {
        match self {
            Self::AskModel(asked) => EffectKey::Ask(asked.key.clone()),
            Self::ReadReply(asked) => EffectKey::Read(asked.key.clone()),
            Self::CheckReferences { task, n, .. } => EffectKey::Check { task: task.clone(), n: *n },
            Self::RunTool { task, run, call, .. } => {
                EffectKey::Tool { task: task.clone(), run: run.clone(), call: call.id.clone() }
            }
            Self::MountTemplate { task, run, call } => {
                EffectKey::Mount { task: task.clone(), run: run.clone(), call: call.id.clone() }
            }
            Self::ReturnTemplate { task, run, call } => {
                EffectKey::Return { task: task.clone(), run: run.clone(), call: call.clone() }
            }
            Self::MergeByCode { task, n } => EffectKey::Merge { task: task.clone(), n: *n },
            Self::Evaluate { task, n, .. } => EffectKey::Evaluate { task: task.clone(), n: *n },
            Self::Retrieve { task, n, .. } => EffectKey::Retrieve { task: task.clone(), n: *n },
            Self::AskApproval(gate) => EffectKey::Gate(gate.clone()),
            Self::AskPerson { task, run, call, .. } => {
                EffectKey::Question { task: task.clone(), run: run.clone(), call: call.clone() }
            }
            Self::TryChanges { task, run, set, .. } => {
                EffectKey::Try { task: task.clone(), run: run.clone(), set: *set }
            }
            Self::ApplyChanges { task, run, set, .. } => {
                EffectKey::Apply { task: task.clone(), run: run.clone(), set: *set }
            }
            Self::RollBack { task, run, set, .. } => {
                EffectKey::RollBack { task: task.clone(), run: run.clone(), set: *set }
            }
            Self::Conclude(_) => EffectKey::Conclude,
        }
    }
}
