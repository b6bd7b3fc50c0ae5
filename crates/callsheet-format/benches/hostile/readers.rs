//! All that reads texts of models and files, beside the kinds of replies of a run.

use std::collections::BTreeSet;

use callsheet_core::nouns::Phase;
use callsheet_format::reply::json_form::read_json_form;
use callsheet_format::reply::{ReplyKind, read_answer, read_review, read_route, unsupported};
use callsheet_format::sheet::{headings, merge_runs};
use callsheet_format::{edit, grammar, template};

/// Replies of a run.
pub const KINDS: [ReplyKind; 9] = [
    ReplyKind::Plan,
    ReplyKind::Sheet,
    ReplyKind::Iteration,
    ReplyKind::Continuation,
    ReplyKind::Refinement,
    ReplyKind::Execution,
    ReplyKind::WriteExecution,
    ReplyKind::Merge,
    ReplyKind::ToolCalls,
];

/// A reader, with what a person calls it; it gives how much it found.
pub type Other = (&'static str, fn(&str) -> usize);

/// Other readers, with what a person calls them.
pub const OTHERS: [Other; 15] = [
    ("answer", |text| read_answer(text, false).issues.len()),
    ("review", |text| read_review(text).issues.len()),
    ("route", |text| read_route(text, &["find_code", "review"], &["a.md".to_owned()]).issues.len()),
    ("unsupported", |text| unsupported(text, &[text.get(..text.len() / 2).unwrap_or("a")]).len()),
    ("headings", |text| headings(text).len()),
    ("merge", |text| merge_runs("", &[("a", "b", text), ("c", text, "d")]).1.len()),
    ("JSON twin", |text| {
        read_json_form(text, &grammar::execution(), Phase::Execute).map_or(0, |form| form.issues.len())
    }),
    ("template", |text| template::read_file("a.xml", text.as_bytes()).issues.len()),
    ("short template", |text| template::read_file("a.yaml", text.as_bytes()).issues.len()),
    ("short template body", |text| {
        let body = format!("template: a\nask: |\n  {}\n", text.replace('\n', "\n  "));
        template::read_file("a.yaml", body.as_bytes()).issues.len()
    }),
    ("template body", |text| {
        let body = format!(
            "<templates><template name=\"a\"><task><description>{text}</description></task></template></templates>"
        );
        template::read_file("a.xml", body.as_bytes()).issues.len()
    }),
    ("XML reply", |text| template::read_reply(text, false).content.len()),
    ("XML in a reply", |text| template::found_xml(text).map_or(0, str::len) + template::xml_beside(text).len()),
    ("handler", |text| match template::read_turn(text, &[], &BTreeSet::new(), false) {
        template::Said::Calls(calls, _) => calls.len(),
        template::Said::Final => 0,
    }),
    ("diff", |text| edit::unified("a.md", Some(text), Some(&text.replacen('a', "b", 1_000))).len()),
];
