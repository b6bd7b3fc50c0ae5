//! What a run knows of one task: its state, its execution runs and why it ended as it did. Plain data; the rules are
//! in the neighbouring files. Handed out by reference only, so the fields are public.

use std::collections::{BTreeMap, BTreeSet};

use crate::issue::Issue;
use crate::record::{Apart, CallKey, CallSizes, ChangeSet, ReferenceStage, RefusedPart, ResultParts};
use crate::spec::{BlobId, ExecRunId, Reference, Refinement, SkillMode, SkillPolicy, Slug, Task, ToolCall, Wording};

use super::{Attempts, Limit, Review, State, Stopwatch};

/// Why a task or an execution run failed.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Failure {
    /// For a person and the iteration.
    pub reason: String,
    /// Issues of the last refused reply or of the reference check.
    pub issues: Vec<Issue>,
    /// All of it was communication (spec 12.3, 12.4).
    pub communication: bool,
    /// What ended it, where a rule asks.
    pub cause: Cause,
}

/// What ended a task or an execution run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Cause {
    /// See the reason.
    #[default]
    Other,
    /// A limit of its own.
    Limit(Limit),
    /// A limit of a task of the tree above it (spec "Templates" 9).
    AboveLimit(Limit),
    /// The prompt did not fit the window.
    Overflow,
    /// Refused credentials, unknown model and the like.
    Configuration,
    /// Equal turns in a row (spec "Templates" 9).
    NoProgress,
    /// A subtask that failed because a budget above it is spent (spec "Templates" 12).
    Subtask,
}

/// A reference check that is owed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Check {
    /// Its number.
    pub n: u32,
    /// When.
    pub stage: ReferenceStage,
}

/// One task of the run.
#[derive(Clone, Debug, PartialEq)]
pub struct TaskRun {
    /// The task with all that refinement gave it.
    pub task: Task,
    /// As it was before it was refined or listed with other words, oldest first.
    pub former: Vec<Task>,
    /// Where it stands.
    pub state: State,
    /// Why it is a writer (spec 11.1); `None`: a reader.
    pub writer: Option<String>,
    /// Policy of its skill, pinned when the list was adopted; `None`: no skill.
    pub skill: Option<SkillPolicy>,
    /// Approved at a before-run gate (spec 11.6).
    pub approved: bool,
    /// Its refinement is valid, or was skipped.
    pub refined: bool,
    /// Refinement cannot be skipped any more: a check or a bad call of the plan said so.
    pub must_refine: bool,
    /// Went back from the start of execution to refinement once (spec 2.8).
    pub sent_back: bool,
    /// The refinement unit.
    pub refine: Attempts,
    /// Issues of the last reference check, for the refinement prompt and the person.
    pub check_issues: Vec<Issue>,
    /// A check that is owed.
    pub check: Option<Check>,
    /// Checks so far.
    pub checks: u32,
    /// `Run::world` at the last check without errors.
    pub checked: Option<u32>,
    /// What its references held at the last check, by target as written in a link.
    pub seen: BTreeMap<String, BlobId>,
    /// At the last check its references were too large for one prompt (spec 10.1).
    pub apart: Option<Apart>,
    /// Execution has begun: `runs` are those of this execution.
    pub executing: bool,
    /// Execution had begun and waits for its step again: it goes on with `runs` when that opens.
    pub kept: bool,
    /// Execution runs in order (spec 10.1). Kept after the task ended.
    pub runs: Vec<ExecRun>,
    /// The merge, once all of several runs are finished.
    pub merge: Option<Merge>,
    /// Merges so far.
    pub merges: u32,
    /// Change sets so far.
    pub sets: u32,
    /// Change sets on disk, in order.
    pub applied: Vec<AppliedSet>,
    /// The result of a done task.
    pub result: Option<ResultParts>,
    /// Why it failed.
    pub failure: Option<Failure>,
    /// The words of its denial, verbatim; may be empty.
    pub denial: Option<String>,
    /// The task whose missing output or the problem that blocks it.
    pub blocked_by: Option<Slug>,
    /// The iteration call in progress tells of its problem.
    pub problem_shown: bool,
    /// An accepted iteration has seen its problem (spec 2.9).
    pub problem_seen: bool,
    /// Its skill was not there when the list was adopted.
    pub skill_lost: bool,
    /// The task of the list whose call of a template it is part of; `None`: it is of the list, or the run is the template.
    pub below: Option<Slug>,
    /// Round in which it was listed last.
    pub round: u32,
    /// Time in which at least one of its units was in flight.
    pub clock: Stopwatch,
    /// Its largest reply so far, and its last prompt, with what they may be.
    pub sizes: CallSizes,
    /// When the last of its replies came, in milliseconds since the Unix epoch.
    pub last_turn_at: Option<u64>,
    /// Milliseconds from the start of the run at which its refinement could have ended with unlimited slots.
    pub ideal_refined_ms: u64,
    /// The same for its end.
    pub ideal_end_ms: u64,
}

