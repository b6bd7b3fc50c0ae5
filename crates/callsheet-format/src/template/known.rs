//! What a library is checked against. The caller provides the data. Missing data are not checked.

use std::collections::{BTreeMap, BTreeSet};

use callsheet_core::nouns::{ToolEffect, ToolSpec};
use callsheet_core::template::is_local_model;

/// Returns the text of `schemas/NAME.json` beside a file, by the file and the name.
pub type FindSchema<'a> = &'a dyn Fn(&str, &str) -> Option<String>;

/// Returns paths of the project that are similar to a misspelt one.
pub type NearPaths<'a> = &'a dyn Fn(&str) -> Vec<String>;

/// The existing models, tools, skills, schemas and paths.
#[derive(Clone, Default)]
pub struct Known<'a> {
    /// The listed models, as `PROVIDER/MODEL` or without the provider.
    pub models: Option<BTreeSet<String>>,
    /// The providers, each with whether it serves models that are not listed.
    pub providers: Option<BTreeMap<String, bool>>,
    /// The canonical names of tools.
    pub tools: Option<BTreeSet<String>>,
    /// The specifications of the tools, with their aliases.
    pub specs: Vec<ToolSpec>,
    /// The names of skills.
    pub skills: Option<BTreeSet<String>>,
    /// Returns the text of `schemas/NAME.json` beside a file.
    pub schema: Option<FindSchema<'a>>,
    /// Whether a path below the project's folder exists.
    pub exists: Option<&'a dyn Fn(&str) -> bool>,
    /// Returns existing paths that are similar to a missing one.
    pub near: Option<NearPaths<'a>>,
    /// Whether a path below the project's folder leads out of it through a link.
    pub escapes: Option<&'a dyn Fn(&str) -> bool>,
}

/// Whether a model is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::template) enum ModelFact {
    Listed,
    /// Its provider also serves models that are not listed.
    Open,
    Unknown,
}

impl Known<'_> {
    /// Whether a tool is known to change something.
    pub(in crate::template) fn writes(&self, tool: &str) -> bool {
        self.specs.iter().any(|spec| spec.name == tool && spec.effect != ToolEffect::Read)
    }

    /// What is known of a model. `None` if models are not checked.
    pub(in crate::template) fn model(&self, id: &str) -> Option<ModelFact> {
        let models = self.models.as_ref()?;
        if models.contains(id) {
            return Some(ModelFact::Listed);
        }
        if is_local_model(id) {
            return Some(ModelFact::Open);
        }
        let providers = self.providers.iter().flatten();
        let own = id.split_once('/').and_then(|(prefix, _)| self.providers.as_ref()?.get(prefix).copied());
        let open = own.unwrap_or_else(|| !id.contains('/') && providers.into_iter().any(|(_, open)| *open));
        Some(if open { ModelFact::Open } else { ModelFact::Unknown })
    }
}
