//! Templates in the short form with the built binary.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "tests")]

use crate::support::garden::TestProject;

const REVIEW: &str = r#"template: review_notes
about: Review notes and write one list of mistakes
inputs:
  notes: {about: Paths of the notes, type: "string[]"}
tasks:
  - reviews:
      each: note in notes
      ask: Score {{note}}
      files: "{{note}}"
      gives: {mistakes: [string], score: number}
  - report:
      if: reviews[0].score == 2 and len(reviews) > 0
      ask: List {{reviews[0].mistakes}}
  - letters:
      run: [wc, -c]
      stdin: "{{report}}"
      effects: read
"#;

const SCRIPT: &str = r#"[[rule]]
phase = "execute"
prompt = "Score"
text = '{"mistakes": ["a comma"], "score": 2}'
[[rule]]
phase = "execute"
text = 'A comma.'
"#;

/// covers: T 2.8
#[test]
fn a_template_in_the_short_form_runs() {
    let garden = TestProject::scripted(SCRIPT);
    garden.write(".callsheet/templates/review.yaml", REVIEW);
    garden.write("a.md", "One.\n");
    let ended = garden.expect(0, &["template", "run", "review_notes", "notes:=[\"a.md\"]"]);
    assert_eq!(ended.out.trim(), "8");
    let prompt = garden.expect(0, &["show", "--prompt", "2"]).out;
    assert!(prompt.contains("List [\"a comma\"]"), "{prompt}");
    assert!(!prompt.contains("Previous outputs"), "{prompt}");
    let shown = garden.expect(0, &["template", "show", "review_notes"]);
    assert_eq!(shown.out, REVIEW);
}

/// covers: T 2.8
#[test]
fn issues_name_line_and_column_of_the_short_form() {
    let garden = TestProject::bare();
    let broken = REVIEW.replace("List {{reviews[0]", "List {{reviws[0]").replace("stdin:", "stdn:");
    garden.write(".callsheet/templates/review.yaml", broken);
    let ended = garden.expect(2, &["template", "check"]);
    let told = ".callsheet/templates/review.yaml:13:17: error T052";
    assert!(ended.out.contains(told) && ended.out.contains("did you mean `reviews`"), "{}", ended.out);
    let told = "review.yaml:16:7: error T019 name.mistyped: there is no key `stdn`; did you mean `stdin`?";
    assert!(ended.out.contains(told), "{}", ended.out);
}

/// covers: T 3, T 4
#[test]
fn values_that_do_not_fit_are_told_before_the_first_call() {
    let garden = TestProject::scripted(SCRIPT);
    let wrong = REVIEW.replace("reviews[0].score == 2", "reviews.score == 2").replace("[0].mistakes", "[0].mistake");
    garden.write(".callsheet/templates/review.yaml", wrong);
    garden.write("a.md", "One.\n");
    let checked = garden.expect(2, &["template", "check"]).out;
    let list = "review.yaml:12:11: error T059 value.path: `reviews` is a list of maps, which has no field `score`";
    assert!(checked.contains(list), "{checked}");
    let field =
        "review.yaml:13:17: error T059 value.path: `reviews[0]` has no field `mistake`; did you mean `mistakes`?";
    assert!(checked.contains(field), "{checked}");
    let ended = garden.expect(2, &["template", "run", "review_notes", "notes:=[\"a.md\"]"]);
    assert!(ended.err.contains(list), "{}", ended.err);
    let typed = garden.expect(2, &["template", "run", "review_notes", "notes=a.md"]).err;
    assert!(typed.contains("has errors"), "{typed}");
    garden.write(".callsheet/templates/review.yaml", REVIEW);
    let typed = garden.expect(2, &["template", "run", "review_notes", "notes=a.md"]).err;
    assert!(typed.contains("notes"), "{typed}");
}

/// covers: T 2.8
#[test]
fn fmt_turns_one_form_into_the_other() {
    let garden = TestProject::bare();
    garden.write("review.yaml", format!("# Mine.\n{REVIEW}"));
    let xml = garden.expect(0, &["template", "fmt", "review.yaml", "--to", "xml", "--write"]);
    assert!(xml.out.contains("review.xml") && xml.err.contains("comments on these lines are lost"), "{}", xml.err);
    assert!(xml.err.contains(": 1"), "{}", xml.err);
    assert_eq!(garden.expect(0, &["template", "fmt", "review.xml", "--to", "yaml"]).out, REVIEW);
    assert!(
        garden.expect(2, &["template", "fmt", "review.xml", "--to", "yaml", "--write"]).err.contains("review.yaml")
    );
    assert_eq!(garden.expect(0, &["template", "fmt", "review.yaml"]).out, REVIEW);

    // A task with the name of an input means two things in the short form.
    let twice = "<template name=\"a\" params=\"b\"><task type=\"sequential\"><description>A {{b}}</description><steps>\
        <task type=\"atomic\" id=\"b\"><description>B {{b}}</description></task></steps></task></template>";
    garden.write("twice.xml", format!("<templates>{twice}</templates>"));
    let ended = garden.expect(2, &["template", "fmt", "twice.xml", "--to", "yaml"]);
    assert!(ended.err.contains("`b`") && ended.out.is_empty(), "{}{}", ended.out, ended.err);
    // What a model is asked has one text in the short form; in XML it has two, and one alone is warned of.
    let asks = "template: asks\nabout: Asks\ntasks:\n  - one:\n      ask: Name a bed.\n";
    garden.write(".callsheet/templates/asks.yaml", asks);
    assert!(!garden.expect(0, &["template", "check"]).out.contains("T507"));
    let xml = garden.expect(0, &["template", "fmt", ".callsheet/templates/asks.yaml", "--to", "xml"]).out;
    std::fs::remove_file(garden.path(".callsheet/templates/asks.yaml")).unwrap();
    garden.write(".callsheet/templates/asks.xml", &xml);
    let checked = garden.expect(0, &["template", "check"]);
    assert!(!checked.out.contains("T507") && !checked.err.contains("T507"), "{}{}", checked.out, checked.err);
    assert_eq!(garden.expect(0, &["template", "fmt", ".callsheet/templates/asks.xml", "--to", "yaml"]).out, asks);
    garden.write("bad.yaml", "template: a\nask: {{x}}\n");
    let ended = garden.expect(2, &["template", "fmt", "bad.yaml", "--to", "xml"]);
    assert!(ended.out.contains("bad.yaml:2:6: error T001") && ended.err.contains("has errors"), "{}", ended.out);

    let schema = garden.expect(0, &["template", "schema"]).out;
    let kept = std::fs::read_to_string(crate::support::root().join("docs/schema/template-yaml.schema.json")).unwrap();
    assert_eq!(schema, kept);
}
