//! Runs every adapter against the suite of the port. The wires answer from recorded traffic. Requests are compared with
//! `fixtures/wire/ADAPTER/SCENE.sent.json`, outcomes with `fixtures/wire/ADAPTER/findings.txt`.
#![allow(clippy::disallowed_methods, clippy::disallowed_macros, reason = "tests read fixtures and say what they skip")]
#![allow(clippy::unwrap_used, clippy::expect_used)]

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use crate::support::{Server, check_file, dead_address, fixtures, sorted};
use callsheet_models::config::{ModelRef, Provider, ProviderSettings, build, build_ref};
use callsheet_models::replay::{Cassettes, Recording};
use callsheet_runtime::conformance::{CheckOutcome, Finding, Scene, Subject, check_model};
use callsheet_runtime::ports::{Capabilities, DeltaSink, Model, ModelFault, ModelInfo, ModelReply, ModelRequest};
use tokio_util::sync::CancellationToken;

const SECRET: &str = "sk-secret-of-the-test";

/// A wire with the recorded server: each scene is a folder of the address.
struct Wire {
    provider: Provider,
    address: String,
    suffix: &'static str,
    dead: String,
    grammar: bool,
}

impl Wire {
    async fn new(name: &str, suffix: &'static str) -> (Self, Server) {
        let server = Server::start(fixtures().join("wire").join(name)).await;
        let mut configured = BTreeMap::new();
        configured.insert(name.to_owned(), settings(name));
        let mut provider = Provider::resolve(name, &configured).unwrap();
        provider.api_key_env = Some("TEST_KEY".to_owned());
        let grammar = name == "llamacpp";
        let wire = Self { provider, address: server.address.clone(), suffix, dead: dead_address().await, grammar };
        (wire, server)
    }
}

fn settings(name: &str) -> ProviderSettings {
    let dialect = match name {
        "mistral" => "openai",
        other => other,
    };
    let own = (name == "openai" || name == "openai-responses").then(|| "http://set-below".to_owned());
    ProviderSettings {
        dialect: Some(serde_json::from_value(dialect.into()).unwrap()),
        base_url: own,
        price_input: Some(2.0),
        price_output: Some(10.0),
        ..ProviderSettings::default()
    }
}

impl Subject for Wire {
    fn model(&self, scene: Scene) -> Result<Arc<dyn Model>, String> {
        if scene == Scene::Grammar && !self.grammar {
            return Err("this wire takes no grammar".to_owned());
        }
        let mut provider = self.provider.clone();
        provider.base_url = match scene {
            Scene::Unreachable => self.dead.clone(),
            _ => format!("{}/{}{}", self.address, scene.name(), self.suffix),
        };
        let environment = BTreeMap::from([("TEST_KEY".to_owned(), SECRET.to_owned())]);
        build(&provider, "brook", &environment).map_err(|error| error.to_string())
    }

    fn secret(&self) -> Option<&str> {
        Some(SECRET)
    }

    fn retry_after(&self) -> Option<Duration> {
        Some(Duration::from_secs(7))
    }
}

