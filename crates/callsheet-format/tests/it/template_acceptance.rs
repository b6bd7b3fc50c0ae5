//! Acceptance checks of templates that need no run (spec "Templates" 17), each named after its number: loading,
//! checking, matching.
#![allow(clippy::disallowed_methods, clippy::disallowed_macros, reason = "tests read fixtures and say what they skip")]
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "helpers of tests fail by panicking")]

use crate::sections::fixtures;
use callsheet_core::template::{
    Choice, Code, Environment, Issue, Query, Severity, SubtaskRequest, Template, choose_automatically,
    choose_for_subtask, match_templates,
};
use callsheet_format::template::{
    Known, Layer, Library, TemplateFile, json_schema, print_templates, read_file, read_text,
};
use serde_json::{Value, json};

fn issues(text: &str) -> Vec<Issue> {
    read_text("a.xml", text).issues.into_iter().map(|(_, issue)| issue).collect()
}

fn codes(text: &str) -> Vec<&'static str> {
    issues(text).iter().map(|issue| issue.code.as_str()).collect()
}

fn library(text: &str) -> Library {
    let file = TemplateFile { layer: Layer::Project, file: "a.xml".to_owned(), bytes: text.as_bytes().to_vec() };
    Library::load(&[file], &Known::default(), false)
}

/// Codes of errors and warnings of a library.
fn told(text: &str) -> Vec<&'static str> {
    let severe = |issue: &&Issue| issue.severity != Severity::Info;
    library(text).issues().iter().filter(severe).map(|issue| issue.code.as_str()).collect()
}

fn atomic(name: &str, more: &str) -> String {
    format!(
        "<task type=\"atomic\" name=\"{name}\"><description>A</description><instructions>B</instructions>{more}</task>"
    )
}

/// The libraries of the reading fixtures, by the fixture's name.
fn files(area: &str) -> Vec<(String, String)> {
    fixtures(area)
        .iter()
        .flat_map(|fixture| {
            let name = fixture.name().to_owned();
            fixture
                .inputs()
                .filter(|(title, _)| title.starts_with("file "))
                .map(move |(_, body)| (name.clone(), body.to_owned()))
                .collect::<Vec<_>>()
        })
        .collect()
}

fn example() -> String {
    files("templates/read").into_iter().find(|(name, _)| name == "library").unwrap().1
}

/// The library of 2.7 loads without an error; every element and attribute of the grammar is read and printed again.
#[test]
fn c1_every_element_and_attribute_prints_and_reads_back() {
    let loaded = library(&example());
    assert!(loaded.issues().iter().all(|issue| issue.severity != Severity::Error || issue.code == Code::T030));
    assert_eq!(loaded.templates().count() + loaded.unavailable().len(), 6);
    let mut printed = String::new();
    for (name, text) in files("templates/read").into_iter().chain(files("templates/library")) {
        let templates = read_text("a.xml", &text).templates;
        let canonical = print_templates(&templates);
        assert_eq!(read_text("b.xml", &canonical).templates, templates, "{name}");
        printed.push_str(&canonical);
    }
    let schema = json_schema();
    let mut missing = Vec::new();
    for (element, row) in schema["$defs"].as_object().unwrap() {
        let row = row["anyOf"].as_array().map_or(row, |forms| &forms[1]);
        // Elements of one name have numbered definitions.
        let name = element.trim_end_matches(|c: char| c.is_ascii_digit()).trim_end_matches('_');
        let tags: Vec<&str> = printed
            .split('<')
            .filter(|tag| tag.strip_prefix(name).is_some_and(|rest| rest.starts_with([' ', '>', '/'])))
            .collect();
        // Settings of context are printed as attributes, words of argv as a command line.
        let other = ["inherit_context", "accumulate_data", "accumulation_format", "fresh_context", "argv"];
        if tags.is_empty() && !other.contains(&name) {
            missing.push(element.clone());
        }
        for attribute in row["properties"].as_object().unwrap().keys().filter_map(|key| key.strip_prefix('@')) {
            if !tags.iter().any(|tag| tag.contains(&format!(" {attribute}=\""))) {
                missing.push(format!("{element}/@{attribute}"));
            }
        }
    }
    assert!(missing.is_empty(), "no fixture prints {}", missing.join(" "));
}

