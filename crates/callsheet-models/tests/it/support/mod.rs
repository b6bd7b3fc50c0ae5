//! A tiny HTTP server that plays recorded traffic: `fixtures/…/NAME.http` contains the head lines, a blank line, and
//! the body. A body line `%stall` keeps the connection open in silence until the client leaves; `%break` breaks it
//! there; `%close` ends the answer properly and then closes the connection without having announced it. If the head
//! says `content-encoding: gzip`, the body is compressed when it is sent.

#![allow(dead_code, clippy::unwrap_used)]

use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

/// A received request.
#[derive(Clone, Debug)]
pub struct Received {
    /// Method and path, `POST /text/api/chat`.
    pub line: String,
    /// Head lines, in lower case.
    pub head: Vec<String>,
    /// Body as JSON.
    pub body: Value,
}

/// A running server. It ends together with its runtime.
pub struct Server {
    /// `http://127.0.0.1:PORT`.
    pub address: String,
    received: Arc<Mutex<Vec<Received>>>,
}

/// A recorded answer.
struct Answer {
    status: u16,
    head: Vec<String>,
    body: String,
    ending: Ending,
}

#[derive(Clone, Copy, PartialEq)]
enum Ending {
    Proper,
    Stall,
    Break,
    Close,
}

impl Server {
    /// Serves the files of a folder: `/NAME/…` answers with `NAME.http`, and a path whose last part names a file of the
    /// folder (such as `show`) answers with that file. Instead of a folder it may be one file, which answers
    /// everything.
    pub async fn start(folder: PathBuf) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = format!("http://{}", listener.local_addr().unwrap());
        let received: Arc<Mutex<Vec<Received>>> = Arc::default();
        let log = Arc::clone(&received);
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(serve(stream, folder.clone(), Arc::clone(&log)));
            }
        });
        Self { address, received }
    }

    /// The requests received so far.
    pub fn received(&self) -> Vec<Received> {
        self.received.lock().unwrap().clone()
    }
}

async fn serve(mut stream: TcpStream, folder: PathBuf, log: Arc<Mutex<Vec<Received>>>) {
    let mut buffer = Vec::new();
    while let Some(received) = read_request(&mut stream, &mut buffer).await {
        let answer = find_answer(&folder, &received.line);
        log.lock().unwrap().push(received);
        if !write_answer(&mut stream, &answer).await {
            return;
        }
    }
}

async fn read_request(stream: &mut TcpStream, buffer: &mut Vec<u8>) -> Option<Received> {
    let end = loop {
        if let Some(end) = buffer.windows(4).position(|window| window == b"\r\n\r\n") {
            break end;
        }
        if stream.read_buf(buffer).await.ok()? == 0 {
            return None;
        }
    };
    let head = String::from_utf8_lossy(&buffer[..end]).into_owned();
    let mut lines = head.lines();
    let line = lines.next()?.rsplit_once(' ')?.0.to_owned();
    let head: Vec<String> = lines.map(str::to_lowercase).collect();
    let length = head.iter().find_map(|line| line.strip_prefix("content-length: ")).map_or(0, |n| n.parse().unwrap());
    while buffer.len() < end + 4 + length {
        if stream.read_buf(buffer).await.ok()? == 0 {
            return None;
        }
    }
    let body = serde_json::from_slice(&buffer[end + 4..end + 4 + length]).unwrap_or(Value::Null);
    buffer.drain(..end + 4 + length);
    Some(Received { line, head, body })
}

fn find_answer(folder: &Path, line: &str) -> Answer {
    if folder.is_file() {
        return parse(&std::fs::read_to_string(folder).unwrap());
    }
    let path = line.split_once(' ').map_or("", |(_, path)| path);
    let mut parts = path.split(['/', '?', ':']).filter(|part| !part.is_empty());
    let first = parts.next().unwrap_or_default().to_owned();
    let last = parts.next_back().unwrap_or_default().to_owned();
    for name in [last, first] {
        if let Ok(text) = std::fs::read_to_string(folder.join(format!("{name}.http"))) {
            return parse(&text);
        }
    }
    let body = json!({"error": format!("no recorded answer for {line}")}).to_string();
    Answer { status: 404, head: vec!["content-type: application/json".to_owned()], body, ending: Ending::Proper }
}

