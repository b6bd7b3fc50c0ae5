//! Tasks that are done and done again: what is asked anew, what is used again, and what happens to changes in files.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "tests")]

use crate::support::garden::TestProject;

fn run_of(garden: &TestProject) -> String {
    garden.run_folder().file_name().unwrap().to_str().unwrap().to_owned()
}

/// Calls that were sent, and those that have the reply of an earlier one.
fn calls(garden: &TestProject) -> (usize, usize) {
    let received: Vec<_> = garden.facts().into_iter().filter(|fact| fact["event"] == "reply_received").collect();
    let reused = received.iter().filter(|fact| !fact["reused"].is_null()).count();
    (received.len() - reused, reused)
}

/// Tasks whose changes stand in files are not done again by chance: `retry` names the ways, and each works.
///
/// covers: 2.18 retry, 3.10 undo
#[test]
fn what_changed_files_is_done_again_only_if_told_how() {
    let garden = TestProject::with("steered");
    garden.expect(0, &["run", "bring the notes up to date", "--headless", "approve"]);
    let run = run_of(&garden);
    let refused = garden.expect(2, &["retry", &run, "read-water-1"]);
    let undo = format!("callsheet undo {run} write-rota-1 write-thanks-1");
    assert!(refused.err.contains(&undo) && refused.err.contains("--keep-changes"), "{}", refused.err);
    let unknown = garden.expect(2, &["undo", &run, "write-tea-1"]);
    assert!(unknown.err.contains("no task write-tea-1"), "{}", unknown.err);

    let undone = garden.expect(0, &["undo", &run, "write-rota-1"]);
    assert!(undone.err.contains("deleted rota.md"), "{}", undone.err);
    assert!(!garden.path("rota.md").exists() && garden.path("thanks.md").exists(), "only what is named is taken back");
    let refused = garden.expect(2, &["retry", &run, "read-water-1"]);
    assert!(refused.err.contains("undo") && !refused.err.contains("write-rota-1"), "{}", refused.err);

    garden.expect(0, &["undo", &run, "write-thanks-1"]);
    let (sent, _) = calls(&garden);
    let again = garden.expect(0, &["retry", &run, "read-water-1", "--headless", "approve"]);
    assert!(garden.path("rota.md").exists() && garden.path("thanks.md").exists(), "{}", again.err);
    assert_eq!(calls(&garden), (sent + 1, 2), "the writers ask what they had asked: {}", again.err);

    let kept = garden.expect(5, &["retry", &run, "write-thanks-1", "--keep-changes", "--headless", "approve"]);
    assert!(kept.err.contains("thanks.md exists already"), "its file stands there: {}", kept.err);
}

const NAMES: &str = "template: names\nabout: Names\ntasks:\n  - id: list\n    ask: Say a list\n    gives: \"string[]\"\n  \
    - id: every\n    each: thing in list\n    ask: \"Look at {{thing}}\"\n  - id: say\n    ask: \"Sum up: {{every}}\"\n";
const REPLIES: &str = "[[rule]]\nprompt = \"Say a list\"\ntext = '[\"a\", \"b\", \"c\"]'\n\
    [[rule]]\nprompt = \"Look at b\"\ntext = \"B-LOOK\"\n[[rule]]\nprompt = \"Look at\"\ntext = \"fine\"\n[default]\ntext = \"Summed up.\"\n";

/// One item of a fan-out is asked anew, with what reads the whole; a step whose new result is the old one costs one call.
///
/// covers: T 15, 2.18 retry
#[test]
fn an_item_of_a_template_is_done_again_and_equal_calls_are_used_again() {
    let mut garden = TestProject::scripted(&REPLIES.replace("B-LOOK", "wrong"));
    garden.write(".callsheet/templates/names.yaml", NAMES);
    garden.expect(0, &["template", "run", "names"]);
    assert_eq!(calls(&garden), (5, 0));
    garden.follow_text(&REPLIES.replace("B-LOOK", "right"));
    let run = run_of(&garden);
    garden.expect(0, &["retry", &run, "names-every-2"]);
    assert_eq!(calls(&garden), (7, 0), "the item and the summary, whose prompt is another");
    let ended = garden.expect(0, &["retry", &run, "names-list"]);
    assert_eq!(calls(&garden), (8, 4), "the list alone: {}", ended.err);
    assert!(ended.err.contains("repeats the request of call 6"), "the newer of two equal calls: {}", ended.err);
    let shown = garden.expect(0, &["show"]).out;
    assert!(shown.contains("- tasks: 5 done\n") && shown.contains("reply of call 6"), "{shown}");
    assert_eq!(garden.expect(0, &["resume", &run]).out, "Summed up.\n");
}

