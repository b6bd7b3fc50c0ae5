//! A run with telemetry against a receiver that decodes what it gets.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "tests")]

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::Command;
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Mutex};

use callsheet_sdk::{Approver, Callsheet, Decision, GateView, Observer, Signal, async_trait, models};
use callsheet_telemetry::Telemetry;
use opentelemetry_proto::tonic::collector::metrics::v1::ExportMetricsServiceRequest;
use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::tonic::common::v1::any_value::Value;
use opentelemetry_proto::tonic::trace::v1::Span;
use prost::Message;

/// Set for the process that runs.
const INSIDE: &str = "CALLSHEET_TEST_TELEMETRY";

const REQUEST: &str = "Note the level of the water in level.md.";

/// One request: its path, its headers and its body.
type Received = (String, String, Vec<u8>);

/// A receiver on this machine, and what it received.
fn receiver() -> (String, Receiver<Received>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    let (sender, received) = channel();
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let sender = sender.clone();
            // The exporters keep their connections open.
            std::thread::spawn(move || {
                while let Some(request) = request(&stream) {
                    (&stream).write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n").unwrap();
                    let _gone = sender.send(request);
                }
            });
        }
    });
    (address, received)
}

fn request(stream: &TcpStream) -> Option<Received> {
    let mut reader = BufReader::new(stream);
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") {
        if reader.read_line(&mut head).ok()? == 0 {
            return None;
        }
    }
    let length = head.lines().find_map(|line| line.to_lowercase().strip_prefix("content-length: ")?.parse().ok());
    let mut body = vec![0; length.unwrap_or(0)];
    reader.read_exact(&mut body).ok()?;
    let path = head.split(' ').nth(1)?.to_owned();
    Some((path, head.to_lowercase(), body))
}

struct Yes;

#[async_trait]
impl Approver for Yes {
    fn name(&self) -> &str {
        "test"
    }

    async fn decide(&self, _gate: &GateView) -> Decision {
        Decision::Approve
    }
}

/// Keeps notices.
#[derive(Default)]
struct Notices(Mutex<Vec<String>>);

impl Observer for Notices {
    fn see(&self, signal: &Signal<'_>) {
        if let Signal::Notice(words) = signal {
            self.0.lock().unwrap().push((*words).to_owned());
        }
    }
}

struct Shared(Arc<dyn Observer>);

impl Observer for Shared {
    fn see(&self, signal: &Signal<'_>) {
        self.0.see(signal);
    }
}

/// The run, in a process whose environment asks for telemetry. Prints its outcome and the notices about telemetry.
#[test]
fn inside() {
    if std::env::var_os(INSIDE).is_none() {
        return;
    }
    let garden = tempfile::tempdir().unwrap();
    std::fs::write(garden.path().join("water.md"), "The barrel holds 41 cm.\n").unwrap();
    let notices = Arc::new(Notices::default());
    let kept: Arc<dyn Observer> = Arc::<Notices>::clone(&notices);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let model = models::scripted(include_str!("../../../examples/library/note.toml")).unwrap();
        let observer = Telemetry::around(kept, "garden", &|name| std::env::var(name).ok());
        let builder = Callsheet::builder(garden.path(), model).observer(Shared(observer));
        let callsheet = builder.approver(Yes).build().unwrap();
        let finished = callsheet.run(REQUEST).await.unwrap();
        println!("\noutcome {:?}", finished.outcome);
    });
    drop(runtime);
    for notice in notices.0.lock().unwrap().iter().filter(|words| words.contains("telemetry")) {
        println!("notice {notice}");
    }
}

fn run(variables: &[(&str, &str)]) -> String {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", "inside", "--nocapture"]).env(INSIDE, "1").envs(variables.iter().copied());
    let output = command.output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{said}{}", String::from_utf8_lossy(&output.stderr));
    assert!(said.contains("outcome Complete"), "{said}");
    said
}

fn text(span: &Span, key: &str) -> Option<String> {
    let value = span.attributes.iter().find(|attribute| attribute.key == key)?.value.clone()?.value?;
    Some(match value {
        Value::StringValue(text) => text,
        Value::IntValue(number) => number.to_string(),
        other => format!("{other:?}"),
    })
}

