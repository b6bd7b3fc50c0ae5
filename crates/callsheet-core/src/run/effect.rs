//! What a run owes the world, derived from its state alone.

use crate::nouns::{BlobId, ExecutionId, Slug, ToolCall};
use crate::record::{CallKey, ChangeSet, EffectKey, Gate, Outcome, ReferenceStage};
use crate::template::operators::EvalPhase;

/// A model call to make, with what the driver cannot read off the run's state by its key.
#[derive(Clone, Debug, PartialEq)]
pub struct ModelCall {
    /// Identity.
    pub key: CallKey,
    /// Attempt of its phase, from 1.
    pub attempt: u32,
    /// Turn of a loop task, from 1; 1 otherwise.
    pub turn: u32,
    /// Turn at which tools are no longer offered (the last one, or after the third repeated call, spec 10.7).
    pub without_tools: bool,
    /// Reference budgets are multiplied by this, after context overflows (spec 12.3).
    pub budget_scale: f64,
    /// Milliseconds it may still take of its task's and its run's time.
    pub deadline_ms: u64,
    /// Tokens of prompt and reply that the budgets of its run, its task and the tasks above it leave it; `None`: no budget.
    pub max_tokens: Option<u64>,
    /// US dollars that the limits of cost of the same leave it; `None`: no limit.
    pub max_cost_usd: Option<f64>,
    /// Tokens that it reserves of them while it is in flight.
    pub reserved: u64,
    /// Others hold a part of those budgets and will return what they do not use: what does not fit may wait.
    pub may_wait: bool,
    /// An earlier call of the run that asked the same gives its reply.
    pub reuses: bool,
}

/// One piece of work for the shell. The variants mirror `EffectKey`.
#[derive(Clone, Debug, PartialEq)]
pub enum Effect {
    /// Render the prompt, send it, record `ReplyReceived` or `CallFailed`.
    AskModel(ModelCall),
    /// Read a recorded reply; record `ReplyRefused` or what it was accepted as.
    ReadReply(ModelCall),
    /// Resolve the references of a task; record `ReferencesChecked`.
    CheckReferences {
        /// Task.
        task: Slug,
        /// Counts the checks of this task.
        n: u32,
        /// When.
        stage: ReferenceStage,
    },
    /// Run a tool; record `ToolFinished`.
    RunTool {
        /// Task.
        task: Slug,
        /// Execution run.
        run: ExecutionId,
        /// The call.
        call: ToolCall,
        /// Milliseconds it may still take.
        deadline_ms: u64,
    },
    /// Bind the arguments of a call of a template; record `CallMounted`, or `CallReturned` if they do not fit.
    MountTemplate {
        /// Task.
        task: Slug,
        /// Execution run.
        run: ExecutionId,
        /// The call.
        call: ToolCall,
    },
    /// Make the result of a call whose template came back; record `CallReturned`.
    ReturnTemplate {
        /// Task.
        task: Slug,
        /// Execution run.
        run: ExecutionId,
        /// Call id.
        call: String,
    },
    /// Merge the finished runs of a task by code; record `RunsMerged`.
    MergeByCode {
        /// Task.
        task: Slug,
        /// Counts the merges of this task.
        n: u32,
    },
    /// Evaluate a task of the tree; record `Evaluated`.
    Evaluate {
        /// Task.
        task: Slug,
        /// Counts the evaluations of this task.
        n: u32,
        /// What is asked.
        moment: EvalPhase,
    },
    /// Look up the context of a task of the tree; record `ContextRetrieved`. Holds no slot: it delays no other task.
    Retrieve {
        /// Task.
        task: Slug,
        /// Counts the lookups of this task.
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
        /// Execution run.
        run: ExecutionId,
        /// Call id.
        call: String,
        /// The question.
        question: String,
    },
    /// Check a change set on a copy of the project; record `ChangesChecked`.
    TryChanges {
        /// Task.
        task: Slug,
        /// Execution run.
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
        /// Execution run.
        run: ExecutionId,
        /// Number of the set.
        set: u32,
        /// The set.
        changes: ChangeSet,
    },
    /// Put the originals of an interrupted apply back; record `ChangesRolledBack`.
    RollBack {
        /// Task.
        task: Slug,
        /// Execution run.
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
    /// The task whose work it is; a list, a gate, a question and the report are nobody's.
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

    /// Whether this is its key.
    pub fn has_key(&self, key: &EffectKey) -> bool {
        match (self, key) {
            (Self::AskModel(asked), EffectKey::Ask(call)) | (Self::ReadReply(asked), EffectKey::Read(call)) => {
                asked.key == *call
            }
            (Self::AskModel(_) | Self::ReadReply(_), _) | (_, EffectKey::Ask(_) | EffectKey::Read(_)) => false,
            _ => self.key() == *key,
        }
    }

    /// The key under which the effect is started and never performed twice at once.
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
