//! The page's interface for programs and the MCP server, for runs of a cluster.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Stdio};

use serde_json::{Value, json};

use crate::cluster::Cluster;
use crate::support::killed::{APPROVED, RUN_SHEET, SHEET};

/// A process that ends with the test.
struct Face(Child);

impl Drop for Face {
    fn drop(&mut self) {
        let _ended = self.0.kill().and_then(|()| self.0.wait());
    }
}

fn start(cluster: &Cluster, words: &[&str]) -> Face {
    let words: Vec<&str> = words.iter().copied().chain(["--on", &cluster.on]).collect();
    let mut command = cluster.project.command(&words);
    command.env("CALLSHEET_MODEL", cluster.project.model()).env("ACME_KEY", "key");
    Face(command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap())
}

/// A request to the interface for programs. Returns the JSON of the answer.
fn request(api: &str, token: &str, line: &str, body: &str) -> Value {
    let (host, prefix) = api.strip_prefix("http://").unwrap().split_once('/').unwrap();
    let (method, path) = line.split_once(' ').unwrap();
    let mut stream = TcpStream::connect(host).unwrap();
    write!(
        stream,
        "{method} /{prefix}{path} HTTP/1.0\r\nHost: {host}\r\nConnection: close\r\nContent-Type: application/json\r\n\
         Authorization: Bearer {token}\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    )
    .unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    let (_, body) = answer.split_once("\r\n\r\n").unwrap();
    serde_json::from_str(body).unwrap_or_else(|error| panic!("{line}: {error}: {answer}"))
}

/// A program starts a run, sees what waits and approves it, all on the cluster.
pub fn the_interface_for_programs(engine: &Path) {
    let cluster = Cluster::start(APPROVED.project(), engine, 1);
    let made = cluster.project.expect(0, &["--json", "serve", "tokens", "add", "bot", "--may", "approve"]).out;
    let token = serde_json::from_str::<Value>(&made).unwrap()["token"].as_str().unwrap().to_owned();
    let mut face = start(&cluster, &["--json", "serve"]);
    let mut line = String::new();
    BufReader::new(face.0.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
    let api = serde_json::from_str::<Value>(&line).unwrap()["api"].as_str().unwrap().to_owned();
    let begun = request(&api, &token, "POST /runs", &json!({ "key": "a", "sheet": SHEET }).to_string());
    let run = begun["run"].as_str().unwrap_or_else(|| panic!("{begun}")).to_owned();
    for key in 0.. {
        let waiting = request(&api, &token, &format!("GET /runs/{run}/waiting"), "");
        let gates: Vec<Value> = waiting["gates"].as_array().unwrap().iter().map(|gate| gate["gate"].clone()).collect();
        if !gates.is_empty() {
            let body = json!({ "key": format!("k{key}"), "revision": waiting["revision"], "gates": gates });
            request(&api, &token, &format!("POST /runs/{run}/approve"), &body.to_string());
        }
        if cluster.has(&run, "run_concluded") {
            break;
        }
        assert!(key < 600, "run {run} does not end: {waiting}");
        std::thread::sleep(std::time::Duration::from_millis(100));
    }
    assert!(cluster.project.path("rota.md").exists());
    let answered = cluster.facts(&run).into_iter().find(|fact| fact["event"] == "gate_answered").unwrap();
    assert_eq!(answered["by"], json!({ "api": "bot" }));
    assert!(!cluster.project.has_store(), "the run is on the cluster alone");
}

/// An MCP client sees a run of the cluster.
pub fn the_mcp_server(engine: &Path) {
    let cluster = Cluster::start(APPROVED.project(), engine, 1);
    cluster.call(&RUN_SHEET);
    let run = cluster.call(&["runs"]).out.split_whitespace().next().unwrap().to_owned();
    let mut face = start(&cluster, &["mcp", "--may", "approve"]);
    let mut lines = BufReader::new(face.0.stdout.take().unwrap()).lines();
    let mut to = face.0.stdin.take().unwrap();
    let info =
        json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}});
    let mut ask = |id: u32, method: &str, params: Value| {
        writeln!(to, "{}", json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params})).unwrap();
        loop {
            let answer: Value = serde_json::from_str(&lines.next().unwrap().unwrap()).unwrap();
            if answer["id"] == id {
                return answer["result"].clone();
            }
        }
    };
    ask(1, "initialize", info);
    let status = ask(2, "tools/call", json!({"name": "status", "arguments": {"run": run}}));
    let status = status["structuredContent"].to_string();
    assert!(status.contains("write-rota-1"), "{status}");
}
