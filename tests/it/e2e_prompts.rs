//! Prompts as a user sees, copies and changes them, through the built binary.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "tests")]

use crate::support::garden::TestProject;
use callsheet_format::prompt::{PromptKey, Templates};

fn state(garden: &TestProject, name: &str) -> (String, String) {
    let out = garden.expect(0, &["--json", "prompts", "list"]).out;
    let lines: Vec<serde_json::Value> = out.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let line = lines.iter().find(|line| line["name"] == name).unwrap();
    (line["state"].as_str().unwrap().to_owned(), line["hash"].as_str().unwrap().to_owned())
}

/// covers: 8.1
#[test]
fn an_ejected_template_is_the_users_to_change_and_is_never_written_over() {
    let garden = TestProject::with("answer");
    let (bundled, hash) = state(&garden, "task_execution");
    assert_eq!(bundled, "bundled");
    let out = garden.expect(0, &["prompts", "eject", "--only", "task_execution"]).out;
    assert!(out.ends_with(".callsheet/prompts/task_execution.md\n"), "{out}");
    assert_eq!(state(&garden, "task_execution"), ("same as bundled".to_owned(), hash.clone()));

    let changed = garden.read(".callsheet/prompts/task_execution.md").replace("You do one task.", "You do ONE task.");
    garden.write(".callsheet/prompts/task_execution.md", &changed);
    let (overridden, other) = state(&garden, "task_execution");
    assert_eq!(overridden, "overridden");
    assert_ne!(other, hash);
    let listed = garden.expect(0, &["prompts", "list"]).out;
    let line = listed.lines().find(|line| line.contains("overridden")).unwrap();
    assert!(line.contains(&other[..12]) && line.contains("task_execution.md"), "{line}");
    garden.expect(0, &["run", "who waters?"]);
    assert!(garden.expect(0, &["show", "--prompt", "2"]).out.contains("You do ONE task."));

    let ended = garden.expect(2, &["prompts", "eject"]);
    assert!(ended.err.contains("task_execution.md") && ended.err.contains("--force"), "{}", ended.err);
    assert!(!garden.path(".callsheet/prompts/task_refinement.md").exists(), "all or none");
    assert_eq!(garden.read(".callsheet/prompts/task_execution.md"), changed);
    garden.expect(0, &["prompts", "eject", "--force"]);
    for key in PromptKey::ALL {
        assert_eq!(garden.read(&format!(".callsheet/prompts/{key}.md")), Templates::bundled_text(*key));
    }
    assert!(garden.expect(2, &["prompts", "eject", "--only", "no_such"]).err.contains("task_refinement"));
}

/// Example turns of a changed template are earlier messages of the chat, before the prompt; not where the reply is a twin.
/// covers: 8.2
#[test]
fn example_turns_of_a_template_are_sent_before_the_prompt() {
    let examples =
        "<!-- callsheet:user -->\nWho bakes?\n<!-- callsheet:assistant -->\nTom bakes.\n<!-- callsheet:user -->\n";
    let sent = |name: &str, number: &str| {
        let garden = TestProject::with(name);
        let own = Templates::bundled_text(PromptKey::Execution).replace("<!-- callsheet:user -->\n", examples);
        garden.write(".callsheet/prompts/task_execution.md", own);
        assert_eq!(state(&garden, "task_execution").0, "overridden");
        garden.expect(0, &["run", "who waters?"]);
        garden.expect(0, &["show", "--prompt", number]).out
    };
    let shown = sent("answer", "2");
    assert_eq!(shown.matches("==== user\n").count(), 2, "{shown}");
    let (before, after) = shown.split_once("==== user\nWho bakes?\n==== assistant\nTom bakes.\n").unwrap();
    assert!(before.starts_with("==== system\n") && after.trim_start().starts_with("==== user\n"), "{shown}");
    assert!(!sent("twins", "3").contains("Tom bakes."));
}

/// Forms are asked for greedily, an attempt after a refused reply is not, and what was sent is on record.
/// covers: 12.2
#[test]
fn temperature_and_seed_follow_phase_and_attempt() {
    let garden = TestProject::with("twins");
    let sampled = |number: &str| {
        let out = garden.expect(0, &["show", "--call", number]).out;
        let line = out.lines().find(|line| line.contains(" sends")).unwrap().to_owned();
        line.split_once(" sends").unwrap().1.to_owned()
    };
    garden.expect(0, &["run", "who waters?"]);
    assert_eq!(sampled("1"), ", temperature 0, seed 1");
    assert_eq!(sampled("2"), ", temperature 0.3, seed 2");
    assert_eq!(sampled("3"), ", temperature 0.2, seed 1");
    garden.expect(0, &["run", "who waters?", "--set", "temperature=0.6", "--set", "seed=40"]);
    assert_eq!(sampled("1"), ", temperature 0, seed 40");
    assert_eq!(sampled("3"), ", temperature 0.6, seed 40");
    std::fs::create_dir_all(garden.home()).unwrap();
    std::fs::write(garden.home().join("config.toml"), "[providers.scripted]\nsampling = false\n").unwrap();
    garden.expect(0, &["run", "who waters?"]);
    assert_eq!(sampled("1"), "");
}

