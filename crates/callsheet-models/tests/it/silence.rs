//! Tests servers that fall silent and servers that do not end a line. Each is a communication failure, on every wire.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "tests")]

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use callsheet_core::record::StopReason;
use callsheet_models::config::{Dialect, Provider, ProviderSettings, build};
use callsheet_models::transport::Silence;
use callsheet_runtime::conformance::story_request;
use callsheet_runtime::ports::{ModelFault, ModelReply};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

const HEAD: &str = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n";

/// A server that sends `start`, then `more` until nobody listens, then nothing.
async fn server(start: String, more: Option<String>) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = format!("http://{}/v1", listener.local_addr().unwrap());
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let (start, more) = (start.clone(), more.clone());
            tokio::spawn(async move {
                let mut request = [0_u8; 16_384];
                if stream.read(&mut request).await.is_err() || stream.write_all(start.as_bytes()).await.is_err() {
                    return;
                }
                if let Some(more) = &more {
                    while stream.write_all(more.as_bytes()).await.is_ok() {}
                }
                while stream.read(&mut request).await.is_ok_and(|n| n > 0) {}
            });
        }
    });
    address
}

/// The outcome of a call.
async fn asked(dialect: Dialect, address: &str, silence: Silence) -> Result<ModelReply, ModelFault> {
    let settings =
        ProviderSettings { dialect: Some(dialect), base_url: Some(address.to_owned()), ..ProviderSettings::default() };
    let mut provider = Provider::resolve("odd", &BTreeMap::from([("odd".to_owned(), settings)])).unwrap();
    provider.silence = silence;
    let model = build(&provider, "brook", &BTreeMap::new()).unwrap();
    let (request, cancel) = (story_request(8), CancellationToken::new());
    let asked = tokio::time::timeout(Duration::from_secs(60), model.ask(&request, &|_| {}, &cancel)).await;
    asked.expect("the call ends by itself")
}

/// Its failure in words.
async fn fault(dialect: Dialect, address: &str, silence: Silence) -> String {
    match asked(dialect, address, silence).await {
        Err(ModelFault::Communication { message, .. }) => message,
        other => panic!("{dialect:?}: {other:?}"),
    }
}

/// The wires of event streams.
fn wires() -> [Dialect; 4] {
    [Dialect::Openai, Dialect::Anthropic, Dialect::Gemini, Dialect::OpenaiResponses]
}

fn limits(first_byte: u64, idle: u64) -> Silence {
    Silence { first_byte: Duration::from_millis(first_byte), idle: Duration::from_millis(idle) }
}

/// covers: 12.1
#[tokio::test]
async fn a_server_that_does_not_begin_is_left() {
    let silent = server(String::new(), None).await;
    for dialect in wires() {
        let words = fault(dialect, &silent, limits(200, 60_000)).await;
        assert!(
            words.contains("200ms") && words.contains("[providers.odd] first_byte_seconds"),
            "{dialect:?}: {words}"
        );
    }
    // A head alone is not an answer yet.
    let head = server(HEAD.to_owned(), None).await;
    for dialect in wires() {
        let words = fault(dialect, &head, limits(400, 200)).await;
        assert!(words.contains("first_byte_seconds"), "{dialect:?}: {words}");
    }
}

/// covers: 12.1
#[tokio::test]
async fn a_server_that_stops_in_the_middle_is_left() {
    let one = "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"One\"}}]}\n\n";
    let address = server(format!("{HEAD}{one}"), None).await;
    let words = fault(Dialect::Openai, &address, limits(60_000, 200)).await;
    assert!(words.contains("200ms") && words.contains("idle_seconds"), "{words}");
    let address = server(format!("{HEAD}: a comment\n\n"), None).await;
    for dialect in wires() {
        let words = fault(dialect, &address, limits(60_000, 200)).await;
        assert!(words.contains("idle_seconds"), "{dialect:?}: {words}");
    }
}

