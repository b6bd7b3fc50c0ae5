//! The Lark form of every grammar, read by llguidance byte by byte: what a walk writes, the engine must allow.
#![allow(clippy::disallowed_methods, clippy::disallowed_macros, reason = "tests read fixtures and say what they skip")]
#![allow(clippy::unwrap_used, reason = "helpers of tests")]

use callsheet_core::nouns::{RepeatClass, ToolEffect, ToolSpec};
use callsheet_format::grammar;
use callsheet_format::grammar::{EditableFile, Grammar, ListShape, WriteOffer};
use llguidance::api::TopLevelGrammar;
use llguidance::toktrie::{ApproximateTokEnv, TokEnv};
use llguidance::{Matcher, ParserFactory};
use serde_json::json;

fn matcher(factory: &ParserFactory, grammar: &Grammar) -> Matcher {
    let lark = TopLevelGrammar::from_lark(grammar.to_lark());
    let mut matcher = Matcher::new(factory.create_parser(lark));
    assert_eq!(matcher.get_error(), None, "{}", grammar.to_lark());
    assert_eq!(matcher.grammar_warnings(), Vec::<String>::new());
    matcher
}

fn factory() -> ParserFactory {
    let bytes: TokEnv = ApproximateTokEnv::single_byte_env();
    let mut factory = ParserFactory::new_simple(&bytes).unwrap();
    factory.quiet();
    factory
}

fn texts(list: &[&str]) -> Vec<String> {
    list.iter().map(|text| (*text).to_owned()).collect()
}

fn tools() -> Vec<ToolSpec> {
    let spec = |name: &str, parameters| ToolSpec {
        name: name.into(),
        description: String::new(),
        parameters,
        effect: ToolEffect::Read,
        repeat: RepeatClass::Read,
        exclusive: false,
        named_only: false,
        aliases: Vec::new(),
        granted_as: None,
    };
    let search = json!({
        "type": "object",
        "properties": {
            "pattern": { "type": "string" },
            "limit": { "type": "integer", "minimum": 1, "maximum": 900 },
            "weight": { "type": "number" },
            "kinds": { "type": "array", "items": { "enum": ["code", "text"] } },
            "range": { "type": "object", "properties": { "first": { "type": "integer" } } },
            "extra": true
        },
        "required": ["pattern"]
    });
    vec![spec("search_text", search), spec("now", json!({}))]
}

fn all() -> Vec<(&'static str, Grammar)> {
    let references = texts(&["[Net](src/net.rs#L10-L60)", "[Manual](docs/manual.md)", "[](README.md)"]);
    let shape = ListShape { references: &references, max_sections: 4, max_tasks: 3, first_number: 1 };
    let open = texts(&["Old", "Older"]);
    let files = [
        EditableFile { path: "src/net.rs".into(), shown_in_full: true },
        EditableFile { path: "a b/c.md".into(), shown_in_full: false },
    ];
    let forms = vec![
        ("plan", grammar::plan(&shape)),
        ("iteration", grammar::iteration(&shape, &open)),
        ("continuation", grammar::continuation(&shape, &[])),
        ("refinement", grammar::refinement(&references, &tools(), false)),
        ("refinement with a call", grammar::refinement(&references, &tools(), true)),
        ("execution", grammar::execution()),
        ("merge", grammar::merge()),
        ("review", grammar::review()),
        ("loop turn", grammar::loop_turn(&tools())),
        ("write execution", grammar::write_execution(&WriteOffer::of(&files, None))),
        ("write a known file", grammar::write_execution(&WriteOffer::of(&files, Some("a b/c.md")))),
        ("write a new file", grammar::write_execution(&WriteOffer::of(&files, Some("notes/new.md")))),
    ];
    forms.into_iter().map(|(name, form)| (name, form.grammar())).collect()
}

#[test]
fn llguidance_allows_every_walk_to_its_end() {
    let factory = factory();
    for (name, grammar) in all() {
        for seed in 0..15 {
            let text = grammar.sample(seed);
            let mut matcher = matcher(&factory, &grammar);
            let bytes: Vec<u32> = text.bytes().map(u32::from).collect();
            let taken = matcher.try_consume_tokens(&bytes).unwrap();
            let near = String::from_utf8_lossy(&text.as_bytes()[..taken]).into_owned();
            assert_eq!(taken, bytes.len(), "{name} {seed} stops after {near:?} of {text:?}");
            assert!(matcher.is_stopped() || matcher.is_accepting().unwrap(), "{name} {seed} is not at its end");
        }
    }
}

#[test]
fn a_new_file_may_share_a_folder_with_a_known_one() {
    let files = [EditableFile { path: "src/net.rs".into(), shown_in_full: false }];
    let text = "## Result summary\nA file.\n## Change details\n- **file_path** src/nets/new.rs\n- **complete_file** true\n\
                ```rust\nfn main() {}\n```";
    let mut matcher = matcher(&factory(), &grammar::write_execution(&WriteOffer::of(&files, None)).grammar());
    let bytes: Vec<u32> = text.bytes().map(u32::from).collect();
    assert_eq!(matcher.try_consume_tokens(&bytes).unwrap(), bytes.len());
    assert!(matcher.is_accepting().unwrap());
}

#[test]
fn what_no_reader_accepts_is_not_allowed() {
    let (_, plan) = all().swap_remove(0);
    let start = "## Goals / summary\nShow the rule by which the barrels fill.\n## Tasks\n### Task section\n- **Name** Task 1: Find\n- **What is needed** Find it.\n";
    let cases = [
        ("a skill", "- **Skill** find_code"),
        ("a link of its own section", "- **References** [Task 1]"),
        ("an unknown link", "- **References** [Net](src/other.rs)"),
        ("a missing key", "- **Name** Task 2: Find"),
    ];
    for (what, rest) in cases {
        let mut matcher = matcher(&factory(), &plan);
        let bytes: Vec<u32> = format!("{start}{rest}").bytes().map(u32::from).collect();
        let taken = matcher.try_consume_tokens(&bytes).unwrap();
        assert!(taken >= start.len() && taken < bytes.len(), "{what}: {taken} of {}", bytes.len());
    }
}

#[test]
fn the_frame_of_a_reply_is_forced_text() {
    let (_, plan) = all().swap_remove(0);
    let mut matcher = matcher(&factory(), &plan);
    assert_eq!(matcher.compute_ff_bytes(), b"## Goals / summary\n");
    let text = "## Goals / summary\nShow the rule by which the barrels fill.\n## Tasks\n### Task section\n- **Name** Task 1: Find\n- **What is needed** Find it.\n";
    let bytes: Vec<u32> = text.bytes().map(u32::from).collect();
    assert_eq!(matcher.try_consume_tokens(&bytes).unwrap(), bytes.len());
    assert_eq!(matcher.compute_ff_bytes(), b"- **");
}
