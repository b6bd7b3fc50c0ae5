//! Limits the size of a prompt and its reply.

use callsheet_core::issue::{Issue, IssueCode};
use callsheet_core::nouns::{Phase, TokenCount};
use callsheet_core::run::{Attempts, TaskRun};

use crate::ports::ModelRequest;

use crate::prompting::fault::PromptFault;

/// From this size on, a window is long enough for replies with reasoning.
const LONG_WINDOW: u32 = 65_536;

/// Tokens of an answer to one question. An answer that was cut gets the whole cap in the next attempt.
const ANSWER: u32 = 1_536;

/// Hard cap of the reply to this attempt, counted from 1. In a small window, it is a quarter of the window. In a long
/// or unknown window, it leaves room for thinking.
pub(super) fn output_tokens(phase: Phase, task: Option<&TaskRun>, window: Option<u32>, attempt: u32) -> u32 {
    let writes = task.and_then(|task| task.skill.as_ref()).is_some_and(|skill| skill.writes_files);
    let plain = match phase {
        Phase::Route => 64,
        Phase::Plan | Phase::Iterate | Phase::Continue => 3_072,
        Phase::Refine => 2_048,
        Phase::Review => 512,
        Phase::Execute if writes => 8_192,
        Phase::Execute | Phase::Merge | Phase::Join => 4_096,
    };
    let answers = phase == Phase::Execute && !writes && task.is_some_and(|task| task.direct) && attempt <= 1;
    match window {
        Some(window) if window < LONG_WINDOW && answers => ANSWER.min((window / 4).max(256)),
        Some(window) if window < LONG_WINDOW => plain.min((window / 4).max(256)),
        _ => plain * 2,
    }
}

/// The cap of another attempt at a reply that was cut by its length limit: twice as large each time, up to half of the
/// window.
pub(super) fn larger(cap: u32, attempts: Option<&Attempts>, window: Option<u32>) -> u32 {
    let cut = |issue: &Issue| matches!(issue.code, IssueCode::ReplyTruncated | IssueCode::ContentTruncated);
    let doublings = attempts.filter(|attempts| attempts.issues.iter().any(cut)).map_or(0, |one| one.attempt.min(4) - 1);
    let most = window.map_or(u32::MAX, |window| window / 2).max(cap);
    cap.saturating_mul(2_u32.pow(doublings)).min(most)
}

#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "float casts saturate, which is wanted")]
pub(super) fn share(window: u32, fraction: f64) -> u32 {
    (f64::from(window) * fraction).floor() as u32
}

/// Applies `max_context_fraction` before anything is sent. Gives the tokens of the prompt, and the most that it may
/// have.
pub(super) fn check_window(request: &ModelRequest, max: Option<u32>) -> Result<Option<(u32, u32)>, PromptFault> {
    let Some(max) = max else { return Ok(None) };
    let mut count = TokenCount::default();
    count.add(&request.system);
    request.messages.iter().for_each(|message| count.add(message.text()));
    let pictures = u32::try_from(request.picture_tokens()).unwrap_or(u32::MAX);
    let used = count.tokens().saturating_add(pictures);
    if used <= max { Ok(Some((used, max))) } else { Err(PromptFault::TooLarge(used, max)) }
}

/// Limits the reply to what the token budgets leave beside the prompt. Returns true if that is less than it could have
/// had (spec "Templates" 9).
pub(super) fn hold_to_budget(
    request: &mut ModelRequest,
    left: Option<u64>,
    may_wait: bool,
) -> Result<bool, PromptFault> {
    let Some(left) = left else { return Ok(false) };
    let used = request.estimated_tokens();
    let room = left.saturating_sub(used);
    let shortened = room < u64::from(request.max_output_tokens);
    if room == 0 || (shortened && may_wait) {
        return Err(PromptFault::OverBudget(used, left));
    }
    let room = u32::try_from(room).unwrap_or(u32::MAX);
    request.max_output_tokens = request.max_output_tokens.min(room);
    Ok(shortened)
}
