//! One check a reader: beyond not panicking, the laws of spec 4.1. Spans lie inside the text, excerpts are short, reading
//! is deterministic, and what was read reads back from its rendering without repairs and without new issues.

use std::collections::{BTreeMap, BTreeSet};

use callsheet_core::fence::fence;
use callsheet_core::issue::{Issue, Repair, Severity, Span};
use callsheet_core::links::{link, link_target, parse_target};
use callsheet_core::nouns::{Phase, Reference, SkillForm, SkillLayer, SkillSource, Target};
use callsheet_core::template::{Bound, Environment, Expression, Filled, Origin, Trust, resolve_text};
use callsheet_format::edit::{Change, ChangeWay, Files, ShownFiles, SymbolPosition, diff_of, headings, validate};
use callsheet_format::markdown::{Document, Format, Heading, LabelRule, Prepare, Rule, from_bytes};
use callsheet_format::reading::{Diagnostics, ReadContext, Reading};
use callsheet_format::reply::references::written_links;
use callsheet_format::reply::task::{
    TurnInput, read_execution, read_loop_turn, read_merge, read_refinement, read_write_execution,
};
use callsheet_format::reply::{
    ExecutionReply, ListReply, LoopTurn, ReplyKind, json, read_continuation, read_iteration, read_plan, read_sheet,
};
use callsheet_format::sheet::{SheetTask, TaskForm, render_goals, render_list, render_plan, render_sheet, render_task};
use callsheet_format::skill::{SkillContext, SkillFile, read_skill};
use callsheet_format::template::{
    Known, Layer, Library, TemplateFile, print_templates, read_file, read_reply, read_text,
};

use super::world::{settle, world};

/// All targets, by name.
pub const TARGETS: &[&str] = &[
    "plan",
    "sheet",
    "iteration",
    "continuation",
    "refinement",
    "execution",
    "write_execution",
    "merge",
    "tool_calls",
    "skill",
    "json",
    "references",
    "changes",
    "markdown",
    "template",
    "reply_xml",
    "placeholder",
    "expression",
];

/// Longest input, bytes; longer ones are the business of the benchmark.
const LONGEST: usize = 64 * 1024;

/// Checks one input of a target.
pub fn check(target: &str, bytes: &[u8]) {
    if bytes.len() > LONGEST {
        return;
    }
    let text = from_bytes(bytes);
    match target {
        "plan" => list(ReplyKind::Plan, &text),
        "sheet" => list(ReplyKind::Sheet, &text),
        "iteration" => list(ReplyKind::Iteration, &text),
        "continuation" => list(ReplyKind::Continuation, &text),
        "refinement" => refinement(&text),
        "execution" => result(ReplyKind::Execution, &text),
        "write_execution" => writer(&text),
        "merge" => result(ReplyKind::Merge, &text),
        "tool_calls" => turn(&text),
        "skill" => skill(&text),
        "json" => json_values(&text),
        "references" => references(&text),
        "changes" => changes(&text),
        "markdown" => markdown(&text),
        "template" => template(bytes),
        "reply_xml" => reply_xml(&text),
        "placeholder" => placeholder(&text),
        "expression" => expression(&text),
        other => panic!("no target {other}"),
    }
}

/// Spans inside the text, excerpts within their limits.
fn notes(text: &str, repairs: &[Repair], issues: &[Issue]) {
    let lines = u32::try_from(text.replace("\r\n", "\n").replace('\r', "\n").split('\n').count()).unwrap_or(u32::MAX);
    let inside = |span: Span| span.first >= 1 && span.first <= span.last && span.last <= lines;
    for repair in repairs {
        assert!(inside(repair.span), "{repair:?} in {lines} lines");
        assert!(repair.before.chars().count() <= 120 && repair.after.chars().count() <= 120, "{repair:?}");
    }
    for issue in issues {
        assert!(inside(issue.place.span), "{issue:?} in {lines} lines");
        assert!(issue.raw.as_ref().is_none_or(|raw| raw.chars().count() <= 2_000), "{issue:?}");
        assert!(issue.allowed.len() <= 30, "{issue:?}");
        assert!(!issue.what.is_empty() && !issue.to_string().is_empty());
    }
}

