//! Templates: reading, diagnostics, printing, expressions (spec "Templates"). Fixtures hold whole libraries.
#![allow(clippy::disallowed_methods, clippy::disallowed_macros, reason = "tests read fixtures and say what they skip")]
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "helpers of tests fail by panicking")]

use std::fmt::Write;

use crate::sections::{check_all, tools};
use callsheet_core::template::{
    Code, Expression, InheritContext, Issue, PartialContext, Path, Role, Settings, Template, resolve,
};
use callsheet_format::template::{Known, print_short, print_templates, read_file, read_file_with, read_text};
use proptest::prelude::*;
use serde_json::Value;

/// Sections `file NAME`, or `bytes NAME` with `\xHH` escapes: what reading gives, as issues and canonical XML.
#[test]
fn files_read_as_expected() {
    check_all("templates/read", |fixture| {
        let mut out = String::new();
        for (title, body) in fixture.inputs() {
            let (kind, name) = title.split_once(' ').expect("KIND NAME");
            let reading = match kind {
                "file" => read_file_with(name, body.as_bytes(), &with_tools()),
                "bytes" => read_file(name, &unescaped(body)),
                other => panic!("section {other}"),
            };
            for (_, issue) in &reading.issues {
                describe(&mut out, issue);
            }
            let faulty: Vec<&str> = reading
                .templates
                .iter()
                .filter(|template| reading.is_faulty(template, false))
                .map(|template| template.name.as_str())
                .collect();
            if !faulty.is_empty() {
                writeln!(out, "unavailable: {}", faulty.join(" ")).unwrap();
            }
            out.push_str(&print_templates(&reading.templates));
        }
        out
    });
}

fn with_tools() -> Known<'static> {
    Known { specs: tools(), ..Known::default() }
}

fn describe(out: &mut String, issue: &Issue) {
    let Issue { line, column, end_line, end_column, code, path, message, advice, .. } = issue;
    let end = if end_line == line { end_column.to_string() } else { format!("{end_line}:{end_column}") };
    write!(out, "{line}:{column}-{end} {code} [{path}] {message}; {advice}").unwrap();
    if let Some(found) = &issue.found {
        write!(out, " | found {found:?}").unwrap();
    }
    if !issue.expected.is_empty() {
        write!(out, " | expected {}", issue.expected.join(" ")).unwrap();
    }
    for related in &issue.related {
        write!(out, " | {}:{} {}", related.line, related.column, related.message).unwrap();
    }
    out.push('\n');
}

fn unescaped(text: &str) -> Vec<u8> {
    let mut parts = text.split("\\x");
    let mut out = parts.next().unwrap_or_default().as_bytes().to_vec();
    for part in parts {
        out.push(u8::from_str_radix(&part[..2], 16).unwrap());
        out.extend(part[2..].bytes());
    }
    out
}

/// Sections `values` (JSON) and `expressions` (one a line).
#[test]
fn expressions_evaluate_as_expected() {
    check_all("templates/expressions", |fixture| {
        let mut values = Value::Null;
        let mut out = String::new();
        for (title, body) in fixture.inputs() {
            match title {
                "values" => values = serde_json::from_str(body).unwrap(),
                "expressions" => body.lines().for_each(|line| evaluate(&mut out, line, &values)),
                other => panic!("section {other}"),
            }
        }
        out
    });
}

fn evaluate(out: &mut String, line: &str, values: &Value) {
    match Expression::parse(line) {
        Err((at, message)) => writeln!(out, "{line} => T054 at {at}: {message}").unwrap(),
        Ok(expression) => {
            let outcome = expression.evaluate(&mut |path: &Path| find(values, path));
            let unknown: Vec<String> = outcome.unknown.iter().map(ToString::to_string).collect();
            let unknown =
                if unknown.is_empty() { String::new() } else { format!(" (unknown: {})", unknown.join(", ")) };
            writeln!(out, "{line} => {}{unknown}", outcome.holds).unwrap();
        }
    }
}

fn find(values: &Value, path: &Path) -> Option<Value> {
    let pointer: String = path
        .steps
        .iter()
        .map(|step| match step {
            callsheet_core::template::Step::Name(name) => format!("/{name}"),
            callsheet_core::template::Step::Index(index) => format!("/{index}"),
            callsheet_core::template::Step::Record => "/(record)".to_owned(),
        })
        .collect();
    values.get(&path.name)?.pointer(&pointer).cloned()
}

