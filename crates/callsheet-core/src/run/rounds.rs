//! The rounds of a run, and the position of the current pass in the sequence of steps.

/// The rounds so far, and the pass of the current round.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Rounds {
    /// The current round, from 1. A resume starts again at 1. 0 before the first list.
    current: u32,
    /// The number of rounds since the start of the run.
    total: u32,
    iteration_due: bool,
    more_work: bool,
    /// The step whose tasks may run.
    open: Option<usize>,
    /// The step whose gate was answered. A denial at this gate does not hold the step (spec 11.7).
    asked: Option<usize>,
}

impl Rounds {
    pub fn current(&self) -> u32 {
        self.current
    }

    pub fn total(&self) -> u32 {
        self.total
    }

    /// Begins another round.
    pub fn begin(&mut self) {
        self.current = self.current.saturating_add(1);
        self.total = self.total.saturating_add(1);
    }

    /// Sets the number of the current round. If the list is still to come, this is the number before it.
    pub fn count_anew(&mut self, current: u32) {
        self.current = current;
    }

    pub fn iteration_is_due(&self) -> bool {
        self.iteration_due
    }

    pub fn set_iteration_due(&mut self, due: bool) {
        self.iteration_due = due;
    }

    /// Whether a result of this round asks for more work (spec 2.13).
    pub fn wants_more_work(&self) -> bool {
        self.more_work
    }

    pub fn note_more_work(&mut self) {
        self.more_work = true;
    }

    pub fn forget_more_work(&mut self) {
        self.more_work = false;
    }

    pub fn open_step(&self) -> Option<usize> {
        self.open
    }

    pub fn open(&mut self, step: usize) {
        self.open = Some(step);
    }

    /// Notes that the gate of a step was answered.
    pub fn note_answer(&mut self, step: Option<usize>) {
        self.asked = step;
    }

    /// Whether the gate of a step was answered or the step is open.
    pub fn has_passed_gate(&self, step: usize) -> bool {
        self.asked == Some(step) || self.open == Some(step)
    }

    /// Starts the pass again at the first step.
    pub fn restart_pass(&mut self) {
        (self.open, self.asked) = (None, None);
    }
}