fn errors(issues: &[Issue]) -> usize {
    issues.iter().filter(|issue| issue.severity == Severity::Error).count()
}

/// No issue of a code that the first reading lacked.
fn no_new_issue(first: &[Issue], again: &[Issue], rendered: &str) {
    for issue in again {
        assert!(first.iter().any(|known| known.code == issue.code), "new issue {issue} in\n{rendered}");
    }
}

fn read_list(kind: ReplyKind, text: &str, context: &ReadContext) -> Reading<ListReply> {
    match kind {
        ReplyKind::Sheet => read_sheet(text, context),
        ReplyKind::Iteration => read_iteration(text, context),
        ReplyKind::Continuation => read_continuation(text, context),
        _ => read_plan(text, context),
    }
}

fn list(kind: ReplyKind, text: &str) {
    let mut context = world();
    settle(kind, text, &mut context);
    let first = read_list(kind, text, &context);
    notes(text, &first.repairs, &first.issues);
    assert_eq!(first, read_list(kind, text, &context), "reading twice");
    if !first.is_accepted() {
        return;
    }
    let mut list = first.value.list.clone();
    list.tasks_mut().for_each(|task| task.calls.clear());
    let rendered = match kind {
        ReplyKind::Sheet => {
            let prompt = first.value.prompt.as_deref().unwrap_or("");
            render_sheet(prompt, &list.goals, &SheetTask::of_list(&list), &first.value.beside.no_longer_relevant)
        }
        ReplyKind::Plan => render_plan(&list),
        _ => format!("{}{}", render_goals(&list.goals), render_list(&list)),
    };
    settle(kind, &rendered, &mut context);
    let again = read_list(kind, &rendered, &context);
    assert_eq!(again.value.list, list, "rendered\n{rendered}");
    assert_eq!(again.value.prompt, first.value.prompt, "rendered\n{rendered}");
    assert!(again.repairs.is_empty(), "{:?} in\n{rendered}", again.repairs);
    no_new_issue(&first.issues, &again.issues, &rendered);
}

fn refinement(text: &str) {
    let mut context = world();
    settle(ReplyKind::Refinement, text, &mut context);
    let first = read_refinement(text, &context);
    notes(text, &first.repairs, &first.issues);
    assert_eq!(first, read_refinement(text, &context), "reading twice");
    if !first.is_accepted() {
        return;
    }
    let Some(mut task) = context.current.clone() else { return };
    first.value.apply_to(&mut task);
    let rendered = format!("## Task\n{}", render_task(&task, TaskForm::Refinement, None));
    settle(ReplyKind::Refinement, &rendered, &mut context);
    let again = read_refinement(&rendered, &context);
    let mut same = context.current.clone().unwrap_or_else(|| task.clone());
    again.value.apply_to(&mut same);
    assert_eq!((&same.need, &same.expected, &same.calls), (&task.need, &task.expected, &task.calls), "\n{rendered}");
    if !task.references.is_empty() {
        assert_eq!(same.references, task.references, "\n{rendered}");
    }
    assert!(again.repairs.is_empty(), "{:?} in\n{rendered}", again.repairs);
    no_new_issue(&first.issues, &again.issues, &rendered);
}

/// The document of a result reads as the same result.
fn result(kind: ReplyKind, text: &str) {
    let mut context = world();
    settle(kind, text, &mut context);
    let read = |text: &str, context: &ReadContext| match kind {
        ReplyKind::Merge => read_merge(text, context),
        _ => read_execution(text, context),
    };
    let first = read(text, &context);
    notes(text, &first.repairs, &first.issues);
    assert_eq!(first, read(text, &context), "reading twice");
    if first.is_accepted() {
        let document = first.value.document.clone();
        settle(kind, &document, &mut context);
        let again = read(&document, &context);
        same_result(&again.value, &first.value);
    }
}

fn same_result(again: &ExecutionReply, first: &ExecutionReply) {
    assert_eq!(again.summary, first.summary, "document\n{}", first.document);
    assert_eq!(again.details, first.details, "document\n{}", first.document);
    assert_eq!(again.more_work, first.more_work, "document\n{}", first.document);
}

