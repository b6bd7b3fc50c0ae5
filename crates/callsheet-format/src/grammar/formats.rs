//! The replies of the phases (spec 3.4 to 3.13, 10.7), described by what they may name: skills, links, tools, files.

use callsheet_core::nouns::ToolSpec;
use serde_json::Value as Json;

use super::form::{Form, Member, Part, Sections, Value};
use super::sections::{ListShape, MAX_GOALS, MAX_LINKS, one_line};

/// The smallest length of a line of words in a list: one more than its longest title, `General information for all
/// tasks`, has with a colon.
const MIN_SENTENCE: u32 = 35;
/// The maximum number of files that a routed request may write.
const MAX_ROUTED: u32 = 6;
/// The maximum number of changes in one reply.
const MAX_CHANGES: u32 = 4;

/// A file that a task may change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EditableFile {
    /// Path relative to the project root.
    pub path: String,
    /// Whether it was shown completely, so that it may be replaced completely (spec 3.9).
    pub shown_in_full: bool,
}

/// A plan: goals, optionally the marker `**plan complete**`, and 1 to `max_sections` sections.
pub fn plan(shape: &ListShape<'_>) -> Form {
    let tasks = [goals(true, ""), complete("\n\n**plan complete**"), Part::text("\n## Tasks"), sections(shape, true)];
    Form { parts: tasks.into() }
}

/// An iteration: new tasks, if any, and tasks to remove from the plan. `open` names the tasks that it may remove.
pub fn iteration(shape: &ListShape<'_>, open: &[String]) -> Form {
    let mut parts = vec![goals(false, "\n"), complete("**plan complete**\n"), Part::text("## Tasks")];
    parts.push(sections(shape, false));
    parts.extend(after_tasks(shape, open));
    Form { parts }
}

/// A continuation: like an iteration, with goals first.
pub fn continuation(shape: &ListShape<'_>, open: &[String]) -> Form {
    let mut parts = vec![goals(true, ""), complete("\n\n**plan complete**"), Part::text("\n## Tasks")];
    parts.push(sections(shape, false));
    parts.extend(after_tasks(shape, open));
    Form { parts }
}

fn goals(needed: bool, after: &str) -> Part {
    let (before, after) = ("## Goals / summary\n".into(), after.into());
    Part::Member(Member {
        name: "goals".into(),
        before,
        value: Value::Sentence { min: MIN_SENTENCE, max: MAX_GOALS },
        after,
        needed,
    })
}

fn complete(text: &str) -> Part {
    Part::flag("plan_complete", text)
}

fn sections(shape: &ListShape<'_>, needed: bool) -> Part {
    let references: Vec<String> = one_line(shape.references).into_iter().map(str::to_owned).collect();
    Part::Sections(Sections {
        folders: references.iter().filter(|link| link.ends_with("/)")).cloned().collect(),
        references,
        max_sections: shape.max_sections,
        max_tasks: shape.max_tasks,
        first_number: shape.first_number.max(1),
        needed,
    })
}

/// Tasks to remove, each with a reason; remarks for a person; and what later prompts need not show (spec 5.10).
fn after_tasks(shape: &ListShape<'_>, open: &[String]) -> Vec<Part> {
    let remarks = Value::Sentence { min: MIN_SENTENCE, max: 400 };
    let mut parts: Vec<Part> = removed_tasks(open).into_iter().collect();
    parts.push(Member::optional("issues_with_the_tasks", "\n## Issues with the tasks\n", remarks));
    parts.extend(links("no_longer_relevant", "\n## No longer relevant\n- ", shape.references, "\n- "));
    parts
}

fn removed_tasks(open: &[String]) -> Option<Part> {
    let names: Vec<String> = one_line(open).into_iter().map(str::to_owned).collect();
    if names.is_empty() {
        return None;
    }
    let max = u32::try_from(names.len()).unwrap_or(u32::MAX);
    let task = Member {
        name: "task".into(),
        before: "\n## Removed tasks\n- **".into(),
        value: Value::Choice(names),
        after: "** ".into(),
        needed: true,
    };
    let item = vec![Part::Member(task), Member::needed("reason", "", Value::Line { min: 8, max: 200 })];
    Some(Part::List { name: "removed_tasks".into(), first: None, item, min: 0, max, empty: Vec::new() })
}

fn links(name: &str, before: &str, links: &[String], between: &str) -> Option<Part> {
    let links: Vec<String> = one_line(links).into_iter().map(str::to_owned).collect();
    let value = Value::Links { links, max: MAX_LINKS, between: between.into() };
    let any = matches!(&value, Value::Links { links, .. } if !links.is_empty());
    any.then(|| Member::optional(name, before, value))
}

