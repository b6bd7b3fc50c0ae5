//! Rounds, and where the pass of this one is: the position of the operator "sequence of concurrent steps".

/// Rounds so far, and the pass of this one.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Rounds {
    /// From 1, counted anew at a resume; 0 before the first list.
    current: u32,
    /// Since the start of the run.
    total: u32,
    iteration_due: bool,
    more_work: bool,
    /// The step whose tasks may run.
    open: Option<usize>,
    /// The step whose gate was answered: a denial at its own gate does not hold it (spec 11.7).
    asked: Option<usize>,
}

impl Rounds {
    pub fn current(&self) -> u32 {
        self.current
    }

    pub fn total(&self) -> u32 {
        self.total
    }

    /// Another round begins.
    pub fn begin(&mut self) {
        self.current = self.current.saturating_add(1);
        self.total = self.total.saturating_add(1);
    }

    /// They count anew from this one, or, for a list that is still to come, from the next one.
    pub fn count_anew(&mut self, current: u32) {
        self.current = current;
    }

    pub fn iteration_is_due(&self) -> bool {
        self.iteration_due
    }

    pub fn set_iteration_due(&mut self, due: bool) {
        self.iteration_due = due;
    }

    /// A result of this round asks for more work (spec 2.13).
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

    /// The gate of a step was answered.
    pub fn note_answer(&mut self, step: Option<usize>) {
        self.asked = step;
    }

    /// Whether its gate was answered, or it is open.
    pub fn has_passed_gate(&self, step: usize) -> bool {
        self.asked == Some(step) || self.open == Some(step)
    }

    /// The pass begins at its first step.
    pub fn restart_pass(&mut self) {
        (self.open, self.asked) = (None, None);
    }
}
