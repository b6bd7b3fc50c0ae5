//! What a checker notes when a person has something done again.

use callsheet_core::nouns::Slug;
use callsheet_core::run::{ExecutionStage, Run, State, TaskRun, ToolState};

use crate::people::part;
use crate::plan::reads;

use super::Witness;

impl Witness {
    /// The run takes over an edited tree.
    pub(super) fn note_edited(&mut self, run: &Run, tree_number: usize) {
        self.resumed = true;
        let caller = run.operators().caller(tree_number).map(|caller| &caller.task);
        let is_open = |task: &Slug| run.task(task).is_some_and(|task| !task.state().is_ended());
        let is_back = |task: &Slug| self.states.get(task).is_some_and(|state| state.is_ended()) && is_open(task);
        let top = run.operators().top_of(tree_number).filter(|_| caller.is_none_or(is_back));
        let top = top.map(|top| top.id.clone());
        top.into_iter().for_each(|top| self.note_retried(run, &top));
    }

    /// A failed task continues after a raised limit. It keeps its text and its approval, and its executions go on; parts of
    /// it that have none begin again.
    pub(super) fn note_continued(&mut self, run: &Run) {
        self.resumed = true;
        for task in run.all_tasks().filter(|task| !task.state().is_ended()) {
            let slug = &task.task.slug;
            let was_ended = self.states.get(slug).is_some_and(|state| state.is_ended());
            if task.execution != ExecutionStage::NotBegun {
                self.finished_runs.retain(|(of, ..)| of != slug);
                self.verdicts.forget(slug);
            } else if was_ended {
                self.starts_anew(slug);
            }
        }
    }

    /// A person has a task repeated, with its readers.
    pub(super) fn note_retried(&mut self, run: &Run, retried: &Slug) {
        self.resumed = true;
        let ended = |slug: &Slug| {
            let known = self.states.get(slug);
            known.is_some_and(|state| state.is_problem() || matches!(state, State::Dropped | State::Done))
        };
        // The named task may be blocked again at once.
        let open = run.tasks().filter(|task| !task.state().is_ended() || task.task.slug == *retried);
        // A call that waits for its tree again continues with its finished parts, under the approval of the same text
        // (spec 11.6, "Templates" 15).
        let goes_on = |task: &&TaskRun| {
            let mut calls = task.runs.iter().flat_map(|exec| &exec.calls);
            calls.any(|call| matches!(call.state, ToolState::Mounted(_)))
        };
        let anew = open.filter(|task| !goes_on(task));
        // The readers of a result that is made again begin again, in any state. A part of a call gives the result of the
        // task that makes the call.
        let caller = part(run, retried).and_then(|op| run.operators().caller(op.mount)).map(|caller| &caller.task);
        let made_again = caller.unwrap_or(retried);
        let was_done = self.states.get(made_again) == Some(&State::Done);
        let begins = |slug: &Slug| ended(slug) || was_done && reads(run, slug, made_again);
        let back: Vec<Slug> = anew.map(|task| task.task.slug.clone()).filter(begins).collect();
        back.iter().for_each(|slug| self.starts_anew(slug));
    }
}
