//! Models by phase and wish. Each is built once and kept.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, PoisonError};

use callsheet_app::Advice;
use callsheet_core::nouns::Phase;
use callsheet_models::config::{
    Environment, ModelRef, ProcessEnvironment, Provider, ProviderSettings, build_ref, connect,
};
use callsheet_runtime::ports::ModelSource;
use callsheet_runtime::ports::{Model, ModelFault, ModelInfo};
use tokio::task::JoinSet;

use crate::cli::Failure;
use crate::config::{Config, Origin};

use super::free::Free;
use super::{Choice, Tape, embedded, list_models};

/// The models of one run.
pub struct Models {
    chosen: ModelRef,
    /// Whether a flag or the environment names the chosen model, so that no wish overrides it.
    forced: bool,
    phases: BTreeMap<&'static str, ModelRef>,
    providers: BTreeMap<String, ProviderSettings>,
    built: Mutex<BTreeMap<ModelRef, Arc<dyn Model>>>,
    refused: Mutex<BTreeSet<String>>,
    /// The providers whose models are asked without grammars and schemas.
    unconstrained: BTreeSet<String>,
    /// The providers whose models get neither temperature nor seed.
    unsampled: BTreeSet<String>,
    tape: Tape,
    warn: Box<dyn Fn(&str) + Send + Sync>,
}

/// The keys of `[providers.NAME]` from which a provider is built.
const PARTS: [&str; 14] = [
    "dialect",
    "base_url",
    "api_key_env",
    "slots",
    "window",
    "vision",
    "first_byte_seconds",
    "idle_seconds",
    "omit",
    "max_tokens_name",
    "max_output",
    "price_input",
    "price_cached_input",
    "price_output",
];

/// The typed settings of `[providers.NAME]`.
pub fn provider_settings(config: &Config) -> BTreeMap<String, ProviderSettings> {
    config
        .providers()
        .into_iter()
        .map(|name| {
            let mut table = serde_json::Map::new();
            for part in PARTS {
                if let Some(value) = config.provider(&name, part) {
                    table.insert(part.to_owned(), value.clone());
                }
            }
            // The key table of the configuration has already checked the types.
            let settings = serde_json::from_value(serde_json::Value::Object(table)).unwrap_or_default();
            (name, settings)
        })
        .collect()
}

/// How many requests each provider accepts at the same time, without asking a server.
pub fn provider_slots(config: &Config) -> BTreeMap<String, usize> {
    let settings = provider_settings(config);
    let vendors = callsheet_models::config::vendors().iter().map(|vendor| vendor.name.as_str());
    let names: BTreeSet<&str> = vendors.chain(settings.keys().map(String::as_str)).collect();
    let slots = |name: &str| usize::try_from(Provider::resolve(name, &settings).ok()?.slots_or_default()).ok();
    names.into_iter().filter_map(|name| Some((name.to_owned(), slots(name)?))).collect()
}

/// The known secrets, each with a name that replaces it: the values of key variables, and the credentials in
/// addresses.
pub fn secrets(settings: &BTreeMap<String, ProviderSettings>) -> Vec<(String, String)> {
    let vendors = callsheet_models::config::vendors().iter().filter_map(|vendor| vendor.api_key_env.clone());
    let own = settings.values().filter_map(|provider| provider.api_key_env.clone());
    let of_variable = |name: String| Some((name.clone(), std::env::var(&name).ok()?));
    let mut secrets: Vec<_> = vendors.chain(own).filter_map(of_variable).collect();
    for (name, address) in settings.iter().filter_map(|(name, one)| Some((name, one.base_url.as_deref()?))) {
        let host = address.split_once("://").map_or(address, |(_, rest)| rest);
        let host = host.split(['/', '?', '#']).next().unwrap_or_default();
        let Some((person, _)) = host.rsplit_once('@') else { continue };
        let password = person.split_once(':').map_or(person, |(_, password)| password);
        let plain = percent_decoded(password);
        secrets.extend([password.to_owned(), plain].map(|one| (format!("base_url of {name}"), one)));
    }
    secrets
}

/// The key variables of these providers that are not set, each with its provider.
pub fn unset_keys(config: &Config, providers: &BTreeSet<String>) -> Vec<(String, String)> {
    let settings = provider_settings(config);
    let is_set = |name: &String| std::env::var(name).is_ok_and(|value| !value.trim().is_empty());
    let unset = |provider: &String| {
        let variable = Provider::resolve(provider, &settings).ok()?.api_key_env?;
        (!is_set(&variable)).then(|| (provider.clone(), variable))
    };
    providers.iter().filter_map(unset).collect()
}

