//! `template check`, `list`, `show`, `match` and `new` with the built binary.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "tests")]

use std::collections::BTreeMap;
use std::fmt::Write;

use crate::support::garden::{TestProject, json_lines};
use callsheet_core::template::operators::Rows;
use callsheet_core::template::{Code, Issue, Kind, Severity};
use serde_json::Value;

/// Words of every operator that is a `task`.
fn operators() -> impl Iterator<Item = &'static str> {
    Kind::ALL.iter().filter(|facts| matches!(facts.rows, Rows::Task { .. })).map(|facts| facts.word)
}

fn task(name: &str, more: &str) -> String {
    format!(
        "<task type=\"atomic\" name=\"{name}\"><description>Water the {name} plants</description><instructions>Do</instructions>{more}</task>"
    )
}

/// covers: T 2.1, 3
#[test]
fn a_new_template_of_each_operator_has_no_issue() {
    let garden = TestProject::bare();
    for operator in operators() {
        let name = format!("my_{operator}");
        let ended = garden.expect(0, &["template", "new", &name, "--type", operator]);
        assert!(ended.out.trim_end().ends_with(&format!(".callsheet/templates/{name}.yaml")), "{}", ended.out);
        let shown = json_lines(&garden.expect(0, &["template", "show", &name, "--json"]).out).remove(0);
        assert_eq!(shown["name"], name);
        let kind = &shown["body"]["kind"];
        assert!(*kind == operator || kind.get(operator).is_some(), "{kind}");
    }
    let ended = garden.expect(0, &["template", "check", "--strict"]);
    assert_eq!((ended.out.as_str(), ended.err.as_str()), ("", "no issues\n"));
    garden.expect(0, &["template", "new", "for.all", "--user"]);
    assert!(garden.home().join("templates/for.all.yaml").exists());
    garden.expect(0, &["template", "check", "--strict"]);
}

/// covers: T 2.1
#[test]
fn a_new_template_writes_over_nothing() {
    let garden = TestProject::bare();
    garden.write(".callsheet/templates/mine.yaml", "my own words");
    garden.write(".callsheet/templates/several.xml", format!("<templates>{}</templates>", task("taken", "")));
    assert!(garden.expect(2, &["template", "new", "mine"]).err.contains("mine.yaml exists"));
    assert!(
        garden
            .expect(2, &["template", "new", "taken"])
            .err
            .contains("several.xml already contains a template with that name")
    );
    assert_eq!(garden.read(".callsheet/templates/mine.yaml"), "my own words");
    for name in ["../up", "a b", "", "1st", "a/b"] {
        garden.expect(2, &["template", "new", name]);
    }
    assert!(!garden.path(".callsheet/templates/taken.yaml").exists());
    let ended = garden.expect(0, &["template", "new", "default_atomic"]);
    assert!(ended.err.contains("replaces") && ended.err.contains("bundled: default_atomic.yaml"), "{}", ended.err);
}

/// covers: T519, T 2.1
#[test]
fn a_stronger_layer_replaces_an_equal_name() {
    let garden = TestProject::bare();
    garden.write(".callsheet/templates/a.xml", task("roses", ""));
    std::fs::create_dir_all(garden.home().join("templates")).unwrap();
    std::fs::write(
        garden.home().join("templates/b.xml"),
        format!("<templates>{}{}</templates>", task("roses", ""), task("lilies", "")),
    )
    .unwrap();
    let listed = json_lines(&garden.expect(0, &["template", "list", "--json"]).out);
    let layer = |name: &str| listed.iter().find(|row| row["name"] == name).map(|row| row["layer"].clone());
    assert_eq!(layer("roses"), Some("project".into()));
    assert_eq!(layer("lilies"), Some("user".into()));
    assert_eq!(layer("default_atomic"), Some("built-in".into()));
    let issues = json_lines(&garden.expect(0, &["template", "check", "--json"]).out);
    let codes: Vec<&Value> = issues.iter().map(|issue| &issue["code"]).collect();
    assert_eq!(codes, ["T519"]);
    // A note is no warning.
    garden.expect(0, &["template", "check", "--strict"]);
}

