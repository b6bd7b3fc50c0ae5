//! The text of a reply while a model writes it. One reply is shown at a time, because texts of several replies that come
//! together could not be told apart. The others appear as results of their tasks.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use agent_client_protocol::v1::schema::SessionUpdate;
use callsheet_core::nouns::Phase;
use callsheet_core::record::CallKey;
use callsheet_core::view::call_words;
use callsheet_runtime::ports::LiveText;
use callsheet_runtime::shown::Shown;

use crate::limits::ANSWER;
use crate::words::{chunk, thought};

/// A reply is shown if it takes longer than this. A shorter one comes as a whole soon enough.
const BEGIN: Duration = Duration::from_millis(300);

/// What an editor was shown of replies in progress.
#[derive(Default)]
pub(crate) struct Stream {
    /// The call whose reply is shown, or will be if it takes longer.
    reply: Option<Reply>,
    /// Calls that have ended. Their texts may still be listed for a moment.
    ended: BTreeSet<CallKey>,
    /// The last reply that was shown as a whole.
    whole: String,
}

struct Reply {
    key: CallKey,
    since: Instant,
    text: String,
    /// Characters of `text`.
    count: u64,
    /// What was sent. It passed the door as a whole, so that no part of it can be HTML.
    sent: String,
    /// Whether the rest cannot be sent, because some of it was missed or changes what was sent.
    is_lost: bool,
    /// Whether the last look did not find it. Its end is then recorded, unless the call was given up.
    is_gone: bool,
}

impl Stream {
    /// Takes the texts of all calls in progress. Returns the next part of the reply that is shown.
    pub fn look(&mut self, calls: Vec<LiveText>, now: Instant) -> Option<SessionUpdate> {
        self.give_up(&calls);
        let mut calls = calls.into_iter().filter(|call| !self.ended.contains(&call.key));
        let call = match &self.reply {
            Some(reply) => calls.find(|call| call.key == reply.key)?,
            None => calls.next()?,
        };
        let reply = self.reply.get_or_insert_with(|| Reply {
            key: call.key.clone(),
            since: now,
            text: String::new(),
            count: 0,
            sent: String::new(),
            is_lost: false,
            is_gone: false,
        });
        reply.take(&call);
        if now.saturating_duration_since(reply.since) < BEGIN {
            return None;
        }
        // Only whole lines: what a line means can depend on its end.
        let whole = reply.text.rfind('\n').map_or(0, |at| at.saturating_add(1));
        let text = reply.text.get(..whole).unwrap_or_default().to_owned();
        reply.send(&text)
    }

    /// Gives up a reply that was not found twice.
    fn give_up(&mut self, calls: &[LiveText]) {
        let Some(reply) = &mut self.reply else { return };
        let was_gone = std::mem::replace(&mut reply.is_gone, !calls.iter().any(|call| call.key == reply.key));
        if was_gone && reply.is_gone {
            self.reply = None;
        }
    }

    /// A call has ended, with this text if it gave one. Returns the rest of its reply, if it was shown.
    pub fn ended(&mut self, key: &CallKey, text: Option<String>) -> Option<SessionUpdate> {
        self.ended.insert(key.clone());
        let mut reply = self.reply.take_if(|reply| reply.key == *key)?;
        if reply.sent.is_empty() {
            return None;
        }
        let text = text.unwrap_or_else(|| reply.text.clone());
        let rest = reply.send(&format!("{}\n\n", text.trim_end()));
        if !reply.is_lost {
            self.whole = text;
        }
        rest
    }

    /// Whether the last reply that was shown contains this answer.
    pub fn has_told(&self, answer: &str) -> bool {
        !answer.trim().is_empty() && self.whole.contains(answer.trim())
    }
}

impl Reply {
    fn take(&mut self, call: &LiveText) {
        let Some(new) = call.count.checked_sub(self.count) else {
            // The request was sent again, and the reply begins anew.
            self.is_lost = true;
            return;
        };
        let known = call.text.chars().count() as u64;
        self.is_lost |= known < new || self.text.len().saturating_add(call.text.len()) > ANSWER;
        let skipped = usize::try_from(known.saturating_sub(new)).unwrap_or(usize::MAX);
        self.text.extend(call.text.chars().skip(skipped));
        self.count = call.count;
    }

