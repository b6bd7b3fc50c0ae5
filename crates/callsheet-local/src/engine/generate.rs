//! One reply, token by token.

use std::sync::PoisonError;
use std::time::Duration;

use callsheet_core::record::{StopReason, Usage};
use callsheet_runtime::ports::{ModelFault, ModelReply, Repetition};
use llama_cpp_2::token::LlamaToken;
use rustix::time::{ClockId, clock_gettime};

use super::chat;
use super::constraint::{Constraints, Guide};
use super::load::Timing;
use super::owner::{Job, News};
use super::sampler::Sampler;
use super::session::{Session, engine_fault};
use super::utf8::Utf8Stream;

/// What has been written so far.
struct Writing<'a> {
    job: &'a Job,
    limit: u32,
    stream: Utf8Stream,
    text: String,
    repetition: Repetition,
    repeats: bool,
    written: u32,
    forced: u32,
    timing: Timing,
}

/// When this many tokens are left, a constrained reply ends at the next sentence end that its grammar allows. Small
/// models write until they are cut, and a reply that is cut is lost.
const LAST_TOKENS: u32 = 64;
/// When this many tokens are left, the reply ends anywhere its grammar allows.
const VERY_LAST_TOKENS: u32 = 4;

impl Writing<'_> {
    /// Whether too little room is left to begin another sentence.
    fn should_end(&self) -> bool {
        let left = self.limit.saturating_sub(self.written);
        let last = LAST_TOKENS.min(self.limit / 4);
        left <= VERY_LAST_TOKENS || left <= last && self.text.ends_with(['.', '!', '?', '`', '*'])
    }

    fn push(&mut self, bytes: &[u8]) {
        let text = self.stream.push(bytes);
        self.tell(text);
    }

    fn tell(&mut self, text: String) {
        if text.is_empty() {
            return;
        }
        self.text.push_str(&text);
        self.repeats |= self.repetition.push(&text);
        // If the viewer has gone, nothing is lost: the reply counts.
        let _ = self.job.news.send(News::Text(text));
    }
}

/// Answers `job`. Afterwards the cache of `session` holds the prompt and the reply.
pub(super) fn answer(
    session: &mut Session<'_>,
    constraints: &Constraints,
    job: &Job,
) -> Result<ModelReply, ModelFault> {
    let request = &job.request;
    let prompt = chat::tokens(session.model(), request)?;
    let input = u32::try_from(prompt.len()).unwrap_or(u32::MAX);
    let limit = limit(input, request.max_output_tokens, session.loaded().window)?;
    let mut guide = guide(constraints, job);
    let mut sampler = Sampler::new(session.model(), request);
    let kept = session.rewind(&prompt);
    let mut pending: Vec<LlamaToken> = prompt.get(kept..).unwrap_or_default().to_vec();
    let stream = Utf8Stream::default();
    let mut writing = Writing {
        job,
        limit,
        stream,
        text: String::new(),
        repetition: Repetition::default(),
        repeats: false,
        written: 0,
        forced: 0,
        timing: Timing::default(),
    };
    let stop = write(session, guide.as_mut(), &mut sampler, &mut pending, &mut writing)?;
    note_timing(session, &writing);
    let rest = writing.stream.finish();
    writing.tell(rest);
    tracing::debug!(input, kept, output = writing.written, forced = writing.forced, "reply");
    let usage = Usage {
        input: u64::from(input),
        output: u64::from(writing.written),
        cached: u64::try_from(kept).unwrap_or(0),
        cost_usd: Some(0.0),
    };
    let model = session.loaded().info.id.clone();
    Ok(ModelReply { text: writing.text, usage, stop, model, ..ModelReply::default() })
}

fn note_timing(session: &Session<'_>, writing: &Writing<'_>) {
    let mut all = session.loaded().timing.lock().unwrap_or_else(PoisonError::into_inner);
    all.tokens += u64::from(writing.written);
    all.forced += u64::from(writing.forced);
    all.decode += writing.timing.decode;
    all.constraint += writing.timing.constraint;
    all.sample += writing.timing.sample;
}

