//! Context settings: defaults by operator, overrides, and settings that exclude each other (spec 5). They are fixed
//! when a tree is read.

use serde::{Deserialize, Serialize};

use crate::template::operators::Kind;

/// What a task takes from its parent's frame.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum InheritContext {
    /// Everything.
    #[default]
    Full,
    /// Nothing.
    None,
    /// Its relevant items.
    Subset,
}

/// The content of an accumulated entry.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AccumulationFormat {
    /// The status and the notes.
    #[default]
    NotesOnly,
    /// The content, too.
    FullOutput,
}

impl InheritContext {
    /// The word in the file.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Full => "full",
            Self::None => "none",
            Self::Subset => "subset",
        }
    }

    /// Parses a word.
    pub fn parse(word: &str) -> Option<Self> {
        [Self::Full, Self::None, Self::Subset].into_iter().find(|value| value.as_str() == word)
    }
}

impl AccumulationFormat {
    /// The word in the file.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::NotesOnly => "notes_only",
            Self::FullOutput => "full_output",
        }
    }

    /// Parses a word.
    pub fn parse(word: &str) -> Option<Self> {
        [Self::NotesOnly, Self::FullOutput].into_iter().find(|value| value.as_str() == word)
    }
}

/// The settings in force.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Settings {
    /// What is taken from the parent's frame.
    pub inherit_context: InheritContext,
    /// Whether later children get the outputs of earlier ones.
    pub accumulate_data: bool,
    /// The form in which they get them.
    pub accumulation_format: AccumulationFormat,
    /// Whether material is looked up in the memory system. Written as `enabled` or `disabled`.
    #[serde(with = "fresh_word")]
    pub fresh_context: bool,
}

impl Settings {
    /// Settings without surroundings and lookup.
    pub fn alone() -> Self {
        Self { inherit_context: InheritContext::None, ..Self::default() }
    }
}

/// The settings that an author wrote.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct PartialContext {
    /// `inherit_context`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub inherit_context: Option<InheritContext>,
    /// `accumulate_data`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub accumulate_data: Option<bool>,
    /// `accumulation_format`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub accumulation_format: Option<AccumulationFormat>,
    /// `fresh_context`: `enabled` is true.
    #[serde(skip_serializing_if = "Option::is_none", with = "fresh_choice")]
    pub fresh_context: Option<bool>,
}

/// The words of `fresh_context`.
#[derive(Clone, Copy, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Fresh {
    Enabled,
    Disabled,
}

impl From<bool> for Fresh {
    fn from(on: bool) -> Self {
        if on { Self::Enabled } else { Self::Disabled }
    }
}

mod fresh_word {
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    use super::Fresh;

    // `serde` passes a reference.
    #[allow(clippy::trivially_copy_pass_by_ref)]
    pub(super) fn serialize<S: Serializer>(on: &bool, serializer: S) -> Result<S::Ok, S::Error> {
        Fresh::from(*on).serialize(serializer)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<bool, D::Error> {
        Ok(matches!(Fresh::deserialize(deserializer)?, Fresh::Enabled))
    }
}

mod fresh_choice {
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    use super::Fresh;

    // `serde` passes a reference.
    #[allow(clippy::ref_option)]
    pub(super) fn serialize<S: Serializer>(on: &Option<bool>, serializer: S) -> Result<S::Ok, S::Error> {
        on.map(Fresh::from).serialize(serializer)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<bool>, D::Error> {
        Ok(Option::<Fresh>::deserialize(deserializer)?.map(|word| matches!(word, Fresh::Enabled)))
    }
}

/// The written settings and the settings in force.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Context {
    /// The written settings.
    pub explicit: PartialContext,
    /// The settings in force.
    pub settings: Settings,
}

/// The role of a node for its default settings: a row in the table of context settings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Role {
    /// The words in the table.
    pub words: &'static str,
    /// The settings if none are written.
    pub settings: Settings,
    /// Whether it is an operator whose settings decide if outputs are collected. Tasks in its slots leave that
    /// decision to it.
    pub gathers: bool,
}

impl Role {
    /// A row.
    pub const fn new(words: &'static str, inherit: InheritContext, accumulates: bool, fresh: bool) -> Self {
        let settings = Settings {
            inherit_context: inherit,
            accumulate_data: accumulates,
            accumulation_format: AccumulationFormat::NotesOnly,
            fresh_context: fresh,
        };
        Self { words, settings, gathers: true }
    }

    /// An atomic task with any subtype that is not named below.
    pub const ATOMIC: Self = Self::new("atomic", InheritContext::Full, false, false);
    /// A subtask, started by a model or declared by `subtype`.
    pub const SUBTASK: Self = Self::new("subtask", InheritContext::Subset, false, true);
    /// A matching task, whose settings are fixed.
    pub const MATCHING: Self = Self::new("associative_matching", InheritContext::None, false, false);

    /// All roles, in the order of the table.
    pub fn all() -> Vec<Self> {
        let own = Kind::ALL.iter().flat_map(|facts| [facts.role, facts.part_role]);
        let mut all: Vec<Self> = Vec::new();
        for role in own.chain([Self::SUBTASK, Self::MATCHING]) {
            if !all.contains(&role) {
                all.push(role);
            }
        }
        all
    }
}

/// A setting that was changed because it excludes a written one (T511).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Yielded {
    /// `fresh_context` became `disabled`.
    Fresh,
    /// `inherit_context` became `none`.
    Inherit,
}

/// A dimension of context.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ContextPart {
    /// `inherit_context`.
    Inherit,
    /// `accumulate_data`.
    Accumulate,
    /// `accumulation_format`.
    Format,
    /// `fresh_context`.
    Fresh,
}

impl ContextPart {
    /// The name in the file.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Inherit => "inherit_context",
            Self::Accumulate => "accumulate_data",
            Self::Format => "accumulation_format",
            Self::Fresh => "fresh_context",
        }
    }
}

/// Applies the written settings to the defaults.
///
/// # Errors
/// Two written settings exclude each other (T040).
pub fn resolve(defaults: Settings, explicit: &PartialContext) -> Result<(Settings, Option<Yielded>), ContextPart> {
    let mut settings = Settings {
        inherit_context: explicit.inherit_context.unwrap_or(defaults.inherit_context),
        accumulate_data: explicit.accumulate_data.unwrap_or(defaults.accumulate_data),
        accumulation_format: explicit.accumulation_format.unwrap_or(defaults.accumulation_format),
        fresh_context: explicit.fresh_context.unwrap_or(defaults.fresh_context),
    };
    let pair = defaults.inherit_context == InheritContext::Subset && defaults.fresh_context;
    let legal = match settings.inherit_context {
        InheritContext::None => true,
        // The settings of a subtask are the only permitted exception.
        InheritContext::Subset => !settings.fresh_context || pair,
        InheritContext::Full => !settings.fresh_context,
    };
    if legal {
        return Ok((settings, None));
    }
    match (explicit.inherit_context, explicit.fresh_context) {
        (Some(_), Some(_)) => Err(ContextPart::Fresh),
        (Some(_), None) => {
            settings.fresh_context = false;
            Ok((settings, Some(Yielded::Fresh)))
        }
        (None, _) => {
            settings.inherit_context = InheritContext::None;
            Ok((settings, Some(Yielded::Inherit)))
        }
    }
}
