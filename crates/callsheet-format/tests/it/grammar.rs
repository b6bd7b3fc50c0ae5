//! Grammars of replies: printed forms against fixtures, and properties of texts walked from them.
#![allow(clippy::disallowed_methods, clippy::disallowed_macros, reason = "tests read fixtures and say what they skip")]
#![allow(clippy::unwrap_used, reason = "helpers of tests")]

use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;

use callsheet_core::nouns::{RepeatClass, ToolEffect, ToolSpec};
use callsheet_format::grammar;
use callsheet_format::grammar::{EditableFile, Grammar, ListShape, WriteOffer};
use proptest::prelude::*;
use serde_json::{Value, json};

fn texts(input: &Value, key: &str) -> Vec<String> {
    let list = input[key].as_array().cloned().unwrap_or_default();
    list.iter().map(|text| text.as_str().unwrap().to_owned()).collect()
}

fn number(input: &Value, key: &str) -> u32 {
    u32::try_from(input[key].as_u64().unwrap()).unwrap()
}

fn tool(name: &str, parameters: Value) -> ToolSpec {
    ToolSpec {
        name: name.into(),
        description: String::new(),
        parameters,
        effect: ToolEffect::Read,
        repeat: RepeatClass::Read,
        exclusive: false,
        named_only: false,
        aliases: Vec::new(),
        granted_as: None,
    }
}

fn tools(input: &Value) -> Vec<ToolSpec> {
    let list = input["tools"].as_object().cloned().unwrap_or_default();
    list.into_iter().map(|(name, parameters)| tool(&name, parameters)).collect()
}

fn build(input: &Value) -> Grammar {
    let references = texts(input, "references");
    let kind = input["kind"].as_str().unwrap();
    let shape = || ListShape {
        references: &references,
        max_sections: number(input, "max_sections"),
        max_tasks: number(input, "max_tasks"),
        first_number: number(input, "first_number"),
    };
    let open = texts(input, "open");
    let form = match kind {
        "plan" => grammar::plan(&shape()),
        "iteration" => grammar::iteration(&shape(), &open),
        "continuation" => grammar::continuation(&shape(), &open),
        "refinement" => grammar::refinement(&references, &tools(input), input["needs_call"] == true),
        "execution" => grammar::execution(),
        "merge" => grammar::merge(),
        "review" => grammar::review(),
        "loop_turn" => grammar::loop_turn(&tools(input)),
        "write_execution" => {
            let file = |file: &Value| EditableFile {
                path: file["path"].as_str().unwrap().into(),
                shown_in_full: file["shown_in_full"] == true,
            };
            let files: Vec<EditableFile> = input["files"].as_array().unwrap().iter().map(file).collect();
            grammar::write_execution(&WriteOffer::of(&files, input["expected"].as_str()))
        }
        other => panic!("unknown kind {other}"),
    };
    form.grammar()
}

fn render(grammar: &Grammar) -> String {
    let samples: Vec<String> = (0..3).map(|seed| grammar.sample(seed)).collect();
    let samples = samples.join("\n=== sample\n");
    format!("=== gbnf\n{}=== lark\n{}=== sample\n{samples}\n", grammar.to_gbnf(), grammar.to_lark())
}

fn fixtures() -> Vec<(PathBuf, Value)> {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("fixtures/grammar");
    let mut paths: Vec<PathBuf> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    let read = |path: PathBuf| {
        let text = fs::read_to_string(&path).unwrap();
        let (covers, input) = text.split_once('\n').unwrap();
        assert!(covers.starts_with("covers: "), "{} has no covers line", path.display());
        (path, serde_json::from_str(input).unwrap())
    };
    paths.into_iter().filter(|path| path.extension().is_some_and(|end| end == "txt")).map(read).collect()
}

#[test]
fn printed_forms_and_samples_are_as_recorded() {
    let fixtures = fixtures();
    assert!(fixtures.len() >= 8, "one fixture a kind");
    for (path, input) in fixtures {
        let got = render(&build(&input));
        let expect = path.with_extension("expect");
        if std::env::var_os("UPDATE_EXPECT").is_some() {
            fs::write(&expect, &got).unwrap();
        }
        assert_eq!(got, fs::read_to_string(&expect).unwrap_or_default(), "{}", expect.display());
    }
}