/// A prompt of a late step is edited: a new run that may use the replies of the old one pays for what changed alone.
///
/// covers: T 15, 2.18 retry
#[test]
fn a_new_run_uses_the_replies_of_another_where_it_asks_the_same() {
    let garden = TestProject::scripted(&REPLIES.replace("B-LOOK", "right"));
    garden.write(".callsheet/templates/names.yaml", NAMES);
    garden.expect(0, &["template", "run", "names"]);
    let first = run_of(&garden);
    garden.write(".callsheet/templates/names.yaml", NAMES.replace("Sum up:", "Sum up in one line:"));
    let unknown = garden.expect(2, &["template", "run", "names", "--reuse", "20200101-none"]);
    assert!(unknown.err.contains("20200101-none"), "{}", unknown.err);
    let ended = garden.expect(0, &["template", "run", "names", "--reuse", &first]);
    assert!(ended.err.contains(&format!("repeats the request of call 1 of {first}")), "{}", ended.err);
    assert!(ended.err.contains("model calls: 1, none wasted, 4 more answered by earlier replies"), "{}", ended.err);
}

/// A loop that used its iterations up continues with those that a person adds; a script has the time that one gives it.
///
/// covers: T 9, T 15
#[test]
fn a_raised_limit_continues_what_it_had_ended() {
    let judged = |good: bool| {
        format!(
            "[[rule]]\nprompt = \"Judge it\"\ntext = '{{\"success\": {good}, \"feedback\": \"more\"}}'\n[default]\ntext = \"It.\"\n"
        )
    };
    let mut garden = TestProject::scripted(&judged(false));
    let looped = "<task type=\"director_evaluator_loop\" name=\"polish\"><description>Write it</description>\
        <max_iterations>1</max_iterations><director><description>Write it</description></director>\
        <evaluator><description>Judge it</description></evaluator></task>";
    garden.write(".callsheet/templates/polish.xml", looped);
    garden.expect(5, &["template", "run", "polish"]);
    assert_eq!(calls(&garden), (2, 0));
    let run = run_of(&garden);
    let low = garden.expect(2, &["resume", &run, "--limit", "polish.max_iterations=1"]);
    assert!(low.err.contains("max_iterations is 1 now"), "{}", low.err);
    let unknown = garden.expect(2, &["resume", &run, "--limit", "polish.max_miles=9"]);
    assert!(unknown.err.contains("has no limit polish.max_miles"), "{}", unknown.err);
    let high = garden.expect(2, &["resume", &run, "--limit", "polish.timeout_seconds=9000000"]);
    assert!(high.err.contains("cannot be"), "{}", high.err);
    garden.expect(2, &["resume", &run, "--limit", "max_iterations=9"]);
    garden.follow_text(&judged(true));
    let ended = garden.expect(0, &["resume", &run, "--limit", "polish.max_iterations=3"]);
    assert_eq!(calls(&garden), (4, 0), "the second iteration alone: {}", ended.err);
    assert!(ended.err.contains("limit polish.max_iterations: raised to 3"), "{}", ended.err);
}

