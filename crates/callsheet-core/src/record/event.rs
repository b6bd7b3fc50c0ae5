//! The facts of a run, version 1.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use crate::issue::{Issue, Repair};
use crate::spec::{
    BlobId, ExecutionId, Refinement, RunId, Settings, SkillPolicy, Slug, TaskLimits, TaskList, ToolCall,
};

use super::{
    Answer, AnsweredBy, Apart, Beside, CallFault, CallKey, CallSizes, ChangeSet, CheckReport, EffectKey, Entry, Gate,
    ListAdopted, Outcome, PromptFile, ReferenceStage, ResultParts, Retrieval, Step, StopReason, ToolPolicy, ToolRecord,
    Tree, Usage,
};

/// Where an adopted list came from.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ListOrigin {
    /// A plan or iteration reply.
    Reply(CallKey),
    /// A sheet file or a single skill, read by code.
    Host,
    /// An edited `sheet.md` of the run (spec 2.18); the text as it was read. In such a list `unchanged` also marks
    /// problem tasks that stand as they were.
    Edit(BlobId),
}

/// What happened. Every variant is the *result* of something the shell did; `run` only folds it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum Event {
    /// The first fact of every run.
    RunStarted {
        /// Name of the run.
        run: RunId,
        /// How it begins.
        entry: Entry,
        /// Settings in force.
        settings: Settings,
        /// What is known of the registered tools, by canonical name. A tool that is not named counts as
        /// `Write`, `Once` (spec 11.1).
        #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
        tools: BTreeMap<String, ToolPolicy>,
    },
    /// A process takes the run up again: what was in flight is settled (spec 2.18), a waiting outcome is lifted,
    /// rounds count anew.
    RunResumed {
        /// Settings in force from here on.
        settings: Settings,
    },
    /// A person follows up on an ended run (spec 2.17). It is taken up as by a resume, and the text is asked to become a
    /// list. It counts as a follow-up once that list is accepted.
    RunContinued {
        /// Verbatim.
        text: String,
        /// Settings in force from here on.
        settings: Settings,
    },
    /// A person takes back a follow-up that has no list yet (spec 2.17). The run rests and is as it was before.
    FollowUpWithdrawn {
        /// How the run had ended.
        outcome: Outcome,
    },
    /// An edit of the sheet has errors: until it is right, nothing of these tasks starts, and the run does not end by
    /// itself (spec 2.18).
    EditHeld {
        /// Tasks that the edit changes or lacks; `None`: the sheet is right again.
        tasks: Option<BTreeSet<Slug>>,
    },
    /// `sheet.md` is about to be written with this content. A file that holds it is not edited (spec 2.18).
    SheetRendered {
        /// Hash of the content.
        hash: BlobId,
    },
    /// A person has a failed, blocked or denied task done again (spec 2.18).
    TaskRetried {
        /// Task.
        task: Slug,
        /// Skills that are no longer as they were pinned, as they are now: tasks that come back go on with these
        /// (spec 2.5, 7.5).
        #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
        skills: BTreeMap<String, SkillPolicy>,
    },
    /// A person takes a task that has not started to run off the list (spec 2.18).
    TaskDropped {
        /// Task.
        task: Slug,
    },
    /// An effect is about to be performed. Comes before the performance.
    Started {
        /// Which.
        effect: EffectKey,
        /// Tokens that a model call reserves of the budgets above it, until it is over.
        #[serde(default, skip_serializing_if = "is_zero")]
        reserved: u64,
    },
    /// A model replied; nothing has acted on it yet.
    ReplyReceived {
        /// Which call.
        key: CallKey,
        /// The prompt exactly as sent, JSON of the canonical request.
        prompt: BlobId,
        /// The canonical reply, JSON with text, thinking and tool calls.
        reply: BlobId,
        /// `PROVIDER/MODEL` that answered.
        model: String,
        /// Cost.
        usage: Usage,
        /// Milliseconds from the first send to the last byte, waits for a slot left out.
        ms: u64,
        /// Sends it took (spec 12.1).
        sends: u32,
        /// Why the model stopped.
        stop: StopReason,
        /// How large prompt and reply were.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        sizes: Option<CallSizes>,
    },
    /// A model call gave no reply.
    CallFailed {
        /// Which call.
        key: CallKey,
        /// Why.
        fault: CallFault,
        /// Sends that were tried.
        sends: u32,
        /// What the provider said, without secrets.
        message: String,
        /// How large the prompt was, as far as it was put together.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        sizes: Option<CallSizes>,
    },
    /// A reply was refused: it has at least one issue of severity error.
    ReplyRefused {
        /// Which call.
        key: CallKey,
        /// All issues.
        issues: Vec<Issue>,
        /// Repairs made.
        repairs: Vec<Repair>,
        /// What of a refused refinement is valid: it enters the task, so that the next attempt starts from it (spec 3.7).
        #[serde(default, skip_serializing_if = "Option::is_none")]
        valid: Option<Refinement>,
    },
    /// A list was accepted.
    ListAdopted {
        /// Its origin.
        origin: ListOrigin,
        /// The list, names and slugs filled, matched with the outstanding tasks.
        list: ListAdopted,
        /// Repairs made.
        repairs: Vec<Repair>,
        /// Warnings.
        issues: Vec<Issue>,
    },
    /// A refinement was accepted.
    TaskRefined {
        /// Which call.
        key: CallKey,
        /// The new values.
        refinement: Refinement,
        /// Repairs made.
        repairs: Vec<Repair>,
        /// Warnings.
        issues: Vec<Issue>,
    },
    /// An execution reply of an `interpret` task was accepted, or the final reply of a loop task.
    RunFinished {
        /// Which call.
        key: CallKey,
        /// What it gave.
        result: ResultParts,
        /// Repairs made.
        repairs: Vec<Repair>,
        /// Warnings.
        issues: Vec<Issue>,
    },
    /// The reply of a routing call was read (spec 2.3). For a request that is one task, its list is adopted instead.
    Routed {
        /// Which call.
        key: CallKey,
        /// The skill; `None`: it names none, or several tasks are needed.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        skill: Option<String>,
        /// Files that the request asks for, by their paths in it.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        writes: Vec<String>,
        /// Why it names none.
        issues: Vec<Issue>,
    },
    /// A list was read with tasks that have no skill; each gets one before the list counts (spec 2.3).
    ListDrafted {
        /// Which call.
        key: CallKey,
        /// The list.
        list: TaskList,
        /// What stands beside its tasks.
        #[serde(flatten)]
        beside: Beside,
        /// Repairs made.
        repairs: Vec<Repair>,
        /// Issues that refuse nothing.
        issues: Vec<Issue>,
    },
    /// The reply of a review was read (spec 10.9). One that gives no verdict counts as complete; a warning says so.
    Reviewed {
        /// Which call.
        key: CallKey,
        /// What is missing in the result; `None`: nothing.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        missing: Option<String>,
        /// Repairs made.
        repairs: Vec<Repair>,
        /// What the next attempt is told, or why there is no verdict.
        issues: Vec<Issue>,
    },
    /// The reply that answers the request from several results was read (spec 2.15).
    Joined {
        /// Which call.
        key: CallKey,
        /// The answer.
        answer: String,
        /// What of it stands in nothing that its prompt showed (spec 3.14).
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        unsupported: Vec<String>,
        /// Repairs made.
        repairs: Vec<Repair>,
        /// Warnings.
        issues: Vec<Issue>,
    },
    /// A turn of a loop task asks for tool calls. Calls equal to earlier ones may be answered from these (spec 10.7).
    CallsAsked {
        /// Which call.
        key: CallKey,
        /// Calls, ids unique inside the task.
        calls: Vec<ToolCall>,
        /// Hash of what a handler said and asked for, without ids, for the check of progress.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        said: Option<BlobId>,
        /// By id, those that are not made since an equal earlier call answers them, with the id of that call.
        #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
        repeats: BTreeMap<String, String>,
        /// By id, those that cannot start, with the words for the model that are their output. They are not made.
        #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
        stuck: BTreeMap<String, BlobId>,
        /// Repairs made.
        repairs: Vec<Repair>,
        /// Warnings.
        issues: Vec<Issue>,
    },
    /// References of a task were resolved; issues of severity error mean that they do not hold.
    ReferencesChecked {
        /// Task.
        task: Slug,
        /// Number of the check, as in the effect. Written as `number`: `n` is the fact's own.
        #[serde(rename = "number")]
        n: u32,
        /// When.
        stage: ReferenceStage,
        /// What was found.
        issues: Vec<Issue>,
        /// Hashes of what they hold, by target as written in a link; of those that hold.
        #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
        contents: BTreeMap<String, BlobId>,
        /// Together they hold more than one prompt has room for: each is read by itself (spec 10.1).
        #[serde(default, skip_serializing_if = "Option::is_none")]
        apart: Option<Apart>,
    },
    /// A tool call ended.
    ToolFinished {
        /// Task.
        task: Slug,
        /// Execution run.
        run: ExecutionId,
        /// Call id.
        call: String,
        /// What it gave.
        record: ToolRecord,
        /// Milliseconds.
        ms: u64,
    },
    /// A question of a tool was answered.
    QuestionAnswered {
        /// Task.
        task: Slug,
        /// Execution run.
        run: ExecutionId,
        /// Call id.
        call: String,
        /// The answer, as the output of the call.
        output: BlobId,
    },
    /// Runs of a task were merged by code (spec 3.12). A merge by model is a `RunFinished` with phase `merge`.
    RunsMerged {
        /// Task.
        task: Slug,
        /// Number of the merge, as in the effect. Written as `number`: `n` is the fact's own.
        #[serde(rename = "number")]
        n: u32,
        /// The merged result.
        result: ResultParts,
    },
    /// A gate was answered.
    GateAnswered {
        /// Which asking.
        gate: Gate,
        /// The answer.
        answer: Answer,
        /// Where it was given; `None`: in a record of before that was noted.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        by: Option<AnsweredBy>,
    },
    /// A change set was checked on a copy of the project (spec 10.10).
    ChangesChecked {
        /// Task.
        task: Slug,
        /// Execution run.
        run: ExecutionId,
        /// Number of the set.
        set: u32,
        /// The check.
        check: CheckReport,
        /// What its model is told, if it failed.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        issues: Vec<Issue>,
    },
    /// A change set is on disk, whole: exactly the pending one.
    ChangesApplied {
        /// Task.
        task: Slug,
        /// Execution run.
        run: ExecutionId,
        /// Number of the change set inside the task.
        set: u32,
        /// The applied set.
        changes: ChangeSet,
    },
    /// A file of a change set moved before the set was applied, or while a gate shows it; nothing of it is on disk. The set
    /// that fits the files as they are now takes its place, under the next number of the task (spec 3.10).
    ChangesRebased {
        /// Task.
        task: Slug,
        /// Execution run.
        run: ExecutionId,
        /// Number of the change set inside the task.
        set: u32,
        /// The set that takes its place.
        changes: ChangeSet,
        /// Its hunks have the lines of the hunks that were approved, byte for byte: the approval holds.
        as_shown: bool,
    },
    /// A change set could not be applied; nothing of it is on disk.
    ChangesRejected {
        /// Task.
        task: Slug,
        /// Execution run.
        run: ExecutionId,
        /// Number of the change set inside the task.
        set: u32,
        /// Why.
        issues: Vec<Issue>,
    },
    /// An interrupted apply was taken back; nothing of it is on disk.
    ChangesRolledBack {
        /// Task.
        task: Slug,
        /// Execution run.
        run: ExecutionId,
        /// Number of the change set inside the task.
        set: u32,
    },
    /// A person took applied changes back after the run.
    ChangesReverted {
        /// Task.
        task: Slug,
        /// Execution run.
        run: ExecutionId,
        /// Number of the change set inside the task.
        set: u32,
    },
    /// A task cannot go on for a reason outside the model's replies, such as a lost skill.
    TaskFailed {
        /// Task.
        task: Slug,
        /// For a person and the iteration.
        reason: String,
    },
    /// The task tree of a template run: what is executed, whatever becomes of the files it was read from.
    TreeAdopted {
        /// All of it.
        tree: Box<Tree>,
    },
    /// A task of the tree was evaluated: opened, judged or closed by pure code.
    Evaluated {
        /// Task.
        task: Slug,
        /// Number of the evaluation, as in the effect. Written as `number`: `n` is the fact's own.
        #[serde(rename = "number")]
        n: u32,
        /// What it gave.
        step: Step,
    },
    /// Context of a task of the tree was looked up (spec "Templates" 5, 13).
    ContextRetrieved {
        /// Task.
        task: Slug,
        /// Number of the lookup, as in the effect. Written as `number`: `n` is the fact's own.
        #[serde(rename = "number")]
        n: u32,
        /// What came of it.
        retrieval: Retrieval,
        /// The index was searched and holds nothing: told once a run.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        empty_index: bool,
    },
    /// Prompt templates are used for the first time in this run, or with another text than before (spec 8.1). Recorded
    /// before the calls that use them; a resume records those that changed.
    PromptsUsed {
        /// Where each came from and the hash of its text, by key.
        prompts: BTreeMap<String, PromptFile>,
    },
    /// Most of a limit of the run, or of a task of its tree, is used. Recorded once for each limit and bound, so that
    /// viewers tell it once.
    LimitNear {
        /// The task of the tree; `None`: the run.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        task: Option<Slug>,
        /// The limit, by the name a person sets it by.
        limit: String,
        /// Used, in the unit of the limit (seconds for times).
        used: f64,
        /// The limit.
        max: f64,
    },
    /// A person raised a limit of the run; the new bound counts from here on.
    LimitRaised {
        /// The limit, by the name a person sets it by.
        limit: String,
        /// The new bound, in the unit of the limit (seconds for times).
        max: f64,
    },
    /// A person asked to stop.
    CancelRequested,
    /// Nobody can answer what waits; the process ends and the run can be resumed. Recorded once nothing but gates
    /// and questions is outstanding and all of them were tried: open ones rest until an answer or a resume.
    RunWaiting {
        /// `approval_required` or `input_required`.
        outcome: Outcome,
    },
    /// A call runs a template: its tree is executed below the task, in this run (spec "Templates" 16).
    CallMounted {
        /// The task that made it.
        task: Slug,
        /// Execution run.
        run: ExecutionId,
        /// Id of the call.
        call: String,
        /// What is executed, with the arguments bound.
        tree: Box<Tree>,
        /// Templates of it that stand in the record already, as they were in the last tree that holds them.
        #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
        shared: BTreeSet<String>,
    },
    /// The template of a call came back, or could not begin: what it gave is the result of the execution run.
    CallReturned {
        /// The task that made it.
        task: Slug,
        /// Execution run.
        run: ExecutionId,
        /// Id of the call.
        call: String,
        /// Document and summary.
        result: Box<ResultParts>,
        /// Why it failed.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        failed: Option<String>,
    },
    /// Limits of recorded templates that were changed in their files, and nothing else was, count from here on (spec
    /// "Templates" 9): those of each task, in document order, by the name of the template.
    LimitsChanged {
        /// Limits.
        limits: BTreeMap<String, Vec<TaskLimits>>,
    },
    /// The report is written and the run has ended.
    RunConcluded {
        /// How.
        outcome: Outcome,
        /// The report's text.
        report: BlobId,
    },
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "the form that serde wants")]
fn is_zero(number: &u64) -> bool {
    *number == 0
}

impl Event {
    /// The repairs of the reading that this event holds, if it holds one.
    pub fn repairs_mut(&mut self) -> Option<&mut Vec<Repair>> {
        match self {
            Self::ReplyRefused { repairs, .. }
            | Self::ListAdopted { repairs, .. }
            | Self::ListDrafted { repairs, .. }
            | Self::TaskRefined { repairs, .. }
            | Self::RunFinished { repairs, .. }
            | Self::Reviewed { repairs, .. }
            | Self::Joined { repairs, .. }
            | Self::CallsAsked { repairs, .. } => Some(repairs),
            _ => None,
        }
    }
}
