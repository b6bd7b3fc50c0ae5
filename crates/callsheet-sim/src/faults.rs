//! Planted faults: the effects of possible defects in the machine, in a driver or in a store. A promise must catch
//! each of them. If none catches a fault, a promise is missing. The faults exist only here.

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
            /// All faults.
            pub const ALL: &[Self] = &[$(Self::$fault),*];
        }
    };
}

faults! {
    /// The store gives the lock of a run to two processes.
    LocksTwice,
    /// The store writes for a process that has lost its lock.
    HeedsNoLock,
    /// The store writes the first event of a batch and then reports an error.
    WritesHalf,
    /// The store loses a batch and reports success.
    WritesNothing,
    /// A process continues from an old copy of the log.
    ReadsOldCopy,
    /// The store returns an event twice.
    ReadsTwice,
    /// The store returns events in another order.
    ReadsOutOfOrder,
    /// The driver performs an effect before its start is on disk.
    ActsFirst,
    /// The driver loses the result of an effect.
    LosesResult,
    /// The driver starts an effect again that is under way.
    StartsTwice,
    /// The driver answers a gate without asking anybody.
    AnswersUnasked,
    /// The driver writes the time of the clock to the log even if it goes back.
    TrustsClock,
    /// The machine ignores the limit of calls.
    ForgetsCalls,
    /// The machine does not count the tokens of replies.
    ForgetsUsage,
    /// The machine gives a slot to two units.
    ForgetsSlots,
    /// The machine asks for no approval.
    ForgetsApproval,
    /// The machine lets an earlier approval cover a command that nothing restricts.
    CoversUnheld,
    /// The machine treats a denial as an approval.
    TakesNoForYes,
    /// The machine keeps an approval although the lines differ from those that were shown.
    KeepsApproval,
    /// The machine loses an edit.
    LosesEdit,
    /// The machine loses the removal of a task.
    LosesDrop,
    /// The machine does not hold the tasks that a faulty edit touches.
    LosesHold,
    /// The machine continues after a person stopped the run.
    LosesCancel,
    /// The machine repeats a call that may not be repeated.
    RepeatsOnce,
    /// The machine forgets the order of steps.
    ForgetsOrder,
    /// The machine removes a task that a reply does not mention.
    RemovesMore,
}

impl Fault {
    /// The event as a machine with this fault handles it.
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

/// A waiting task that a list does not mention.
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
