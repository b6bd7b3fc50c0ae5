//! The state of one task in a run: its phase, its executions and their results. Plain data; the rules are in the
//! neighbouring files. The run hands tasks out by reference only, so the fields are public.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::issue::Issue;
use crate::nouns::{BlobId, ExecutionId, Refinement, SkillMode, SkillPolicy, Slug, Task, Wording};
use crate::record::{Apart, CallSizes, ReferenceStage, RefusedPart, ResultParts};

use super::attempts::Attempts;
use super::calls::CallReuse;
use super::execution::{AppliedSet, Execution, Merge, Review, ToolOutput, ToolRun};
use super::failure::Failure;
use super::state::{State, Stopwatch};

/// The state of the reference check of a task.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ReferenceCheck {
    /// There is no valid check.
    #[default]
    Open,
    /// The references must be checked.
    Pending {
        /// The number of the check.
        n: u32,
        /// The stage at which they are checked.
        stage: ReferenceStage,
    },
    /// The references were valid at this revision of the workspace.
    Passed {
        /// The revision.
        revision: u32,
    },
}

/// Whether the iteration was told of a problem (spec 2.9).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Notice {
    /// The iteration was not told yet.
    #[default]
    New,
    /// The call in progress contains the problem.
    Shown,
    /// An accepted iteration has seen it.
    Acknowledged,
}

/// What a task does, with the data that it needs for that.
#[derive(Clone, Debug, PartialEq)]
pub enum TaskPhase {
    /// It is accepted, and nothing has started.
    Planned,
    /// It waits for an output that it reads and that does not exist yet.
    Waiting,
    /// Its refinement calls are in progress.
    Refining,
    /// It waits for its step, a slot or approval.
    Ready,
    /// Its executions, merge, change validation or apply is in progress.
    Running,
    /// It ended with this final result.
    Done(Arc<ResultParts>),
    /// It ended without output.
    Failed {
        /// Why it failed.
        failure: Box<Failure>,
        /// Whether the iteration was told.
        notice: Notice,
    },
    /// A task that it reads from ended without output.
    Blocked {
        /// That task, or the task whose problem holds it. If a policy blocks it, the task itself.
        by: Slug,
        /// Whether the iteration was told.
        notice: Notice,
    },
    /// A person denied it.
    Denied {
        /// The person's words, verbatim. May be empty.
        words: String,
        /// Whether the iteration was told.
        notice: Notice,
    },
    /// It was cancelled.
    Cancelled,
    /// It was removed from the plan.
    Dropped(RemovedBy),
}

/// Who removed a task from the plan.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RemovedBy {
    /// A person did, by an edit or a command.
    Person,
    /// A review or a follow-up did.
    Reply {
        /// The reason, verbatim.
        reason: String,
    },
    /// The task belonged to a call that was given up.
    Caller,
}

impl TaskPhase {
    /// The phase of a task that failed just now.
    pub(super) fn failed(failure: Failure) -> Self {
        Self::Failed { failure: Box::new(failure), notice: Notice::New }
    }

    /// Its state in the table of spec 2.10.
    pub fn state(&self) -> State {
        match self {
            Self::Planned => State::Planned,
            Self::Waiting => State::Waiting,
            Self::Refining => State::Refining,
            Self::Ready => State::Ready,
            Self::Running => State::Running,
            Self::Done(_) => State::Done,
            Self::Failed { .. } => State::Failed,
            Self::Blocked { .. } => State::Blocked,
            Self::Denied { .. } => State::Denied,
            Self::Cancelled => State::Cancelled,
            Self::Dropped(_) => State::Dropped,
        }
    }

    fn notice(&self) -> Option<Notice> {
        match self {
            Self::Failed { notice, .. } | Self::Blocked { notice, .. } | Self::Denied { notice, .. } => Some(*notice),
            _ => None,
        }
    }

    fn notice_mut(&mut self) -> Option<&mut Notice> {
        match self {
            Self::Failed { notice, .. } | Self::Blocked { notice, .. } | Self::Denied { notice, .. } => Some(notice),
            _ => None,
        }
    }
}

/// The progress of the refinement of a task.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Refined {
    /// It is not done and may be skipped.
    #[default]
    Open,
    /// It is not done and may not be skipped, because a check failed or the plan contained a bad call.
    Due,
    /// It is valid or was skipped.
    Done,
}

/// The progress of the execution of a task.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ExecutionStage {
    /// It has not begun. `TaskRun::runs` contains earlier finished executions that may be used again.
    #[default]
    NotBegun,
    /// It had begun and waits for its step again. It continues with its executions when the step opens.
    OnHold,
    /// It has begun, and `TaskRun::runs` belongs to it. The executions stay when the task has ended.
    Begun,
}