/// A handler that used its turns up, or whose reply was cut off, keeps its conversation when a person raises the limit:
/// no tool runs again, and only the next call is made.
///
/// covers: 2.18 raised limits, T 9
#[test]
fn a_raised_limit_keeps_a_conversation() {
    for (name, low) in [("max_turns", 1), ("max_output_bytes", 9)] {
        let says = "text = \"seven barrels\"\n";
        let mut garden = TestProject::scripted(&format!(
            "[[rule]]\nphase = \"execute\"\n[[rule.reply]]\n\
             calls = [{{ name = \"read_file\", arguments = {{ path = \"water.md\" }} }}]\n[[rule.reply]]\n{says}"
        ));
        garden.write("water.md", "Ana waters.\n");
        let template = format!(
            "<task name=\"looks\"><description>Look</description><limits {name}=\"{low}\"/>\
             <allowed_tools><tool>read_file</tool></allowed_tools><recovery reparse=\"false\"/></task>"
        );
        garden.write(".callsheet/templates/looks.xml", template);
        garden.expect(6, &["template", "run", "looks"]);
        let (run, sent) = (run_of(&garden), calls(&garden).0);
        garden.follow_text(&format!("[[rule]]\nphase = \"execute\"\n{says}"));
        let ended = garden.expect(0, &["resume", &run, "--limit", &format!("looks.{name}=500")]);
        assert_eq!(ended.out.trim(), "seven barrels", "{}", ended.err);
        assert!(ended.err.contains("looks: continues with what it has"), "{}", ended.err);
        assert_eq!(calls(&garden), (sent + 1, 0), "{name}");
        assert_eq!(garden.count("tool_finished"), 1, "{name}");
    }
}

/// covers: T 8, T 9
#[test]
fn a_script_has_the_time_that_a_person_gives_it() {
    let garden = TestProject::scripted("[default]\ntext = \"It.\"\n");
    for time in ["<timeout>1</timeout>", "<limits timeout_seconds=\"1\"/>"] {
        let slow = format!(
            "<task type=\"script\" name=\"slow\" effects=\"read\"><description>Wait</description>\
             <command>sleep 2</command>{time}</task>"
        );
        garden.write(".callsheet/templates/slow.xml", slow);
        garden.trust();
        let ended = garden.expect(6, &["template", "run", "slow", "--approval", "never"]);
        assert!(ended.err.contains("slow.timeout_seconds is 1; raise it"), "{time}: {}", ended.err);
        let run = run_of(&garden);
        let ended = garden.expect(0, &["resume", &run, "--limit", "slow.timeout_seconds=60", "--approval", "never"]);
        assert!(ended.err.contains("slow begins again"), "{}", ended.err);
    }
}

/// If the limit of a task above ended a call, the run names that limit with a command that works.
///
/// covers: T 8, T 9
#[test]
fn the_limit_of_the_task_above_is_named_with_a_command() {
    let garden = TestProject::scripted("[default]\ntext = \"It.\"\n");
    let step = |id: &str| format!("<task id=\"{id}\"><description>{id}</description></task>");
    let steps = format!("<steps>{}{}</steps>", step("one"), step("two"));
    let both = format!(
        "<task type=\"sequential\" name=\"both\"><description>Both</description><limits max_calls=\"1\"/>{steps}</task>"
    );
    garden.write(".callsheet/templates/both.xml", both);
    let ended = garden.expect(6, &["template", "run", "both"]);
    let command = format!("resume {} --limit both.max_calls=2", run_of(&garden));
    assert!(ended.err.contains(&command), "{}", ended.err);
    garden.expect(0, &["resume", &run_of(&garden), "--limit", "both.max_calls=2"]);
    assert_eq!(calls(&garden), (2, 0));
}

/// A loop whose last try counts although no try was a success says so wherever its result is shown.
///
/// covers: T 8
#[test]
fn a_result_that_was_accepted_without_success_is_told() {
    let replies = "[[rule]]\nprompt = \"Judge it\"\ntext = '{\"success\": false, \"feedback\": \"more\"}'\n[default]\ntext = \"It.\"\n";
    let garden = TestProject::scripted(replies);
    let looped = |accepts: &str| {
        format!(
            "template: polish\nabout: Polish\n{accepts}make: {{ask: \"Write it. {{{{evaluation_feedback}}}}\"}}\n\
             judge: {{ask: \"Judge it: {{{{director_result}}}}\", gives: {{success: boolean, feedback: string}}}}\n"
        )
    };
    garden.write(".callsheet/templates/polish.yaml", looped(""));
    let ended = garden.expect(5, &["template", "run", "polish"]);
    assert!(ended.err.contains("three iterations had the same result"), "{}", ended.err);
    assert!(ended.err.contains("change the instructions") && !ended.err.contains("--limit"), "{}", ended.err);
    garden.write(".callsheet/templates/polish.yaml", looped("on_exhausted: accept\n"));
    let warning = "three iterations had the same result, and none was a success";
    let ended = garden.expect(0, &["template", "run", "polish"]);
    assert!(ended.out.contains("It.") && ended.err.contains(warning), "{}", ended.err);
    let shown = garden.expect(0, &["show"]).out;
    assert!(shown.contains(warning), "{shown}");
    for file in ["out.html", "out.md"] {
        garden.expect(0, &["report", "-o", file]);
        assert!(garden.read(file).contains(warning), "{file}");
    }
}

