//! Planted faults: what a defect in the machine, in a driver or in a store would do. Each must be caught by a promise; a
//! fault that none catches shows a promise that is missing. They live here alone.

use callsheet_core::events::{self, Event, ListOrigin};
use callsheet_core::nouns::{ApprovalMode, RepeatClass, SectionOrder, Settings, Slug};
use callsheet_core::record::{AdoptedList, Answer, Removal};
use callsheet_core::run::{Run, State};

use crate::world::blob;

macro_rules! faults {
    ($($(#[$doc:meta])* $fault:ident,)*) => {
        /// A planted fault.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Fault {
            $($(#[$doc])* $fault,)*
        }

        impl Fault {
            /// All of them.
            pub const ALL: &[Self] = &[$(Self::$fault),*];
        }
    };
}

faults! {
    /// The store gives the lock of a run to two processes.
    LocksTwice,
    /// The store writes for a process that has lost its lock.
    HeedsNoLock,
    /// The store writes the first fact of a batch, and then an error comes.
    WritesHalf,
    /// The store loses a batch, and says that it is written.
    WritesNothing,
    /// A process goes on from an old copy of the log.
    ReadsOldCopy,
    /// The store gives a fact twice.
    ReadsTwice,
    /// The store gives facts in another order.
    ReadsOutOfOrder,
    /// The driver acts before the start is on disk.
    ActsFirst,
    /// The driver loses what came of an effect.
    LosesResult,
    /// The driver starts what is under way once more.
    StartsTwice,
    /// The driver answers a gate that nobody was asked.
    AnswersUnasked,
    /// The driver puts the time of the clock into the log, whatever stands there.
    TrustsClock,
    /// The machine knows no limit of calls.
    ForgetsCalls,
    /// The machine does not count what replies use.
    ForgetsUsage,
    /// The machine gives a slot away twice.
    ForgetsSlots,
    /// The machine asks nobody.
    ForgetsApproval,
    /// The machine has what was said before cover a command that nothing holds.
    CoversUnheld,
    /// The machine takes no for yes.
    TakesNoForYes,
    /// The machine keeps an approval for other lines than those that were shown.
    KeepsApproval,
    /// The machine loses an edit.
    LosesEdit,
    /// The machine loses that a task is taken off.
    LosesDrop,
    /// The machine does not hold what a broken edit touches.
    LosesHold,
    /// The machine goes on after a person stopped it.
    LosesCancel,
    /// The machine repeats a call that may not be repeated.
    RepeatsOnce,
    /// The machine forgets the order of steps.
    ForgetsOrder,
    /// The machine takes off a task that a reply says nothing of.
    RemovesMore,
}

impl Fault {
    /// What a machine with this fault makes of an event.
    pub(crate) fn distorted(self, run: &Run, event: &Event) -> Event {
        let mut event = event.clone();
        let nothing = || events::SheetRendered { hash: blob("nothing") }.into();
        match (self, &mut event) {
            (Self::RepeatsOnce, Event::RunStarted(events::RunStarted { tools, .. })) => {
                tools.values_mut().for_each(|tool| tool.repeat = RepeatClass::Idempotent);
            }
            (Self::CoversUnheld, Event::RunStarted(events::RunStarted { tools, .. })) => {
                tools.values_mut().for_each(|tool| tool.unheld = false);
            }
            (
                _,
                Event::RunStarted(events::RunStarted { settings, .. })
                | Event::RunResumed(events::RunResumed { settings })
                | Event::RunContinued(events::RunContinued { settings, .. }),
            ) => self.distort(settings),
            (Self::ForgetsCalls, Event::LimitRaised(_)) => return nothing(),
            (Self::ForgetsUsage, Event::ReplyReceived(events::ReplyReceived { usage, .. })) => {
                *usage = Default::default()
            }
            (Self::TakesNoForYes, Event::GateAnswered(events::GateAnswered { answer, .. }))
                if matches!(answer, Answer::Deny { .. }) =>
            {
                *answer = Answer::Listed;
            }
            (Self::KeepsApproval, Event::ChangesRebased(events::ChangesRebased { as_shown, .. })) => *as_shown = true,
            (Self::RemovesMore, Event::ListAdopted(events::ListAdopted { origin: ListOrigin::Reply(_), list, .. })) => {
                list.beside.removed.extend(not_listed(run, list));
            }
            (Self::LosesEdit, Event::ListAdopted(events::ListAdopted { origin: ListOrigin::Edit(_), .. }))
            | (Self::LosesDrop, Event::TaskDropped(_))
            | (Self::LosesHold, Event::EditHeld(_))
            | (Self::LosesCancel, Event::CancelRequested(_)) => return nothing(),
            _ => {}
        }
        event
    }

    fn distort(self, settings: &mut Settings) {
        match self {
            Self::ForgetsCalls => settings.limits.max_calls = u32::MAX,
            Self::ForgetsSlots => settings.jobs = settings.jobs.max(1).saturating_add(1),
            Self::ForgetsApproval => settings.approval = ApprovalMode::Never,
            Self::ForgetsOrder => settings.sections = SectionOrder::Dependencies,
            _ => {}
        }
    }
}

/// A task that waits and that a list does not speak of.
fn not_listed(run: &Run, list: &AdoptedList) -> Option<Removal> {
    let named = |slug: &Slug| {
        let listed = list.steps.iter().flatten().any(|planned| planned.task.slug == *slug);
        listed || list.beside.removed.iter().any(|removal| removal.task == *slug)
    };
    let planned = |state: State| matches!(state, State::Failed | State::Blocked | State::Planned);
    let mut tasks = run.tasks().filter(|task| run.step_of(&task.task.slug).is_some() && planned(task.state()));
    let task = tasks.find(|task| !named(&task.task.slug))?.task.slug.clone();
    Some(Removal { task, reason: "a fault".to_owned() })
}
