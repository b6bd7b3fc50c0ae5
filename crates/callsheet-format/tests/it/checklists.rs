//! Checklists are sheets (spec 3.15): what is read and written of them is not lost unseen. Their forms are fixtures of
//! `lists`.

use callsheet_core::issue::{RepairCode, Span};
use callsheet_core::nouns::{Step, Target, Task, TaskList};
use callsheet_format::reply::{Lost, ReplyKind, is_checklist, write_checklist};
use proptest::prelude::*;

use crate::laws::{list, texts, world};
use crate::support::World;

/// The keys in which two tasks differ.
fn differences(a: &Task, b: &Task) -> Vec<&'static str> {
    let differs = [
        ("Name", a.name != b.name || a.slug != b.slug),
        ("What is needed", a.need != b.need),
        ("Skill", a.skill != b.skill),
        ("References", a.references != b.references),
        ("Expected output", a.expected != b.expected),
        ("Requires user approval", a.approval != b.approval),
        ("Review", a.review != b.review),
        ("Tool Calls", a.calls != b.calls),
        ("unknown keys", a.extra != b.extra),
    ];
    differs.into_iter().filter(|(_, differs)| *differs).map(|(key, _)| key).collect()
}

/// What differs between a list and the reading of its checklist, and is not told.
fn untold(list: &TaskList, read: &TaskList, lost: &[Lost]) -> Vec<String> {
    if lost.contains(&Lost::Tasks) {
        return Vec::new();
    }
    let mut found = Vec::new();
    if read.goals != list.goals && !lost.contains(&Lost::Goals) {
        found.push(format!("goals: {:?}", read.goals));
    }
    for task in list.tasks() {
        let Some(other) = read.tasks().find(|other| other.slug == task.slug) else {
            if !lost.contains(&Lost::Key(task.name.clone(), "Name")) {
                found.push(format!("no {}", task.name));
            }
            continue;
        };
        let told = |key: &&'static str| lost.contains(&Lost::Key(task.name.clone(), key));
        found.extend(
            differences(task, other).iter().filter(|key| !told(key)).map(|key| format!("{}: {key}", task.name)),
        );
    }
    if lost.is_empty() && read.steps.len() != list.steps.len() {
        found.push("steps".to_owned());
    }
    found
}

/// A checklist that is read is written and read again as the same list.
/// covers: 3.15
#[test]
fn checklists_of_fixtures_are_written_whole() {
    let mut seen = 0;
    for (header, text) in texts() {
        let mut world = World::new(&header);
        if world.kind != ReplyKind::Sheet || !is_checklist(&text) {
            continue;
        }
        world.answer(&text);
        let reading = world.read(&text);
        if !reading.is_accepted() || reading.value.list.steps.is_empty() {
            continue;
        }
        seen += 1;
        let written = write_checklist(&reading.value.list);
        assert_eq!(written.lost, [], "{}", written.text);
        world.answer(&written.text);
        assert_eq!(world.read(&written.text).value.list, reading.value.list, "{}", written.text);
    }
    assert!(seen >= 5, "{seen} checklists");
}

/// The canonical sheet of the specification as a checklist: short, and with what it waits for.
/// covers: 3.15
#[test]
fn a_sheet_is_written_as_short_as_it_can_be() {
    let mut world = World::new("file: docs/manual.md\n");
    let text = "## Goals / summary\nExplain.\n## Tasks\n### Task section 1\n- **Name** Read Docs\n\
        - **What is needed** What [the manual](docs/manual.md) says.\n- **References** [the manual](docs/manual.md)\n\n\
        - **Name** Count\n- **What is needed** Count\n### Task section 2\n- **Name** Write\n\
        - **What is needed** All of it,\n  in two lines.\n- **Skill** write_docs\n\
        - **References** [Read Docs](#read-docs-results) [Count](#count-results)\n- **Expected output** One line.\n\
        ### Task section 3\n- **Name** End\n- **What is needed** End\n- **References** [Write](#write-results)\n";
    world.kind = ReplyKind::Sheet;
    world.answer(text);
    let list = world.read(text).value.list;
    let written = write_checklist(&list);
    let wanted = "Explain.\n\n- [ ] **Read Docs** What [the manual](docs/manual.md) says.\n- [ ] Count\n  after: none\n\
        - [ ] **Write** All of it,\n  in two lines.\n  skill: write_docs\n  after: Read Docs, Count\n  \
        expected output: One line.\n- [ ] End\n";
    assert_eq!((written.text.as_str(), written.lost.as_slice()), (wanted, [].as_slice()));
}

