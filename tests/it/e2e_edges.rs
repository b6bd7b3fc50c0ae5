//! Odd servers, each a row of `tests/fixtures/edges.toml`: what it answers first, and what has to come of it. The answers
//! after those of the row are good ones.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "tests")]

use serde::Deserialize;

use crate::support::garden::TestProject;
use crate::support::server::{Answer, PlayedServer};

/// A good reply; `{T}` in a row, with its line ends as JSON writes them. `{H}` is half of it.
const GOOD: &str = "## Result summary\nThe port is 8080, as the note says. So it is.";
const HALF: usize = 40;
/// What the note says, which a prompt after a call of `read_file` holds.
const NOTE: &str = "The port is 8080. It was 9090 once.\n";

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Rows {
    case: Vec<Row>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Row {
    /// What the row shows.
    name: String,
    /// Wire.
    #[serde(default = "openai")]
    dialect: String,
    /// A task with tools.
    #[serde(default)]
    tools: bool,
    /// First answers.
    first: Vec<First>,
    /// Requests in all.
    requests: usize,
    /// Exit code.
    #[serde(default)]
    exit: i32,
    /// What standard output holds.
    #[serde(default = "whole")]
    out: String,
    /// What standard output does not hold.
    #[serde(default)]
    not_out: Option<String>,
    /// What standard error holds.
    #[serde(default)]
    err: Option<String>,
    /// What the last request holds.
    #[serde(default)]
    last: Option<String>,
    /// What the last request does not hold.
    #[serde(default)]
    not_last: Option<String>,
    /// Behind the host in the address.
    #[serde(default)]
    path: Option<String>,
    /// The path of the requests.
    #[serde(default)]
    asked: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct First {
    #[serde(default = "ok")]
    status: u16,
    #[serde(default)]
    media: Option<String>,
    /// Chunks of a stream, each an event; `[DONE]` follows.
    #[serde(default)]
    chunks: Vec<String>,
    /// The text of a whole reply of a chat completion.
    #[serde(default)]
    text: Option<String>,
    /// The body, word for word.
    #[serde(default)]
    body: Option<String>,
    /// The connection ends without an end mark.
    #[serde(default)]
    breaks: bool,
}

fn openai() -> String {
    "openai".to_owned()
}

fn whole() -> String {
    "So it is.".to_owned()
}

fn ok() -> u16 {
    200
}

fn filled(text: &str) -> String {
    let json = |text: &str| serde_json::to_string(text).unwrap().trim_matches('"').to_owned();
    text.replace("{T}", &json(GOOD)).replace("{H}", &json(&GOOD[..HALF])).replace("{REST}", &json(&GOOD[HALF..]))
}

fn chat(text: &str) -> String {
    let chunk = serde_json::json!({"choices": [{"index": 0, "delta": {"content": text}, "finish_reason": "stop"}]});
    format!("data: {chunk}\n\ndata: [DONE]\n\n")
}

fn good(dialect: &str) -> Answer {
    let (media, body) = match dialect {
        "ollama" => {
            let message = serde_json::json!({"role": "assistant", "content": GOOD});
            let line = serde_json::json!({"message": message, "done": true, "done_reason": "stop"});
            ("application/x-ndjson", format!("{line}\n"))
        }
        "anthropic" => ("text/event-stream", anthropic(GOOD, "end_turn")),
        "gemini" => {
            let candidate = serde_json::json!({"content": {"parts": [{"text": GOOD}]}, "finishReason": "STOP"});
            ("text/event-stream", format!("data: {}\n\n", serde_json::json!({"candidates": [candidate]})))
        }
        "openai-responses" => {
            let delta = serde_json::json!({"type": "response.output_text.delta", "output_index": 0, "delta": GOOD});
            let end = serde_json::json!({"type": "response.completed", "response": {"status": "completed"}});
            ("text/event-stream", format!("data: {delta}\n\ndata: {end}\n\n"))
        }
        _ => ("text/event-stream", chat(GOOD)),
    };
    Answer { status: 200, media: media.to_owned(), body, breaks: false }
}

fn anthropic(text: &str, reason: &str) -> String {
    let events = [
        serde_json::json!({"type": "message_start", "message": {"id": "m", "type": "message", "role": "assistant",
            "model": "m", "content": [], "stop_reason": null, "usage": {"input_tokens": 9, "output_tokens": 1}}}),
        serde_json::json!({"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}}),
        serde_json::json!({"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": text}}),
        serde_json::json!({"type": "content_block_stop", "index": 0}),
        serde_json::json!({"type": "message_delta", "delta": {"stop_reason": reason}, "usage": {"output_tokens": 9}}),
        serde_json::json!({"type": "message_stop"}),
    ];
    let event = |data: &serde_json::Value| format!("event: {}\ndata: {data}\n\n", data["type"].as_str().unwrap());
    events.iter().map(event).collect()
}

impl First {
    fn answer(&self, dialect: &str) -> Answer {
        let stream = |chunks: &[String]| chunks.iter().map(|chunk| format!("data: {}\n\n", filled(chunk))).collect();
        let mut body: String = match (&self.body, &self.text) {
            (Some(body), _) => filled(body),
            (None, Some(text)) if dialect == "anthropic" => {
                let (text, reason) = text.split_once("|end:").unwrap();
                anthropic(&text.replace("{H}", &GOOD[..HALF]), reason)
            }
            (None, Some(text)) => chat(&text.replace("{T}", GOOD)),
            (None, None) => stream(&self.chunks),
        };
        if !self.chunks.is_empty() && !self.breaks {
            body.push_str("data: [DONE]\n\n");
        }
        let media = if self.status == 200 { "text/event-stream" } else { "application/json" };
        let media = self.media.clone().unwrap_or_else(|| media.to_owned());
        Answer { status: self.status, media, body, breaks: self.breaks }
    }
}

impl Row {
    /// What is wrong.
    fn failures(&self) -> Vec<String> {
        let mut answers: Vec<Answer> = self.first.iter().map(|first| first.answer(&self.dialect)).collect();
        answers.push(good(&self.dialect));
        let server = PlayedServer::start(answers);
        let garden = TestProject::bare();
        garden.write("note.md", NOTE);
        garden.write(
            ".callsheet/skills/look_up.md",
            "---\nname: look_up\ndescription: Looks up. Use it for questions.\ntools: [read_file]\nmode: loop\n---\nSay what.\n---\nLook it up.\n",
        );
        let path = self.path.clone().unwrap_or_else(|| "http://{host}".to_owned());
        let config = format!(
            "model = \"acme/brook\"\n[providers.acme]\ndialect = \"{}\"\nbase_url = \"{}\"\nwindow = 32768\n\
             first_byte_seconds = 5\napi_key_env = \"ACME_KEY\"\n",
            self.dialect,
            path.replace("{host}", &server.host),
        );
        std::fs::create_dir_all(garden.home()).unwrap();
        std::fs::write(garden.home().join("config.toml"), config).unwrap();
        let skill = if self.tools { "look_up" } else { "answer_from_documents" };
        let mut command = garden.command(&["run", "--skill", skill, "Which port does note.md name?"]);
        let output = command.env("ACME_KEY", "key").env("NO_PROXY", "*").output().unwrap();
        let out = String::from_utf8_lossy(&output.stdout).into_owned();
        let err = String::from_utf8_lossy(&output.stderr).into_owned();
        let calls = server.calls();
        let last = calls.last().map(|(_, body)| body.clone()).unwrap_or_default();
        let holds = |text: &str, part: &Option<String>| part.as_ref().is_none_or(|part| text.contains(part.as_str()));
        let lacks = |text: &str, part: &Option<String>| part.as_ref().is_none_or(|part| !text.contains(part.as_str()));
        let checks = [
            (calls.len() == self.requests, format!("{} requests, not {}", calls.len(), self.requests)),
            (output.status.code() == Some(self.exit), format!("{}, not {}", output.status, self.exit)),
            (out.contains(&self.out), format!("no {:?} in the answer", self.out)),
            (lacks(&out, &self.not_out), format!("{:?} in the answer", self.not_out)),
            (holds(&err, &self.err), format!("no {:?} in what is told", self.err)),
            (holds(&last, &self.last), format!("no {:?} in the last request", self.last)),
            (lacks(&last, &self.not_last), format!("{:?} in the last request", self.not_last)),
            (
                self.asked.as_ref().is_none_or(|path| calls.iter().all(|(asked, _)| asked == path)),
                format!("asked {:?}", calls.first().map(|(path, _)| path)),
            ),
        ];
        let wrong: Vec<String> = checks.into_iter().filter(|(holds, _)| !holds).map(|(_, words)| words).collect();
        if wrong.is_empty() {
            return wrong;
        }
        vec![format!("{}: {}\n--- stdout\n{out}\n--- stderr\n{err}", self.name, wrong.join("; "))]
    }
}

/// covers: 12.1, 12.2, 12.3, 4.4, reply-withheld, call-unread
#[test]
fn odd_servers_and_models_come_to_the_right_end() {
    let file = crate::support::root().join("tests/fixtures/edges.toml");
    let rows: Rows = toml::from_str(&std::fs::read_to_string(file).unwrap()).unwrap();
    let only = std::env::var("EDGE").ok();
    let mut rows: Vec<Row> = rows.case;
    rows.retain(|row| only.as_ref().is_none_or(|only| row.name.contains(only)));
    let queue = std::sync::Mutex::new(rows);
    let failures = std::sync::Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                loop {
                    let next = queue.lock().unwrap().pop();
                    let Some(row) = next else { break };
                    let wrong = row.failures();
                    failures.lock().unwrap().extend(wrong);
                }
            });
        }
    });
    let failures = failures.into_inner().unwrap();
    assert!(failures.is_empty(), "{}", failures.join("\n\n"));
}