fn writer(text: &str) {
    let mut context = world();
    settle(ReplyKind::WriteExecution, text, &mut context);
    let first = read_write_execution(text, &context);
    notes(text, &first.repairs, &first.issues);
    assert_eq!(first, read_write_execution(text, &context), "reading twice");
    assert!(first.is_accepted() || first.value.edits.is_empty(), "a refused set has edits");
    let paths: BTreeSet<&String> = first.value.edits.iter().map(|edit| &edit.path).collect();
    assert_eq!(paths.len(), first.value.edits.len(), "one edit a file");
    diff_of(&first.value.edits);
}

fn turn(text: &str) {
    let mut context = world();
    settle(ReplyKind::ToolCalls, text, &mut context);
    let taken = BTreeSet::new();
    let input = TurnInput { native: &[], taken_ids: &taken, tools_offered: true };
    let first = read_loop_turn(text, input, &context);
    notes(text, &first.repairs, &first.issues);
    assert_eq!(first, read_loop_turn(text, input, &context), "reading twice");
    if let LoopTurn::Calls(calls) = &first.value
        && first.is_accepted()
    {
        let mut rendered = "## Tool Calls\n".to_owned();
        for call in calls {
            let call = serde_json::to_string_pretty(call).unwrap_or_default();
            rendered.push_str(&format!("\n{}\n", fence("json", &call)));
        }
        let again = read_loop_turn(&rendered, input, &context);
        assert_eq!(again.value, first.value, "\n{rendered}");
        assert!(again.repairs.is_empty() && errors(&again.issues) == 0, "{again:?} in\n{rendered}");
    }
}

fn skill(text: &str) {
    let context = SkillContext::default();
    for (form, path) in [(SkillForm::SingleFile, "a.md"), (SkillForm::Folder, "a/SKILL.md")] {
        let source = SkillSource { layer: SkillLayer::Project, path: path.to_owned() };
        let file = SkillFile { form, stem: "a".to_owned(), source, text: text.to_owned() };
        let (skill, issues) = read_skill(&file, context);
        assert_eq!((&skill, &issues), (&read_skill(&file, context).0, &issues), "reading twice");
        assert!(skill.is_some() || !issues.is_empty(), "a skill is lost without a word");
        if let Some(skill) = skill {
            assert!(!skill.name.is_empty() && !skill.execution.trim().is_empty(), "{skill:?}");
        }
    }
}

fn json_values(text: &str) {
    if let Ok(document) = json::read_document(text) {
        let mut reached = 0;
        for value in &document.values {
            assert!(reached <= value.start && value.start < value.end, "{value:?}");
            assert!(text.get(value.start..value.end).is_some(), "{value:?}");
            reached = value.end;
            let strict = value.value.to_string();
            let again = json::read_document(&strict).expect("strict JSON is read");
            assert!(again.repairs.is_empty(), "{strict}: {:?}", again.repairs);
            assert_eq!(again.values.first().map(|again| &again.value), Some(&value.value), "{strict}");
        }
    }
    if let Ok(strict) = serde_json::from_str::<serde_json::Value>(text)
        && let Ok(document) = json::read_document(text)
    {
        assert!(document.repairs.is_empty(), "strict JSON was repaired: {:?}", document.repairs);
        assert_eq!(document.values.first().map(|read| &read.value), Some(&strict));
    }
    let mut scanner = json::Scanner::new(text);
    for (at, _) in text.match_indices(['{', '[']).take(200) {
        match scanner.one(at) {
            Ok(document) => assert!(document.values.iter().all(|value| text.get(value.start..value.end).is_some())),
            Err(fault) => assert!(fault.reached <= text.len() && fault.at <= text.len(), "{fault:?}"),
        }
    }
}

fn references(text: &str) {
    for link in written_links(text) {
        assert!(link.line < text.lines().count().max(1));
        target(&link.target, &link.title);
    }
    for line in text.lines().take(100) {
        target(line, "");
    }
}