/// An order of sections without results is none that items can say.
/// covers: 3.15
#[test]
fn an_order_without_results_is_told() {
    let mut world = world();
    let text = "Do it.\n- [ ] One\n- [ ] Two (after: none)\n";
    world.kind = ReplyKind::Sheet;
    let mut list = world.read(text).value.list;
    let tasks: Vec<Task> = list.tasks().cloned().collect();
    list.steps = tasks.into_iter().map(|task| Step { tasks: vec![task] }).collect();
    assert_eq!(write_checklist(&list).lost, [Lost::Section("Two".to_owned())]);
}

/// Lines of checklists as people write them, and others.
fn lines() -> impl Strategy<Value = String> {
    let line = prop_oneof![
        "[ \t]{0,5}[-*+] \\[[ xX]\\] [a-c ]{0,6}(, after: ([a-c]{1,2}|[0-9]|none))?",
        "[ \t]{0,5}[0-9]\\. \\[[ x]\\] [a-c ]{0,6}",
        "[ \t]{0,6}(after|skill|name|references|review|expected output): [a-c0-9,]{0,4}",
        "[ \t]{0,5}- [a-c]{0,3}",
        "(# )?[a-c]{0,3}",
        "[ \t]{0,4}(```|~~~|---|<!--|-->|>|\\[a\\]\\(b\\)|\\*\\*a\\*\\*)",
        "(?s).{0,8}",
    ];
    proptest::collection::vec(line, 0..12).prop_map(|lines| lines.join("\n").replace('\r', " "))
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn what_a_checklist_cannot_hold_is_told(list in list()) {
        let mut world = world();
        world.kind = ReplyKind::Sheet;
        let written = write_checklist(&list);
        world.answer(&written.text);
        let reading = world.read(&written.text);
        let untold = untold(&list, &reading.value.list, &written.lost);
        prop_assert!(untold.is_empty(), "{:?}; told {:?} of\n{}", untold, written.lost, written.text);
    }

    /// Whatever stands there, reading ends, its places are lines of the text, and each item is a task, told as done, or
    /// part of an error.
    #[test]
    fn any_checklist_is_read(text in lines()) {
        let mut world = world();
        world.kind = ReplyKind::Sheet;
        world.answer(&text);
        let reading = world.read(&text);
        let last = u32::try_from(text.lines().count().max(1)).unwrap_or(u32::MAX);
        let spans = reading.issues.iter().map(|issue| issue.place.span);
        for Span { first, last: end } in spans.chain(reading.repairs.iter().map(|repair| repair.span)) {
            prop_assert!(first >= 1 && first <= end && end <= last, "{first}-{end} of {last} lines\n{text}");
        }
        if is_checklist(&text) {
            let done = reading.repairs.iter().any(|repair| repair.code == RepairCode::ItemDone);
            let tasks = reading.value.list.tasks().count();
            prop_assert!(tasks > 0 || done, "{text}");
            for task in reading.value.list.tasks() {
                for reference in &task.references {
                    let Target::TaskOutput { slug, .. } = &reference.target else { continue };
                    prop_assert!(reading.value.list.tasks().any(|other| other.slug == *slug), "{slug} of\n{text}");
                }
            }
            let again = write_checklist(&reading.value.list);
            if reading.is_accepted() && tasks > 0 {
                world.answer(&again.text);
                let second = world.read(&again.text);
                let untold = untold(&reading.value.list, &second.value.list, &again.lost);
                prop_assert!(untold.is_empty(), "{:?} of\n{}\nfrom\n{}", untold, again.text, text);
            }
        }
    }
}
