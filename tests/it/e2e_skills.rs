//! `skill new`, `skill show`, `skill check`, and the check of a sheet.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "tests")]

use crate::support::garden::{TestProject, json_lines};

/// covers: 7.1, 7.2, 7.5
#[test]
fn a_new_skill_is_sound_in_either_form_and_runs() {
    let garden = TestProject::with("answer");
    let ended = garden.expect(0, &["skill", "new", "compare_texts"]);
    assert!(ended.out.trim_end().ends_with(".callsheet/skills/compare_texts.md"), "{}", ended.out);
    let ended = garden.expect(0, &["skill", "new", "compare-folders", "--folder"]);
    assert!(ended.out.trim_end().ends_with("compare-folders/SKILL.md"), "{}", ended.out);
    garden.expect(0, &["skill", "new", "for-all", "--user"]);
    assert!(garden.home().join("skills/for-all.md").exists());
    let ended = garden.expect(0, &["skill", "check"]);
    assert_eq!((ended.out.as_str(), ended.err.as_str()), ("", "no issues\n"));
    let listed = json_lines(&garden.expect(0, &["skill", "list", "--json"]).out);
    for name in ["compare_texts", "compare-folders", "for-all"] {
        assert!(listed.iter().any(|skill| skill["name"] == name), "{name}");
    }
    garden.expect(0, &["run", "--skill", "compare_texts", "compare the plan and the minutes"]);
}

/// covers: 7.5
#[test]
fn a_new_skill_writes_over_nothing() {
    let garden = TestProject::bare();
    garden.write(".callsheet/skills/mine.md", "my own words");
    for arguments in [&["skill", "new", "mine"][..], &["skill", "new", "mine", "--folder"]] {
        let ended = garden.expect(2, arguments);
        assert!(ended.err.contains("mine.md exists"), "{}", ended.err);
    }
    assert_eq!(garden.read(".callsheet/skills/mine.md"), "my own words");
    assert!(!garden.path(".callsheet/skills/mine").exists());
    let ended = garden.expect(0, &["skill", "new", "edit_code"]);
    assert!(ended.err.contains("replaces") && ended.err.contains("bundled: edit_code.md"), "{}", ended.err);
    let ended = garden.expect(0, &["skill", "new", "edit_code", "--user"]);
    assert!(ended.err.contains("is replaced by"), "{}", ended.err);
}

/// covers: 7.1, 7.2
#[test]
fn a_name_that_is_no_name_writes_nothing() {
    let garden = TestProject::bare();
    let names = ["../up", "a  b", " a", "", "readme", "a/b", "x: y\nz", "größe"];
    for name in names {
        for folder in [false, true] {
            let mut arguments = vec!["skill", "new", name];
            arguments.extend(folder.then_some("--folder"));
            garden.expect(2, &arguments);
        }
    }
    assert!(!garden.path(".callsheet/skills").exists() && !garden.path(".callsheet/up.md").exists());
}

/// covers: 7.5, 7.7
#[test]
fn a_skill_is_shown_with_where_it_comes_from() {
    let garden = TestProject::bare();
    let ended = garden.expect(0, &["skill", "show", "edit_code"]);
    assert_eq!(ended.out, std::fs::read_to_string(crate::support::root().join("skills/edit_code.md")).unwrap());
    assert!(ended.err.contains("from bundled: edit_code.md"), "{}", ended.err);
    assert!(ended.err.contains("need approval: its tool write_file changes files"), "{}", ended.err);
    garden.write(".callsheet/skills/edit_code.md", "description: mine\n---\nDo \u{1b}[2Jit.\n");
    let ended = garden.expect(0, &["skill", "show", "edit_code"]);
    assert!(ended.err.contains("replaces bundled: edit_code.md") && !ended.out.contains('\u{1b}'), "{}", ended.err);
    let shown = json_lines(&garden.expect(0, &["skill", "show", "edit_code", "--json"]).out).remove(0);
    assert_eq!(shown["text"], "description: mine\n---\nDo \u{1b}[2Jit.\n");
    assert_eq!(shown["replaces"][0]["path"], "bundled: edit_code.md");
    let ended = garden.expect(2, &["skill", "show", "edit_cod"]);
    assert!(ended.err.contains("Did you mean edit_code"), "{}", ended.err);
}

/// covers: 7.3, 11.9
#[test]
fn a_check_names_file_line_and_column() {
    let garden = TestProject::bare();
    garden.write("some/good.md", "description: x\n---\ndo\n");
    garden.write("some/bad.md", "description: x\nmode: sometimes\ncolour: red\n---\ndo\n");
    garden.expect(0, &["skill", "check", "some/good.md"]);
    let ended = garden.expect(2, &["skill", "check", "some"]);
    assert!(ended.out.contains("some/bad.md:2:7: error:"), "{}", ended.out);
    assert!(ended.out.contains("some/bad.md:3:1: warning: ignored the unknown key \"colour\""), "{}", ended.out);
    let issues = json_lines(&garden.expect(2, &["skill", "check", "some", "--json"]).out);
    assert_eq!((&issues[0]["line"], &issues[0]["column"]), (&2.into(), &7.into()));
    assert!(issues.iter().all(|issue| issue["advice"].as_str().is_some_and(|advice| !advice.is_empty())));
}

