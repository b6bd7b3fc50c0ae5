//! What people change in a run while it works or rests.

use std::collections::BTreeMap;

use callsheet_core::events::{self, Event, ListOrigin};
use callsheet_core::nouns::{RunId, Slug, ToolCall};
use callsheet_core::record::{AdoptedList, PlannedTask};
use callsheet_core::run::{Effect, Run, State};

use crate::world::{World, blob};

impl World {
    /// An edit of the sheet by a person, with tasks that stay, change, disappear and appear. Some edits touch running
    /// tasks, which are left alone, or done tasks, which must be refused.
    pub fn edit(&mut self, run: &Run) -> Event {
        let mut known: Vec<Slug> = run.done().map(|task| task.task.slug.clone()).collect();
        let mut list =
            AdoptedList { goals: run.goals().clone(), skills: self.skills.clone(), ..AdoptedList::default() };
        for step in run.steps() {
            let mut tasks = Vec::new();
            for task in step.iter().filter_map(|slug| run.task(slug)) {
                let fixed = matches!(task.state(), State::Done | State::Dropped);
                let (stays, goes) = match task.state() {
                    State::Dropped => (50, 48),
                    _ if fixed => (0, 98),
                    State::Running => (70, 15),
                    _ => (60, 20),
                };
                let roll = self.random.below(100);
                if roll >= stays && roll < stays + goes {
                    continue;
                }
                let unchanged = roll < stays;
                let mut planned =
                    PlannedTask { task: task.task.clone(), unchanged, writer: task.writer.clone(), direct: false };
                if !unchanged {
                    planned.task.need.push_str(" as edited");
                }
                tasks.push(planned);
            }
            known.extend(tasks.iter().map(|planned: &PlannedTask| planned.task.slug.clone()));
            if self.random.chance(30) {
                tasks.push(self.task(&known));
                known.extend(tasks.last().map(|planned| planned.task.slug.clone()));
            }
            list.steps.push(tasks);
        }
        if self.random.chance(30) {
            list.steps.push(vec![self.task(&known)]);
        }
        let origin = ListOrigin::Edit(blob("edit"));
        events::ListAdopted { origin, list, repairs: Vec::new(), issues: Vec::new() }.into()
    }

    /// A faulty edit, which touches some of the tasks that have not begun.
    fn broken_edit(&mut self, run: &Run) -> Event {
        let open = run.tasks().filter(|task| !task.state().is_ended() && task.state() != State::Running);
        let tasks = open.map(|task| task.task.slug.clone()).filter(|_| self.random.chance(50)).collect();
        events::EditHeld { tasks: Some(tasks) }.into()
    }

    /// A call that the run before a fork never finished, or an answer that a later one replaced.
    fn told_by_the_past(&mut self, run: &Run) -> Option<Event> {
        let gate = run.asking().into_iter().find_map(|effect| match effect {
            Effect::AskApproval(gate) => Some(gate),
            _ => None,
        });
        if let Some(gate) = gate.filter(|_| self.random.chance(50)) {
            return Some(events::AnswerUnused { gate, verdict: "approved".to_owned(), by: None }.into());
        }
        // A fork rests until it is resumed.
        run.outcome()?;
        let calls = run.all_tasks().flat_map(|task| {
            let of_task = task.runs.iter().flat_map(|exec| &exec.calls);
            of_task.map(|call| (task.task.slug.clone(), call.call.clone()))
        });
        let calls: Vec<(Slug, ToolCall)> = calls.collect();
        let call = self.random.pick(&calls).cloned()?;
        Some(events::CallsUnended { calls: vec![call] }.into())
    }

    /// What a person changes in the run. It may come too late or not fit.
    pub fn steer(&mut self, run: &Run) -> Option<Event> {
        if self.random.chance(40) {
            return Some(self.edit(run));
        }
        if self.random.chance(15) && self.trees.is_none() {
            return Some(self.broken_edit(run));
        }
        if self.random.chance(3) {
            return Some(events::ReuseAllowed { run: RunId::new("another") }.into());
        }
        if self.random.chance(10) {
            let max = f64::from(run.settings().limits.max_calls) + 4.0;
            return Some(events::LimitRaised { limit: "max_calls".to_owned(), max }.into());
        }
        if self.random.chance(3) {
            return self.told_by_the_past(run);
        }
        let slugs: Vec<Slug> = run.all_tasks().map(|task| task.task.slug.clone()).collect();
        let ended = run.operators().iter().filter(|op| op.is_closed()).map(|op| op.id.clone());
        let failed = run.operators().iter().filter(|op| op.failed()).map(|op| op.id.clone());
        let problems: Vec<Slug> =
            run.all_problems().map(|problem| problem.task.task.slug.clone()).chain(failed).collect();
        if self.random.chance(60) {
            let all: Vec<Slug> = slugs.into_iter().chain(ended).collect();
            let slugs = if self.random.chance(80) { problems } else { all };
            let task = self.random.pick(&slugs).cloned()?;
            if run.may_continue(&task) && self.random.chance(50) {
                return Some(events::TaskContinued { task }.into());
            }
            return Some(events::TaskRetried { task, skills: BTreeMap::new(), because: String::new() }.into());
        }
        let slugs = if self.random.chance(50) { problems } else { slugs };
        self.random.pick(&slugs).cloned().map(|task| events::TaskDropped { task }.into())
    }
}