/// covers: T 3
#[test]
fn a_check_of_named_paths_reports_on_these_and_knows_the_library() {
    let garden = TestProject::bare();
    garden.write(".callsheet/templates/bad.xml", "<templates><template/></templates>");
    garden.write(".callsheet/templates/good.xml", task("roses", ""));
    garden.write("draft/one.xml", "<templates><template name=\"t\"><call template=\"roses\"/></template></templates>");
    garden
        .write("draft/two.xml", "<templates><template name=\"u\"><call template=\"nothing\"/></template></templates>");
    let ended = garden.expect(0, &["template", "check", "draft/one.xml"]);
    assert_eq!((ended.out.as_str(), ended.err.as_str()), ("", "no issues\n"));
    let ended = garden.expect(2, &["template", "check", "draft"]);
    assert!(ended.out.starts_with("draft/two.xml:1:47: error T030 call.unknown:"), "{}", ended.out);
    assert_eq!(ended.out.lines().count(), 1);
    let ended = garden.expect(0, &["template", "check", ".callsheet/templates/good.xml"]);
    assert_eq!((ended.out.as_str(), ended.err.as_str()), ("", "no issues\n"));
    garden.expect(2, &["template", "check", ".callsheet/templates/bad.xml"]);
    assert!(garden.expect(2, &["template", "check", "nowhere.xml"]).err.contains("does not exist"));
    garden.expect(2, &["template", "check", "."]);
}

/// covers: T 3
#[test]
fn strict_turns_warnings_into_errors() {
    let garden = TestProject::bare();
    garden.write(".callsheet/templates/a.xml", "<task type=\"atomic\" name=\"a\"><description>A</description></task>");
    let ended = garden.expect(0, &["template", "check"]);
    assert!(ended.out.contains("a.xml:1:1: warning T507 instructions.missing"), "{}", ended.out);
    let issues = json_lines(&garden.expect(2, &["template", "check", "--strict", "--json"]).out);
    assert_eq!(issues[0]["severity"], "error");
}

/// covers: T 3, C2
#[test]
fn a_template_with_errors_is_not_shown_and_the_others_are() {
    let garden = TestProject::bare();
    garden.write(
        ".callsheet/templates/a.xml",
        format!("<templates>{}{}</templates>", task("good", ""), task("bad", "<limits max_turns=\"0\"/>")),
    );
    garden.write(".callsheet/templates/b.xml", b"\xff\xfe".as_slice());
    garden.expect(0, &["template", "show", "good"]);
    assert!(garden.expect(2, &["template", "show", "bad"]).err.contains("has errors"));
    assert!(garden.expect(2, &["template", "show", "goood"]).err.contains("Did you mean good"));
    let ended = garden.expect(2, &["template", "list"]);
    assert!(ended.out.contains("good: atomic, .callsheet/templates/a.xml\n  Water the good plants"), "{}", ended.out);
    assert!(ended.err.contains("bad has errors"), "{}", ended.err);
}

/// covers: T 10
#[test]
fn a_text_finds_the_templates_that_fit() {
    let garden = TestProject::bare();
    garden.write(
        ".callsheet/templates/a.xml",
        format!(
            "<templates>{}{}</templates>",
            task("roses", ""),
            task("lilies", "<inputs><input name=\"bed\"/></inputs>")
        ),
    );
    let rows = json_lines(&garden.expect(0, &["template", "match", "water", "the", "lilies", "--json"]).out);
    assert_eq!(rows[0]["template"], "lilies");
    assert_eq!(rows[0]["missing_inputs"], serde_json::json!(["bed"]));
    assert!(rows.len() <= 5 && rows.iter().all(|row| row["task_type"] == "atomic"));
    let ended = garden.expect(0, &["template", "match", "water the lilies"]);
    assert!(
        ended.out.lines().next().unwrap().contains("lilies (") && ended.out.contains("; needs bed)"),
        "{}",
        ended.out
    );
    let ended = garden.expect(0, &["template", "match", "xyzzy"]);
    assert!(ended.out.is_empty() && ended.err.contains("no template matches"), "{}", ended.err);
}