fn parse(text: &str) -> Answer {
    let (head, body) = text.split_once("\n\n").unwrap_or((text, ""));
    let mut answer = Answer { status: 200, head: Vec::new(), body: String::new(), ending: Ending::Proper };
    for line in head.lines() {
        match line.split_once(": ") {
            Some(("status", status)) => answer.status = status.parse().unwrap(),
            Some(("covers", _)) => {}
            _ => answer.head.push(line.to_owned()),
        }
    }
    for line in body.split_inclusive('\n') {
        match line.trim_end() {
            "%stall" => answer.ending = Ending::Stall,
            "%break" => answer.ending = Ending::Break,
            "%close" => answer.ending = Ending::Close,
            _ => answer.body.push_str(line),
        }
    }
    answer
}

fn body_of(answer: &Answer) -> Vec<u8> {
    let mut body = answer.body.clone().into_bytes();
    if answer.head.iter().any(|line| line == "content-encoding: gzip") {
        let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
        packed.write_all(&body).unwrap();
        body = packed.finish().unwrap();
    }
    body
}

/// Writes the body in small pieces, so that frames and characters are split. Returns false if the connection is closed.
async fn write_answer(stream: &mut TcpStream, answer: &Answer) -> bool {
    let mut head = format!("HTTP/1.1 {} Recorded\r\ntransfer-encoding: chunked\r\n", answer.status);
    for line in &answer.head {
        head.push_str(line);
        head.push_str("\r\n");
    }
    head.push_str("\r\n");
    let mut out = head.into_bytes();
    for piece in body_of(answer).chunks(23) {
        out.extend_from_slice(format!("{:x}\r\n", piece.len()).as_bytes());
        out.extend_from_slice(piece);
        out.extend_from_slice(b"\r\n");
    }
    if matches!(answer.ending, Ending::Proper | Ending::Close) {
        out.extend_from_slice(b"0\r\n\r\n");
    }
    if stream.write_all(&out).await.is_err() {
        return false;
    }
    if answer.ending == Ending::Stall {
        let mut rest = [0_u8; 64];
        while stream.read(&mut rest).await.is_ok_and(|n| n > 0) {}
    }
    answer.ending == Ending::Proper
}

/// The folder of fixtures.
pub fn fixtures() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures")
}

/// Compares a text with a file; `UPDATE_EXPECT=1` rewrites the file. Returns what is wrong.
pub fn check_file(path: &Path, actual: &str) -> Option<String> {
    if std::env::var_os("UPDATE_EXPECT").is_some() {
        std::fs::write(path, actual).unwrap();
        return None;
    }
    let expected = std::fs::read_to_string(path).unwrap_or_default();
    (expected != actual).then(|| format!("{}\n--- expected\n{expected}\n--- actual\n{actual}", path.display()))
}

/// The same value with sorted object members, because their order means nothing.
pub fn sorted(value: &Value) -> Value {
    match value {
        Value::Object(members) => {
            let mut names: Vec<&String> = members.keys().collect();
            names.sort();
            Value::Object(names.into_iter().map(|name| (name.clone(), sorted(&members[name]))).collect())
        }
        Value::Array(items) => Value::Array(items.iter().map(sorted).collect()),
        other => other.clone(),
    }
}

/// An address where nothing listens.
pub async fn dead_address() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    format!("http://{}", listener.local_addr().unwrap())
}

/// The files of a folder with this ending, sorted.
pub fn files(folder: &Path, ending: &str) -> Vec<PathBuf> {
    let mut paths: Vec<PathBuf> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.to_string_lossy().ends_with(ending))
        .collect();
    paths.sort();
    paths
}