/// covers: C1. Every template of every reading fixture prints and reads back to an equal tree.
#[test]
fn printing_and_reading_give_an_equal_tree() {
    for fixture in crate::sections::fixtures("templates/read") {
        for (title, body) in fixture.inputs().filter(|(title, _)| title.starts_with("file ")) {
            let templates = read_text(title, body).templates;
            round_trip(&templates, fixture.name());
        }
    }
}

fn round_trip(templates: &[Template], name: &str) {
    let printed = print_templates(templates);
    let again = read_text("again.xml", &printed);
    assert_eq!(again.templates, templates, "{name}\n{printed}");
    assert_eq!(print_templates(&again.templates), printed, "{name}");
}

/// Sections `defaults` and `combinations ROLE`: settings of spec 5.
#[test]
fn context_settings_follow_the_table() {
    check_all("templates/context", |fixture| {
        let mut out = String::new();
        for (title, _) in fixture.inputs() {
            match title.split_once(' ') {
                None => Role::all().into_iter().for_each(|role| {
                    writeln!(out, "{} | {}", role.words, settings(&role.settings)).unwrap();
                }),
                Some((_, role)) => combinations(&mut out, role),
            }
        }
        out
    });
}

fn settings(settings: &Settings) -> String {
    let fresh = if settings.fresh_context { "enabled" } else { "disabled" };
    let Settings { inherit_context, accumulate_data, accumulation_format, .. } = settings;
    format!("{} {accumulate_data} {} {fresh}", inherit_context.as_str(), accumulation_format.as_str())
}

/// All twelve combinations, and the same with settings left out.
fn combinations(out: &mut String, name: &str) {
    let role = Role::all().into_iter().find(|known| known.words.eq_ignore_ascii_case(name)).expect("role");
    for inherit in ["full", "none", "subset", "-"] {
        for accumulate in [Some(true), Some(false), None] {
            for fresh in [Some(true), Some(false), None] {
                let explicit = PartialContext {
                    inherit_context: InheritContext::parse(inherit),
                    accumulate_data: accumulate,
                    accumulation_format: None,
                    fresh_context: fresh,
                };
                let words = |value: Option<bool>| value.map_or("-".to_owned(), |value| value.to_string());
                write!(out, "{name} {inherit} {} {}: ", words(accumulate), words(fresh)).unwrap();
                match resolve(role.settings, &explicit) {
                    Ok((found, None)) => writeln!(out, "{}", settings(&found)).unwrap(),
                    Ok((found, Some(_))) => writeln!(out, "{} T511", settings(&found)).unwrap(),
                    Err(_) => writeln!(out, "T040").unwrap(),
                }
            }
        }
    }
}

/// covers: C5. Every cap is refused with its code, and at the cap a file is read.
#[test]
fn caps_are_refused() {
    let deep = |levels: usize| format!("{}{}", "<a>".repeat(levels), "</a>".repeat(levels));
    let has = |text: &str| read_text("caps.xml", text).issues.iter().any(|(_, issue)| issue.code == Code::T003);
    assert!(!has(&deep(64)) && has(&deep(65)));
    let wide = |count: usize| format!("<templates>{}</templates>", "<call template=\"a\"/>".repeat(count));
    assert!(!has(&wide(150)), "200 errors are not reached");
    assert!(has(&wide(201)), "more than 200 errors");
    assert_eq!(read_text("caps.xml", &wide(201)).issues.len(), 201);
    let text = "<description/>".repeat(9_999);
    let elements = format!("<task type=\"atomic\" name=\"a\"><description>{text}</description></task>");
    assert!(has(&elements), "more than 10,000 elements");
    let attributes = |count: usize| {
        let list: String = (0..count).map(|n| format!(" a{n}=\"\"")).collect();
        format!("<templates{list}/>")
    };
    assert!(!has(&attributes(64)) && has(&attributes(65)));
    let value = |size: usize| format!("<templates version=\"{}\"/>", "1".repeat(size));
    assert!(!has(&value(65_536)) && has(&value(65_537)));
    let size = |bytes: usize| format!("<templates>{}</templates>", " ".repeat(bytes - 23));
    assert_eq!((size(1 << 20).len(), has(&size(1 << 20)), has(&size((1 << 20) + 1))), (1 << 20, false, true));
}