    /// What is to be sent so that the editor has this text.
    fn send(&mut self, text: &str) -> Option<SessionUpdate> {
        if self.is_lost || text.trim().is_empty() {
            return None;
        }
        let title = if self.sent.is_empty() { format!("*{}:*\n\n", call_words(&self.key, "")) } else { String::new() };
        let whole = Shown::markdown(text).into_string();
        let Some(rest) = whole.strip_prefix(self.sent.as_str()) else {
            self.is_lost = true;
            return None;
        };
        if rest.is_empty() {
            return None;
        }
        let part = format!("{title}{rest}");
        let is_result = matches!(self.key.phase, Phase::Execute | Phase::Merge | Phase::Join);
        let update = if is_result { chunk(&part) } else { thought(&part) };
        self.sent = whole;
        Some(update)
    }
}

#[cfg(test)]
mod tests {
    use agent_client_protocol::v1::schema::ContentBlock;

    use super::*;

    fn call(n: u32, text: &str) -> LiveText {
        let key = CallKey { phase: Phase::Execute, task: None, run: None, n };
        LiveText { key, text: text.to_owned(), count: text.chars().count() as u64 }
    }

    fn words(update: Option<SessionUpdate>) -> String {
        match update {
            Some(SessionUpdate::AgentMessageChunk(chunk) | SessionUpdate::AgentThoughtChunk(chunk)) => {
                let ContentBlock::Text(text) = chunk.content else { return String::new() };
                text.text
            }
            _ => String::new(),
        }
    }

    /// What an editor gets of texts that a model had written by and by, and of the whole reply.
    fn check(texts: &[&str], reply: Option<&str>, expected: &[&str]) {
        let (mut stream, begun) = (Stream::default(), Instant::now());
        let mut told = Vec::new();
        for (text, tick) in texts.iter().zip(0..) {
            told.push(words(stream.look(vec![call(1, text), call(2, "another")], begun + BEGIN * tick)));
        }
        told.push(words(stream.ended(&call(1, "").key, reply.map(str::to_owned))));
        assert_eq!(told, expected, "{texts:?}");
    }

    #[test]
    fn whole_lines_of_a_slow_reply_are_told_as_they_come() {
        let texts = ["# Wat", "# Water\nAna looks", "# Water\nAna looks after\nit"];
        let expected = ["", "*execute:*\n\n# Water\n", "Ana looks after\n", "it all.\n\n"];
        check(&texts, Some("# Water\nAna looks after\nit all."), &expected);
        check(&["soon there\n"], Some("soon there\n"), &["", ""]);
    }

    #[test]
    fn no_part_is_html_and_nothing_comes_twice() {
        let texts = ["", "a <img\n", "a <img\nsrc=x> b\n", "again\n"];
        let (mut stream, begun) = (Stream::default(), Instant::now());
        let mut all = String::new();
        for (text, tick) in texts.iter().zip(0..) {
            all += &words(stream.look(vec![call(1, text)], begun + BEGIN * tick));
        }
        assert!(!all.contains("<img"), "{all:?}");
        assert_eq!(words(stream.ended(&call(1, "").key, Some("again".to_owned()))), "", "it began anew");
        assert!(!stream.has_told("again"));
    }

    #[test]
    fn a_call_that_ended_or_was_given_up_makes_room_for_the_next() {
        let (mut stream, begun) = (Stream::default(), Instant::now());
        stream.ended(&call(1, "").key, Some("a\n".to_owned()));
        let later = |tick: u32| begun + BEGIN * tick;
        for (n, tick) in [(2, 0), (2, 1), (3, 2), (3, 3)] {
            stream.look(vec![call(1, "a\n"), call(n, "b\n")], later(tick));
        }
        assert_eq!(words(stream.look(vec![call(3, "b\n")], later(4))), "*execute:*\n\nb\n");
    }

    #[test]
    fn an_answer_that_was_told_is_known() {
        let (mut stream, begun) = (Stream::default(), Instant::now());
        for tick in 0..2 {
            stream.look(vec![call(1, "## Result\nAna.\n")], begun + BEGIN * tick);
        }
        stream.ended(&call(1, "").key, Some("## Result\nAna.\n".to_owned()));
        assert!(stream.has_told("Ana.") && !stream.has_told("Bo."));
    }
}
