//! Why an event was rejected.

use crate::nouns::Slug;
use crate::record::{CallKey, EffectKey, Gate, Outcome};

use super::State;

/// Why an event does not fit the state: it is a duplicate, it comes too late, or the driver has a defect. The run is
/// unchanged, and the driver drops the event. Duplicates and late events are only worth a line in the program's log.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Reject {
    /// The first event must be `RunStarted`.
    #[error("the run has not started")]
    NotStarted,
    /// The run has already started.
    #[error("the run has started already")]
    AlreadyStarted,
    /// The number of the event is not greater than that of the last one.
    #[error("fact {found} does not come after fact {last}")]
    Number {
        /// The number of the event.
        found: u64,
        /// The number of the last accepted event.
        last: u64,
    },
    /// A newer Callsheet wrote the event.
    #[error("record version {found} is newer than this build's")]
    Version {
        /// The version of the event.
        found: u32,
    },
    /// The report is written. Only a resume or a revert may follow.
    #[error("the run has concluded")]
    Concluded,
    /// Only a run that has ended can have a follow-up.
    #[error("the run has not ended")]
    NotEnded,
    /// The run has no pending follow-up, or it is working.
    #[error("there is no follow-up to withdraw")]
    NoFollowUp,
    /// The stage of the run does not allow an edit.
    #[error("the run accepts no edit now")]
    NotEditable,
    /// A template run follows its recorded tree. It has no sheet that could be edited or followed up.
    #[error("a template run accepts no edit and no follow-up; run the template again")]
    RunsTemplate,
    /// A task of a tree is removed only if it is a failed item of a list or a failed part of a parallel group.
    #[error("{0} cannot be removed: it is no failed item of a list")]
    NotAFailedItem(Slug),
    /// A task of a tree begins again only if it has ended and nothing that read its result is running or was told of
    /// it.
    #[error("{0} cannot be retried: it has not ended, or other tasks use its result at this moment")]
    NotEndedOrRead(Slug),
    /// A done task cannot be repeated while another task is working with its result.
    #[error("{task} cannot be done again now: {reader} is running and reads its result")]
    IsRead {
        /// The task.
        task: Slug,
        /// The task that reads its result.
        reader: Slug,
    },
    /// The applied changes are not those that were to be applied.
    #[error("the changes applied are not change set {set} of {task}")]
    OtherChanges {
        /// The task.
        task: Slug,
        /// The number of the change set.
        set: u32,
    },
    /// The changes of the task are being written. The task cannot start again before they are on disk or rejected.
    #[error("changes of {0} are being applied")]
    Applying(Slug),
    /// Only a limit of the run can be raised, and only above its current value.
    #[error("the limit {0} is not set, or is not below that")]
    NotRaised(String),
    /// The run is about to conclude, so the event no longer matters.
    #[error("the run is about to conclude")]
    Concluding,
    /// `Started` for an effect that is not outstanding.
    #[error("{0:?} is not outstanding")]
    NotOutstanding(EffectKey),
    /// `Started` for an effect that is in flight, or that needs no start.
    #[error("{0:?} was started before or needs no start")]
    NotStartable(EffectKey),
    /// A result of an effect that is not in flight: it is late, repeated, or was never requested.
    #[error("{0:?} is not in flight")]
    NotInFlight(EffectKey),
    /// A reading of a reply that does not wait to be read, or with a content that its phase cannot give.
    #[error("the reply of {0:?} does not wait for this")]
    NotAwaited(CallKey),
    /// A list that was not requested.
    #[error("no list is awaited from there")]
    ListNotAwaited,
    /// A list that names a task twice.
    #[error("the list names {0} twice")]
    Duplicate(Slug),
    /// Calls of a turn whose ids are not unique within the task.
    #[error("the call id {0} was used before")]
    DuplicateCall(String),
    /// A call of a turn that is answered by a call that was not requested before it.
    #[error("no call {of} came before the call {call}")]
    UnknownCall {
        /// The id of the call.
        call: String,
        /// The id of the call that should answer it.
        of: String,
    },
    /// There is no such task.
    #[error("there is no task {0}")]
    UnknownTask(Slug),
    /// A transition that the table of spec 2.10 does not contain.
    #[error("{task} may not go from {from:?} to {to:?}")]
    Transition {
        /// The task.
        task: Slug,
        /// Its state.
        from: State,
        /// The state asked for.
        to: State,
    },
    /// The gate is not open, or has been opened again under another number.
    #[error("{0:?} is not open")]
    GateClosed(Gate),
    /// The gate cannot take this answer (spec 11.5).
    #[error("the answer does not fit {0:?}")]
    AnswerDoesNotFit(Gate),
    /// Nothing waits for a person, or the outcome does not mean waiting.
    #[error("the run does not wait with {0:?}")]
    NotWaiting(Outcome),
    /// Another outcome is outstanding.
    #[error("the run does not end with {0:?}")]
    WrongOutcome(Outcome),
    /// There is no such applied change set.
    #[error("there is no applied change set {set} of {task}")]
    UnknownSet {
        /// The task.
        task: Slug,
        /// The number of the set.
        set: u32,
    },
}
