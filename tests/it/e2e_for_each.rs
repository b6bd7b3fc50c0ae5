//! Tasks of a sheet that are done for each item of a list.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "tests")]

use crate::support::garden::{TestProject, json_lines};

const REVIEW: &str = "## Goals / summary\nOne list.\n\n**plan complete**\n## Tasks\n### Task section 1\n\
    - **Name** Review\n- **What is needed** Find the mistakes in {file}.\n- **For each** file in [Notes](notes/)ALLOW\n\
    - **Expected output** A list.\n\n### Task section 2\n- **Name** Sum\n- **What is needed** Sum up.\n\
    - **References** [Reviews](#review-results)\n- **Expected output** A line.\n";

fn project(replies: &str) -> TestProject {
    let garden = TestProject::scripted(replies);
    for (name, text) in [("a.md", "Tomatos.\n"), ("b.md", "Roses.\n"), ("sub/c.md", "Kale.\n"), (".hidden.md", "x")] {
        garden.write(&format!("notes/{name}"), text);
    }
    garden
}

fn run_of(garden: &TestProject) -> String {
    garden.run_folder().file_name().unwrap().to_str().unwrap().to_owned()
}

fn calls(garden: &TestProject) -> usize {
    garden.facts().iter().filter(|fact| fact["event"] == "reply_received").count()
}

/// The items of a folder are its files, each a task with a name of its own; a later task reads all results in order.
///
/// covers: 3.16
#[test]
fn each_file_of_a_folder_is_a_task_and_the_results_are_joined() {
    let garden = project(
        "[[rule]]\nprompt = \"Sum up\"\ntext = \"## Result summary\\nSummed.\"\n[[rule]]\nprompt = \"mistakes in notes/a.md\"\n\
         text = \"Tomatoes.\"\n[default]\ntext = \"None.\"\n",
    );
    garden.write("work.md", REVIEW.replace("ALLOW", ""));
    let checked = garden.expect(0, &["sheet", "check", "work.md"]);
    assert!(checked.err.contains("3 items in notes/") && checked.err.contains("4 calls"), "{}", checked.err);
    assert!(checked.err.contains("reads 3 files"), "the items, not their folder: {}", checked.err);
    let ended =
        garden.expect(5, &["run", "--sheet", "work.md", "--set", "limits.max_items=2", "--set", "iterate=never"]);
    assert!(ended.err.contains("a list of 3 elements; the limit max_items is 2"), "{}", ended.err);
    let ended = garden.expect(0, &["run", "--sheet", "work.md"]);
    assert_eq!((ended.out.as_str(), calls(&garden)), ("Summed.\n", 4));
    let shown = garden.expect(0, &["show"]).out;
    for item in ["review/notes-a-md", "review/notes-b-md", "review/notes-sub-c-md"] {
        assert!(shown.contains(item), "{item} in {shown}");
    }
    assert!(!shown.contains("hidden"), "{shown}");
    let joined = std::fs::read_to_string(garden.run_folder().join("tasks/review.md")).unwrap();
    assert_eq!(joined, "## notes/a.md\n\nTomatoes.\n\n## notes/b.md\n\nNone.\n\n## notes/sub/c.md\n\nNone.\n");
    let again = garden.expect(0, &["retry", &run_of(&garden), "review/notes-b-md"]);
    assert_eq!(calls(&garden), 5, "the item alone, whose result is the same: {}", again.err);
    garden.expect(0, &["report", "-o", "out.html"]);
    let html = garden.read("out.html");
    let row = |item: &str| html.contains(&format!("href=\"#task-review/{item}\""));
    assert!(row("notes-a-md") && row("notes-b-md-again-2") && !row("notes-b-md"), "no row of the repeated item");
    let again = garden.expect(0, &["retry", &run_of(&garden), "review"]);
    assert_eq!(calls(&garden), 8, "all items, also after one of them was asked again alone: {}", again.err);
}

