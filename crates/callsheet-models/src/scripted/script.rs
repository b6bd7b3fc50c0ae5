//! The file format of scripts.

use std::path::{Path, PathBuf};

use callsheet_core::record::{StopReason, Usage};
use serde::Deserialize;
use serde_json::Value;

/// Why a script cannot be used. The user must fix it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ScriptError {
    /// A file cannot be read.
    #[error("cannot read {path}: {message}")]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// The system's message.
        message: String,
    },
    /// The file is not a script.
    #[error("{name}: {message}")]
    Invalid {
        /// The script.
        name: String,
        /// Where and what is wrong.
        message: String,
    },
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Script {
    #[serde(default)]
    pub rule: Vec<Rule>,
    #[serde(default)]
    pub default: Option<Reply>,
    #[serde(default)]
    pub model: About,
}

/// What the model says about itself.
#[derive(Clone, Debug, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct About {
    pub window: Option<u32>,
    pub tools: bool,
    pub json_schema: bool,
    pub grammar: bool,
    pub twins: bool,
    pub vision: bool,
}

impl Default for About {
    fn default() -> Self {
        Self { window: None, tools: true, json_schema: false, grammar: false, twins: false, vision: false }
    }
}

/// What happens after a rule's last reply.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Then {
    #[default]
    Repeat,
    Loop,
    Next,
}

/// A rule as written: conditions, and either a list of replies or the keys of a single reply.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenRule {
    phase: Option<String>,
    label: Option<String>,
    prompt: Option<String>,
    #[serde(default)]
    expand: bool,
    #[serde(default)]
    then: Then,
    #[serde(default)]
    reply: Vec<Reply>,
    text: Option<String>,
    text_file: Option<PathBuf>,
    thinking: Option<String>,
    calls: Option<Vec<Call>>,
    stop: Option<StopReason>,
    cut: Option<usize>,
    chunk: Option<usize>,
    delay_ms: Option<u64>,
    until: Option<PathBuf>,
    until_after: Option<usize>,
    usage: Option<Usage>,
    fault: Option<Fault>,
}

/// Conditions and at least one reply.
#[derive(Clone, Debug, Deserialize)]
#[serde(try_from = "WrittenRule")]
pub(super) struct Rule {
    pub phase: Option<String>,
    pub label: Option<String>,
    pub prompt: Option<String>,
    pub expand: bool,
    pub then: Then,
    pub reply: Vec<Reply>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct Reply {
    pub text: String,
    pub text_file: Option<PathBuf>,
    pub thinking: Option<String>,
    pub calls: Vec<Call>,
    pub stop: Option<StopReason>,
    pub cut: Option<usize>,
    pub chunk: Option<usize>,
    pub delay_ms: u64,
    pub until: Option<PathBuf>,
    pub until_after: Option<usize>,
    pub usage: Option<Usage>,
    pub fault: Option<Fault>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Call {
    pub name: String,
    pub id: Option<String>,
    #[serde(default = "no_arguments")]
    pub arguments: Value,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Fault {
    pub kind: FaultKind,
    #[serde(default)]
    pub message: String,
    pub retry_after_ms: Option<u64>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum FaultKind {
    Communication,
    Configuration,
    Overflow,
    Deadline,
}

fn no_arguments() -> Value {
    Value::Object(serde_json::Map::new())
}

impl TryFrom<WrittenRule> for Rule {
    type Error = String;

    fn try_from(written: WrittenRule) -> Result<Self, String> {
        let single =
            written.text.is_some() || written.text_file.is_some() || written.calls.is_some() || written.fault.is_some();
        let mut reply = written.reply;
        if single && !reply.is_empty() {
            return Err("a rule contains either one reply or a list [[rule.reply]]".to_owned());
        }
        if !single && reply.is_empty() {
            return Err("a rule needs `text`, `text_file`, `calls`, `fault` or [[rule.reply]]".to_owned());
        }
        if single {
            reply.push(Reply {
                text: written.text.unwrap_or_default(),
                text_file: written.text_file,
                thinking: written.thinking,
                calls: written.calls.unwrap_or_default(),
                stop: written.stop,
                cut: written.cut,
                chunk: written.chunk,
                delay_ms: written.delay_ms.unwrap_or_default(),
                until: written.until,
                until_after: written.until_after,
                usage: written.usage,
                fault: written.fault,
            });
        }
        Ok(Self {
            phase: written.phase,
            label: written.label,
            prompt: written.prompt,
            expand: written.expand,
            then: written.then,
            reply,
        })
    }
}

impl Script {
    pub(super) fn parse(text: &str, name: &str, folder: Option<&Path>) -> Result<Self, ScriptError> {
        let mut script: Self = toml::from_str(text)
            .map_err(|error| ScriptError::Invalid { name: name.to_owned(), message: error.to_string() })?;
        let replies = script.rule.iter_mut().flat_map(|rule| rule.reply.iter_mut()).chain(script.default.as_mut());
        let beside = |file: PathBuf| folder.map_or_else(|| file.clone(), |folder| folder.join(&file));
        for reply in replies {
            reply.until = reply.until.take().map(beside);
            if let Some(file) = &reply.text_file {
                let path = beside(file.clone());
                reply.text = std::fs::read_to_string(&path)
                    .map_err(|error| ScriptError::Unreadable { path: path.clone(), message: error.to_string() })?;
            }
        }
        Ok(script)
    }
}
