//! Replies in channels (harmony): messages with a header that names a channel and, for a call, its recipient. Channels
//! count only if a reply begins with one. Everything that is not for the user is removed; lines keep their numbers.

use std::ops::Range;

use callsheet_core::issue::{RepairCode, Span};

use crate::reading::Diagnostics;

use super::text::{self, Line};

/// Marks between the parts of messages.
const START: &str = "<|start|>";
const CHANNEL: &str = "<|channel|>";
const CONSTRAIN: &str = "<|constrain|>";
const MESSAGE: &str = "<|message|>";
/// Marks that end a message.
const ENDS: [&str; 3] = ["<|end|>", "<|return|>", "<|call|>"];

/// The channel for the user.
const FINAL: &str = "final";
/// The channel for tools, and for the user before calls.
const COMMENTARY: &str = "commentary";

/// One message.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Message {
    /// Channel, empty if none is named.
    pub channel: String,
    /// The recipient of a call.
    pub recipient: Option<String>,
    /// The range of its text.
    pub body: Range<usize>,
}

/// The messages of a reply that begins with one.
pub(crate) fn messages(text: &str) -> Option<Vec<Message>> {
    let begins = text.trim_start_matches('\u{feff}').trim_start();
    if !(begins.starts_with(CHANNEL) || begins.starts_with(START)) || !text.contains(MESSAGE) {
        return None;
    }
    let mut found: Vec<Message> = Vec::new();
    let mut header = String::new();
    let mut open: Option<Message> = None;
    let mut at = text.len() - begins.len();
    while at < text.len() {
        let (mark, next) = next_mark(text, at);
        if open.is_none() {
            header.push_str(text.get(at..next).unwrap_or_default());
        }
        match mark {
            Some(MESSAGE) if open.is_none() => {
                open = Some(of_header(&header, next + MESSAGE.len()));
                header.clear();
            }
            Some(mark) if mark != MESSAGE && (mark != CONSTRAIN || open.is_none()) => {
                if let Some(mut message) = open.take() {
                    message.body.end = next;
                    found.push(message);
                }
                header.push_str(if mark == CHANNEL { "\n" } else { " " });
            }
            _ => {}
        }
        at = next + mark.map_or(0, str::len).max(usize::from(mark.is_none()));
    }
    if let Some(mut message) = open {
        message.body.end = text.len();
        found.push(message);
    }
    Some(found)
}

/// The next mark and its position. Without one, the end of the text.
fn next_mark(text: &str, at: usize) -> (Option<&'static str>, usize) {
    let marks = [START, CHANNEL, CONSTRAIN, MESSAGE].into_iter().chain(ENDS);
    let rest = text.get(at..).unwrap_or_default();
    let found = rest.match_indices("<|").find_map(|(start, _)| {
        let mark = marks.clone().find(|mark| rest.get(start..).is_some_and(|rest| rest.starts_with(mark)))?;
        Some((Some(mark), at + start))
    });
    found.unwrap_or((None, text.len()))
}

/// A header is a role, optionally with ` to=NAME`, and after a line end the channel, optionally with ` to=NAME`.
fn of_header(header: &str, body: usize) -> Message {
    let named = header.split_whitespace().find_map(|word| word.split_once("to=").map(|(_, name)| name.to_owned()));
    let channel = header.rsplit_once('\n').map_or("", |(_, channel)| channel);
    let channel = channel.split_whitespace().next().unwrap_or_default();
    let channel = channel.split("to=").next().unwrap_or_default();
    Message { channel: channel.to_owned(), recipient: named.filter(|name| !name.is_empty()), body: body..body }
}

/// A reply without what is not for the user. `None` if it has no channels.
pub(crate) fn unwrapped(text: &str) -> Option<(String, String)> {
    let messages = messages(text)?;
    let has_final = messages.iter().any(|message| message.channel == FINAL);
    let is_said = |message: &Message| match message.channel.as_str() {
        FINAL => true,
        COMMENTARY | "" => !has_final && message.recipient.is_none(),
        _ => false,
    };
    let (mut said, mut hidden, mut at) = (String::with_capacity(text.len()), String::new(), 0);
    let line_ends = |text: &str| text.chars().filter(|c| *c == '\n').collect::<String>();
    for message in messages {
        said.push_str(&line_ends(text.get(at..message.body.start).unwrap_or_default()));
        let body = text.get(message.body.clone()).unwrap_or_default();
        at = message.body.end;
        if is_said(&message) {
            said.push_str(body);
        } else {
            hidden.push_str(body);
            hidden.push('\n');
            said.push_str(&line_ends(body));
        }
    }
    Some((said, hidden))
}

/// The lines of a text without hidden channels, whether it was cut, and what was hidden.
pub(super) fn lines<'a>(source: &'a str, by_hand: bool, notes: &mut Diagnostics) -> (Vec<Line<'a>>, bool, String) {
    match unwrapped(source).filter(|_| !by_hand) {
        Some((said, hidden)) => {
            notes.repair(RepairCode::ThinkingRemoved, Span::line(1), "channels", "");
            let (lines, cut) = text::lines(&said);
            (lines.into_iter().map(Line::into_owned).collect(), cut, hidden)
        }
        None => {
            let (lines, cut) = text::lines(source);
            (lines, cut, String::new())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// covers: 4.4 thinking-removed
    #[test]
    fn channels_are_read_only_where_a_reply_begins() {
        let (said, hidden) = unwrapped(
            "<|channel|>analysis<|message|>Hm.\nHm.<|end|><|start|>assistant<|channel|>final<|message|>Two.<|return|>",
        )
        .unwrap();
        assert_eq!((said.as_str(), hidden.as_str()), ("\nTwo.", "Hm.\nHm.\n"));
        let (said, _) = unwrapped("<|start|>assistant<|channel|>final <|constrain|>json<|message|>{\"a\":1}").unwrap();
        assert_eq!(said, "{\"a\":1}");
        let (said, _) = unwrapped("<|channel|>analysis<|message|>Only thoughts").unwrap();
        assert_eq!(said, "");
        assert_eq!(unwrapped("The mark <|channel|> begins one, <|message|> its text."), None);
        let calls = "<|channel|>commentary to=functions.read_file <|constrain|>json<|message|>{}<|call|>";
        let found = messages(calls).unwrap();
        assert_eq!(found[0].recipient.as_deref(), Some("functions.read_file"));
        assert_eq!((found[0].channel.as_str(), &calls[found[0].body.clone()]), ("commentary", "{}"));
        let before = "<|start|>assistant to=functions.a<|channel|>commentary json<|message|>{}";
        assert_eq!(messages(before).unwrap()[0].recipient.as_deref(), Some("functions.a"));
    }
}
