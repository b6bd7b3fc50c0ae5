//! One execution of a task: its tool calls, its turns, what it gave; and the merge of several. Plain data, as `task`.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::issue::Issue;
use crate::nouns::{BlobId, ExecutionId, Reference, Slug, ToolCall};
use crate::record::{CallKey, ChangeSet, RefusedPart, ResultParts};

use super::attempts::Attempts;
use super::failure::Failure;

/// What an execution run was given; equal inputs allow a finished run to be kept when its task is listed again.
#[derive(Clone, Debug, PartialEq)]
pub struct RunInput {
    /// What is needed.
    pub need: String,
    /// Expected output.
    pub expected: String,
    /// Hash of the skill.
    pub skill: Option<BlobId>,
    /// References, shared ones included.
    pub references: Vec<Reference>,
    /// Fixed tool calls.
    pub calls: Vec<ToolCall>,
}

/// One execution of a task: its tool calls, then one evaluation; or a bounded tool conversation.
#[derive(Clone, Debug, PartialEq)]
pub struct Execution {
    /// Its name inside the task, for the machine.
    pub id: ExecutionId,
    /// What people and models call it: the title of its reference, or its tool and the main argument; other than that of
    /// every other run of the task. Empty where it reads and calls all that the task has.
    pub title: String,
    /// The title in names of files.
    pub slug: Slug,
    /// It is a tool conversation (spec 10.7).
    pub is_loop: bool,
    /// What it reads and calls.
    pub input: RunInput,
    /// Tool calls in order: the fixed ones, or those of all turns.
    pub calls: Vec<ToolRun>,
    /// Turns of a conversation that asked for calls.
    pub turns: Vec<Turn>,
    /// Equal calls that were answered without running them.
    pub repeats: u32,
    /// Its model calls.
    pub attempts: Attempts,
    /// What it does.
    pub phase: ExecutionPhase,
    /// What it reads held when it began; `None` if that is not known, or if it acts by tools.
    pub seen: Option<BTreeMap<String, BlobId>>,
    /// The review of its result, once there was one to make.
    pub review: Option<Box<Review>>,
    /// A check of its changes failed, which its model was told: a second failure goes to a person.
    pub checked_again: bool,
}

/// The review of the result of an execution. There is at most one.
#[derive(Clone, Debug, PartialEq)]
pub struct Review {
    /// The call that gave the result.
    pub of: CallKey,
    /// The result: it counts if the review finds it complete, or if nothing better comes.
    pub result: ResultParts,
    /// The revision of the workspace when it was given.
    pub revision: u32,
    /// How far it is.
    pub phase: ReviewPhase,
    /// What the reviewer says is missing: the task is done once more.
    pub missing: Option<String>,
}

/// How far a review is.
#[derive(Clone, Debug, PartialEq)]
pub enum ReviewPhase {
    /// The verdict is awaited.
    Asked,
    /// Something is missing, and the task is done once more.
    OnceMore,
    /// Nothing is reviewed or done once more.
    Over {
        /// Why there is no verdict, or no second result.
        failed: Option<String>,
    },
}

impl Review {
    /// Nothing is reviewed or done once more.
    pub fn is_over(&self) -> bool {
        matches!(self.phase, ReviewPhase::Over { .. })
    }

    /// Why there is no verdict, or no second result.
    pub fn failed(&self) -> Option<&str> {
        match &self.phase {
            ReviewPhase::Over { failed } => failed.as_deref(),
            _ => None,
        }
    }
}

/// What an execution does, with all that it needs to do that.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum ExecutionPhase {
    /// Its calls are made, then its model is asked.
    #[default]
    Working,
    /// Its reply is accepted; the changes in it are not on disk.
    Accepted(Arc<ResultParts>),
    /// Its reply is accepted, and its changes, if any, are on disk.
    Finished {
        /// The reply.
        result: Arc<ResultParts>,
        /// The revision of the workspace when it finished.
        revision: u32,
    },
    /// It gave nothing.
    Failed(Box<Failure>),
}

impl Execution {
    /// Finished or failed.
    pub fn is_ended(&self) -> bool {
        self.is_finished() || self.failure().is_some()
    }

    /// The reply is accepted and its changes, if any, are on disk.
    pub fn is_finished(&self) -> bool {
        matches!(self.phase, ExecutionPhase::Finished { .. })
    }

    /// Its result waits for the verdict of a review.
    pub fn is_under_review(&self) -> bool {
        self.review.as_ref().is_some_and(|review| review.phase == ReviewPhase::Asked)
    }

