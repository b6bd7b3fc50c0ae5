//! Acceptance checks of templates that need no run (spec "Templates" 17), each named after its number: binding,
//! expressions, results, outputs and replies.
#![allow(clippy::disallowed_methods, clippy::disallowed_macros, reason = "tests read fixtures and say what they skip")]
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "helpers of tests fail by panicking")]

use std::sync::Arc;

use crate::sections::fixtures;
use callsheet_core::evaluate::Formats as _;
use callsheet_core::template::{
    Bound, Details, Environment, ErrorKind, Expression, Halt, InputFaultDetails, Kind, Reason, Resource, ReturnStatus,
    SubtaskRequest, TaskError, TaskResult, Template, Trust, ValueType, Verdict, argument_value, bind_call,
    check_returns, missing_before_run, operators, read_output, resolve_task, snake_keys,
};
use callsheet_format::template::{TextFormats, read_reply, read_text};
use proptest::prelude::*;
use serde_json::{Map, Value, json};

fn templates(text: &str) -> Vec<Template> {
    let reading = read_text("a.xml", &format!("<templates>{text}</templates>"));
    assert!(!reading.has_error(), "{:?}", reading.issues);
    reading.templates
}

fn atomic(name: &str, description: &str) -> String {
    format!(
        "<task type=\"atomic\" name=\"{name}\"><description>{description}</description><instructions>B</instructions></task>"
    )
}

fn environment(values: Value) -> Environment {
    let values = values.as_object().cloned().unwrap_or_default();
    Environment::root(values.into_iter().map(|(name, value)| (name, Bound::json(value, Trust::Caller))))
}

fn filled(description: &str, values: Value) -> Result<String, InputFaultDetails> {
    let template = templates(&atomic("a", description)).remove(0);
    resolve_task(&template.body, &environment(values), "a")
        .map(|task| task.description.as_str().to_owned())
        .map_err(|missing| InputFaultDetails { missing, invalid: Vec::new() })
}

/// Three names missing in three tasks are one error with three places; a result path fails at its own task.
#[test]
fn c7_missing_names_are_told_at_once() {
    let step = |name: &str| {
        format!("<task type=\"atomic\"><description>{{{{{name}}}}}</description><instructions>B</instructions></task>")
    };
    let text = format!(
        "<task type=\"sequential\" name=\"a\"><description>A</description><steps>{}\n{}\n{}</steps></task>",
        step("one"),
        step("two"),
        step("three")
    );
    let template = templates(&text).remove(0);
    let missing = missing_before_run(&template, &Environment::default(), &|_| None);
    let error = InputFaultDetails { missing, invalid: Vec::new() }.into_error();
    assert_eq!(error.message, "Missing required input: one, three, two");
    let ErrorKind::TaskFailure { reason: Reason::InputValidationFailure, details: Some(details), .. } = error.kind
    else {
        panic!("{error:?}")
    };
    let places: Vec<(u32, String)> =
        details.missing.unwrap().into_iter().map(|missing| (missing.line, missing.name)).collect();
    assert_eq!(places, [(1, "one".to_owned()), (3, "three".to_owned()), (2, "two".to_owned())]);
    // What an earlier step binds is known before the run, and looked into before the task that reads it.
    let text = "<task type=\"sequential\" name=\"a\"><description>A</description><steps><call template=\"skill:s\"/>\
        <task type=\"atomic\"><description>{{output.gone}} {{output.parsed_content.x}}</description><instructions>B</instructions></task></steps></task>";
    let template = templates(text).remove(0);
    assert!(missing_before_run(&template, &Environment::default(), &|_| None).is_empty());
    let Kind::Sequential(operators::Sequential { steps, .. }) = &template.body.kind else { panic!() };
    let result = TaskResult { parsed_content: Some(json!({"x": 1})), ..TaskResult::default() };
    let names = [("output".to_owned(), Bound::result(Arc::new(result), Trust::Model))];
    let missing = resolve_task(&steps[1], &Environment::root(names), "a").unwrap_err();
    assert_eq!(missing.iter().map(|one| one.name.as_str()).collect::<Vec<_>>(), ["output.gone"]);
}

