//! Grammars of replies about one task: refinement (spec 3.7), execution (spec 3.8), writer execution (spec 3.9) and a turn
//! of a loop (spec 10.7).

use serde_json::Value;

use super::lists::{links_line, one_line};
use super::{Expr, Grammar};
use crate::spec::ToolSpec;

/// Calls of one reply at most.
const MAX_CALLS: usize = 3;
/// Changes of one reply at most.
const MAX_CHANGES: u32 = 4;
/// Tags of fences a model may choose from; every fence carries one (spec 5.9).
const FENCE_TAGS: &[&str] = &[
    "text",
    "markdown",
    "rust",
    "python",
    "javascript",
    "typescript",
    "json",
    "toml",
    "yaml",
    "csv",
    "html",
    "css",
    "sql",
    "sh",
    "c",
    "cpp",
    "java",
    "go",
];

/// A file a writer may change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EditableFile {
    /// Path relative to the project root.
    pub path: String,
    /// It was shown whole, so it may be replaced whole (spec 3.9).
    pub shown_in_full: bool,
}

/// The grammar of a refinement. `references` are complete Markdown links that are valid for the task; `needs_call` when the
/// skill cannot run without one (spec 3.7 `no-input`).
pub fn refinement(references: &[String], tools: &[ToolSpec], needs_call: bool) -> Grammar {
    let mut rules = Vec::new();
    let mut task = vec![Expr::text("## Task\n- **What is needed** "), Expr::Line { min: 8, max: 400 }];
    let links: Vec<Expr> = one_line(references).into_iter().map(Expr::text).collect();
    if !links.is_empty() {
        rules.push(("link".to_owned(), Expr::Choice(links)));
        task.push(links_line("link").optional());
    }
    task.push(Expr::Seq(vec![Expr::text("\n- **Expected output** "), Expr::Line { min: 8, max: 200 }]).optional());
    if !tools.is_empty() {
        let calls = Expr::Seq(vec![Expr::text("\n"), calls(tools, &mut rules)]);
        task.push(if needs_call { calls } else { calls.optional() });
    }
    rules.insert(0, ("reply".to_owned(), Expr::Seq(task)));
    Grammar { rules }
}

/// The grammar of an execution: a summary, then a document and details files if the model has more to say.
pub fn execution() -> Grammar {
    let mut rules = Vec::new();
    let reply = result(&mut rules);
    rules.insert(0, ("reply".to_owned(), reply));
    Grammar { rules }
}

/// The grammar of a merge of several runs (spec 3.12): an execution without details files.
pub fn merge() -> Grammar {
    let reply = Expr::Seq(vec![summary(), document().optional()]);
    Grammar { rules: vec![("reply".into(), reply), ("entry".into(), entry())] }
}

/// The grammar of one turn of a loop for a model without native tool calling: tool calls, or the result in the form of an
/// execution. Without tools only the result.
pub fn loop_turn(tools: &[ToolSpec]) -> Grammar {
    let mut rules = Vec::new();
    let result = result(&mut rules);
    let reply = if tools.is_empty() { result } else { Expr::Choice(vec![calls(tools, &mut rules), result]) };
    rules.insert(0, ("reply".to_owned(), reply));
    Grammar { rules }
}

/// The grammar of a writer's execution. `files` are the existing files it may change; it may also create files, or say
/// that nothing needs to change (spec 3.11).
pub fn write_execution(files: &[EditableFile]) -> Grammar {
    let mut changes = vec![Expr::rule("new_file")];
    let mut rules = vec![("entry".to_owned(), entry())];
    let fits = |file: &&EditableFile| !file.path.is_empty() && !file.path.chars().any(char::is_control);
    let paths = |whole: bool| -> Vec<Expr> {
        let shown = files.iter().filter(fits).filter(|file| file.shown_in_full || !whole);
        shown.map(|file| known_path(&file.path)).collect()
    };
    if !paths(false).is_empty() {
        rules.push(("path".to_owned(), Expr::Choice(paths(false))));
        rules.push(("excerpt".to_owned(), Expr::Seq(vec![Expr::rule("path"), fence(40), fence(80)])));
        changes.insert(0, Expr::rule("excerpt"));
    }
    if !paths(true).is_empty() {
        rules.push(("whole_path".to_owned(), Expr::Choice(paths(true))));
        let keys = Expr::text("\n- **complete_file** true\n- **overwrite** true");
        rules.push(("whole_file".to_owned(), Expr::Seq(vec![Expr::rule("whole_path"), keys, fence(200)])));
        changes.push(Expr::rule("whole_file"));
    }
    let created = Expr::Seq(vec![new_path(), Expr::text("\n- **complete_file** true"), fence(200)]);
    rules.push(("new_file".to_owned(), created));
    let change = Expr::Seq(vec![Expr::text("\n## Change details\n- **file_path** "), Expr::Choice(changes)]);
    rules.push(("change".to_owned(), change));
    let unchanged = Expr::text("\n\n**no changes needed**");
    let outcome = Expr::Choice(vec![Expr::rule("change").repeat(1, MAX_CHANGES), unchanged]);
    rules.insert(0, ("reply".to_owned(), Expr::Seq(vec![summary(), outcome])));
    Grammar { rules }
}

