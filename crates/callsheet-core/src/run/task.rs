//! What a run knows of one task: its phase, its executions and what came of them. Plain data; the rules are in the
//! neighbouring files. Handed out by reference only, so the fields are public.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::issue::Issue;
use crate::nouns::{BlobId, ExecutionId, Refinement, SkillMode, SkillPolicy, Slug, Task, Wording};
use crate::record::{Apart, CallSizes, ReferenceStage, RefusedPart, ResultParts};

use super::attempts::Attempts;
use super::execution::{AppliedSet, Execution, Merge, Review, ToolOutput, ToolRun};
use super::failure::Failure;
use super::state::{State, Stopwatch};

/// What is known of the references of a task.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ReferenceCheck {
    /// Nothing, or nothing that still counts.
    #[default]
    Open,
    /// They are to be checked.
    Pending {
        /// Number of the check.
        n: u32,
        /// When.
        stage: ReferenceStage,
    },
    /// They held at this revision of the workspace.
    Passed {
        /// That revision.
        revision: u32,
    },
}

/// Whether the iteration knows of a problem (spec 2.9).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Notice {
    /// It was not told.
    #[default]
    New,
    /// The call in progress tells of it.
    Shown,
    /// An accepted iteration has seen it.
    Acknowledged,
}

/// What a task does, with all that it needs to do that.
#[derive(Clone, Debug, PartialEq)]
pub enum TaskPhase {
    /// Accepted, nothing started.
    Planned,
    /// A referenced output does not exist yet.
    Waiting,
    /// Refinement calls in progress.
    Refining,
    /// Waits for its step, a unit or approval.
    Ready,
    /// Executions, merge, change validation and apply.
    Running,
    /// Ended with this result; final.
    Done(Arc<ResultParts>),
    /// Ended without output.
    Failed {
        /// Why.
        failure: Box<Failure>,
        /// Who knows.
        notice: Notice,
    },
    /// A task it reads from ended without output.
    Blocked {
        /// That task, or the one whose problem holds it; itself if a policy does.
        by: Slug,
        /// Who knows.
        notice: Notice,
    },
    /// A person refused it.
    Denied {
        /// Their words, verbatim; may be empty.
        words: String,
        /// Who knows.
        notice: Notice,
    },
    /// Stopped by cancellation.
    Cancelled,
    /// Removed from the plan.
    Dropped(RemovedBy),
}

/// Who removed a task from the plan.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RemovedBy {
    /// A person, by an edit or a command.
    Person,
    /// A review or a follow-up.
    Reply {
        /// Its reason, verbatim.
        reason: String,
    },
    /// It is part of a call that was given up.
    Caller,
}

impl TaskPhase {
    /// It failed, and nobody knows yet.
    pub(super) fn failed(failure: Failure) -> Self {
        Self::Failed { failure: Box::new(failure), notice: Notice::New }
    }

    /// Its place in the table of spec 2.10.
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

/// Whether a call may have the reply of an earlier call that asked the same, byte for byte (spec 2.18).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CallReuse {
    /// If the run was begun to use the calls of another run.
    #[default]
    AsRun,
    /// The task comes back because of another one that a person had done again.
    Allowed,
    /// A person had the task itself done again.
    Forbidden,
}

/// How far the refinement of a task is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Refined {
    /// Not done; it may be skipped.
    #[default]
    Open,
    /// Not done, and not to be skipped: a check or a bad call of the plan said so.
    Due,
    /// Valid, or skipped.
    Done,
}

/// How far the execution of a task is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ExecutionStage {
    /// Not begun: `TaskRun::runs` are finished ones of before, which may be used again.
    #[default]
    NotBegun,
    /// It had begun and waits for its step again: it goes on with its runs when that opens.
    OnHold,
    /// Begun: the runs are those of this execution. They stay when the task has ended.
    Begun,
}