/// The state of one task of the run.
#[derive(Clone, Debug, PartialEq)]
pub struct TaskRun {
    /// The task, including everything that refinement added.
    pub task: Task,
    /// The task before each refinement or relisting with other words, oldest first.
    pub former: Vec<Task>,
    /// What the task does.
    pub phase: TaskPhase,
    /// Why the task is a writer (spec 11.1). `None` if it is a reader.
    pub writer: Option<String>,
    /// The policy of its skill when the list was adopted. `None` if it has no skill, or if the skill did not exist.
    pub skill: Option<SkillPolicy>,
    /// Whether a before-run gate approved it (spec 11.6).
    pub approved: bool,
    /// The progress of its refinement.
    pub refined: Refined,
    /// Whether it already went back from execution to refinement (spec 2.8, 10.4).
    pub sent_back: bool,
    /// Whether code made it from the request, so that it needs one call without refinement and tools (spec 2.3).
    pub direct: bool,
    /// The attempts at its refinement.
    pub refine: Attempts,
    /// The issues of the last reference check, for the refinement prompt and the person.
    pub check_issues: Vec<Issue>,
    /// The state of its reference check.
    pub check: ReferenceCheck,
    /// The number of checks so far.
    pub checks: u32,
    /// The contents of its references at the last check, by target as written in a link.
    pub seen: BTreeMap<String, BlobId>,
    /// Set if its references were too large for one prompt at the last check (spec 10.1).
    pub apart: Option<Apart>,
    /// The progress of its execution.
    pub execution: ExecutionStage,
    /// Its executions in order (spec 10.1). They are kept after the task has ended.
    pub runs: Vec<Execution>,
    /// Its merge, once several executions have all finished.
    pub merge: Option<Merge>,
    /// The number of merges so far.
    pub merges: u32,
    /// The number of change sets so far.
    pub sets: u32,
    /// Its change sets on disk, in order.
    pub applied: Vec<AppliedSet>,
    /// The number of the task of a template whose work it does.
    pub(super) part: Option<usize>,
    /// The task of the list that calls its template. `None` if it belongs to the list or to the template that is run.
    pub below: Option<Slug>,
    /// The round in which it was last listed.
    pub round: u32,
    /// Whether the list that contained it carries `**plan complete**`.
    pub plan_complete: bool,
    /// Whether its request for more work was accepted (spec 2.13).
    pub asked_for_more: bool,
    /// Whether it ended without output and was listed again with the same words.
    pub relisted: bool,
    /// Whether its calls may reuse the replies of earlier calls.
    pub reuse: CallReuse,
    /// What a person said about its former result when they had it repeated. May be empty.
    pub because: String,
    /// The time during which at least one of its units was in flight.
    pub clock: Stopwatch,
    /// The sizes of its largest reply so far and of its last prompt, with their limits.
    pub sizes: CallSizes,
    /// The time of its last reply, in milliseconds since the Unix epoch.
    pub last_turn_at: Option<u64>,
    /// When its refinement could have ended with unlimited slots, in milliseconds from the start of the run.
    pub ideal_refined_ms: u64,
    /// The time at which the task could have ended with unlimited slots.
    pub ideal_end_ms: u64,
}

impl TaskRun {
    /// Replaces the values that a refinement contains (spec 3.7).
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

    /// Keeps the current values of the task before they change.
    pub(super) fn note_former(&mut self) {
        if !self.former.contains(&self.task) {
            self.former.push(self.task.clone());
        }
    }

    /// Its former needs, each with the skill of that time, oldest first.
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