/// A failed item fails the task, which names it. A retry does the failed items again and no others.
///
/// covers: 3.16
#[test]
fn a_failed_item_fails_the_task_unless_failures_are_allowed() {
    let broken = "[[rule]]\nprompt = \"Sum up\"\ntext = \"## Result summary\\nSummed.\"\n[[rule]]\nprompt = \"mistakes in notes/b.md\"\n\
        text = \"\"\n[default]\ntext = \"None.\"\n";
    let mut garden = project(broken);
    garden.write("work.md", REVIEW.replace("ALLOW", ""));
    let ended = garden.expect(5, &["run", "--sheet", "work.md", "--set", "iterate=never"]);
    assert!(ended.err.contains("1 of 3 items failed: notes/b.md: "), "{}", ended.err);
    garden.follow_text(&broken.replace("text = \"\"", "text = \"Roses.\""));
    let before = calls(&garden);
    let again = garden.expect(0, &["retry", &run_of(&garden), "review"]);
    assert_eq!((again.out.as_str(), calls(&garden)), ("Summed.\n", before + 2), "{}", again.err);

    garden.follow_text(broken);
    garden.write("work.md", REVIEW.replace("ALLOW", ", allow failures"));
    let ended = garden.expect(0, &["run", "--sheet", "work.md"]);
    assert_eq!(ended.out, "Summed.\n", "{}", ended.err);
    let joined = std::fs::read_to_string(garden.run_folder().join("tasks/review.md")).unwrap();
    assert!(joined.starts_with("1 of 3 items failed:\n\n- notes/b.md: "), "{joined}");
    let told = "review: 1 of 3 parts failed: review/notes-b-md";
    assert!(ended.err.contains(told) && ended.err.contains("Next: callsheet retry"), "{}", ended.err);
    assert!(garden.expect(0, &["show", "--why"]).out.contains(told));
    let why = json_lines(&garden.expect(0, &["--json", "show", "--why"]).out);
    let parts = why.iter().find(|line| line["why"] == "parts_failed").unwrap();
    assert_eq!(parts["failed"][0], "review/notes-b-md", "{why:?}");
    let shown = json_lines(&garden.expect(0, &["--json", "show"]).out).remove(0);
    assert_eq!(shown["parts_failed"][0]["parts"], 3, "{shown}");
    garden.follow_text(&broken.replace("text = \"\"", "text = \"Roses.\""));
    let before = calls(&garden);
    let again = garden.expect(0, &["retry", &run_of(&garden)]);
    assert_eq!(calls(&garden), before + 2, "the failed item and its reader: {}", again.err);
    assert!(!again.err.contains("parts failed"), "{}", again.err);
}

/// Items of an earlier result and of a table; a list that is none fails the task with a reason.
///
/// covers: 3.16
#[test]
fn items_come_from_results_and_tables() {
    let garden = TestProject::scripted(
        "[[rule]]\nprompt = \"Name the beds\"\ntext = \"## Result summary\\nTwo.\\n\\n1. north\\n2. south\"\n\
         [[rule]]\nprompt = \"Water the north\"\ntext = \"Wet north.\"\n[[rule]]\nprompt = \"Water the south\"\ntext = \"Wet south.\"\n\
         [[rule]]\nprompt = \"name: Ann\"\ntext = \"Ann mows.\"\n[default]\ntext = \"Nobody.\"\n",
    );
    garden.write("people.csv", "name,day\nAnn,Monday\nBo,Friday\n");
    garden.write("empty.md", "No list.\n");
    let head = "## Goals / summary\nAll done.\n\n**plan complete**\n## Tasks\n";
    let task = |name: &str, need: &str, more: &str| {
        format!(
            "### Task section\n- **Name** {name}\n- **What is needed** {need}\n{more}- **Expected output** A list.\n\n"
        )
    };
    let sheet = [
        head.to_owned(),
        task("Beds", "Name the beds.", ""),
        task("Water", "Water the {bed} bed.", "- **For each** bed in [Beds](#beds-results)\n"),
        task("Plan", "Say who mows.", "- **For each** person in [People](people.csv)\n"),
        task("None", "Look.", "- **For each** thing in [Empty](empty.md)\n"),
    ];
    garden.write("work.md", sheet.concat());
    let ended = garden.expect(5, &["run", "--sheet", "work.md", "--set", "iterate=never"]);
    assert!(ended.err.contains("empty.md gives no items: it contains no list"), "{}", ended.err);
    let read = |name: &str| std::fs::read_to_string(garden.run_folder().join("tasks").join(name)).unwrap();
    assert_eq!(read("water.md"), "## north\n\nWet north.\n\n## south\n\nWet south.\n");
    assert_eq!(read("plan.md"), "## name: Ann\n\nAnn mows.\n\n## name: Bo\n\nNobody.\n");
}