/// A target reads back from its link.
fn target(written: &str, title: &str) {
    let Ok(target) = parse_target(written) else { return };
    let canonical = link_target(&target);
    let again = parse_target(&canonical).unwrap_or_else(|fault| panic!("{written:?} as {canonical:?}: {fault:?}"));
    // Whether a path is a directory is written into its link only.
    let plain = |target: &Target| target.to_string().trim_end_matches('/').to_owned();
    assert_eq!(plain(&again), plain(&target), "{written:?} as {canonical:?}");
    let reference = Reference { title: title.to_owned(), target };
    let written = link(&reference);
    let links = written_links(&written);
    let [one] = links.as_slice() else { panic!("{written:?} gives {links:?}") };
    assert_eq!(one.target, canonical, "{written:?}");
    assert!(one.linked, "{written:?}");
}

/// Changes from a small language: the first line is the file, further lines are changes.
fn changes(text: &str) {
    let (head, tail) = text.split_once("\u{1}").unwrap_or((text, ""));
    let files: Files = BTreeMap::from([("a.md".to_owned(), head.to_owned())]);
    let mut all = Vec::new();
    for (index, words) in tail.split('\u{1}').enumerate().take(8) {
        let (first, rest) = words.split_once('\u{2}').unwrap_or((words, ""));
        let number = |text: &str| text.trim().parse::<u32>().ok();
        let way = match (number(first), rest.split_once('\u{2}')) {
            (Some(first), Some((last, new))) => {
                ChangeWay::Lines { first, last: number(last).unwrap_or(first), new: new.to_owned() }
            }
            (Some(_), None) => ChangeWay::Whole { content: rest.to_owned(), overwrite: true },
            (None, Some((path, new))) => {
                ChangeWay::Symbol { path: path.to_owned(), location: location(first), new: Some(new.to_owned()) }
            }
            (None, None) => ChangeWay::Excerpt { old: first.to_owned(), new: rest.to_owned() },
        };
        let line = u32::try_from(index + 1).unwrap_or(1);
        all.push(Change { path: "a.md".to_owned(), way, span: Span::line(line) });
    }
    let none = BTreeMap::new();
    let reading =
        validate(&all, &files, &std::collections::BTreeMap::new(), ShownFiles { in_full: &none, in_part: &none });
    assert_eq!(errors(&reading.issues) > 0, reading.value.is_empty() && !all.is_empty(), "{reading:?}");
    for edit in &reading.value {
        assert_eq!(edit.before.as_deref(), Some(head));
        if let [Change { way: ChangeWay::Excerpt { old, new }, .. }] = all.as_slice()
            && !old.is_empty()
            && !new.is_empty()
            && !old.contains(['\n', '\r'])
            && !new.contains(['\n', '\r'])
            && !head.starts_with('\u{feff}')
            && reading.repairs.is_empty()
        {
            assert_eq!(edit.after.as_deref(), Some(head.replacen(old.as_str(), new, 1).as_str()));
        }
    }
    diff_of(&reading.value);
    for heading in headings(head) {
        assert!(heading.first <= heading.last && heading.last <= heading.last_blank, "{heading:?}");
    }
}

fn location(word: &str) -> SymbolPosition {
    match word.trim() {
        "before" => SymbolPosition::Before,
        "after" => SymbolPosition::After,
        "remove" => SymbolPosition::Remove,
        "comment" => SymbolPosition::ReplaceWithComment,
        _ => SymbolPosition::Replace,
    }
}

const FORMAT: Format = Format {
    rules: &[
        Rule { heading: Heading::Goals, title: "Goals / summary", level: 2, synonyms: &["Goals"], numbered: false },
        Rule { heading: Heading::Tasks, title: "Tasks", level: 2, synonyms: &["Plan"], numbered: false },
        Rule { heading: Heading::TaskSection, title: "Task section", level: 3, synonyms: &["Step"], numbered: true },
    ],
    markers: &["plan complete"],
    plain_titles: true,
};

const LABELS: &[LabelRule] =
    &[LabelRule { name: "Name", synonyms: &["Title"] }, LabelRule { name: "What is needed", synonyms: &["Goal"] }];