    /// A review had it done once more, and there is no second result yet.
    pub fn is_done_once_more(&self) -> bool {
        self.review.as_ref().is_some_and(|review| review.phase == ReviewPhase::OnceMore)
    }

    pub(super) fn has_open_review(&self) -> bool {
        self.review.as_ref().is_some_and(|review| !review.is_over())
    }

    /// It finished, or gave the result that is under review, when the workspace was as it is at `now`.
    pub(super) fn gave_at(&self, now: u32) -> bool {
        self.finished_at(now) || self.review.as_ref().is_some_and(|review| !review.is_over() && review.revision == now)
    }

    /// It finished at this revision of the workspace.
    pub(super) fn finished_at(&self, now: u32) -> bool {
        matches!(self.phase, ExecutionPhase::Finished { revision, .. } if revision == now)
    }

    /// The accepted reply. Its changes may still wait.
    pub fn result(&self) -> Option<&ResultParts> {
        match &self.phase {
            ExecutionPhase::Accepted(result) | ExecutionPhase::Finished { result, .. } => Some(result),
            ExecutionPhase::Working | ExecutionPhase::Failed(_) => None,
        }
    }

    /// The same, to share.
    pub(super) fn shared_result(&self) -> Option<Arc<ResultParts>> {
        match &self.phase {
            ExecutionPhase::Accepted(result) | ExecutionPhase::Finished { result, .. } => Some(Arc::clone(result)),
            ExecutionPhase::Working | ExecutionPhase::Failed(_) => None,
        }
    }

    /// Why it failed.
    pub fn failure(&self) -> Option<&Failure> {
        match &self.phase {
            ExecutionPhase::Failed(failure) => Some(failure),
            _ => None,
        }
    }

    /// It gave this result, and nothing of it waits.
    pub(super) fn finish(&mut self, result: impl Into<Arc<ResultParts>>, revision: u32) {
        self.phase = ExecutionPhase::Finished { result: result.into(), revision };
    }

    /// It failed. No call of it is made any more.
    pub(super) fn fail(&mut self, failure: Failure) {
        self.phase = ExecutionPhase::Failed(Box::new(failure));
        self.attempts.close();
    }

    /// Nothing of it was done, nor is asked of a person.
    pub(super) fn is_untouched(&self) -> bool {
        let called = self.calls.iter().any(|call| call.state != ToolState::Queued);
        let replied = !self.turns.is_empty()
            || self.result().is_some()
            || self.review.is_some()
            || self.attempts.reading.is_some();
        !called && !replied && !self.is_ended() && self.attempts.issues.is_empty()
    }

    /// It made calls, and each of them failed.
    pub(super) fn has_only_failed_calls(&self) -> bool {
        !self.calls.is_empty() && self.calls.iter().all(ToolRun::has_failed)
    }

    /// A call of it was started and did not end.
    pub(super) fn was_interrupted(&self) -> bool {
        self.calls.iter().any(|call| call.output() == Some(&ToolOutput::Interrupted))
    }

    /// Whether a call is made again whose like was started last time and did not end.
    pub fn makes_again(&self, again: &ToolRun) -> bool {
        let earlier = self.calls.iter().take_while(|call| call.call.id != again.call.id);
        let alike = |call: &&ToolRun| call.call.name == again.call.name && call.call.arguments == again.call.arguments;
        earlier.filter(alike).last().is_some_and(|call| call.output() == Some(&ToolOutput::Interrupted))
    }

    /// The call with this id.
    pub fn call(&self, id: &str) -> Option<&ToolRun> {
        self.calls.iter().find(|call| call.call.id == id)
    }

    pub(super) fn call_mut(&mut self, id: &str) -> Option<&mut ToolRun> {
        self.calls.iter_mut().find(|call| call.call.id == id)
    }
}

/// A turn of a conversation that asked for calls.
#[derive(Clone, Debug, PartialEq)]
pub struct Turn {
    /// The model call.
    pub key: CallKey,
    /// The reply as recorded.
    pub reply: Option<BlobId>,
    /// Ids of its calls, in order; the calls themselves are in `Execution::calls`.
    pub calls: Vec<String>,
    /// Hash of what it said and asked for, without ids; `None` for tasks of sheets.
    pub said: Option<BlobId>,
}

/// A tool call of an execution run.
#[derive(Clone, Debug, PartialEq)]
pub struct ToolRun {
    /// The call.
    pub call: ToolCall,
    /// Where it stands.
    pub state: ToolState,
    /// Milliseconds it took.
    pub ms: u64,
    /// It failed: the first line of what the tool said.
    pub fault: Option<String>,
    /// Of a call of a template that came back: the number of its tree.
    pub mount: Option<usize>,
}