/// One task of the run.
#[derive(Clone, Debug, PartialEq)]
pub struct TaskRun {
    /// The task with all that refinement gave it.
    pub task: Task,
    /// As it was before it was refined or listed with other words, oldest first.
    pub former: Vec<Task>,
    /// What it does.
    pub phase: TaskPhase,
    /// Why it is a writer (spec 11.1); `None`: a reader.
    pub writer: Option<String>,
    /// Policy of its skill, pinned when the list was adopted; `None`: no skill.
    pub skill: Option<SkillPolicy>,
    /// Approved at a before-run gate (spec 11.6).
    pub approved: bool,
    /// How far its refinement is.
    pub refined: Refined,
    /// Went back from execution to refinement once (spec 2.8, 10.4).
    pub sent_back: bool,
    /// Code made it of the request, with all that it reads: one call, without refinement and tools (spec 2.3).
    pub direct: bool,
    /// The refinement unit.
    pub refine: Attempts,
    /// Issues of the last reference check, for the refinement prompt and the person.
    pub check_issues: Vec<Issue>,
    /// Whether its references hold.
    pub check: ReferenceCheck,
    /// Checks so far.
    pub checks: u32,
    /// What its references held at the last check, by target as written in a link.
    pub seen: BTreeMap<String, BlobId>,
    /// At the last check its references were too large for one prompt (spec 10.1).
    pub apart: Option<Apart>,
    /// How far its execution is.
    pub execution: ExecutionStage,
    /// Execution runs in order (spec 10.1). Kept after the task ended.
    pub runs: Vec<Execution>,
    /// The merge, once all of several runs are finished.
    pub merge: Option<Merge>,
    /// Merges so far.
    pub merges: u32,
    /// Change sets so far.
    pub sets: u32,
    /// Change sets on disk, in order.
    pub applied: Vec<AppliedSet>,
    /// Its skill was not there when the list was adopted.
    pub skill_lost: bool,
    /// The task of the list whose call of a template it is part of; `None`: it is of the list, or the run is the template.
    pub below: Option<Slug>,
    /// Round in which it was listed last.
    pub round: u32,
    /// The list that brought it carries `**plan complete**`.
    pub plan_complete: bool,
    /// It asked for more work, and was heard (spec 2.13).
    pub asked_for_more: bool,
    /// It ended without output and was listed again as it was.
    pub relisted: bool,
    /// Whether its calls may have replies of earlier calls.
    pub reuse: CallReuse,
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
            skill_lost: false,
            below: None,
            round: 0,
            plan_complete: false,
            asked_for_more: false,
            relisted: false,
            reuse: CallReuse::AsRun,
            clock: Stopwatch::default(),
            sizes: CallSizes::default(),
            last_turn_at: None,
            ideal_refined_ms: 0,
            ideal_end_ms: 0,
        }
    }

    /// Listed again with another text, or after it ended: everything starts anew, except numbers that are never
    /// used twice and finished runs, which are kept in case their inputs stay the same (spec 10.5).
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

    /// The run with this id.
    pub fn run(&self, id: &ExecutionId) -> Option<&Execution> {
        self.runs.iter().find(|run| run.id == *id)
    }

    pub(super) fn run_mut(&mut self, id: &ExecutionId) -> Option<&mut Execution> {
        self.runs.iter_mut().find(|run| run.id == *id)
    }

    /// Where it stands in the table of spec 2.10.
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

    /// The words of its denial, verbatim; may be empty.
    pub fn denial(&self) -> Option<&str> {
        match &self.phase {
            TaskPhase::Denied { words, .. } => Some(words),
            _ => None,
        }
    }

    /// The task whose missing output, or whose problem, blocks it.
    pub fn blocked_by(&self) -> Option<&Slug> {
        match &self.phase {
            TaskPhase::Blocked { by, .. } => Some(by),
            _ => None,
        }
    }

    /// It failed because the provider could not be reached.
    pub(super) fn is_unreached(&self) -> bool {
        self.failure().is_some_and(|failure| failure.communication)
    }

    /// It has a problem that no accepted iteration has seen (spec 2.9).
    pub fn has_open_problem(&self) -> bool {
        self.phase.notice().is_some_and(|notice| notice != Notice::Acknowledged)
    }

    /// The iteration call that begins tells of its problem.
    pub(super) fn show_problem(&mut self) {
        if let Some(notice) = self.phase.notice_mut().filter(|notice| **notice == Notice::New) {
            *notice = Notice::Shown;
        }
    }

    /// The accepted list has seen the problem that it was told of.
    pub(super) fn acknowledge_shown(&mut self) {
        if let Some(notice) = self.phase.notice_mut().filter(|notice| **notice == Notice::Shown) {
            *notice = Notice::Acknowledged;
        }
    }

    /// A person has seen its problem.
    pub(super) fn acknowledge(&mut self) {
        if let Some(notice) = self.phase.notice_mut() {
            *notice = Notice::Acknowledged;
        }
    }

    /// Its execution has begun, and its runs are those of it.
    pub(super) fn has_begun(&self) -> bool {
        self.execution == ExecutionStage::Begun
    }

    /// Its execution had begun and waits for its step again.
    pub(super) fn is_on_hold(&self) -> bool {
        self.execution == ExecutionStage::OnHold
    }

    /// `ready` or `running` with executions under way.
    pub(super) fn is_executing(&self) -> bool {
        self.has_begun() && matches!(self.phase, TaskPhase::Ready | TaskPhase::Running)
    }

    /// Its refinement is valid, or was skipped.
    pub fn is_refined(&self) -> bool {
        self.refined == Refined::Done
    }

    /// A reference check of it is pending.
    pub(super) fn is_being_checked(&self) -> bool {
        matches!(self.check, ReferenceCheck::Pending { .. })
    }

    /// It is to be refined once more: what it had, or what its calls gave, was of no use.
    pub(super) fn send_back(&mut self) {
        self.release_slots();
        self.sent_back = true;
        self.execution = ExecutionStage::NotBegun;
        self.refined = Refined::Due;
        self.refine = Attempts::default();
    }

    /// Its calls are fixed before it is executed, and its model is asked what they gave.
    fn judges_calls(&self) -> bool {
        !self.is_loop() && !self.is_process() && !self.calls_template()
    }

    /// Every call of it failed.
    pub(super) fn has_only_failed_calls(&self) -> bool {
        self.judges_calls() && !self.runs.is_empty() && self.runs.iter().all(Execution::has_only_failed_calls)
    }

    /// The calls of this execution failed, and others of the task have not ended: whether all fail is not known yet.
    pub(super) fn waits_for_other_calls(&self, run: &Execution) -> bool {
        let open = |other: &Execution| !other.is_ended() && other.calls.iter().any(|call| call.output().is_none());
        self.judges_calls() && run.has_only_failed_calls() && self.runs.iter().any(open)
    }

    /// It is done, and each call of its conversation failed: its result is made without any.
    pub fn is_done_without_calls(&self) -> bool {
        let failed = |run: &Execution| run.is_loop && run.has_only_failed_calls();
        self.state() == State::Done && !self.is_handler() && self.runs.iter().any(failed)
    }

    /// Calls of the execution after which it was sent back, which failed.
    pub fn failed_calls(&self) -> impl Iterator<Item = &ToolRun> {
        let sent_back = self.sent_back && !self.has_begun() && self.has_only_failed_calls();
        self.runs.iter().filter(move |_| sent_back).flat_map(|run| &run.calls)
    }

    /// None of its units holds a slot any more.
    pub(super) fn release_slots(&mut self) {
        self.refine.admitted = false;
        let runs = self.runs.iter_mut().map(|run| &mut run.attempts);
        let all = runs.chain(self.merge.iter_mut().map(|merge| &mut merge.attempts));
        all.for_each(|attempts| attempts.admitted = false);
    }

    /// Its references held at this revision of the workspace.
    pub(super) fn has_checked(&self, now: u32) -> bool {
        self.check == ReferenceCheck::Passed { revision: now }
    }

    /// Asks for a check unless one is pending. True if it was not.
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

    /// Tasks whose outputs it reads.
    pub fn producers(&self) -> impl Iterator<Item = &Slug> {
        self.task.references.iter().filter_map(|reference| reference.target.producer())
    }

    /// It may change or run something. A reader that asks for approval before it runs may not.
    pub fn may_change(&self) -> bool {
        self.writer.as_deref().is_some_and(|why| why != Task::ASKS_FOR_APPROVAL)
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

    /// Whether it is a question for which no file was found: to do it again changes nothing.
    pub fn reads_nothing(&self) -> bool {
        self.direct && self.writer.is_none() && self.task.references.is_empty()
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

    /// Reviews of its results.
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

    /// It is of the list, or of the template that is run, and not of one that a listed task calls.
    pub(super) fn is_own(&self) -> bool {
        self.below.is_none()
    }

    /// Whether it is a process, for which no model is asked.
    pub fn is_process(&self) -> bool {
        self.skill.as_ref().is_some_and(|skill| skill.mode == SkillMode::Process)
    }
}
