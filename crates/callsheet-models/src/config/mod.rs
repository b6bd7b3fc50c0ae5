//! Typed settings of providers, as written under `[providers.NAME]` of `config.toml`, the vendors known by name, and
//! the building of a model from both.

mod build;
mod model_ref;
mod prices;
mod vendors;

use std::collections::BTreeMap;
use std::time::Duration;

use serde::{Deserialize, Serialize};

pub use build::{BuildError, Environment, ProcessEnvironment, ask_server, build, build_ref, connect, usable};
pub use model_ref::{ModelRef, ModelRefError};
pub use prices::{Prices, price_source};
pub use vendors::{Vendor, vendors};

pub use crate::adapt::Adaptation;
use crate::transport::Silence;

/// The protocol that a provider speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Dialect {
    /// OpenAI chat completions and everything compatible with it.
    Openai,
    /// OpenAI responses.
    OpenaiResponses,
    /// Anthropic messages.
    Anthropic,
    /// Gemini `generateContent`.
    Gemini,
    /// Ollama's own `/api/chat`.
    Ollama,
    /// A llama.cpp server: chat completions with grammars.
    Llamacpp,
    /// Replies from a file.
    Scripted,
    /// A GGUF file inside this process.
    Embedded,
}

impl Dialect {
    /// The name as written in `config.toml`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Openai => "openai",
            Self::OpenaiResponses => "openai-responses",
            Self::Anthropic => "anthropic",
            Self::Gemini => "gemini",
            Self::Ollama => "ollama",
            Self::Llamacpp => "llamacpp",
            Self::Scripted => "scripted",
            Self::Embedded => "embedded",
        }
    }

    /// The address as the wire needs it, however it was written: with the version if the wire's paths have none,
    /// without it if they have one. An address with its own path keeps it.
    fn address(self, written: &str) -> String {
        let (plain, query) = match written.trim().split_once('?') {
            Some((plain, query)) => (plain, format!("?{query}")),
            None => (written.trim(), String::new()),
        };
        let mut plain = with_scheme(plain.trim_end_matches('/'));
        // The address was copied together with the path of a call.
        while let Some(shorter) = CALL_PATHS.iter().find_map(|path| plain.strip_suffix(path)) {
            plain = shorter.trim_end_matches('/').to_owned();
        }
        let version = match self {
            Self::Openai | Self::OpenaiResponses | Self::Anthropic => "v1",
            Self::Gemini => "v1beta",
            Self::Ollama | Self::Llamacpp | Self::Scripted | Self::Embedded => {
                let own = ["/v1", "/api"].into_iter().find_map(|path| plain.strip_suffix(path));
                return format!("{}{query}", own.unwrap_or(&plain));
            }
        };
        let bare = reqwest::Url::parse(&plain).is_ok_and(|url| url.path() == "/") && query.is_empty();
        if bare { format!("{plain}/{version}") } else { format!("{plain}{query}") }
    }

    /// Models without a server are named after their dialect, as in `scripted:FILE`. A table of that name needs no
    /// `dialect`.
    fn of_own_name(name: &str) -> Option<Self> {
        [Self::Scripted, Self::Embedded].into_iter().find(|dialect| dialect.as_str() == name)
    }
}

/// Paths of calls below a provider's address.
const CALL_PATHS: [&str; 10] = [
    "/chat/completions",
    "/completions",
    "/responses",
    "/messages",
    "/models",
    "/api/chat",
    "/api/generate",
    "/api/tags",
    "/embeddings",
    "/completion",
];

/// Adds a scheme to an address without one: plain HTTP for a server on this machine or network, HTTPS for others.
fn with_scheme(address: &str) -> String {
    if address.is_empty() || address.contains("://") {
        return address.to_owned();
    }
    let host = address.split('/').next().unwrap_or_default();
    let host = host.rsplit_once(':').map_or(host, |(host, _)| host).trim_matches(['[', ']']);
    let is_near = match host.parse::<std::net::IpAddr>() {
        Ok(std::net::IpAddr::V4(address)) => address.is_loopback() || address.is_private() || address.is_unspecified(),
        Ok(std::net::IpAddr::V6(address)) => address.is_loopback() || address.is_unique_local(),
        Err(_) => !host.contains('.') || host.ends_with(".local") || host.ends_with(".internal"),
    };
    format!("{}://{address}", if is_near { "http" } else { "https" })
}