/// A task of a sheet that its own limit ended names the limit and the command, and continues once the limit is raised.
///
/// covers: 12.6
#[test]
fn the_error_of_a_task_of_a_sheet_names_its_limit() {
    let mut garden = TestProject::scripted("[default]\ntext = \"## Result summary\"\n");
    let skill = "---\nname: tea\ndescription: Makes tea.\nlimits:\n  max_calls: 1\nrefine: never\n---\nMake it.\n---\nMake it.\n";
    garden.write(".callsheet/skills/tea.md", skill);
    garden.write(
        "work.md",
        "## Goals / summary\nTea.\n\n## Tasks\n- **Name** Tea\n- **What is needed** Tea.\n- **Skill** tea\n- **Expected output** Tea.\n",
    );
    let ended = garden.expect(5, &["run", "--sheet", "work.md", "--set", "iterate=never"]);
    let run = run_of(&garden);
    let told = format!("tea.max_calls is 1; raise it: callsheet resume {run} --limit tea.max_calls=2");
    assert!(ended.err.contains(&told), "{}", ended.err);
    let before = garden.expect(2, &["fork", &run, "--at", "1"]);
    assert!(before.err.contains(&format!("run {run} had no tasks yet at that point")), "{}", before.err);
    garden.follow_text("[default]\ntext = \"## Result summary\\nGreen tea.\"\n");
    let raised = garden.expect(0, &["resume", &run, "--limit", "tea.max_calls=3"]);
    assert_eq!(raised.out, "Green tea.\n", "{}", raised.err);
}

/// A fork shares what was done before a task began; both runs go on alone, and files stay as they are.
///
/// covers: 2.18 fork
#[test]
fn a_fork_shares_what_was_done_before_a_task_and_goes_its_own_way() {
    let mut garden = TestProject::scripted(&REPLIES.replace("B-LOOK", "wrong"));
    garden.write(".callsheet/templates/names.yaml", NAMES);
    garden.expect(0, &["template", "run", "names"]);
    let run = run_of(&garden);
    for (at, told) in
        [("names-none", "has no task names-none"), ("0", "at least the first event"), ("9999", "events 1 to")]
    {
        let refused = garden.expect(2, &["fork", &run, "--at", at]);
        assert!(refused.err.contains(told), "{}", refused.err);
    }
    garden.follow_text(&REPLIES.replace("B-LOOK", "right").replace("Summed up.", "Another sum."));
    let forked = garden.expect(0, &["fork", &run, "--at", "names-every-2"]);
    let fork = format!("{run}-fork");
    assert!(forked.err.contains(&format!("callsheet resume {fork}")), "{}", forked.err);
    let resumed = garden.expect(0, &["resume", &fork]);
    assert_eq!(resumed.out, "Another sum.\n", "{}", resumed.err);
    let shown = garden.expect(0, &["show", &fork]).out;
    assert!(
        shown.contains("- tasks: 5 done\n") && shown.contains("1 execute names-list attempt 1: accepted"),
        "{shown}"
    );
    assert_eq!(garden.expect(0, &["resume", &run]).out, "Summed up.\n", "the first run is as it was");
    garden.expect(0, &["fork", &run]);
    assert_eq!(garden.expect(0, &["resume", &format!("{fork}-2")]).out, "Summed up.\n");
}

