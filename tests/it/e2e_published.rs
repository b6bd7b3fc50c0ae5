//! Published skills: folders with scripts, references and assets, written for other programs (spec 7.1, 7.5, 7.11).
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "tests")]

use std::path::Path;

use crate::e2e_sandbox::holds;
use crate::support::garden::TestProject;

/// It lists no tools, as most published skills.
const FILL: &str = "---\nname: fill-form\ndescription: Fills in the form for a person.\nlicense: MIT\n---\n# Forms\n\n\
    Read `references/fields.md` first. Then run `scripts/fill.sh NAME`.\n";
const SCRIPT: &str = "set -e\nsed \"s/NAME/$1/\" \"$(dirname \"$0\")/../assets/form.txt\" > form.txt\necho filled\n";
const DONE: &str = "text = '''\n## Result summary\nThe form is filled in.\n'''";

/// The files of the skill below a folder.
fn files(folder: &str) -> [(String, &'static str); 4] {
    let file = |name: &str, text| (format!("{folder}/fill-form/{name}"), text);
    [
        file("SKILL.md", FILL),
        file("references/fields.md", "The form has one field: the name of a person.\n"),
        file("scripts/fill.sh", SCRIPT),
        file("assets/form.txt", "Name: NAME\n"),
    ]
}

fn script(replies: &[&str]) -> String {
    let replies: String = replies.iter().map(|reply| format!("[[rule.reply]]\n{reply}\n")).collect();
    format!("[[rule]]\nphase = 'execute'\n{replies}")
}

fn read(path: &str) -> String {
    format!("calls = [{{ name = 'read_file', arguments = {{ path = '{path}' }} }}]")
}

fn command(words: &str) -> String {
    format!("calls = [{{ name = 'run_command', arguments = {{ command = [{words}] }} }}]")
}

/// The skill reads its references at once, waits with its script, and then does the job.
fn does_the_job(garden: &mut TestProject, folder: &str) {
    let fill = command(&format!("'sh', '{folder}/fill-form/scripts/fill.sh', 'Ada'"));
    garden.follow_text(&script(&[&read("references/fields.md"), &fill]));
    let ended = garden.expect(3, &["run", "--skill", "fill-form", "fill the form for Ada"]);
    assert!(ended.err.contains("fill.sh"), "{}", ended.err);
    assert!(!garden.path("form.txt").exists(), "the script waits");
    let first = garden.expect(0, &["show", "--prompt", "1"]).out;
    assert!(first.contains(&format!("the folder `{folder}/fill-form`")), "{first}");
    let second = garden.expect(0, &["show", "--prompt", "2"]).out;
    assert!(second.contains("The form has one field"), "a reference is read without a question: {second}");
    garden.expect(0, &["approve"]);
    garden.follow_text(&script(&[DONE]));
    garden.expect(0, &["resume"]);
    assert_eq!(garden.read("form.txt"), "Name: Ada\n");
}

/// covers: 7.1, 7.5, 11.2
#[test]
fn a_published_skill_of_the_project_fills_a_form_by_its_script() {
    if !holds() {
        return;
    }
    for folder in [".claude/skills", ".agents/skills"] {
        let mut garden = TestProject::bare();
        files(folder).iter().for_each(|(path, text)| garden.plant(path, text));
        let ended = garden.expect(2, &["skill", "show", "fill-form"]);
        assert!(ended.err.contains("run commands") && ended.err.contains("callsheet trust"), "{}", ended.err);
        garden.trust();
        does_the_job(&mut garden, folder);
    }
}

/// Its folder lies outside the project; commands can read it and nothing beside it.
///
/// covers: 7.1, 7.5, 11.10
#[test]
fn a_published_skill_of_the_home_runs_its_script_in_the_project() {
    if !holds() {
        return;
    }
    let mut garden = TestProject::bare();
    let folder = garden.home().join(".claude/skills");
    for (path, text) in files(folder.to_str().unwrap()) {
        std::fs::create_dir_all(Path::new(&path).parent().unwrap()).unwrap();
        std::fs::write(&path, text).unwrap();
    }
    std::fs::write(folder.join("secret.txt"), "none of its business").unwrap();
    does_the_job(&mut garden, folder.to_str().unwrap());
    let (own, state) = (folder.join("fill-form/new"), garden.home().join("state"));
    let spy = format!("cat {0}/secret.txt; echo x > {1}; ls {2}", folder.display(), own.display(), state.display());
    garden.follow_text(&script(&[&command(&format!("'sh', '-c', '{spy}'")), DONE]));
    garden.expect(0, &["run", "--skill", "fill-form", "look around", "--approval", "never"]);
    assert!(!own.exists(), "it is read-only");
    let told = garden.expect(0, &["show", "--prompt", "2"]).out;
    assert!(!told.contains("none of its business") && !told.contains("projects"), "{told}");
    assert!(told.contains("Read-only file system"), "{told}");
}

/// In each mode of approval, a change of a skill that lists no tools waits.
///
/// covers: 7.1, 11.2
#[test]
fn a_change_of_a_skill_without_a_list_waits_in_every_mode_that_asks() {
    for mode in ["both", "before-run", "before-apply"] {
        let mut garden = TestProject::bare();
        files(".claude/skills").iter().for_each(|(path, text)| garden.plant(path, text));
        garden.trust();
        let write = "calls = [{ name = 'write_file', arguments = { path = 'form.txt', content = 'x' } }]";
        garden.follow_text(&script(&[&read("references/fields.md"), write, DONE]));
        garden.expect(3, &["run", "--skill", "fill-form", "fill the form", "--approval", mode]);
        assert!(!garden.path("form.txt").exists(), "{mode}");
        let second = garden.expect(0, &["show", "--prompt", "2"]).out;
        assert!(second.contains("The form has one field"), "{mode}: {second}");
    }
}

/// covers: 7.11
#[test]
fn a_pattern_of_commands_counts_once_the_task_is_approved() {
    if !holds() {
        return;
    }
    let text = "---\nname: touch-it\ndescription: Touches files.\nallowed-tools: Read, Bash(touch a:*), Bash(touch c)\n---\nTouch.\n";
    let (granted, whole) = (command("'touch', 'a', 'b'"), command("'touch', 'c'"));
    let other = command("'touch', 'c', 'd'");
    let garden = || {
        let mut garden = TestProject::bare();
        garden.plant(".claude/skills/touch-it/SKILL.md", text);
        garden.trust();
        garden.follow_text(&script(&[&granted, &whole, &other, DONE]));
        garden
    };
    let approved = garden();
    let ended = approved.expect(3, &["run", "--skill", "touch-it", "touch them"]);
    assert!(ended.err.contains("`touch a …`, `touch c` without asking"), "the gate says it: {}", ended.err);
    assert!(!approved.path("a").exists());
    approved.expect(0, &["approve"]);
    let ended = approved.expect(3, &["resume"]);
    for allowed in ["so you are not asked: touch a b", "so you are not asked: touch c"] {
        assert!(ended.err.contains(allowed), "{}", ended.err);
    }
    assert!(approved.path("b").exists() && approved.path("c").exists());
    assert!(!approved.path("d").exists(), "another command waits");
    let unapproved = garden();
    unapproved.expect(3, &["run", "--skill", "touch-it", "touch them", "--approval", "before-apply"]);
    assert!(!unapproved.path("a").exists(), "nobody approved the task");
}

/// The script that a skill runs without asking is trusted as it is, like the skill.
///
/// covers: 12.7
#[test]
fn a_changed_script_of_a_skill_needs_trust_again() {
    let garden = TestProject::bare();
    let script = ".claude/skills/tidy-up/scripts/tidy.sh";
    let text = format!("---\nname: tidy-up\ndescription: Tidies.\nallowed-tools: Bash(sh {script}:*)\n---\nTidy.\n");
    garden.plant(".claude/skills/tidy-up/SKILL.md", text);
    garden.plant(script, "echo tidy\n");
    garden.trust();
    let listed = |garden: &TestProject| garden.expect(0, &["skill", "list"]);
    assert!(!listed(&garden).err.contains("skipped until you trust"), "{}", listed(&garden).err);
    garden.plant(script, "echo something else\n");
    let told = listed(&garden).err;
    assert!(told.contains(&format!("skipped until you trust them: {script}")), "{told}");
    let waiting = garden.expect(2, &["trust"]).out;
    assert!(waiting.contains("be run by the skill tidy-up without asking"), "{waiting}");
}

/// covers: 7.5, 7.6
#[test]
fn a_skill_that_no_model_may_choose_is_in_no_catalog_and_runs_by_its_name() {
    let mut garden = TestProject::bare();
    let text = |name: &str, more: &str| {
        format!("---\nname: {name}\ndescription: About {name}.\nallowed-tools: Read\n{more}---\nAnswer.\n")
    };
    garden.plant(".claude/skills/launch-it/SKILL.md", text("launch-it", "disable-model-invocation: true\n"));
    garden.plant(".agents/skills/tell-it/SKILL.md", text("tell-it", ""));
    garden.follow_text(
        "[[rule]]\nphase = 'plan'\ntext = '''\n## Goals / summary\nGo.\n## Tasks\n### Task section 1\n- **Name** Go\n\
         - **What is needed** Go.\n- **Skill** launch-it\n- **References** [Water](water.md)\n- **Expected output** A word.\n'''\n",
    );
    let ended = garden.expect(4, &["plan", "go on with it", "-o", "-"]);
    assert!(ended.err.contains("launch-it"), "a model that names it is refused: {}", ended.err);
    let prompt = garden.expect(0, &["show", "--prompt", "1"]).out;
    assert!(prompt.contains("tell-it") && !prompt.contains("About launch-it"), "{prompt}");
    garden.expect(0, &["plan", "use launch-it for this", "-o", "-"]);
    garden.follow_text(&script(&[DONE]));
    garden.expect(0, &["run", "--skill", "launch-it", "go"]);
}

/// covers: 7.5
#[test]
fn folders_of_other_programs_are_listed_with_what_they_replace() {
    let garden = TestProject::bare();
    let text = |words: &str| format!("---\nname: same\ndescription: {words}\nallowed-tools: Read\n---\nDo.\n");
    garden.plant(".agents/skills/same/SKILL.md", text("For agents."));
    garden.plant(".claude/skills/same/SKILL.md", text("For Claude."));
    garden.plant(".claude/skills/notes.md", "No skill: other programs read only folders here.");
    let listed = garden.expect(0, &["skill", "list"]).out;
    assert!(listed.contains("For agents.") && !listed.contains("notes.md"), "{listed}");
    assert!(listed.contains("replaces .claude/skills/same/SKILL.md"), "{listed}");
    let doctor = garden.call(&["doctor"]).out;
    assert!(
        doctor.contains("skills in .agents/skills: 1") && doctor.contains("skills in .claude/skills: 1"),
        "{doctor}"
    );
}

/// A collection of skills with small faults does not bury a run: it prints the first remarks and their number.
///
/// covers: 7.6
#[test]
fn remarks_about_many_skills_are_counted() {
    let mut garden = TestProject::bare();
    for n in 0..9 {
        let text = format!("---\nname: s{n}\ndescription: Says {n}.\nallowed-tools: []\nmodel: opus\n---\nSay.\n");
        garden.plant(&format!(".claude/skills/s{n}/SKILL.md"), text);
    }
    garden.follow_text(&script(&[DONE]));
    let told = garden.expect(0, &["run", "--skill", "s1", "say it"]).err;
    assert_eq!(told.matches("ignored the model \"opus\"").count(), 5, "{told}");
    assert!(told.contains("note: 4 more about skill files; `callsheet skill list` prints all of them"), "{told}");
    assert_eq!(garden.expect(0, &["skill", "list"]).out.matches("ignored the model").count(), 9);
}