/// covers: C8. What is filled in is never filled again; four braces are two.
#[test]
fn c8_text_of_models_passes_through() {
    let reply = "{{x}} {{{{ </task> {{{{a}}";
    assert_eq!(filled("Said: {{said}}; {{{{a}}", json!({"said": reply})).unwrap(), format!("Said: {reply}; {{{{a}}}}"));
}

/// Values render as the specification says; one placeholder alone keeps its type; typed parameters convert or refuse.
#[test]
fn c9_values_render_and_keep_their_types() {
    let values = json!({"s": "a \"b\"", "n": 1.5, "z": null, "t": true, "l": [1, "x"], "o": {"b": 1, "a": [2]}, "e": [], "f": {}});
    let text = filled("{{s}}|{{n}}|{{z}}|{{t}}|{{l}}|{{o}}|{{e}}|{{f}}|{{ o.a[0] }}", values).unwrap();
    assert_eq!(text, "a \"b\"|1.5||true|[1,\"x\"]|{\"b\":1,\"a\":[2]}|[]|{}|2");
    let typed = |kind: &str, argument: &str| {
        let all = templates(&format!(
            "<template name=\"f\" params=\"p:{kind}\"><task type=\"atomic\"><description>{{{{p}}}}</description><instructions>B</instructions></task></template>\
             <template name=\"c\"><call template=\"f\">{argument}</call></template>"
        ));
        let caller = Arc::new(environment(json!({"list": [1], "text": "3", "word": "w"})));
        let Kind::Call(operators::Call { arguments }) = &all[1].body.kind else { panic!() };
        let value = argument_value(&arguments[0], &caller, "c", None).unwrap();
        bind_call(&all[0], vec![value], &caller, &all[1].origin, "c").map(|inner| inner.name("p").unwrap().value())
    };
    assert_eq!(typed("array", "<arg>{{list}}</arg>").unwrap(), json!([1]));
    assert_eq!(typed("number", "<arg value=\"3\"/>").unwrap(), json!(3));
    assert_eq!(typed("boolean", "<arg value=\"true\"/>").unwrap(), json!(true));
    assert_eq!(typed("object", "<arg value='{\"a\": 1}'/>").unwrap(), json!({"a": 1}));
    assert_eq!(typed("string", "<arg value=\"3\"/>").unwrap(), json!("3"));
    for (kind, argument) in [
        ("number", "<arg value=\"three\"/>"),
        ("string", "<arg>{{list}}</arg>"),
        ("string[]", "<arg>{{list}}</arg>"),
        ("number", "<arg from=\"text\"/>"),
    ] {
        let fault = typed(kind, argument).unwrap_err();
        assert_eq!((fault.missing.len(), fault.invalid.len()), (0, 1), "{kind} {argument}");
    }
}