fn summary() -> Expr {
    Expr::Seq(vec![Expr::text("## Result summary\n"), Expr::Block { lines: 12, line: 600 }])
}

/// The result of an execution; adds the rules it needs.
fn result(rules: &mut Vec<(String, Expr)>) -> Expr {
    rules.push(("entry".to_owned(), entry()));
    let more = Expr::text("\n\n**more work needed**").optional();
    let details = vec![
        Expr::text("\n## Details\n- **Filename** "),
        Expr::Word { min: 1, max: 40 },
        Expr::text("."),
        Expr::Word { min: 1, max: 8 },
        fence(200),
    ];
    Expr::Seq(vec![summary(), more, document().optional(), Expr::Seq(details).repeat(0, 2)])
}

/// A section of free Markdown: paragraphs, lists, headings below the section's, and fences.
fn document() -> Expr {
    let gap = Expr::Choice(vec![Expr::text("\n"), Expr::text("\n\n")]);
    // The newline is part of the heading: on its own it would end the lexeme that `## Details` starts with.
    let heading = Expr::Choice(vec![Expr::text("\n### Part: "), Expr::text("\n\n### Part: ")]);
    let heading = Expr::Seq(vec![heading, Expr::Line { min: 2, max: 80 }]);
    let more = Expr::Choice(vec![Expr::Seq(vec![gap, Expr::rule("entry")]), heading]).repeat(0, 120);
    Expr::Seq(vec![Expr::text("\n## Document\n"), Expr::rule("entry"), more])
}

/// A line of prose or a whole fence.
fn entry() -> Expr {
    let code = Expr::Code { lines: 80, line: 200 };
    let code = Expr::Seq(vec![Expr::text("```"), tag(), Expr::text("\n"), code, Expr::text("\n```")]);
    Expr::Choice(vec![Expr::Block { lines: 1, line: 600 }, code])
}

fn tag() -> Expr {
    Expr::Choice(FENCE_TAGS.iter().map(|tag| Expr::text(*tag)).collect())
}

fn fence(lines: u32) -> Expr {
    let content = Expr::Code { lines, line: 200 };
    Expr::Seq(vec![Expr::text("\n```"), tag(), Expr::text("\n"), content, Expr::text("\n```")])
}

/// A path in pieces that end where the words of [`new_path`] end, so that both can be read side by side.
fn known_path(path: &str) -> Expr {
    let word = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    let mut pieces: Vec<String> = Vec::new();
    let mut last = None;
    for c in path.chars() {
        match pieces.last_mut().filter(|_| last == Some(true) && word(c)) {
            Some(piece) => piece.push(c),
            None => pieces.push(c.to_string()),
        }
        last = Some(word(c));
    }
    Expr::Seq(pieces.into_iter().map(Expr::Literal).collect())
}

/// The path of a file that need not exist, inside the project by its form.
fn new_path() -> Expr {
    let folder = Expr::Seq(vec![Expr::Word { min: 1, max: 30 }, Expr::text("/")]).repeat(0, 4);
    Expr::Seq(vec![folder, Expr::Word { min: 1, max: 40 }, Expr::text("."), Expr::Word { min: 1, max: 8 }])
}

/// `## Tool Calls` with 1 to [`MAX_CALLS`] fences; ids are fixed by position (spec 4.4 `call-id-set`).
fn calls(tools: &[ToolSpec], rules: &mut Vec<(String, Expr)>) -> Expr {
    let mut after = Expr::Seq(Vec::new());
    for number in (1..=MAX_CALLS).rev() {
        let choices = tools.iter().enumerate().map(|(index, tool)| call(tool, index, number)).collect();
        rules.push((format!("call_{number}"), Expr::Choice(choices)));
        let this = Expr::rule(format!("call_{number}"));
        after = Expr::Seq(if number == MAX_CALLS { vec![this] } else { vec![this, after.optional()] });
    }
    for (index, tool) in tools.iter().enumerate() {
        rules.push((format!("arguments_{index}"), Expr::Json(object_schema(&tool.parameters))));
    }
    Expr::Seq(vec![Expr::text("## Tool Calls"), after])
}

/// Arguments are always an object, whatever the schema leaves open.
fn object_schema(schema: &Value) -> Value {
    let typed = schema.get("type").and_then(Value::as_str) == Some("object") || schema.get("properties").is_some();
    if typed { schema.clone() } else { serde_json::json!({ "type": "object", "properties": {} }) }
}

fn call(tool: &ToolSpec, index: usize, number: usize) -> Expr {
    let name = Value::from(tool.name.as_str());
    let id = Value::from(format!("{}-{number}", tool.name));
    Expr::Seq(vec![
        Expr::text(format!("\n```json\n{{\"name\": {name}, \"id\": {id}, \"arguments\": ")),
        Expr::rule(format!("arguments_{index}")),
        Expr::text("}\n```"),
    ])
}