/// covers: T 1
#[test]
fn a_link_out_of_the_folder_is_not_read() {
    let garden = TestProject::bare();
    garden.write("outside.xml", task("outside", ""));
    std::fs::create_dir_all(garden.path(".callsheet/templates")).unwrap();
    std::os::unix::fs::symlink(garden.path("outside.xml"), garden.path(".callsheet/templates/in.xml")).unwrap();
    let ended = garden.expect(2, &["template", "check"]);
    assert!(ended.err.contains("is a link out of its folder"), "{}", ended.err);
    garden.expect(2, &["template", "show", "outside"]);
}

/// Sections of `codes.txt`: a code and a file that has that one issue.
fn one_file_each() -> Vec<(String, Vec<u8>)> {
    let text = std::fs::read_to_string(crate::support::root().join("tests/fixtures/templates/codes.txt")).unwrap();
    let sections = text.split("==== ").skip(1).map(|section| section.split_once('\n').unwrap());
    sections
        .map(|(code, body)| {
            let bytes = match body.trim() {
                "DEEP" => format!("<templates>{}{}</templates>", "<a>".repeat(64), "</a>".repeat(64)).into_bytes(),
                "BYTES" => b"<templates>\n  <task \xff/>\n</templates>".to_vec(),
                _ => body.as_bytes().to_vec(),
            };
            (code.to_owned(), bytes)
        })
        .collect()
}

/// A project with one file for each code, and two sound templates that they call.
fn folder_of_codes(wanted: impl Fn(&str) -> bool) -> TestProject {
    let garden = TestProject::bare();
    for (code, bytes) in one_file_each().into_iter().filter(|(code, _)| wanted(code)) {
        garden.write(&format!(".callsheet/templates/{code}.xml"), &bytes);
        if code == "T519" {
            std::fs::create_dir_all(garden.home().join("templates")).unwrap();
            std::fs::write(garden.home().join("templates/T519.xml"), &bytes).unwrap();
        }
    }
    let echo = "<template name=\"echo\" params=\"p\"><task type=\"atomic\"><description>{{p}}</description><instructions>B</instructions></task></template>";
    garden.write(".callsheet/templates/sound.xml", format!("<templates>{}{echo}</templates>", task("sound", "")));
    garden
}

/// What a check says, a line an issue, with the text that stands at its place.
fn described(garden: &TestProject, issues: &[Issue]) -> String {
    let mut out = String::new();
    for issue in issues {
        let name = issue.file.rsplit('/').next().unwrap();
        let path = garden.path(&format!(".callsheet/templates/{name}"));
        let text = String::from_utf8_lossy(&std::fs::read(path).unwrap()).into_owned();
        let line = text.lines().nth(issue.line as usize - 1).unwrap_or_default();
        let there: String = line.chars().skip(issue.column as usize - 1).take(24).collect();
        let Issue { line, column, code, rule, path, .. } = issue;
        let severity = issue.severity.as_str();
        writeln!(out, "{name}:{line}:{column} {code} {severity} {rule} [{path}] at `{there}`").unwrap();
    }
    out
}