/// covers: 7.5, 11.9
#[test]
fn a_check_of_several_paths_passes_over_none() {
    let garden = TestProject::bare();
    garden.write("one/bad.md", "no description\n---\ndo\n");
    garden.write("none/readme.txt", "nothing");
    garden.write("two/same.md", "description: x\n---\ndo\n");
    garden.write("two/same/SKILL.md", "---\nname: same\ndescription: x\n---\ndo\n");
    let ended = garden.expect(2, &["skill", "check", "one/bad.md", "none", "two"]);
    for words in ["one/bad.md:", "none:1:1: error: contains no skill", "the skill \"same\" is also in"] {
        assert!(ended.out.contains(words), "{words}: {}", ended.out);
    }
}

/// covers: 2.2, 4.8, 11.9
#[test]
fn a_sheet_check_names_columns_and_writes_nothing() {
    let garden = TestProject::bare();
    let sheet = "## Goals / summary\nWater.\n## Tasks\n### Task section 1\n- **Name** Read 1\n- **What is needed** Who waters.\n- **Skill** read_filez_of\n- **References** [Water](water.md) [No](nowhere.md)\n- **Expected output** A name.\n";
    garden.write("work.md", sheet);
    let ended = garden.expect(2, &["sheet", "check", "work.md"]);
    assert!(ended.out.contains("work.md:7:13: error skill-unknown"), "{}", ended.out);
    assert!(ended.out.contains("work.md:8:"), "{}", ended.out);
    let issues = json_lines(&garden.expect(2, &["sheet", "check", "work.md", "--json"]).out);
    let missing = issues.iter().find(|issue| issue["code"] == "file-missing").unwrap();
    assert_eq!((&missing["file"], &missing["line"]), (&"work.md".into(), &8.into()));
    assert_eq!(missing["column"], 36, "the column of the second link");
    assert!(!garden.path(".callsheet").exists(), "a check leaves nothing behind");
}

/// A skill with an error is left out, so a sheet that names it has an unknown skill; the check says why.
///
/// covers: 7.3, 7.7
#[test]
fn a_sheet_check_tells_of_a_broken_skill() {
    let garden = TestProject::bare();
    garden.write(".callsheet/skills/prune_roses.md", "description: x\nmode: sometimes\n---\ndo\n");
    garden.write(
        "work.md",
        "## Goals / summary\nPrune.\n## Tasks\n- **What is needed** Prune.\n- **Skill** prune_roses\n",
    );
    let ended = garden.expect(2, &["sheet", "check", "work.md"]);
    assert!(ended.err.contains("prune_roses.md:2:7"), "{}", ended.err);
}

/// covers: 2.2
#[test]
fn a_skill_reads_the_files_that_its_request_names() {
    let garden = TestProject::with("answer");
    garden.write("notes/bees.md", "The bees sleep in the old hive.\n");
    let ended = garden.expect(0, &["run", "--skill", "read_files", "Where do the bees of notes/bees.md sleep?"]);
    assert!(ended.err.contains("attached notes/bees.md"), "{}", ended.err);
    assert!(garden.expect(0, &["show", "--prompt", "1"]).out.contains("The bees sleep in the old hive."));
    assert!(garden.run_file("sheet.md").contains("[bees.md](notes/bees.md)"));
}

/// covers: 2.18 errors, 11.8
#[test]
fn near_names_on_a_command_line_are_errors_that_name_the_near_one() {
    let garden = TestProject::with("answer");
    let ended = garden.expect(2, &["run", "--set", "skills=read_files,find_coed", "who waters?"]);
    assert!(ended.err.contains("there is no skill \"find_coed\". Did you mean find_code?"), "{}", ended.err);
    garden.write(
        "work.md",
        "## Goals / summary\nG.\n## Tasks\n### Task section 1\n- **Name** Bob\n- **What is needed** Read.\n- **Skill** read_files\n\
         - **References** [a](water.md)\n- **Expected output** Text.\n",
    );
    let ended = garden.expect(2, &["run", "--sheet", "work.md", "--headless", "bom"]);
    assert!(ended.err.contains("there is no task bom to approve. Did you mean bob?"), "{}", ended.err);
    assert!(garden.call(&["runs"]).out.is_empty(), "nothing was begun");
    garden.write("work.md", garden.read("work.md").replace("water.md", "Water.md"));
    let ended = garden.expect(2, &["run", "--sheet", "work.md"]);
    assert!(ended.err.contains("file-missing") && ended.err.contains("Allowed: water.md"), "{}", ended.err);
}