/// A refinement. `references` are complete Markdown links that are valid for the task. `needs_call` is true if the
/// skill cannot run without a call (spec 4.8 `no-input`).
pub fn refinement(references: &[String], tools: &[ToolSpec], needs_call: bool) -> Form {
    let need = Value::Line { min: 8, max: 400 };
    let mut parts = vec![Member::needed("need", "## Task\n- **What is needed** ", need)];
    parts.extend(links("references", "\n- **References** ", references, " "));
    parts.push(Member::optional("expected", "\n- **Expected output** ", Value::Line { min: 8, max: 200 }));
    parts.extend(calls("\n## Tool Calls", tools, needs_call));
    Form { parts }
}

fn calls(before: &str, tools: &[ToolSpec], needed: bool) -> Option<Part> {
    let tools: Vec<(String, Json)> =
        tools.iter().map(|tool| (tool.name.clone(), object_schema(&tool.parameters))).collect();
    (!tools.is_empty()).then(|| Part::Calls { before: before.into(), tools, needed })
}

/// Arguments are always an object, even if the schema does not say so.
fn object_schema(schema: &Json) -> Json {
    let typed = schema.get("type").and_then(Json::as_str) == Some("object") || schema.get("properties").is_some();
    if typed { schema.clone() } else { serde_json::json!({ "type": "object", "properties": {} }) }
}

/// An execution: a summary, then optionally a document and a details file.
pub fn execution() -> Form {
    Form { parts: result() }
}

/// A merge of several runs (spec 3.12): an execution without details files.
pub fn merge() -> Form {
    Form { parts: vec![summary(12, 600), document()] }
}

/// A review (spec 3.13): `yes`, or `no: ` followed by a line that says what is missing.
pub fn review() -> Form {
    let missing = Member::needed("missing", "no: ", Value::Line { min: 8, max: 300 });
    let ways = vec![("no".to_owned(), vec![missing]), ("yes".to_owned(), vec![Part::text("yes")])];
    Form { parts: vec![Part::OneOf { name: "verdict".into(), ways }] }
}

/// The name of a skill (spec 2.3). If the skill changes files, those of the request's files that it writes follow.
/// `skills` holds each name with whether it changes files.
pub fn route(skills: &[(String, bool)], paths: &[String]) -> Form {
    let paths: Vec<String> = paths.iter().filter(|path| stands_in_a_line(path)).cloned().collect();
    let path = |before: &str| vec![Member::needed("file_path", before, Value::Path(paths.clone()))];
    let max = u32::try_from(paths.len()).unwrap_or(MAX_ROUTED).min(MAX_ROUTED);
    let written = || Part::List {
        name: "writes".into(),
        first: Some(path(": ")),
        item: path(", "),
        min: 0,
        max,
        empty: Vec::new(),
    };
    let way = |(name, writes): &(String, bool)| {
        let files = (*writes && max > 0).then(written);
        (name.clone(), [Part::text(name)].into_iter().chain(files).collect())
    };
    Form { parts: vec![Part::OneOf { name: "skill".into(), ways: skills.iter().map(way).collect() }] }
}

/// One turn of a loop for a model without native tool calling: tool calls, or the result in the form of an execution.
/// Without tools, only the result.
pub fn loop_turn(tools: &[ToolSpec]) -> Form {
    let parts = match calls("## Tool Calls", tools, true) {
        None => result(),
        Some(calls) => {
            let ways = vec![("calls".to_owned(), vec![calls]), ("result".to_owned(), result())];
            vec![Part::OneOf { name: "turn".into(), ways }]
        }
    };
    Form { parts }
}

/// What a task may change.
#[derive(Clone, Debug, Default)]
pub struct WriteOffer {
    /// Existing files that were shown. The task may change these in any way of spec 3.9, but not delete them.
    pub files: Vec<EditableFile>,
    /// The only file that it must create. Then it changes nothing else.
    pub made: Option<String>,
    /// The first change must be of one of these, as far as they were shown. Empty means any file.
    pub named: Vec<String>,
    /// Whether it may create files even if there are files to change.
    pub creates: bool,
    /// Whether it may say which of the shown files already fulfils the task (spec 3.11).
    pub may_decline: bool,
}

impl WriteOffer {
    /// Any change of shown files, and any new file. `about` is the file that the task is about; the task creates it if
    /// it was not shown.
    pub fn of(files: &[EditableFile], about: Option<&str>) -> Self {
        let is_shown = about.is_some_and(|path| files.iter().any(|file| file.path == path));
        let (named, made): (Vec<String>, Vec<String>) = about.map(str::to_owned).into_iter().partition(|_| is_shown);
        Self { files: files.to_vec(), made: made.into_iter().next(), named, creates: true, may_decline: true }
    }
}