/// Every name of the grammar in camelCase gives the canonical tree, and says so.
#[test]
fn c3_every_alias_gives_the_canonical_tree() {
    let canonical = print_templates(&read_text("a.xml", &example()).templates);
    let mut inside = false;
    let mut camel = String::new();
    let mut letters = canonical.chars().peekable();
    let mut quoted = false;
    while let Some(letter) = letters.next() {
        match letter {
            '<' => inside = true,
            '>' if !quoted => inside = false,
            '"' if inside => quoted = !quoted,
            _ => {}
        }
        if letter == '_' && inside && !quoted {
            camel.extend(letters.next().map(|next| next.to_ascii_uppercase()));
        } else {
            camel.push(letter);
        }
    }
    let read = read_text("a.xml", &camel);
    assert_eq!(read.templates, read_text("a.xml", &canonical).templates);
    let aliases = read.issues.iter().filter(|(_, issue)| issue.code == Code::T503).count();
    assert_eq!(aliases, canonical.len() - canonical.replace('_', "").len() - count_outside(&canonical));
    assert!(!read.issues.iter().any(|(_, issue)| matches!(issue.code, Code::T501 | Code::T502)));
}

/// Underscores that stand in no name of the grammar, and the second ones of names that have several, and end tags.
fn count_outside(canonical: &str) -> usize {
    let mut names = 0;
    for tag in canonical.split('<').skip(1).filter(|tag| !tag.starts_with('/')) {
        let head = tag.split('>').next().unwrap_or_default();
        let words = head.split('"').step_by(2).flat_map(str::split_whitespace);
        names += words.filter(|word| word.contains('_')).count();
    }
    canonical.len() - canonical.replace('_', "").len() - names
}

/// Three crossed tags give three T001, and what stands behind them is still judged.
#[test]
fn c4_crossed_tags_hide_nothing() {
    let crossed = |name: &str| {
        format!(
            "<task type=\"atomic\" name=\"{name}\"><description><b>x</description></b><instructions>B</instructions></task>"
        )
    };
    let text = format!(
        "<templates>{}{}{}{}</templates>",
        crossed("one"),
        crossed("two"),
        crossed("three"),
        atomic("four", "<output_format type=\"yaml\"/>")
    );
    let found = codes(&text);
    assert_eq!(found.iter().filter(|code| **code == "T001").count(), 3, "{found:?}");
    assert!(found.contains(&"T014"), "{found:?}");
}

/// What could cost time, memory or a secret is refused with its code.
#[test]
fn c5_hostile_files_are_refused() {
    let forbidden = |text: &str| issues(text).iter().filter(|issue| issue.code == Code::T002).count();
    let bomb = "<!DOCTYPE a [<!ENTITY a \"ha\"><!ENTITY b \"&a;&a;&a;&a;\"><!ENTITY c \"&b;&b;&b;&b;\">]>";
    assert!(forbidden(&format!("{bomb}<templates>{}</templates>", atomic("a", "<criteria>&c;</criteria>"))) > 0);
    assert!(forbidden("<!DOCTYPE templates><templates/>") > 0);
    assert!(forbidden("<!DOCTYPE t [<!ENTITY x SYSTEM \"file:///etc/passwd\">]><templates>&x;</templates>") > 0);
    assert!(
        forbidden("<templates xmlns:xi=\"http://www.w3.org/2001/XInclude\"><xi:include href=\"a\"/></templates>") > 0
    );
    let deep = format!("{}{}", "<a>".repeat(65), "</a>".repeat(65));
    assert!(codes(&deep).contains(&"T003"));
    assert_eq!(codes(&" ".repeat((1 << 20) + 1)), ["T003"]);
    let reading = read_file("a.xml", b"<templates>\xff");
    assert_eq!(reading.issues[0].1.code, Code::T004);
    // What a refused entity stands for is nowhere in what was read.
    let text = format!("{bomb}<templates>{}</templates>", atomic("a", "<criteria>&c;</criteria>"));
    let printed = print_templates(&read_text("a.xml", &text).templates);
    assert!(!printed.contains("haha"), "{printed}");
}

/// A function template reads nothing of its caller, a standard one does; arguments are counted at load.
#[test]
fn c10_function_templates_are_closed() {
    let function = |params: &str| {
        format!(
            "<template name=\"f\" params=\"{params}\"><task type=\"atomic\"><description>{{{{a}}}} {{{{outer}}}}</description><instructions>B</instructions></task></template>"
        )
    };
    assert_eq!(told(&format!("<templates>{}</templates>", function("a"))), ["T052"]);
    assert!(told(&format!("<templates>{}</templates>", function("a, outer"))).is_empty());
    let standard =
        "<task type=\"atomic\" name=\"s\"><description>{{outer}}</description><instructions>B</instructions></task>";
    assert_eq!(told(&format!("<templates>{standard}</templates>")), ["T508"]);
    let call = |arguments: &str| {
        let f = function("a, outer");
        told(&format!(
            "<templates>{f}<template name=\"c\"><call template=\"f\">{arguments}</call></template></templates>"
        ))
    };
    assert!(call("<arg value=\"1\"/><arg value=\"2\"/>").is_empty());
    assert!(call("<arg name=\"outer\" value=\"1\"/><arg name=\"a\" value=\"2\"/>").is_empty());
    for wrong in [
        "<arg value=\"1\"/>",
        "<arg value=\"1\"/><arg value=\"2\"/><arg value=\"3\"/>",
        "<arg value=\"1\"/><arg value=\"2\"/><arg name=\"b\" value=\"3\"/>",
    ] {
        assert_eq!(call(wrong), ["T031"], "{wrong}");
    }
    let misordered = call("<arg name=\"a\" value=\"1\"/><arg value=\"2\"/>");
    assert!(!misordered.is_empty() && misordered.iter().all(|code| *code == "T031"), "{misordered:?}");
}

