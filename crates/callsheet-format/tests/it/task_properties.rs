//! Properties of the task readers: they never panic, canonical calls need no repair, and composing a change touches
//! nothing outside the place it addresses.
#![allow(clippy::disallowed_methods, clippy::disallowed_macros, reason = "tests read fixtures and say what they skip")]
#![allow(clippy::unwrap_used)] // Helpers of tests; the lint knows only test functions.

use std::collections::{BTreeMap, BTreeSet};

use callsheet_core::issue::{IssueCode, Severity, Span};
use callsheet_core::nouns::{Phase, RepeatClass, ToolCall, ToolEffect, ToolSpec};
use callsheet_format::edit::{Change, ChangeWay, Files, Outlines, ShownFiles, SymbolPosition, headings, validate};
use callsheet_format::reading::{Answer, Diagnostics, FileFacts, Lookup, ReadContext};
use callsheet_format::reply::calls::{BlockForm, CallBlock, CallRules, read_calls, read_plan_calls};
use callsheet_format::reply::task::{
    TurnInput, read_execution, read_loop_turn, read_merge, read_refinement, read_write_execution,
};
use callsheet_format::reply::{ReplyKind, lookups};
use proptest::prelude::*;
use serde_json::{Value, json};

fn context() -> ReadContext {
    let tool = ToolSpec {
        name: "search_text".into(),
        description: String::new(),
        parameters: json!({"type": "object"}),
        effect: ToolEffect::Read,
        repeat: RepeatClass::Read,
        exclusive: false,
        named_only: false,
        aliases: Vec::new(),
        granted_as: None,
    };
    ReadContext { tools: vec![tool.into()], ..ReadContext::default() }
}

/// Fragments of replies, put together in any order.
fn soup() -> impl Strategy<Value = String> {
    let bits = prop::sample::select(vec![
        "## Task\n",
        "## Tool Calls\n",
        "## Result summary\n",
        "## Change details\n",
        "### Details\n",
        "## Details (2)\n",
        "- **What is needed** x\n",
        "- **References** [a](b.md#L3) `c`\n",
        "- **Skill call** {\"name\":\n",
        "- **Filename** a/b\n",
        "- **file_path** a.md\n",
        "- **start_line** 1\n",
        "- **end_line** 0\n",
        "- **complete_file** yes\n",
        "- **overwrite** true\n",
        "- **output_mode** next_section\n",
        "- **ast_path** é\n",
        "- **location** remove\n",
        "- lines 1-2\n",
        "```json\n",
        "```\n",
        "~~~~\n",
        "{\"name\": \"search_text\", \"arguments\": {}}\n",
        "<tool_call>",
        "<function=search_text>",
        "<parameter=é>",
        "</function>",
        "**no changes needed**\n",
        "**more work needed**\n",
        "<think>",
        "</think>",
        "é\u{a0}\u{201c}",
        "\n",
        "  ",
        "[",
        "](",
        "{'a",
        "text\n",
    ]);
    prop::collection::vec(bits, 0..40).prop_map(|bits| bits.concat())
}

fn read_all(text: &str) {
    let mut context = context();
    for kind in
        [ReplyKind::Refinement, ReplyKind::Execution, ReplyKind::WriteExecution, ReplyKind::Merge, ReplyKind::ToolCalls]
    {
        for lookup in lookups(kind, text, &context) {
            let answer = match &lookup {
                Lookup::Path { path, .. } => {
                    Answer::File(FileFacts { path: path.clone(), lines: 3, ..FileFacts::default() })
                }
                Lookup::Content(_) => Answer::Content("# é\r\n\r\ntext\n".into()),
                Lookup::Glob(_) => Answer::Matches(Vec::new()),
                Lookup::Symbols(_) => Answer::NoSymbols,
                Lookup::Call { .. } => Answer::Startable,
                Lookup::Resource { .. } => Answer::Unreadable("a test has no servers".to_owned()),
            };
            context.answers.insert(lookup, answer);
        }
    }
    let lines = u32::try_from(text.lines().count().max(1)).unwrap() + 1;
    let spans = |issues: &[callsheet_core::issue::Issue]| {
        assert!(
            issues.iter().all(|issue| issue.place.span.first >= 1 && issue.place.span.last <= lines),
            "{issues:#?}"
        );
    };
    spans(&read_refinement(text, &context).issues);
    spans(&read_execution(text, &context).issues);
    spans(&read_merge(text, &context).issues);
    let written = read_write_execution(text, &context);
    spans(&written.issues);
    assert!(written.is_accepted() || written.value.edits.is_empty());
    let taken = BTreeSet::new();
    spans(&read_loop_turn(text, TurnInput { native: &[], taken_ids: &taken, tools_offered: true }, &context).issues);
}

fn arguments() -> impl Strategy<Value = Value> {
    prop::collection::btree_map(
        "[a-z]{1,6}",
        prop_oneof![any::<String>().prop_map(Value::from), any::<i64>().prop_map(Value::from)],
        0..4,
    )
    .prop_map(|map| Value::Object(map.into_iter().collect()))
}