impl TaskRun {
    /// Puts the values of a refinement in the place of the task's (spec 3.7); what it does not give stays.
    pub(super) fn take(&mut self, refinement: &Refinement) {
        self.note_former();
        if let Some(need) = &refinement.need {
            self.task.need.clone_from(need);
        }
        if let Some(references) = &refinement.references {
            self.task.references.clone_from(references);
        }
        if let Some(expected) = &refinement.expected {
            self.task.expected.clone_from(expected);
        }
        if !refinement.calls.is_empty() {
            self.task.calls.clone_from(&refinement.calls);
        }
        if refinement.approval {
            self.task.approval = true;
            self.writer.get_or_insert_with(|| Task::ASKS_FOR_APPROVAL.to_owned());
        }
    }

    /// Remembers what it says before it is changed.
    pub(super) fn note_former(&mut self) {
        if !self.former.contains(&self.task) {
            self.former.push(self.task.clone());
        }
    }

    /// Its former needs, with the skills it had then, oldest first.
    pub fn wordings(&self) -> Vec<Wording> {
        let wording = |task: &Task| Wording { skill: task.skill.clone(), need: task.need.clone() };
        let own = wording(&self.task);
        let mut wordings: Vec<Wording> = Vec::new();
        for former in self.former.iter().map(wording) {
            if former != own && !wordings.contains(&former) {
                wordings.push(former);
            }
        }
        wordings
    }

    /// Notes how large a call was; `at`: when it was answered.
    pub(super) fn measure(&mut self, sizes: Option<CallSizes>, at: Option<u64>) {
        if let Some(sizes) = sizes {
            self.sizes = CallSizes { reply: self.sizes.reply.max(sizes.reply), ..sizes };
        }
        self.last_turn_at = at.or(self.last_turn_at);
    }

    pub(super) fn new(task: Task) -> Self {
        Self {
            task,
            former: Vec::new(),
            state: State::Planned,
            writer: None,
            skill: None,
            approved: false,
            refined: false,
            must_refine: false,
            sent_back: false,
            refine: Attempts::default(),
            check_issues: Vec::new(),
            check: None,
            checks: 0,
            checked: None,
            seen: BTreeMap::new(),
            apart: None,
            executing: false,
            kept: false,
            runs: Vec::new(),
            merge: None,
            merges: 0,
            sets: 0,
            applied: Vec::new(),
            result: None,
            failure: None,
            denial: None,
            blocked_by: None,
            problem_shown: false,
            problem_seen: false,
            skill_lost: false,
            below: None,
            round: 0,
            clock: Stopwatch::default(),
            sizes: CallSizes::default(),
            last_turn_at: None,
            ideal_refined_ms: 0,
            ideal_end_ms: 0,
        }
    }

    /// The run with this id.
    pub fn run(&self, id: &ExecRunId) -> Option<&ExecRun> {
        self.runs.iter().find(|run| run.id == *id)
    }

    pub(super) fn run_mut(&mut self, id: &ExecRunId) -> Option<&mut ExecRun> {
        self.runs.iter_mut().find(|run| run.id == *id)
    }

    /// `ready` or `running` with execution runs under way.
    pub(super) fn is_executing(&self) -> bool {
        self.executing && matches!(self.state, State::Ready | State::Running)
    }

    /// Tasks whose outputs it reads.
    pub fn producers(&self) -> impl Iterator<Item = &Slug> {
        self.task.references.iter().filter_map(|reference| reference.target.producer())
    }

    /// What a person refused of changes that are on disk in part (spec 11.4), each once, in the order of the sets.
    pub fn refused(&self) -> impl Iterator<Item = &RefusedPart> {
        let parts = self.applied.iter().filter(|set| !set.reverted).filter_map(|set| set.refused.as_ref());
        let mut told: Vec<&RefusedPart> = Vec::new();
        for part in parts {
            if told.iter().all(|known| known.told != part.told) {
                told.push(part);
            }
        }
        told.into_iter()
    }

    /// Whether what a call changed was taken back.
    pub(super) fn is_taken_back(&self, call: &ToolRun) -> bool {
        let Some(ToolOutput::Applied { set }) = call.output() else { return false };
        self.applied.iter().any(|applied| applied.set == *set && applied.reverted)
    }

