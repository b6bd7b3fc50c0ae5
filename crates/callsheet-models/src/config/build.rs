//! Builds a model behind the port from settings. Building opens nothing: the first request does.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use callsheet_runtime::ports::{Capabilities, Model, ModelFault, ModelInfo, WindowFrom};
use secrecy::SecretString;

use super::{Constrain, Dialect, ModelRef, Provider, ProviderSettings, SettingsError};
use crate::fault::{FaultContext, communication};
use crate::scripted::{ScriptError, Scripted};
use crate::served::{LEARN_TIMEOUT, Parts, ServedModel};
use crate::transport::Transport;
use crate::wire::Wire;

/// How long a server may take to answer whether it is there.
const ASK_TIMEOUT: Duration = Duration::from_secs(5);

/// Where variables are read from. Tests provide their own.
pub trait Environment: Sync {
    /// The value of a variable, `None` if unset.
    fn variable(&self, name: &str) -> Option<String>;
}

/// The environment of this process.
#[derive(Clone, Copy, Debug, Default)]
pub struct ProcessEnvironment;

impl Environment for ProcessEnvironment {
    fn variable(&self, name: &str) -> Option<String> {
        std::env::var(name).ok()
    }
}

impl Environment for BTreeMap<String, String> {
    fn variable(&self, name: &str) -> Option<String> {
        self.get(name).cloned()
    }
}

