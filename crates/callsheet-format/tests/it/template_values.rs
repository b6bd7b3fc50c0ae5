//! Binding, substitution, results and replies of templates (spec "Templates" 4, 6, 7, 11).
#![allow(clippy::disallowed_methods, clippy::disallowed_macros, reason = "tests read fixtures and say what they skip")]
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "helpers of tests fail by panicking")]

use std::fmt::Write;
use std::sync::Arc;

use crate::sections::check_all;
use callsheet_core::evaluate::Formats as _;
use callsheet_core::template::{
    Bound, Datum, Environment, InputFaultDetails, Kind, Reason, SubtaskRequest, TaskError, TaskResult, Template, Trust,
    Verdict, argument_value, bind_call, bind_inputs, judged, missing_before_run, operators, read_output,
    resolve_command, resolve_task, snake_keys,
};
use callsheet_format::template::{TextFormats, read_reply, read_text};
use proptest::prelude::*;
use serde_json::{Map, Value, json};

/// Sections `file NAME`; `values TRUST` and `result NAME` bind; `before NAME`, `resolve NAME` and `call NAME` act.
#[test]
fn names_bind_as_expected() {
    check_all("templates/bind", |fixture| {
        let mut templates: Vec<Template> = Vec::new();
        let mut names: Vec<(String, Bound)> = Vec::new();
        let mut out = String::new();
        for (title, body) in fixture.inputs() {
            let (kind, name) = title.split_once(' ').expect("KIND NAME");
            if matches!(kind, "before" | "resolve" | "call") {
                writeln!(out, "# {title}").unwrap();
            }
            let template = || templates.iter().find(|template| template.name == name).expect("template");
            match kind {
                "file" => templates.extend(read_text(name, body).templates),
                "values" => {
                    let trust: Trust = serde_json::from_value(json!(name)).unwrap();
                    let values: Map<String, Value> = serde_json::from_str(body).unwrap();
                    names.extend(values.into_iter().map(|(name, value)| (name, Bound::json(value, trust))));
                }
                "result" => {
                    let result: TaskResult = serde_json::from_str(body).unwrap();
                    names.push((name.to_owned(), Bound::result(Arc::new(result), Trust::Model)));
                }
                "before" => {
                    let find = |name: &str| templates.iter().find(|template| template.name == name);
                    let missing = missing_before_run(template(), &Environment::root(names.clone()), &find);
                    tell(&mut out, InputFaultDetails { missing, invalid: Vec::new() });
                }
                "resolve" => resolve(&mut out, template(), &Environment::root(names.clone())),
                "call" => call(&mut out, template(), &templates, Environment::root(names.clone())),
                other => panic!("section {other}"),
            }
        }
        out
    });
}

fn tell(out: &mut String, fault: InputFaultDetails) {
    if fault.is_empty() {
        return out.push_str("nothing is missing\n");
    }
    writeln!(out, "{}", fault.message()).unwrap();
    for missing in fault.missing {
        let at = format!("{}:{}:{}", missing.file, missing.line, missing.column);
        writeln!(out, "  {at} {} in {} of {}", missing.name, missing.field, missing.task).unwrap();
    }
    for invalid in fault.invalid {
        write!(out, "  {}: expected {}, found {}", invalid.name, invalid.expected, invalid.actual).unwrap();
        let at = invalid.location.map(|at| format!(" at {}:{}:{} in {}", at.file, at.line, at.column, at.task));
        writeln!(out, "{}", at.unwrap_or_default()).unwrap();
    }
}

fn resolve(out: &mut String, template: &Template, environment: &Environment) {
    let environment = Arc::new(environment.clone());
    let inputs = bind_inputs(&template.body, &environment, &template.name, &|_| None);
    let inputs = match inputs {
        Ok(inputs) => inputs,
        Err(missing) => return tell(out, InputFaultDetails { missing, invalid: Vec::new() }),
    };
    let inner = environment.inner(inputs);
    match resolve_task(&template.body, &inner, &template.name) {
        Err(missing) => tell(out, InputFaultDetails { missing, invalid: Vec::new() }),
        Ok(task) => {
            writeln!(out, "description {:?} {:?}", task.description.as_str(), task.description.trust()).unwrap();
            writeln!(out, "instructions {:?} {:?}", task.instructions.as_str(), task.instructions.trust()).unwrap();
        }
    }
    if let Kind::Script(operators::Process { script, .. }) = &template.body.kind {
        match resolve_command(&script.command, &inner, &template.origin, &template.name) {
            Err(fault) => tell(out, fault),
            Ok(words) => {
                let words: Vec<&str> = words.iter().map(|word| word.as_str()).collect();
                writeln!(out, "command {words:?}").unwrap();
            }
        }
    }
}