impl ToolRun {
    pub(super) fn new(call: ToolCall) -> Self {
        Self { call, state: ToolState::Queued, ms: 0, fault: None, mount: None }
    }

    /// The run's time was over before it ended; a resume settles it.
    pub fn is_cut(&self) -> bool {
        matches!(self.state, ToolState::Cut { .. })
    }

    /// It was started, and did not end: it is not made again before a resume.
    pub(super) fn cut(&mut self) {
        self.state = ToolState::Cut { approved: self.state == ToolState::Approved };
    }

    /// It was started before, did not end, and may not be repeated unasked: its gate asks whether it runs again.
    pub fn asks_again(&self) -> bool {
        matches!(self.state, ToolState::Gated { again: true, .. })
    }

    /// The tool could not do what was asked.
    pub fn has_failed(&self) -> bool {
        matches!(self.output(), Some(ToolOutput::Text { error: true, .. }))
    }

    /// It ended without any effect that is known of, and without an output of its own.
    pub fn had_no_effect(&self) -> bool {
        matches!(self.output(), Some(ToolOutput::Interrupted | ToolOutput::Rejected(_)))
    }

    /// Whether an equal earlier call answered it.
    pub fn is_repeated(&self) -> bool {
        matches!(self.output(), Some(ToolOutput::Repeated { .. }))
    }

    /// The output, once there is one.
    pub fn output(&self) -> Option<&ToolOutput> {
        match &self.state {
            ToolState::Done(output) => Some(output),
            _ => None,
        }
    }
}

/// Where a tool call stands. In flight is `Queued` or `Approved` with its key among the effects in flight.
#[derive(Clone, Debug, PartialEq)]
pub enum ToolState {
    /// Not started.
    Queued,
    /// Waits at a before-call gate.
    Gated {
        /// Number of the gate.
        gate: u32,
        /// It was started before and did not end: the gate asks whether it runs again.
        again: bool,
    },
    /// Approved, not finished.
    Approved,
    /// Started; the run's time was over before it ended.
    Cut {
        /// A person had approved it.
        approved: bool,
    },
    /// Waits for a person's answer to this question.
    Asking(String),
    /// It runs a template: the tree of this number.
    Mounted(usize),
    /// Its change set of this number waits to be approved or applied.
    Staged(u32),
    /// It has an output.
    Done(ToolOutput),
}

impl ToolState {
    /// It waits for a person.
    pub(super) fn is_asking(&self) -> bool {
        matches!(self, Self::Gated { .. } | Self::Asking(_))
    }
}

/// What the model sees of a call. `prompt` renders the variants; their texts are blobs or fragments.
#[derive(Clone, Debug, PartialEq)]
pub enum ToolOutput {
    /// The tool's text.
    Text {
        /// Whole output.
        blob: BlobId,
        /// It is an error text.
        error: bool,
    },
    /// A person's answer.
    Answered(BlobId),
    /// Its changes are on disk, as this set of `TaskRun::applied`.
    Applied {
        /// Number of the set.
        set: u32,
    },
    /// Its changes could not be applied; an error for the model.
    Rejected(Vec<Issue>),
    /// An equal earlier call of the run already gave the output (spec 10.7).
    Repeated {
        /// Id of that call.
        of: String,
    },
    /// Started, never finished, and not to be repeated (spec 2.18); an error for the model.
    Interrupted,
}

/// The merge of several finished runs.
#[derive(Clone, Debug, PartialEq)]
pub struct Merge {
    /// Its number, for a merge by code.
    pub n: u32,
    /// By whom.
    pub by: MergeBy,
    /// Its model calls.
    pub attempts: Attempts,
}

impl Merge {
    /// The model's attempts ended without a result.
    pub fn fell_back(&self) -> bool {
        self.by == MergeBy::CodeAfterModel
    }

    /// The model gave no result: code merges.
    pub(super) fn fall_back(&mut self) {
        if self.by == MergeBy::Model {
            self.by = MergeBy::CodeAfterModel;
        }
        self.attempts.close();
    }
}

/// Who merges.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MergeBy {
    /// One model call.
    Model,
    /// Code, since the attempts of the model ended without a result.
    CodeAfterModel,
    /// Code.
    Code,
}

/// A change set that is on disk.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AppliedSet {
    /// Execution run it came from.
    pub run: ExecutionId,
    /// Its number inside the task.
    pub set: u32,
    /// What was applied.
    pub changes: ChangeSet,
    /// What a person refused of it before.
    pub refused: Option<RefusedPart>,
    /// A person took it back.
    pub reverted: bool,
}
