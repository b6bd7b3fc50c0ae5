//! Replies about one task, as fixtures: `fixtures/tasks/<kind>/<name>.txt`, each with a world, a reply and what reading
//! it must give. `UPDATE_EXPECT=1` rewrites the expectations.
#![allow(clippy::disallowed_methods, clippy::disallowed_macros, reason = "tests read fixtures and say what they skip")]
#![allow(clippy::unwrap_used)] // Helpers of tests; the lint knows only test functions.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use callsheet_core::issue::Severity;
use callsheet_core::links::decode;
use callsheet_core::links::parse_name;
use callsheet_core::nouns::{
    BlobId, Fragment, Reference, RepeatClass, Skill, SkillForm, SkillLayer, SkillMode, SkillPolicy, SkillSource, Slug,
    Task, ToolCall, ToolEffect, ToolSpec,
};
use callsheet_core::symbols::{Symbol, SymbolKind};
use callsheet_format::edit::diff_of;
use callsheet_format::reading::{Answer, Candidates, FileFacts, KnownTask, Lookup, ReadContext, Reading};
use callsheet_format::reply::calls::canonical;
use callsheet_format::reply::task::{
    TurnInput, document_headings, read_execution, read_loop_turn, read_merge, read_refinement, read_write_execution,
    summary_files, summary_with_details,
};
use callsheet_format::reply::{ExecutionReply, LoopTurn, ReplyKind, lookups};
use serde_json::json;

/// A fixture: header lines `key: value`, then parts, each introduced by a line `===== name`.
struct Fixture {
    header: BTreeMap<String, String>,
    parts: Vec<(String, String)>,
}

impl Fixture {
    fn parse(text: &str) -> Self {
        let mut header = BTreeMap::new();
        let mut parts: Vec<(String, String)> = Vec::new();
        for line in text.split_inclusive('\n') {
            if let Some(name) = line.strip_prefix("===== ") {
                parts.push((name.trim().to_owned(), String::new()));
            } else if let Some((_, body)) = parts.last_mut() {
                body.push_str(line);
            } else if let Some((key, value)) = line.split_once(": ") {
                header.insert(key.trim().to_owned(), value.trim().to_owned());
            }
        }
        Self { header, parts }
    }

    fn part(&self, name: &str) -> Option<&str> {
        self.parts.iter().find(|(part, _)| part == name).map(|(_, body)| body.as_str())
    }

    fn get(&self, key: &str) -> Option<&str> {
        self.header.get(key).map(String::as_str)
    }

    fn list(&self, key: &str) -> Vec<String> {
        self.get(key).map(|value| value.split_whitespace().map(str::to_owned).collect()).unwrap_or_default()
    }
}

fn tool(name: &str, effect: ToolEffect, parameters: serde_json::Value) -> ToolSpec {
    ToolSpec {
        name: name.into(),
        description: String::new(),
        parameters,
        effect,
        repeat: RepeatClass::Read,
        exclusive: false,
        named_only: false,
        aliases: Vec::new(),
        granted_as: None,
    }
}

fn tools() -> Vec<ToolSpec> {
    let object = |properties: serde_json::Value, required: &[&str]| json!({"type": "object", "properties": properties, "required": required, "additionalProperties": false});
    vec![
        tool(
            "search_text",
            ToolEffect::Read,
            object(
                json!({"pattern": {"type": "string"}, "path": {"type": "string"}, "limit": {"type": "integer"},
                       "ignore_case": {"type": "boolean"}, "globs": {"type": "array", "items": {"type": "string"}},
                       "sizes": {"type": "array", "items": {"type": "integer"}}}),
                &["pattern"],
            ),
        ),
        tool(
            "read_file",
            ToolEffect::Read,
            object(json!({"path": {"type": "string"}, "line": {"type": ["integer", "null"]}}), &["path"]),
        ),
        tool(
            "list_files",
            ToolEffect::Read,
            object(json!({"path": {"type": "string"}, "depth": {"type": "integer", "minimum": 1, "maximum": 20}}), &[]),
        ),
        tool(
            "write_file",
            ToolEffect::Write,
            object(json!({"path": {"type": "string"}, "content": {"type": "string"}}), &["path", "content"]),
        ),
        tool(
            "run_command",
            ToolEffect::Execute,
            object(json!({"command": {"type": "string"}, "seconds": {"type": "integer", "minimum": 1}}), &["command"]),
        ),
    ]
}

