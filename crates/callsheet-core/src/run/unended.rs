//! Calls that may not be repeated, were started and did not end (spec 2.18).

use crate::nouns::{ExecutionId, RepeatClass, Slug, ToolCall};
use crate::record::EffectKey;

use super::Run;
use super::execution::ToolState;
use super::gates::is_equal;

/// Finds and notes such calls.
pub(super) struct Unended<'a>(pub &'a mut Run);

impl Unended<'_> {
    /// The calls of a task that are at work and may not be repeated.
    pub fn at_work(&self, slug: &Slug) -> Vec<ToolCall> {
        let run = &*self.0;
        let execs = run.tasks.get(slug).map(|task| task.runs.as_slice()).unwrap_or_default();
        let calls = execs.iter().flat_map(|exec| exec.calls.iter().map(move |call| (&exec.id, call)));
        let once = calls.filter(|(_, call)| run.policy(&call.call.name).repeat == RepeatClass::Once);
        let works = once.filter(|(exec, call)| {
            let key = EffectKey::Tool { task: slug.clone(), run: (*exec).clone(), call: call.call.id.clone() };
            call.is_midway() || run.in_flight.contains(&key)
        });
        works.map(|(_, call)| call.call.clone()).collect()
    }

    /// The calls of a task that its time ended and that may not be repeated.
    pub fn timed_out(&self, slug: &Slug) -> Vec<(ExecutionId, ToolCall)> {
        let run = &*self.0;
        let execs = run.tasks.get(slug).map(|task| task.runs.as_slice()).unwrap_or_default();
        let calls = execs.iter().flat_map(|exec| exec.calls.iter().map(move |call| (exec.id.clone(), call)));
        let timed_out =
            calls.filter(|(_, call)| call.timed_out && run.policy(&call.call.name).repeat == RepeatClass::Once);
        timed_out.map(|(exec, call)| (exec, call.call.clone())).collect()
    }

    /// Interrupts a call: a person is asked whether it runs again, also if its task begins again before the answer.
    pub fn interrupt(&mut self, slug: &Slug, run: &ExecutionId, id: &str) {
        let gate = self.0.gates.next();
        if let Some(call) = self.0.tool_mut(slug, run, id) {
            call.state = ToolState::Gated { gate, again: true };
            let call = call.call.clone();
            self.note(slug, &call);
        }
    }

    /// Notes the calls of a task that its time ended.
    pub fn note_timed_out(&mut self, slug: &Slug) {
        self.timed_out(slug).iter().for_each(|(_, call)| self.note(slug, call));
    }

    /// Notes such a call of a task. A person is asked again about calls that may repeat it, and that were approved before
    /// and have not started.
    pub fn note(&mut self, slug: &Slug, call: &ToolCall) {
        let Run { tasks, operators, in_flight, gates, setup, .. } = &mut *self.0;
        gates.note_unended(slug, call.clone());
        for task in tasks.values_mut() {
            let of = task.slug();
            let is_here = operators.are_of_one_place(&of, slug);
            for exec in &mut task.runs {
                let run = exec.id.clone();
                let approved = exec.calls.iter_mut().filter(|other| other.state == ToolState::Approved);
                for other in approved.filter(|other| is_here || is_equal(&other.call, call)) {
                    let key = EffectKey::Tool { task: of.clone(), run: run.clone(), call: other.call.id.clone() };
                    if setup.policy(&other.call.name).repeat == RepeatClass::Once && !in_flight.contains(&key) {
                        other.state = ToolState::Queued;
                    }
                }
            }
        }
    }
}
