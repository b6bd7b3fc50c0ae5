//! Rules of reading and applying, through the built binary: what a refused refinement leaves behind, plans that cannot be
//! refined, links that are no longer relevant, files that change under a set.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "tests")]

use crate::support::garden::TestProject;
use serde_json::Value;

fn facts(garden: &TestProject, event: &str) -> Vec<Value> {
    garden.facts().into_iter().filter(|fact| fact["event"] == event).collect()
}

fn codes(fact: &Value) -> Vec<&str> {
    fact["issues"].as_array().unwrap().iter().map(|issue| issue["code"].as_str().unwrap()).collect()
}

/// Only valid values of a refused refinement enter the task; the retry shows them, and never the reply.
/// covers: 3.7, 12, 9.1
#[test]
fn the_retry_of_a_refinement_starts_from_its_valid_parts() {
    let garden = TestProject::with("partial_refinement");
    garden.expect(0, &["run", "where is the rota?"]);
    let refused = facts(&garden, "reply_refused");
    assert_eq!(refused.len(), 1);
    let mut found = codes(&refused[0]);
    found.sort_unstable();
    assert_eq!(found, ["file-missing", "tool-not-allowed"]);
    let retry = garden.expect(0, &["show", "--prompt", "3"]).out;
    let (data, issues) = retry.split_once("was refused. Write it whole again").expect("the retry names its issues");
    for part in ["for the beds is described, with the day", "[Water](water.md)", "\"pattern\": \"rota\""] {
        assert!(data.contains(part), "{part} is missing: {data}");
    }
    for part in ["phases.md", "reboot"] {
        assert!(!data.contains(part), "{part} entered the task: {data}");
        assert!(issues.contains(part), "{part} is not quoted: {issues}");
    }
    assert!(!retry.contains("dear host"), "the refused reply is shown: {retry}");
    let execution = garden.expect(0, &["show", "--prompt", "4"]).out;
    for part in ["for the beds is described, with the day", "A link and a day.", "### Tool output s1"] {
        assert!(execution.contains(part), "{part} is missing: {execution}");
    }
}

const SHEET: &str = "## Goals / summary\nFind it.\n## Tasks\n### Task section 1\n- **Name** Find Rota 1\n- **What is needed** Where the rota is.\n- **Skill** find_code\n- **Expected output** A link.\n";

/// covers: 2.12, refinement-required, 11.9
#[test]
fn what_only_a_refinement_can_give_is_said_before_any_round() {
    let garden = TestProject::with("plan_without_calls");
    garden.write("work.md", SHEET);
    garden.expect(0, &["sheet", "check", "work.md"]);
    let ended = garden.expect(2, &["sheet", "check", "work.md", "--set", "refine=never"]);
    assert!(ended.out.contains("work.md:7:13: error refinement-required"), "{}", ended.out);
    let ended = garden.expect(2, &["run", "--sheet", "work.md", "--set", "refine=never"]);
    assert!(ended.err.contains("refinement is disabled"), "{}", ended.err);
    let ended = garden.expect(2, &["run", "--skill", "find_code", "where is the rota?", "--set", "refine=never"]);
    assert!(ended.err.contains("refinement is disabled"), "{}", ended.err);
    assert!(!garden.path(".callsheet/runs").exists(), "nothing was begun");

    garden.expect(0, &["run", "where is the rota?", "--set", "refine=never"]);
    let refused = facts(&garden, "reply_refused");
    assert_eq!(refused.iter().map(|fact| codes(fact)).collect::<Vec<_>>(), [["refinement-required"]]);
    assert_eq!(refused[0]["issues"][0]["where"]["task"], "Find Rota 1");
    let again = garden.expect(0, &["show", "--prompt", "2"]).out;
    assert!(again.contains("task \"Find Rota 1\", Skill (line"), "{again}");
}

/// covers: 5.10, reference-restricted
#[test]
fn a_link_that_is_no_longer_relevant_is_shown_where_a_task_names_it() {
    let garden = TestProject::with("no_longer_relevant");
    garden.expect(0, &["run", "who waters?"]);
    let adopted = facts(&garden, "list_adopted");
    let warned: Vec<Vec<&str>> = adopted.iter().map(|fact| codes(fact)).collect();
    assert_eq!(warned[1], ["reference-restricted"], "{warned:?}");
    assert_eq!(adopted[1]["issues"][0]["severity"], "warning");
    let checked = facts(&garden, "references_checked");
    assert_eq!(codes(checked.last().unwrap()), ["reference-restricted"]);
    let prompt = garden.expect(0, &["show", "--prompt", "4"]).out;
    assert!(prompt.contains("### Water - water.md") && prompt.contains("Barrel 2 leaks"), "{prompt}");
}

