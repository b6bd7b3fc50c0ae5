//! Outcomes and times in words for people.

use crate::record::Outcome;

/// The meaning of an outcome, as a sentence without a period.
pub fn outcome_words(outcome: Outcome) -> &'static str {
    match outcome {
        Outcome::Complete => "complete",
        Outcome::Incomplete => "incomplete: not everything that you asked for is done",
        Outcome::MaxRounds => "Max rounds reached",
        Outcome::Planned => "planned",
        Outcome::PlanFailed => "no valid plan",
        Outcome::IterationFailed => "no valid iteration",
        Outcome::ApprovalRequired => "waiting for approval",
        Outcome::InputRequired => "waiting for an answer",
        Outcome::Unreachable => "could not reach the model",
        Outcome::Misconfigured => "the model refused the request",
        Outcome::LimitReached => "reached a limit",
        Outcome::Cancelled => "cancelled",
        Outcome::TaskFailed => "the task failed",
        Outcome::InputInvalid => "inputs are missing or wrong",
    }
}

/// Year, month, day and seconds of the day, UTC, of milliseconds since the Unix epoch.
pub fn civil(ms: u64) -> (i64, u32, u32, u64) {
    let days = i64::try_from(ms / 86_400_000).unwrap_or(0);
    let z = days + 719_468;
    let era = z.div_euclid(146_097);
    let doe = z.rem_euclid(146_097);
    let yoe = (doe - doe / 1_460 + doe / 36_524 - doe / 146_096) / 365;
    let doy = doe - (365 * yoe + yoe / 4 - yoe / 100);
    let mp = (5 * doy + 2) / 153;
    let day = u32::try_from(doy - (153 * mp + 2) / 5 + 1).unwrap_or(1);
    let month = u32::try_from(if mp < 10 { mp + 3 } else { mp - 9 }).unwrap_or(1);
    let year = yoe + era * 400 + i64::from(month <= 2);
    (year, month, day, ms / 1_000 % 86_400)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_are_right() {
        assert_eq!(civil(0), (1970, 1, 1, 0));
        assert_eq!(civil(951_782_400_000), (2000, 2, 29, 0));
        assert_eq!(civil(1_793_491_199_000), (2026, 10, 31, 86_399));
    }
}