fn skill(fixture: &Fixture) -> Skill {
    let tools = match fixture.get("tools") {
        Some("none") => Vec::new(),
        Some(_) => fixture.list("tools"),
        None => vec!["search_text".to_owned(), "read_file".to_owned()],
    };
    let policy = SkillPolicy {
        needs_arguments: tools.iter().any(|tool| tool != "write_file") && fixture.get("mode") != Some("loop"),
        writes_files: tools.iter().any(|tool| tool == "write_file"),
        writer: tools.iter().any(|tool| tool == "run_command").then(|| "it runs commands".to_owned()),
        mode: match fixture.get("mode") {
            Some("loop") => SkillMode::Loop,
            Some("template") => SkillMode::Template,
            _ => SkillMode::Interpret,
        },
        tools,
        ..SkillPolicy::default()
    };
    Skill {
        name: "find_code".into(),
        description: String::new(),
        form: SkillForm::SingleFile,
        source: SkillSource { layer: SkillLayer::Bundled, path: String::new() },
        refinement: String::new(),
        execution: "x".into(),
        examples: Vec::new(),
        input_requirements: String::new(),
        policy,
        text: String::new(),
    }
}

fn task(name: &str, skill: Option<&str>) -> Task {
    Task {
        name: name.into(),
        slug: Slug::new(name.to_lowercase().replace(' ', "-")),
        aliases: Vec::new(),
        need: "Every place that counts retries.".into(),
        skill: skill.map(str::to_owned),
        for_each: None,
        references: Vec::new(),
        expected: "File and line.".into(),
        approval: false,
        review: None,
        calls: Vec::new(),
        extra: String::new(),
    }
}

fn known(task: Task, step: u32, done: bool) -> KnownTask {
    KnownTask {
        task,
        step: Some(step),
        done,
        denied: false,
        headings: vec!["result-summary".into(), "table".into()],
        details: vec!["counters.csv".into()],
        tokens: 10,
        writer: false,
    }
}

/// Files are parts named `file <path> [full|part|stale|unseen|binary|link]`, and `symbols <path>` with a line
/// `NAME FIRST-LAST [OUTER]` for each symbol, or `NAME FIRST-LAST =TEXT` for one that is only that text of its line.
struct World {
    symbols: BTreeMap<String, Vec<Symbol>>,
    files: BTreeMap<String, (String, String)>,
    near: BTreeMap<String, String>,
    fixture: BTreeMap<String, String>,
}

impl World {
    fn of(fixture: &Fixture) -> Self {
        let mut files = BTreeMap::new();
        for (name, body) in &fixture.parts {
            if let Some(rest) = name.strip_prefix("file ") {
                let (path, how) = rest.split_once(' ').unwrap_or((rest, "full"));
                let mut body = body.replace("<CR>", "\r");
                if how.contains("open-end") {
                    body.truncate(body.trim_end_matches('\n').len());
                }
                files.insert(path.to_owned(), (body, how.to_owned()));
            }
        }
        let near = fixture
            .get("near")
            .map(|value| {
                value
                    .split(", ")
                    .filter_map(|pair| pair.split_once(" -> "))
                    .map(|(a, b)| (a.to_owned(), b.to_owned()))
                    .collect()
            })
            .unwrap_or_default();
        let outlines = fixture.parts.iter().filter_map(|(name, body)| Some((name.strip_prefix("symbols ")?, body)));
        let symbols = outlines
            .map(|(path, body)| {
                let text = &files.get(path).unwrap().0;
                (path.to_owned(), body.lines().map(|line| symbol(line, text)).collect())
            })
            .collect();
        Self { symbols, files, near, fixture: fixture.header.clone() }
    }

    fn has(&self, key: &str, path: &str) -> bool {
        self.fixture.get(key).is_some_and(|value| value.split_whitespace().any(|known| known == path))
    }