async fn check_wire(name: &str, suffix: &'static str) {
    let (wire, server) = Wire::new(name, suffix).await;
    let findings = check_model(&wire).await;
    let folder = fixtures().join("wire").join(name);
    let mut wrong: Vec<String> = failures(&findings);
    wrong.extend(check_file(&folder.join("findings.txt"), &lines(&findings)));
    let received = server.received();
    for scene in Scene::ALL.iter().filter(|scene| **scene != Scene::Overflow) {
        let of_scene = |line: &str| line.starts_with(&format!("POST /{}/", scene.name())) && !line.ends_with("/show");
        let Some(first) = received.iter().find(|received| of_scene(&received.line)) else { continue };
        let sent = serde_json::json!({"line": first.line, "body": sorted(&first.body)});
        let text = serde_json::to_string_pretty(&sent).unwrap() + "\n";
        wrong.extend(check_file(&folder.join(format!("{}.sent.json", scene.name())), &text));
        let shown = first.head.iter().any(|line| line.contains(SECRET));
        if !shown && !first.line.contains(SECRET) {
            wrong.push(format!("{}: the key was not sent", first.line));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
}

fn failures(findings: &[Finding]) -> Vec<String> {
    findings
        .iter()
        .filter(|finding| matches!(finding.outcome, CheckOutcome::Failed { .. }))
        .map(Finding::line)
        .collect()
}

fn lines(findings: &[Finding]) -> String {
    findings.iter().map(|finding| finding.line() + "\n").collect()
}

#[tokio::test]
async fn openai_chat() {
    check_wire("openai", "/v1").await;
}

#[tokio::test]
async fn llamacpp() {
    check_wire("llamacpp", "").await;
}

#[tokio::test]
async fn ollama() {
    check_wire("ollama", "").await;
}

#[tokio::test]
async fn openai_chat_of_a_vendor() {
    check_wire("mistral", "/v1").await;
}

#[tokio::test]
async fn anthropic() {
    check_wire("anthropic", "/v1").await;
}

#[tokio::test]
async fn gemini() {
    check_wire("gemini", "/v1beta").await;
}

#[tokio::test]
async fn openai_responses() {
    check_wire("openai-responses", "/v1").await;
}

/// The scripted model plays every scene, each from its own script.
struct Scripts;

impl Subject for Scripts {
    fn model(&self, scene: Scene) -> Result<Arc<dyn Model>, String> {
        let path = fixtures().join("scripts/scenes").join(format!("{}.toml", scene.name()));
        if !path.exists() {
            return Err("a script has no wire that could fail so".to_owned());
        }
        build_ref(&ModelRef::Scripted(path), &BTreeMap::new(), &BTreeMap::new()).map_err(|error| error.to_string())
    }

    fn retry_after(&self) -> Option<Duration> {
        Some(Duration::from_secs(7))
    }
}

#[tokio::test]
async fn scripted() {
    let findings = check_model(&Scripts).await;
    let mut wrong = failures(&findings);
    wrong.extend(check_file(&fixtures().join("scripts/scenes/findings.txt"), &lines(&findings)));
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Records every scene of the scripts, then replays it.
struct Replayed {
    folder: std::path::PathBuf,
    play: bool,
}

impl Subject for Replayed {
    fn model(&self, scene: Scene) -> Result<Arc<dyn Model>, String> {
        if scene == Scene::Slow {
            return Err("a cassette answers at once".to_owned());
        }
        let inner = Scripts.model(scene)?;
        let folder = self.folder.join(scene.name());
        if self.play {
            let id = inner.info().id.clone();
            return Cassettes::open(&folder).and_then(|all| all.replay(&id)).map_err(|error| error.to_string());
        }
        Ok(Recording::create(&folder).map_err(|error| error.to_string())?.record(inner))
    }

    fn retry_after(&self) -> Option<Duration> {
        Some(Duration::from_secs(7))
    }
}

#[tokio::test]
async fn recorder_and_replay() {
    let folder = tempfile::tempdir().unwrap();
    for play in [false, true] {
        let findings = check_model(&Replayed { folder: folder.path().to_owned(), play }).await;
        let mut wrong = failures(&findings);
        wrong.extend(check_file(&fixtures().join("scripts/scenes/findings-replayed.txt"), &lines(&findings)));
        assert!(wrong.is_empty(), "playing: {play}\n{}", wrong.join("\n"));
    }
}

/// A model that does everything wrong, which the suite must report.
struct Liar(ModelInfo);

#[async_trait::async_trait]
impl Model for Liar {
    fn info(&self) -> &ModelInfo {
        &self.0
    }

    async fn ask(
        &self,
        _: &ModelRequest,
        deltas: DeltaSink<'_>,
        _: &CancellationToken,
    ) -> Result<ModelReply, ModelFault> {
        deltas("one thing");
        Ok(ModelReply { text: "another".to_owned(), ..Default::default() })
    }
}

impl Subject for Liar {
    fn model(&self, _: Scene) -> Result<Arc<dyn Model>, String> {
        Ok(Arc::new(Self(self.0.clone())))
    }
}

#[tokio::test]
async fn the_suite_finds_what_is_wrong() {
    let able = Capabilities { tools: true, json_schema: true, grammar: true, ..Capabilities::default() };
    let info = ModelInfo {
        id: "liar/one".to_owned(),
        provider: "liar".to_owned(),
        window: None,
        window_from: None,
        unpriced: false,
        price_input: None,
        price_output: None,
        capabilities: able,
    };
    let findings = check_model(&Liar(info)).await;
    assert_eq!(failures(&findings).len(), findings.len(), "{}", lines(&findings));
}