/// covers: 12.1
#[tokio::test]
async fn a_line_without_an_end_is_left() {
    let address = server(format!("{HEAD}data: "), Some("x".repeat(16_384))).await;
    for dialect in wires() {
        let words = fault(dialect, &address, Silence::default()).await;
        assert!(words.contains("line"), "{dialect:?}: {words}");
    }
}

/// covers: 12.1
#[tokio::test]
async fn a_page_in_place_of_a_reply_is_named() {
    let head = HEAD.replace("text/event-stream", "text/html");
    let page = "<!doctype html><html><body><h1>Sign in</h1><p>to the proxy</p></body></html>";
    let address = server(format!("{head}{page}{}", " ".repeat(8_192)), None).await;
    for dialect in wires() {
        let fault = asked(dialect, &address, Silence::default()).await.unwrap_err();
        let is_named =
            matches!(&fault, ModelFault::Configuration { message } if message.contains("Sign in to the proxy"));
        assert!(is_named, "{dialect:?}: {fault:?}");
    }
}

/// A model in a loop writes until something stops it.
#[tokio::test]
async fn a_reply_that_only_repeats_itself_is_stopped() {
    let piece = "data: {\"choices\":[{\"delta\":{\"content\":\"- The same line once more.\\n\"}}]}\n\n".to_owned();
    let endless = server(HEAD.to_owned(), Some(piece)).await;
    let reply = asked(Dialect::Openai, &endless, limits(60_000, 60_000)).await.unwrap();
    assert_eq!(reply.stop, StopReason::Repeated);
    assert!(reply.text.starts_with("- The same line once more.\n- The same") && reply.text.len() < 2_000);
    assert!(reply.usage.output > 100, "it is charged as far as it came: {:?}", reply.usage);
}

/// A server that promises to keep connections. It closes the first one when a second request comes over it, and counts
/// connections and requests.
async fn promising(keeps: bool) -> (String, Arc<(AtomicUsize, AtomicUsize)>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = format!("http://{}/v1", listener.local_addr().unwrap());
    let counts: Arc<(AtomicUsize, AtomicUsize)> = Arc::default();
    let seen = Arc::clone(&counts);
    let body = "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"Well.\"},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n";
    let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncontent-length:";
    let reply = format!("{head} {}\r\n\r\n{body}", body.len());
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let is_first = seen.0.fetch_add(1, Ordering::SeqCst) == 0;
            let (seen, reply) = (Arc::clone(&seen), reply.clone());
            tokio::spawn(async move {
                let mut request = [0_u8; 65_536];
                let mut answered = false;
                while stream.read(&mut request).await.is_ok_and(|n| n > 0) {
                    seen.1.fetch_add(1, Ordering::SeqCst);
                    if is_first && answered && !keeps {
                        return;
                    }
                    answered = stream.write_all(reply.as_bytes()).await.is_ok();
                }
            });
        }
    });
    (address, counts)
}

/// A kept connection is used again. Of one that was closed in spite of the promise nobody hears, and there is no other.
#[tokio::test]
async fn a_connection_is_kept_as_long_as_the_server_keeps_it() {
    for (keeps, connections, requests) in [(true, 1, 4), (false, 4, 5)] {
        let (address, counts) = promising(keeps).await;
        let settings =
            ProviderSettings { dialect: Some(Dialect::Openai), base_url: Some(address), ..ProviderSettings::default() };
        let provider = Provider::resolve("odd", &BTreeMap::from([("odd".to_owned(), settings)])).unwrap();
        let model = build(&provider, "brook", &BTreeMap::new()).unwrap();
        for _ in 0..4 {
            let reply = model.ask(&story_request(8), &|_| {}, &CancellationToken::new()).await.unwrap();
            assert_eq!(reply.text, "Well.");
        }
        let seen = (counts.0.load(Ordering::SeqCst), counts.1.load(Ordering::SeqCst));
        assert_eq!(seen, (connections, requests), "kept: {keeps}");
    }
}
