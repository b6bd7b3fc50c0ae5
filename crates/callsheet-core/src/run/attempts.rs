//! The model calls of one work unit: its attempts, the reply that waits to be read, and the issues of the last
//! refused reply.

use crate::issue::Issue;
use crate::nouns::BlobId;
use crate::record::CallKey;
use crate::units::counted;

/// The attempts of one phase of one unit. `admitted` means that the unit has one of the `jobs` slots (spec 2.6).
#[derive(Clone, Debug, PartialEq)]
pub struct Attempts {
    /// The current attempt, from 1.
    pub attempt: u32,
    /// The factor for reference budgets (spec 12.3).
    pub scale: f64,
    /// The issues of the last refused reply or rejected change set. Empty on the first attempt.
    pub issues: Vec<Issue>,
    /// The last refused reply, which plan and iteration show as the previous proposal.
    pub refused: Option<BlobId>,
    /// Whether communication failed on the last attempt (spec 12.3).
    pub communication: bool,
    /// A recorded reply that nobody has read yet.
    pub reading: Option<CallKey>,
    /// Whether `Run::minimum_calls` already counts its first call, or the first call of the turn.
    pub counted: bool,
    /// Whether the unit has a slot.
    pub admitted: bool,
    /// Milliseconds that its model calls took so far.
    pub busy_ms: u64,
}

/// Why a phase makes no further attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum GivenUp {
    /// All attempts were used.
    UsedUp,
    /// The attempt with this number, from 1, repeated the refused reply word for word.
    Repeated(u32),
}

impl GivenUp {
    /// The end of a sentence for a person about what could not be had. `max` is the number of attempts in a phase.
    pub(super) fn words(self, max: u32) -> String {
        match self {
            Self::UsedUp => format!("after {}", attempts_in_words(max)),
            Self::Repeated(made) => {
                format!("after {}: the model repeated its rejected reply word for word", attempts_in_words(made))
            }
        }
    }
}

fn attempts_in_words(number: u32) -> String {
    counted(usize::try_from(number).unwrap_or(usize::MAX), "attempt")
}

impl Default for Attempts {
    fn default() -> Self {
        Self {
            attempt: 1,
            scale: 1.0,
            issues: Vec::new(),
            refused: None,
            communication: false,
            reading: None,
            counted: false,
            admitted: false,
            busy_ms: 0,
        }
    }
}

impl Attempts {
    /// Uses up an attempt. Returns true if it was the last of `max`.
    pub(super) fn use_up(&mut self, max: u32) -> bool {
        self.reading = None;
        if self.attempt >= max {
            self.admitted = false;
            return true;
        }
        self.attempt += 1;
        false
    }

    /// Notes that a reply was refused (spec 12.2). If the model repeats a refused reply word for word, the phase
    /// ends, because further attempts would not help.
    pub(super) fn refuse(&mut self, issues: Vec<Issue>, reply: Option<BlobId>, max: u32) -> Option<GivenUp> {
        let repeated = reply.is_some() && self.refused == reply;
        self.issues = issues;
        self.refused = reply;
        self.communication = false;
        if repeated {
            self.close();
            return Some(GivenUp::Repeated(self.attempt));
        }
        self.use_up(max).then_some(GivenUp::UsedUp)
    }

    /// Notes that the prompt did not fit (spec 12.3), and reduces budgets by 30 %.
    pub(super) fn overflow(&mut self, max: u32) -> bool {
        self.scale *= 0.7;
        self.communication = false;
        self.use_up(max)
    }

    /// New attempts for a phase that ended without a reply, for a resume. The time of the former attempts still
    /// counts.
    pub(super) fn renewed(&self) -> Self {
        Self { busy_ms: self.busy_ms, reading: self.reading.clone(), counted: self.counted, ..Self::default() }
    }

    /// Ends the unit: frees its slot and drops the reply that waits to be read.
    pub(super) fn close(&mut self) {
        self.reading = None;
        self.admitted = false;
    }
}
