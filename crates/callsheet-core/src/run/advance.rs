//! Advances a run: makes the transitions that follow from a log entry without new input, and ends the run when a
//! limit leaves nothing to do.

use super::answers::Answers;
use super::approval::Approval;
use super::execute::Executing;
use super::joins::Joins;
use super::limit::Limit;
use super::next_stage::NextStage;
use super::operators::{TreeQuery, Trees};
use super::reviews::Reviews;
use super::schedule::Schedule;
use super::state::Stage;
use super::steps::{Advance, Steps};
use super::units::Units;
use super::{Run, limits};

/// Advances a run as far as possible without new input.
pub(super) struct Advancing<'a>(pub &'a mut Run);

impl Advancing<'_> {
    /// Makes all transitions that need neither work nor a person.
    pub fn advance(&mut self) {
        // Each turn moves a task, an execution or the stage forward in a finite order. The bound only guards against
        // a defect.
        for _ in 0..10_000 {
            let moved = match self.0.stage() {
                Stage::Pass => self.pass(),
                Stage::Operate => self.operate(),
                Stage::Iterate => Executing(self.0).end_overdue(),
                Stage::Join(_) => Joins(self.0).end_forbidden(),
                _ => false,
            };
            if !moved {
                break;
            }
        }
        if self.0.stage().is_working() {
            self.0.tasks.settled();
        }
        self.release_slots();
        self.0.tasks.refresh();
        self.set_clocks();
    }

    fn pass(&mut self) -> bool {
        let calls = self.0.operators.are_at_work();
        if calls {
            self.look_at_trees();
        }
        let mut moved = self.end_and_promote();
        if calls {
            moved |= Trees(self.0).step();
            self.0.tasks.refresh();
        }
        match Steps(self.0).open() {
            Advance::Moved => moved = true,
            Advance::Waiting => {}
            Advance::Over if moved || self.executes() => {}
            Advance::Over if NextStage(self.0).end_pass() => return true,
            Advance::Over => {}
        }
        self.0.tasks.refresh();
        moved |= Answers(self.0).ask_before_calls();
        moved
    }

    /// Ends tasks that are over and releases tasks that waited for them.
    fn end_and_promote(&mut self) -> bool {
        let mut moved = Reviews(self.0).end_forbidden();
        moved |= Executing(self.0).end_overdue();
        moved |= Executing(self.0).end_all();
        moved |= Steps(self.0).promote();
        self.0.tasks.refresh();
        moved
    }

    /// Leaves of trees share budgets and take turns to write, so a log entry of one leaf may concern others.
    fn look_at_trees(&mut self) {
        self.0.tasks.refresh();
        let is_writer = |task| TreeQuery(self.0).is_writer_of_tree(task);
        let turns = self.0.tasks.changed().any(is_writer);
        let spent = limits::spent_together(self.0);
        if self.0.operators.note_spent(spent) || turns {
            self.0.tasks.look_again();
        }
    }

    /// One turn of a run of a template.
    fn operate(&mut self) -> bool {
        self.look_at_trees();
        let mut moved = self.end_and_promote();
        moved |= Trees(self.0).step();
        if self.0.stage() != Stage::Operate {
            return true;
        }
        self.0.tasks.refresh();
        Answers(self.0).ask_before_run(Some(0));
        moved |= Steps(self.0).start(0..1);
        self.0.tasks.refresh();
        moved |= Answers(self.0).ask_before_calls();
        moved
    }

    fn executes(&self) -> bool {
        self.0.tasks.listed().any(|task| task.is_executing() && Approval(self.0).has(task))
    }

    /// Frees the slots of units that have ended or that wait at a gate or a question (spec 2.6).
    fn release_slots(&mut self) {
        let run = &mut *self.0;
        run.tasks.refresh();
        let mut free = Vec::new();
        for task in run.tasks.changed_holders().filter(|task| task.has_begun()) {
            for (index, exec) in task.runs.iter().enumerate().filter(|(_, exec)| exec.attempts.admitted) {
                let found = Units(run).work_of_execution(task, exec);
                if exec.is_ended() || (found.work.is_empty() && found.person) {
                    free.push((task.slug(), index));
                }
            }
        }
        for (slug, index) in free {
            if let Some(exec) = run.tasks.get_mut(&slug).and_then(|task| task.runs.get_mut(index)) {
                exec.attempts.admitted = false;
            }
        }
    }

    /// Runs the clock of each task and of the run while one of its units has a slot.
    fn set_clocks(&mut self) {
        let run = &mut *self.0;
        let now = run.clock.now();
        let working = run.tasks.set_clocks(now) || run.calls.asks_for_list() || run.progress.routing().is_admitted();
        Trees(run).set_clocks(now);
        run.clock.set_working(working && !run.progress.has_concluded());
    }

    /// Notes the outstanding work. Ends the run if a limit leaves nothing to do (spec 2.15). `former` is the stage
    /// before the event.
    pub fn schedule_from(&mut self, former: Stage) {
        let run = &mut *self.0;
        if run.stage() != former {
            run.in_flight.look_again();
        }
        for place in run.tasks.changed_places().collect::<Vec<_>>() {
            run.in_flight.look_again_at(place);
        }
        let mut work = Schedule(run).work();
        for limit in std::mem::take(&mut work.reached) {
            run.progress.notified_mut().note_reached(limit);
        }
        let rests = work.effects.is_empty() && work.under_way.is_empty() && run.in_flight.count_under_way() == 0;
        if let (true, Some(limit)) = (rests, work.blocked)
            && limit != Limit::Exclusive
        {
            let left = limits::tokens_left(run).filter(|left| limit == Limit::MaxTokens && *left > 0);
            let dollars = limits::least_cost_left(run, None).filter(|(_, left)| limit == Limit::MaxCost && *left > 0.0);
            let of_day = limit == Limit::MaxCost && run.settings().limits.is_held_by_day();
            let name = if of_day { "day_cost_usd" } else { limit.name() };
            let message = match (left, dollars) {
                (Some(left), _) => format!("{name} leaves {left} tokens, too few for another call"),
                (None, Some((_, left))) => format!("{name} leaves ${left:.4}, too little for another call"),
                (None, None) => format!("{name} is used up"),
            };
            run.progress.conclude_by(limit, message);
            work = Schedule(run).work();
        }
        work.effects.extend(Schedule(run).people());
        run.in_flight.set_pending(work);
    }
}
