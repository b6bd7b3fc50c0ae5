//! What can be used without configuration: servers on this machine's default ports, and keys in the environment. The
//! CLI chooses among them.

use std::time::Duration;

use secrecy::SecretString;
use serde_json::json;
use tokio::task::JoinSet;

use crate::config::{Dialect, Environment, Provider, vendors};
use crate::fault::FaultContext;
use crate::transport::Transport;
use crate::wire::{llamacpp, ollama};

/// Time that all servers together have to answer.
pub const PROBE_TIME: Duration = Duration::from_millis(200);

/// How many models are asked for their window, so that a machine with hundreds answers in time.
const MAX_DESCRIBED: usize = 16;

/// A server that answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Running {
    /// Provider name from a vendor row.
    pub provider: String,
    /// Protocol.
    pub dialect: Dialect,
    /// Address.
    pub base_url: String,
    /// Its models: loaded ones first, then in the server's order.
    pub models: Vec<RunningModel>,
    /// How many calls it handles at once, if it reports that.
    pub slots: Option<u32>,
}

/// A model of a running server.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RunningModel {
    /// Name.
    pub name: String,
    /// Whether it is in memory, so that its first call is quick.
    pub loaded: bool,
    /// Context window in tokens, if reported in time.
    pub window: Option<u32>,
    /// Whether it has native tool calling, if reported.
    pub tools: Option<bool>,
    /// Size of its file, if reported.
    pub bytes: Option<u64>,
    /// Whether it writes text, instead of only turning text into numbers, if reported.
    pub writes: Option<bool>,
}

impl Running {
    /// Models that may write text. Those that are known to come first.
    pub fn writers(&self) -> Vec<&RunningModel> {
        let mut writers: Vec<&RunningModel> = self.models.iter().filter(|model| model.writes != Some(false)).collect();
        writers.sort_by_key(|model| model.writes.is_none());
        writers
    }
}

/// A vendor whose key variable is set.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyPresent {
    /// Provider name.
    pub provider: String,
    /// Variable. Its value is not kept.
    pub variable: String,
}

/// Vendors with a key in the environment, in the order of `vendors.toml`. Returns names only.
pub fn keys_present(environment: &dyn Environment) -> Vec<KeyPresent> {
    let present = |variable: &&String| environment.variable(variable).is_some_and(|value| !value.trim().is_empty());
    vendors()
        .iter()
        .filter_map(|vendor| {
            let variable = vendor.api_key_env.as_ref().filter(present)?;
            Some(KeyPresent { provider: vendor.name.clone(), variable: variable.clone() })
        })
        .collect()
}

/// Asks the local servers of the vendor rows, all at once, within [`PROBE_TIME`]. The variable `OLLAMA_HOST` can change
/// Ollama's address.
pub async fn running(environment: &dyn Environment) -> Vec<Running> {
    let mut targets = Vec::new();
    for vendor in vendors() {
        let moved = (vendor.dialect == Dialect::Ollama).then(|| environment.variable("OLLAMA_HOST")).flatten();
        let address = moved.as_deref().and_then(ollama_address).unwrap_or_else(|| vendor.base_url.clone());
        if matches!(vendor.dialect, Dialect::Ollama | Dialect::Llamacpp) {
            targets.push((vendor.name.clone(), vendor.dialect, address));
        }
    }
    running_at(targets, PROBE_TIME).await
}

/// How many calls a configured provider's server handles at once. `None` if it does not tell, or not within
/// [`PROBE_TIME`].
pub async fn slots_of(provider: &Provider, environment: &dyn Environment) -> Option<u32> {
    if provider.dialect != Dialect::Llamacpp {
        return None;
    }
    let key = provider.api_key_env.as_ref().and_then(|variable| environment.variable(variable)).map(SecretString::from);
    let context = FaultContext { provider: provider.name.clone(), ..FaultContext::default() };
    let transport = Transport::new(&provider.base_url, key, context);
    let answer = tokio::time::timeout(PROBE_TIME, transport.get_json(llamacpp::PROPERTIES)).await.ok()?.ok()?;
    llamacpp::properties(&answer).slots
}

