//! The ideal time: when work could have ended with unlimited slots (spec 2.14).

use crate::nouns::{Slug, ToolEffect};

use super::Run;
use super::execution::Execution;

/// The earliest end of all currently listed tasks, with unlimited slots.
pub(super) fn pass_ms(run: &Run) -> u64 {
    let of_leaf = |leaf: usize| run.tasks.at(leaf).map_or(0, |task| task.ideal_end_ms);
    if let Some(of_tree) = run.operators.ideal_ms(&of_leaf) {
        return of_tree;
    }
    run.tasks.listed().map(|task| task.ideal_end_ms).fold(run.clock.ideal_list_ms(), u64::max)
}

/// The duration so far of the calls for the next list and for the answer, with unlimited slots.
pub(super) fn list_ms(run: &Run) -> u64 {
    run.calls.list_ms().saturating_add(run.progress.routing().longest_ms())
}

/// Notes when work could have ended.
pub(super) struct Ideal<'a>(pub &'a mut Run);

impl Ideal<'_> {
    /// Notes that a list was accepted. It could have existed when all earlier work had ended and its calls were made.
    pub fn note_list(&mut self) {
        let ms = pass_ms(self.0).saturating_add(list_ms(self.0));
        self.0.clock.set_ideal_list_ms(ms);
    }

    /// Notes the earliest end of a refinement: after the list and after the outputs that the task reads.
    pub fn note_refined(&mut self, slug: &Slug) {
        let run = &mut *self.0;
        let Some(task) = run.tasks.get(slug) else { return };
        let producers = task.producers().filter_map(|producer| run.tasks.find(producer));
        let begin = producers.map(|producer| producer.ideal_end_ms).fold(run.clock.ideal_list_ms(), u64::max);
        let end = begin.saturating_add(task.refine.busy_ms);
        if let Some(task) = run.tasks.get_mut(slug) {
            task.ideal_refined_ms = end;
        }
    }

    /// Notes the earliest end of a task: after its refinement and after the tasks of earlier steps that it waits for.
    pub fn note_end(&mut self, slug: &Slug) {
        let run = &mut *self.0;
        let Some(task) = run.tasks.get(slug) else { return };
        let barrier = run.tasks.end_before(slug);
        let begin = task.ideal_refined_ms.max(barrier).max(run.clock.ideal_list_ms());
        let longest = task.runs.iter().filter(|_| task.has_begun()).map(|exec| busy_of(run, exec)).max();
        let merge = task.merge.as_ref().map_or(0, |merge| merge.attempts.busy_ms);
        let end = begin.saturating_add(longest.unwrap_or(0)).saturating_add(merge);
        run.tasks.set_end(slug, end);
    }
}

/// The duration of an execution: its model calls one after the other, and for each turn the longest reading call and
/// all other calls.
fn busy_of(run: &Run, exec: &Execution) -> u64 {
    let batches: Vec<Vec<&str>> = if exec.is_loop {
        exec.turns.iter().map(|turn| turn.calls.iter().map(String::as_str).collect()).collect()
    } else {
        vec![exec.calls.iter().map(|call| call.call.id.as_str()).collect()]
    };
    let mut busy = exec.attempts.busy_ms;
    for batch in batches {
        let mut longest_read = 0;
        for call in batch.iter().filter_map(|id| exec.call(id)) {
            if run.policy(&call.call.name).effect == ToolEffect::Read {
                longest_read = call.ms.max(longest_read);
            } else {
                busy = busy.saturating_add(call.ms);
            }
        }
        busy = busy.saturating_add(longest_read);
    }
    busy
}
