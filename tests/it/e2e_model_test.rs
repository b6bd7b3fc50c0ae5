//! `model test`: each job is judged by code, and one line says what the model is good for.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "tests")]

use crate::support::garden::{TestProject, json_lines};

const STORY: &str = "[[rule]]\nlabel = \"conformance story\"\ntext = \"There was a garden.\"\n";

const PLAN: &str = r#"
[[rule]]
phase = "plan"
text = '''
## Goals / summary
Know what is open.

**plan complete**
## Tasks
### Task section 1
- **Name** Read
- **What is needed** Which questions are open.
- **Skill** read_files
- **References** [Minutes](minutes.md)

### Task section 2
- **Name** Write
- **What is needed** Write open.md.
- **Skill** write_document
- **References** [Read](#read-results)
'''
"#;

const WRITE: &str = r#"
[[rule]]
phase = "execute"
prompt = "Good morning"
text = '''
## Change details
- **file_path** greeting.py
```python
    return "Hello, " + name + "!"
```
```python
    return "Good morning, " + name + "!"
```
## Result summary
It says good morning.
'''
"#;

const ROUTE: &str = r#"
[[rule]]
phase = "route"
prompt = "Goodbye"
text = "find_code"

[[rule]]
phase = "route"
prompt = "Farewell"
text = "edit_code"

[[rule]]
phase = "route"
prompt = "invitation"
text = "write_document"

[[rule]]
phase = "route"
prompt = "three sentences"
text = "read_files"
"#;

fn read(answer: &str) -> String {
    let head = "[[rule]]\nphase = \"execute\"\nprompt = \"who cleans\"\n";
    format!("{head}text = \"\"\"\n## Result summary\n{answer}\n\"\"\"\n")
}

fn tested(script: &str, flags: &[&str]) -> crate::support::garden::Ended {
    let garden = TestProject::bare();
    garden.write("script.toml", script);
    let ended = garden.expect(0, &[&["model", "test", "scripted:script.toml"][..], flags].concat());
    assert!(!garden.has_store(), "the project has no run of it");
    ended
}

#[test]
fn a_model_that_does_all_is_good_for_all() {
    let script = [STORY, ROUTE, PLAN, WRITE, &read("Noor, on Thursdays.")].concat();
    let out = tested(&script, &[]).out;
    for name in ["route", "plan", "write", "read"] {
        assert!(out.lines().any(|line| line.starts_with(&format!("{name:<8} right, "))), "{name}: {out}");
    }
    assert!(out.ends_with("Good for questions over files, small changes, planning and choosing skills.\n"), "{out}");
}

#[test]
fn what_a_model_cannot_do_is_named_with_the_setting_that_helps() {
    let no_plan = "[[rule]]\nphase = \"plan\"\ntext = \"I would read it first.\"\n";
    let no_route = ROUTE.replace("text = \"find_code\"", "text = \"run_checks\"");
    let script =
        [STORY, &no_route, no_plan, &WRITE.replace("Good morning, \"", "Morning, \""), &read("Noor, on Thursdays.")]
            .concat();
    let lines = json_lines(&tested(&script, &["--json"]).out);
    let right: Vec<(&str, bool)> =
        lines[..4].iter().map(|line| (line["test"].as_str().unwrap(), line["right"].as_bool().unwrap())).collect();
    assert_eq!(right, [("route", false), ("plan", false), ("write", false), ("read", true)]);
    assert!(lines[0]["wrong"].as_str().unwrap().starts_with("run_checks, not find_code: Where"), "{}", lines[0]);
    assert!(lines[2]["wrong"].as_str().unwrap().contains("greeting.py"), "{}", lines[2]);
    let verdict = lines[4]["verdict"].as_str().unwrap();
    assert!(
        verdict.starts_with("Good for questions over files; let a larger model write, plan and route"),
        "{verdict}"
    );
    assert!(verdict.contains("models.execute and models.plan"), "{verdict}");
    assert_eq!(lines[4]["model"]["id"], "scripted:script.toml");
}

#[test]
fn a_wrong_answer_is_shown() {
    let out = tested(&[STORY, ROUTE, PLAN, WRITE, &read("Ana, on Mondays.")].concat(), &[]).out;
    assert!(out.contains("the answer was: Ana, on Mondays."), "{out}");
}

#[test]
fn a_model_that_does_not_answer_is_not_tested() {
    let garden = TestProject::bare();
    garden.write("script.toml", PLAN);
    let ended = garden.expect(7, &["model", "test", "scripted:script.toml"]);
    assert!(ended.err.contains("no answer: ") && !ended.out.contains("plan"), "{}\n{}", ended.out, ended.err);
}