/// Asks the given servers (provider, protocol, address) within a time. Returns the answers in the same order.
pub async fn running_at(targets: Vec<(String, Dialect, String)>, time: Duration) -> Vec<Running> {
    let mut tasks = JoinSet::new();
    for (position, (provider, dialect, base_url)) in targets.into_iter().enumerate() {
        tasks.spawn(async move {
            let context = FaultContext { provider: provider.clone(), ..FaultContext::default() };
            let transport = Transport::new(&base_url, None, context);
            let started = Running { provider, dialect, base_url, models: Vec::new(), slots: None };
            let found = match dialect {
                Dialect::Ollama => ask_ollama(&transport, started, time).await,
                Dialect::Llamacpp => ask_llamacpp(&transport, started, time).await,
                _ => None,
            };
            (position, found)
        });
    }
    let mut found: Vec<(usize, Running)> = Vec::new();
    while let Some(joined) = tasks.join_next().await {
        if let Ok((position, Some(running))) = joined {
            found.push((position, running));
        }
    }
    found.sort_by_key(|(position, _)| *position);
    found.into_iter().map(|(_, running)| running).collect()
}

/// What is not answered in time stays unknown. A server that does not list its models in time counts as missing.
async fn ask_ollama(transport: &Transport, mut server: Running, time: Duration) -> Option<Running> {
    let started = tokio::time::Instant::now();
    let lists = async { tokio::join!(transport.get_json(ollama::TAGS), transport.get_json(ollama::LOADED)) };
    let (tags, loaded) = tokio::time::timeout(time, lists).await.ok()?;
    let loaded = loaded.map(|answer| ollama::model_names(&answer)).unwrap_or_default();
    let named = ollama::listed(&tags.ok()?).into_iter().map(|listed| RunningModel {
        loaded: loaded.contains(&listed.name),
        name: listed.name,
        bytes: listed.bytes,
        writes: listed.encodes.then_some(false),
        ..RunningModel::default()
    });
    server.models = named.collect();
    server.models.sort_by_key(|model| !model.loaded);
    let left = time.saturating_sub(started.elapsed());
    let describe = describe_all(transport, &mut server.models);
    if tokio::time::timeout(left, describe).await.is_err() {
        tracing::debug!("some models were not described in time");
    }
    Some(server)
}

/// Asks for one model after the other on one connection. An answer takes about a millisecond; what comes too late stays
/// unknown.
async fn describe_all(transport: &Transport, models: &mut [RunningModel]) {
    for model in models.iter_mut().take(MAX_DESCRIBED) {
        if let Ok(answer) = transport.post_json(ollama::SHOW, &json!({"model": model.name})).await {
            let described = ollama::description(&answer);
            model.window = described.window;
            model.tools = described.tools;
            model.writes = described.writes.or(model.writes);
        }
    }
}

async fn ask_llamacpp(transport: &Transport, mut server: Running, time: Duration) -> Option<Running> {
    let both = async { tokio::join!(transport.get_json(llamacpp::PROPERTIES), transport.get_json(llamacpp::MODELS)) };
    let (properties, models) = tokio::time::timeout(time, both).await.ok()?;
    // Other programs use this port too. Only this server has properties with slots.
    let properties = llamacpp::properties(&properties.ok()?);
    server.slots = properties.slots;
    properties.slots.or(properties.window)?;
    let named = llamacpp::model_names(&models.ok()?).into_iter().map(|name| RunningModel {
        name,
        loaded: true,
        window: properties.window,
        tools: Some(true),
        ..RunningModel::default()
    });
    server.models = named.collect();
    Some(server)
}

/// Reads `OLLAMA_HOST`: a host, `host:port` or a URL. For a server's `0.0.0.0` it returns loopback.
fn ollama_address(text: &str) -> Option<String> {
    let text = text.trim().trim_end_matches('/');
    if text.is_empty() {
        return None;
    }
    let with_scheme = if text.contains("://") { text.to_owned() } else { format!("http://{text}") };
    let mut url = reqwest::Url::parse(&with_scheme).ok()?;
    if url.port().is_none() && !text.contains("://") {
        url.set_port(Some(11434)).ok()?;
    }
    if url.host_str() == Some("0.0.0.0") {
        url.set_host(Some("127.0.0.1")).ok()?;
    }
    Some(url.as_str().trim_end_matches('/').to_owned())
}
