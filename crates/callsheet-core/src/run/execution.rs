//! One execution of a task: its tool calls, its turns and its result; and the merge of several executions. Plain
//! data, like `task`.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::issue::Issue;
use crate::nouns::{BlobId, ExecutionId, Picture, Reference, Slug, ToolCall};
use crate::record::{CallKey, ChangeSet, CheckReport, RefusedPart, ResultParts};

use super::attempts::Attempts;
use super::failure::Failure;

/// The inputs of an execution. A finished execution with equal inputs can be kept when its task is listed again.
#[derive(Clone, Debug, PartialEq)]
pub struct RunInput {
    /// What the task needs.
    pub need: String,
    /// The expected output.
    pub expected: String,
    /// The hash of the skill.
    pub skill: Option<BlobId>,
    /// The references, including shared ones.
    pub references: Vec<Reference>,
    /// The fixed tool calls.
    pub calls: Vec<ToolCall>,
}

/// One execution of a task: its tool calls, then one evaluation; or a bounded tool conversation.
#[derive(Clone, Debug, PartialEq)]
pub struct Execution {
    /// Its identifier within the task.
    pub id: ExecutionId,
    /// Its name for people and models: the title of its reference, or its tool and the main argument. Unique within
    /// the task. Empty if it reads and calls everything that the task has.
    pub title: String,
    /// Its title in the form for file names.
    pub slug: Slug,
    /// Whether it is a tool conversation (spec 10.7).
    pub is_loop: bool,
    /// Its inputs.
    pub input: RunInput,
    /// Its tool calls in order: the fixed ones, or the calls of all turns.
    pub calls: Vec<ToolRun>,
    /// The turns of its conversation that asked for calls.
    pub turns: Vec<Turn>,
    /// How many calls were answered from equal calls without running.
    pub repeats: u32,
    /// The attempts at its model calls.
    pub attempts: Attempts,
    /// What it does now.
    pub phase: ExecutionPhase,
    /// The content of its references when it began. `None` if the content is not known, or if it acts by tools.
    pub seen: Option<BTreeMap<String, BlobId>>,
    /// The review of its result, if one was begun.
    pub review: Option<Box<Review>>,
    /// Whether its model was already told of a failed check of its changes. A person is asked about a second failure.
    pub checked_again: bool,
}

/// The review of the result of an execution. An execution has at most one.
#[derive(Clone, Debug, PartialEq)]
pub struct Review {
    /// The call that gave the result.
    pub of: CallKey,
    /// The result. It counts if the review finds it complete, or if no better result comes.
    pub result: ResultParts,
    /// The revision of the workspace when the result was given.
    pub revision: u32,
    /// The phase of the review.
    pub phase: ReviewPhase,
    /// What the reviewer says is missing, which is why the task is repeated.
    pub missing: Option<String>,
}

/// The phase of a review.
#[derive(Clone, Debug, PartialEq)]
pub enum ReviewPhase {
    /// The review waits for the verdict.
    Asked,
    /// The reviewer found something missing, and the task is repeated.
    OnceMore,
    /// The review is over.
    Over {
        /// Why there is no verdict, or no second result.
        failed: Option<String>,
    },
}

impl Review {
    /// Whether the review is over.
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

/// What an execution does, with the data that it needs for that.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum ExecutionPhase {
    /// Its calls are made, then its model is asked.
    #[default]
    Working,
    /// Its reply is accepted, and the changes in it are not on disk yet.
    Accepted(Arc<ResultParts>),
    /// Its reply is accepted, and its changes, if any, are on disk.
    Finished {
        /// The reply.
        result: Arc<ResultParts>,
        /// The revision of the workspace when it finished.
        revision: u32,
    },
    /// It failed without a result.
    Failed(Box<Failure>),
}

impl Execution {
    /// Whether it finished or failed.
    pub fn is_ended(&self) -> bool {
        self.is_finished() || self.failure().is_some()
    }

    /// Whether its reply is accepted and its changes, if any, are on disk.
    pub fn is_finished(&self) -> bool {
        matches!(self.phase, ExecutionPhase::Finished { .. })
    }

    /// Whether its result waits for the verdict of a review.
    pub fn is_under_review(&self) -> bool {
        self.review.as_ref().is_some_and(|review| review.phase == ReviewPhase::Asked)
    }

    /// Whether a review had the task repeated and there is no second result yet.
    pub fn is_done_once_more(&self) -> bool {
        self.review.as_ref().is_some_and(|review| review.phase == ReviewPhase::OnceMore)
    }

