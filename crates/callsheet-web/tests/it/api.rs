//! The interface for programs by its answers to requests.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use axum::Router;
use axum::body::{Body, to_bytes};
use axum::http::{Request, StatusCode, header};
use callsheet_app::{InputOffer, NewRun, Refusal, RunControl, RunStarter, TemplateOffer};
use callsheet_core::nouns::{BlobId, RunId};
use callsheet_web::{Client, ClientRight, Clients, KnownClient, PREFIX, api, openapi};
use serde_json::{Value, json};
use tower::ServiceExt;

use crate::support::{HOSTILE, RUN, Recorded, TestRuns};

/// Notes what it starts.
#[derive(Default)]
struct TestStarter(Mutex<Vec<NewRun>>);

impl RunStarter for TestStarter {
    fn start(&self, what: NewRun) -> Result<RunId, Refusal> {
        let mut started = self.0.lock().unwrap();
        started.push(what);
        Ok(RunId::new(format!("run-{}", started.len())))
    }

    fn templates(&self) -> Result<Vec<TemplateOffer>, Refusal> {
        let input = |name: &str, default: Option<&str>| InputOffer {
            name: name.to_owned(),
            kind: "string",
            about: "A text.".to_owned(),
            required: default.is_none(),
            default: default.map(str::to_owned),
        };
        let inputs = vec![input("text", None), input("tone", Some("dry"))];
        Ok(vec![TemplateOffer { name: "sum_up".to_owned(), about: "Sums up.".to_owned(), inputs }])
    }
}

/// A client for each right, whose token is the name of the right.
struct TestClients;

impl Clients for TestClients {
    fn known(&self) -> Result<Vec<KnownClient>, Refusal> {
        let known = |may: ClientRight| KnownClient {
            client: Client { name: format!("a-{}", may.name()), may },
            hash: BlobId::of(may.name().as_bytes()),
        };
        Ok([ClientRight::Look, ClientRight::Steer, ClientRight::Approve].map(known).to_vec())
    }
}

struct Served {
    router: Router,
    runs: Arc<TestRuns>,
    starter: Arc<TestStarter>,
}

impl Served {
    fn of(recorded: &Recorded) -> Self {
        let store = Some(Arc::clone(&recorded.store));
        let runs = TestRuns { store, asked: Mutex::default(), writing: Mutex::default(), keys: Mutex::default() };
        let (runs, starter) = (Arc::new(runs), Arc::new(TestStarter::default()));
        let control = Arc::clone(&runs) as Arc<dyn RunControl>;
        let router = api(control, Arc::clone(&starter) as Arc<dyn RunStarter>, Arc::new(TestClients));
        Self { router, runs, starter }
    }

    async fn send(&self, request: axum::http::request::Builder, body: &str) -> (StatusCode, String) {
        let request = request.header(header::HOST, "127.0.0.1:4000").header(header::CONTENT_TYPE, "application/json");
        let response = self.router.clone().oneshot(request.body(Body::from(body.to_owned())).unwrap()).await.unwrap();
        let status = response.status();
        let bytes = to_bytes(response.into_body(), 10_000_000).await.unwrap();
        (status, String::from_utf8(bytes.to_vec()).unwrap())
    }

    async fn with(&self, token: &str, method: &str, path: &str, body: &str) -> (StatusCode, String) {
        let request = Request::builder().method(method).uri(format!("{PREFIX}{path}"));
        self.send(request.header(header::AUTHORIZATION, format!("Bearer {token}")), body).await
    }
}

fn driven() -> Recorded {
    let mut recorded = Recorded::of(&[("Read Notes", false), ("Write Notes", true)]);
    recorded.drive();
    recorded
}

/// Every operation, as the document names it, with the least right that gets past its door.
#[tokio::test]
async fn each_operation_is_documented_and_asks_for_its_right() {
    let served = Served::of(&driven());
    let document = openapi();
    let mut least: BTreeMap<String, &str> = BTreeMap::new();
    for (path, operations) in document["paths"].as_object().unwrap() {
        let address = path.replace("{run}", RUN).replace("{hash}", &"0".repeat(64));
        for (method, operation) in operations.as_object().unwrap() {
            assert!(operation["summary"].is_string() && operation["security"][0]["token"].is_array(), "{path}");
            let method = method.to_uppercase();
            let (status, _) = served.with("nobody", &method, &address, "{}").await;
            assert_eq!(status, StatusCode::UNAUTHORIZED, "{method} {path}");
            let mut allowed = Vec::new();
            for right in ["look", "steer", "approve"] {
                if served.with(right, &method, &address, "{}").await.0 != StatusCode::FORBIDDEN {
                    allowed.push(right);
                }
            }
            least.insert(format!("{method} {path}"), allowed[0]);
        }
    }
    let expected = [
        ("GET /blobs/{hash}", "look"),
        ("GET /runs", "look"),
        ("GET /runs/{run}", "look"),
        ("GET /runs/{run}/events", "look"),
        ("GET /runs/{run}/result", "look"),
        ("GET /runs/{run}/waiting", "look"),
        ("GET /templates", "look"),
        ("POST /runs", "steer"),
        ("POST /runs/{run}/answer", "approve"),
        ("POST /runs/{run}/approve", "approve"),
        ("POST /runs/{run}/cancel", "steer"),
        ("POST /runs/{run}/deny", "approve"),
        ("POST /runs/{run}/resume", "steer"),
        ("POST /runs/{run}/retry", "steer"),
    ];
    assert_eq!(least, expected.map(|(operation, right)| (operation.to_owned(), right)).into());
    assert!(served.runs.asked.lock().unwrap().is_empty(), "nothing was done without a body");
}