/// How many tokens the reply may have. The request's cap reserves nothing: in a small window, the reply gets what is
/// left, if that is at least a quarter of the window or the whole cap.
fn limit(input: u32, cap: u32, window: u32) -> Result<u32, ModelFault> {
    let left = window.saturating_sub(input);
    if left < cap.min(window / 4).max(1) {
        let message = format!(
            "the prompt has {input} tokens, which leaves {left} for a reply of up to {cap}; the window has {window}"
        );
        return Err(ModelFault::ContextOverflow { message });
    }
    Ok(cap.min(left))
}

/// The constraint of the request. If it does not compile, that is our defect; the reply is then unconstrained, and its
/// reader decides.
fn guide(constraints: &Constraints, job: &Job) -> Option<Guide> {
    match constraints.guide(job.request.constraint.as_ref()?)? {
        Ok(guide) => Some(guide),
        Err(fault) => {
            tracing::warn!(fault, label = job.request.label, "the constraint of a reply cannot be used");
            None
        }
    }
}

/// CPU time of this thread, so that a busy machine does not count.
fn worked() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(u64::try_from(time.tv_sec).unwrap_or(0), u32::try_from(time.tv_nsec).unwrap_or(0))
}

fn write(
    session: &mut Session<'_>,
    mut guide: Option<&mut Guide>,
    sampler: &mut Sampler,
    pending: &mut Vec<LlamaToken>,
    writing: &mut Writing<'_>,
) -> Result<StopReason, ModelFault> {
    let model = session.model();
    let vocab = model.vocab();
    let piece = |token: LlamaToken| vocab.token_to_piece(token, false, None);
    loop {
        writing.job.check()?;
        let start = worked();
        if let Some(guide) = guide.as_deref_mut() {
            if session.loaded().feed_forced {
                for token in guide.forced(|bytes| vocab.tokenize(bytes, false, false)) {
                    if writing.written >= writing.limit {
                        return Ok(StopReason::Length);
                    }
                    writing.push(&piece(token));
                    writing.written += 1;
                    writing.forced += 1;
                    pending.push(token);
                }
            }
            if guide.is_done() {
                return guide.fault().map_or(Ok(StopReason::End), |fault| Err(engine_fault(fault)));
            }
            if writing.should_end() && guide.may_end() {
                return Ok(StopReason::End);
            }
        }
        if writing.repeats {
            return Ok(StopReason::Repeated);
        }
        if writing.written >= writing.limit {
            return Ok(StopReason::Length);
        }
        writing.timing.constraint += worked().saturating_sub(start);
        let start = worked();
        session.feed(pending, writing.job)?;
        // The first feed is the prompt.
        if writing.written > writing.forced {
            writing.timing.decode += worked().saturating_sub(start);
        }
        pending.clear();
        let start = worked();
        let mask = guide.as_deref_mut().map(Guide::mask).transpose().map_err(engine_fault)?;
        writing.timing.constraint += worked().saturating_sub(start);
        let start = worked();
        let Some(token) = sampler.pick(session.logits(), mask.as_ref()) else {
            return Err(engine_fault("no token fits"));
        };
        writing.timing.sample += worked().saturating_sub(start);
        if vocab.is_eog(token) {
            return Ok(StopReason::End);
        }
        if let Some(guide) = guide.as_deref_mut() {
            let start = worked();
            guide.take(token).map_err(engine_fault)?;
            writing.timing.constraint += worked().saturating_sub(start);
        }
        writing.push(&piece(token));
        writing.written += 1;
        pending.push(token);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cap_is_cut_to_the_window_until_too_little_is_left() {
        assert_eq!(limit(100, 500, 2_048), Ok(500));
        assert_eq!(limit(1_000, 4_096, 2_048), Ok(1_048));
        assert_eq!(limit(1_536, 4_096, 2_048), Ok(512));
        assert!(matches!(limit(1_537, 4_096, 2_048), Err(ModelFault::ContextOverflow { .. })));
        assert_eq!(limit(2_040, 8, 2_048), Ok(8));
        assert!(matches!(limit(2_041, 8, 2_048), Err(ModelFault::ContextOverflow { .. })));
        assert!(matches!(limit(u32::MAX, 0, 2_048), Err(ModelFault::ContextOverflow { .. })));
    }
}