/// A fork of a run that changed files names the files, and undoing one run does not undo the other's record.
///
/// covers: 2.18 fork
#[test]
fn a_fork_names_the_files_that_the_other_run_changed_after_it() {
    let garden = TestProject::with("steered");
    garden.expect(0, &["run", "bring the notes up to date", "--headless", "approve"]);
    let run = run_of(&garden);
    let forked = garden.expect(0, &["fork", &run, "--at", "write-rota-1"]);
    assert!(
        forked.err.contains("changed 2 files after this point") && forked.err.contains("rota.md"),
        "{}",
        forked.err
    );
    garden.expect(0, &["undo", &run]);
    assert!(!garden.path("rota.md").exists());
    let fork = format!("{run}-fork");
    let resumed = garden.expect(0, &["resume", &fork, "--headless", "approve"]);
    assert!(garden.path("rota.md").exists() && garden.path("thanks.md").exists(), "{}", resumed.err);
    let forked = garden.expect(0, &["fork", &run]);
    assert!(!forked.err.contains("changed"), "nothing stands: {}", forked.err);
}

const SPLIT: &str = "[[rule]]\nprompt = \"Say a list\"\ntext = '[\"a\", \"b\", \"c\"]'\n\
    [[rule]]\nprompt = \"Look at b\"\nfault = { kind = \"overflow\", message = \"too long\" }\n\
    [[rule]]\nprompt = \"Look at\"\ntext = \"fine\"\n[default]\ntext = \"Summed up.\"\n";

