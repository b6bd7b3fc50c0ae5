//! Laws of spec 4.1: reading never panics, is deterministic, and reads its own rendering back unchanged.
#![allow(clippy::disallowed_methods, clippy::disallowed_macros, reason = "tests read fixtures and say what they skip")]
// A fixture that cannot be read fails its test at once.
#![allow(clippy::expect_used)]

use crate::support::{REPLIES, World};
use callsheet_core::issue::IssueCode;
use callsheet_core::names::slug_of;
use callsheet_core::nouns::{ForEach, Goals, Policy, Reference, Slug, Step, Target, Task, TaskList};
use callsheet_format::reply::{ReplyKind, read_continuation, read_iteration, read_plan, read_sheet};
use callsheet_format::sheet::{SheetTask, render_plan, render_sheet};
use proptest::prelude::*;

/// Every fixture text of this area, with its header.
pub fn texts() -> Vec<(String, String)> {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures");
    let mut found = Vec::new();
    for area in ["book/plan", "lists"] {
        for entry in std::fs::read_dir(folder.join(area)).expect("fixtures") {
            let path = entry.expect("entry").path();
            if path.extension().is_none_or(|ending| ending != "txt") {
                continue;
            }
            let source = std::fs::read_to_string(path).expect("text");
            match source.split_once("---- text\n") {
                Some((header, rest)) => {
                    let text = rest.split_once("---- expect\n").map_or(rest, |(text, _)| text);
                    found.push((header.to_owned(), text.to_owned()));
                }
                None => found.push((REPLIES.to_owned(), source)),
            }
        }
    }
    found
}

#[test]
fn accepted_lists_read_back_from_their_rendering() {
    let mut seen = 0;
    for (header, text) in texts() {
        let mut world = World::new(&header);
        world.answer(&text);
        let first = world.read(&text);
        if !first.is_accepted() {
            continue;
        }
        seen += 1;
        let mut list = first.value.list.clone();
        list.tasks_mut().for_each(|task| task.calls.clear());
        let rendered = match world.kind {
            ReplyKind::Sheet => {
                let prompt = first.value.prompt.as_deref().unwrap_or("");
                render_sheet(prompt, &list.goals, &SheetTask::of_list(&list), &first.value.beside.no_longer_relevant)
            }
            _ => render_plan(&list),
        };
        world.context.length_stop = false;
        world.answer(&rendered);
        let again = world.read(&rendered);
        assert_eq!(again.value.list, list, "value of\n{text}\nrendered\n{rendered}");
        assert_eq!(again.value.prompt, first.value.prompt, "prompt of\n{rendered}");
        if world.kind == ReplyKind::Sheet {
            assert_eq!(
                again.value.beside.no_longer_relevant, first.value.beside.no_longer_relevant,
                "marks of\n{rendered}"
            );
        }
        assert!(again.repairs.is_empty(), "repairs {:?} in\n{rendered}", again.repairs);
        for issue in &again.issues {
            // A sheet that says why nothing is left is rendered without its words.
            if issue.code == IssueCode::NoTasks && list.tasks().next().is_none() {
                continue;
            }
            assert!(first.issues.iter().any(|known| known.code == issue.code), "issue {issue} in\n{rendered}");
        }
    }
    assert!(seen > 20, "{seen} accepted texts");
}

fn words() -> impl Strategy<Value = String> {
    let word = prop_oneof![
        Just("find"),
        Just("Skill"),
        Just("**Skill** x"),
        Just("- **Name** y"),
        Just("```"),
        Just("~~~~"),
        Just("## Tasks"),
        Just("\n"),
        Just("\n\n"),
        Just("\n  "),
        Just("- a"),
        Just("1. b"),
        Just(":"),
        Just("None"),
        Just("[a](b)"),
        Just("<think>"),
        Just("</think>"),
        Just("# x"),
        Just("plan complete"),
        Just("**plan complete**"),
        Just("é"),
        Just("---"),
        Just("Task section 1"),
        Just("What is needed: z"),
        Just("*"),
        Just("`q`"),
        Just("\u{a0}"),
        Just("> k"),
        Just("What is needed all"),
        Just("\t"),
        Just("(x)"),
        Just("Plan"),
        Just("Expected output"),
    ];
    proptest::collection::vec(word, 1..7)
        .prop_map(|parts| parts.join(" ").trim().to_owned())
        .prop_filter("a value", |text| !text.is_empty())
}

fn reference() -> impl Strategy<Value = Reference> {
    let target = prop_oneof![
        Just(Target::ProjectDescription),
        Just(Target::File { path: "README.md".to_owned(), fragment: None }),
        Just(Target::File { path: "a b (c)/[d] 100%.md".to_owned(), fragment: None }),
    ];
    ("[ -~]{0,12}", target).prop_map(|(title, target)| {
        let title = title.split_whitespace().collect::<Vec<_>>().join(" ");
        // Markup at the edges of a title is taken away on reading.
        let title = title.trim_matches(|c: char| c.is_whitespace() || matches!(c, '*' | '_' | '`')).to_owned();
        Reference { title, target }
    })
}

/// By the number of references.
const REVIEWS: [Option<Policy>; 3] = [None, Some(Policy::Always), Some(Policy::Never)];

fn task() -> impl Strategy<Value = Task> {
    let skill = prop_oneof![Just(None), Just(Some("find_code".to_owned())), Just(Some("write_docs".to_owned()))];
    let extra = prop_oneof![Just(""), Just("Note: keep it short"), Just("Note: a\nHint: b: c")];
    let for_each = prop_oneof![
        Just(None),
        any::<bool>().prop_map(|allow| Some(ForEach { name: "file".to_owned(), allow_failures: allow }))
    ];
    (words(), words(), skill, any::<bool>(), extra, for_each, proptest::collection::vec(reference(), 0..3)).prop_map(
        |(need, expected, skill, approval, extra, for_each, references)| Task {
            name: String::new(),
            slug: Slug::new(""),
            aliases: Vec::new(),
            need,
            skill,
            review: REVIEWS.get(references.len()).copied().flatten(),
            for_each: for_each.filter(|_| references.first().is_some_and(|first| !first.target.is_shared())),
            references,
            expected,
            approval,
            calls: Vec::new(),
            extra: extra.to_owned(),
        },
    )
}

