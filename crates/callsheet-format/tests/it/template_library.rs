//! Libraries of templates: layers, names, calls, and what is checked against the world (spec "Templates" 2.1, 3, 10).
#![allow(clippy::disallowed_methods, clippy::disallowed_macros, reason = "tests read fixtures and say what they skip")]
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "helpers of tests fail by panicking")]

use std::collections::BTreeMap;
use std::fmt::Write;

use crate::sections::{Fixture, check_all, fixtures, tools};
use callsheet_core::template::{Code, Query, SubtaskRequest, match_templates};
use callsheet_format::template::{
    Known, Layer, Library, TemplateFile, issue_schema, json_schema, read_text, short_schema, xml_schema,
};

/// Sections `file LAYER NAME`, `known` (lines `model: …`, `provider: NAME open|closed`, `tool: …`, `skill: …`,
/// `schema NAME: …`, `path: …`), `strict`.
#[test]
fn libraries_load_as_expected() {
    check_all("templates/library", shown);
}

/// What is told of the library of a fixture, and which of its templates can be used.
pub(crate) fn shown(fixture: &Fixture) -> String {
    let library = load(fixture);
    let mut out = String::new();
    for issue in library.issues() {
        write!(out, "{}:{}:{}", issue.file, issue.line, issue.column).unwrap();
        write!(out, " {} [{}] {}; {}", issue.code, issue.path, issue.message, issue.advice).unwrap();
        if !issue.expected.is_empty() {
            write!(out, " | expected {}", issue.expected.join(" ")).unwrap();
        }
        for related in &issue.related {
            let file = related.file.as_deref().unwrap_or("");
            write!(out, " | {file}:{}:{} {}", related.line, related.column, related.message).unwrap();
        }
        out.push('\n');
    }
    for loaded in library.templates() {
        writeln!(out, "usable: {} ({})", loaded.template.name, loaded.layer.as_str()).unwrap();
    }
    for name in library.unavailable() {
        writeln!(out, "unavailable: {name}").unwrap();
    }
    out
}

fn load(fixture: &Fixture) -> Library {
    let mut files = Vec::new();
    let mut known = Known::default();
    let mut schemas = BTreeMap::new();
    let mut paths = Vec::new();
    let mut strict = false;
    for (title, body) in fixture.inputs() {
        match title.split(' ').collect::<Vec<_>>().as_slice() {
            ["file", layer, name] => {
                let layers = [Layer::Project, Layer::User, Layer::BuiltIn];
                let layer = layers.into_iter().find(|known| known.as_str() == *layer).expect("layer");
                files.push(TemplateFile { layer, file: (*name).to_owned(), bytes: body.as_bytes().to_vec() });
            }
            ["strict"] => strict = true,
            ["known"] => {
                for line in body.lines() {
                    let (key, value) = line.split_once(": ").expect("KEY: VALUE");
                    match key {
                        "model" => drop(known.models.get_or_insert_default().insert(value.to_owned())),
                        "provider" => {
                            let (name, open) = value.split_once(' ').expect("NAME open|closed");
                            known.providers.get_or_insert_default().insert(name.to_owned(), open == "open");
                        }
                        "tool" => drop(known.tools.get_or_insert_default().insert(value.to_owned())),
                        "skill" => drop(known.skills.get_or_insert_default().insert(value.to_owned())),
                        "path" => paths.push(value.to_owned()),
                        other => {
                            let name = other.strip_prefix("schema ").expect("a key of the world");
                            schemas.insert(name.to_owned(), value.to_owned());
                        }
                    }
                }
            }
            other => panic!("section {other:?}"),
        }
    }
    let schema = |_: &str, name: &str| schemas.get(name).cloned();
    let exists = |path: &str| paths.iter().any(|known| known == path);
    let known =
        Known { schema: Some(&schema), exists: (!paths.is_empty()).then_some(&exists as _), specs: tools(), ..known };
    Library::load(&files, &known, strict)
}

/// Sections `file LAYER NAME`, `text`, `request` (JSON), `node TEMPLATE`.
#[test]
fn templates_match_as_expected() {
    check_all("templates/match", |fixture| {
        let text: String =
            fixture.inputs().find(|(title, _)| title.starts_with("file ")).map(|(_, body)| body.into()).unwrap();
        let templates = read_text("match.xml", &text).templates;
        let mut out = String::new();
        for (title, body) in fixture.inputs() {
            let query = match title.split_once(' ').unwrap_or((title, "")) {
                ("file", _) => continue,
                ("text", _) => Query::of_text(body.trim()),
                ("request", _) => Query::of_request(&serde_json::from_str::<SubtaskRequest>(body).unwrap()),
                ("node", name) => {
                    Query::of_node(&templates.iter().find(|template| template.name == name).unwrap().body)
                }
                other => panic!("section {other:?}"),
            };
            let rows = match_templates(&templates, &query);
            assert_eq!(rows, match_templates(templates.iter().rev(), &query), "the order of a library plays no part");
            writeln!(out, "# {title} {}", body.trim()).unwrap();
            for row in rows {
                writeln!(out, "{}", serde_json::to_string(&row).unwrap()).unwrap();
            }
        }
        out
    });
}

/// covers: C2, C3. Every code has a fixture.
#[test]
fn every_code_has_a_fixture() {
    let mut seen = String::new();
    for area in ["templates/read", "templates/library", "templates/kinds"] {
        for fixture in fixtures(area) {
            seen.push_str(&fixture.expect());
        }
    }
    // Held by a test of caps, which are too large for a fixture.
    let elsewhere = [Code::T003];
    let missing: Vec<&str> = Code::ALL
        .iter()
        .filter(|code| !elsewhere.contains(code) && !seen.contains(&format!(" {code} ")))
        .map(|code| code.as_str())
        .collect();
    assert!(missing.is_empty(), "no fixture shows {}", missing.join(" "));
}

/// covers: C6. Every diagnostic of every fixture is what its schema says.
#[test]
fn issues_match_their_schema() {
    let schema = jsonschema::validator_for(&issue_schema()).unwrap();
    let all = ["templates/library", "templates/kinds"].into_iter().flat_map(fixtures);
    for fixture in all {
        for issue in load(&fixture).issues() {
            let value = serde_json::to_value(issue).unwrap();
            assert!(schema.is_valid(&value), "{value}");
        }
    }
}

/// The schema files are made from the table that the reader checks by. `UPDATE_EXPECT=1` rewrites them.
#[test]
fn schema_files_are_up_to_date() {
    let pretty = |value: &serde_json::Value| format!("{}\n", serde_json::to_string_pretty(value).unwrap());
    assert!(jsonschema::validator_for(&json_schema()).is_ok());
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/schema");
    let files = [
        ("template.xsd", xml_schema()),
        ("template.schema.json", pretty(&json_schema())),
        ("template-yaml.schema.json", pretty(&short_schema())),
        ("template-issue.schema.json", pretty(&issue_schema())),
    ];
    for (name, text) in files {
        let path = folder.join(name);
        if std::env::var_os("UPDATE_EXPECT").is_some() {
            std::fs::create_dir_all(&folder).unwrap();
            std::fs::write(&path, &text).unwrap();
        }
        assert_eq!(std::fs::read_to_string(&path).unwrap_or_default(), text, "run with UPDATE_EXPECT=1");
    }
}
