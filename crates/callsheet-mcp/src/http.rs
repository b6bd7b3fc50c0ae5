//! Requests to a server's address, with a limit on what its streams send.

use std::collections::HashMap;
use std::sync::Arc;

use futures_util::StreamExt;
use futures_util::stream::BoxStream;
use reqwest::header::{HeaderName, HeaderValue};
use rmcp::model::ClientJsonRpcMessage;
use rmcp::transport::streamable_http_client::{
    SseError, StreamableHttpClient, StreamableHttpError, StreamableHttpPostResponse, StreamableHttpResponseLimits,
};
use sse_stream::Sse;

use crate::flow::{Flow, Nesting};

/// How many bytes an event counts in addition to its text.
const EVENT: usize = 64;

/// A client that counts the bytes of streams, and how often streams are reopened.
#[derive(Clone)]
pub(crate) struct MeteredClient {
    client: reqwest::Client,
    flow: Flow,
}

type Headers = HashMap<HeaderName, HeaderValue>;
type Events = BoxStream<'static, Result<Sse, SseError>>;
type Fault = StreamableHttpError<reqwest::Error>;

impl MeteredClient {
    pub(crate) fn new(client: reqwest::Client, flow: Flow) -> Self {
        Self { client, flow }
    }

    fn metered(&self, events: Events) -> Events {
        let flow = self.flow.clone();
        let count = move |event: Result<Sse, SseError>| {
            let event = event?;
            let bytes = event.data.as_ref().map_or(0, String::len).saturating_add(EVENT);
            let is_deep = !Nesting::default().holds(event.data.as_deref().unwrap_or_default().as_bytes());
            if flow.took(bytes) && (!is_deep || flow.exceed()) {
                Ok(event)
            } else {
                Err(SseError::Body(too_much().into()))
            }
        };
        events.map(count).boxed()
    }
}

/// Chooses the provider of TLS for the clients of this crate and of the library.
pub(crate) fn use_tls() {
    // This fails if another crate has installed a provider already, which is fine.
    let _chosen = rustls::crypto::ring::default_provider().install_default();
}

fn too_much() -> std::io::Error {
    std::io::Error::other("too much data")
}

impl StreamableHttpClient for MeteredClient {
    type Error = reqwest::Error;

    async fn post_message(
        &self,
        uri: Arc<str>,
        message: ClientJsonRpcMessage,
        session: Option<Arc<str>>,
        login: Option<String>,
        headers: Headers,
    ) -> Result<StreamableHttpPostResponse, Fault> {
        let limits = StreamableHttpResponseLimits::default();
        self.post_message_with_response_limits(uri, message, session, login, headers, limits).await
    }

    async fn post_message_with_response_limits(
        &self,
        uri: Arc<str>,
        message: ClientJsonRpcMessage,
        session: Option<Arc<str>>,
        login: Option<String>,
        headers: Headers,
        limits: StreamableHttpResponseLimits,
    ) -> Result<StreamableHttpPostResponse, Fault> {
        let client = &self.client;
        let response = client.post_message_with_response_limits(uri, message, session, login, headers, limits).await?;
        Ok(match response {
            StreamableHttpPostResponse::Sse(events, session) => {
                StreamableHttpPostResponse::Sse(self.metered(events), session)
            }
            other => other,
        })
    }

    async fn delete_session(
        &self,
        uri: Arc<str>,
        session: Arc<str>,
        login: Option<String>,
        headers: Headers,
    ) -> Result<(), Fault> {
        self.client.delete_session(uri, session, login, headers).await
    }

    async fn get_stream(
        &self,
        uri: Arc<str>,
        session: Option<Arc<str>>,
        last: Option<String>,
        login: Option<String>,
        headers: Headers,
    ) -> Result<Events, Fault> {
        let most = StreamableHttpResponseLimits::default().max_sse_event_size;
        self.get_stream_with_max_sse_event_size(uri, session, last, login, headers, most).await
    }

    async fn get_stream_with_max_sse_event_size(
        &self,
        uri: Arc<str>,
        session: Option<Arc<str>>,
        last: Option<String>,
        login: Option<String>,
        headers: Headers,
        most: usize,
    ) -> Result<Events, Fault> {
        if !self.flow.reopens() {
            return Err(StreamableHttpError::Io(too_much()));
        }
        let client = &self.client;
        let events = client.get_stream_with_max_sse_event_size(uri, session, last, login, headers, most).await?;
        Ok(self.metered(events))
    }
}

