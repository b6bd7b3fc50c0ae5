//! What can be used without being configured: servers on this machine's default ports, and keys in the environment.
//! The choice among them is the CLI's.

use std::time::Duration;

use secrecy::SecretString;
use serde_json::json;
use tokio::task::JoinSet;

use crate::config::{Dialect, Environment, Provider, vendors};
use crate::fault::FaultContext;
use crate::transport::Transport;
use crate::wire::{llamacpp, ollama};

/// Time all servers together have to answer.
pub const PROBE_TIME: Duration = Duration::from_millis(200);

/// Models whose window is asked for, so that a machine with hundreds answers in time.
const MAX_DESCRIBED: usize = 16;

/// A server that answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Running {
    /// Provider name, a vendor row.
    pub provider: String,
    /// Wire.
    pub dialect: Dialect,
    /// Address.
    pub base_url: String,
    /// Its models: loaded ones first, then in the server's order.
    pub models: Vec<RunningModel>,
    /// Calls it works on at once, if it tells.
    pub slots: Option<u32>,
}

/// A model of a running server.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RunningModel {
    /// Name.
    pub name: String,
    /// In memory, so its first call is quick.
    pub loaded: bool,
    /// Context window, tokens, if it was told in time.
    pub window: Option<u32>,
    /// Native tool calling, if told.
    pub tools: Option<bool>,
    /// Size of its file, if told.
    pub bytes: Option<u64>,
    /// It writes text, and does not only turn text into numbers, if told.
    pub writes: Option<bool>,
}

impl Running {
    /// Models that may be asked for text: first those of which that is known.
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
    /// Variable; its value is not read further.
    pub variable: String,
}

/// Vendors with a key in the environment, in the order of `vendors.toml`. Names only.
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

/// Asks the local servers of the vendor rows, all at once, within [`PROBE_TIME`]. Ollama's address may be moved by its
/// own variable `OLLAMA_HOST`.
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

/// Calls a configured provider's server works on at once; `None`: it does not tell, or not within [`PROBE_TIME`].
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

/// Asks the given servers (provider, wire, address) within a time; the order of the answers is the order given.
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

/// What is not answered in time stays unknown; a server that does not list its models in time is not there.
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

/// One after the other on one connection: an answer takes about a millisecond and what is late is left unknown.
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
    // Other programs listen on this port too; only this server has properties with slots.
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

/// `OLLAMA_HOST` is a host, `host:port` or a URL; a server's `0.0.0.0` is reached on loopback.
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