fn call(out: &mut String, template: &Template, templates: &[Template], environment: Environment) {
    let Kind::Call(operators::Call { arguments }) = &template.body.kind else { panic!("no call") };
    let called = templates.iter().find(|known| Some(&known.name) == template.body.template.as_ref()).expect("called");
    let caller = Arc::new(environment);
    let (mut evaluated, mut missing) = (Vec::new(), Vec::new());
    for argument in arguments {
        match argument_value(argument, &caller, &template.name, None) {
            Ok(value) => evaluated.push(value),
            Err(more) => missing.extend(more),
        }
    }
    if !missing.is_empty() {
        return tell(out, InputFaultDetails { missing, invalid: Vec::new() });
    }
    match bind_call(called, evaluated, &caller, &template.body.origin, &template.name) {
        Err(fault) => tell(out, fault),
        Ok(inner) => {
            for param in called.params.iter().flatten() {
                let bound = inner.name(&param.name).expect("bound");
                writeln!(out, "{} = {} {:?}", param.name, bound.value(), bound.trust).unwrap();
            }
            resolve(out, called, &inner);
        }
    }
}

/// Sections `format` (an `<output_format>` element, or nothing) and `reply`.
#[test]
fn outputs_are_read_as_expected() {
    check_all("templates/output", |fixture| {
        let mut format = None;
        let mut out = String::new();
        for (title, body) in fixture.inputs() {
            if title == "format" {
                let text = format!("<task type=\"atomic\" name=\"a\"><description>A</description>{body}</task>");
                format = read_text("a.xml", &text).templates.remove(0).body.output;
                writeln!(out, "# {}", body.trim()).unwrap();
                continue;
            }
            let named = |name: &str| (name == "shape").then(|| "{\"required\": [\"a\"]}".to_owned());
            let read =
                read_output(body.trim_end_matches('\n'), format.as_ref(), &named, &|text| TextFormats.json(text));
            writeln!(out, "{:?}", body.trim_end()).unwrap();
            writeln!(out, "  parsed {}", read.parsed.map_or("-".to_owned(), |value| value.to_string())).unwrap();
            if let Some(error) = read.parse_error {
                writeln!(out, "  parse_error {}:{} {}", error.line, error.column, error.message).unwrap();
            }
            if let Some(details) = read.failure {
                writeln!(out, "  failure {}", serde_json::to_string(&details).unwrap()).unwrap();
            }
        }
        out
    });
}

/// Sections `reply` and `manual`.
#[test]
fn replies_are_read_as_expected() {
    check_all("templates/replies", |fixture| {
        let mut out = String::new();
        for (title, body) in fixture.inputs() {
            let reply = body.strip_suffix('\n').unwrap_or(body);
            let read = read_reply(reply, title == "manual");
            writeln!(out, "# {title} {:?} {:?}", read.status, read.reason).unwrap();
            let same = if read.content == reply {
                "the reply, byte for byte".to_owned()
            } else {
                format!("{:?}", read.content)
            };
            writeln!(out, "content {same}").unwrap();
            if let Some(parsed) = read.parsed {
                writeln!(out, "parsed {parsed}").unwrap();
            }
            if !read.notes.is_empty() {
                writeln!(out, "notes {}", Value::Object(read.notes)).unwrap();
            }
            writeln!(out, "xml {}", serde_json::to_string(&read.xml).unwrap()).unwrap();
        }
        out
    });
}

/// Sections `result`, `error`, `verdict` and `request`: each round trips, and so does its camelCase spelling.
#[test]
fn types_round_trip() {
    check_all("templates/types", |fixture| {
        let mut out = String::new();
        for (title, body) in fixture.inputs() {
            let value: Value = serde_json::from_str(body).unwrap();
            let again = |value: Value| -> Value {
                let (value, conflicts) = snake_keys(value);
                assert!(conflicts.is_empty(), "{conflicts:?}");
                match title {
                    "result" => json!(serde_json::from_value::<TaskResult>(value).unwrap()),
                    "error" => json!(serde_json::from_value::<TaskError>(value).unwrap()),
                    "verdict" => json!(serde_json::from_value::<Verdict>(value).unwrap()),
                    "request" => json!(serde_json::from_value::<SubtaskRequest>(value).unwrap()),
                    other => panic!("section {other}"),
                }
            };
            let read = again(value.clone());
            assert_eq!(again(read.clone()), read, "{title}");
            assert_eq!(again(camel(&value)), read, "{title}");
            let lost: Vec<&String> = value.as_object().unwrap().keys().filter(|key| read.get(*key).is_none()).collect();
            assert!(lost.is_empty(), "{lost:?}");
            writeln!(out, "{title} {read}").unwrap();
        }
        out
    });
}