/// A file changes between the gate and the apply, beside the approved lines.
/// covers: 3.10, 11.4
#[test]
fn a_change_whose_file_moved_is_shown_again_unless_its_lines_are_those_that_were_shown() {
    let garden = TestProject::with("writer");
    garden.expect(3, &["run", "bring the notes up to date", "--approval", "before-apply"]);
    let far = format!("First of all.\n\n{}", garden.read("water.md"));
    garden.write("water.md", &far);
    garden.expect(0, &["approve"]);
    // The hunk has the same lines: only their numbers moved.
    garden.expect(0, &["resume"]);
    assert_eq!(garden.read("water.md"), far.replace("Barrel 2 leaks at the tap.", "Barrel 2 is mended."));
    assert_eq!(garden.count("reply_received"), 2, "nobody was asked again");
    garden.expect(0, &["undo"]);
    assert_eq!(garden.read("water.md"), far, "the text of others is kept by the undo too");

    let garden = TestProject::with("writer");
    garden.expect(3, &["run", "bring the notes up to date", "--approval", "before-apply"]);
    let near = garden.read("water.md").replace("Ana looks", "Ben looks");
    garden.write("water.md", &near);
    garden.expect(0, &["approve"]);
    let ended = garden.expect(3, &["resume"]);
    assert!(ended.err.contains("water.md changed in the meantime"), "{}", ended.err);
    assert_eq!(garden.read("water.md"), near, "nothing is written that nobody saw");
    let shown = garden.expect(0, &["show"]).out;
    assert!(shown.contains(" Ben looks") && shown.contains("+Barrel 2 is mended."), "{shown}");
    garden.expect(0, &["approve"]);
    garden.expect(0, &["resume"]);
    assert_eq!(garden.read("water.md"), near.replace("Barrel 2 leaks at the tap.", "Barrel 2 is mended."));
    assert_eq!(garden.count("reply_received"), 2, "nobody was asked again");
}

/// The path of an approved change becomes a link to another file of the same content.
/// covers: 3.10, 11.4
#[test]
fn an_approved_change_does_not_follow_a_link_that_was_not_there() {
    let garden = TestProject::with("writer");
    garden.expect(3, &["run", "bring the notes up to date", "--approval", "before-apply"]);
    let water = garden.read("water.md");
    garden.write("other.md", &water);
    std::fs::remove_file(garden.path("water.md")).unwrap();
    std::os::unix::fs::symlink("other.md", garden.path("water.md")).unwrap();
    garden.call(&["approve", "--resume"]);
    assert_eq!(garden.read("other.md"), water, "nobody approved a change of it");
}

/// Two writers of one step replace the same line; both diffs are approved before either is applied.
/// covers: 3.10, 11.4
#[test]
fn what_two_writers_make_of_one_line_is_never_a_mixture_that_nobody_saw() {
    let writes = |task: &str, title: &str| {
        let change = "## Change details\n- **file_path** demo.md\n```md\n# Demo\n```\n";
        let text = format!("## Result summary\nRenamed.\n{change}```md\n{title}\n```\n");
        format!("[[rule]]\nlabel = \"^execute {task}\"\ntext = '''\n{text}'''\n")
    };
    let garden = TestProject::scripted(&format!("{}{}", writes("one", "# Demo one"), writes("three", "# Demo three")));
    garden.write("demo.md", "# Demo\n\nText.\n");
    let task = |name: &str| {
        let lines = ["What is needed** Rename the demo.", "Skill** write_document", "References** [d](demo.md)"];
        let lines: String = lines.iter().map(|line| format!("- **{line}\n")).collect();
        format!("- **Name** {name}\n{lines}- **Expected output** A title.\n\n")
    };
    let tasks = format!("{}{}", task("One"), task("Three"));
    let sheet = format!("## Goals / summary\nG.\n\n**plan complete**\n## Tasks\n### Task section 1\n{tasks}");
    garden.write("work.md", sheet);
    garden.expect(3, &["run", "--sheet", "work.md", "--approval", "before-apply"]);
    garden.expect(0, &["approve"]);
    garden.call(&["resume", "--headless", "stop"]);
    let text = garden.read("demo.md");
    assert!(["# Demo one\n\nText.\n", "# Demo three\n\nText.\n"].contains(&text.as_str()), "{text}");
}

/// What a person approved is done to the files that were shown, or they are asked again.
/// covers: 3.10, 11.4, 11.6
#[test]
fn an_approved_change_never_goes_to_a_neighbour_and_deletes_no_text_that_nobody_saw() {
    let garden = TestProject::with("writer");
    garden.expect(3, &["run", "bring the notes up to date", "--approval", "before-apply"]);
    garden.expect(0, &["approve"]);
    let water = garden.read("water.md");
    std::fs::remove_file(garden.path("water.md")).unwrap();
    garden.write("waters.md", &water);
    garden.write("minutes.md", "Nobody saw this.\n");
    let before = garden.files();
    garden.expect(3, &["resume"]);
    let rejected = facts(&garden, "changes_rejected");
    assert_eq!(rejected.iter().map(|fact| codes(fact)).collect::<Vec<_>>(), [["stale-lines", "file-missing"]]);
    assert_eq!(garden.files(), before, "nothing is written before the person is asked again");
}