/// How a provider constrains whole replies, so that their form cannot be wrong.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Constrain {
    /// By a grammar of the Markdown.
    Grammar,
    /// By the JSON schema of the reply's JSON form.
    Schema,
    /// Not at all: large models write the Markdown correctly, and JSON costs them tokens.
    #[default]
    Off,
}

/// One `[providers.NAME]` table. Missing values come from the vendor row of the same name.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ProviderSettings {
    /// Protocol.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dialect: Option<Dialect>,
    /// Address with or without the version, such as `http://127.0.0.1:8000/v1`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub base_url: Option<String>,
    /// Environment variable that holds the key; never the key itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub api_key_env: Option<String>,
    /// The maximum number of calls in flight at once.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub slots: Option<u32>,
    /// Context window, tokens.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub window: Option<u32>,
    /// Whether its models see pictures.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub vision: Option<bool>,
    /// Seconds of silence before the first byte of an answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub first_byte_seconds: Option<u32>,
    /// Seconds of silence within an answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub idle_seconds: Option<u32>,
    /// Parameters not to send, such as `seed`. `system` moves that text into the first message.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub omit: Option<Vec<String>>,
    /// The provider's name for the limit of a reply, such as `max_completion_tokens`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_tokens_name: Option<String>,
    /// The largest limit of a reply that it accepts, in tokens.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_output: Option<u32>,
    /// US dollars per million input tokens.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub price_input: Option<f64>,
    /// US dollars per million input tokens that the provider had cached.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub price_cached_input: Option<f64>,
    /// US dollars per million output tokens.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub price_output: Option<f64>,
}

/// A provider with all defaults filled in.
#[derive(Clone, Debug, PartialEq)]
pub struct Provider {
    /// Name: the part of a model reference before the first `/`.
    pub name: String,
    /// Protocol.
    pub dialect: Dialect,
    /// Address; empty for scripted and embedded.
    pub base_url: String,
    /// Variable that must hold the key. `None` if no key is sent.
    pub api_key_env: Option<String>,
    /// The maximum number of calls in flight at once, if set; see [`Provider::slots_or_default`].
    pub slots: Option<u32>,
    /// Context window, if set.
    pub window: Option<u32>,
    /// Whether its models see pictures, if set.
    pub vision: Option<bool>,
    /// How long its server may be silent.
    pub silence: Silence,
    /// Configured prices for all its models; see [`Provider::prices_of`].
    pub prices: Prices,
    /// How whole replies are constrained.
    pub constrain: Constrain,
    /// What is sent differently from the default.
    pub adaptation: Adaptation,
    /// Whether it runs on this machine.
    pub local: bool,
}

/// Why a provider's settings cannot be used. The user must fix them; the text says how.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SettingsError {
    /// The provider is neither configured nor a known vendor.
    #[error(
        "there is no provider `{name}`; add [providers.{name}] with a dialect and a base_url, or use one of: {known}"
    )]
    UnknownProvider {
        /// The requested name.
        name: String,
        /// Names that would work, separated by commas.
        known: String,
    },
    /// The provider has no dialect, and its name is not a known vendor.
    #[error("[providers.{name}] needs `dialect`, because `{name}` is not a known vendor")]
    NoDialect {
        /// Its name.
        name: String,
    },
    /// The provider has no base URL.
    #[error("[providers.{name}] needs `base_url`")]
    NoBaseUrl {
        /// Its name.
        name: String,
    },
}

