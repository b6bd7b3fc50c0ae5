//! Reads the layers of the configuration and merges them.

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};

use callsheet_core::fuzzy;
use callsheet_core::nouns::Settings;
use callsheet_core::visible::visible_line;
use callsheet_runtime::services::{Hook, HookPoint};
use serde_json::json;
use toml_edit::{Document, Item};

use super::keys::{KEYS, STANDING_HEADLESS, SetBy};
use super::{Folders, Kind, Setting, Trust, key};

/// The origin of a value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Origin {
    /// A flag of the command.
    Flag(String),
    /// An environment variable.
    Environment(String),
    /// A file, with its 1-based line.
    File(PathBuf, usize),
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Flag(flag) => write!(f, "flag {flag}"),
            Self::Environment(name) => write!(f, "environment {name}"),
            Self::File(path, line) => write!(f, "{}:{line}", path.display()),
        }
    }
}

/// A value with its origin.
#[derive(Clone, Debug, PartialEq)]
pub struct Value {
    /// JSON form.
    pub value: serde_json::Value,
    /// Where it came from.
    pub origin: Origin,
}

/// Something that a person should know about the configuration and that does not stop a command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Notice(pub String);

/// A file that cannot be used, with the place and the reason.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{place}: {what}")]
pub struct ConfigFault {
    /// `file:line:column`, or the variable or flag.
    pub place: String,
    /// What is wrong and what to do.
    pub what: String,
}

/// The sources of the layers.
#[derive(Clone, Debug, Default)]
pub struct Sources {
    /// The user's file.
    pub user: Option<PathBuf>,
    /// The project's file.
    pub project: Option<PathBuf>,
    /// The variables that begin with `CALLSHEET_`.
    pub environment: BTreeMap<String, String>,
    /// The settings from the command line.
    pub flags: Vec<Setting>,
}

/// The configuration in force.
#[derive(Clone, Debug, Default)]
pub struct Config {
    /// Values by dotted key.
    pub values: BTreeMap<String, Value>,
    /// Notices for a person.
    pub notices: Vec<Notice>,
    /// The keys in the project's file that are ignored because the project is not trusted.
    pub untrusted: Vec<String>,
}

/// Variables that are not configuration keys.
const OTHER_VARIABLES: &[&str] = &[
    "CALLSHEET_CLUSTER_CERTIFICATE",
    "CALLSHEET_CLUSTER_TOKEN",
    "CALLSHEET_ENGINE",
    "CALLSHEET_HOME",
    "CALLSHEET_LOG",
];

impl Config {
    /// Reads all layers, weakest first.
    ///
    /// # Errors
    /// The first invalid file, variable or flag.
    pub fn load(sources: &Sources, folders: Option<&Folders>) -> Result<Self, ConfigFault> {
        let mut config = Self::default();
        if let Some(file) = &sources.user {
            config.lay_file(file, SetBy::User)?;
        }
        if let Some(file) = &sources.project {
            let content = callsheet_runtime::paths::read_regular(file).unwrap_or_default();
            let trusted = folders.is_some_and(|folders| {
                let trust = Trust::load(folders);
                trust.holds(file, &content) && trust.untrusted_hooks(file).is_empty()
            });
            config.lay_file(file, if trusted { SetBy::TrustedProject } else { SetBy::AnyProject })?;
        }
        for (name, text) in &sources.environment {
            config.lay_variable(name, text)?;
        }
        for setting in &sources.flags {
            config.lay_flag(setting)?;
        }
        Ok(config)
    }

    /// What a project's file would set if it were trusted.
    ///
    /// # Errors
    /// The file is invalid.
    pub fn of_trusted(file: &Path) -> Result<Self, ConfigFault> {
        let mut config = Self::default();
        config.lay_file(file, SetBy::TrustedProject)?;
        Ok(config)
    }