fn checked(garden: &TestProject, code: i32, more: &[&str]) -> Vec<Issue> {
    let mut arguments = vec!["template", "check", "--json"];
    arguments.extend(more);
    let first = garden.expect(code, &arguments);
    assert_eq!(first.out, garden.expect(code, &arguments).out, "two runs give the same bytes");
    first.out.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn names(garden: &TestProject) -> Vec<String> {
    let listed = garden.call(&["template", "list", "--json"]);
    let mut names: Vec<String> =
        json_lines(&listed.out).iter().map(|row| row["name"].as_str().unwrap().to_owned()).collect();
    names.retain(|name| name.starts_with("t0") || name.starts_with("t5") || ["sound", "echo"].contains(&name.as_str()));
    names
}

/// covers: C2, C6
#[test]
fn c2_one_folder_with_every_error_yields_each_with_its_place() {
    let garden = folder_of_codes(|code| code < "T500");
    let issues = checked(&garden, 2, &[]);
    same("codes.errors.expect", &described(&garden, &issues));
    for (code, _) in one_file_each().iter().filter(|(code, _)| code.as_str() < "T500") {
        let own: Vec<&Issue> = issues.iter().filter(|issue| issue.file.ends_with(&format!("{code}.xml"))).collect();
        assert!(own.iter().any(|issue| issue.code.as_str() == code && issue.severity == Severity::Error), "{code}");
        assert!(own.iter().all(|issue| issue.line > 0 && issue.column > 0 && !issue.rule.is_empty()), "{code}");
    }
    // Of two templates of one name the first is in force.
    assert_eq!(names(&garden), ["echo", "sound", "t020"]);
}

/// covers: C3
#[test]
fn c3_warnings_and_notes_block_nothing_but_strict() {
    let garden = folder_of_codes(|code| code > "T500");
    let issues = checked(&garden, 0, &[]);
    same("codes.warnings.expect", &described(&garden, &issues));
    let codes: Vec<String> =
        one_file_each().into_iter().map(|(code, _)| code).filter(|code| code.as_str() > "T500").collect();
    for code in &codes {
        assert!(issues.iter().any(|issue| issue.code.as_str() == code), "{code}");
    }
    let usable: Vec<String> = codes.iter().map(|code| code.to_lowercase()).filter(|name| name != "t505").collect();
    let listed = names(&garden);
    assert!(usable.iter().all(|name| listed.contains(name)), "{listed:?}");
    let strict = checked(&garden, 2, &["--strict"]);
    assert!(strict.iter().all(|issue| issue.severity
        == if issue.code.severity() == Severity::Info { Severity::Info } else { Severity::Error }));
    garden.write(".callsheet/config.toml", "strict = true\n");
    assert_eq!(names(&garden), ["echo", "sound", "t511", "t512", "t519"]);
}

/// covers: C2, C3
#[test]
fn every_code_has_a_file_of_its_own() {
    let held: BTreeMap<String, Vec<u8>> = one_file_each().into_iter().collect();
    let missing: Vec<&str> =
        Code::ALL.iter().map(|code| code.as_str()).filter(|code| !held.contains_key(*code)).collect();
    assert!(missing.is_empty(), "no file shows {}", missing.join(" "));
}

/// covers: C6
#[test]
fn c6_json_matches_its_schema() {
    let schema =
        std::fs::read_to_string(crate::support::root().join("docs/schema/template-issue.schema.json")).unwrap();
    let schema = jsonschema::validator_for(&serde_json::from_str(&schema).unwrap()).unwrap();
    let garden = folder_of_codes(|_| true);
    let lines = json_lines(&garden.expect(2, &["template", "check", "--json"]).out);
    assert!(lines.len() >= Code::ALL.len(), "{}", lines.len());
    for line in lines {
        assert!(schema.is_valid(&line), "{line}");
    }
}

/// covers: C12
#[test]
fn c12_defaults_are_the_table_of_the_specification() {
    let garden = TestProject::bare();
    let rows = [
        ["operator", "inherit_context", "accumulate_data", "accumulation_format", "fresh_context"],
        ["atomic", "full", "false", "notes_only", "disabled"],
        ["sequential", "full", "true", "notes_only", "disabled"],
        ["reduce", "none", "true", "notes_only", "enabled"],
        ["inner_task, reduction_task", "full", "-", "-", "disabled"],
        ["script", "full", "false", "notes_only", "disabled"],
        ["director_evaluator_loop", "none", "true", "notes_only", "enabled"],
        ["director, evaluator", "full", "false", "notes_only", "disabled"],
        ["map", "full", "false", "notes_only", "disabled"],
        ["parallel", "full", "false", "notes_only", "disabled"],
        ["subtask", "subset", "false", "notes_only", "enabled"],
        ["associative_matching", "none", "false", "notes_only", "disabled"],
    ];
    let shown = garden.expect(0, &["template", "show", "--defaults"]).out;
    let printed: Vec<Vec<&str>> =
        shown.lines().map(|line| line.split("  ").map(str::trim).filter(|word| !word.is_empty()).collect()).collect();
    for (row, printed) in rows.iter().zip(&printed) {
        assert_eq!(printed.join(" "), row.join(" "));
    }
    assert_eq!(printed.len(), rows.len());
    let json = json_lines(&garden.expect(0, &["template", "show", "--defaults", "--json"]).out);
    assert_eq!(json[3]["accumulate_data"], Value::Null);
    garden.write(".callsheet/templates/a.xml", task("roses", "<context_management inherit_context=\"subset\"/>"));
    let shown = garden.expect(0, &["template", "show", "roses", "--defaults"]).out;
    assert!(shown.lines().nth(1).unwrap().split_whitespace().eq([
        "roses",
        "subset",
        "false",
        "notes_only",
        "disabled"
    ]));
}

/// The examples of the guide and of the specification are templates without an error; those of the guide without any
/// issue.
#[test]
fn examples_of_documents_load() {
    for (document, strict) in [("docs/guide/templates.md", true), ("docs/spec/templates.md", false)] {
        let text = std::fs::read_to_string(crate::support::root().join(document)).unwrap();
        let garden = TestProject::bare();
        let mut count = 0;
        for form in ["xml", "yaml"] {
            for rest in text.split(&format!("```{form}\n")).skip(1) {
                count += 1;
                let fence = rest.split("\n```").next().unwrap();
                garden.write(&format!(".callsheet/templates/example_{count}.{form}"), fence);
            }
        }
        assert!(count > 0, "{document}");
        garden.write(".callsheet/skills/find-duplicates.md", "description: x\n---\ndo\n");
        let ended = garden.call(if strict { &["template", "check", "--strict"] } else { &["template", "check"] });
        assert_eq!(ended.code, 0, "{document}\n{}{}", ended.out, ended.err);
        if strict {
            let text = std::fs::read_to_string(crate::support::root().join(document)).unwrap();
            for operator in operators().filter(|operator| *operator != "director_evaluator_loop") {
                assert!(text.to_lowercase().contains(&format!("## {operator}")), "{operator}");
            }
        }
    }
}

/// Compares with a file beside `codes.txt`; `UPDATE_EXPECT=1` writes it anew.
fn same(name: &str, text: &str) {
    let file = crate::support::root().join("tests/fixtures/templates").join(name);
    if std::env::var_os("UPDATE_EXPECT").is_some() {
        std::fs::write(&file, text).unwrap();
    }
    assert_eq!(std::fs::read_to_string(&file).unwrap_or_default(), text, "{name}");
}

/// Templates of every operator are found by their purpose in other words, and a task of a file is matched like a text.
/// covers: C37
#[test]
fn match_looks_at_every_operator_and_takes_a_task_of_a_file() {
    let garden = TestProject::bare();
    let rows = json_lines(&garden.expect(0, &["template", "match", "--all", "summarize several files", "--json"]).out);
    assert_eq!(rows[0]["template"], "summarise_files", "{rows:?}");
    assert_eq!(rows[0]["task_type"], "sequential");
    let rows = json_lines(&garden.expect(0, &["template", "match", "summarize several files", "--json"]).out);
    assert!(rows.iter().all(|row| row["task_type"] == "atomic"), "{rows:?}");
    let steps = r#"<task type="sequential" name="own"><description>Own</description><steps>
<task id="pull"><description>Extract fields from the document</description></task></steps></task>"#;
    garden.write("own.xml", steps);
    let rows = json_lines(&garden.expect(0, &["template", "match", "--node", "own.xml#pull", "--json"]).out);
    assert_eq!(rows[0]["template"], "extract_data", "{rows:?}");
    let ended = garden.expect(2, &["template", "match", "--node", "own.xml#pul"]);
    assert!(ended.err.contains("Did you mean pull?"), "{}", ended.err);
}