/// Why a model could not be built. The user must fix it; a retry does not help.
#[derive(Debug, thiserror::Error)]
pub enum BuildError {
    /// The provider's settings are wrong.
    #[error(transparent)]
    Settings(#[from] SettingsError),
    /// The key is not set.
    #[error("{provider} needs a key: set the environment variable {variable}")]
    MissingKey {
        /// Provider.
        provider: String,
        /// Variable.
        variable: String,
    },
    /// The value cannot be a key.
    #[error("the value of {variable} cannot be a key: it contains {what}")]
    StrayKey {
        /// Variable.
        variable: String,
        /// What does not belong in a key.
        what: String,
    },
    /// Another crate builds embedded models, from [`ModelRef::Embedded`].
    #[error("`{name}` is an embedded model, which this crate does not run")]
    Embedded {
        /// Name as requested.
        name: String,
    },
    /// The script is wrong.
    #[error(transparent)]
    Script(#[from] ScriptError),
}

/// The model `model` of a provider.
pub fn build(provider: &Provider, model: &str, environment: &dyn Environment) -> Result<Arc<dyn Model>, BuildError> {
    Ok(match served(provider, model, environment)? {
        Some(model) => Arc::new(model),
        None => Arc::new(Scripted::open(std::path::Path::new(model))?.of(provider)),
    })
}

/// The model a reference names.
pub fn build_ref(
    reference: &ModelRef,
    configured: &BTreeMap<String, ProviderSettings>,
    environment: &dyn Environment,
) -> Result<Arc<dyn Model>, BuildError> {
    match reference {
        ModelRef::Scripted(path) => {
            let model = Scripted::open(path)?;
            let name = Dialect::Scripted.as_str();
            Ok(Arc::new(match configured.get(name) {
                Some(_) => model.of(&Provider::resolve(name, configured)?),
                None => model,
            }))
        }
        ModelRef::Embedded(_) => Err(BuildError::Embedded { name: reference.to_string() }),
        ModelRef::Provided { provider, model } => build(&Provider::resolve(provider, configured)?, model, environment),
    }
}

/// Like [`build`], but also asks a server for the model's window and abilities, if its dialect can tell them, for at
/// most half a second. What the server does not tell stays unknown; the first call reports what is wrong.
pub async fn connect(
    provider: &Provider,
    model: &str,
    environment: &dyn Environment,
) -> Result<Arc<dyn Model>, BuildError> {
    let Some(built) = served(provider, model, environment)?.filter(|_| tells(provider, model)) else {
        return build(provider, model, environment);
    };
    if !matches!(tokio::time::timeout(LEARN_TIMEOUT, built.learn()).await, Ok(Ok(()))) {
        tracing::debug!(provider = provider.name, "the server did not describe its model");
    }
    Ok(Arc::new(built))
}

/// Whether a server answers and accepts its key. `None` for a script, which has no server. A server with the interface
/// of a vendor need not list its models.
///
/// # Errors
/// Settings from which no model can be built, such as a key that is not set.
pub async fn ask_server(
    provider: &Provider,
    model: &str,
    environment: &dyn Environment,
) -> Result<Option<Result<(), ModelFault>>, BuildError> {
    let Some(built) = served(provider, model, environment)? else {
        return build(provider, model, environment).map(|_| None);
    };
    let lists = !matches!(provider.dialect, Dialect::Llamacpp | Dialect::Ollama);
    let asked = tokio::time::timeout(ASK_TIMEOUT, built.greet()).await;
    let silent = || communication(format!("{} does not answer at {}", provider.name, provider.base_url));
    Ok(Some(match asked.unwrap_or_else(|_| Err(silent())) {
        Err(ModelFault::Configuration { message }) if lists && message.contains("(404)") => Ok(()),
        asked => asked,
    }))
}

/// Whether to ask a server about its model: if its dialect has a question for that, and no vendor row has the answer.
fn tells(provider: &Provider, model: &str) -> bool {
    let asks = matches!(provider.dialect, Dialect::Openai | Dialect::Llamacpp | Dialect::Ollama);
    let row = super::vendors::row(provider);
    let is_known = row.is_some_and(|row| provider.is_at(row) && row.window(model).is_some());
    asks && !is_known
}

/// A model behind a wire. `None` if it is a script.
fn served(provider: &Provider, model: &str, environment: &dyn Environment) -> Result<Option<ServedModel>, BuildError> {
    let Some(wire) = Wire::of(provider.dialect) else {
        let is_script = provider.dialect == Dialect::Scripted;
        return if is_script { Ok(None) } else { Err(BuildError::Embedded { name: model.to_owned() }) };
    };
    let row = super::vendors::row(provider);
    let transport = Transport::new(&provider.base_url, key(provider, environment)?, fault_context(provider, model));
    Ok(Some(ServedModel::new(Parts {
        info: info(provider, model, capabilities(provider, model)),
        model: row.map_or_else(|| model.to_owned(), |row| row.model(model)),
        dialect: provider.dialect,
        local: provider.local,
        shape: row.map(|row| row.shape(&wire, model)).unwrap_or_default(),
        transport: transport.with_silence(provider.silence).speaking(&wire),
        wire,
        prices: provider.prices_of(model),
        native: super::vendors::native_tools(provider, model),
        vision_set: provider.vision,
        adaptation: provider.adaptation.clone(),
    })))
}

/// The strongest constraint that the settings or the vendor row request and the wire supports.
fn capabilities(provider: &Provider, model: &str) -> Capabilities {
    let row = super::vendors::row(provider);
    let json_schema = row.is_none_or(|row| row.json_schema);
    Capabilities {
        tools: true,
        json_schema,
        grammar: provider.dialect == Dialect::Llamacpp && provider.constrain == Constrain::Grammar,
        twins: json_schema && provider.constrain == Constrain::Schema,
        counts_tokens: false,
        temperature: row.is_none_or(|row| row.takes_temperature(model)),
        seed: row.is_none_or(|row| row.seed),
        vision: provider.vision.unwrap_or_else(|| row.is_some_and(|row| row.sees_pictures(model))),
    }
}

/// The providers that have what they need here: a key, or no need of one. Whether a server answers is not asked.
pub fn usable(configured: &BTreeMap<String, ProviderSettings>, environment: &dyn Environment) -> BTreeSet<String> {
    let vendors = super::vendors().iter().map(|vendor| vendor.name.as_str());
    let names = vendors.chain(configured.keys().map(String::as_str));
    let has_key =
        |name: &&str| Provider::resolve(name, configured).is_ok_and(|provider| key(&provider, environment).is_ok());
    // Models without a server are always there.
    let own = [Dialect::Scripted, Dialect::Embedded].map(Dialect::as_str);
    names.filter(has_key).chain(own).map(str::to_owned).collect()
}

fn key(provider: &Provider, environment: &dyn Environment) -> Result<Option<SecretString>, BuildError> {
    let Some(variable) = &provider.api_key_env else { return Ok(None) };
    let value = environment.variable(variable).map(|text| text.trim().to_owned()).filter(|text| !text.is_empty());
    match value {
        Some(text) => match stray_in(&text) {
            Some(what) => Err(BuildError::StrayKey { variable: variable.clone(), what }),
            None => Ok(Some(SecretString::from(text))),
        },
        None => Err(BuildError::MissingKey { provider: provider.name.clone(), variable: variable.clone() }),
    }
}

/// What a value contains that no key can contain: it was copied with surrounding text, or with its name. Never returns
/// the key itself.
fn stray_in(key: &str) -> Option<String> {
    let stray = key.chars().enumerate().find(|(_, c)| !c.is_ascii_graphic() || matches!(c, '"' | '\'' | '`'));
    let (at, c) = stray?;
    let what = match c {
        '\n' | '\r' => "a line break".to_owned(),
        ' ' if key.get(..at).is_some_and(|word| word.eq_ignore_ascii_case("bearer")) => {
            "the word Bearer at the start".to_owned()
        }
        c if c.is_whitespace() => "a blank".to_owned(),
        '"' | '\'' | '`' => "a quotation mark".to_owned(),
        _ => format!("the character U+{:04X}", u32::from(c)),
    };
    Some(format!("{what} (character {})", at + 1))
}

fn info(provider: &Provider, model: &str, capabilities: Capabilities) -> ModelInfo {
    let (window, window_from) = match (provider.window, super::vendors::window(provider, model)) {
        (Some(set), _) => (Some(set), Some(WindowFrom::Setting)),
        (None, Some(of_row)) => (Some(of_row), Some(WindowFrom::Vendor)),
        (None, None) => (None, None),
    };
    ModelInfo {
        id: format!("{}/{model}", provider.name),
        provider: provider.name.clone(),
        window,
        window_from,
        unpriced: !provider.prices_of(model).are_known(),
        price_input: provider.prices_of(model).known_input(),
        price_output: provider.prices_of(model).known_output(),
        capabilities,
    }
}

fn fault_context(provider: &Provider, model: &str) -> FaultContext {
    FaultContext {
        provider: provider.name.clone(),
        model: model.to_owned(),
        key_variable: provider.api_key_env.clone(),
    }
}