/// covers: 12.12
#[test]
fn a_run_is_a_trace_without_content() {
    let (address, received) = receiver();
    let said = run(&[
        ("OTEL_EXPORTER_OTLP_ENDPOINT", &address),
        ("OTEL_EXPORTER_OTLP_HEADERS", "x-tenant=garden"),
        ("OTEL_RESOURCE_ATTRIBUTES", "deployment.environment.name=test"),
    ]);
    assert!(!said.contains("notice"), "{said}");
    let received: Vec<Received> = received.try_iter().collect();
    let (mut spans, mut metrics) = (Vec::new(), BTreeMap::new());
    for (path, head, body) in &received {
        assert!(head.contains("x-tenant: garden"), "{head}");
        for content in [REQUEST, "41 cm", "Write the level into level.md"] {
            assert!(!String::from_utf8_lossy(body).contains(content), "{path} contains content: {content}");
        }
        match path.as_str() {
            "/v1/traces" => {
                for resource in ExportTraceServiceRequest::decode(&body[..]).unwrap().resource_spans {
                    let attributes = resource.resource.unwrap().attributes;
                    let has = |key: &str| attributes.iter().any(|attribute| attribute.key == key);
                    assert!(has("service.name") && has("service.version") && has("deployment.environment.name"));
                    spans.extend(resource.scope_spans.into_iter().flat_map(|scope| scope.spans));
                }
            }
            "/v1/metrics" => {
                let request = ExportMetricsServiceRequest::decode(&body[..]).unwrap();
                let scopes = request.resource_metrics.into_iter().flat_map(|resource| resource.scope_metrics);
                metrics.extend(scopes.flat_map(|scope| scope.metrics).map(|metric| (metric.name, metric.unit)));
            }
            other => panic!("nothing is sent to {other}"),
        }
    }
    let named = |name: &str| spans.iter().find(|span| span.name == name).unwrap_or_else(|| panic!("no span {name}"));
    let root = named("run");
    assert!(root.parent_span_id.is_empty(), "{root:?}");
    assert!(
        spans.iter().all(|span| span.trace_id == root.trace_id && span.end_time_unix_nano >= span.start_time_unix_nano)
    );
    assert_eq!(text(root, "callsheet.outcome").as_deref(), Some("complete"));
    let (plan, task) = (named("plan"), named("task note"));
    assert_eq!((&plan.parent_span_id, &task.parent_span_id), (&root.span_id, &root.span_id));
    assert_eq!(text(task, "gen_ai.agent.name").as_deref(), Some("write_document"));
    assert_eq!(text(task, "callsheet.outcome").as_deref(), Some("done"));
    let calls: Vec<&Span> = spans.iter().filter(|span| span.name == "chat script").collect();
    let phases: Vec<_> = calls.iter().filter_map(|span| text(span, "callsheet.phase")).collect();
    assert_eq!(phases, ["route", "plan", "execute"]);
    let parents: Vec<&[u8]> = calls.iter().map(|span| span.parent_span_id.as_slice()).collect();
    assert_eq!(parents, [&plan.span_id, &plan.span_id, &task.span_id].map(Vec::as_slice));
    for call in calls {
        assert_eq!(text(call, "gen_ai.operation.name").as_deref(), Some("chat"));
        assert_eq!(text(call, "gen_ai.provider.name").as_deref(), Some("scripted"));
        assert!(text(call, "gen_ai.usage.input_tokens").is_some_and(|tokens| tokens.parse::<u64>().unwrap() > 0));
    }
    let found: Vec<&str> = metrics.keys().map(String::as_str).collect();
    for name in ["callsheet.wait.duration", "gen_ai.client.operation.duration", "gen_ai.client.token.usage"] {
        assert!(found.contains(&name), "{name} is missing: {found:?}");
    }
    assert_eq!(metrics["gen_ai.client.operation.duration"], "s");
}

#[test]
fn a_receiver_that_is_gone_is_told_once_and_stops_nothing() {
    // The port is free again once the listener is dropped.
    let address = format!("http://{}", TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap());
    let said = run(&[("OTEL_EXPORTER_OTLP_ENDPOINT", &address)]);
    assert_eq!(said.matches("notice note: telemetry could not be sent").count(), 1, "{said}");
}

#[test]
fn nothing_is_sent_without_an_address_or_if_it_is_switched_off() {
    let (address, received) = receiver();
    run(&[("OTEL_SERVICE_NAME", "garden")]);
    run(&[("OTEL_EXPORTER_OTLP_ENDPOINT", &address), ("OTEL_SDK_DISABLED", "true")]);
    assert_eq!(received.try_iter().count(), 0);
    let said = run(&[("OTEL_EXPORTER_OTLP_ENDPOINT", &address), ("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc")]);
    assert!(said.contains("notice note: no telemetry is sent: OTEL_EXPORTER_OTLP_PROTOCOL is grpc"), "{said}");
    assert_eq!(received.try_iter().count(), 0);
}
