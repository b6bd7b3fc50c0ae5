//! Rendering, fences, names and adoption of lists (spec 4.7, 5.9, 6, 9, 11.1).
#![allow(clippy::disallowed_methods, clippy::disallowed_macros, reason = "tests read fixtures and say what they skip")]

use std::collections::{BTreeMap, BTreeSet};

use callsheet_core::adopt::{Adoption, Former, adopt};
use callsheet_core::fence::{block, fence};
use callsheet_core::names::{NameChange, fill_names, slug_of};
use callsheet_core::nouns::{Reference, SkillPolicy, Slug, Step, Target, Task, TaskList, ToolCall};
use callsheet_format::reading::ReadContext;
use callsheet_format::reply::read_sheet;
use callsheet_format::sheet::{SheetTask, TaskForm, render_list, render_sheet, render_task};

fn task(name: &str, skill: Option<&str>) -> Task {
    Task {
        name: name.to_owned(),
        slug: if name.is_empty() { Slug::new("") } else { slug_of(name) },
        aliases: Vec::new(),
        need: "All of it.".to_owned(),
        skill: skill.map(str::to_owned),
        for_each: None,
        references: Vec::new(),
        expected: "A list.".to_owned(),
        approval: false,
        review: None,
        calls: Vec::new(),
        extra: String::new(),
    }
}

fn list(tasks: Vec<Task>) -> TaskList {
    TaskList { steps: tasks.into_iter().map(|task| Step { tasks: vec![task] }).collect(), ..TaskList::default() }
}

/// covers: 9, 9.1
#[test]
fn a_task_has_four_forms() {
    let mut full = task("Find Code 1", Some("find_code"));
    full.need = "First\nsecond".to_owned();
    full.approval = true;
    full.references =
        vec![Reference { title: "A".to_owned(), target: Target::File { path: "a b.md".to_owned(), fragment: None } }];
    let arguments = serde_json::json!({"pattern": "x"});
    full.calls = vec![ToolCall { name: "search_text".to_owned(), id: "s1".to_owned(), arguments }];
    let coarse = "- **Name** Find Code 1\n- **What is needed** First\n  second\n- **Skill** find_code\n- **References** [A](a%20b.md)\n- **Expected output** A list.\n- **Requires user approval**\n";
    let calls = "\n## Tool Calls\n\n```json\n{\n  \"name\": \"search_text\",\n  \"id\": \"s1\",\n  \"arguments\": {\n    \"pattern\": \"x\"\n  }\n}\n```\n";
    assert_eq!(render_task(&full, TaskForm::Coarse, Some("done")), coarse);
    assert_eq!(render_task(&full, TaskForm::List, None), coarse);
    assert_eq!(render_task(&full, TaskForm::List, Some("two\nlines")), format!("{coarse}- **Output** two lines\n"));
    for form in [TaskForm::Refinement, TaskForm::Execution] {
        assert_eq!(render_task(&full, form, Some("done")), format!("{coarse}{calls}"));
    }
    let long = render_task(&full, TaskForm::List, Some(&"word ".repeat(1_000)));
    assert!(long.ends_with("… [more](#find-code-1-results)\n") && long.len() < coarse.len() + 1_700, "{long}");
}

/// covers: 9.2
#[test]
fn a_list_has_a_blank_line_after_each_task() {
    let text = render_list(&list(vec![task("One", None), task("Two", None)]));
    let one = "- **Name** One\n- **What is needed** All of it.\n- **Expected output** A list.\n\n";
    let two = one.replace("One", "Two");
    assert_eq!(text, format!("## Tasks\n### Task section 1\n{one}### Task section 2\n{two}"));
}

/// covers: 4.7, 5.9
#[test]
fn a_fence_cannot_be_closed_by_its_content() {
    assert_eq!(fence("rust", "fn x() {}\n"), "```rust\nfn x() {}\n```");
    assert_eq!(fence("text", ""), "```text\n```");
    assert_eq!(fence("text", "a\n  ```\nb"), "~~~~text\na\n  ```\nb\n~~~~");
    assert_eq!(fence("text", "```\n~~~~~"), "~~~~~~text\n```\n~~~~~\n~~~~~~");
    assert_eq!(block("Manual", "docs/a.md", "markdown", "x"), "### Manual - docs/a.md\n\n```markdown\nx\n```\n");
    assert_eq!(block("", "a.md", "text", "x"), "### a.md\n\n```text\nx\n```\n");
}