/// covers: 8.1
#[test]
fn templates_go_to_the_users_folder_or_any_other() {
    let garden = TestProject::bare();
    garden.expect(0, &["prompts", "eject", "--user", "--only", "task_post_exec"]);
    assert_eq!(state(&garden, "task_post_exec").0, "same as bundled");
    garden.expect(0, &["prompts", "eject", "elsewhere"]);
    assert!(garden.path("elsewhere/task_refinement.md").exists());
    assert_eq!(state(&garden, "task_refinement").0, "bundled");
    garden.write(".callsheet/prompts/task_refinement.md", "no user part\n");
    let ended = garden.expect(2, &["prompts", "list"]);
    assert!(ended.out.contains("error:"), "{}", ended.out);
}

/// covers: 5.1, 8.9
#[test]
fn a_planner_is_told_of_open_files_and_of_a_project_that_nobody_describes() {
    let garden = TestProject::with("answer");
    for name in ["AGENTS.md", "README.md"] {
        std::fs::remove_file(garden.path(name)).unwrap();
    }
    garden.write("src/main.py", "print(1)\n");
    garden.expect(0, &["run", "who waters?", "--open", "minutes.md"]);
    let prompt = garden.expect(0, &["show", "--prompt", "1"]).out;
    assert!(prompt.contains("## Open files\n\n- minutes.md\n"), "{prompt}");
    for line in ["- **Languages** markdown (3), python (1)", "- **Folders** src/ (1)", "- **Entry points** src/main.py"]
    {
        assert!(prompt.contains(&format!("{line}\n")), "{line}: {prompt}");
    }
    // The names are listed once: those with words of the request first, the others by their depth.
    let files = prompt.split("## Project files\n\n").nth(1).and_then(|rest| rest.split("\n\n").next()).unwrap();
    assert!(files.starts_with("- water.md\n") && files.ends_with("- src/main.py"), "{files}");
    assert!(!prompt.contains("**At the top**"), "{prompt}");
    let now = std::time::SystemTime::now() + std::time::Duration::from_secs(60);
    std::fs::File::options().append(true).open(garden.path("plan.md")).unwrap().set_modified(now).unwrap();
    garden.expect(0, &["run", "who waters?", "--open-recent"]);
    let prompt = garden.expect(0, &["show", "--prompt", "1"]).out;
    assert!(prompt.contains("## Open files\n\n- plan.md\n"), "{prompt}");
    assert!(garden.expect(2, &["run", "who waters?", "--open", "gone.md"]).err.contains("gone.md"));
}

/// covers: 12.5
#[test]
fn a_prompt_is_shown_exactly_as_it_was_sent() {
    let garden = TestProject::with("answer");
    garden.write("water.md", "Ana \u{1b}[31mwaters\u{1b}[0m.\n```\n~~~~\n");
    let tape = garden.path("../tape");
    garden.expect(0, &["run", "who waters?", "--record", tape.to_str().unwrap()]);
    let mut cassettes: Vec<_> = std::fs::read_dir(&tape).unwrap().map(|entry| entry.unwrap().path()).collect();
    cassettes.retain(|path| path.extension().is_some_and(|ending| ending == "json"));
    cassettes.sort();
    assert_eq!(cassettes.len(), 2);
    for (number, cassette) in (1..).zip(cassettes) {
        let sent: serde_json::Value = serde_json::from_str(&std::fs::read_to_string(cassette).unwrap()).unwrap();
        let shown = garden.expect(0, &["--json", "show", "--prompt", &format!("{number}")]).out;
        let shown: serde_json::Value = serde_json::from_str(&shown).unwrap();
        assert_eq!(shown["system"], sent["request"]["system"]);
        assert_eq!(shown["messages"], sent["request"]["messages"]);
        let text = garden.expect(0, &["show", "--prompt", &format!("{number}")]).out;
        assert!(text.contains(sent["request"]["system"].as_str().unwrap()), "{text}");
        assert!(!text.contains('\u{1b}'), "escapes reach no terminal");
    }
}

/// covers: 12.6
#[test]
fn a_provider_may_be_asked_without_grammars() {
    let garden = TestProject::with("grammar");
    let constrained = |name: &str| {
        let tape = garden.path(name);
        garden.expect(0, &["run", "who waters?", "--record", tape.to_str().unwrap()]);
        let text = std::fs::read_to_string(tape.join("0001-plan.json")).unwrap();
        let sent: serde_json::Value = serde_json::from_str(&text).unwrap();
        !sent["request"]["constraint"].is_null()
    };
    assert!(constrained("../with"));
    std::fs::create_dir_all(garden.home()).unwrap();
    std::fs::write(garden.home().join("config.toml"), "[providers.scripted]\nconstrain = false\n").unwrap();
    assert!(!constrained("../without"));
}