/// covers: 3.10, 12.2
#[test]
fn a_set_that_no_longer_fits_goes_back_to_the_model_with_its_issues() {
    let garden = TestProject::with("writer");
    garden.expect(3, &["run", "bring the notes up to date", "--approval", "before-apply"]);
    garden.write("water.md", "Nothing of the old is left.\n");
    let before = garden.files();
    garden.expect(0, &["approve"]);
    garden.expect(5, &["resume"]);
    let rejected = facts(&garden, "changes_rejected");
    assert_eq!(rejected.iter().map(|fact| codes(fact)).collect::<Vec<_>>(), [["stale-lines"]]);
    let again = garden.expect(0, &["show", "--prompt", "3"]).out;
    assert!(again.contains("Nothing of the old is left."), "the model sees the file as it is: {again}");
    assert!(again.contains("Your last reply was refused. Write it whole again"), "{again}");
    assert_eq!(garden.files(), before);
}

/// covers: 3.10
#[test]
fn an_undo_says_what_it_restored_and_what_it_deleted() {
    let mut garden = TestProject::with("writer");
    let ended = garden.expect(0, &["run", "bring the notes up to date", "--headless", "approve"]);
    assert!(ended.err.contains("Revert the changes: callsheet undo"), "{}", ended.err);
    let ended = garden.expect(0, &["undo"]);
    let mut lines: Vec<&str> = ended.err.lines().collect();
    lines.sort_unstable();
    assert_eq!(lines, ["deleted notes/rota.md", "restored minutes.md", "restored water.md"]);
    let run = garden.run_folder().file_name().unwrap().to_str().unwrap().to_owned();
    garden
        .follow_text("[default]\ntext = '''\n## Goals / summary\nNothing more.\n\n**plan complete**\n## Tasks\n'''\n");
    let ended = garden.expect(0, &["continue", &run, "Is it as it was?"]);
    assert!(!ended.err.contains("callsheet undo"), "nothing is left to take back: {}", ended.err);
}

/// A list of slugs answers both gates of exactly these tasks; the others stay pending.
/// covers: 11.8, 11.5
#[test]
fn slugs_given_beforehand_approve_these_tasks_and_no_other() {
    let garden = TestProject::with("two_writers");
    garden.expect(3, &["run", "two notes", "--headless", "write-first-1"]);
    assert_eq!(garden.read("first.md"), "First.\n");
    assert!(!garden.path("second.md").exists());
    let shown = garden.expect(0, &["show"]).out;
    let (_, gate) = shown.split_once("Waiting at").expect("it waits");
    assert!(gate.contains("write-second-1") && !gate.contains("Write First 1 (step"), "{gate}");
    garden.expect(0, &["approve"]);
    garden.expect(3, &["resume"]);
    garden.expect(0, &["approve"]);
    garden.expect(0, &["resume"]);
    assert_eq!(garden.read("second.md"), "Second.\n");
}

/// covers: 11.5
#[test]
fn all_never_answers_for_one_change() {
    let garden = TestProject::with("two_writers");
    garden.expect(3, &["run", "two notes"]);
    garden.expect(0, &["approve", "--all"]);
    garden.expect(3, &["resume"]);
    let ended = garden.expect(2, &["approve", "--all"]);
    assert!(ended.err.contains("--all does not approve changes"), "{}", ended.err);
    assert!(!garden.path("first.md").exists());
}

/// covers: 11.3
#[test]
fn a_gate_before_the_run_shows_what_is_approved() {
    let garden = TestProject::with("writer");
    garden.write(
        ".callsheet/skills/write_document.md",
        "---\nname: write_document\ndescription: Writes documents. Use it for documents.\ntools: [write_file]\n---\nSay what.\n---\nWrite it.\n",
    );
    garden.expect(3, &["run", "bring the notes up to date"]);
    let shown = garden.expect(0, &["show"]).out;
    for part in [
        "Write Water 1 (step 1, write-water-1)",
        "needed: Say in water.md that barrel 2 is mended, add rota.md, delete minutes.md.",
        "skill: write_document (.callsheet/skills/write_document.md, replaces ",
        "reason for approval: ",
        "reads: water.md minutes.md",
        "expected: Three files changed.",
        "model: scripted:",
        "refined: no need",
    ] {
        assert!(shown.contains(part), "{part} is missing: {shown}");
    }
}
