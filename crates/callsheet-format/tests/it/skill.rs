//! Skills: both file forms, policies, layers, the catalog (spec 7).
#![allow(clippy::disallowed_methods, clippy::disallowed_macros, reason = "tests read fixtures and say what they skip")]
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "helpers of tests fail by panicking")]

use std::fmt::Write;
use std::path::Path;

use crate::sections::{Fixture, check_all, tools};
use callsheet_core::nouns::{
    RepeatClass, Skill, SkillForm, SkillLayer, SkillPolicy, SkillSource, ToolEffect, ToolSpec,
};
use callsheet_format::skill::{
    Catalog, SkillContext, SkillFile, read_skill, skill_input_requirements, suggest, writer_reason,
};
use proptest::prelude::*;
use serde_json::{Value, json};

#[test]
fn fixtures_read_as_expected() {
    check_all("skill", check);
}

/// Sections: `file LAYER PATH`, `sandbox read-only`, `restrict NAMES`, `suggest NAME`.
fn check(fixture: &Fixture) -> String {
    let mut tools = tools();
    tools.extend([tool("apply_patch", ToolEffect::Write), tool("look_up", ToolEffect::Read)]);
    let read_only_sandbox = fixture.inputs().any(|(title, _)| title == "sandbox read-only");
    let context = SkillContext { tools: &tools, read_only_sandbox };
    let mut out = String::new();
    let mut skills = Vec::new();
    for (title, body) in fixture.inputs() {
        let Some(rest) = title.strip_prefix("file ") else { continue };
        let (layer, path) = rest.split_once(' ').expect("file LAYER PATH");
        let (skill, issues) = read_skill(&file(layer, path, body), context);
        for issue in issues {
            writeln!(out, "{issue}").unwrap();
        }
        if let Some(skill) = skill {
            describe(&mut out, &skill);
            skills.push(skill);
        }
    }
    let (catalog, issues) = Catalog::layer(skills);
    for issue in issues {
        writeln!(out, "{issue}").unwrap();
    }
    ask(&mut out, fixture, catalog);
    out
}

fn ask(out: &mut String, fixture: &Fixture, catalog: Catalog) {
    let mut catalog = catalog;
    for (title, _) in fixture.inputs() {
        if let Some(name) = title.strip_prefix("suggest ") {
            writeln!(out, "near {name}: {}", catalog.suggestions(name).join(" ")).unwrap();
        } else if let Some(names) = title.strip_prefix("restrict ") {
            let names: Vec<String> = names.split(',').map(str::to_owned).collect();
            let (restricted, issues) = catalog.restrict(&names);
            catalog = restricted;
            for issue in issues {
                writeln!(out, "{issue}").unwrap();
            }
        }
    }
    for skill in catalog.skills() {
        for source in catalog.replaced(&skill.name) {
            writeln!(out, "{} hides {}", skill.source.path, source.path).unwrap();
        }
    }
    writeln!(out, "catalog:\n{}", catalog.render()).unwrap();
}

fn describe(out: &mut String, skill: &Skill) {
    writeln!(out, "skill {} ({:?}): {}", skill.name, skill.form, skill.description).unwrap();
    if !skill.examples.is_empty() {
        writeln!(out, "  examples {:?}", skill.examples).unwrap();
    }
    let plain = serde_json::to_value(SkillPolicy::default()).unwrap();
    let policy = serde_json::to_value(&skill.policy).unwrap();
    for (key, value) in policy.as_object().unwrap() {
        if key == "limits" {
            let set: Value = value
                .as_object()
                .unwrap()
                .iter()
                .filter(|(_, v)| !v.is_null())
                .map(|(k, v)| (k.clone(), v.clone()))
                .collect();
            if set != json!({}) {
                writeln!(out, "  limits {set}").unwrap();
            }
        } else if key != "hash" && Some(value) != plain.get(key) {
            writeln!(out, "  {key} {value}").unwrap();
        }
    }
    writeln!(out, "  refinement {:?}", skill.refinement).unwrap();
    writeln!(out, "  execution {:?}", skill.execution).unwrap();
    writeln!(out, "  input requirements {:?}", skill_input_requirements(skill)).unwrap();
}

fn file(layer: &str, path: &str, text: &str) -> SkillFile {
    let layer = match layer {
        "project" => SkillLayer::Project,
        "agents" => SkillLayer::ProjectAgents,
        "claude" => SkillLayer::ProjectClaude,
        "user" => SkillLayer::User,
        "home" => SkillLayer::UserClaude,
        _ => SkillLayer::Bundled,
    };
    let (form, stem) = match path.strip_suffix("/SKILL.md") {
        Some(folder) => (SkillForm::Folder, folder),
        None => (SkillForm::SingleFile, path.strip_suffix(".md").unwrap_or(path)),
    };
    let stem = stem.rsplit('/').next().unwrap_or(stem).to_owned();
    SkillFile { form, stem, source: SkillSource { layer, path: path.to_owned() }, text: text.to_owned() }
}