/// All combinations, written and against defaults, are legal, give way with a note, or are an error with two lines.
#[test]
fn c13_context_settings_exclude_each_other_at_load() {
    let operators = [
        (
            "atomic",
            "<task type=\"atomic\" name=\"x\"><description>A</description><instructions>B</instructions>",
            "</task>",
        ),
        (
            "reduce",
            "<task type=\"reduce\" name=\"x\"><description>A</description><initial_value/><inner_task><call template=\"skill:s\"/></inner_task><reduction_task><call template=\"skill:s\"/></reduction_task>",
            "</task>",
        ),
        (
            "subtask",
            "<task type=\"atomic\" subtype=\"subtask\" name=\"x\"><description>A</description><instructions>B</instructions>",
            "</task>",
        ),
    ];
    for (operator, open, close) in operators {
        for inherit in ["full", "none", "subset", ""] {
            for fresh in ["enabled", "disabled", ""] {
                for accumulate in ["true", "false", ""] {
                    let setting = |name: &str, value: &str| match value {
                        "" => String::new(),
                        value => format!("\n<{name}>{value}</{name}>"),
                    };
                    let block = format!(
                        "<context_management>{}{}{}</context_management>",
                        setting("inherit_context", inherit),
                        setting("accumulate_data", accumulate),
                        setting("fresh_context", fresh)
                    );
                    let text = format!("<templates>{open}{block}{close}</templates>");
                    let found = issues(&text);
                    let has = |code: Code| found.iter().find(|issue| issue.code == code);
                    let pair = operator == "subtask" && inherit == "subset";
                    let conflict = ["full", "subset"].contains(&inherit) && fresh == "enabled" && !pair;
                    let looks = ["reduce", "subtask"].contains(&operator);
                    let yields = match (inherit, fresh) {
                        ("full", "") => looks,
                        ("subset", "") => operator == "reduce",
                        ("", "enabled") => operator == "atomic",
                        _ => false,
                    };
                    let case = format!("{operator} {inherit} {accumulate} {fresh}: {found:?}");
                    assert_eq!(has(Code::T040).is_some(), conflict, "{case}");
                    assert_eq!(has(Code::T511).is_some(), yields, "{case}");
                    if let Some(issue) = has(Code::T040) {
                        assert!(issue.related.iter().any(|other| other.line != issue.line), "{case}");
                    }
                }
            }
        }
    }
}

/// Only atomic templates take part; five at most; parts explain the score; the same bytes for a text and a task.
#[test]
fn c37_matching_lists_at_most_five_atomic_templates() {
    let many: String = (0..9)
        .map(|n| format!("<task type=\"atomic\" name=\"water_{n}\"><description>Water the roses</description><instructions>B</instructions></task>"))
        .collect();
    let other = "<task type=\"sequential\" name=\"sequence\"><description>Water the roses</description><steps><call template=\"water_1\"/></steps></task>\
                 <task type=\"atomic\" subtype=\"associative_matching\" name=\"finder\"><description>Water the roses</description><instructions>B</instructions></task>";
    let templates = read_text("a.xml", &format!("<templates>{many}{other}</templates>")).templates;
    let asked = templates.iter().find(|template| template.name == "sequence").unwrap();
    for query in [Query::of_text("water roses"), Query::of_node(&asked.body)] {
        let rows = match_templates(&templates, &query);
        let names: Vec<&str> = rows.iter().map(|row| row.template.as_str()).collect();
        assert_eq!(names, ["water_0", "water_1", "water_2", "water_3", "water_4"]);
        let bytes = serde_json::to_string(&rows).unwrap();
        assert_eq!(bytes, serde_json::to_string(&match_templates(templates.iter().rev(), &query)).unwrap());
        for row in &rows {
            let parts =
                [(row.parts.text, 0.55), (row.parts.hints, 0.25), (row.parts.subtype, 0.1), (row.parts.inputs, 0.1)];
            let given = parts.iter().filter_map(|(part, weight)| Some((part.as_ref()?, weight)));
            let (sum, weights) =
                given.fold((0.0, 0.0), |(sum, all), (part, weight)| (sum + part * weight, all + weight));
            assert!((sum / weights - row.score).abs() < 1e-5, "{row:?}");
        }
    }
}

