//! How replies end: the words with which providers end a reply, and what each means. A reply counts as complete only if
//! its end is known to be complete, so an unlisted word never counts as an ordinary end.

use callsheet_core::record::StopReason;

use super::WireError;

/// What a word means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Meaning {
    /// The model has finished, or wants to call tools.
    Whole,
    /// A token limit cut the reply.
    Length,
    /// A filter of the provider cut the reply.
    Filter,
    /// The model refused to continue.
    Refusal,
    /// The provider failed, or gave up before the reply was complete.
    Failure,
}

/// Words in lower case, with underscores.
const WORDS: &[(Meaning, &[&str])] = &[
    (
        Meaning::Whole,
        &[
            "stop",
            "end_turn",
            "end",
            "eos",
            "eos_token",
            "end_of_text",
            "endoftext",
            "end_of_turn",
            "stop_sequence",
            "complete",
            "completed",
            "done",
            "finished",
            "success",
            "tool_calls",
            "tool_call",
            "tool_use",
            "function_call",
            "requires_action",
        ],
    ),
    (
        Meaning::Length,
        &[
            "length",
            "max_tokens",
            "max_output_tokens",
            "max_completion_tokens",
            "max_new_tokens",
            "max_length",
            "model_length",
            "token_limit",
            "context_length",
            "context_window",
            "model_context_window_exceeded",
            "budget_exceeded",
            "incomplete",
        ],
    ),
    (
        Meaning::Filter,
        &[
            "content_filter",
            "content_filtered",
            "filter",
            "filtered",
            "blocked",
            "safety",
            "recitation",
            "blocklist",
            "prohibited_content",
            "spii",
            "language",
            "image_safety",
            "image_prohibited_content",
            "image_recitation",
            "error_toxic",
            "sensitive",
            "guardrail_intervened",
            "guardrails",
            "moderation",
        ],
    ),
    (Meaning::Refusal, &["refusal", "refused"]),
    (
        Meaning::Failure,
        &[
            "error",
            "failed",
            "failure",
            "network_error",
            "server_error",
            "internal_error",
            "timeout",
            "cancelled",
            "canceled",
            "abort",
            "aborted",
            "interrupted",
            "insufficient_system_resource",
            "overloaded",
            "other",
            "unknown",
            "finish_reason_unspecified",
            "malformed_function_call",
            "unexpected_tool_call",
            "too_many_tool_calls",
            "pause_turn",
        ],
    ),
];

/// How a stream ended.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct End {
    /// The provider's word. An empty word is ignored.
    word: Option<String>,
    /// Whether the end mark of the wire was read.
    pub marked: bool,
}

/// How a reply ended, and what a person should know about it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Stopped {
    /// Why it stopped.
    pub reason: StopReason,
    /// The word, if it is unlisted.
    pub unlisted: Option<String>,
}

impl End {
    /// Records the provider's word for the end. Several servers send an empty one in each chunk.
    pub fn say(&mut self, word: &str) {
        if !word.trim().is_empty() {
            self.word = Some(word.trim().to_owned());
        }
    }

    /// Why the reply stopped. Without a word, an end mark is enough. A listed word needs no end mark; an unlisted word
    /// does.
    pub fn reason(&self, has_calls: bool) -> Result<Stopped, WireError> {
        let whole = if has_calls { StopReason::Tools } else { StopReason::End };
        let known = |reason| Ok(Stopped { reason, unlisted: None });
        let Some(word) = &self.word else {
            return if self.marked { known(whole) } else { Err(WireError::BrokenOff) };
        };
        match meaning(word) {
            Some(Meaning::Whole) => known(whole),
            Some(Meaning::Length) => known(StopReason::Length),
            Some(Meaning::Filter) => known(StopReason::Filtered),
            Some(Meaning::Refusal) => known(StopReason::Refused),
            Some(Meaning::Failure) => Err(WireError::Ended(word.clone())),
            None if self.marked => Ok(Stopped { reason: whole, unlisted: Some(word.clone()) }),
            None => Err(WireError::BrokenOff),
        }
    }
}

fn meaning(word: &str) -> Option<Meaning> {
    let word = word.to_lowercase().replace(['-', ' '], "_");
    WORDS.iter().find(|(_, words)| words.contains(&word.as_str())).map(|(meaning, _)| *meaning)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn end(word: &str, marked: bool) -> End {
        let mut end = End { word: None, marked };
        end.say(word);
        end
    }

    /// covers: 12.1, 12.2
    #[test]
    fn only_a_known_end_is_whole() {
        let reason = |word: &str, marked| end(word, marked).reason(false).map(|stopped| stopped.reason);
        for word in ["stop", "STOP", "end_turn", "eos", "COMPLETE", "tool_calls", "stop_sequence"] {
            assert_eq!(reason(word, false), Ok(StopReason::End), "{word}");
        }
        for word in ["length", "MAX_TOKENS", "max_tokens", "model_length", "incomplete"] {
            assert_eq!(reason(word, true), Ok(StopReason::Length), "{word}");
        }
        for word in ["content_filter", "SAFETY", "RECITATION", "content-filter"] {
            assert_eq!(reason(word, true), Ok(StopReason::Filtered), "{word}");
        }
        assert_eq!(reason("refusal", true), Ok(StopReason::Refused));
        for word in ["error", "other", "OTHER", "network_error", "pause_turn", "abort"] {
            assert_eq!(reason(word, true), Err(WireError::Ended(word.to_owned())), "{word}");
        }
        assert_eq!(reason("", true), Ok(StopReason::End), "a mark alone ends it");
        assert_eq!(reason("", false), Err(WireError::BrokenOff));
        assert_eq!(reason("fin", false), Err(WireError::BrokenOff));
        let odd = end("fin", true).reason(true).unwrap();
        assert_eq!(odd, Stopped { reason: StopReason::Tools, unlisted: Some("fin".to_owned()) });
    }

    #[test]
    fn no_word_has_two_meanings() {
        let mut all: Vec<&str> = WORDS.iter().flat_map(|(_, words)| words.iter().copied()).collect();
        let count = all.len();
        all.sort_unstable();
        all.dedup();
        assert_eq!(all.len(), count);
        assert!(all.iter().all(|word| *word == word.to_lowercase() && !word.contains([' ', '-'])));
    }
}
