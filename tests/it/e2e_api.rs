//! The HTTP interface for programs, as the built program serves it: a run from its start to its answer, with rights, keys,
//! revisions and dropped connections.
#![cfg(feature = "page")]
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "tests")]

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Stdio};
use std::time::Duration;

use serde_json::{Value, json};

use crate::support::garden::{TestProject, json_lines};

/// A server, ended with the test.
pub(crate) struct Served {
    server: Child,
    port: String,
}

impl Drop for Served {
    fn drop(&mut self) {
        let _ended = self.server.kill();
        let _status = self.server.wait();
    }
}

/// An answer of the server.
struct Answered {
    status: u16,
    head: String,
    body: String,
}

impl Answered {
    fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|error| panic!("{error}: {}", self.body))
    }
}

impl Served {
    pub(crate) fn open(garden: &TestProject) -> Self {
        let mut command = garden.command(&["--json", "serve"]);
        command.env("CALLSHEET_MODEL", garden.model());
        let mut server = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(server.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
        let said: Value = serde_json::from_str(&line).unwrap();
        let api = said["api"].as_str().unwrap();
        let port = api.strip_prefix("http://127.0.0.1:").unwrap().strip_suffix("/api/v1").unwrap();
        Self { port: port.to_owned(), server }
    }

    /// The address of the interface.
    pub(crate) fn address(&self) -> String {
        format!("http://127.0.0.1:{}/api/v1", self.port)
    }

    fn send(&self, method: &str, path: &str, headers: &[(&str, &str)], body: &str) -> TcpStream {
        let mut stream = TcpStream::connect(format!("127.0.0.1:{}", self.port)).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
        let headers: String = headers.iter().map(|(name, value)| format!("{name}: {value}\r\n")).collect();
        let (port, length) = (&self.port, body.len());
        let request = format!(
            "{method} /api/v1{path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nConnection: close\r\nContent-Length: {length}\r\n{headers}\r\n{body}"
        );
        stream.write_all(request.as_bytes()).unwrap();
        stream
    }

    fn whole(&self, method: &str, path: &str, headers: &[(&str, &str)], body: &str) -> Answered {
        let mut text = String::new();
        self.send(method, path, headers, body).read_to_string(&mut text).unwrap();
        let (head, body) = text.split_once("\r\n\r\n").unwrap();
        let status = head.split(' ').nth(1).unwrap().parse().unwrap();
        let body = if head.contains("transfer-encoding: chunked") { unchunked(body) } else { body.to_owned() };
        Answered { status, head: head.to_owned(), body }
    }

    fn get(&self, token: &str, path: &str) -> Answered {
        self.whole("GET", path, &[("Authorization", &format!("Bearer {token}"))], "")
    }

    fn post(&self, token: &str, path: &str, body: &Value) -> Answered {
        let headers = [("Authorization", &*format!("Bearer {token}")), ("Content-Type", "application/json")];
        self.whole("POST", path, &headers, &body.to_string())
    }

    /// The state of a run once something waits there, or it has ended.
    fn settled(&self, token: &str, run: &str) -> Value {
        loop {
            let status = self.get(token, &format!("/runs/{run}")).json();
            if status["gates"] != 0 || status["working"] == false && status["revision"] != 0 {
                return status;
            }
            std::thread::sleep(Duration::from_millis(50));
        }
    }
}

fn unchunked(mut body: &str) -> String {
    let mut text = String::new();
    while let Some((size, rest)) = body.split_once("\r\n") {
        let size = usize::from_str_radix(size, 16).unwrap();
        text.push_str(&rest[..size]);
        body = &rest[size + 2..];
    }
    text
}

pub(crate) fn token(garden: &TestProject, name: &str, may: &str) -> String {
    garden.expect(0, &["serve", "tokens", "add", name, "--may", may]).out.trim().to_owned()
}

/// A garden whose model plans one task that writes a file.
fn writing() -> TestProject {
    TestProject::with("api")
}

const REQUEST: &str = "Note the level of the water in level.md.";

/// covers: 11.22
#[test]
fn a_run_lives_from_its_start_to_its_answer() {
    let garden = writing();
    let (look, steer, may) =
        (token(&garden, "wall", "look"), token(&garden, "ci", "steer"), token(&garden, "bot", "approve"));
    let served = Served::open(&garden);
    let refused = served.post(&look, "/runs", &json!({"key": "a", "request": REQUEST}));
    assert_eq!((refused.status, &refused.json()["code"]), (403, &json!("no_right")), "{}", refused.body);
    let started = served.post(&steer, "/runs", &json!({"key": "a", "request": REQUEST}));
    assert_eq!(started.status, 201, "{}", started.body);
    let run = started.json()["run"].as_str().unwrap().to_owned();
    let again = served.post(&steer, "/runs", &json!({"key": "a", "request": REQUEST}));
    assert_eq!(again.json()["run"], run, "the same key starts nothing more");
    assert_eq!(served.get(&look, "/runs").json()["total"], 1);

    let mut approved = 0;
    loop {
        served.settled(&look, &run);
        let waiting = served.get(&look, &format!("/runs/{run}/waiting")).json();
        let Some(gate) = waiting["gates"][0]["gate"].as_u64() else { break };
        let approve = |revision: &Value| json!({"key": format!("g{gate}"), "revision": revision, "gates": [gate]});
        let address = format!("/runs/{run}/approve");
        assert_eq!(served.post(&steer, &address, &approve(&waiting["revision"])).status, 403);
        let stale = served.post(&may, &address, &json!({"key": "old", "revision": 1, "gates": [gate]}));
        assert_eq!((stale.status, &stale.json()["code"]), (409, &json!("not_now")), "{}", stale.body);
        let early = served.post(&may, &address, &json!({"key": "new", "revision": 9_999, "gates": [gate]}));
        assert_eq!(early.status, 409, "{}", early.body);
        let done = served.post(&may, &address, &approve(&waiting["revision"]));
        assert_eq!((done.status, &done.json()["arrival"]), (200, &json!("done")), "{}", done.body);
        // A client that lost the connection sends the same again.
        let again = served.post(&may, &address, &approve(&waiting["revision"]));
        assert!(again.status == 200 || again.status == 409, "{}", again.body);
        while served.get(&look, &format!("/runs/{run}/waiting")).json()["gates"][0]["gate"] == gate {
            std::thread::sleep(Duration::from_millis(50));
        }
        let late = served.post(&may, &address, &approve(&waiting["revision"]));
        assert_eq!((late.status, &late.json()["arrival"]), (200, &json!("done")), "{}", late.body);
        approved += 1;
    }
    assert_eq!(garden.read("level.md"), "41 cm\n");
    let result = served.get(&look, &format!("/runs/{run}/result")).json();
    assert_eq!(result["outcome"], "complete");
    assert!(result["answer"].as_str().unwrap().contains("level"), "{result}");
    let answered: Vec<Value> = garden.facts().into_iter().filter(|fact| fact["event"] == "gate_answered").collect();
    assert!(approved > 0 && answered.len() == approved, "each approval counts once: {answered:?}");
    assert!(answered.iter().all(|fact| fact["by"] == json!({"api": "bot"})), "{answered:?}");
    let shown = garden.expect(0, &["report", "-o", "-", "--format", "html"]).out;
    assert!(shown.contains("by bot, whose token may approve"), "{shown}");
}

/// The ids of events in a stream of server-sent events, up to a number of them.
fn ids(stream: TcpStream, most: usize) -> Vec<u64> {
    let mut lines = BufReader::new(stream).lines().map_while(Result::ok);
    let ids = std::iter::from_fn(|| lines.find_map(|line| line.strip_prefix("id: ").map(|id| id.parse().unwrap())));
    ids.take(most).collect()
}

/// covers: 11.22
#[test]
fn a_stream_that_is_resumed_brings_each_event_once() {
    let garden = writing();
    let look = token(&garden, "wall", "look");
    garden.expect(3, &["run", REQUEST]);
    let run = garden.run_folder().file_name().unwrap().to_string_lossy().into_owned();
    let recorded = garden.facts();
    let served = Served::open(&garden);
    let address = format!("/runs/{run}/events");
    let lines = served.get(&look, &address);
    assert!(lines.head.contains("content-type: application/jsonl"), "{}", lines.head);
    assert_eq!(json_lines(&lines.body), recorded, "the same lines as on the command line");
    let bearer = format!("Bearer {look}");
    let listen = |more: &[(&str, &str)]| {
        let headers = [&[("Authorization", bearer.as_str()), ("Accept", "text/event-stream")], more].concat();
        served.send("GET", &address, &headers, "")
    };
    // The connection is dropped after three events, and the run goes on meanwhile.
    let first = ids(listen(&[]), 3);
    assert_eq!(first, [1, 2, 3]);
    garden.expect(0, &["approve"]);
    garden.call(&["resume"]);
    let all = garden.facts();
    assert!(all.len() > recorded.len());
    let schema = served.whole("GET", "/event.schema.json", &[], "").json();
    let schema = jsonschema::validator_for(&schema).unwrap();
    for entry in &all {
        let wrong: Vec<String> = schema.iter_errors(entry).map(|error| error.to_string()).collect();
        assert!(wrong.is_empty(), "{entry}: {wrong:?}");
    }
    let rest = ids(listen(&[("Last-Event-ID", "3")]), all.len() - 3);
    assert_eq!(rest, (4..=u64::try_from(all.len()).unwrap()).collect::<Vec<u64>>());
    let after = served.get(&look, &format!("{address}?after={}", all.len() - 1));
    assert_eq!(json_lines(&after.body), all[all.len() - 1..]);
}

/// covers: 11.22
#[test]
fn what_is_wrong_is_refused_with_the_reason() {
    let garden = writing();
    let may = token(&garden, "bot", "approve");
    garden.expect(2, &["serve", "tokens", "add", "bot", "--may", "look"]);
    garden.expect(2, &["serve", "tokens", "add", "Bot!"]);
    let listed = garden.expect(0, &["serve", "tokens"]).out;
    assert!(listed.starts_with("bot  may approve, since 20") && !listed.contains(&may), "{listed}");
    let kept = std::fs::read_to_string(garden.home().join("state/tokens.json")).unwrap();
    assert!(!kept.contains(&may), "only the hash is kept");
    let served = Served::open(&garden);
    let problem = |answered: Answered, status: u16, code: &str| {
        assert!(answered.head.contains("content-type: application/problem+json"), "{}", answered.head);
        let body = answered.json();
        assert_eq!((answered.status, body["code"].as_str().unwrap()), (status, code), "{body}");
        assert_eq!(body["status"], status);
        body
    };
    problem(served.whole("GET", "/runs", &[], ""), 401, "no_token");
    problem(served.get("callsheet_0", "/runs"), 401, "no_token");
    let bearer = format!("Bearer {may}");
    let page = [("Authorization", bearer.as_str()), ("Origin", "http://127.0.0.1:9")];
    problem(served.whole("GET", "/runs", &page, ""), 403, "not_a_program");
    let page = [("Authorization", bearer.as_str()), ("Sec-Fetch-Site", "cross-site")];
    problem(served.whole("GET", "/runs", &page, ""), 403, "not_a_program");
    problem(served.get(&may, "/runs/none"), 404, "not_found");
    garden.expect(3, &["run", REQUEST, "--approval", "before-apply"]);
    let run = garden.run_folder().file_name().unwrap().to_string_lossy().into_owned();
    let near =
        |body: Value, name: &str| assert_eq!(body["advice"][0]["text"], format!("Did you mean {name}?"), "{body}");
    near(problem(served.get(&may, &format!("/runs/{}", run.replace("note", "ntoe"))), 404, "not_found"), &run);
    let retry = json!({"key": "r", "revision": 1, "tasks": ["noet"]});
    near(problem(served.post(&may, &format!("/runs/{run}/retry"), &retry), 409, "not_now"), "note");
    problem(served.get(&may, "/nothing"), 404, "not_found");
    problem(served.get(&may, "/blobs/..%2F..%2Fetc%2Fpasswd"), 404, "not_found");
    problem(served.get(&may, "/runs?skip=many"), 400, "bad_request");
    problem(served.whole("DELETE", "/runs", &[("Authorization", &bearer)], ""), 405, "wrong_method");
    let start = |body: Value| served.post(&may, "/runs", &body);
    problem(start(json!({"key": "a"})), 400, "bad_request");
    problem(start(json!({"key": "a", "request": "x", "template": "y"})), 400, "bad_request");
    problem(start(json!({"key": "a b", "request": "x"})), 400, "bad_request");
    let unknown =
        problem(start(json!({"key": "a", "request": "x", "settings": {"approval": "never"}})), 400, "bad_request");
    assert!(unknown["detail"].as_str().unwrap().contains("unknown field `settings`"), "{unknown}");
    problem(start(json!({"key": "a", "template": "no_such"})), 422, "cannot_run");
    problem(start(json!({"key": "a", "sheet": "no tasks"})), 422, "cannot_run");
    let file = json!({"key": "a", "template": "extract_data", "values": {"document": "@/etc/hostname"}});
    problem(start(file), 422, "cannot_run");
    problem(start(json!({"key": "a", "request": "x".repeat(1_100_000)})), 413, "too_large");
    let text = [("Authorization", bearer.as_str()), ("Content-Type", "text/plain")];
    problem(served.whole("POST", "/runs", &text, "{}"), 415, "not_json");
    assert_eq!(garden.expect(0, &["--json", "runs"]).out.lines().count(), 1, "nothing was started");
    garden.expect(0, &["serve", "tokens", "revoke", "bot"]);
    problem(served.get(&may, "/runs"), 401, "no_token");
}

/// covers: 11.22, 2.18
#[test]
fn a_client_is_told_where_an_edited_sheet_has_errors() {
    let garden = writing();
    garden.expect(3, &["run", REQUEST, "--approval", "before-apply"]);
    let steer = token(&garden, "ci", "steer");
    let served = Served::open(&garden);
    let run = garden.run_folder().file_name().unwrap().to_string_lossy().into_owned();
    assert_eq!(served.get(&steer, &format!("/runs/{run}")).json()["problems"], json!([]));
    let sheet = garden.run_folder().join("sheet.md");
    let text = std::fs::read_to_string(&sheet).unwrap();
    std::fs::write(&sheet, text.replace("write_document", "write_dokument")).unwrap();
    let status = served.get(&steer, &format!("/runs/{run}")).json();
    let problem = status["problems"][0].as_str().unwrap_or_default();
    assert!(problem.contains("sheet.md:") && problem.contains("write_dokument"), "{status}");
    let refused = served.post(&steer, &format!("/runs/{run}/resume"), &json!({"key": "r"}));
    assert!(refused.status >= 400 && refused.body.contains("write_dokument"), "{}", refused.body);
}