    fn answer(&self, lookup: &Lookup) -> Answer {
        match lookup {
            Lookup::Path { path, fragment } => self.path(path, fragment.as_ref()),
            Lookup::Content(path) => match self.files.get(path) {
                Some((text, _)) => Answer::Content(text.clone()),
                None => {
                    // The project is below `/project`.
                    let without_slash = path.strip_prefix("/project/").map(str::to_owned);
                    Answer::Missing(Candidates { without_slash, ..Candidates::default() })
                }
            },
            Lookup::Glob(_) => Answer::Matches(Vec::new()),
            Lookup::Symbols(path) => self.symbols.get(path).cloned().map_or(Answer::NoSymbols, Answer::Symbols),
            Lookup::Call { arguments, .. } if arguments.contains("no-such-program") => {
                Answer::Stuck("no-such-program could not be started: no such program here.".to_owned())
            }
            Lookup::Call { .. } => Answer::Startable,
            Lookup::Resource { .. } => Answer::Missing(Candidates::default()),
        }
    }

    fn path(&self, path: &str, fragment: Option<&Fragment>) -> Answer {
        if self.has("outside", path) {
            return Answer::Outside(Candidates::default());
        }
        if self.has("protected", path) {
            return Answer::Protected;
        }
        let directory = path.trim_end_matches('/');
        if self.files.keys().any(|known| known.starts_with(&format!("{directory}/"))) {
            return Answer::File(FileFacts { path: directory.into(), directory: true, ..FileFacts::default() });
        }
        let Some((text, how)) = self.files.get(path) else {
            let near: Vec<String> =
                self.near.get(path).map(|to| to.split('|').map(str::to_owned).collect()).unwrap_or_default();
            let without_slash =
                path.strip_prefix('/').filter(|inner| self.files.contains_key(*inner)).map(str::to_owned);
            let spellings = [decode(path).into_owned(), path.replace('\\', "/")];
            let respelled = spellings.into_iter().find(|other| other != path && self.files.contains_key(other));
            return Answer::Missing(Candidates { without_slash, near, respelled });
        };
        let lines = u32::try_from(text.lines().count()).unwrap();
        Answer::File(FileFacts {
            path: path.into(),
            binary: how == "binary",
            link: how == "link",
            lines,
            fragment_exists: match fragment {
                Some(Fragment::Anchor(anchor)) => Some(document_headings(text).contains(anchor)),
                _ => None,
            },
            ..FileFacts::default()
        })
    }
}

fn symbol(line: &str, text: &str) -> Symbol {
    let mut words = line.splitn(3, ' ');
    let (path, range) = (words.next().unwrap(), words.next().unwrap());
    let (path, repeat) = path.rsplit_once('-').map_or((path, 0), |(path, repeat)| (path, repeat.parse().unwrap()));
    let (first, last) = range.split_once('-').unwrap();
    let (first, last): (u32, u32) = (first.parse().unwrap(), last.parse().unwrap());
    let rest = words.next();
    let starts: Vec<usize> = std::iter::once(0).chain(text.match_indices('\n').map(|(at, _)| at + 1)).collect();
    let (from, to) = (starts[first as usize - 1], starts.get(last as usize).copied().unwrap_or(text.len()));
    let whole = &text[from..to];
    let (start, end) = match rest.and_then(|rest| rest.strip_prefix('=')) {
        Some(part) => whole.find(part).map(|at| (from + at, from + at + part.len())).unwrap(),
        None => (from + whole.len() - whole.trim_start().len(), from + whole.trim_end().len()),
    };
    let outer_first = rest.and_then(|rest| rest.parse().ok()).unwrap_or(first);
    Symbol { path: path.to_owned(), number: repeat, kind: SymbolKind::Function, first, last, outer_first, start, end }
}

/// `[title](target)` without blanks.
fn reference(link: &str) -> Reference {
    let (title, target) = link.trim_start_matches('[').trim_end_matches(')').split_once("](").unwrap();
    Reference { title: title.into(), target: parse_name(target).unwrap() }
}