/// A list over the results of another list has one item for each result.
///
/// covers: 3.16
#[test]
fn the_results_of_a_list_are_the_items_of_the_next() {
    let garden = project(
        "[[rule]]\nprompt = \"Answer\"\ntext = \"Answered.\"\n[[rule]]\nprompt = \"mistakes in notes/b.md\"\ntext = \"\"\n\
         [default]\ntext = \"- one\\n- two\"\n",
    );
    let next = "### Task section 3\n- **Name** Answer\n- **What is needed** Answer {review}.\n\
        - **For each** review in [Reviews](#review-results)\n- **Expected output** A line.\n";
    garden.write("work.md", format!("{}{next}", REVIEW.replace("ALLOW", ", allow failures")));
    let checked = garden.expect(0, &["sheet", "check", "work.md"]);
    assert!(checked.err.contains("3 items in #review-results"), "{}", checked.err);
    garden.expect(0, &["run", "--sheet", "work.md"]);
    let joined = std::fs::read_to_string(garden.run_folder().join("tasks/answer.md")).unwrap();
    assert_eq!(joined, "## notes/a.md\n\nAnswered.\n\n## notes/sub/c.md\n\nAnswered.\n");
}

/// A task that changes files is approved once for all its items, and then each change is shown.
///
/// covers: 3.16, 11.2
#[test]
fn one_approval_covers_all_items() {
    let change = |name: &str, old: &str, new: &str| {
        format!(
            "[[rule]]\nprompt = \"words in notes/{name}\"\ntext = \"## Change details\\n- **file_path** notes/{name}\\n```\\n{old}\\n```\\n```\\n{new}\\n```\\n## Result summary\\nFixed.\"\n"
        )
    };
    let replies = change("a.md", "Tomatos.", "Tomatoes.")
        + &change("b.md", "Roses.", "Roses!")
        + "[default]\ntext = \"**no changes needed**\\n\\nnotes/sub/c.md says `Kale is fine`.\"\n";
    let garden = project(&replies);
    garden.write("notes/sub/c.md", "Kale is fine.\n");
    let sheet = "## Goals / summary\nFixed.\n\n**plan complete**\n## Tasks\n### Task section 1\n- **Name** Fix\n\
        - **What is needed** Fix the words in {file}.\n- **Skill** edit_document\n- **For each** file in [Notes](notes/)\n- **Expected output** A change.\n";
    garden.write("work.md", sheet);
    let first = garden.expect(3, &["run", "--sheet", "work.md"]);
    assert!(first.err.contains("for each: file in notes/"), "{}", first.err);
    let second = garden.expect(3, &["approve", "--resume"]);
    assert!(second.err.contains("+Tomatoes.") && second.err.contains("+Roses!"), "both at once: {}", second.err);
    let last = garden.expect(0, &["approve", "--resume"]);
    assert_eq!(garden.read("notes/a.md"), "Tomatoes.\n", "{}", last.err);
    assert_eq!(garden.read("notes/b.md"), "Roses!\n");
}

/// An empty list is done: the task says so, and `sheet check` warns of it.
///
/// covers: 3.16
#[test]
fn a_list_without_items_is_done() {
    let garden = TestProject::scripted("[default]\ntext = \"Summed.\"\n");
    std::fs::create_dir(garden.path("notes")).unwrap();
    garden.write("work.md", REVIEW.replace("ALLOW", ""));
    let checked = garden.expect(0, &["sheet", "check", "work.md"]);
    assert!(checked.err.contains("warning: Review: notes/ contains no items"), "{}", checked.err);
    let ended = garden.expect(0, &["run", "--sheet", "work.md"]);
    assert_eq!((ended.out.as_str(), calls(&garden)), ("Summed.\n", 1), "{}", ended.err);
    let result = std::fs::read_to_string(garden.run_folder().join("tasks/review.md")).unwrap();
    assert_eq!(result, "There was nothing to do: notes/ contains no items.\n");
}