    /// Reads a file. Keys that its owner may not set are ignored.
    fn lay_file(&mut self, file: &Path, owner: SetBy) -> Result<(), ConfigFault> {
        let text = match callsheet_runtime::paths::read_regular_text(file) {
            Ok(text) => text,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(()),
            Err(error) => {
                let what = format!("can't be read: {error}");
                return Err(ConfigFault { place: file.display().to_string(), what });
            }
        };
        let document = Document::parse(text.as_str()).map_err(|error| {
            let at = error.span().map_or(0, |span| span.start);
            ConfigFault { place: place(file, &text, at), what: error.message().trim().to_owned() }
        })?;
        let mut flat = Vec::new();
        flatten("", document.as_item(), &mut flat);
        let mut ignored = Vec::new();
        for (name, item) in flat {
            let at = item.span().map_or(0, |span| span.start);
            let Some(known) = key(&name) else {
                let shown = visible_line(&name);
                let near = KEYS.iter().find(|known| fuzzy::within(&name, known.name, 2));
                if let Some(near) = near.filter(|_| owner != SetBy::AnyProject) {
                    let what = format!("the key `{shown}` is unknown. Did you mean {}?", near.name);
                    return Err(ConfigFault { place: place(file, &text, at), what });
                }
                // A guard that never runs would fail without a word.
                if name.starts_with("hooks.") && owner != SetBy::AnyProject {
                    let what = format!("the key `{shown}` is unknown. Hooks are: {}", hook_names());
                    return Err(ConfigFault { place: place(file, &text, at), what });
                }
                self.notices.push(Notice(format!("{}: ignored the unknown key `{shown}`", place(file, &text, at))));
                continue;
            };
            let value = known.kind.of_item(item).ok_or_else(|| ConfigFault {
                place: place(file, &text, at),
                what: format!("`{name}` must be {}", known.kind.expected()),
            })?;
            if known.set_by == SetBy::User && owner != SetBy::User {
                let what = format!("ignored `{name}`, which only your own configuration can set");
                self.notices.push(Notice(format!("{}: {what}", place(file, &text, at))));
                continue;
            }
            if known.set_by > owner {
                ignored.push(name);
                continue;
            }
            let line = line_of(&text, at).0;
            self.values.insert(name, Value { value, origin: Origin::File(file.to_path_buf(), line) });
        }
        if !ignored.is_empty() {
            let keys = visible_line(&ignored.join(", "));
            self.untrusted.extend(ignored);
            let file = file.display();
            self.notices.push(Notice(format!(
                "{file} is not trusted; ignored: {keys}. Read the file, then run `callsheet trust`"
            )));
        }
        Ok(())
    }

    fn lay_variable(&mut self, name: &str, text: &str) -> Result<(), ConfigFault> {
        if OTHER_VARIABLES.contains(&name) || name.starts_with("CALLSHEET_TEST_") {
            return Ok(());
        }
        let wanted = name.trim_start_matches("CALLSHEET_").to_ascii_lowercase();
        let Some(known) = super::KEYS.iter().find(|key| key.name.replace('.', "_") == wanted) else {
            self.notices.push(Notice(format!("ignored the environment variable {name}: there is no such setting")));
            return Ok(());
        };
        let origin = Origin::Environment(name.to_owned());
        let setting =
            Setting::of(known.name, text, name).map_err(|what| ConfigFault { place: origin.to_string(), what })?;
        self.values.insert(setting.key, Value { value: setting.value, origin });
        Ok(())
    }

    /// Adds a setting from the command line. It is an error to set a key twice, because it is unclear which value is
    /// intended.
    fn lay_flag(&mut self, setting: &Setting) -> Result<(), ConfigFault> {
        let origin = Origin::Flag(setting.flag.clone());
        let place = origin.to_string();
        match self.values.insert(setting.key.clone(), Value { value: setting.value.clone(), origin }) {
            Some(Value { origin: Origin::Flag(_), .. }) => {
                Err(ConfigFault { place, what: format!("`{}` is set twice; leave one out", setting.key) })
            }
            _ => Ok(()),
        }
    }

    /// The settings from the command line alone.
    pub fn given(&self) -> Self {
        let flags = self.values.iter().filter(|(_, value)| matches!(value.origin, Origin::Flag(_)));
        Self { values: flags.map(|(name, value)| (name.clone(), value.clone())).collect(), ..Self::default() }
    }

    /// A text value.
    pub fn text(&self, name: &str) -> Option<&str> {
        self.values.get(name)?.value.as_str()
    }

    /// A boolean. False if it is not set.
    pub fn flag(&self, name: &str) -> bool {
        self.values.get(name).and_then(|value| value.value.as_bool()).unwrap_or(false)
    }

    /// A number.
    pub fn number(&self, name: &str) -> Option<f64> {
        self.values.get(name)?.value.as_f64()
    }

    /// A whole number.
    pub fn count(&self, name: &str) -> Option<u64> {
        self.values.get(name)?.value.as_u64()
    }

    /// A list. Empty if it is not set.
    pub fn list(&self, name: &str) -> Vec<String> {
        let items = self.values.get(name).and_then(|value| value.value.as_array()).cloned().unwrap_or_default();
        items.iter().filter_map(|item| item.as_str().map(str::to_owned)).collect()
    }

    /// The names of configured providers, sorted.
    pub fn providers(&self) -> Vec<String> {
        let mut names: Vec<String> = self
            .values
            .keys()
            .filter_map(|name| name.strip_prefix("providers.")?.rsplit_once('.').map(|(name, _)| name.to_owned()))
            .collect();
        names.dedup();
        names
    }

    /// The names of registered tools whose calls are subtasks.
    pub fn subtask_tools(&self) -> Vec<String> {
        let parts = self.values.keys().filter_map(|name| name.strip_prefix("subtask_tools.")?.rsplit_once('.'));
        let mut names: Vec<String> = parts.map(|(name, _)| name.to_owned()).collect();
        names.dedup();
        names
    }

    /// Names of MCP servers.
    pub fn mcp_servers(&self) -> Vec<String> {
        let parts = self.values.keys().filter_map(|name| name.strip_prefix("mcp.")?.split_once('.'));
        let mut names: Vec<String> = parts.map(|(name, _)| name.to_owned()).collect();
        names.dedup();
        names
    }