/// A value is a literal, bare text may be a variable, `from` must be one.
#[test]
fn c11_arguments_say_what_they_are() {
    let one = |argument: &str| {
        let all = templates(&format!("<template name=\"c\"><call template=\"skill:f\">{argument}</call></template>"));
        let Kind::Call(operators::Call { arguments }) = &all[0].body.kind else { panic!() };
        argument_value(&arguments[0], &environment(json!({"word": "W", "n": 1, "word1": "one"})), "c", None)
            .map(|value| value.bound.value())
    };
    assert_eq!(one("<arg value=\"word\"/>").unwrap(), json!("word"));
    assert_eq!(one("<arg>word</arg>").unwrap(), json!("W"));
    assert_eq!(one("<arg>word{{n}}</arg>").unwrap(), json!("one"));
    assert_eq!(one("<arg>words</arg>").unwrap(), json!("words"));
    assert_eq!(one("<arg from=\"word\"/>").unwrap(), json!("W"));
    assert_eq!(one("<arg from=\"words\"/>").unwrap_err()[0].name, "words");
    // A model cannot choose a variable by saying its name.
    let all =
        templates("<template name=\"c\"><call template=\"skill:f\"><arg>{{said}}{{empty}}</arg></call></template>");
    let Kind::Call(operators::Call { arguments }) = &all[0].body.kind else { panic!() };
    let names = [
        ("said".to_owned(), Bound::json("secret", Trust::Model)),
        ("empty".to_owned(), Bound::json("", Trust::Author)),
        ("secret".to_owned(), Bound::json("S", Trust::Caller)),
    ];
    let value = argument_value(&arguments[0], &Environment::root(names), "c", None).unwrap();
    assert_eq!(value.bound.value(), json!("secret"));
}

/// Every type, reason and shape of details is written and read, in either spelling (the values are in the fixtures).
#[test]
fn c18_every_shape_round_trips() {
    let mut text = String::new();
    for fixture in fixtures("templates/types") {
        for (title, body) in fixture.inputs() {
            let (value, _) = snake_keys(serde_json::from_str(body).unwrap());
            let again = match title {
                "result" => json!(serde_json::from_value::<TaskResult>(value.clone()).unwrap()),
                "error" => json!(serde_json::from_value::<TaskError>(value.clone()).unwrap()),
                "verdict" => json!(serde_json::from_value::<Verdict>(value.clone()).unwrap()),
                _ => json!(serde_json::from_value::<SubtaskRequest>(value.clone()).unwrap()),
            };
            for (key, own) in value.as_object().unwrap() {
                assert!(again.get(key) == Some(own) || own.is_object(), "{title} {key}: {own} became {again}");
            }
            text.push_str(&again.to_string());
        }
    }
    let shape =
        json!(Details { halt: Some(Halt::Cycle), failed_step: Some(1), total_items: Some(2), ..Details::default() });
    assert_eq!(shape, json!({"halt": "cycle", "failed_step": 1, "total_items": 2}));
    for word in [
        "RESOURCE_EXHAUSTION",
        "TASK_FAILURE",
        "INVALID_OUTPUT",
        "VALIDATION_ERROR",
        "XML_PARSE_ERROR",
        "failed_step",
        "failed_input_index",
        "failed_indexes",
        "iteration_history",
        "subtask_request",
        "script_exit_code",
        "original_output",
        "missing",
        "invalid",
        "halt",
        "recovery_attempts",
        "\"used\":10,",
    ] {
        assert!(text.contains(word), "no fixture holds {word}");
    }
    for (word, resource) in [("turns", Resource::Turns), ("cost", Resource::Cost)] {
        assert_eq!(json!(resource), json!(word));
    }
    for word in ["COMPLETE", "CONTINUATION", "WAITING", "FAILED"] {
        assert_eq!(json!(ReturnStatus::parse(word).unwrap()), json!(word));
    }
    assert_eq!(ReturnStatus::parse("complete"), None);
    // Keys of notes that the runtime owns move aside, and no key is written twice.
    let mut result = TaskResult::default();
    let said =
        json!({"metrics": 1, "summary": ["no text"], "success_score": "0.5", "mood": "good", "data_usage": "all"});
    result.notes.take(said.as_object().unwrap().clone());
    let value = serde_json::to_string(&result).unwrap();
    let read: Value = serde_json::from_str(&value).unwrap();
    assert_eq!(read["notes"]["model"], json!({"metrics": 1, "summary": ["no text"]}));
    assert_eq!((&read["notes"]["success_score"], &read["notes"]["mood"]), (&json!(0.5), &json!("good")));
    assert_eq!(value.matches("\"summary\":").count(), 2, "{value}");
}