/// A failed item of a map is removed, and the run goes on without it. What was done costs nothing again.
///
/// covers: T 15, 2.18 drop
#[test]
fn a_run_goes_on_without_a_failed_item() {
    let mut garden = TestProject::scripted(SPLIT);
    garden.write(".callsheet/templates/names.yaml", NAMES);
    garden.expect(6, &["template", "run", "names"]);
    let run = run_of(&garden);
    let refused = garden.expect(2, &["drop", &run, "names-list"]);
    assert!(refused.err.contains("only failed items of a list"), "{}", refused.err);
    let refused = garden.expect(2, &["drop", &run, "names-every-2-split"]);
    assert!(refused.err.contains(&format!("callsheet drop {run} names-every-2")), "{}", refused.err);
    garden.expect(2, &["drop", &run, "names-every-1"]);
    garden.expect(0, &["drop", &run, "names-every-2"]);
    let ended = garden.expect(0, &["resume", &run]);
    assert_eq!(ended.out, "Summed up.\n", "{}", ended.err);
    let prompt = garden.expect(0, &["show", &run, "--task", "names-say"]).out;
    assert!(prompt.contains(r#"["fine", null, "fine"]"#) || prompt.contains(r#"["fine",null,"fine"]"#), "{prompt}");
    let shown = garden.expect(0, &["show", &run]).out;
    assert!(shown.contains("names-every-2] dropped") && !shown.contains("Problem"), "{shown}");
    // It can be brought back.
    garden.follow_text(&REPLIES.replace("B-LOOK", "right"));
    let back = garden.expect(0, &["retry", &run, "names-every-2"]);
    assert!(!garden.expect(0, &["show", &run]).out.contains("names-every-2] failed"), "{}", back.err);
}

/// A failed item of a list of a sheet is removed, and the task is done without it.
///
/// covers: 3.16, 2.18 drop
#[test]
fn a_task_is_done_without_a_failed_item() {
    let garden = TestProject::scripted(
        "[[rule]]\nprompt = \"words in notes/b.md\"\nfault = { kind = \"overflow\", message = \"too long\" }\n\
         [default]\ntext = \"## Result summary\\nRead.\\n\\n## Result\\nAll fine.\"\n",
    );
    for name in ["a", "b", "c"] {
        garden.write(&format!("notes/{name}.md"), "Words.\n");
    }
    garden.write(
        "work.md",
        "## Goals / summary\nRead.\n\n**plan complete**\n## Tasks\n### Task section 1\n- **Name** Read\n- **What is needed** Say the words in {file}.\n- **Skill** answer_from_documents\n- **For each** file in [Notes](notes/)\n- **Expected output** Words.\n",
    );
    let ended = garden.expect(5, &["run", "--sheet", "work.md", "--set", "iterate=never"]);
    let run = run_of(&garden);
    garden.expect(0, &["drop", &run, "read/notes-b-md"]);
    let resumed = garden.expect(0, &["resume", &run]);
    let told = "items that a person removed:\n\n- notes/b.md";
    assert!(resumed.out.contains(told) && resumed.out.contains("**notes/c.md**"), "{} {}", ended.err, resumed.out);
}

/// A follow-up of a template's run is a run of its own that reads the result.
///
/// covers: 2.18
#[test]
fn a_follow_up_of_a_template_reads_its_result() {
    let script = "[[rule]]\nprompt = \"Summed up.\"\ntext = \"## Direct answer\\nSumme.\"\n".to_owned() + REPLIES;
    let garden = TestProject::scripted(&script);
    garden.write(".callsheet/templates/names.yaml", NAMES);
    garden.expect(0, &["template", "run", "names"]);
    let run = run_of(&garden);
    let followed = garden.expect(0, &["continue", &run, "Translate", "it", "to", "German", "--set", "plan=never"]);
    assert!(followed.err.contains("the follow-up is a new run"), "{}", followed.err);
    assert!(followed.out.contains("Summe."), "{}", followed.out);
    assert!(run_of(&garden).ends_with("-translate-it-to"), "{}", run_of(&garden));
}

/// A run keeps its model, whatever the variable says now. Only a flag gives it another one, which it then keeps.
///
/// covers: 7.9
#[test]
fn a_run_keeps_its_model_until_a_flag_names_another() {
    let garden = TestProject::scripted("[default]\ntext = \"No list.\"\n");
    let other = garden.project().with_file_name("other.toml");
    std::fs::write(&other, "[default]\ntext = \"No list, either.\"\n").unwrap();
    let other = format!("scripted:{}", other.display());
    garden.call(&["run", "--plain", "tell me about the rota"]);
    let run = run_of(&garden);
    let resume = |words: &[&str]| {
        let mut command = garden.command(&[&["resume", &run], words].concat());
        let output = command.env("CALLSHEET_MODEL", &other).output().unwrap();
        String::from_utf8(output.stderr).unwrap()
    };
    let kept = resume(&[]);
    let note = format!("note: environment CALLSHEET_MODEL names {other}, and this run keeps its model");
    assert!(kept.contains(&note) && kept.contains(&format!("model {} (the run's own)", garden.model())), "{kept}");
    let given = resume(&["--model", &other]);
    assert!(given.contains(&format!("model {other} (as you asked)")) && !given.contains("note: env"), "{given}");
    let again = garden.call(&["resume", &run]).err;
    assert!(again.contains(&format!("model {other} (the run's own)")), "{again}");
}

/// Without a name, `retry`, `continue` and `fork` mean the newest run, and refuse one to which nothing can be done while an
/// earlier one waits.
///
/// covers: 2.17, 2.18
#[test]
fn the_newest_run_needs_no_name() {
    let mut garden = TestProject::scripted(&REPLIES.replace("B-LOOK", "wrong"));
    garden.write(".callsheet/templates/names.yaml", NAMES);
    garden.expect(0, &["template", "run", "names"]);
    let done = run_of(&garden);
    let again = garden.expect(0, &["resume", &done, "--model", &garden.model()]).err;
    assert!(again.contains(&format!("note: {done} is complete, so flag --model changes nothing")), "{again}");
    let refused = garden.expect(2, &["retry"]);
    assert!(refused.err.contains("there is no incomplete run here"), "{}", refused.err);
    let empty = garden.expect(2, &["continue"]);
    assert!(empty.err.contains(&format!("callsheet continue {done} ")), "{}", empty.err);
    garden.follow_text("[default]\ntext = \"\"\n");
    garden.call(&["template", "run", "names"]);
    let failed = run_of(&garden);
    assert_ne!(done, failed);
    garden.follow_text(&REPLIES.replace("B-LOOK", "right"));
    assert_eq!(garden.expect(0, &["retry"]).out, "Summed up.\n");
    let forked = garden.expect(0, &["fork"]);
    assert!(forked.err.contains(&format!("{failed}-fork is a new run")), "{}", forked.err);
    let followed = garden.call(&["continue", "sum it up again"]);
    assert!(followed.err.contains("runs a template, so the follow-up is a new run"), "{}", followed.err);
}