/// The execution of a task that changes files. If it creates a file, the file comes first and the summary last, because
/// a written file needs no plan. If it changes files, it first says what to change and where, because that is where
/// changes go wrong.
pub fn write_execution(offer: &WriteOffer) -> Form {
    let change = |ways| vec![Part::OneOf { name: String::new(), ways }];
    // The changes show what changed. A long summary would only use up the tokens that they need.
    let summary = |before: &str| Member::needed("summary", before, Value::Block { lines: 4, line: 300 });
    let name = || "changes".to_owned();
    if let Some(made) = offer.made.as_deref().filter(|path| stands_in_a_line(path)) {
        let item = change(ways("## Change details", &[], Some(Value::Path(vec![made.to_owned()]))));
        let changes = Part::List { name: name(), first: None, item, min: 1, max: 1, empty: Vec::new() };
        return Form { parts: vec![changes, summary("\n## Result summary\n")] };
    }
    let files: Vec<&EditableFile> = offer.files.iter().filter(|file| stands_in_a_line(&file.path)).collect();
    let named: Vec<&EditableFile> = files.iter().copied().filter(|file| offer.named.contains(&file.path)).collect();
    let new = (offer.creates || files.is_empty()).then_some(Value::NewPath);
    let first = match named.as_slice() {
        [] => ways("\n## Change details", &files, new.clone()),
        named => ways("\n## Change details", named, None),
    };
    let empty = match named.as_slice() {
        _ if !offer.may_decline => Vec::new(),
        [] => unchanged(&files),
        named => unchanged(named),
    };
    let item = change(ways("\n## Change details", &files, new));
    let min = u32::from(empty.is_empty());
    let changes = Part::List { name: name(), first: Some(change(first)), item, min, max: MAX_CHANGES, empty };
    Form { parts: vec![summary("## Result summary\n"), changes] }
}

fn stands_in_a_line(path: &str) -> bool {
    let plain = path.trim() == path && !path.starts_with(['[', '.']) && !path.contains('`');
    plain && !path.is_empty() && !path.chars().any(char::is_control)
}

fn paths<'a>(files: impl Iterator<Item = &'a &'a EditableFile>) -> Value {
    Value::Path(files.map(|file| file.path.clone()).collect())
}

fn fence(name: &str, lines: u32) -> Part {
    Member::needed(name, "", Value::Fence { lines })
}

/// The line of spec 3.11, and the evidence for it. Empty if no file was shown.
fn unchanged(files: &[&EditableFile]) -> Vec<Part> {
    if files.is_empty() {
        return Vec::new();
    }
    let line = "\n**no changes needed**\n- **file_path** ";
    vec![Member::needed("unchanged_file", line, paths(files.iter())), fence("quotation", 20)]
}

/// The ways to change one of some files or, at `new`, to create one. None deletes a file.
fn ways(heading: &str, files: &[&EditableFile], new: Option<Value>) -> Vec<(String, Vec<Part>)> {
    let label = format!("{heading}\n- **file_path** ");
    let path = |value: Value| Member::needed("file_path", &label, value);
    let any = || path(paths(files.iter()));
    let mut ways = Vec::new();
    if !files.is_empty() {
        ways.push(("excerpt".to_owned(), vec![any(), fence("old", 40), fence("new", 80)]));
        let first = Member::needed("start_line", "\n- **start_line** ", Value::Number);
        let last = Member::needed("end_line", "\n- **end_line** ", Value::Number);
        ways.push(("lines".to_owned(), vec![any(), first, last, fence("new", 80)]));
        let places = ["replace", "replace-with-comment", "before", "after"].map(str::to_owned).to_vec();
        let symbol = || Member::needed("symbol", "\n- **ast_path** ", Value::Symbol);
        let place = |places| Member::needed("location", "\n- **location** ", Value::Choice(places));
        ways.push(("symbol".to_owned(), vec![any(), symbol(), place(places), fence("new", 80)]));
        // This is a member of the JSON form, so that nothing is removed without that word.
        ways.push(("remove_symbol".to_owned(), vec![any(), symbol(), place(vec!["remove".to_owned()])]));
    }
    if files.iter().any(|file| file.shown_in_full) {
        let keys = Part::text("\n- **complete_file** true\n- **overwrite** true");
        let whole = path(paths(files.iter().filter(|file| file.shown_in_full)));
        ways.push(("whole_file".to_owned(), vec![whole, keys, fence("content", 200)]));
    }
    if let Some(new) = new {
        let keys = Part::text("\n- **complete_file** true");
        ways.push(("new_file".to_owned(), vec![path(new), keys, fence("content", 200)]));
    }
    ways
}

fn summary(lines: u32, line: u32) -> Part {
    Member::needed("summary", "## Result summary\n", Value::Block { lines, line })
}

fn document() -> Part {
    Member::optional("document", "\n## Document\n", Value::Document)
}

fn result() -> Vec<Part> {
    let details = vec![
        Member::needed("filename", "\n## Details\n- **Filename** ", Value::FileName),
        Member::needed("content", "", Value::Fence { lines: 200 }),
    ];
    // Two details files might get the same name, which a grammar cannot prevent.
    let details = Part::List { name: "details".into(), item: details, first: None, min: 0, max: 1, empty: Vec::new() };
    vec![summary(12, 600), Part::flag("more_work_needed", "\n\n**more work needed**"), document(), details]
}