pub fn list() -> impl Strategy<Value = TaskList> {
    let steps = proptest::collection::vec(proptest::collection::vec(task(), 1..3), 1..3);
    (words(), any::<bool>(), steps).prop_map(|(text, plan_complete, steps)| {
        let mut list = TaskList { goals: Goals { text, plan_complete, plan_continues: false }, steps: Vec::new() };
        let mut number = 0;
        for tasks in steps {
            let mut step = Step::default();
            for mut task in tasks {
                number += 1;
                task.name = format!("Job {number}");
                task.slug = slug_of(&task.name);
                step.tasks.push(task);
            }
            list.steps.push(step);
        }
        list
    })
}

const FILES: &str = "file: README.md\nfile: a\n";

pub fn world() -> World {
    let mut world = World::new(FILES);
    world.add_file("a b (c)/[d] 100%.md");
    world
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_list_reads_back_from_its_rendering(list in list(), prompt in words()) {
        let mut world = world();
        let mut list = list;
        for sheet in [true, false] {
            if !sheet {
                // A plan has no say in whether results are reviewed.
                list.steps.iter_mut().flat_map(|step| &mut step.tasks).for_each(|task| task.review = None);
            }
            world.kind = if sheet { ReplyKind::Sheet } else { ReplyKind::Plan };
            let text = if sheet { render_sheet(&prompt, &list.goals, &SheetTask::of_list(&list), &[]) } else { render_plan(&list) };
            world.answer(&text);
            let reading = world.read(&text);
            prop_assert_eq!(&reading.value.list, &list, "{}", text);
            prop_assert!(reading.repairs.is_empty(), "{:?} in\n{}", reading.repairs, text);
            prop_assert!(reading.is_accepted(), "{:?} in\n{}", reading.issues, text);
            if sheet {
                prop_assert_eq!(reading.value.prompt.as_deref(), Some(prompt.as_str()));
            }
        }
    }

    #[test]
    fn no_text_makes_reading_panic(text in "(?s).{0,300}") {
        let context = World::new("").context;
        read_plan(&text, &context);
        read_sheet(&text, &context);
        read_iteration(&text, &context);
        read_continuation(&text, &context);
    }

    #[test]
    fn no_mutation_of_a_plan_makes_reading_panic(cuts in proptest::collection::vec((0usize..2000, words()), 1..12)) {
        let mut text = render_plan(&TaskList::default());
        text.push_str("### Task section 1\n- **Name** A\n- **What is needed** b\n- **Skill** find_code\n- **References** [x](#a-results)\n- **Expected output** c\n");
        for (at, words) in cuts {
            let at = at % (text.len() + 1);
            if text.is_char_boundary(at) {
                text.insert_str(at, &words);
            }
        }
        let mut world = World::new("");
        world.answer(&text);
        let first = world.read(&text);
        prop_assert_eq!(&first, &world.read(&text));
    }
}

/// What small models write among references: sources, tasks, skills, commands, words.
fn pieces() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        Just("README.md"),
        Just("[Read me](README.md)"),
        Just("`README.md` (from, to?)"),
        Just("missing.md"),
        Just("Earlier Job"),
        Just("`Earlier Job`"),
        Just("the results of Earlier Job"),
        Just("Other Job 7"),
        Just("find_code"),
        Just("`read_docs`"),
        Just("write_code (python?)"),
        Just("[review]"),
        Just("`lua test.lua`"),
        Just("cargo test --all"),
        Just("Makefile"),
        Just("the words of everybody"),
        Just("(template)"),
        Just("see also README.md"),
        Just("#nowhere"),
    ];
    let separator = prop_oneof![Just(", "), Just("; "), Just(" and "), Just(" "), Just("\n  ")];
    proptest::collection::vec((piece, separator), 1..5)
        .prop_map(|parts| parts.into_iter().flat_map(|(piece, separator)| [piece, separator]).collect())
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    /// Spec 3.3, 4.4: each word of `References` stands in a source that is read, in a repair, or in an issue.
    #[test]
    fn nothing_among_references_is_lost_unseen(value in pieces()) {
        let text = format!(
            "## Goals / summary\nKnow.\n## Tasks\n### Task section 1\n- **Name** Earlier Job\n- **What is needed** All.\n\
             - **Skill** find_code\n- **Expected output** A list.\n### Task section 2\n- **Name** Later\n\
             - **What is needed** All.\n- **Skill** read_docs\n- **References** {}\n- **Expected output** A list.\n",
            value.trim(),
        );
        let mut world = World::new("file: README.md\n");
        world.answer(&text);
        let reading = world.read(&text);
        let mut told: Vec<String> = reading.repairs.iter().map(|repair| format!("{repair:?}")).collect();
        told.extend(reading.issues.iter().map(ToString::to_string));
        let references = reading.value.list.tasks().flat_map(|task| &task.references);
        told.extend(references.map(|reference| format!("{} {}", reference.title, reference.target)));
        let told = told.join("\n");
        let words = value.split(|c: char| !(c.is_alphanumeric() || c == '_')).filter(|word| !word.is_empty());
        for word in words.filter(|word| *word != "and") {
            prop_assert!(told.contains(word), "{word:?} of {value:?} is lost:\n{told}");
        }
    }
}
