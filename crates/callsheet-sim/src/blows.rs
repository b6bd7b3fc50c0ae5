//! What happens to a run from outside: crashes, clocks, second drivers, people, and events that are repeated or late.

use callsheet_core::events::{self, Event, ListOrigin, LogEntry};
use callsheet_core::record::EffectKey;

use crate::logs;
use crate::marks::Blow;
use crate::process::Death;
use crate::shell::{Shell, Stop, Turn};
use crate::world::blob;

const SECOND: usize = 1_000;
const HOUR: usize = 3_600 * SECOND;

impl Shell {
    /// Crashes, repeated and late events, and cancellation.
    pub fn disturb(&mut self) -> Turn {
        if self.world.tame {
            return Ok(());
        }
        self.drivers()?;
        if self.world.calm {
            return Ok(());
        }
        self.clock_jumps();
        if self.world.random.chance(5) {
            self.offer_again()?;
        }
        if self.world.random.chance(20) && !self.cancelled.is_empty() {
            self.come_late()?;
        }
        if self.world.random.chance(3) {
            self.steer()?;
        }
        if self.world.random.chance(20) && self.writer.run().held_by_edit().is_some() {
            let _ = self.append(events::EditHeld { tasks: None }.into())?;
        }
        if self.world.random.chance(1) && self.world.random.chance(20) {
            let _ = self.append(events::CancelRequested {}.into())?;
        }
        if self.world.random.chance(1) {
            let slugs: Vec<_> = self.writer.run().tasks().map(|task| task.task.slug.clone()).collect();
            if let Some(task) = self.world.random.pick(&slugs).cloned() {
                let _ = self.append(events::TaskFailed { task, reason: "its skill is lost".to_owned() }.into())?;
            }
        }
        if self.world.random.chance(1) {
            let notes = [
                events::SheetRendered { hash: blob("sheet") }.into(),
                events::PromptsUsed { prompts: Default::default() }.into(),
            ];
            for note in notes {
                let _ = self.append(note)?;
            }
        }
        Ok(())
    }

    /// The process is killed, or a second process drives the run.
    fn drivers(&mut self) -> Turn {
        if self.world.random.chance(4) && self.resumes < 6 {
            return Err(Stop::Died(Death::Killed));
        }
        if self.world.random.chance(1) {
            self.start_second_driver()?;
        }
        if self.world.random.chance(1) && self.resumes < 6 && self.overtaken.is_none() && self.world.random.chance(50) {
            return Err(Stop::Died(Death::Overtaken));
        }
        if self.world.random.chance(20) {
            self.overtaken_driver_acts()?;
        }
        Ok(())
    }

    fn clock_jumps(&mut self) {
        if !self.world.random.chance(2) {
            return;
        }
        let most = if self.world.random.chance(30) { HOUR } else { 20 * SECOND };
        let jump = u64::try_from(self.world.random.below(most)).unwrap_or(0);
        if self.world.random.chance(50) {
            self.marks.blow(Blow::ClockAhead);
            self.now += jump;
        } else {
            self.marks.blow(Blow::ClockBack);
            self.now = self.now.saturating_sub(jump);
        }
    }

    /// A person edits the sheet, repeats or removes a task, or raises a limit. What does not fit must change nothing.
    pub fn steer(&mut self) -> Turn {
        let Some(event) = self.world.steer(self.writer.run()) else { return Ok(()) };
        let before = self.writer.run().clone();
        if self.append(event)?.is_err() {
            self.marks.blow(Blow::Misfit);
            logs::a_refusal_changes_nothing(Some(&before), self.writer.run())?;
        }
        Ok(())
    }

    /// The result of an effect that was cancelled.
    fn come_late(&mut self) -> Turn {
        let index = self.world.random.below(self.cancelled.len());
        let late = self.cancelled.swap_remove(index);
        let still = self.writer.run().is_outstanding(&late.key());
        if !still && let Some(event) = self.world.perform(self.writer.run(), &late) {
            self.marks.blow(Blow::LateResult);
            // This is refused or harmless. If it is folded, the checkers see it.
            let _ = self.append(event)?;
        }
        Ok(())
    }

    /// Offers an event of the log again, first under the same number, then as a new one.
    fn offer_again(&mut self) -> Turn {
        let index = self.world.random.below(self.log.len());
        let Some(fact) = self.log.get(index).cloned() else { return Ok(()) };
        if may_come_twice(&fact.event) {
            return Ok(());
        }
        self.marks.blow(Blow::RepeatedFact);
        if self.writer.run().check(&fact).is_ok() {
            return Err(Stop::Broken(format!("replay: fact {} was taken twice", fact.n)));
        }
        // A resumed run may fail a task, wait, conclude or start the same thing once more. A task that was listed
        // again uses the names of its calls again. A driver drops the results of cancelled effects.
        if self.was_listed_again(&fact.event) {
            return Ok(());
        }
        self.take_again(fact)
    }

    fn take_again(&mut self, fact: LogEntry) -> Turn {
        let settles = matches!(
            fact.event,
            Event::TaskFailed(_)
                | Event::RunWaiting(_)
                | Event::CallMounted(_)
                | Event::CallReturned(_)
                | Event::Started(_)
                | Event::RunConcluded(_)
        );
        let taken = self.append(fact.event.clone())?;
        if taken.is_ok() && !settles {
            let promise = format!("nothing finished is performed again: {:?} was folded twice", fact.event);
            return Err(Stop::Broken(promise));
        }
        if taken.is_ok()
            && let Event::Started(events::Started { effect, .. }) = &fact.event
        {
            // The effect was outstanding, and the driver performs it from here on.
            self.write()?;
            let outstanding = self.writer.run().outstanding().into_iter().find(|other| other.key() == *effect);
            self.performing.extend(outstanding.map(|found| (effect.clone(), found)));
        }
        Ok(())
    }

    fn was_listed_again(&self, event: &Event) -> bool {
        let run = self.writer.run();
        let key = match event {
            Event::ToolFinished(events::ToolFinished { task, run, call, .. }) => {
                EffectKey::Tool { task: task.clone(), run: run.clone(), call: call.clone() }
            }
            Event::QuestionAnswered(events::QuestionAnswered { task, run, call, .. }) => {
                EffectKey::Question { task: task.clone(), run: run.clone(), call: call.clone() }
            }
            _ => return false,
        };
        run.is_outstanding(&key)
    }
}

/// Whether the event may validly occur again, because it has the same effect or a different one each time.
fn may_come_twice(event: &Event) -> bool {
    matches!(
        event,
        Event::RunResumed(_)
            | Event::RunContinued(_)
            | Event::FollowUpWithdrawn(_)
            | Event::TaskRetried(_)
            | Event::TaskContinued(_)
            | Event::TaskDropped(_)
            | Event::ListAdopted(events::ListAdopted { origin: ListOrigin::Edit(_), .. })
            | Event::EditHeld(_)
            | Event::LimitRaised(_)
            | Event::LimitNear(_)
            | Event::TreeEdited(_)
            | Event::SkillsEdited(_)
            | Event::SheetRendered(_)
            | Event::PromptsUsed(_)
            | Event::ReuseAllowed(_)
            | Event::CallsUnended(_)
            | Event::AnswerUnused(_)
            | Event::CancelRequested(_)
    )
}