#[cfg(test)]
mod tests {
    use std::io::{BufRead, BufReader, Read, Write};
    use std::net::{TcpListener, TcpStream};
    use std::path::PathBuf;
    use std::time::Duration;

    use serde_json::{Value, json};

    use crate::ground::{Files, Ground};
    use crate::login::Logins;
    use crate::server::Server;
    use crate::settings::{Reach, ServerAddress, ServerSettings};
    use crate::trouble::Trouble;

    /// Reads a request: its method and its message. `None` if the connection has ended.
    fn request(reader: &mut BufReader<TcpStream>) -> Option<(String, Value)> {
        let (mut line, mut length) = (String::new(), 0);
        reader.read_line(&mut line).ok().filter(|count| *count > 0)?;
        let method = line.split(' ').next().unwrap_or_default().to_owned();
        loop {
            let mut header = String::new();
            reader.read_line(&mut header).ok()?;
            if header.trim().is_empty() {
                break;
            }
            if let Some(value) = header.to_ascii_lowercase().strip_prefix("content-length:") {
                length = value.trim().parse().unwrap_or_default();
            }
        }
        let mut body = vec![0; length];
        reader.read_exact(&mut body).ok()?;
        Some((method, serde_json::from_slice(&body).unwrap_or_default()))
    }

    fn answered(stream: &mut TcpStream, kind: &str, body: &str) -> std::io::Result<()> {
        let length = body.len();
        write!(stream, "HTTP/1.1 200 OK\r\ncontent-type: {kind}\r\ncontent-length: {length}\r\n\r\n{body}")
    }

    /// The address of a server that answers a call with a stream of this event, repeated `times` times.
    fn address(event: String, times: usize) -> String {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let event = event.clone();
                std::thread::spawn(move || serve(stream, &event, times));
            }
        });
        format!("http://127.0.0.1:{port}/mcp")
    }

    fn serve(mut stream: TcpStream, event: &str, times: usize) -> Option<()> {
        let mut reader = BufReader::new(stream.try_clone().ok()?);
        loop {
            let (method, message) = request(&mut reader)?;
            let result = match message["method"].as_str().unwrap_or_default() {
                "initialize" => json!({"protocolVersion": "2025-11-25", "capabilities": {"tools": {}},
                    "serverInfo": {"name": "t", "version": "1"}}),
                "tools/list" => json!({"tools": [{"name": "level", "inputSchema": {"type": "object"}}]}),
                "tools/call" => Value::Null,
                _ if method == "GET" => Value::Null,
                _ if message["id"].is_null() => {
                    write!(stream, "HTTP/1.1 202 Accepted\r\ncontent-length: 0\r\n\r\n").ok()?;
                    continue;
                }
                _ => {
                    let error = json!({"code": -32601, "message": "unknown"});
                    let answer = json!({"jsonrpc": "2.0", "id": message["id"], "error": error});
                    answered(&mut stream, "application/json", &answer.to_string()).ok()?;
                    continue;
                }
            };
            if result.is_null() {
                answered(&mut stream, "text/event-stream", &event.repeat(times)).ok()?;
                continue;
            }
            let answer = json!({"jsonrpc": "2.0", "id": message["id"], "result": result});
            answered(&mut stream, "application/json", &answer.to_string()).ok()?;
        }
    }

    async fn called(url: String) -> Trouble {
        let reach = Reach::Address(ServerAddress { url, ..ServerAddress::default() });
        let here = PathBuf::from("/nowhere");
        let logins = Logins::new(here.clone());
        let ground = Ground { project: here.clone(), apart: here.clone(), notes: here, log: None, logins };
        let server = Server::new(ServerSettings::new("s", reach), ground, Files::new());
        let tool = server.tools().await.unwrap().remove(0);
        server.call(&tool, &json!({}), 1_000, Duration::from_secs(600)).await.err().unwrap()
    }

    #[tokio::test]
    async fn a_server_that_streams_without_end_is_ended() {
        let note = json!({"jsonrpc": "2.0", "method": "notifications/message",
            "params": {"level": "info", "data": "x".repeat(1 << 20)}});
        let flood = address(format!("data: {note}\n\n"), 80);
        assert_eq!(called(flood).await, Trouble::Flood { server: "s".to_owned() });
    }

    #[tokio::test]
    async fn a_server_that_breaks_off_again_and_again_is_ended() {
        assert_eq!(
            called(address("id: 1\nretry: 0\ndata: \n\n".to_owned(), 1)).await,
            Trouble::Flood { server: "s".to_owned() }
        );
    }
}
