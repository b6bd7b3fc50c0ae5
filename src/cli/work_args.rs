//! The flags of all commands that work with models. Flags that set something are short for `--set`.

use std::ffi::OsStr;
use std::path::PathBuf;

use clap::builder::{PossibleValue, TypedValueParser};
use clap::{Arg, Args, Command};

use super::{OpenArgs, OutputFormat};
use crate::config::{KEYS, Kind, Setting};

/// The help section with the flags for editors and tests.
pub(super) const FOR_PROGRAMS: &str = "For editors and recordings";

/// The flags of all commands that work with models.
#[derive(Clone, Debug, Default, Args)]
pub struct WorkArgs {
    /// Model: PROVIDER/MODEL, embedded:PATH or scripted:FILE; the variable CALLSHEET_MODEL names one, too.
    #[arg(long, short, value_name = "MODEL", value_parser = |text: &str| Setting::of("model", text, "--model"))]
    pub model: Option<Setting>,

    /// When to ask for approval: before tasks that change files run, before changes are applied and commands run, both, or never.
    #[arg(long, value_name = "MODE", value_parser = OfKey("approval.mode", "--approval"))]
    pub approval: Option<Setting>,

    /// What to do when an approval is needed and nobody can answer: stop, deny, approve, or approve the tasks with these slugs.
    #[arg(long, value_name = "stop|deny|approve|SLUG,…", value_parser = |text: &str| Setting::of("approval.headless", text, "--headless"))]
    pub headless: Option<Setting>,

    /// Change a setting for this command, as in `refine=never` or `limits.max_calls=40`. Repeatable; `callsheet config` lists all settings.
    #[arg(long, value_name = "KEY=VALUE", value_parser = AnySetting, hide_possible_values = true)]
    pub set: Vec<Setting>,

    /// Download the embedded model without asking if there is no other model.
    #[arg(long)]
    pub download: bool,

    /// Print plain lines instead of the full-screen view.
    #[arg(long)]
    pub plain: bool,

    /// Print the answer and ask nothing: no screen, and a run stops where it needs an approval.
    #[arg(long, short)]
    pub print: bool,

    /// What to print to stdout: the answer, one JSON object at the end, or one object per line as things happen (the
    /// same as `--json`).
    #[arg(long, value_enum, value_name = "FORMAT")]
    pub output_format: Option<OutputFormat>,

    /// Reuse the replies of this earlier run for identical model calls. Useful after you changed a template, sheet,
    /// skill or prompt.
    #[arg(long, value_name = "RUN")]
    pub reuse: Option<String>,

    /// Files that are open.
    #[command(flatten)]
    pub opened: OpenArgs,

    /// Record every model call in this folder.
    #[arg(long, value_name = "DIR", conflicts_with = "replay", help_heading = FOR_PROGRAMS)]
    pub record: Option<PathBuf>,

    /// Answer model calls from the recordings in this folder.
    #[arg(long, value_name = "DIR", help_heading = FOR_PROGRAMS)]
    pub replay: Option<PathBuf>,
}

impl WorkArgs {
    /// All settings from these flags.
    pub fn settings(&self) -> Vec<Setting> {
        let own = [&self.model, &self.approval, &self.headless].into_iter().flatten();
        own.chain(&self.set).cloned().collect()
    }
}

/// A value of one key that has its own flag.
#[derive(Clone)]
struct OfKey(&'static str, &'static str);

impl TypedValueParser for OfKey {
    type Value = Setting;

    fn parse_ref(&self, command: &Command, flag: Option<&Arg>, text: &OsStr) -> Result<Setting, clap::Error> {
        let Self(key, name) = *self;
        (move |text: &str| Setting::of(key, text, name)).parse_ref(command, flag, text)
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        let Kind::Word(words) = crate::config::key(self.0)?.kind else { return None };
        Some(Box::new(words.iter().map(PossibleValue::new)))
    }
}

/// `KEY=VALUE` for any key. Shells complete the keys, and the values of keys with few values.
#[derive(Clone)]
struct AnySetting;

impl TypedValueParser for AnySetting {
    type Value = Setting;

    fn parse_ref(&self, command: &Command, flag: Option<&Arg>, text: &OsStr) -> Result<Setting, clap::Error> {
        Setting::parse.parse_ref(command, flag, text)
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        let named = KEYS.iter().filter(|key| !key.name.contains('*'));
        Some(Box::new(named.flat_map(|key| {
            let values: &[&str] = match key.kind {
                Kind::Word(words) => words,
                Kind::Flag => &["true", "false"],
                _ => &[""],
            };
            values.iter().map(|value| PossibleValue::new(format!("{}={value}", key.name)).help(key.about))
        })))
    }
}
