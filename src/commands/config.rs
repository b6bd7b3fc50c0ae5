//! `config`: prints all settings, each with its value, its origin and its meaning.

use callsheet_app::Advice;
use callsheet_core::nouns::Settings;
use serde_json::{Value, json};

use crate::cli::{ConfigArgs, Exit, Failure};
use crate::config::{KEYS, Key, key};
use crate::setup::Setup;

pub(super) fn config(setup: &Setup, arguments: &ConfigArgs) -> Result<Exit, Failure> {
    let defaults = json!(Settings::default());
    let text = arguments.text.as_deref().unwrap_or_default();
    let mut listed = KEYS.iter().filter(|key| key.name.contains(text)).peekable();
    if listed.peek().is_none() {
        let what = format!("no setting has `{text}` in its name");
        return Err(Failure::usage(what, Advice::command("list all settings", ["config"])));
    }
    listed.try_for_each(|known| list(setup, known, &defaults))?;
    Ok(Exit::Complete)
}

/// Prints a key with its value. A key whose name contains a user's choice is printed once for each choice.
fn list(setup: &Setup, known: &Key, defaults: &Value) -> Result<(), Failure> {
    let is_it = |name: &str| key(name).is_some_and(|found| found.name == known.name);
    let set = setup.config.values.iter().filter(|(name, _)| is_it(name));
    let mut values: Vec<(&str, Value, String)> =
        set.map(|(name, value)| (name.as_str(), value.value.clone(), value.origin.to_string())).collect();
    if values.is_empty() {
        let field = known.field.unwrap_or(known.name);
        let default = field.split('.').try_fold(defaults, |tree, part| tree.get(part));
        values.push((known.name, default.cloned().unwrap_or_default(), "default".to_owned()));
    }
    let expected = known.kind.expected();
    for (name, value, origin) in values {
        if setup.json {
            super::print_json(&json!({
                "key": name, "value": value, "origin": origin, "about": known.about, "expected": expected,
            }))?;
        } else {
            let value = if value.is_null() { "not set".to_owned() } else { format!("{value} ({origin})") };
            super::print(&format!("{name} = {value}\n    {}\n    {expected}\n", known.about))?;
        }
    }
    Ok(())
}