/// A prompt from stdin ends in a line feed, and is not another one when the sheet is read back.
///
/// covers: 3.4
#[test]
fn a_prompt_that_ends_in_line_feeds_reads_back() {
    for prompt in ["Do it", "Do it\n", "Do it\n\n", "Do it\n## Tasks\n"] {
        let list = list(vec![task("One", None)]);
        let text = render_sheet(prompt, &list.goals, &SheetTask::of_list(&list), &[]);
        let reading = read_sheet(&text, &ReadContext::default());
        assert_eq!(reading.value.prompt.as_deref(), Some(prompt), "{text}");
    }
}

/// covers: 6.1, 6.2, 6.3, 6.4
#[test]
fn names_and_slugs_follow_their_rules() {
    assert_eq!(slug_of("My Skill 1").as_str(), "my-skill-1");
    assert_eq!(slug_of("12").as_str(), "task-12");
    assert_eq!(slug_of(&"word ".repeat(20)).as_str(), "word-".repeat(13).trim_end_matches('-'));
    let former = task("Look", Some("find_code"));
    let mut again = task("", Some("find_code"));
    again.need = "Something else.".to_owned();
    let mut renamed = task("Search", Some("find_code"));
    renamed.slug = Slug::new("");
    let mut listed =
        list(vec![renamed, again, task("find_code 2", None), task("Con", None), task("find_code 2", None)]);
    let taken: BTreeSet<Slug> = [slug_of("look"), slug_of("find_code 1")].into();
    let changes = fill_names(&mut listed, &[&former], &[], &taken);
    let names: Vec<_> = listed.tasks().map(|task| (task.name.as_str(), task.slug.as_str())).collect();
    assert_eq!(
        names,
        [
            ("Search", "look"),
            ("find_code 3", "find-code-3"),
            ("find_code 2", "find-code-2"),
            ("Con (2)", "con-2"),
            ("find_code 2 (2)", "find-code-2-2"),
        ]
    );
    use NameChange::{Filled, Kept, Numbered};
    assert_eq!(changes, [Kept, Filled, Kept, Numbered, Numbered]);
    assert_eq!(listed.tasks().next().map(|task| task.aliases.clone()), Some(vec![slug_of("Search")]));
}

/// covers: 2.5, 2.11, 11.1
#[test]
fn adopting_keeps_unchanged_tasks_and_derives_writers() {
    let mut kept = task("Look", Some("find_code"));
    let arguments = serde_json::json!({});
    kept.calls = vec![ToolCall { name: "search_text".to_owned(), id: "s1".to_owned(), arguments }];
    let problem = task("Failed", Some("find_code"));
    let mut asks = task("Ask", None);
    asks.approval = true;
    let listed = list(vec![task("Look", Some("find_code")), problem.clone(), task("Write", Some("write_docs")), asks]);
    let writes = SkillPolicy { writer: Some("the skill writes".to_owned()), ..SkillPolicy::default() };
    let skills: BTreeMap<String, SkillPolicy> = [
        ("find_code".to_owned(), SkillPolicy::default()),
        ("write_docs".to_owned(), writes.clone()),
        ("unused".to_owned(), SkillPolicy::default()),
    ]
    .into();
    let former = [Former { task: &kept, ended: false }, Former { task: &problem, ended: true }];
    let adopted = adopt(&listed, &Adoption { former: &former, skills: &skills, taken: &BTreeSet::new(), edit: None });
    let seen: Vec<_> = adopted
        .steps
        .iter()
        .flatten()
        .map(|planned| (planned.task.name.as_str(), planned.unchanged, planned.writer.as_deref()))
        .collect();
    assert_eq!(
        seen,
        [
            ("Look", true, None),
            ("Failed", false, None),
            ("Write", false, Some("the skill writes")),
            ("Ask", false, Some("the task asks for approval")),
        ]
    );
    assert_eq!(adopted.steps[0][0].task.calls.len(), 1, "an unchanged task keeps its calls");
    assert_eq!(adopted.skills.keys().collect::<Vec<_>>(), ["find_code", "write_docs"]);
    assert_eq!(adopted.skills["write_docs"], writes);
}