    /// The names of the keys directly below a name.
    pub fn names_below(&self, name: &str) -> Vec<String> {
        let below = |key: &String| Some(key.strip_prefix(name)?.strip_prefix('.')?.to_owned());
        self.values.keys().filter_map(below).collect()
    }

    /// The hooks, as the files of the project are now that they run.
    pub fn hooks(&self, project: &Path) -> Vec<Hook> {
        let of_point = |point: HookPoint| {
            let names = self.names_below(&format!("hooks.{}", point.name()));
            names.into_iter().map(move |name| {
                let argv = self.list(&format!("hooks.{}.{name}", point.name()));
                Hook::new(point, name, argv, project)
            })
        };
        HookPoint::ALL.into_iter().flat_map(of_point).collect()
    }

    /// The text values directly below a name.
    pub fn texts_below(&self, name: &str) -> BTreeMap<String, String> {
        let below = |(key, value): (&String, &Value)| {
            let key = key.strip_prefix(name)?.strip_prefix('.')?;
            Some((key.to_owned(), value.value.as_str()?.to_owned()))
        };
        self.values.iter().filter_map(below).collect()
    }

    /// A value of one provider as JSON.
    pub fn provider(&self, name: &str, part: &str) -> Option<&serde_json::Value> {
        self.values.get(&format!("providers.{name}.{part}")).map(|value| &value.value)
    }

    /// The settings of a run.
    ///
    /// # Errors
    /// A value has the right type but makes no sense. The place is the origin of the value.
    pub fn settings(&self) -> Result<Settings, ConfigFault> {
        self.over(&Settings::default())
    }

    /// These settings, replaced by those that are configured here. The model of a run is chosen elsewhere.
    ///
    /// # Errors
    /// The same as for [`Self::settings`].
    pub fn over(&self, settings: &Settings) -> Result<Settings, ConfigFault> {
        if let Some(value) = self.values.get("approval.headless")
            && !matches!(value.origin, Origin::Flag(_))
            && !value.value.as_str().is_some_and(|word| STANDING_HEADLESS.contains(&word))
        {
            let what = "`approval.headless` can only be stop or deny here; for a single run use --headless".to_owned();
            return Err(ConfigFault { place: value.origin.to_string(), what });
        }
        let fault = |error: serde_json::Error| ConfigFault {
            place: "configuration".to_owned(),
            what: format!("a value is not valid: {error}"),
        };
        let mut tree = serde_json::to_value(settings).map_err(fault)?;
        for (name, value) in &self.values {
            let known = key(name);
            let field = known.and_then(|known| known.field).unwrap_or(name.as_str());
            let is_headless = known.is_some_and(|known| known.kind == Kind::Headless);
            let content = if is_headless { headless(&value.value) } else { value.value.clone() };
            put(&mut tree, field, content);
        }
        let laid: Settings = serde_json::from_value(tree).map_err(fault)?;
        Ok(Settings { model: settings.model.clone(), ..laid })
    }
}

/// The keys of hooks, in words.
fn hook_names() -> String {
    let names = KEYS.iter().filter_map(|known| known.name.strip_prefix("hooks.")?.strip_suffix(".*"));
    names.collect::<Vec<_>>().join(", ")
}

/// Puts a value at the place of a dotted name. Values that are not settings of a run are put beside them and ignored.
fn put(tree: &mut serde_json::Value, name: &str, content: serde_json::Value) {
    let (first, rest) = name.split_once('.').map_or((name, None), |(first, rest)| (first, Some(rest)));
    let Some(table) = tree.as_object_mut() else { return };
    match rest {
        Some(rest) => put(table.entry(first).or_insert_with(|| json!({})), rest, content),
        None => drop(table.insert(first.to_owned(), content)),
    }
}

fn headless(value: &serde_json::Value) -> serde_json::Value {
    match value.as_str() {
        Some(word @ ("stop" | "deny" | "approve")) => json!(word),
        Some(slug) => json!({ "slugs": slug.split(',').map(str::trim).collect::<Vec<_>>() }),
        None => json!({ "slugs": value }),
    }
}

fn flatten<'a>(prefix: &str, item: &'a Item, flat: &mut Vec<(String, &'a Item)>) {
    match item.as_table_like() {
        Some(table) => {
            for (name, inner) in table.iter() {
                let name = if prefix.is_empty() { name.to_owned() } else { format!("{prefix}.{name}") };
                flatten(&name, inner, flat);
            }
        }
        None => flat.push((prefix.to_owned(), item)),
    }
}

fn line_of(text: &str, at: usize) -> (usize, usize) {
    let before = text.get(..at).unwrap_or(text);
    let line = before.matches('\n').count() + 1;
    let column = before.rsplit('\n').next().map_or(0, |last| last.chars().count()) + 1;
    (line, column)
}

fn place(file: &Path, text: &str, at: usize) -> String {
    let (line, column) = line_of(text, at);
    format!("{}:{line}:{column}", file.display())
}
