//! Why a fact was not folded.

use crate::nouns::Slug;
use crate::record::{CallKey, EffectKey, Gate, Outcome};

use super::State;

/// A fact that does not fit the state: a duplicate, one that comes too late, or a defect of the shell. The run is
/// unchanged. Nobody but the log has to hear of the first two; the driver drops the fact.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Reject {
    /// The first fact must be `RunStarted`.
    #[error("the run has not started")]
    NotStarted,
    /// A run starts once.
    #[error("the run has started already")]
    AlreadyStarted,
    /// The number of the fact is not greater than the last one's.
    #[error("fact {found} does not come after fact {last}")]
    Number {
        /// Number of the fact.
        found: u64,
        /// Number of the last accepted fact.
        last: u64,
    },
    /// Written by a newer Callsheet.
    #[error("record version {found} is newer than this build's")]
    Version {
        /// Version of the fact.
        found: u32,
    },
    /// The report is written; only a resume or a revert may follow.
    #[error("the run has concluded")]
    Concluded,
    /// Only a run that has ended can be followed up.
    #[error("the run has not ended")]
    NotEnded,
    /// There is no follow-up that has no list yet, or the run works.
    #[error("there is no follow-up to withdraw")]
    NoFollowUp,
    /// The stage of the run takes no edit.
    #[error("the run accepts no edit now")]
    NotEditable,
    /// A run of a template follows its recorded tree: it has no sheet to edit, to take tasks off or to follow up.
    #[error("a template run accepts no edit, drop or follow-up; run the template again")]
    RunsTemplate,
    /// A task of a tree begins again only if it has ended, and nothing that read its result works or was told of it.
    #[error("{0} cannot be retried: it has not ended, or other tasks use its result at this moment")]
    NotEndedOrRead(Slug),
    /// A task that is done is not done again while another one works with its result.
    #[error("{task} cannot be done again now: {reader} is running and reads its result")]
    IsRead {
        /// The task.
        task: Slug,
        /// What reads its result.
        reader: Slug,
    },
    /// What was applied is not the change set that was to be applied.
    #[error("the changes applied are not change set {set} of {task}")]
    OtherChanges {
        /// The task.
        task: Slug,
        /// Number of the change set.
        set: u32,
    },
    /// Changes of the task are being written; nothing starts anew before they are on disk or refused.
    #[error("changes of {0} are being applied")]
    Applying(Slug),
    /// Only a limit that the run has is raised, and only to more than it is.
    #[error("the limit {0} is not set, or is not below that")]
    NotRaised(String),
    /// The run is about to conclude; this no longer matters.
    #[error("the run is about to conclude")]
    Concluding,
    /// `Started` of an effect that is not outstanding.
    #[error("{0:?} is not outstanding")]
    NotOutstanding(EffectKey),
    /// `Started` of an effect that is in flight, or of one that needs no start.
    #[error("{0:?} was started before or needs no start")]
    NotStartable(EffectKey),
    /// A result of an effect that is not in flight: late, repeated or never asked for.
    #[error("{0:?} is not in flight")]
    NotInFlight(EffectKey),
    /// A reading of a reply that does not wait to be read, or that gave what its phase cannot give.
    #[error("the reply of {0:?} does not wait for this")]
    NotAwaited(CallKey),
    /// A list that was not asked for.
    #[error("no list is awaited from there")]
    ListNotAwaited,
    /// A list that names a task twice.
    #[error("the list names {0} twice")]
    Duplicate(Slug),
    /// Calls of a loop turn whose ids are not unique inside the task.
    #[error("the call id {0} was used before")]
    DuplicateCall(String),
    /// A call of a turn that is said to be answered by one that was not asked for before it.
    #[error("no call {of} came before the call {call}")]
    UnknownCall {
        /// Id.
        call: String,
        /// Id of the one that is said to answer it.
        of: String,
    },
    /// No such task.
    #[error("there is no task {0}")]
    UnknownTask(Slug),
    /// A transition outside the table of spec 2.10.
    #[error("{task} may not go from {from:?} to {to:?}")]
    Transition {
        /// The task.
        task: Slug,
        /// Its state.
        from: State,
        /// The state asked for.
        to: State,
    },
    /// A gate that is not open, or an older asking of it.
    #[error("{0:?} is not open")]
    GateClosed(Gate),
    /// An answer that this gate cannot take (spec 11.5).
    #[error("the answer does not fit {0:?}")]
    AnswerDoesNotFit(Gate),
    /// Nothing waits for a person, or the outcome is not one of waiting.
    #[error("the run does not wait with {0:?}")]
    NotWaiting(Outcome),
    /// Another outcome is outstanding.
    #[error("the run does not end with {0:?}")]
    WrongOutcome(Outcome),
    /// No such applied change set.
    #[error("there is no applied change set {set} of {task}")]
    UnknownSet {
        /// The task.
        task: Slug,
        /// Number of the set.
        set: u32,
    },
}