#[tokio::test]
async fn what_a_browser_could_send_is_refused() {
    let served = Served::of(&driven());
    let request = |host: &str| Request::get(format!("{PREFIX}/runs")).header(header::HOST, host);
    let with_token = |host: &str| request(host).header(header::AUTHORIZATION, "Bearer look");
    for (name, value) in [("origin", "null"), ("origin", "http://127.0.0.1:4000"), ("sec-fetch-site", "same-origin")] {
        let (status, text) = served.send(with_token("127.0.0.1:4000").header(name, value), "").await;
        assert_eq!(status, StatusCode::FORBIDDEN, "{name}: {value}: {text}");
    }
    // A foreign name server may point its names at this machine.
    let rebound = with_token("rebound.example:4000").body(Body::empty()).unwrap();
    assert_eq!(served.router.clone().oneshot(rebound).await.unwrap().status(), StatusCode::FORBIDDEN);
    let cookie = Request::get(format!("{PREFIX}/runs")).header(header::COOKIE, "callsheet=look");
    assert_eq!(served.send(cookie, "").await.0, StatusCode::UNAUTHORIZED);
    let preflight = Request::builder().method("OPTIONS").uri(format!("{PREFIX}/runs"));
    let response = served.router.clone().oneshot(preflight.header("host", "localhost").body(Body::empty()).unwrap());
    assert!(!response.await.unwrap().headers().contains_key(header::ACCESS_CONTROL_ALLOW_ORIGIN));
}

#[tokio::test]
async fn orders_say_who_gives_them_and_on_which_revision() {
    let served = Served::of(&driven());
    let (status, text) = served.with("look", "GET", &format!("/runs/{RUN}/waiting"), "").await;
    assert_eq!(status, StatusCode::OK, "{text}");
    let waiting: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(waiting["gates"][0]["kind"], "before_run");
    assert!(waiting["gates"][0]["tasks"][0]["need"].as_str().unwrap().contains(HOSTILE), "the words as they are");
    assert!(!text.contains('\u{1b}') && !text.contains('\u{202e}'), "as escapes: {text}");
    let (revision, gate) = (&waiting["revision"], &waiting["gates"][0]["gate"]);
    let body = json!({"key": "k1", "revision": revision, "gates": [gate], "hunks": [1, 3], "because": "enough"});
    let (status, text) = served.with("approve", "POST", &format!("/runs/{RUN}/approve"), &body.to_string()).await;
    assert_eq!(status, StatusCode::OK, "{text}");
    let asked: Value = serde_json::from_str(&served.runs.asked.lock().unwrap()[0]).unwrap();
    let expected = json!({"by": {"api": "a-approve"}, "revision": revision, "command": "keep", "gates": [gate],
        "tasks": [], "hunks": [[1, 1], [3, 3]], "edits": {}, "because": "enough"});
    assert_eq!(asked, expected);
    assert_eq!(*served.runs.keys.lock().unwrap(), ["api/a-approve/k1"]);
}

#[tokio::test]
async fn a_key_starts_one_run_and_values_of_templates_keep_their_types() {
    let served = Served::of(&driven());
    let body = json!({"key": "s", "template": "sum_up", "values": {"text": "@x", "list": ["@y", 2]}}).to_string();
    for _ in 0..2 {
        let (status, text) = served.with("steer", "POST", "/runs", &body).await;
        assert_eq!((status, text.as_str()), (StatusCode::CREATED, r#"{"run":"run-1"}"#));
    }
    let values = [("text", "@x"), ("list:", r#"["@y",2]"#)].map(|(name, value)| (name.to_owned(), value.to_owned()));
    let expected = NewRun::Template { name: "sum_up".to_owned(), values: values.into() };
    assert_eq!(*served.starter.0.lock().unwrap(), [expected]);
}

#[tokio::test]
async fn templates_are_listed_with_their_typed_inputs() {
    let served = Served::of(&driven());
    let (status, text) = served.with("look", "GET", "/templates", "").await;
    let listed: Value = serde_json::from_str(&text).unwrap();
    let inputs = json!([
        {"name": "text", "type": "string", "about": "A text.", "required": true},
        {"name": "tone", "type": "string", "about": "A text.", "required": false, "default": "dry"},
    ]);
    assert_eq!((status, listed), (StatusCode::OK, json!([{"name": "sum_up", "about": "Sums up.", "inputs": inputs}])));
}

#[tokio::test]
async fn streams_are_counted() {
    let served = Served::of(&driven());
    let follow = || {
        let request = Request::get(format!("{PREFIX}/runs/{RUN}/events?follow=true"));
        let request = request.header(header::HOST, "localhost").header(header::AUTHORIZATION, "Bearer look");
        served.router.clone().oneshot(request.body(Body::empty()).unwrap())
    };
    let mut open = Vec::new();
    for _ in 0..32 {
        open.push(follow().await.unwrap());
    }
    assert!(open.iter().all(|response| response.status() == StatusCode::OK));
    assert_eq!(follow().await.unwrap().status(), StatusCode::SERVICE_UNAVAILABLE);
    open.pop();
    assert_eq!(follow().await.unwrap().status(), StatusCode::OK, "a client that leaves makes room");
}