fn compose_one(before: &str, way: ChangeWay) -> Result<Option<String>, IssueCode> {
    let files: Files = BTreeMap::from([("a.md".to_owned(), before.to_owned())]);
    let shown = ShownFiles { in_full: &BTreeMap::new(), in_part: &BTreeMap::new() };
    let change = Change { path: "a.md".into(), way, span: Span { first: 1, last: 1 } };
    let reading = validate(&[change], &files, &Outlines::new(), shown);
    match reading.issues.iter().find(|issue| issue.severity == Severity::Error) {
        Some(issue) => Err(issue.code),
        None => Ok(reading.value.into_iter().next().and_then(|edit| edit.after)),
    }
}

/// A byte order mark or none, and lines that differ, each with an ending of its own but the last, which may have none.
fn odd_file() -> impl Strategy<Value = (String, Vec<String>)> {
    let line = ("[a-c ]{0,2}", prop::sample::select(vec!["\n", "\r\n"]));
    (any::<bool>(), prop::collection::vec(line, 1..8), any::<bool>()).prop_map(|(marked, lines, open)| {
        let count = lines.len();
        let ending = |at: usize, ending: &'static str| if open && at + 1 == count { "" } else { ending };
        let lines = lines.into_iter().enumerate().map(|(at, (words, end))| format!("{at}{words}.{}", ending(at, end)));
        (if marked { "\u{feff}".to_owned() } else { String::new() }, lines.collect())
    })
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_reply_panics(text in any::<String>()) {
        read_all(&text);
    }

    #[test]
    fn no_mixture_of_the_formats_panics(text in soup()) {
        read_all(&text);
    }

    #[test]
    fn canonical_calls_are_read_as_they_stand(list in prop::collection::vec(arguments(), 1..5)) {
        let calls: Vec<ToolCall> = list.into_iter().enumerate()
            .map(|(n, mut arguments)| {
                arguments["n"] = Value::from(n);
                ToolCall { name: "search_text".into(), id: format!("s{n}"), arguments }
            })
            .collect();
        let blocks: Vec<CallBlock> = calls.iter()
            .map(|call| CallBlock {
                text: serde_json::to_string_pretty(call).unwrap(),
                form: BlockForm::Fence { tag: "json".into() },
                line: 1,
                lenient: false,
            })
            .collect();
        let (context, taken) = (context(), BTreeSet::new());
        let allowed = ["search_text".to_owned()];
        let mut notes = Diagnostics::new(Phase::Refine, false);
        let read = read_calls(&blocks, &CallRules { allowed: &allowed, context: &context, taken_ids: &taken, must_start: true }, &mut notes);
        prop_assert_eq!(read, calls);
        prop_assert!(notes.repairs().is_empty() && notes.issues().is_empty());
    }

    #[test]
    fn a_change_of_lines_leaves_the_others(
        before in "([a-é ]{0,4}\n){0,8}[a-c]{0,3}", first in 0u32..10, length in 0u32..4, new in "([x-z]{0,3}\n){0,3}"
    ) {
        let last = (first + length).saturating_sub(1);
        let mut lines: Vec<&str> = before.lines().collect();
        let count = u32::try_from(lines.len()).unwrap();
        let result = compose_one(&before, ChangeWay::Lines { first, last, new: new.clone() });
        if first == 0 || last > count || last + 1 < first {
            prop_assert_eq!(result, Err(IssueCode::LinesOutOfRange));
        } else {
            lines.splice(first as usize - 1..last as usize, new.lines());
            let end = if lines.is_empty() || (!before.is_empty() && !before.ends_with('\n')) { "" } else { "\n" };
            prop_assert_eq!(result.unwrap().unwrap(), format!("{}{end}", lines.join("\n")));
        }
    }

    #[test]
    fn line_endings_of_a_file_are_kept(lines in prop::collection::vec("[a-c]{0,3}", 1..8), at in 0usize..8) {
        let line = u32::try_from(at.min(lines.len() - 1) + 1).unwrap();
        let before = lines.join("\r\n") + "\r\n";
        let after = compose_one(&before, ChangeWay::Lines { first: line, last: line, new: "x\ny\n".into() }).unwrap().unwrap();
        let mut expected: Vec<&str> = lines.iter().map(String::as_str).collect();
        expected.splice(line as usize - 1..line as usize, ["x", "y"]);
        prop_assert_eq!(after, expected.join("\r\n") + "\r\n");
    }

    /// One change of whole lines of a file of any form: with a byte order mark or not, with mixed line endings, with or
    /// without a final newline.
    #[test]
    fn lines_that_stay_keep_their_bytes(
        file in odd_file(), first in 0usize..8, length in 0usize..4, new in prop::collection::vec("[xyz]{0,2}", 0..4),
        excerpt in any::<bool>(), keeps in any::<bool>()
    ) {
        let (mark, lines) = &file;
        let first = first.min(lines.len() - 1);
        let last = (first + length).min(lines.len() - 1);
        let before = format!("{mark}{}", lines.concat());
        let plain = |line: &String| line.trim_end_matches(['\n', '\r']).to_owned();
        let old: Vec<String> = lines[first..=last].iter().map(plain).collect();
        // The first of the lines may stay.
        let new: Vec<String> = old.iter().take(usize::from(keeps)).cloned().chain(new).collect();
        let text = |lines: &[String]| lines.join("\n");
        // What is left of an open end must be a line that says something.
        prop_assume!(new.last().is_some_and(|line| !line.is_empty()));
        let way = if excerpt {
            ChangeWay::Excerpt { old: text(&old), new: text(&new) }
        } else {
            let number = |at: usize| u32::try_from(at + 1).unwrap();
            ChangeWay::Lines { first: number(first), last: number(last), new: format!("{}\n", text(&new)) }
        };
        let after = compose_one(&before, way).unwrap().unwrap();
        let rest = after.strip_prefix(mark.as_str()).unwrap();
        prop_assert_eq!(rest.matches('\u{feff}').count(), 0);
        prop_assert_eq!(rest.ends_with('\n'), before.ends_with('\n'));
        let made: Vec<String> = rest.split_inclusive('\n').map(str::to_owned).collect();
        let mut expected: Vec<String> = lines.iter().map(plain).collect();
        expected.splice(first..=last, new.iter().cloned());
        prop_assert_eq!(made.iter().map(plain).collect::<Vec<_>>(), expected);
        // The last line has an ending or none as it had before, whatever line it is.
        let staying = (first + usize::from(keeps)).min(made.len() - 1).min(lines.len() - 1);
        prop_assert_eq!(&made[..staying], &lines[..staying]);
        let behind = lines.len() - 1 - last;
        prop_assert_eq!(&made[made.len() - behind..], &lines[last + 1..]);
    }

    #[test]
    fn an_excerpt_is_a_whole_line_and_replaced_only_if_it_stands_once(before in "([ab]{1,2}\n){0,8}[ab]{0,2}", old in "[ab]{1,2}", new in "[xy]{1,4}") {
        let lines = before.split('\n').map(|line| if line == old { &*new } else { line });
        let (after, count) = (lines.collect::<Vec<_>>().join("\n"), before.split('\n').filter(|line| *line == old).count());
        let result = compose_one(&before, ChangeWay::Excerpt { old: old.clone(), new: new.clone() });
        match count {
            0 => prop_assert_eq!(result, Err(IssueCode::ExcerptNotFound)),
            1 => prop_assert_eq!(result.unwrap().unwrap(), after),
            _ => prop_assert_eq!(result, Err(IssueCode::ExcerptAmbiguous)),
        }
    }

    #[test]
    fn removing_a_section_leaves_the_other_sections(titles in prop::collection::vec("[a-f]{3}", 1..6), at in 0usize..6) {
        let before: String = titles.iter().enumerate().map(|(n, title)| format!("## {title}{n}\n\nText {n}.\n\n")).collect();
        let wanted = titles.get(at).map(|title| format!("{title}{at}")).unwrap_or("none".into());
        let way = ChangeWay::Symbol { path: wanted.clone(), location: SymbolPosition::Remove, new: None };
        match compose_one(&before, way) {
            Ok(after) => {
                let after = after.unwrap();
                let left: Vec<String> = headings(&after).into_iter().map(|heading| heading.title).collect();
                let expected: Vec<String> =
                    titles.iter().enumerate().filter(|(n, _)| *n != at).map(|(n, title)| format!("{title}{n}")).collect();
                prop_assert_eq!(left, expected);
                prop_assert_eq!(after.len(), before.len() - format!("## {wanted}\n\nText {at}.\n\n").len());
            }
            Err(code) => prop_assert!(code == IssueCode::SymbolNotFound && at >= titles.len()),
        }
    }
}

#[test]
fn a_bad_call_of_a_plan_costs_only_a_refinement() {
    let block = |text: &str| CallBlock {
        text: text.into(),
        form: BlockForm::Fence { tag: "json".into() },
        line: 4,
        lenient: false,
    };
    let blocks = [block("{\"name\": \"search_text\", \"id\": \"a\"}"), block("{\"name\": \"gone\"}")];
    let (context, taken) = (context(), BTreeSet::new());
    let allowed = ["search_text".to_owned()];
    let rules = CallRules { allowed: &allowed, context: &context, taken_ids: &taken, must_start: true };
    let mut notes = Diagnostics::new(Phase::Plan, false);
    assert!(read_plan_calls(&blocks, &rules, &mut notes).is_empty());
    let issues = notes.issues();
    assert_eq!(issues.len(), 1);
    assert_eq!((issues[0].code, issues[0].severity), (IssueCode::CallDropped, Severity::Warning));
    assert_eq!(issues[0].raw.as_deref(), Some("{\"name\": \"gone\"}"));
    let mut notes = Diagnostics::new(Phase::Plan, false);
    assert_eq!(read_plan_calls(&blocks[..1], &rules, &mut notes).len(), 1);
}
