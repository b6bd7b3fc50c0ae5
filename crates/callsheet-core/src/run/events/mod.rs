//! The events of a run, one file for each. The file says what the event contains, when it fits, what it changes, and
//! how a person reads it.
//!
//! A new event is a file here and a line in the list below.

mod blobs;
mod check;
mod entry;
mod line;

use serde::{Deserialize, Serialize};

use crate::nouns::{BlobId, Slug};
use crate::record::EffectKey;

use super::{Reject, Run};

pub use entry::{LogEntry, VERSION};
pub use limit_near::limit_words;
pub use limit_raised::raised_words;
pub use line::{Line, LinePiece};
pub use list_adopted::{ListOrigin, list_words};
pub use run_resumed::reuse_words;

/// Whether an event fits, or why it does not.
type Checked = Result<(), Reject>;

/// When an event may occur in a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum When {
    /// As the first event.
    First,
    /// Until the run has concluded.
    BeforeEnd,
    /// At any time, also after the run has concluded.
    Always,
}

/// Files for people that show something else after an event (spec 10.6).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stale<'a> {
    /// Whether the sheet changes.
    pub sheet: bool,
    /// The task whose files change.
    pub task: Option<&'a Slug>,
}

impl Stale<'_> {
    const SHEET: Self = Self { sheet: true, task: None };
}

/// The meaning of an event.
trait Recorded {
    /// When the event may occur.
    fn when(&self) -> When {
        When::BeforeEnd
    }

    /// Whether the event needs a list, which a template run does not have.
    fn needs_list(&self) -> bool {
        false
    }

    /// Whether the event starts the work of a process on the run.
    fn takes_up(&self) -> bool {
        false
    }

    /// Whether the event affects only the outstanding work of the task that it names.
    fn concerns_one_task(&self) -> bool {
        false
    }

    /// Checks whether the event fits the current run. It changes nothing, and nothing is rejected later.
    fn check(&self, _run: &Run) -> Checked {
        Ok(())
    }

    /// Applies the event to the run. `at` is in milliseconds since the Unix epoch.
    fn apply(&self, run: &mut Run, at: u64);

    /// The effect that the event ends.
    fn ends(&self) -> Option<EffectKey> {
        None
    }

    /// The stored texts that the event needs. Excludes hashes of texts that are not stored, such as that of a
    /// rendered sheet.
    fn blobs(&self) -> Vec<&BlobId> {
        Vec::new()
    }

    /// The files for people that are out of date after the event.
    fn stale(&self) -> Stale<'_> {
        Stale::default()
    }

    /// The event in words, if it is worth a line. `run` is the run after the event.
    fn line(&self, _run: &Run) -> Option<Line> {
        None
    }
}

macro_rules! events {
    ($($file:ident::$name:ident,)*) => {
        $(mod $file;)*
        $(pub use $file::$name;)*

        /// An event: the result of something that the driver did. The machine only folds it.
        #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
        #[cfg_attr(test, derive(schemars::JsonSchema))]
        #[serde(tag = "event", rename_all = "snake_case")]
        #[allow(missing_docs, reason = "each event is described where its struct is")]
        pub enum Event {
            $($name($name),)*
        }

        $(impl From<$name> for Event {
            fn from(event: $name) -> Self {
                Self::$name(event)
            }
        })*

        impl Event {
            /// The names of all events, as in a record.
            pub const NAMES: &[&str] = &[$(stringify!($file)),*];

            /// The name of the event, as in a record.
            pub fn name(&self) -> &'static str {
                match self {
                    $(Self::$name(_) => stringify!($file),)*
                }
            }

            fn recorded(&self) -> &dyn Recorded {
                match self {
                    $(Self::$name(event) => event,)*
                }
            }
        }
    };
}

events! {
    run_started::RunStarted,
    run_resumed::RunResumed,
    run_continued::RunContinued,
    follow_up_withdrawn::FollowUpWithdrawn,
    edit_held::EditHeld,
    sheet_rendered::SheetRendered,
    task_retried::TaskRetried,
    task_continued::TaskContinued,
    task_dropped::TaskDropped,
    started::Started,
    reply_received::ReplyReceived,
    call_failed::CallFailed,
    reply_refused::ReplyRefused,
    list_adopted::ListAdopted,
    task_refined::TaskRefined,
    execution_finished::ExecutionFinished,
    routed::Routed,
    list_drafted::ListDrafted,
    reviewed::Reviewed,
    joined::Joined,
    calls_asked::CallsAsked,
    references_checked::ReferencesChecked,
    tool_finished::ToolFinished,
    question_answered::QuestionAnswered,
    question_declined::QuestionDeclined,
    executions_merged::ExecutionsMerged,
    gate_answered::GateAnswered,
    answer_unused::AnswerUnused,
    changes_checked::ChangesChecked,
    changes_applied::ChangesApplied,
    changes_rebased::ChangesRebased,
    changes_rejected::ChangesRejected,
    changes_rolled_back::ChangesRolledBack,
    changes_reverted::ChangesReverted,
    task_failed::TaskFailed,
    tree_adopted::TreeAdopted,
    evaluated::Evaluated,
    context_retrieved::ContextRetrieved,
    prompts_used::PromptsUsed,
    limit_near::LimitNear,
    limit_raised::LimitRaised,
    cancel_requested::CancelRequested,
    run_waiting::RunWaiting,
    call_mounted::CallMounted,
    call_returned::CallReturned,
    tree_edited::TreeEdited,
    skills_edited::SkillsEdited,
    reuse_allowed::ReuseAllowed,
    calls_unended::CallsUnended,
    run_concluded::RunConcluded,
}

impl Event {
    /// Checks whether the event fits the run.
    pub(super) fn check(&self, run: &Run) -> Checked {
        let event = self.recorded();
        if event.needs_list() && run.operators.tree().is_some() {
            return Err(Reject::RunsTemplate);
        }
        match event.when() {
            When::First if run.id().is_some() => return Err(Reject::AlreadyStarted),
            When::First => {}
            _ if run.id().is_none() => return Err(Reject::NotStarted),
            When::BeforeEnd if run.progress.has_concluded() => return Err(Reject::Concluded),
            When::BeforeEnd | When::Always => {}
        }
        event.check(run)
    }

    /// Applies the event to the run. It was checked before.
    pub(super) fn apply(&self, run: &mut Run, at: u64) {
        let event = self.recorded();
        if !event.concerns_one_task() {
            run.in_flight.look_again();
            if run.operators.has_any() {
                run.tasks.look_again();
            }
        }
        event.apply(run, at);
    }

    /// Whether the event starts the work of a process on the run.
    pub fn takes_up(&self) -> bool {
        self.recorded().takes_up()
    }

    /// The effect that the event ends.
    pub fn ends(&self) -> Option<EffectKey> {
        self.recorded().ends()
    }

    /// The stored texts that the event needs.
    pub fn blobs(&self) -> Vec<&BlobId> {
        self.recorded().blobs()
    }

    /// The files for people that are out of date after the event.
    pub fn stale(&self) -> Stale<'_> {
        self.recorded().stale()
    }

    /// The event in words, if it is worth a line. `run` is the run after the event.
    pub fn line(&self, run: &Run) -> Option<Line> {
        self.recorded().line(run)
    }
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "the form that serde wants")]
fn is_zero(number: &u64) -> bool {
    *number == 0
}
