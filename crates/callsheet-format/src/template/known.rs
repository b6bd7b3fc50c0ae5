//! What a library is checked against. The shell tells it; what is not told is not checked.

use std::collections::{BTreeMap, BTreeSet};

use callsheet_core::nouns::{ToolEffect, ToolSpec};
use callsheet_core::template::is_local_model;

/// Gives the text of `schemas/NAME.json` beside a file, by the file and the name.
pub type FindSchema<'a> = &'a dyn Fn(&str, &str) -> Option<String>;

/// Names paths of the project that are near a misspelt one.
pub type NearPaths<'a> = &'a dyn Fn(&str) -> Vec<String>;

/// Models, tools, skills, schemas and paths that exist.
#[derive(Clone, Default)]
pub struct Known<'a> {
    /// Models that are listed, as `PROVIDER/MODEL` or bare.
    pub models: Option<BTreeSet<String>>,
    /// Providers; true if a provider serves models that are not listed.
    pub providers: Option<BTreeMap<String, bool>>,
    /// Canonical names of tools.
    pub tools: Option<BTreeSet<String>>,
    /// What the tools do, and their aliases.
    pub specs: Vec<ToolSpec>,
    /// Names of skills.
    pub skills: Option<BTreeSet<String>>,
    /// The text of `schemas/NAME.json` beside a file.
    pub schema: Option<FindSchema<'a>>,
    /// Whether a path below the project's folder exists.
    pub exists: Option<&'a dyn Fn(&str) -> bool>,
    /// Paths that may be meant by one that does not exist.
    pub near: Option<NearPaths<'a>>,
    /// Whether such a path is a link, or stands behind one, that leads out of that folder.
    pub escapes: Option<&'a dyn Fn(&str) -> bool>,
}

/// What is known of a model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::template) enum ModelFact {
    Listed,
    /// Its provider serves more than is listed.
    Open,
    Unknown,
}

impl Known<'_> {
    /// Whether a tool is known to change something.
    pub(in crate::template) fn writes(&self, tool: &str) -> bool {
        self.specs.iter().any(|spec| spec.name == tool && spec.effect != ToolEffect::Read)
    }

    /// `None` where models are not checked.
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
