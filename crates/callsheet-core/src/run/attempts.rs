//! The model calls of one work unit: attempts, the reply that waits to be read, what the last refused one lacked.

use crate::issue::Issue;
use crate::nouns::BlobId;
use crate::record::CallKey;

/// State of one phase of one unit. `admitted` means that the unit holds one of the `jobs` slots (spec 2.6).
#[derive(Clone, Debug, PartialEq)]
pub struct Attempts {
    /// The current attempt, from 1.
    pub attempt: u32,
    /// Reference budgets are multiplied by this (spec 12.3).
    pub scale: f64,
    /// Issues of the last refused reply or rejected change set; empty on the first attempt.
    pub issues: Vec<Issue>,
    /// The last refused reply: the previous proposal of plan and iteration.
    pub refused: Option<BlobId>,
    /// The last failure was one of communication (spec 12.3).
    pub communication: bool,
    /// A recorded reply that nobody has read yet.
    pub reading: Option<CallKey>,
    /// Its first call, or that of the turn, is in `Run::minimum_calls`.
    pub counted: bool,
    /// The unit holds a slot.
    pub admitted: bool,
    /// Milliseconds its model calls took so far.
    pub busy_ms: u64,
}

/// Why a phase makes no further attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum GivenUp {
    /// All were made.
    UsedUp,
    /// This one, from 1, repeated the refused reply word for word.
    Repeated(u32),
}

impl GivenUp {
    /// For a person, behind what could not be had. `attempts`: what attempts are called; `max`: how many a phase has.
    pub(super) fn words(self, attempts: &str, max: u32) -> String {
        match self {
            Self::UsedUp => format!("after {max} {attempts}"),
            Self::Repeated(made) => {
                format!("after {made} {attempts}: the model repeated its rejected reply word for word")
            }
        }
    }
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
    /// Uses up an attempt; true when it was the last of `max`.
    pub(super) fn use_up(&mut self, max: u32) -> bool {
        self.reading = None;
        if self.attempt >= max {
            self.admitted = false;
            return true;
        }
        self.attempt += 1;
        false
    }

    /// A reply was refused (spec 12.2). One that comes again word for word ends the phase: asking further does not help.
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

    /// The prompt did not fit (spec 12.3): budgets shrink by 30 %.
    pub(super) fn overflow(&mut self, max: u32) -> bool {
        self.scale *= 0.7;
        self.communication = false;
        self.use_up(max)
    }

    /// A phase that ended without a reply begins again at a resume; what it had tried is still counted as time.
    pub(super) fn renewed(&self) -> Self {
        Self { busy_ms: self.busy_ms, reading: self.reading.clone(), counted: self.counted, ..Self::default() }
    }

    /// The unit ended: its slot is free, its reply is read.
    pub(super) fn close(&mut self) {
        self.reading = None;
        self.admitted = false;
    }
}
