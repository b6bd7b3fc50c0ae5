//! One value, read from an item of a file, or from the text of a variable or of the command line.

use callsheet_core::fuzzy::{did_you_mean, within};
use callsheet_core::visible::visible_line;
use serde_json::{Value, json};
use toml_edit::Item;

use super::{KEYS, Kind, key};

/// A key and the value that a text gives it.
#[derive(Clone, Debug, PartialEq)]
pub struct Setting {
    /// The dotted name.
    pub key: String,
    /// The value as JSON.
    pub value: Value,
    /// The flag or variable that sets it.
    pub flag: String,
}

impl Setting {
    /// Parses a text as the value of a key.
    ///
    /// # Errors
    /// There is no such key, or the text is not a value for it. The message says what is wrong and what to do.
    pub fn of(name: &str, text: &str, flag: &str) -> Result<Self, String> {
        let known = key(name).ok_or_else(|| unknown(name))?;
        let value = known.kind.of_text(text).map_err(|wanted| format!("`{name}` must be {wanted}"))?;
        Ok(Self { key: name.to_owned(), value, flag: flag.to_owned() })
    }

    /// Parses `KEY=VALUE`.
    ///
    /// # Errors
    /// The same as for [`Self::of`], or there is no `=`.
    pub fn parse(text: &str) -> Result<Self, String> {
        let Some((name, value)) = text.split_once('=') else {
            let example = if key(text).is_some() { text } else { "refine" };
            return Err(format!("write a key and its value, as in {example}=…. {LIST}"));
        };
        Self::of(name.trim(), value.trim(), &format!("--set {}", name.trim()))
    }
}

/// How a person finds the keys.
const LIST: &str = "`callsheet config` lists all settings";

fn unknown(name: &str) -> String {
    let near = did_you_mean(name, KEYS.iter().map(|key| key.name));
    let near = if near.is_empty() { near } else { near + " " };
    format!("there is no setting `{}`. {near}{LIST}", visible_line(name))
}

impl Kind {
    /// The value of a file's item, if it has this type.
    pub(super) fn of_item(self, item: &Item) -> Option<Value> {
        let list = || {
            let items = item.as_array()?.iter().map(|value| value.as_str().map(|text| json!(text)));
            items.collect::<Option<Vec<_>>>().map(Value::Array)
        };
        let value = match self {
            Self::Text => item.as_str().map(|text| json!(text)),
            Self::Count | Self::AtLeastOne => item.as_integer().map(|number| json!(number)),
            Self::Number | Self::Share => {
                let number = item.as_float().or_else(|| item.as_integer().map(|number| number as f64));
                number.map(|number| json!(number))
            }
            Self::Flag => item.as_bool().map(|flag| json!(flag)),
            Self::List => list(),
            Self::Headless => item.as_str().map(|text| json!(text)).or_else(list),
            Self::Command => item.as_str().and_then(command).or_else(list),
            Self::Word(_) => item.as_str().map(|text| json!(text)),
        };
        value.filter(|value| self.has(value))
    }

    /// The value of a text, or a description of what was expected.
    fn of_text(self, text: &str) -> Result<Value, String> {
        let value = match self {
            Self::Text | Self::Word(_) => Some(json!(text)),
            Self::Count | Self::AtLeastOne => text.parse::<u64>().ok().map(|number| json!(number)),
            Self::Number | Self::Share => text.parse::<f64>().ok().map(|number| json!(number)),
            Self::Flag => match text {
                "true" | "1" => Some(json!(true)),
                "false" | "0" => Some(json!(false)),
                _ => None,
            },
            Self::Command => command(text),
            Self::List => {
                Some(json!(text.split(',').map(str::trim).filter(|part| !part.is_empty()).collect::<Vec<_>>()))
            }
            Self::Headless => return headless(text),
        };
        value.filter(|value| self.has(value)).ok_or_else(|| self.expected())
    }

    /// Whether a value of the right type is in range. Numbers that are not finite have no JSON form.
    fn has(self, value: &Value) -> bool {
        let number = value.as_f64().unwrap_or(f64::NAN);
        match self {
            Self::Count | Self::Number => number >= 0.0,
            Self::AtLeastOne => number >= 1.0,
            Self::Share => number > 0.0 && number <= 1.0,
            Self::Word(words) => value.as_str().is_some_and(|word| words.contains(&word)),
            Self::Command => value.get(0).is_some(),
            Self::Text | Self::Flag | Self::List | Self::Headless => true,
        }
    }

    /// A description of the allowed values.
    pub fn expected(self) -> String {
        match self {
            Self::Text => "a text".to_owned(),
            Self::Count => "a whole number, 0 or more".to_owned(),
            Self::AtLeastOne => "a whole number, 1 or more".to_owned(),
            Self::Number => "a number, 0 or more".to_owned(),
            Self::Share => "a number greater than 0, and 1 or less".to_owned(),
            Self::Flag => "true or false".to_owned(),
            Self::List => "a list of texts".to_owned(),
            Self::Headless => "stop, deny, approve, or slugs of tasks separated by commas".to_owned(),
            Self::Command => "a program and its arguments, as a text with closed quotes or as a list".to_owned(),
            Self::Word(words) => format!("one of {}", words.join(", ")),
        }
    }
}

/// The words of a command. Quotes and backslashes group words as in a shell, which runs nothing here. `None` if a quote
/// is not closed.
fn command(text: &str) -> Option<Value> {
    shlex::split(text).map(|words| json!(words))
}

/// Parses a word, or slugs of tasks.
fn headless(text: &str) -> Result<Value, String> {
    if ["stop", "deny", "approve"].contains(&text) {
        return Ok(json!(text));
    }
    // A typing mistake must not make a run wait for nobody.
    let meant = [("stop", 1), ("deny", 1), ("approve", 2)];
    if let Some((word, _)) = meant.into_iter().find(|(word, edits)| within(text, word, *edits)) {
        let approve = format!("To approve a task called {text}, run `callsheet approve`");
        return Err(format!("{}. Did you mean {word}? ({approve}.)", Kind::Headless.expected()));
    }
    let slugs: Vec<&str> = text.split(',').map(str::trim).collect();
    let is_valid = |slug: &&str| match slug.split_once('/') {
        Some((task, below)) => is_slug(task) && is_name_below(below),
        None => is_slug(slug),
    };
    if slugs.iter().all(is_valid) { Ok(json!(slugs)) } else { Err(Kind::Headless.expected()) }
}

fn is_slug(text: &str) -> bool {
    !text.is_empty() && text.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-')
}

/// Whether the text may be the name of a template's task. Authors choose these names.
fn is_name_below(text: &str) -> bool {
    !text.is_empty() && text.chars().all(|c| c.is_ascii_alphanumeric() || "-_.".contains(c))
}
