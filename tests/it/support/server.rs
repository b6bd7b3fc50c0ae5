//! A server that plays what it is told, one answer a call, and keeps what it was sent.
#![allow(dead_code, reason = "each test file uses its part")]

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// One answer.
#[derive(Clone, Debug)]
pub struct Answer {
    pub status: u16,
    pub media: String,
    pub body: String,
    /// The connection is closed in the middle of the body.
    pub breaks: bool,
}

/// What came in: its path and its body.
pub type Received = (String, String);

/// Answers calls until the test ends. Of the answers each is given once, the last one to all further calls.
pub struct PlayedServer {
    /// `127.0.0.1:PORT`.
    pub host: String,
    received: Arc<Mutex<Vec<Received>>>,
    crowd: Arc<Crowd>,
}

/// How many calls are answered at the same time.
#[derive(Default)]
struct Crowd {
    now: AtomicUsize,
    most: AtomicUsize,
    takes: Duration,
}

impl PlayedServer {
    pub fn start(answers: Vec<Answer>) -> Self {
        Self::slow(answers, Duration::ZERO)
    }

    /// A server that takes this long for each answer.
    pub fn slow(answers: Vec<Answer>, takes: Duration) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let host = listener.local_addr().unwrap().to_string();
        let received: Arc<Mutex<Vec<Received>>> = Arc::default();
        let log = Arc::clone(&received);
        let crowd = Arc::new(Crowd { takes, ..Crowd::default() });
        let shared = Arc::clone(&crowd);
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (answers, log, crowd) = (answers.clone(), Arc::clone(&log), Arc::clone(&shared));
                std::thread::spawn(move || serve(stream, &answers, &log, &crowd));
            }
        });
        Self { host, received, crowd }
    }

    /// The most calls that came before another was answered.
    pub fn most_at_once(&self) -> usize {
        self.crowd.most.load(Ordering::SeqCst)
    }

    /// The calls of a model so far; what only asks for models is left out.
    pub fn calls(&self) -> Vec<Received> {
        self.received.lock().unwrap().clone()
    }
}

fn serve(mut stream: TcpStream, answers: &[Answer], log: &Mutex<Vec<Received>>, crowd: &Crowd) -> Option<()> {
    let mut bytes = Vec::new();
    loop {
        let (method, path, body) = request(&mut stream, &mut bytes)?;
        if method != "POST" || path.ends_with("/show") {
            let answer = Answer { status: 404, media: "text/plain".to_owned(), body: String::new(), breaks: false };
            send(&mut stream, &answer)?;
            continue;
        }
        let number = {
            let mut log = log.lock().unwrap();
            log.push((path, body));
            log.len() - 1
        };
        crowd.most.fetch_max(crowd.now.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
        std::thread::sleep(crowd.takes);
        crowd.now.fetch_sub(1, Ordering::SeqCst);
        send(&mut stream, answers.get(number).or(answers.last())?)?;
    }
}

fn request(stream: &mut TcpStream, bytes: &mut Vec<u8>) -> Option<(String, String, String)> {
    let (head, body) = request_with_head(stream, bytes)?;
    let mut words = head.lines().next()?.split(' ').map(str::to_owned);
    Some((words.next()?, words.next()?, body))
}

/// The head of the next request, and its body.
pub fn request_with_head(stream: &mut TcpStream, bytes: &mut Vec<u8>) -> Option<(String, String)> {
    let mut more = |bytes: &mut Vec<u8>| {
        let mut buffer = [0_u8; 16_384];
        let count = stream.read(&mut buffer).ok().filter(|count| *count > 0)?;
        bytes.extend_from_slice(&buffer[..count]);
        Some(())
    };
    let end = loop {
        match bytes.windows(4).position(|window| window == b"\r\n\r\n") {
            Some(end) => break end + 4,
            None => more(bytes)?,
        }
    };
    let head = String::from_utf8_lossy(&bytes[..end]).to_lowercase();
    let length = head.lines().find_map(|line| line.strip_prefix("content-length: "));
    let length: usize = length.map_or(0, |length| length.parse().unwrap());
    while bytes.len() < end + length {
        more(bytes)?;
    }
    let head = String::from_utf8_lossy(&bytes[..end]).into_owned();
    let body = String::from_utf8_lossy(&bytes[end..end + length]).into_owned();
    bytes.drain(..end + length);
    Some((head, body))
}

fn send(stream: &mut TcpStream, answer: &Answer) -> Option<()> {
    let Answer { status, media, body, breaks } = answer;
    let length = body.len() + usize::from(*breaks) * 10;
    let head = format!("HTTP/1.1 {status} Played\r\ncontent-type: {media}\r\ncontent-length: {length}\r\n\r\n");
    stream.write_all(head.as_bytes()).ok()?;
    stream.write_all(body.as_bytes()).ok()?;
    (!breaks).then_some(())
}