/// Every key in camelCase, but not those of anybody's data.
fn camel(value: &Value) -> Value {
    match value {
        Value::Array(list) => Value::Array(list.iter().map(camel).collect()),
        Value::Object(map) => Value::Object(
            map.iter()
                .map(|(key, value)| {
                    let opaque = ["inputs", "parsed_content", "criteria"].contains(&key.as_str());
                    let mut name = String::new();
                    for (index, part) in key.split('_').enumerate() {
                        let (first, rest) = part.split_at(usize::from(!part.is_empty()));
                        let first = if index == 0 { first.to_owned() } else { first.to_ascii_uppercase() };
                        name.push_str(&format!("{first}{rest}"));
                    }
                    (name, if opaque { value.clone() } else { camel(value) })
                })
                .collect(),
        ),
        other => other.clone(),
    }
}

/// covers: C18. Every reason is a word of its own that reads back.
#[test]
fn reasons_are_fourteen_words() {
    for reason in Reason::ALL {
        let word = serde_json::to_value(reason).unwrap();
        assert_eq!(Reason::parse(word.as_str().unwrap()), Some(reason));
    }
    assert_eq!(Reason::parse("whatever"), None);
}

/// covers: 6, C18. The snake_case value wins where two differ.
#[test]
fn two_spellings_with_different_values_are_told_of() {
    let (value, conflicts) = snake_keys(json!({"exitCode": 1, "exit_code": 0, "parsedContent": {"someKey": 1}}));
    assert_eq!(value, json!({"exit_code": 0, "parsed_content": {"someKey": 1}}));
    assert_eq!(conflicts, ["exit_code"]);
}

/// covers: C28. Success is said in notes, in the value, or by a verdict; contradictions are none.
#[test]
fn evaluations_are_judged() {
    let judge = |notes: Value, parsed: Value| {
        let mut result =
            TaskResult { parsed_content: Some(parsed).filter(|value| !value.is_null()), ..TaskResult::default() };
        result.notes.take(notes.as_object().cloned().unwrap_or_default());
        let (success, _, warning) = judged(&result);
        (success, warning.is_some())
    };
    assert_eq!(judge(json!({"success": true}), Value::Null), (true, false));
    assert_eq!(judge(json!({}), json!({"success": true})), (true, false));
    assert_eq!(judge(json!({}), json!({"verdict": "accept"})), (true, false));
    assert_eq!(judge(json!({}), json!({"verdict": "revise", "feedback": "x"})), (false, false));
    assert_eq!(judge(json!({"success": true}), json!({"success": false})), (false, true));
    assert_eq!(judge(json!({}), json!("fine")), (false, true));
}

proptest! {
    #[test]
    fn any_reply_is_read(reply in "(<result>|</result>|<content>|</content>|<notes>|</notes>|<Task|a=1|>|<|&|x|\n|```xml\n|```| ){0,30}") {
        let read = read_reply(&reply, false);
        if read.xml.as_ref().is_none_or(|xml| xml.error.is_some()) && !read.envelope {
            prop_assert_eq!(&read.content, &reply);
        }
        prop_assert_eq!(read_reply(&reply, true).content, reply);
    }

    #[test]
    fn a_map_of_values_is_found_by_path(key in "[a-z]{1,5}", index in 0_usize..4) {
        let list = Datum::List(Arc::new((0..4).map(|number| Bound::json(number, Trust::Tool)).collect()));
        let map = Datum::Map(Arc::new([(key.clone(), Bound { datum: list, trust: Trust::Tool })].into()));
        let environment = Environment::root([("steps".to_owned(), Bound { datum: map, trust: Trust::Tool })]);
        let path = callsheet_core::template::Path::parse(&format!("steps.{key}[{index}]")).unwrap();
        prop_assert_eq!(environment.value(&path), Some(json!(index)));
    }
}
