//! Exit codes (spec 11.9) and failures that end a command.

use std::process::ExitCode;

use callsheet_app::{Advice, Kind, Refusal};
use callsheet_core::record::Outcome;

/// Why the process ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Exit {
    /// Complete.
    Complete = 0,
    /// Internal or configuration error.
    Internal = 1,
    /// Usage or invalid input, such as a sheet with errors.
    Usage = 2,
    /// Approval or input required.
    Waiting = 3,
    /// No valid plan, iteration or continuation.
    NoPlan = 4,
    /// A task failed, was denied or blocked.
    Incomplete = 5,
    /// A limit or the last round was reached.
    Limit = 6,
    /// Provider unreachable.
    Unreachable = 7,
    /// Cancelled.
    Cancelled = 130,
}

impl Exit {
    /// The exit with this code.
    pub fn of_code(code: i32) -> Option<Self> {
        Self::ALL.into_iter().find(|exit| i32::from(*exit as u8) == code)
    }

    /// All exits.
    const ALL: [Self; 9] = [
        Self::Complete,
        Self::Internal,
        Self::Usage,
        Self::Waiting,
        Self::NoPlan,
        Self::Incomplete,
        Self::Limit,
        Self::Unreachable,
        Self::Cancelled,
    ];

    /// The word for this code in a failure that `--json` prints.
    pub fn name(self) -> &'static str {
        match self {
            Self::Complete => "complete",
            Self::Internal => "internal",
            Self::Usage => "usage",
            Self::Waiting => "waiting",
            Self::NoPlan => "no_plan",
            Self::Incomplete => "incomplete",
            Self::Limit => "limit",
            Self::Unreachable => "unreachable",
            Self::Cancelled => "cancelled",
        }
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit as u8)
    }
}

impl From<Outcome> for Exit {
    fn from(outcome: Outcome) -> Self {
        match outcome {
            Outcome::Complete | Outcome::Planned => Self::Complete,
            Outcome::Incomplete => Self::Incomplete,
            Outcome::MaxRounds | Outcome::LimitReached => Self::Limit,
            Outcome::PlanFailed | Outcome::IterationFailed => Self::NoPlan,
            Outcome::ApprovalRequired | Outcome::InputRequired => Self::Waiting,
            Outcome::Unreachable => Self::Unreachable,
            Outcome::Misconfigured => Self::Internal,
            Outcome::Cancelled => Self::Cancelled,
            Outcome::TaskFailed => Self::Incomplete,
            Outcome::InputInvalid => Self::Usage,
        }
    }
}

impl From<Refusal> for Failure {
    fn from(refusal: Refusal) -> Self {
        let exit = match refusal.kind {
            Kind::Usage => Exit::Usage,
            Kind::Internal => Exit::Internal,
            Kind::Incomplete => Exit::Incomplete,
        };
        Self::new(exit, refusal.what, refusal.advice)
    }
}

impl From<Failure> for Refusal {
    fn from(Failure { exit, what, advice }: Failure) -> Self {
        let kind = if exit == Exit::Usage { Kind::Usage } else { Kind::Internal };
        Self { kind, what, advice }
    }
}

/// Why a command could not do its work: what went wrong, what to do, and the exit code.
#[derive(Debug)]
pub struct Failure {
    /// Exit code.
    pub exit: Exit,
    /// What went wrong, and where.
    pub what: String,
    /// What to do about it. May be empty.
    pub advice: Advice,
}

impl Failure {
    /// A failure with advice.
    pub fn new(exit: Exit, what: impl Into<String>, advice: impl Into<Advice>) -> Self {
        Self { exit, what: what.into(), advice: advice.into() }
    }

    /// The JSON form that `--json` prints: `{"type":"error","code":"usage","exit":2,"message":"…","advice":"…"}`.
    /// Commands in the advice begin with `call`.
    pub fn to_json(&self, call: &str) -> serde_json::Value {
        serde_json::json!({
            "type": "error",
            "code": self.exit.name(),
            "exit": self.exit as u8,
            "message": self.what,
            "advice": self.advice.for_shell(call),
        })
    }

    /// A failure because of wrong usage or invalid input.
    pub fn usage(what: impl Into<String>, advice: impl Into<Advice>) -> Self {
        Self::new(Exit::Usage, what, advice)
    }

    /// A failure because of Callsheet or its configuration.
    pub fn internal(what: impl Into<String>, advice: impl Into<Advice>) -> Self {
        Self::new(Exit::Internal, what, advice)
    }
}