fn tool(name: &str, effect: ToolEffect) -> ToolSpec {
    ToolSpec {
        name: name.to_owned(),
        description: String::new(),
        parameters: json!({}),
        effect,
        repeat: RepeatClass::Once,
        exclusive: false,
        named_only: false,
        aliases: Vec::new(),
        granted_as: None,
    }
}

/// covers: 11.1
#[test]
fn a_registered_tool_decides_by_its_own_effect() {
    let names = ["look_up".to_owned()];
    assert!(writer_reason(false, &names, SkillContext::default()).is_some(), "an unknown tool writes");
    let tools = [tool("look_up", ToolEffect::Read)];
    assert_eq!(writer_reason(false, &names, SkillContext { tools: &tools, read_only_sandbox: false }), None);
}

/// covers: 7.5
#[test]
fn the_hash_is_that_of_the_whole_text() {
    let one = read_skill(&file("user", "a.md", "description: x\n---\ndo\n"), SkillContext::default()).0.unwrap();
    let other = read_skill(&file("user", "a.md", "description: x\n---\ndo \n"), SkillContext::default()).0.unwrap();
    assert_eq!(one.execution, other.execution);
    assert_ne!(one.policy.hash, other.policy.hash);
}

/// covers: 7.3
#[test]
fn a_file_without_line_feeds_of_its_own_reads_the_same() {
    let text = "---\r\ndescription: x\r\ntools: read_file\r\n---\r\nrefine\r\n---\r\nexecute\r\n";
    let skill = read_skill(&file("user", "a.md", text), SkillContext::default()).0.unwrap();
    assert_eq!((skill.refinement.as_str(), skill.execution.as_str()), ("refine", "execute"));
}

/// The guide's examples are real: each fence after a `skill:` comment is a file that loads without an issue.
/// A project that nobody trusts yet may contain such a file, and every command reads it.
#[test]
fn thousands_of_keys_give_a_short_list_of_issues() {
    let text = |key: fn(usize) -> String| {
        let keys: String = (0..9_000).map(key).collect();
        format!("---\nname: many\ndescription: d\n{keys}---\nDo.\n")
    };
    for (key, loads) in
        [((|n| format!("key_{n}: v\n")) as fn(usize) -> String, true), (|_| "key: v\n".to_owned(), false)]
    {
        let (skill, issues) = read_skill(&file("project", "many.md", &text(key)), SkillContext::default());
        assert_eq!((skill.is_some(), issues.len()), (loads, 51), "{:?}", issues.first());
        assert!(issues.last().unwrap().message.contains("more issues are not listed"), "{:?}", issues.last());
    }
}

#[test]
fn skills_of_the_guide_load() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/guide/skills.md");
    let guide = std::fs::read_to_string(path).unwrap();
    let mut found = 0;
    for example in guide.split("<!-- skill: ").skip(1) {
        let (name, rest) = example.split_once(" -->").unwrap();
        let (_, rest) = rest.split_once("~~~~markdown\n").unwrap();
        let (text, _) = rest.split_once("~~~~").unwrap();
        let context = SkillContext { tools: &tools(), read_only_sandbox: false };
        let (skill, issues) = read_skill(&file("project", name, text), context);
        assert!(skill.is_some() && issues.is_empty(), "{name}: {issues:?}");
        found += 1;
    }
    assert_eq!(found, 3, "examples in the guide");
}

proptest! {
    #[test]
    fn any_text_reads_without_panic_and_fails_with_an_error(
        text in "(---\n)?((name|tools|mode|limits|metadata|description): ?[a-z\\[{&*!|>\"'éß\t ]{0,12}\n){0,4}(---\n)?\\PC{0,60}",
        folder in any::<bool>(),
    ) {
        let path = if folder { "x/SKILL.md" } else { "x.md" };
        let (skill, issues) = read_skill(&file("user", path, &text), SkillContext::default());
        prop_assert_eq!(skill.is_none(), issues.iter().any(|issue| issue.severity.as_str() == "error"));
        let lines = u32::try_from(text.lines().count()).unwrap() + 2;
        prop_assert!(issues.iter().all(|issue| issue.line >= 1 && issue.line <= lines), "{issues:?}");
    }

    #[test]
    fn any_bytes_read_without_panic(text in any::<String>(), folder in any::<bool>()) {
        let path = if folder { "x/SKILL.md" } else { "x.md" };
        let _ = read_skill(&file("user", path, &text), SkillContext::default());
    }

    #[test]
    fn a_known_name_is_its_own_nearest(names in proptest::collection::btree_set("[a-z]{1,8}", 1..8)) {
        for name in &names {
            let near = suggest(name, names.iter().map(|name| (name.as_str(), "")), 5);
            prop_assert_eq!(near.first(), Some(name));
            prop_assert!(near.len() <= 5);
        }
    }
}