/// covers: C5. Warnings never make a file unavailable, however many they are.
#[test]
fn warnings_do_not_count_for_the_cap_of_errors() {
    let task = "<task type=\"atomic\"><description>A</description></task>";
    let text = format!(
        "<task type=\"sequential\" name=\"a\"><description>A</description><steps>{}</steps></task>",
        task.repeat(250)
    );
    let reading = read_text("many.xml", &text);
    assert_eq!(reading.issues.len(), 250, "each has no instructions");
    assert!(reading.issues.iter().all(|(_, issue)| issue.code == Code::T507));
    let reading = read_text("more.xml", &format!("<templates>{}</templates>", "<a/>".repeat(3_000)));
    assert_eq!(reading.issues.len(), 1_000, "of warnings the first are told");
}

/// covers: C6. Two runs give the same bytes; every position is 1-based.
#[test]
fn issues_are_the_same_bytes_twice() {
    for fixture in crate::sections::fixtures("templates/read") {
        for (title, body) in fixture.inputs() {
            let json = |issues: Vec<(_, Issue)>| {
                issues.into_iter().map(|(_, issue)| serde_json::to_string(&issue).unwrap()).collect::<Vec<_>>()
            };
            let issues = read_text(title, body).issues;
            assert!(issues.iter().all(|(_, issue)| {
                issue.line > 0 && issue.column > 0 && (issue.line, issue.column) <= (issue.end_line, issue.end_column)
            }));
            assert_eq!(json(issues), json(read_text(title, body).issues));
        }
    }
}

/// covers: C6. The keys of the object, in the order of the specification.
#[test]
fn an_issue_is_one_object() {
    let text = "<templates>\n <task type=\"atomic\" name=\"audit\"><description>é</description><instructions>B</instructions>\
                <context_management accumulate_data=\"yes\"/></task></templates>";
    let reading = read_text("audit.xml", text);
    let json: Vec<String> = reading.issues.iter().map(|(_, issue)| serde_json::to_string(issue).unwrap()).collect();
    assert_eq!(
        json,
        [concat!(
            r#"{"code":"T015","severity":"error","rule":"bool.value","message":"accumulate_data must be true or false","#,
            r#""file":"audit.xml","line":2,"column":130,"end_line":2,"end_column":133,"path":"audit/context_management","#,
            r#""found":"yes","expected":["true","false"],"advice":"write true","#,
            r#""related":[{"line":2,"column":2,"message":"task opened here"}]}"#
        )]
    );
}

proptest! {
    #[test]
    fn any_expression_is_answered(text in "(a|b\\.c|\\[|0\\]|\\(|\\)|!|&&|\\|\\||==|<|'|\"|1|-|e| |é|true|null){0,40}") {
        if let Ok(expression) = Expression::parse(&text) {
            expression.evaluate(&mut |_| None);
            let again = Expression::parse(expression.as_str());
            prop_assert_eq!(again.as_ref(), Ok(&expression));
        }
    }

    #[test]
    fn any_expression_of_characters_is_answered(text in "\\PC{0,80}") {
        drop(Expression::parse(&text));
    }

    #[test]
    fn any_file_is_read_and_printed(text in FILE) {
        let reading = read_text("any.xml", &text);
        let printed = print_templates(&reading.templates);
        let again = read_text("again.xml", &printed);
        prop_assert_eq!(&again.templates, &reading.templates, "{}", printed);
        let (short, lost) = print_short(&reading.templates);
        let again = read_text("again.yaml", &short).templates;
        prop_assert!(!lost.is_empty() || again == reading.templates, "{}\n{:?}", short, again);
    }
}

/// Pieces of libraries, well formed and not.
const FILE: &str = "<templates>(<task type=\"(atomic|sequential|map|script|reduce)\"( name=\"[a-c]\")?( items=\"a\\.b\")?>|\
    </task>|<description>( |\n  )?x \\{\\{a\\}\\} (&amp;|&lt;|&|\\{\\{\\{\\{)?\n?  y?</description>|<steps>|</steps>|\
    <call template=\"t\">|<arg( name=\"a\")?>( b |\n c\n  d\n)</arg>|</call>|<command>a( \"b c\"|\\\\ d|\\{\\{e\\}\\}|'')</command>|\
    <body>|</body>|<inputs>|</inputs>|<input name=\"[a-b]\"/>|<cond>|</cond>|<case test=\"a == 1\">|</case>|\
    <limits max_turns=\"3\"/>|<template name=\"t\" params=\"a, b=1\">|</template>|<parallel>|</parallel>| x ){0,24}</templates>";