fn markdown(text: &str) {
    let mut found = Diagnostics::new(Phase::Plan, false);
    let document = Document::read(text, &FORMAT, Prepare::default(), &mut found);
    notes(text, found.repairs(), found.issues());
    let mut reached = document.preamble.end;
    for section in &document.sections {
        assert!(reached <= section.line && section.line < section.body.start, "{section:?}");
        assert!(section.body.start <= section.body.end && section.body.end <= document.len(), "{section:?}");
        reached = section.body.end;
        let lines = document.span(section.body.clone());
        for piece in document.pieces(section.body.clone(), LABELS) {
            assert!(lines.first <= piece.span.first && piece.span.last <= lines.last, "{piece:?} in {lines:?}");
        }
    }
    let mut last = 0;
    for fence in &document.fences {
        assert!(last < fence.span.first && fence.span.first <= fence.span.last, "{fence:?}");
        last = fence.span.last;
    }
}

/// A file gives issues inside it, the same ones twice; a sound template prints and reads back to an equal tree; a
/// library of it is checked.
fn template(bytes: &[u8]) {
    let reading = read_file("a.xml", bytes);
    assert_eq!(reading, read_file("a.xml", bytes));
    for (_, issue) in &reading.issues {
        assert!(issue.line > 0 && issue.column > 0, "{issue:?}");
        assert!((issue.line, issue.column) <= (issue.end_line, issue.end_column), "{issue:?}");
    }
    for template in reading.templates.iter().filter(|template| !reading.is_faulty(template, false)) {
        let printed = print_templates([template]);
        assert_eq!(read_text("b.xml", &printed).templates.first(), Some(template), "{printed}");
    }
    let file = TemplateFile { layer: Layer::Project, file: "a.xml".to_owned(), bytes: bytes.to_vec() };
    let library = Library::load(&[file], &Known::default(), true);
    assert!(library.templates().all(|loaded| !library.unavailable().contains(&loaded.template.name)));
}

/// A reply is never refused: without an envelope or trailing notes it is its own content, byte for byte.
fn reply_xml(text: &str) {
    let read = read_reply(text, false);
    assert_eq!(read, read_reply(text, false));
    let hopeless = read.xml.as_ref().is_none_or(|xml| xml.error.is_some());
    assert!(read.envelope || !hopeless || read.content == text, "{text:?}");
    for warning in read.xml.iter().flat_map(|xml| xml.warnings.iter().chain(&xml.error)) {
        assert!(warning.line > 0 && warning.column > 0, "{warning:?}");
    }
    assert_eq!(read_reply(text, true).content, text);
}

/// Placeholders of any text are found; the canonical text holds the same ones; what is filled in is not read again.
fn placeholder(text: &str) {
    let read = |text: &str| serde_json::from_value::<Filled>(text.into()).unwrap_or_default();
    let filled = read(text);
    assert_eq!(read(&filled.to_string()), filled);
    let value = "{{a}} {{{{ </task>";
    let names = filled.paths().map(|path| (path.name.clone(), Bound::json(value, Trust::Model)));
    let environment = Environment::root(names);
    let mut missing = Vec::new();
    let resolved = resolve_text(&filled, &environment, "field", &Origin::default(), "task", &mut missing);
    let found = filled.paths().filter(|path| path.steps.is_empty()).count();
    assert!(resolved.as_str().matches(value).count() >= found, "{text:?}");
    assert_eq!(missing.len(), filled.paths().count() - found);
}

/// An expression is refused at a place inside it, or means the same when it is read from its own text.
fn expression(text: &str) {
    match Expression::parse(text) {
        Err((at, _)) => assert!(at <= text.len(), "{text:?}"),
        Ok(expression) => {
            let outcome = expression.evaluate(&mut |path| (path.name.len() > 1).then(|| path.name.clone().into()));
            let again = Expression::parse(expression.as_str());
            assert_eq!(again.as_ref(), Ok(&expression));
            assert_eq!(expression.evaluate(&mut |_| None), expression.evaluate(&mut |_| None));
            assert!(outcome.unknown.len() <= expression.paths().len());
        }
    }
}