fn context(fixture: &Fixture, world: &World) -> ReadContext {
    let disabled: BTreeSet<String> = fixture.list("disabled").into_iter().collect();
    let mut current = task("Find Code 1", Some("find_code"));
    if let Some(need) = fixture.get("need") {
        need.clone_into(&mut current.need);
    }
    if let Some(expected) = fixture.get("expected") {
        expected.clone_into(&mut current.expected);
    }
    current.references = fixture.list("references").iter().map(|link| reference(link)).collect();
    let request = fixture.get("request").unwrap_or("Explain retries.\n\n## Rules\nBe short.\n");
    let mut context = ReadContext {
        catalog: vec![skill(fixture)],
        tools: tools().into_iter().filter(|tool| !disabled.contains(&tool.name)).map(Arc::new).collect(),
        disabled_tools: disabled,
        tasks: vec![
            known(task("Read Docs 1", None), 0, true).into(),
            known(current.clone(), 1, false).into(),
            known(task("Later 1", None), 2, false).into(),
        ]
        .into(),
        prompts: vec![request.into()],
        current: Some(current),
        length_stop: fixture.get("length-stop").is_some(),
        strict: fixture.get("strict").is_some(),
        prompt_budget: 24_000,
        reference_budget: 8_000,
        ..ReadContext::default()
    };
    for (path, (text, how)) in &world.files {
        let hash = BlobId::of(if how.contains("stale") { b"older text" } else { text.as_bytes() });
        match how.as_str() {
            how if how.contains("unseen") => None,
            how if how.contains("part") => context.shown_in_part.insert(path.clone(), hash),
            _ => context.shown_in_full.insert(path.clone(), hash),
        };
    }
    context
}

fn ask(kind: ReplyKind, reply: &str, world: &World, context: &mut ReadContext) {
    for round in 0.. {
        let wanted = lookups(kind, reply, context);
        if wanted.is_empty() {
            return;
        }
        assert!(round < 3, "the same questions are asked again: {wanted:?}");
        for lookup in wanted {
            let answer = world.answer(&lookup);
            context.answers.insert(lookup, answer);
        }
    }
}

fn notes<T>(reading: &Reading<T>) -> String {
    let mut out = String::from(if reading.is_accepted() { "accepted\n" } else { "refused\n" });
    for repair in &reading.repairs {
        let (first, last) = (repair.span.first, repair.span.last);
        writeln!(out, "repair {} {first}-{last}: {:?} -> {:?}", repair.code, repair.before, repair.after).unwrap();
    }
    for issue in &reading.issues {
        assert_ne!(issue.what, issue.code.as_str(), "{} has no words", issue.code);
        let severity = if issue.severity == Severity::Error { "error" } else { "warning" };
        writeln!(out, "{severity} {}: {issue}", issue.code).unwrap();
    }
    out
}

fn execution(value: &ExecutionReply, context: &ReadContext) -> String {
    let mut out = String::new();
    writeln!(out, "summary: {:?}", value.summary).unwrap();
    writeln!(out, "headings: {}", document_headings(&value.document).join(" ")).unwrap();
    for detail in &value.details {
        writeln!(out, "details: {} {:?}", detail.filename, detail.content).unwrap();
    }
    let slug = &context.current.as_ref().unwrap().slug;
    let linked = summary_with_details(&value.summary, slug, value.details.iter().map(|file| file.filename.as_str()));
    if linked != value.summary {
        writeln!(out, "summary with details: {linked:?}").unwrap();
    }
    let files = summary_files(value, context);
    if !files.is_empty() {
        writeln!(out, "carried: {}", files.join(" ")).unwrap();
    }
    if value.more_work {
        out.push_str("more work\n");
    }
    if value.no_changes {
        out.push_str("no changes\n");
    }
    out
}

fn calls(calls: &[ToolCall]) -> String {
    calls.iter().map(|call| format!("call {}: {}\n", call.id, canonical(call))).collect()
}

fn refinement(reply: &str, context: &ReadContext) -> String {
    let reading = read_refinement(reply, context);
    let mut out = notes(&reading);
    if let Some(references) = &reading.value.references {
        let links: Vec<String> = references.iter().map(|one| format!("[{}]({})", one.title, one.target)).collect();
        writeln!(out, "references: {}", links.join(" ")).unwrap();
    }
    out.push_str(&calls(&reading.value.calls));
    let mut task = context.current.clone().unwrap();
    reading.value.apply_to(&mut task);
    writeln!(out, "task: need {:?}, expected {:?}, approval {}", task.need, task.expected, task.approval).unwrap();
    out
}

fn write_execution(reply: &str, context: &ReadContext) -> String {
    let reading = read_write_execution(reply, context);
    let mut out = notes(&reading);
    out.push_str(&execution(&reading.value.execution, context));
    let diff = diff_of(&reading.value.edits).replace('\r', "<CR>");
    if !diff.is_empty() {
        writeln!(out, "diff:\n{}", diff.trim_end()).unwrap();
    }
    out
}