impl Provider {
    /// Settings of `name`, filled from the vendor row of that name.
    pub fn resolve(name: &str, configured: &BTreeMap<String, ProviderSettings>) -> Result<Self, SettingsError> {
        let vendor = vendors().iter().find(|vendor| vendor.name == name);
        let settings = configured.get(name);
        if settings.is_none() && vendor.is_none() {
            return Err(SettingsError::UnknownProvider { name: name.to_owned(), known: known_names(configured) });
        }
        let settings = settings.cloned().unwrap_or_default();
        let dialect = settings
            .dialect
            .or_else(|| vendor.map(|vendor| vendor.dialect))
            .or_else(|| Dialect::of_own_name(name))
            .ok_or_else(|| SettingsError::NoDialect { name: name.to_owned() })?;
        // A row applies only to its own dialect.
        let vendor = vendor.filter(|vendor| vendor.dialect == dialect).or_else(|| vendors::of_dialect(dialect));
        let own_address = settings.base_url.is_some();
        let base_url = match dialect {
            Dialect::Scripted | Dialect::Embedded => String::new(),
            _ => settings
                .base_url
                .or_else(|| vendor.map(|vendor| vendor.base_url.clone()))
                .ok_or_else(|| SettingsError::NoBaseUrl { name: name.to_owned() })?,
        };
        // A key is never sent to an address that the vendor does not own, unless the settings name its variable.
        let vendor_key = vendor.filter(|_| !own_address).and_then(|vendor| vendor.api_key_env.clone());
        Ok(Self {
            name: name.to_owned(),
            dialect,
            adaptation: Adaptation {
                omitted: settings.omit.into_iter().flatten().collect(),
                names: vendor.map(|row| row.names.clone()).unwrap_or_default(),
                cap_name: settings.max_tokens_name,
                most_output: settings.max_output,
            },
            local: is_loopback(&dialect.address(&base_url)) || matches!(dialect, Dialect::Scripted | Dialect::Embedded),
            base_url: dialect.address(&base_url),
            api_key_env: settings.api_key_env.or(vendor_key),
            constrain: vendor.map(|row| row.constrain).unwrap_or_default(),
            slots: settings.slots,
            window: settings.window,
            vision: settings.vision,
            silence: silence(settings.first_byte_seconds, settings.idle_seconds),
            prices: Prices {
                input: settings.price_input,
                cached_input: settings.price_cached_input,
                cache_write: None,
                output: settings.price_output,
            },
        })
    }

    /// Whether the provider uses the vendor's own address.
    pub(crate) fn is_at(&self, row: &Vendor) -> bool {
        self.dialect.address(&row.base_url) == self.base_url
    }

    /// The maximum number of calls in flight at once: the setting, else one for a server on this machine (a probe
    /// tells whether it has more slots) and eight for a hosted one.
    pub fn slots_or_default(&self) -> u32 {
        self.slots.unwrap_or(if self.local { 1 } else { 8 })
    }
}

/// The configured limits, else the defaults.
fn silence(first_byte: Option<u32>, idle: Option<u32>) -> Silence {
    let seconds = |set: Option<u32>, default| set.map_or(default, |count| Duration::from_secs(u64::from(count)));
    let default = Silence::default();
    Silence { first_byte: seconds(first_byte, default.first_byte), idle: seconds(idle, default.idle) }
}

/// Whether the host of an address is this machine.
pub(crate) fn is_loopback(base_url: &str) -> bool {
    let Ok(url) = reqwest::Url::parse(base_url) else { return false };
    match url.host_str() {
        Some("localhost" | "[::1]") => true,
        Some(host) => host.parse::<std::net::IpAddr>().is_ok_and(|address| address.is_loopback()),
        None => false,
    }
}

fn known_names(configured: &BTreeMap<String, ProviderSettings>) -> String {
    let mut names: Vec<&str> = configured.keys().map(String::as_str).collect();
    names.extend(vendors().iter().map(|vendor| vendor.name.as_str()));
    names.sort_unstable();
    names.dedup();
    names.join(", ")
}