    pub(super) fn has_open_review(&self) -> bool {
        self.review.as_ref().is_some_and(|review| !review.is_over())
    }

    /// Whether it gave its result, finished or under review, at the workspace revision `now`.
    pub(super) fn gave_at(&self, now: u32) -> bool {
        self.finished_at(now) || self.review.as_ref().is_some_and(|review| !review.is_over() && review.revision == now)
    }

    /// Whether it finished at the workspace revision `now`.
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

    /// The accepted reply, shared.
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

    /// Finishes it with this result, of which nothing waits.
    pub(super) fn finish(&mut self, result: impl Into<Arc<ResultParts>>, revision: u32) {
        self.phase = ExecutionPhase::Finished { result: result.into(), revision };
    }

    /// Fails it. None of its calls is made any more.
    pub(super) fn fail(&mut self, failure: Failure) {
        self.phase = ExecutionPhase::Failed(Box::new(failure));
        self.attempts.close();
    }

    /// Whether nothing was done for it yet and no person is asked about it.
    pub(super) fn is_untouched(&self) -> bool {
        let called = self.calls.iter().any(|call| call.state != ToolState::Queued);
        let replied = !self.turns.is_empty()
            || self.result().is_some()
            || self.review.is_some()
            || self.attempts.reading.is_some();
        !called && !replied && !self.is_ended() && self.attempts.issues.is_empty()
    }

    /// Whether it made calls and all of them failed.
    pub(super) fn has_only_failed_calls(&self) -> bool {
        !self.calls.is_empty() && self.calls.iter().all(|call| call.has_failed() && !call.timed_out)
    }

    /// Its call with this id.
    pub fn call(&self, id: &str) -> Option<&ToolRun> {
        self.calls.iter().find(|call| call.call.id == id)
    }

    pub(super) fn call_mut(&mut self, id: &str) -> Option<&mut ToolRun> {
        self.calls.iter_mut().find(|call| call.call.id == id)
    }
}

/// A turn of a conversation in which the model asked for calls.
#[derive(Clone, Debug, PartialEq)]
pub struct Turn {
    /// The model call.
    pub key: CallKey,
    /// The reply as recorded.
    pub reply: Option<BlobId>,
    /// The ids of its calls in order. The calls themselves are in `Execution::calls`.
    pub calls: Vec<String>,
    /// The hash of what the model said and asked for, without ids. `None` for tasks of sheets.
    pub said: Option<BlobId>,
}

/// A tool call of an execution.
#[derive(Clone, Debug, PartialEq)]
pub struct ToolRun {
    /// The call.
    pub call: ToolCall,
    /// Its state.
    pub state: ToolState,
    /// Milliseconds it took.
    pub ms: u64,
    /// The first line of the tool's message, if the call failed.
    pub fault: Option<String>,
    /// Pictures of its output.
    pub pictures: Vec<Picture>,
    /// Whether the time of its task ended it, so that its output is not whole.
    pub timed_out: bool,
    /// The number of its tree, if it is a template call that has returned.
    pub mount: Option<usize>,
    /// How many of its questions were answered or declined. A call may ask several in a row.
    pub answers: u32,
}

impl ToolRun {
    pub(super) fn new(call: ToolCall) -> Self {
        let (ms, answers, timed_out) = (0, 0, false);
        let (fault, pictures, mount) = (None, Vec::new(), None);
        Self { call, state: ToolState::Queued, ms, fault, pictures, timed_out, mount, answers }
    }

    /// Whether the run's time was over before it ended. A resume settles it.
    pub fn is_cut(&self) -> bool {
        matches!(self.state, ToolState::Cut { .. })
    }

    /// The answer with which it goes on.
    pub fn answer(&self) -> Option<&PersonAnswer> {
        match &self.state {
            ToolState::Answered(answer) => Some(answer),
            _ => None,
        }
    }

    /// Whether it was started and waits for an answer, or goes on with one. It ends with its process.
    pub fn is_midway(&self) -> bool {
        matches!(self.state, ToolState::Asking { midway: true, .. } | ToolState::Answered(_))
    }

    /// Marks a call that was started and did not end. It is not repeated before a resume.
    pub(super) fn cut(&mut self) {
        self.state = ToolState::Cut { approved: self.state == ToolState::Approved };
    }

    /// Makes a call that its task's time ended as if it had not been made.
    pub(super) fn begin_again(&mut self) {
        (self.state, self.timed_out, self.fault) = (ToolState::Queued, false, None);
        self.pictures.clear();
    }