    /// Notes the sizes of a call. `at` is the time of its reply.
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
            phase: TaskPhase::Planned,
            writer: None,
            skill: None,
            approved: false,
            refined: Refined::Open,
            direct: false,
            sent_back: false,
            refine: Attempts::default(),
            check_issues: Vec::new(),
            check: ReferenceCheck::Open,
            checks: 0,
            seen: BTreeMap::new(),
            apart: None,
            execution: ExecutionStage::NotBegun,
            runs: Vec::new(),
            merge: None,
            merges: 0,
            sets: 0,
            applied: Vec::new(),
            part: None,
            below: None,
            round: 0,
            plan_complete: false,
            asked_for_more: false,
            relisted: false,
            reuse: CallReuse::AsRun,
            because: String::new(),
            clock: Stopwatch::default(),
            sizes: CallSizes::default(),
            last_turn_at: None,
            ideal_refined_ms: 0,
            ideal_end_ms: 0,
        }
    }

    /// Starts a task again that is listed with another text, or after it ended. Keeps numbers that must never be used
    /// twice, and finished executions in case their inputs stay the same (spec 10.5).
    pub(super) fn restart(&mut self, revision: u32) {
        let fresh = Self::new(self.task.clone());
        let former = std::mem::replace(self, fresh);
        self.phase = former.phase;
        self.former = former.former;
        self.direct = former.direct;
        self.checks = former.checks;
        self.merges = former.merges;
        self.sets = former.sets;
        self.applied = former.applied;
        self.plan_complete = former.plan_complete;
        self.asked_for_more = former.asked_for_more;
        self.clock = Stopwatch::default();
        self.ideal_refined_ms = former.ideal_refined_ms;
        self.ideal_end_ms = former.ideal_end_ms;
        self.runs = former.runs;
        self.runs.retain(|run| run.finished_at(revision) || run.is_finished() && run.seen.is_some());
    }

    /// The execution with this id.
    pub fn run(&self, id: &ExecutionId) -> Option<&Execution> {
        self.runs.iter().find(|run| run.id == *id)
    }

    pub(super) fn run_mut(&mut self, id: &ExecutionId) -> Option<&mut Execution> {
        self.runs.iter_mut().find(|run| run.id == *id)
    }

    /// Its state in the table of spec 2.10.
    pub fn state(&self) -> State {
        self.phase.state()
    }

    /// The result of a done task.
    pub fn result(&self) -> Option<&ResultParts> {
        match &self.phase {
            TaskPhase::Done(result) => Some(result),
            _ => None,
        }
    }

    /// Why it failed.
    pub fn failure(&self) -> Option<&Failure> {
        match &self.phase {
            TaskPhase::Failed { failure, .. } => Some(failure),
            _ => None,
        }
    }

    /// The words of its denial, verbatim. May be empty.
    pub fn denial(&self) -> Option<&str> {
        match &self.phase {
            TaskPhase::Denied { words, .. } => Some(words),
            _ => None,
        }
    }

    /// The task that blocks it, by a missing output or a problem.
    pub fn blocked_by(&self) -> Option<&Slug> {
        match &self.phase {
            TaskPhase::Blocked { by, .. } => Some(by),
            _ => None,
        }
    }

    /// Whether it failed because the provider could not be reached.
    pub(super) fn is_unreached(&self) -> bool {
        self.failure().is_some_and(|failure| failure.communication)
    }

    /// Whether it has a problem that no accepted iteration has seen (spec 2.9).
    pub fn has_open_problem(&self) -> bool {
        self.phase.notice().is_some_and(|notice| notice != Notice::Acknowledged)
    }

    /// Notes that the iteration call in progress contains its problem.
    pub(super) fn show_problem(&mut self) {
        if let Some(notice) = self.phase.notice_mut().filter(|notice| **notice == Notice::New) {
            *notice = Notice::Shown;
        }
    }

    /// Notes that an accepted list has seen the problem that its call contained.
    pub(super) fn acknowledge_shown(&mut self) {
        if let Some(notice) = self.phase.notice_mut().filter(|notice| **notice == Notice::Shown) {
            *notice = Notice::Acknowledged;
        }
    }

    /// Notes that a person has seen its problem.
    pub(super) fn acknowledge(&mut self) {
        if let Some(notice) = self.phase.notice_mut() {
            *notice = Notice::Acknowledged;
        }
    }

    /// Whether its execution has begun, so that its executions are current.
    pub(super) fn has_begun(&self) -> bool {
        self.execution == ExecutionStage::Begun
    }

    /// Whether its execution had begun and waits for its step again.
    pub(super) fn is_on_hold(&self) -> bool {
        self.execution == ExecutionStage::OnHold
    }

    /// Whether it is `ready` or `running` with executions under way.
    pub(super) fn is_executing(&self) -> bool {
        self.has_begun() && matches!(self.phase, TaskPhase::Ready | TaskPhase::Running)
    }

    /// Whether its refinement is valid or was skipped.
    pub fn is_refined(&self) -> bool {
        self.refined == Refined::Done
    }

    /// Whether a check of its references is pending.
    pub(super) fn is_being_checked(&self) -> bool {
        matches!(self.check, ReferenceCheck::Pending { .. })
    }

    /// Sends it back to refinement, because its inputs or the results of its calls were of no use.
    pub(super) fn send_back(&mut self) {
        self.release_slots();
        self.sent_back = true;
        self.execution = ExecutionStage::NotBegun;
        self.refined = Refined::Due;
        self.refine = Attempts::default();
    }

    /// Whether its calls are fixed before it is executed and a model then reads their results.
    fn judges_calls(&self) -> bool {
        !self.is_loop() && !self.is_process() && !self.calls_template()
    }

    /// Whether all its calls failed.
    pub(super) fn has_only_failed_calls(&self) -> bool {
        self.judges_calls() && !self.runs.is_empty() && self.runs.iter().all(Execution::has_only_failed_calls)
    }

    /// Whether the calls of this execution failed while other calls of the task have not ended.
    pub(super) fn waits_for_other_calls(&self, run: &Execution) -> bool {
        let open = |other: &Execution| !other.is_ended() && other.calls.iter().any(|call| call.output().is_none());
        self.judges_calls() && run.has_only_failed_calls() && self.runs.iter().any(open)
    }

    /// Whether it is done although all calls of its conversation failed. Its result uses none of them.
    pub fn is_done_without_calls(&self) -> bool {
        let failed = |run: &Execution| run.is_loop && run.has_only_failed_calls();
        self.state() == State::Done && !self.is_handler() && self.runs.iter().any(failed)
    }

    /// The failed calls of the execution after which it was sent back to refinement.
    pub fn failed_calls(&self) -> impl Iterator<Item = &ToolRun> {
        let sent_back = self.sent_back && !self.has_begun() && self.has_only_failed_calls();
        self.runs.iter().filter(move |_| sent_back).flat_map(|run| &run.calls)
    }

    /// Frees the slots of its units.
    pub(super) fn release_slots(&mut self) {
        self.refine.admitted = false;
        let runs = self.runs.iter_mut().map(|run| &mut run.attempts);
        let all = runs.chain(self.merge.iter_mut().map(|merge| &mut merge.attempts));
        all.for_each(|attempts| attempts.admitted = false);
    }

    /// Whether its references were valid at this revision of the workspace.
    pub(super) fn has_checked(&self, now: u32) -> bool {
        self.check == ReferenceCheck::Passed { revision: now }
    }

    /// Requests a check unless one is pending. Returns whether it was requested.
    pub(super) fn ask_check(&mut self, stage: ReferenceStage) -> bool {
        if self.is_being_checked() {
            return false;
        }
        self.checks = self.checks.saturating_add(1);
        self.check = ReferenceCheck::Pending { n: self.checks, stage };
        true
    }

    pub(super) fn slug(&self) -> Slug {
        self.task.slug.clone()
    }

    /// The tasks whose outputs it reads.
    pub fn producers(&self) -> impl Iterator<Item = &Slug> {
        self.task.references.iter().filter_map(|reference| reference.target.producer())
    }

    /// Whether it may change or run something. A reader that only asks for approval before it runs may not.
    pub fn may_change(&self) -> bool {
        self.writer.as_deref().is_some_and(|why| why != Task::ASKS_FOR_APPROVAL)
    }

    /// What a person refused of partly applied changes (spec 11.4), without duplicates, in the order of the sets.
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

    /// Whether a person reverted the changes of a call.
    pub(super) fn is_taken_back(&self, call: &ToolRun) -> bool {
        let Some(ToolOutput::Applied { set }) = call.output() else { return false };
        self.applied.iter().any(|applied| applied.set == *set && applied.reverted)
    }

    /// Whether it is a question for which no file was found, so that repeating it would change nothing.
    pub fn reads_nothing(&self) -> bool {
        self.direct && self.writer.is_none() && self.task.references.is_empty()
    }

    /// The paths of files that contain its changes, in path order.
    pub fn changed_files(&self) -> BTreeSet<&str> {
        self.files_of(false)
    }

    fn files_of(&self, reverted: bool) -> BTreeSet<&str> {
        let sets = self.applied.iter().filter(|set| set.reverted == reverted);
        sets.flat_map(|set| &set.changes.files).map(|file| file.path.as_str()).collect()
    }

    /// The paths of files in which a person reverted its changes, in path order.
    pub fn taken_back_files(&self) -> BTreeSet<&str> {
        self.files_of(true)
    }

    /// The reviews of its results.
    pub fn reviews(&self) -> impl Iterator<Item = &Review> {
        self.runs.iter().filter_map(|run| run.review.as_deref())
    }

    /// Whether the skill's tasks are tool conversations (spec 10.7).
    pub fn is_loop(&self) -> bool {
        !self.direct
            && self.task.for_each.is_none()
            && self.skill.as_ref().is_some_and(|skill| matches!(skill.mode, SkillMode::Loop | SkillMode::Handler))
    }

    /// Whether it is the handler of an atomic task of a template (spec "Templates" 1).
    pub fn is_handler(&self) -> bool {
        self.skill.as_ref().is_some_and(|skill| skill.mode == SkillMode::Handler)
    }

    /// Whether its calls run trees of tasks: its skill is a template, or it is done for each item of a list.
    pub(super) fn calls_template(&self) -> bool {
        self.task.for_each.is_some() || self.skill.as_ref().is_some_and(|skill| skill.mode == SkillMode::Template)
    }

    /// Whether it does not belong to a template that a listed task calls.
    pub(super) fn is_own(&self) -> bool {
        self.below.is_none()
    }

    /// Whether it is a process, which needs no model.
    pub fn is_process(&self) -> bool {
        self.skill.as_ref().is_some_and(|skill| skill.mode == SkillMode::Process)
    }
}