fn read(format: &str, reply: &str) -> (Option<Value>, bool, Option<Details>) {
    let text = format!("<task type=\"atomic\" name=\"a\"><description>A</description>{format}</task>");
    let output = templates(&text).remove(0).body.output;
    let read = read_output(reply, output.as_ref(), &|_| None, &|text| TextFormats.json(text));
    (read.parsed, read.parse_error.is_some(), read.failure.map(|details| *details))
}

/// Declared JSON and a reply in prose: the text is the result, or a failure if the author says so.
#[test]
fn c20_prose_for_declared_json() {
    let (parsed, told, failure) = read("<output_format type=\"json\"/>", "It is 4.");
    assert_eq!((parsed, told, failure), (None, true, None));
    let (parsed, told, failure) = read("<output_format type=\"json\" on_parse_failure=\"error\"/>", "It is 4.");
    let failure = failure.unwrap();
    assert_eq!((parsed, told, failure.original_output.as_deref()), (None, true, Some("It is 4.")));
}

/// A wrong type is a failure with what was expected, what came, and the text; JSON in one fence passes.
#[test]
fn c21_wrong_types_fail() {
    for (schema, reply, actual, path) in [
        ("object", "[1]", "array", ""),
        ("string[]", "[\"a\",1]", "number", "/1"),
        ("number", "\"3\"", "string", ""),
        ("boolean", "\"text\"", "string", ""),
        ("array", "{}", "object", ""),
        ("[]", "{}", "object", ""),
    ] {
        let (parsed, _, failure) = read(&format!("<output_format type=\"json\" schema=\"{schema}\"/>"), reply);
        let failure = failure.unwrap();
        let expected = if schema == "[]" { "array" } else { schema };
        assert_eq!(failure.expected_type.as_deref(), Some(expected));
        assert_eq!((failure.actual_type.as_deref(), failure.path.as_deref()), (Some(actual), Some(path)), "{reply}");
        assert_eq!((failure.original_output.as_deref(), parsed.is_some()), (Some(reply), true));
    }
    let (parsed, _, failure) = read("<output_format type=\"json\" schema=\"object\"/>", "```json\n{\"a\": 1}\n```\n");
    assert_eq!((parsed, failure), (Some(json!({"a": 1})), None));
    let (parsed, told, failure) = read("<output_format type=\"json\" schema=\"boolean\"/>", "text");
    assert!(parsed.is_none() && told && failure.is_some(), "what is no JSON meets no schema");
    let fallback = "<output_format type=\"json\" schema=\"boolean\" on_parse_failure=\"fallback\"/>";
    assert_eq!(read(fallback, "text"), (None, true, None), "the author may say otherwise");
}

/// JSON that nobody declared is taken as a value and never fails.
#[test]
fn c22_undeclared_json_is_a_value() {
    for format in ["", "<output_format type=\"text\"/>"] {
        assert_eq!(read(format, "{\"a\": 1}"), (Some(json!({"a": 1})), false, None));
        assert_eq!(read(format, " -3"), (Some(json!(-3)), false, None));
        for reply in ["{\"a\": ", "plain", "true story", "[1] and [2]", ""] {
            assert_eq!(read(format, reply), (None, false, None), "{reply}");
        }
    }
    // What a template returns is checked the same way: the value, else the text.
    assert!(check_returns(Some(&json!({})), "{}", ValueType::Object).is_none());
    assert!(check_returns(None, "text", ValueType::String).is_none());
    let failure = check_returns(None, "text", ValueType::Object).unwrap();
    assert_eq!((failure.expected_type.as_deref(), failure.actual_type.as_deref()), (Some("object"), Some("string")));
}