    /// Whether it was started before, did not end, and may not be repeated without approval. Its gate asks whether to
    /// run it again.
    pub fn asks_again(&self) -> bool {
        matches!(self.state, ToolState::Gated { again: true, .. })
    }

    /// Whether the tool could not do what was asked.
    pub fn has_failed(&self) -> bool {
        matches!(self.output(), Some(ToolOutput::Text { error: true, .. }))
    }

    /// Whether its changes could not be applied.
    pub fn was_rejected(&self) -> bool {
        matches!(self.output(), Some(ToolOutput::Rejected(_)))
    }

    /// Whether an equal earlier call answered it.
    pub fn is_repeated(&self) -> bool {
        matches!(self.output(), Some(ToolOutput::Repeated { .. }))
    }

    /// Its output, once there is one.
    pub fn output(&self) -> Option<&ToolOutput> {
        match &self.state {
            ToolState::Done(output) => Some(output),
            _ => None,
        }
    }
}

/// The state of a tool call. A call is in flight if it is `Queued`, `Approved` or `Answered` and its key is among
/// the effects in flight.
#[derive(Clone, Debug, PartialEq)]
pub enum ToolState {
    /// Not started.
    Queued,
    /// It waits at a before-call gate.
    Gated {
        /// Number of the gate.
        gate: u32,
        /// Whether it was started before and did not end. The gate then asks whether to run it again.
        again: bool,
    },
    /// It is approved and not finished.
    Approved,
    /// It was started, and the run's time was over before it ended.
    Cut {
        /// Whether a person had approved it.
        approved: bool,
    },
    /// It waits for a person's answer.
    Asking {
        /// The question.
        question: String,
        /// Whether the call goes on with the answer. Otherwise, the answer is its output.
        midway: bool,
    },
    /// It goes on with a person's answer.
    Answered(PersonAnswer),
    /// It runs a template as the tree with this number.
    Mounted(usize),
    /// Its change set with this number waits for approval or is being applied.
    Staged(u32),
    /// It has an output.
    Done(ToolOutput),
}

/// What a person answered in the middle of a call.
#[derive(Clone, Debug, PartialEq)]
pub enum PersonAnswer {
    /// This text.
    Given(BlobId),
    /// Nothing, because nobody was there.
    Declined,
}

impl ToolState {
    /// It waits for a person.
    pub(super) fn is_asking(&self) -> bool {
        matches!(self, Self::Gated { .. } | Self::Asking { .. })
    }
}

/// What the model sees of a call. `prompt` renders the variants. Their texts are blobs or fragments.
#[derive(Clone, Debug, PartialEq)]
pub enum ToolOutput {
    /// The tool's text.
    Text {
        /// The whole output.
        blob: BlobId,
        /// Whether it is an error text.
        error: bool,
    },
    /// A person's answer.
    Answered(BlobId),
    /// Its changes are on disk, as this set of `TaskRun::applied`.
    Applied {
        /// The number of the set.
        set: u32,
    },
    /// Its changes could not be applied. The model sees an error.
    Rejected(Vec<Issue>),
    /// An equal earlier call of the run already gave the output (spec 10.7).
    Repeated {
        /// The id of that call.
        of: String,
    },
}

/// The merge of several finished executions.
#[derive(Clone, Debug, PartialEq)]
pub struct Merge {
    /// Its number, for a merge by code.
    pub n: u32,
    /// Who merges.
    pub by: MergeBy,
    /// Its model calls.
    pub attempts: Attempts,
}

impl Merge {
    /// Whether the model's attempts ended without a result.
    pub fn fell_back(&self) -> bool {
        self.by == MergeBy::CodeAfterModel
    }

    /// Makes code merge, because the model gave no result.
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
    /// One model call merges.
    Model,
    /// Code merges, because the attempts of the model ended without a result.
    CodeAfterModel,
    /// Code merges.
    Code,
}

/// A change set that is on disk.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AppliedSet {
    /// The execution that it came from.
    pub run: ExecutionId,
    /// Its number within the task.
    pub set: u32,
    /// The changes that were applied.
    pub changes: ChangeSet,
    /// The part that a person refused before.
    pub refused: Option<RefusedPart>,
    /// The result of its check on a copy of the project, if it was checked.
    pub check: Option<CheckReport>,
    /// Whether a person reverted it.
    pub reverted: bool,
}