/// A server gets the grammar with every request: that of a full sheet with thirty files is short.
#[test]
fn a_grammar_of_a_full_sheet_is_short() {
    let paths: Vec<String> = (1..=30).map(|n| format!("src/garden/barrel_{n}.rs")).collect();
    let references: Vec<String> =
        paths.iter().map(|path| format!("[{}]({path})", path.rsplit('/').next().unwrap())).collect();
    let open: Vec<String> = (1..=6).map(|n| format!("Task {n}: Find the level")).collect();
    let shape = ListShape { references: &references, max_sections: 4, max_tasks: 2, first_number: 7 };
    let files: Vec<EditableFile> =
        paths.iter().map(|path| EditableFile { path: path.clone(), shown_in_full: true }).collect();
    let forms = [
        ("plan", grammar::plan(&shape)),
        ("iteration", grammar::iteration(&shape, &open)),
        ("continuation", grammar::continuation(&shape, &open)),
        ("refinement", grammar::refinement(&references, &crate::sections::tools(), true)),
        ("execution", grammar::execution()),
        ("merge", grammar::merge()),
        ("review", grammar::review()),
        ("loop turn", grammar::loop_turn(&crate::sections::tools())),
        ("write execution", grammar::write_execution(&WriteOffer::of(&files, None))),
    ];
    for (name, form) in forms {
        let size = form.grammar().to_gbnf().len();
        assert!(size <= 8_000, "the grammar of the {name} has {size} bytes");
    }
}