/// The table of expressions is long enough, and any text is answered.
#[test]
fn c29_expressions_are_total() {
    let lines: usize = fixtures("templates/expressions")
        .iter()
        .flat_map(|fixture| {
            fixture.inputs().map(|(title, body)| (title.to_owned(), body.lines().count())).collect::<Vec<_>>()
        })
        .filter(|(title, _)| title == "expressions")
        .map(|(_, lines)| lines)
        .sum();
    assert!(lines >= 40, "{lines} expressions");
    assert!(Expression::parse(&"a".repeat(1_024)).is_err() || Expression::parse(&"(".repeat(1_024)).is_err());
    assert!(Expression::parse(&"1 || ".repeat(300)).is_err(), "more than 1,024 characters");
    assert!(Expression::parse(&"(".repeat(1_000)).is_err());
}

/// Hopeless XML leaves the reply as it is; what can be mended is, with a warning each.
#[test]
fn c39_xml_in_replies_never_fails() {
    for reply in ["<a></b></a>", "```xml\n<\n```", "<result><!DOCTYPE y><content>x</content></result>"] {
        let read = read_reply(reply, false);
        assert_eq!((read.content.as_str(), read.status), (reply, ReturnStatus::Complete), "{reply}");
        let error = read.xml.unwrap().error.unwrap();
        assert!(error.line > 0 && error.column > 0, "{reply}");
    }
    for (reply, warnings) in [
        ("Here:\n```xml\n<a b=1>x & y</a>\n```\nDone.", 3),
        ("<a><b>1</a>", 1),
        ("So: <result><content>x</content></result>", 1),
    ] {
        let read = read_reply(reply, false);
        let xml = read.xml.unwrap();
        assert!(xml.recovered && !xml.parsed && xml.error.is_none(), "{reply}");
        assert_eq!(xml.warnings.len(), warnings, "{reply} {:?}", xml.warnings);
    }
    let read = read_reply("{\"status\": \"COMPLETE\", \"content\": \"x\", \"exitCode\": 1, \"exit_code\": 2}", false);
    assert_eq!(read.conflicts, ["exit_code"]);
    let read = read_reply("<result status=\"COMPLETE\"><content>x</content></result>", false);
    let xml = read.xml.unwrap();
    assert!(xml.parsed && !xml.recovered && read.envelope);
    assert!(read_reply("1 < 2 and </a>", false).xml.is_none());
}

/// The reply of a `manual_xml` task is kept; a task in an ordinary reply is data.
#[test]
fn c40_a_task_in_a_reply_is_data() {
    for reply in ["<task><description>x</task>", "<task type=\"script\"><command>rm -rf .</command></task>", "words"] {
        let read = read_reply(reply, true);
        assert_eq!((read.content.as_str(), read.parsed, read.envelope), (reply, None, false));
    }
    let reply = "Do this: <task type=\"script\"><command>rm -rf .</command></task>";
    let read = read_reply(reply, false);
    assert_eq!((read.content.as_str(), read.status, read.envelope), (reply, ReturnStatus::Complete, false));
    assert_eq!(read.parsed, Some(json!({"task": {"@type": "script", "command": "rm -rf ."}})));
}

proptest! {
    #[test]
    fn any_value_passes_through_a_placeholder(value in "(\\{\\{|\\}\\}|x|\\{| |</task>|é|\n){0,12}") {
        prop_assert_eq!(filled("a {{v}} b", json!({"v": value.clone()})).unwrap(), format!("a {value} b"));
    }

    #[test]
    fn any_notes_are_taken_once(keys in proptest::collection::vec("(summary|metrics|xml|mood|success_score|subtask_request|data_usage)", 0..6), text in any::<bool>()) {
        let value = if text { json!("0.5") } else { json!({"a": 1}) };
        let said: Map<String, Value> = keys.into_iter().map(|key| (key, value.clone())).collect();
        let mut result = TaskResult::default();
        result.notes.take(said);
        let written = serde_json::to_string(&result.notes).unwrap();
        let read: TaskResult = serde_json::from_str(&format!("{{\"notes\":{written}}}")).unwrap();
        prop_assert_eq!(read.notes, result.notes);
    }
}
