//! A person has a task repeated and says what was wrong: the prompts of this task contain the words, and no others
//! (spec 2.18).
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "tests")]

use crate::support::garden::TestProject;

const WORDS: &str = "Use the polite form.";

fn run_of(garden: &TestProject) -> String {
    garden.run_folder().file_name().unwrap().to_str().unwrap().to_owned()
}

/// The calls whose prompts contain the words of the person.
fn told(garden: &TestProject) -> Vec<String> {
    let calls = 1..=garden.count("reply_received");
    let numbers = calls.map(|number| number.to_string());
    numbers.filter(|number| garden.expect(0, &["show", "--prompt", number]).out.contains(WORDS)).collect()
}

/// covers: 2.18 retry, T 15
#[test]
fn the_words_reach_an_item_of_a_map_and_not_its_reader() {
    let garden = TestProject::scripted(
        "[[rule]]\nprompt = \"polite form\"\ntext = \"Good day.\"\n[[rule]]\nprompt = \"Greet\"\ntext = \"Hi.\"\n\
         [default]\ntext = \"Summed up.\"\n",
    );
    let names = "template: names\nabout: Names\ninputs: {names: {type: \"string[]\"}}\ntasks:\n  - hello:\n      each: name in names\n      \
        ask: \"Greet {{name}}\"\n  - sum:\n      ask: \"Sum up: {{hello}}\"\n";
    garden.write(".callsheet/templates/names.yaml", names);
    garden.expect(0, &["template", "run", "names", "names:=[\"Ann\", \"Bo\"]"]);
    let run = run_of(&garden);
    garden.expect(0, &["retry", &run, "names-hello-2", "--because", WORDS]);
    assert_eq!(told(&garden), ["4"], "the item alone; the summary reads its new result");
    let prompt = garden.expect(0, &["show", "--prompt", "5"]).out;
    assert!(prompt.contains("Good day."), "{prompt}");
    let retried = garden.facts().into_iter().find(|fact| fact["event"] == "task_retried").unwrap();
    assert_eq!(retried["because"], WORDS, "the event records them");

    garden.expect(0, &["retry", &run, "names-hello", "--because", WORDS]);
    assert_eq!(told(&garden), ["4", "6", "7"], "all items of the map");
    garden.expect(0, &["retry", &run, "names-hello"]);
    assert_eq!(told(&garden), ["4", "6", "7"], "they hold until the next retry");
}

const SHEET: &str = "## Goals / summary\nGreet.\n\n**plan complete**\n## Tasks\n### Task section 1\n- **Name** Rows\n\
    - **What is needed** Greet {name}.\n- **For each** name in [Names](names.txt)\n- **Expected output** A line.\n\n\
    - **Name** One\n- **What is needed** Say hello.\n- **References** [Water](water.md)\n- **Expected output** A line.\n";

/// covers: 2.18 retry, 3.16
#[test]
fn the_words_reach_a_task_of_a_sheet_and_an_item_of_its_list() {
    let garden = TestProject::scripted("[default]\ntext = \"## Result summary\\nHi.\\n\"\n");
    garden.write("names.txt", "Ann\nBo\n");
    garden.write("work.md", SHEET);
    garden.expect(0, &["run", "--sheet", "work.md", "--set", "iterate=never", "--set", "join=never"]);
    let (run, calls) = (run_of(&garden), garden.count("reply_received"));
    garden.expect(0, &["retry", &run, "one", "--because", WORDS]);
    assert_eq!(told(&garden), [(calls + 1).to_string()], "the task alone");
    garden.expect(0, &["retry", &run, "rows/bo", "--because", WORDS]);
    assert_eq!(told(&garden).len(), 2, "and the item alone");
    garden.expect(0, &["retry", &run, "rows", "--because", WORDS]);
    assert_eq!(told(&garden).len(), 4, "and both items of the list");
}