#[test]
fn every_rule_named_exists_once_and_is_well_named() {
    for (path, input) in fixtures() {
        let grammar = build(&input);
        let names: Vec<&str> = grammar.rules.iter().map(|(name, _)| name.as_str()).collect();
        let set: BTreeSet<&str> = names.iter().copied().collect();
        assert_eq!(set.len(), names.len(), "{}", path.display());
        assert!(
            names.iter().all(|name| name.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_'))
        );
        let text = serde_json::to_string(&grammar).unwrap();
        let used = text.split("{\"rule\":\"").skip(1).map(|rest| rest.split('"').next().unwrap());
        for name in used {
            assert!(set.contains(name), "{} uses {name}", path.display());
        }
        let back: Grammar = serde_json::from_str(&text).unwrap();
        assert_eq!(back, grammar);
    }
}

/// What a strict reader of a list would demand: sections from `section` on, keys in order, only valid links, no link to a
/// task of the same or a later section.
fn check_sections(text: &str, valid: &[String], first_number: u32) -> u32 {
    let mut section = 0;
    let mut names: Vec<u32> = Vec::new();
    let mut readable = 0;
    let mut key = "";
    for line in text.lines() {
        if line == "### Task section" {
            section += 1;
            readable = names.len();
            key = "";
        } else if let Some(rest) = line.strip_prefix("- **") {
            let (label, value) = rest.split_once("** ").unwrap();
            assert!(!value.trim().is_empty());
            match label {
                "Name" => {
                    assert!(matches!(key, "" | "Expected output"));
                    let (number, words) = value.strip_prefix("Task ").unwrap().split_once(": ").unwrap();
                    assert!(!words.trim().is_empty(), "{text}");
                    names.push(number.parse().unwrap());
                }
                "What is needed" => assert_eq!(key, "Name"),
                "References" => {
                    assert!(matches!(key, "What is needed" | "For each"));
                    for link in value.split_inclusive(')').map(str::trim).filter(|link| !link.is_empty()) {
                        let earlier = names[..readable].iter();
                        let outputs: Vec<String> = earlier.map(|n| format!("[Task {n}](#task-{n}-results)")).collect();
                        assert!(
                            valid.contains(&link.to_owned()) || outputs.contains(&link.to_owned()),
                            "{link}\n{text}"
                        );
                    }
                }
                "For each" => assert!(key == "What is needed" && value.starts_with("item in ["), "{value}"),
                "Expected output" => assert!(matches!(key, "References" | "What is needed" | "For each")),
                other => panic!("label {other}"),
            }
            key = ["Name", "What is needed", "For each", "References", "Expected output"]
                .into_iter()
                .find(|known| *known == label)
                .unwrap();
        } else {
            assert!(line.is_empty() && key == "Expected output", "{line:?} in\n{text}");
        }
    }
    let expected: Vec<u32> = (first_number..).take(names.len()).collect();
    assert_eq!(names, expected, "names are numbered through");
    section
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn walked_plans_follow_the_wire_format(seed: u64, sections in 1u32..5, tasks in 1u32..4, links in 0usize..4, first in 1u32..9) {
        let references: Vec<String> = ["[Net](src/net.rs#L1-L6)", "[Manual](docs/manual.md)", "[Page](project_description)"]
            .map(String::from)[..links.min(3)].to_vec();
        let shape = ListShape { references: &references, max_sections: sections, max_tasks: tasks, first_number: first };
        let text = grammar::plan(&shape).grammar().sample(seed);
        let (head, list) = text.split_once("\n## Tasks\n").unwrap();
        let goals = head.strip_prefix("## Goals / summary\n").unwrap();
        let goals = goals.strip_suffix("\n\n**plan complete**").unwrap_or(goals);
        prop_assert_eq!(goals.lines().count(), 1);
        let found = check_sections(list, &references, first);
        prop_assert!((1..=sections).contains(&found));
        let characters = u32::try_from(text.chars().count()).unwrap();
        prop_assert!(characters <= 3 * grammar::list_tokens(&shape) + 3, "{} characters", characters);
    }

    #[test]
    fn walked_iterations_remove_tasks_by_name_with_a_reason(seed: u64, count in 0usize..4) {
        let open: Vec<String> = (0..count).map(|n| format!("Old {n}")).collect();
        let shape = ListShape { references: &[], max_sections: 2, max_tasks: 2, first_number: 7 };
        let text = grammar::iteration(&shape, &open).grammar().sample(seed);
        for removed in text.split("\n## Removed tasks\n").skip(1) {
            let (name, reason) = removed.strip_prefix("- **").unwrap().split_once("** ").unwrap();
            prop_assert!(open.iter().any(|one| one == name));
            prop_assert!(reason.lines().next().unwrap().chars().count() >= 8);
        }
    }

    #[test]
    fn walked_calls_hold_against_their_schema(seed: u64, needed: bool) {
        let tools = [tool("search_text", schema()), tool("now", json!({}))];
        let text = grammar::refinement(&[], &tools, needed).grammar().sample(seed);
        let calls: Vec<Value> = text.split("\n```json\n").skip(1)
            .map(|rest| serde_json::from_str(rest.split("\n```").next().unwrap()).unwrap()).collect();
        prop_assert!(calls.len() <= 3 && (!needed || !calls.is_empty()));
        for (index, call) in calls.iter().enumerate() {
            let name = call["name"].as_str().unwrap();
            prop_assert_eq!(call["id"].as_str().unwrap(), format!("{name}-{}", index + 1));
            let spec = tools.iter().find(|tool| tool.name == name).unwrap();
            let valid = jsonschema::validator_for(&spec.parameters).unwrap();
            prop_assert!(valid.is_valid(&call["arguments"]), "{}", call);
        }
    }

    #[test]
    fn walked_executions_open_only_their_own_sections(seed: u64) {
        for form in [grammar::execution(), grammar::merge()] {
            let text = form.grammar().sample(seed);
            let headings = level_two_headings(&text);
            prop_assert_eq!(headings.first().map(String::as_str), Some("Result summary"));
            let allowed = ["Document", "Details"];
            prop_assert!(headings[1..].iter().all(|heading| allowed.contains(&heading.as_str())), "{:?}", headings);
            prop_assert_eq!(headings.iter().filter(|heading| *heading == "Document").count(), text.matches("\n## Document\n").count());
            prop_assert_eq!(headings.iter().filter(|heading| *heading == "Details").count(), text.matches("\n## Details\n").count());
        }
    }

    #[test]
    fn walked_changes_use_one_way_each(seed: u64, pick in 0usize..3) {
        let files = [
            EditableFile { path: "src/net.rs".into(), shown_in_full: true },
            EditableFile { path: "docs/a long name.md".into(), shown_in_full: false },
        ];
        let expected = [None, Some("docs/a long name.md"), Some("notes/new.md")][pick];
        let text = grammar::write_execution(&WriteOffer::of(&files, expected)).grammar().sample(seed);
        // A file to be made comes first; else what is to be changed is said first.
        let changes = if text.starts_with("## Result summary\n") {
            let begins = ["\n## Change details\n", "\n**no changes needed**\n"].map(|mark| text.find(mark));
            &text[begins.into_iter().flatten().min().unwrap() + 1..]
        } else {
            text.split_once("\n## Result summary\n").unwrap().0
        };
        if let Some(rest) = changes.strip_prefix("**no changes needed**\n- **file_path** ") {
            let path = rest.lines().next().unwrap();
            prop_assert!(files.iter().any(|file| file.path == path) && expected.is_none_or(|expected| expected == path));
            return Ok(());
        }
        let changes = changes.strip_prefix("## Change details\n").unwrap();
        let blocks: Vec<&str> = changes.split("\n## Change details\n").collect();
        if let Some(path) = expected {
            let first = format!("- **file_path** {path}\n");
            prop_assert!(blocks[0].starts_with(&first), "{}", text);
        }
        for block in blocks {
            let path = block.strip_prefix("- **file_path** ").unwrap().lines().next().unwrap();
            let fences = block.lines().filter(|line| line.starts_with("```")).count();
            let known = files.iter().find(|file| file.path == path);
            if block.ends_with("\n- **location** remove") {
                prop_assert!(known.is_some() && block.contains("\n- **ast_path** "));
                prop_assert_eq!(fences, 0);
            } else if block.contains("\n- **overwrite** true\n") {
                prop_assert!(known.is_some_and(|file| file.shown_in_full));
                prop_assert_eq!(fences, 2);
            } else if block.contains("\n- **complete_file** true\n") {
                prop_assert_eq!(fences, 2);
            } else if block.contains("\n- **start_line** ") {
                prop_assert!(known.is_some() && block.contains("\n- **end_line** "));
                prop_assert_eq!(fences, 2);
            } else if block.contains("\n- **ast_path** ") {
                prop_assert!(known.is_some() && block.contains("\n- **location** "));
                prop_assert_eq!(fences, 2);
            } else {
                prop_assert!(known.is_some());
                prop_assert_eq!(fences, 4);
            }
        }
    }
}

fn schema() -> Value {
    json!({
        "type": "object",
        "properties": {
            "case": { "type": "boolean" },
            "pattern": { "type": "string", "minLength": 1, "maxLength": 60 },
            "kind": { "enum": ["word", "regex", 3] },
            "limit": { "type": "integer", "minimum": 1, "maximum": 50 },
            "weight": { "type": "number" },
            "paths": { "type": "array", "items": { "type": "string" }, "minItems": 1, "maxItems": 3 },
            "range": {
                "type": "object",
                "properties": { "first": { "$ref": "#/$defs/line" }, "last": { "$ref": "#/$defs/line" } },
                "required": ["first"]
            },
            "note": { "type": ["string", "null"] },
            "extra": {}
        },
        "required": ["pattern", "limit"],
        "$defs": { "line": { "type": "integer", "minimum": 0 } }
    })
}

/// Texts of level two headings as Markdown sees them, outside fences and lists.
fn level_two_headings(text: &str) -> Vec<String> {
    use pulldown_cmark::{Event, HeadingLevel, Parser, Tag, TagEnd};
    let (mut headings, mut inside, mut lists) = (Vec::new(), false, 0);
    for event in Parser::new(text) {
        match event {
            Event::Start(Tag::List(_)) => lists += 1,
            Event::End(TagEnd::List(_)) => lists -= 1,
            Event::Start(Tag::Heading { level, .. }) if lists == 0 && level <= HeadingLevel::H2 => {
                inside = true;
                headings.push(String::new());
            }
            Event::End(TagEnd::Heading(_)) => inside = false,
            Event::Text(text) if inside => headings.last_mut().unwrap().push_str(&text),
            _ => {}
        }
    }
    headings
}

#[test]
fn a_line_never_holds_what_a_reader_would_have_to_mend() {
    let shape = ListShape { references: &[], max_sections: 1, max_tasks: 1, first_number: 1 };
    for seed in 0..300 {
        let text = grammar::plan(&shape).grammar().sample(seed);
        let need = text.lines().find_map(|line| line.strip_prefix("- **What is needed** ")).unwrap();
        assert!(need.starts_with(|c: char| c.is_ascii_alphabetic() || !c.is_ascii()));
        assert!(!need.contains(['[', ']', '<', '*', '\u{a0}', '\u{200b}']));
        assert!((8..=240).contains(&need.chars().count()));
    }
}

#[test]
fn schemas_that_are_no_object_still_give_an_object() {
    for parameters in [json!(true), json!({}), json!({ "$ref": "#" }), json!({ "type": [] })] {
        let text = grammar::refinement(&[], &[tool("t", parameters)], true).grammar().sample(5);
        assert!(text.contains("\"arguments\": {"), "{text}");
    }
}