    /// Paths of files that hold changes of its, in path order.
    pub fn changed_files(&self) -> BTreeSet<&str> {
        let sets = self.applied.iter().filter(|set| !set.reverted);
        sets.flat_map(|set| &set.changes.files).map(|file| file.path.as_str()).collect()
    }

    /// Paths of files of which a person took changes of its back, in path order.
    pub fn taken_back_files(&self) -> BTreeSet<&str> {
        let sets = self.applied.iter().filter(|set| set.reverted);
        sets.flat_map(|set| &set.changes.files).map(|file| file.path.as_str()).collect()
    }

    /// Whether the skill's tasks are tool conversations (spec 10.7).
    pub fn is_loop(&self) -> bool {
        self.skill.as_ref().is_some_and(|skill| matches!(skill.mode, SkillMode::Loop | SkillMode::Handler))
    }

    /// Whether it is the handler of an atomic task of a template (spec "Templates" 1).
    pub fn is_handler(&self) -> bool {
        self.skill.as_ref().is_some_and(|skill| skill.mode == SkillMode::Handler)
    }

    /// Whether it is a process, for which no model is asked.
    pub fn is_process(&self) -> bool {
        self.skill.as_ref().is_some_and(|skill| skill.mode == SkillMode::Process)
    }
}

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
pub struct ExecRun {
    /// Its name inside the task, for the machine.
    pub id: ExecRunId,
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
    /// The accepted reply. Its changes may still wait.
    pub result: Option<ResultParts>,
    /// The review of its result, once there was one to make.
    pub review: Option<Review>,
    /// The reply is accepted and its changes, if any, are on disk.
    pub finished: bool,
    /// `Run::world` when it finished.
    pub finished_world: u32,
    /// What it reads held when it began; `None` if that is not known, or if it acts by tools.
    pub seen: Option<BTreeMap<String, BlobId>>,
    /// Why it failed.
    pub failure: Option<Failure>,
}

impl ExecRun {
    /// Finished or failed.
    pub fn is_ended(&self) -> bool {
        self.finished || self.failure.is_some()
    }

    /// Nothing of it was done, nor is asked of a person.
    pub(super) fn is_untouched(&self) -> bool {
        let called = self.calls.iter().any(|call| call.state != ToolState::Queued);
        let replied =
            !self.turns.is_empty() || self.result.is_some() || self.review.is_some() || self.attempts.reading.is_some();
        !called && !replied && !self.is_ended() && self.attempts.issues.is_empty()
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
    /// Ids of its calls, in order; the calls themselves are in `ExecRun::calls`.
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
    /// Of a call of a template that came back: the number of its tree.
    pub mount: Option<usize>,
    /// The run's time was over before it ended; a resume settles it.
    pub cut: bool,
    /// A process that was killed while it ran and may not be repeated unasked: its gate asks whether it runs again.
    pub again: bool,
}

impl ToolRun {
    pub(super) fn new(call: ToolCall) -> Self {
        Self { call, state: ToolState::Queued, ms: 0, mount: None, cut: false, again: false }
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
    /// Waits at the before-call gate of this number.
    Gated(u32),
    /// Approved, not finished.
    Approved,
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
        matches!(self, Self::Gated(_) | Self::Asking(_))
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
    /// By one model call; after its attempts, by code.
    pub by_model: bool,
    /// The model's attempts ended without a result.
    pub fell_back: bool,
    /// Its model calls.
    pub attempts: Attempts,
}

/// A change set that is on disk.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AppliedSet {
    /// Execution run it came from.
    pub run: ExecRunId,
    /// Its number inside the task.
    pub set: u32,
    /// What was applied.
    pub changes: ChangeSet,
    /// What a person refused of it before.
    pub refused: Option<RefusedPart>,
    /// A person took it back.
    pub reverted: bool,
}

/// Where a change set came from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum SetSource {
    /// The accepted reply of the run.
    Reply,
    /// The tool call with this id.
    Call(String),
}

/// Where a change set stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SetStage {
    /// At the before-apply gate of this number.
    Gated(u32),
    /// To be applied.
    Approved,
    /// Its apply was interrupted and must be taken back before anything else.
    RollBack,
}

/// Identity of a change set.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct SetKey {
    pub task: Slug,
    pub run: ExecRunId,
    pub set: u32,
}

/// A change set that is not on disk yet.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct PendingSet {
    pub changes: ChangeSet,
    pub source: SetSource,
    pub stage: SetStage,
    /// What a person refused of it.
    pub refused: Option<RefusedPart>,
    /// Its task started anew meanwhile.
    pub stale: bool,
}
