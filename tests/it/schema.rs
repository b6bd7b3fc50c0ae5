//! The JSON Schemas under `docs/schema/` are what the code says, and they accept what the readers accept.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "tests")]

use callsheet::config::{Config, KEYS, Sources, config_schema};
use callsheet_core::nouns::{SkillForm, SkillLayer, SkillSource};
use callsheet_format::skill::{SkillContext, SkillFile, front_matter_schema, read_skill};
use serde_json::{Value, json};

fn check(name: &str, schema: &Value) {
    let file = crate::support::root().join("docs/schema").join(name);
    let text = format!("{}\n", serde_json::to_string_pretty(schema).unwrap());
    if std::env::var_os("UPDATE_EXPECT").is_some() {
        std::fs::write(&file, &text).unwrap();
    }
    let kept = std::fs::read_to_string(&file).unwrap_or_default();
    assert_eq!(kept, text, "docs/schema/{name} is old; UPDATE_EXPECT=1 writes it anew");
}

#[test]
fn the_files_are_what_the_code_says() {
    check("skill.schema.json", &front_matter_schema(SkillForm::SingleFile));
    check("skill-folder.schema.json", &front_matter_schema(SkillForm::Folder));
    check("config.schema.json", &config_schema());
    #[cfg(feature = "page")]
    check("openapi.json", &callsheet_web::openapi());
}

/// Values of every type that a key could be given.
fn samples() -> Vec<Value> {
    let words =
        ["x", "loop", "interpret", "auto", "never", "always", "code", "model", "a/b", "embedded:x.gguf", "stop"];
    let mut samples: Vec<Value> = words.iter().map(|word| json!(word)).collect();
    samples.extend([
        json!(true),
        json!(false),
        json!(0),
        json!(1),
        json!(7),
        json!(-1),
        json!(0.5),
        json!(5_000_000_000_u64),
        json!(["read_file"]),
        json!(["read_file", "search_text"]),
        json!("read_file"),
        json!("Bash(git:*)"),
        json!({}),
        json!({ "nonsense": 1 }),
        json!([["deep"]]),
    ]);
    samples
}

/// Whether the reader takes the front matter as it stands: no error, and nothing passed over.
fn reads(form: SkillForm, front: &Value) -> bool {
    let stem = front["name"].as_str().unwrap_or("x").to_owned();
    let source = SkillSource { layer: SkillLayer::Project, path: "x.md".to_owned() };
    // JSON is YAML.
    let text = format!("---\n{front}\n---\ndo\n");
    let tools: Vec<_> = callsheet_tools::registry().iter().map(|tool| tool.spec().clone()).collect();
    let context = SkillContext { tools: &tools, read_only_sandbox: false };
    let (_, issues) = read_skill(&SkillFile { form, stem, source, text }, context);
    // What has no effect, or is merely unusual, is no matter of form.
    let of_form = |message: &str| {
        !["no effect", "without tools", "there is no tool", "Callsheet has no tool", "the folder's name"]
            .iter()
            .any(|words| message.contains(words))
    };
    !issues.iter().any(|issue| of_form(&issue.message))
}

fn compare(form: SkillForm, front: &Value, compared: &mut usize) {
    // The reader takes `true` and numbers for names of tools; the schema does not advise it.
    let holders = [front, &front["metadata"]];
    let keys = ["tools", "allowed-tools", "callsheet-tools"];
    if holders.iter().any(|map| keys.iter().any(|key| map[key].is_boolean() || map[key].is_number())) {
        return;
    }
    let valid = jsonschema::is_valid(&front_matter_schema(form), front);
    assert_eq!(valid, reads(form, front), "{form:?} schema says {valid} of {front}");
    *compared += 1;
}

/// covers: 7.1, 7.3
#[test]
fn the_schema_of_skills_agrees_with_their_reader() {
    let mut compared = 0;
    let single = ["tools", "mode", "execution", "writes", "requires-approval", "refine", "merge", "review", "model"];
    let limits = ["turns", "max_turns", "timeout-s", "max-tokens", "parallel", "reference-tokens", "max-depth"];
    for value in samples() {
        for key in single.iter().chain(&["limits", "license", "allowed-tools", "unknown"]) {
            compare(SkillForm::SingleFile, &json!({ "description": "d", *key: value }), &mut compared);
        }
        for key in ["allowed-tools", "tools", "mode", "metadata"] {
            compare(SkillForm::Folder, &json!({ "name": "x", "description": "d", key: value }), &mut compared);
        }
        for key in limits {
            let front = json!({ "description": "d", "limits": { key: value } });
            compare(SkillForm::SingleFile, &front, &mut compared);
        }
        for key in single.iter().chain(&["limits", "surprise", "name"]) {
            let front = json!({ "name": "x", "description": "d", "metadata": { format!("callsheet-{key}"): value } });
            compare(SkillForm::Folder, &front, &mut compared);
        }
        let front = json!({ "name": "x", "description": "d", "metadata": { "author": value } });
        compare(SkillForm::Folder, &front, &mut compared);
    }
    for name in ["x", "a_b", "a-b", "Upper", "a b", "é"] {
        for form in [SkillForm::SingleFile, SkillForm::Folder] {
            compare(form, &json!({ "name": name, "description": "d" }), &mut compared);
        }
    }
    for front in [json!({}), json!({ "name": "x" }), json!({ "description": "" })] {
        compare(SkillForm::SingleFile, &front, &mut compared);
    }
    assert!(compared > 500, "{compared}");
}

/// Whether the configuration takes the text without a word.
fn takes(text: &str) -> bool {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("config.toml");
    std::fs::write(&file, text).unwrap();
    // The user's own file is trusted.
    let sources = Sources { user: Some(file), ..Sources::default() };
    Config::load(&sources, None).is_ok_and(|config| config.notices.is_empty() && config.settings().is_ok())
}

#[test]
fn the_schema_of_the_configuration_agrees_with_its_reader() {
    let schema = config_schema();
    let mut names: Vec<String> = KEYS.iter().map(|key| key.name.replace('*', "mine")).collect();
    names.extend(["jbos".to_owned(), "limits.max_turn".to_owned(), "providers.mine.colour".to_owned()]);
    for name in &names {
        for value in samples() {
            // A table would be another key; how large a count may be is not said by the schema.
            if !value.is_object() && value.as_u64().is_none_or(|number| number < 1_000) {
                compare_config(&schema, name, &value);
            }
        }
    }
}

fn compare_config(schema: &Value, name: &str, value: &Value) {
    let document = name.rsplit('.').fold(value.clone(), |inner, part| json!({ part: inner }));
    let valid = jsonschema::is_valid(schema, &document);
    // Such values are written alike in JSON and TOML.
    assert_eq!(valid, takes(&format!("{name} = {value}\n")), "the schema says {valid} of {name} = {value}");
}
