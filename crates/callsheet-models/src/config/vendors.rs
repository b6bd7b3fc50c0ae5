//! Vendors known by name: rows of `vendors.toml`.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use callsheet_runtime::ports::NativeTool;
use serde::Deserialize;

use super::{Constrain, Dialect};
use crate::wire::schema::SchemaForm;
use crate::wire::{Shape, Wire};

/// One row.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Vendor {
    /// Provider name.
    pub name: String,
    /// Protocol.
    pub dialect: Dialect,
    /// Address including the version.
    pub base_url: String,
    /// Variable that holds the key. `None` if no key is needed.
    #[serde(default)]
    pub api_key_env: Option<String>,
    /// Model to use if only the key is set and nothing is configured.
    #[serde(default)]
    pub default_model: Option<String>,
    /// Whether it accepts a JSON schema for the reply.
    #[serde(default = "yes")]
    pub json_schema: bool,
    /// How whole replies are constrained.
    #[serde(default)]
    pub constrain: Constrain,
    /// Context windows in tokens, by prefix of the model name.
    #[serde(default)]
    pub windows: BTreeMap<String, u32>,
    /// Prefixes of the models that see pictures, where the server does not say it.
    #[serde(default)]
    pub vision_for: Vec<String>,
    /// Prefixes of those among them that see none.
    #[serde(default)]
    pub vision_not_for: Vec<String>,
    /// Whether it accepts a sampling seed.
    #[serde(default = "yes")]
    pub seed: bool,
    /// Prefixes of the models that accept a temperature, if others refuse it. Empty if all accept it.
    #[serde(default)]
    pub temperature_only_for: Vec<String>,
    /// Names of parameters, by their default names.
    #[serde(default)]
    pub names: BTreeMap<String, String>,
    /// Prefix for model names without a slash.
    #[serde(default)]
    pub model_prefix: String,
    /// The member of a message with calls that returns the thinking behind them.
    #[serde(default)]
    pub thinking_member: Option<String>,
    /// Prefixes of the models that refuse calls of earlier turns without a signature.
    #[serde(default)]
    pub signed_calls_for: Vec<String>,
    /// Whether it runs on the user's machine.
    #[serde(default)]
    pub local: bool,
    /// Tools that its models were trained on, as other forms of the canonical ones (spec "Templates" 14).
    #[serde(default)]
    pub native_tools: Vec<NativeTool>,
    /// Prefixes of the models that know none of these tools.
    #[serde(default)]
    pub native_tools_not_for: Vec<String>,
}

impl Vendor {
    /// The window of a model: that of the longest matching prefix.
    pub fn window(&self, model: &str) -> Option<u32> {
        let fits = self.windows.iter().filter(|(beginning, _)| model.starts_with(beginning.as_str()));
        fits.max_by_key(|(beginning, _)| beginning.len()).map(|(_, tokens)| *tokens)
    }

    /// Whether a model is known to see pictures.
    pub fn sees_pictures(&self, model: &str) -> bool {
        begins(model, &self.vision_for) && !begins(model, &self.vision_not_for)
    }

    /// Whether a model accepts a sampling temperature.
    pub fn takes_temperature(&self, model: &str) -> bool {
        self.temperature_only_for.is_empty() || begins(model, &self.temperature_only_for)
    }

    /// The vendor's name for a model.
    pub(super) fn model(&self, model: &str) -> String {
        if model.contains('/') { model.to_owned() } else { format!("{}{model}", self.model_prefix) }
    }

    /// How requests to a model differ within their dialect.
    pub(super) fn shape(&self, wire: &Wire, model: &str) -> Shape {
        Shape {
            schema: match (self.json_schema, self.local) {
                (false, _) => SchemaForm::Unsupported,
                (true, true) => SchemaForm::Whole,
                (true, false) => wire.schema,
            },
            thinks: !self.takes_temperature(model),
            thinking_member: self.thinking_member.clone(),
            signed_calls: begins(model, &self.signed_calls_for),
        }
    }
}

/// Whether the name of a model has one of these prefixes.
fn begins(model: &str, beginnings: &[String]) -> bool {
    beginnings.iter().any(|beginning| model.starts_with(beginning.as_str()))
}

fn yes() -> bool {
    true
}

#[derive(Deserialize)]
struct Rows {
    vendor: Vec<Vendor>,
}

static VENDORS: LazyLock<Vec<Vendor>> = LazyLock::new(|| {
    // The file is part of the build and a test reads it, so an error here cannot reach a user.
    toml::from_str::<Rows>(include_str!("../../vendors.toml")).map(|rows| rows.vendor).unwrap_or_default()
});

/// All rows, in the order of preference for the automatic choice.
pub fn vendors() -> &'static [Vendor] {
    &VENDORS
}

/// The row of a provider: the one with its name, or the one that its dialect is named after.
pub(super) fn row(provider: &super::Provider) -> Option<&'static Vendor> {
    vendors().iter().find(|vendor| vendor.name == provider.name).or_else(|| of_dialect(provider.dialect))
}

/// The window of a model.
pub(super) fn window(provider: &super::Provider, model: &str) -> Option<u32> {
    row(provider)?.window(model)
}

/// The native tools of a model.
pub(super) fn native_tools(provider: &super::Provider, model: &str) -> Vec<NativeTool> {
    let row = row(provider).filter(|row| !begins(model, &row.native_tools_not_for));
    row.map(|row| row.native_tools.clone()).unwrap_or_default()
}

/// The vendor that a dialect is named after, for providers with a name of their own. OpenAI chat has none: whoever uses
/// it must give an address.
pub(super) fn of_dialect(dialect: Dialect) -> Option<&'static Vendor> {
    vendors().iter().find(|vendor| vendor.dialect == dialect && dialect != Dialect::Openai)
}