fn request(value: Value) -> SubtaskRequest {
    serde_json::from_value(value).unwrap()
}

/// A name comes first, then a hint that is a name, then the score; a request runs a template only under all four
/// conditions; an unknown name is answered with candidates.
#[test]
fn c38_a_name_wins_and_conditions_hold() {
    let text = "<templates><template name=\"sort_mail\" params=\"mail\" auto_select=\"true\"><task type=\"atomic\"><description>Sort incoming mail by urgency</description><instructions>B</instructions></task></template>\
        <template name=\"answer_mail\" params=\"mail, tone\"><task type=\"atomic\"><description>Answer one letter politely</description><instructions>B</instructions></task></template>\
        <task type=\"sequential\" name=\"whole\"><description>Everything</description><steps><call template=\"sort_mail\"><arg value=\"x\"/></call></steps></task></templates>";
    let templates = read_text("a.xml", text).templates;
    let all: Vec<&Template> = templates.iter().collect();
    let choose = |value: Value| choose_for_subtask(&all, &request(value));
    let base = |more: Value| {
        let mut value = json!({"type": "atomic", "description": "Sort incoming mail", "inputs": {}});
        value.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        value
    };
    assert_eq!(choose(base(json!({"name": "answer_mail"}))), Choice::Named("answer_mail".to_owned()));
    assert_eq!(
        choose(base(json!({"template_hints": ["mail", "answer_mail"]}))),
        Choice::Named("answer_mail".to_owned())
    );
    assert!(matches!(choose(base(json!({}))), Choice::Matched(row) if row.template == "sort_mail"));
    assert_eq!(choose(base(json!({"description": "Paint the fence"}))), Choice::Default);
    assert!(
        matches!(choose(base(json!({"name": "sort_post"}))), Choice::NotFound(rows) if rows[0].template == "sort_mail")
    );
    assert!(matches!(choose(base(json!({"type": "sequential"}))), Choice::NotFound(_)));
    assert_eq!(
        choose(base(json!({"type": "sequential", "template_hints": ["whole"]}))),
        Choice::Named("whole".to_owned())
    );
    let automatic = |text: &str, request: &str| {
        let templates = read_text("a.xml", text).templates;
        choose_automatically(&templates.iter().collect::<Vec<_>>(), request)
    };
    let wish = "Sort incoming mail by urgency";
    let chosen = automatic(text, wish).unwrap();
    assert_eq!((chosen.best.template.as_str(), chosen.takes_request.as_deref()), ("sort_mail", Some("mail")));
    let refused = |text: &str, wish: &str| automatic(text, wish).unwrap_err().len();
    assert!(refused(&text.replace(" auto_select=\"true\"", ""), wish) > 0, "not allowed");
    assert!(refused(text, "Sort the garden tools and mail them") > 0, "too far");
    assert!(refused(&text.replace("params=\"mail\"", "params=\"mail, day\""), wish) > 0, "something is missing");
    assert!(refused(&text.replace("params=\"mail\"", "params=\"mail:array\""), wish) > 0, "no text");
    let twin = text
        .replace("answer_mail\" params=\"mail, tone\"", "mail_sort\" params=\"mail\" auto_select=\"true\"")
        .replace("Answer one letter politely", "Sort incoming mail by urgency");
    assert_eq!(refused(&twin, wish), 2, "not ahead");
    // An unknown skill or template in a call is answered with candidates of both kinds.
    let call = "<templates><template name=\"sort_mail\"><call template=\"skill:sort_mial\"/></template></templates>";
    let file = TemplateFile { layer: Layer::Project, file: "a.xml".to_owned(), bytes: call.as_bytes().to_vec() };
    let known = Known { skills: Some(["sort_mail".to_owned(), "other".to_owned()].into()), ..Known::default() };
    let loaded = Library::load(&[file], &known, false);
    assert_eq!(loaded.issues()[0].code, Code::T030);
    assert_eq!(loaded.issues()[0].expected[0], "skill:sort_mail");
    assert!(loaded.issues()[0].expected.len() <= 5);
}

/// Names that are known before a run come from its environment.
#[test]
fn the_request_is_known_in_a_standard_template() {
    let text = format!(
        "<templates>{}</templates>",
        "<task type=\"atomic\" name=\"a\"><description>{{request}}</description><instructions>B</instructions></task>"
    );
    assert!(told(&text).is_empty());
    let template = read_text("a.xml", &text).templates.remove(0);
    let missing = callsheet_core::template::missing_before_run(&template, &Environment::default(), &|_| None);
    assert_eq!(missing.len(), 1);
}