/// A field of a row stands in the words of a task. A field that no row has is told before the run, and fails the task.
///
/// covers: 3.16
#[test]
fn the_fields_of_rows_stand_in_the_words() {
    let garden = TestProject::scripted(
        "[[rule]]\nprompt = \"Greet Ann on Monday\"\ntext = \"Hello Ann.\"\n[default]\ntext = \"Hello.\"\n",
    );
    garden.write("people.csv", "name,day\nAnn,Monday\nBo,Friday\n");
    let sheet = REVIEW.replace("the mistakes in {file}", "x").replace("Find x", "Greet {row.name} on {row.day}");
    let sheet = sheet.replace("file in [Notes](notes/)ALLOW", "row in [People](people.csv)");
    garden.write("work.md", sheet.clone());
    garden.expect(0, &["run", "--sheet", "work.md"]);
    let joined = std::fs::read_to_string(garden.run_folder().join("tasks/review.md")).unwrap();
    assert_eq!(joined, "## name: Ann\n\nHello Ann.\n\n## name: Bo\n\nHello.\n");
    garden.write("work.md", sheet.replace("{row.day}", "{row.nope}"));
    let why = "{row.nope} has no value: no item of [People](people.csv) has this field. Name a field that the items have. Allowed: day, name.";
    let checked = garden.expect(2, &["sheet", "check", "work.md"]);
    assert!(checked.out.contains(why), "{}", checked.out);
    let as_json = json_lines(&garden.expect(2, &["sheet", "check", "work.md", "--json"]).out);
    assert!(as_json.iter().any(|line| line["code"] == "for-each-invalid"), "{as_json:?}");
    let ended = garden.expect(2, &["run", "--sheet", "work.md", "--set", "iterate=never"]);
    assert!(ended.err.contains(why), "{}", ended.err);
}

/// A list that is longer than its limit names the limit and a command that raises it. A limit of the task itself, which
/// would have no effect on its items, cannot be raised.
///
/// covers: 3.16
#[test]
fn the_limit_of_a_long_list_is_named_and_can_be_raised() {
    let garden = project("[default]\ntext = \"None.\"\n");
    garden.write("list.txt", "one\n".repeat(1_001));
    garden.write("work.md", REVIEW.replace("[Notes](notes/)ALLOW", "[List](list.txt)"));
    let ended =
        garden.expect(5, &["run", "--sheet", "work.md", "--set", "iterate=never", "--set", "limits.max_calls=3"]);
    let run = run_of(&garden);
    assert!(ended.err.contains("the limit max_items is 1000"), "{}", ended.err);
    let told = format!("callsheet resume {run} --limit review/skill-for-each.max_items=2000");
    assert!(ended.err.contains(&told), "{}", ended.err);
    let refused = garden.expect(2, &["resume", &run, "--limit", "review.timeout_seconds=900"]);
    assert!(refused.err.contains("has no limit review.timeout_seconds"), "{}", refused.err);
    garden.call(&["resume", &run, "--limit", "review/skill-for-each.max_items=2000"]);
    assert_eq!(garden.count("limit_raised"), 1);
}

/// The timeline of a report has no row for what was repeated, neither for the items nor for what goes through them.
#[test]
fn a_repeated_list_has_one_row_for_each_item() {
    let garden = project("[default]\ntext = \"\\n## Result summary\\nFine.\\n\"\n");
    garden.write("work.md", REVIEW.replace("ALLOW", ""));
    garden.expect(0, &["run", "--sheet", "work.md"]);
    let run = run_of(&garden);
    garden.expect(0, &["retry", &run, "review"]);
    garden.expect(0, &["report", &run, "-o", "out.html"]);
    let page = garden.read("out.html");
    let picture = page.split("class=\"timeline-scroll\"").nth(1).unwrap().split("</svg>").next().unwrap();
    let rows = |name: &str| picture.matches(&format!(">review/{name}<")).count();
    assert_eq!((rows("skill-for-each"), rows("skill-for-each-2")), (0, 1), "{picture}");
}