fn percent_decoded(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((first, after)) = rest.split_first() {
        let code = after.get(..2).filter(|_| *first == b'%').and_then(|two| std::str::from_utf8(two).ok());
        match code.and_then(|code| u8::from_str_radix(code, 16).ok()) {
            Some(byte) => {
                bytes.push(byte);
                rest = after.get(2..).unwrap_or_default();
            }
            None => {
                bytes.push(*first);
                rest = after;
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// The providers with `constrain = false` or `sampling = false`.
fn without(config: &Config, part: &str) -> BTreeSet<String> {
    let told = |name: &String| config.provider(name, part).and_then(serde_json::Value::as_bool);
    config.providers().into_iter().filter(|name| told(name) == Some(false)).collect()
}

/// The name of the model for a phase of a run, as far as the configuration determines it without asking a provider
/// (spec 7.9). `began` is the model with which the run began, `wish` the model of a skill.
pub fn configured(config: &Config, phase: Phase, wish: Option<&str>, began: Option<&str>) -> Option<String> {
    let of_phase = config.values.get(phase_key(phase)).and_then(|value| value.value.as_str());
    let (wish, of_phase) = if is_forced(config) { (None, None) } else { (wish, of_phase) };
    wish.or(of_phase).or(began).map(str::to_owned)
}

/// Whether a flag or the environment names the chosen model, so that no wish overrides it.
pub fn is_forced(config: &Config) -> bool {
    let model = config.values.get("model");
    model.is_some_and(|value| matches!(value.origin, Origin::Flag(_) | Origin::Environment(_)))
}

/// The key of `[models]` for a phase. Reviews, merges and joins count as execution, a continuation as planning.
fn phase_key(phase: Phase) -> &'static str {
    match phase {
        Phase::Route | Phase::Plan | Phase::Continue => "models.plan",
        Phase::Refine => "models.refine",
        Phase::Execute | Phase::Review | Phase::Merge | Phase::Join => "models.execute",
        Phase::Iterate => "models.iterate",
    }
}

impl Models {
    /// The models from a configuration and a choice. Connects to nothing.
    ///
    /// # Errors
    /// A name in `[models]` is invalid.
    pub fn new(
        config: &Config,
        choice: &Choice,
        tape: Tape,
        warn: Box<dyn Fn(&str) + Send + Sync>,
    ) -> Result<Self, Failure> {
        let mut phases = BTreeMap::new();
        for key in [Phase::Plan, Phase::Refine, Phase::Execute, Phase::Iterate].map(phase_key) {
            if let Some(value) = config.values.get(key) {
                let text = value.value.as_str().unwrap_or_default();
                let reference = text.parse().map_err(|fault: callsheet_models::config::ModelRefError| {
                    Failure::usage(format!("{}: {fault}", value.origin), "")
                })?;
                phases.insert(key, reference);
            }
        }
        Ok(Self {
            chosen: choice.model.clone(),
            forced: is_forced(config),
            phases,
            providers: provider_settings(config),
            unconstrained: without(config, "constrain"),
            unsampled: without(config, "sampling"),
            built: Mutex::default(),
            refused: Mutex::default(),
            tape,
            warn,
        })
    }

    /// Asks local servers about their models before the first call. Each distinct model takes at most half a second.
    pub async fn connect(&self) {
        let mut references: BTreeSet<ModelRef> = self.phases.values().cloned().collect();
        references.insert(self.chosen.clone());
        let mut asked = JoinSet::new();
        for reference in references {
            let ModelRef::Provided { provider, model } = &reference else { continue };
            let Ok(provider) = Provider::resolve(provider, &self.providers) else { continue };
            let model = model.clone();
            asked.spawn(async move { Some((reference, connect(&provider, &model, &ProcessEnvironment).await.ok()?)) });
        }
        // If one panicked, the model is built when it is needed.
        while let Some(connected) = asked.join_next().await {
            if let Ok(Some((reference, model))) = connected {
                self.keep(reference, model);
            }
        }
    }

    /// What is known of the models of connected providers.
    pub fn infos(&self) -> Vec<ModelInfo> {
        let built = self.built.lock().unwrap_or_else(PoisonError::into_inner);
        let provided = built.iter().filter(|(reference, _)| matches!(reference, ModelRef::Provided { .. }));
        provided.map(|(_, model)| model.info().clone()).collect()
    }

    /// Builds every model that a phase may use, so that faults are reported before a run is created. Models that
    /// skills ask for are checked only when they are used, because the chosen model can replace them.
    ///
    /// # Errors
    /// A provider does not exist, a key is not set, or this build cannot run a model.
    pub fn check(&self) -> Result<(), Failure> {
        if matches!(self.tape, Tape::Replay(_)) {
            return Ok(());
        }
        for phase in [Phase::Plan, Phase::Refine, Phase::Execute, Phase::Iterate] {
            if let Err(fault) = self.get(self.reference(phase)) {
                let what = format!("can't use the model {}: {fault}", self.reference(phase));
                let advice = Advice::from("fix that, or choose another model with --model").and(list_models());
                return Err(Failure::internal(what, advice));
            }
        }
        Ok(())
    }

    /// A model without a known price that a phase may use.
    pub fn unpriced(&self) -> Option<ModelInfo> {
        let phases = [Phase::Plan, Phase::Refine, Phase::Execute, Phase::Iterate];
        let mut models = phases.into_iter().filter_map(|phase| self.get(self.reference(phase)).ok());
        models.find(|model| model.info().unpriced).map(|model| model.info().clone())
    }

    /// How many requests each provider accepts at the same time: as configured, or else as it reported, or else the
    /// default for its kind.
    pub fn slots(&self, choice: &Choice) -> BTreeMap<String, usize> {
        let mut slots = BTreeMap::new();
        let told = |name: &str| match &choice.model {
            ModelRef::Provided { provider, .. } if provider == name => choice.slots,
            _ => None,
        };
        let references = self.phases.values().chain([&self.chosen]);
        let named = references.filter_map(|reference| match reference {
            ModelRef::Provided { provider, .. } => Some(provider.clone()),
            _ => None,
        });
        for name in named.chain(self.providers.keys().cloned()) {
            if let Ok(provider) = Provider::resolve(&name, &self.providers) {
                let count = provider.slots.or_else(|| told(&name)).unwrap_or_else(|| provider.slots_or_default());
                slots.insert(name, usize::try_from(count).unwrap_or(1));
            }
        }
        slots
    }

    fn reference(&self, phase: Phase) -> &ModelRef {
        self.phases.get(phase_key(phase)).filter(|_| !self.forced).unwrap_or(&self.chosen)
    }

    fn keep(&self, reference: ModelRef, model: Arc<dyn Model>) -> Arc<dyn Model> {
        let provider = match &reference {
            ModelRef::Provided { provider, .. } => provider.as_str(),
            ModelRef::Embedded(_) => "embedded",
            ModelRef::Scripted(_) => "scripted",
        };
        let model = if self.unconstrained.contains(provider) { Free::unconstrained(model) } else { model };
        let model = if self.unsampled.contains(provider) { Free::unsampled(model) } else { model };
        let model = match &self.tape {
            Tape::Record(recording) => recording.record(model),
            _ => model,
        };
        let mut built = self.built.lock().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(built.entry(reference).or_insert(model))
    }

    /// The model that a skill or a template asks for, unless the chosen model must not be overridden. An unusable
    /// model is reported once.
    fn granted(&self, wish: &str) -> Option<Arc<dyn Model>> {
        if self.forced {
            return None;
        }
        let reference = wish.parse::<ModelRef>().map_err(|fault| fault.to_string());
        match reference.and_then(|reference| self.get(&reference).map_err(|fault| fault.to_string())) {
            Ok(model) => Some(model),
            Err(why) => {
                if self.refused.lock().unwrap_or_else(PoisonError::into_inner).insert(wish.to_owned()) {
                    (self.warn)(&format!("can't use the model {wish}, which a skill or a template requests: {why}"));
                }
                None
            }
        }
    }

    fn get(&self, reference: &ModelRef) -> Result<Arc<dyn Model>, ModelFault> {
        if let Some(model) = self.built.lock().unwrap_or_else(PoisonError::into_inner).get(reference) {
            return Ok(Arc::clone(model));
        }
        let fault = |message: String| ModelFault::Configuration { message };
        let model = match (&self.tape, reference) {
            (Tape::Replay(cassettes), _) => {
                cassettes.replay(&reference.to_string()).map_err(|error| fault(error.to_string()))?
            }
            (_, ModelRef::Embedded(path)) => embedded::load(path)?,
            _ => build_ref(reference, &self.providers, &ProcessEnvironment as &dyn Environment)
                .map_err(|error| fault(error.to_string()))?,
        };
        Ok(self.keep(reference.clone(), model))
    }
}

/// No model, for commands that ask none.
#[derive(Clone, Copy, Debug)]
pub struct NoModels;

impl ModelSource for NoModels {
    fn model(&self, _: Phase, _: Option<&str>) -> Result<Arc<dyn Model>, ModelFault> {
        Err(ModelFault::Configuration { message: "no model is chosen".to_owned() })
    }

    fn models(&self, phase: Phase, _: &[&str]) -> Result<Vec<Arc<dyn Model>>, ModelFault> {
        self.model(phase, None).map(|model| vec![model])
    }
}

impl ModelSource for Models {
    fn model(&self, phase: Phase, wish: Option<&str>) -> Result<Arc<dyn Model>, ModelFault> {
        match wish.and_then(|wish| self.granted(wish)) {
            Some(model) => Ok(model),
            None => self.get(self.reference(phase)),
        }
    }

    fn models(&self, phase: Phase, wishes: &[&str]) -> Result<Vec<Arc<dyn Model>>, ModelFault> {
        let mut models: Vec<Arc<dyn Model>> = Vec::new();
        for model in wishes.iter().filter_map(|wish| self.granted(wish)) {
            if models.iter().all(|known| known.info().id != model.info().id) {
                models.push(model);
            }
        }
        if models.is_empty() {
            models.push(self.get(self.reference(phase))?);
        }
        Ok(models)
    }
}