fn turn(fixture: &Fixture, reply: &str, context: &ReadContext) -> String {
    let native: Vec<ToolCall> =
        fixture.part("native").map(|text| serde_json::from_str(text).unwrap()).unwrap_or_default();
    let taken: BTreeSet<String> = fixture.list("taken").into_iter().collect();
    let input = TurnInput { native: &native, taken_ids: &taken, tools_offered: fixture.get("last-turn").is_none() };
    let reading = read_loop_turn(reply, input, context);
    let value = match &reading.value {
        LoopTurn::Calls(list) => format!("turn: calls\n{}", calls(list)),
        LoopTurn::Final(result) => format!("turn: final\n{}", execution(result, context)),
    };
    notes(&reading) + &value
}

fn run(kind: &str, fixture: &Fixture) -> String {
    let world = World::of(fixture);
    let mut context = context(fixture, &world);
    let reply = fixture.part("reply").unwrap_or("");
    let asked = match kind {
        "refinement" | "calls" => ReplyKind::Refinement,
        "execution" => ReplyKind::Execution,
        "write" => ReplyKind::WriteExecution,
        "merge" => ReplyKind::Merge,
        "loop" => ReplyKind::ToolCalls,
        other => panic!("unknown kind {other}"),
    };
    if fixture.get("unanswered").is_none() {
        ask(asked, reply, &world, &mut context);
    }
    match asked {
        ReplyKind::Refinement => refinement(reply, &context),
        ReplyKind::WriteExecution => write_execution(reply, &context),
        ReplyKind::ToolCalls => turn(fixture, reply, &context),
        ReplyKind::Execution => {
            let reading = read_execution(reply, &context);
            notes(&reading) + &execution(&reading.value, &context)
        }
        _ => {
            let reading = read_merge(reply, &context);
            notes(&reading) + &execution(&reading.value, &context)
        }
    }
}

fn check(path: &Path, kind: &str, failures: &mut Vec<String>) {
    let text = fs::read_to_string(path).unwrap();
    let fixture = Fixture::parse(&text);
    let name = path.file_stem().unwrap().to_string_lossy().into_owned();
    let actual = run(kind, &fixture);
    // Words that stand between commas name a cell or row.
    let named = fixture.get("covers").unwrap_or("");
    let by_comma = named.contains(',');
    let codes = named.split(|c: char| if by_comma { c == ',' } else { c.is_whitespace() }).map(str::trim);
    for code in codes.filter(|code| !code.is_empty()) {
        let is_paragraph = code.starts_with(|c: char| c.is_ascii_digit());
        if !is_paragraph && !actual.contains(&format!(" {code}")) {
            failures.push(format!("{kind}/{name}: covers {code}, but the reading does not name it:\n{actual}"));
        }
    }
    let expected = fixture.part("expect").unwrap_or("");
    if std::env::var_os("UPDATE_EXPECT").is_some() {
        let head = text.split("===== expect").next().unwrap().trim_end_matches('\n');
        fs::write(path, format!("{head}\n===== expect\n{actual}")).unwrap();
    } else if expected != actual {
        failures.push(format!("{kind}/{name}:\n--- expected\n{expected}--- actual\n{actual}"));
    }
}

fn fixtures(kind: &str) -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/tasks").join(kind);
    let mut paths: Vec<PathBuf> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    assert!(!paths.is_empty());
    paths
}

fn check_all(kind: &str) {
    let mut failures = Vec::new();
    for path in fixtures(kind) {
        check(&path, kind, &mut failures);
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

#[test]
fn refinements_read_as_the_fixtures_say() {
    check_all("refinement");
}

#[test]
fn tool_calls_read_as_the_fixtures_say() {
    check_all("calls");
}

#[test]
fn executions_read_as_the_fixtures_say() {
    check_all("execution");
}

#[test]
fn writer_replies_read_as_the_fixtures_say() {
    check_all("write");
}

#[test]
fn merges_read_as_the_fixtures_say() {
    check_all("merge");
}

#[test]
fn loop_turns_read_as_the_fixtures_say() {
    check_all("loop");
}
