//! Tests the server with a small project: its answers, and that it answers whatever the user writes.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "tests")]

use std::path::Path;

use ls_types::{CompletionTextEdit, Position, Range, TextEdit};
use lsp_server::{Connection, Message, Notification, Request};
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::answers::View;
use crate::lines::{Encoding, Lines};
use crate::project::{Definition, Entry, Finding, Fix, Kind, Named, Project, Weight};

/// Reports an issue for each line that contains `wrong`.
struct Garden;

fn entry(name: &str, about: &str) -> Entry {
    Entry { name: name.to_owned(), about: about.to_owned() }
}

impl Project for Garden {
    fn kind(&self, file: &Path, _: &str) -> Option<Kind> {
        match file.extension()?.to_str()? {
            "md" => Some(Kind::Sheet),
            "xml" | "yaml" => Some(Kind::Template),
            "skill" => Some(Kind::Skill),
            _ => None,
        }
    }

    fn check(&self, _: Kind, _: &Path, text: &str) -> Vec<Finding> {
        let wrong = text.lines().zip(1u32..).filter_map(|(line, number)| {
            let column = u32::try_from(line.split("wrong").next()?.chars().count()).ok()? + 1;
            line.contains("wrong").then(|| Finding {
                weight: Weight::Error,
                code: "wrong".to_owned(),
                message: "it is wrong".to_owned(),
                start: (number, column),
                end: (number, column + 5),
                fixes: vec![Fix { line: number, column, wrong: "wrong".to_owned(), right: "right".to_owned() }],
            })
        });
        wrong.collect()
    }

    fn skills(&self) -> Vec<Entry> {
        vec![entry("read_files", "Reads."), entry("edit_code", "Writes.")]
    }

    fn tools(&self) -> Vec<Entry> {
        vec![entry("look", "Looks."), entry("seek", "Seeks.")]
    }

    fn paths(&self) -> Vec<String> {
        vec!["docs/manual.md".to_owned(), "src/net.rs".to_owned()]
    }

    fn anchors(&self, path: &str) -> Vec<Entry> {
        if path == "docs/manual.md" { vec![entry("retries", "Retries"), entry("ports", "Ports")] } else { Vec::new() }
    }

    fn shown(&self, target: &str) -> String {
        format!("about 12 tokens of {target}")
    }

    fn defined(&self, file: &Path, text: &str, named: Named<'_>) -> Option<Definition> {
        let place = |file: &Path, line| Some(Definition { file: file.to_path_buf(), line, column: 1 });
        match named {
            Named::Skill("read_files") => place(Path::new("/garden/skills/read_files.md"), 1),
            Named::Target("docs/manual.md#ports") => place(Path::new("/garden/docs/manual.md"), 7),
            Named::Value("fields", _) => place(file, 1),
            Named::Call(byte) if text.get(byte..).is_some_and(|rest| rest.starts_with("er")) => {
                place(Path::new("/garden/templates/other.xml"), 3)
            }
            _ => None,
        }
    }

    fn values(&self, _: &Path, _: &str) -> Vec<Entry> {
        vec![entry("document", "parameter of extract"), entry("fields", "parameter of extract")]
    }
}

/// The path for a name, and the position of `|` in the text, which is removed from it.
fn marked(text: &str) -> (String, Position) {
    let (before, after) = text.split_once('|').expect("a mark");
    let line = before.matches('\n').count();
    let column = before.rsplit('\n').next().unwrap_or_default().encode_utf16().count();
    let position = Position { line: u32::try_from(line).unwrap(), character: u32::try_from(column).unwrap() };
    (format!("{before}{after}"), position)
}

fn view<'a>(kind: Kind, text: &'a str) -> View<'a> {
    View { project: &Garden, kind, file: Path::new("/garden/work.md"), text, encoding: Encoding::Utf16 }
}

/// A text after edits that do not overlap.
fn edited(text: &str, edits: &[TextEdit]) -> String {
    let lines = Lines::of(text, Encoding::Utf16);
    let starts: Vec<usize> = std::iter::once(0).chain(text.match_indices('\n').map(|(at, _)| at + 1)).collect();
    let byte = |position: Position| {
        let (line, byte) = lines.place(position);
        starts[line.min(starts.len() - 1)] + byte
    };
    let mut edits: Vec<(usize, usize, &str)> =
        edits.iter().map(|edit| (byte(edit.range.start), byte(edit.range.end), edit.new_text.as_str())).collect();
    edits.sort_by_key(|(start, end, _)| (*start, *end));
    let mut out = String::new();
    let mut done = 0;
    for (start, end, new) in edits {
        assert!(start >= done, "edits overlap");
        out.push_str(&text[done..start]);
        out.push_str(new);
        done = end;
    }
    out + &text[done..]
}

fn completed(kind: Kind, text: &str) -> Vec<String> {
    let (text, position) = marked(text);
    let view = view(kind, &text);
    let item = |item: ls_types::CompletionItem| {
        let Some(CompletionTextEdit::Edit(edit)) = item.text_edit else { panic!("an edit") };
        let all = edited(&text, &[edit]);
        all.lines().nth(usize::try_from(position.line).unwrap()).unwrap_or_default().to_owned()
    };
    view.completion(position).into_iter().map(item).collect()
}

#[test]
fn what_fits_is_offered_where_it_fits() {
    let sheet =
        "## Tasks\n- **Name** Read Docs\n- **What is needed** All.\n\n- **Name** Write\n- **What is needed** It.\n";
    let rows: &[(Kind, String, &[&str])] = &[
        (Kind::Sheet, format!("{sheet}- **Skill** re|"), &["- **Skill** read_files"]),
        (Kind::Sheet, "- [ ] a\n  skill: |".to_owned(), &["  skill: read_files", "  skill: edit_code"]),
        (
            Kind::Sheet,
            format!("{sheet}- **References** [x](docs|)"),
            &["- **References** [x](docs/manual.md)", "- **References** [x](#read-docs-results)"],
        ),
        (
            Kind::Sheet,
            format!("{sheet}- **References** [ü](docs/manual.md#r|)"),
            &["- **References** [ü](docs/manual.md#retries)", "- **References** [ü](docs/manual.md#ports)"],
        ),
        (Kind::Sheet, format!("{sheet}- **References** [x](#|)"), &["- **References** [x](#read-docs-results)"]),
        (Kind::Sheet, "- [ ] read it\n- [ ] look\n- [ ] tell, after: re|".to_owned(), &["- [ ] tell, after: read it"]),
        (Kind::Sheet, "- [ ] plain words |".to_owned(), &[]),
        (Kind::Skill, "---\ntools: [look, se|]\n---".to_owned(), &["tools: [look, seek]"]),
        (Kind::Template, "<x>{{do|}}</x>".to_owned(), &["<x>{{document}}</x>"]),
        (Kind::Template, "<x>{{document}} |</x>".to_owned(), &[]),
    ];
    for (kind, text, wanted) in rows {
        assert_eq!(completed(*kind, text), *wanted, "{text}");
    }
}

#[test]
fn what_stands_behind_a_link_a_skill_and_a_placeholder_is_shown() {
    let result = "- [ ] **Read Docs** all of it\n- [ ] look at [them](#read-do|cs-results)\n";
    let rows = [
        (
            Kind::Sheet,
            "- **References** [the man|ual](docs/manual.md#ports)",
            "about 12 tokens of docs/manual.md#ports",
        ),
        (Kind::Sheet, result, "The result of **Read Docs**: all of it"),
        (Kind::Sheet, "- **Skill** edit_|code", "**edit_code** Writes."),
        (Kind::Skill, "tools: [se|ek]", "**seek** Seeks."),
        (Kind::Template, "<a>{{fie|lds}}</a>", "**fields** parameter of extract"),
        (Kind::Sheet, "- **Skill** no|ne", ""),
        (Kind::Template, "<a>{{fields}} |</a>", ""),
    ];
    for (kind, text, wanted) in rows {
        let (plain, position) = marked(text);
        let hover = view(kind, &plain).hover(position);
        let said = hover.map(|hover| serde_json::to_value(hover).unwrap()["contents"]["value"].clone());
        assert_eq!(said.unwrap_or_else(|| "".into()), wanted, "{text}");
    }
}

#[test]
fn the_definition_of_what_the_cursor_is_on_is_found() {
    let tasks = "- [ ] **Read Docs** all\n- [ ] look at [them](#read-do|cs-results)\n- [ ] tell\n";
    let order = "- [ ] **Read Docs** all\n- [ ] tell, after: read d|ocs\n";
    let rows = [
        (Kind::Sheet, "- **Skill** read_|files", "file:///garden/skills/read_files.md 0:0"),
        (Kind::Sheet, "- [x](docs/man|ual.md#ports)", "file:///garden/docs/manual.md 6:0"),
        (Kind::Sheet, tasks, "file:///garden/work.md 0:8"),
        (Kind::Sheet, order, "file:///garden/work.md 0:8"),
        (Kind::Template, "<a>\n{{fie|lds}}</a>", "file:///garden/work.md 0:0"),
        (Kind::Template, "<call template=\"oth|er\"/>", "file:///garden/templates/other.xml 2:0"),
        (Kind::Sheet, "- **Skill** no|ne", ""),
        (Kind::Template, "<a>{{none|}}</a>", ""),
    ];
    for (kind, text, wanted) in rows {
        let (plain, position) = marked(text);
        let found = view(kind, &plain).definition(&"file:///garden/work.md".parse().unwrap(), position);
        let told = found.map(|place| {
            let start = place.range.start;
            format!("{} {}:{}", serde_json::to_value(place.uri).unwrap().as_str().unwrap(), start.line, start.character)
        });
        assert_eq!(told.unwrap_or_default(), wanted, "{text}");
    }
}

#[test]
fn a_correction_replaces_only_what_is_wrong() {
    let text = "é one\n- [ ] a wrong word\n";
    let view = view(Kind::Sheet, text);
    let uri = "file:///garden/work.md".parse().unwrap();
    let at = |line, character| Position { line, character };
    let actions = view.actions(&uri, Range { start: at(1, 9), end: at(1, 9) });
    let edits = actions[0].edit.clone().unwrap().changes.unwrap().into_values().next().unwrap();
    assert_eq!(edited(text, &edits), "é one\n- [ ] a right word\n");
    assert_eq!((actions.len(), actions[0].title.as_str()), (1, "Replace \"wrong\" with \"right\""));
    assert_eq!(actions[0].diagnostics.as_ref().map(Vec::len), Some(1));
    assert!(view.actions(&uri, Range { start: at(0, 0), end: at(0, 3) }).is_empty());
}

#[test]
fn a_task_is_renamed_with_all_that_refers_to_it() {
    let keyed = "## Tasks\n- **Name** Read Docs\n- **What is needed** All.\n\n- **Name** Write\n- **What is needed** It.\n\
        - **References** [Read Docs](#read-docs-results) [part](task://read-docs.md#table) [x](docs/a.md)\n";
    let renamed = "## Tasks\n- **Name** Look Up\n- **What is needed** All.\n\n- **Name** Write\n- **What is needed** It.\n\
        - **References** [Look Up](#look-up-results) [part](task://look-up.md#table) [x](docs/a.md)\n";
    for at in ["Read Docs\n", "read-docs-results", "read-docs.md"] {
        let (text, position) = marked(&keyed.replacen(at, &format!("{}|{}", &at[..2], &at[2..]), 1));
        let edit = view(Kind::Sheet, &text).rename("file:///work.md".parse().unwrap(), position, "Look Up").unwrap();
        let edits = edit.changes.unwrap().into_values().next().unwrap();
        assert_eq!(edited(&text, &edits), renamed, "{at}");
    }
    let list = "- [ ] re|ad the docs\n- [ ] **Count** them, after: none\n- [ ] both, after: read the, Count\n";
    let wanted =
        "- [ ] **Look Up** read the docs\n- [ ] **Count** them, after: none\n- [ ] both, after: Look Up, Count\n";
    let (text, position) = marked(list);
    let edit = view(Kind::Sheet, &text).rename("file:///work.md".parse().unwrap(), position, "Look Up").unwrap();
    let edits = edit.changes.unwrap().into_values().next().unwrap();
    assert_eq!(edited(&text, &edits), wanted);
    let refused = |to: &str| view(Kind::Sheet, &text).rename("file:///work.md".parse().unwrap(), position, to).is_err();
    assert!(refused("Count") && refused(" ") && refused("a\nb") && !refused("Read"));
}

/// A client that talks to the server in memory.
fn spoken(messages: Vec<Message>) -> Vec<Value> {
    let (server, client) = Connection::memory();
    let serving = std::thread::spawn(move || crate::server::run(&server, &Garden).is_ok());
    for message in messages {
        client.sender.send(message).unwrap();
    }
    let heard = client.receiver.iter().map(|message| serde_json::to_value(message).unwrap()).collect();
    assert!(serving.join().unwrap());
    heard
}

fn request(id: i32, method: &str, params: Value) -> Message {
    Request::new(id.into(), method.to_owned(), params).into()
}

fn notice(method: &str, params: Value) -> Message {
    Notification::new(method.to_owned(), params).into()
}

fn session(encodings: Value, middle: Vec<Message>) -> Vec<Value> {
    let general = json!({ "capabilities": { "general": { "positionEncodings": encodings } } });
    let mut all = vec![request(1, "initialize", general), notice("initialized", json!({}))];
    all.extend(middle);
    all.extend([request(99, "shutdown", Value::Null), notice("exit", Value::Null)]);
    spoken(all)
}

fn open(uri: &str, text: &str) -> Message {
    let document = json!({ "uri": uri, "languageId": "markdown", "version": 1, "text": text });
    notice("textDocument/didOpen", json!({ "textDocument": document }))
}

#[test]
fn places_are_counted_as_the_editor_counts() {
    for (offered, named, column) in [(json!(["utf-16", "utf-8"]), "utf-8", 7), (json!(["utf-16"]), "utf-16", 4)] {
        let (server, client) = Connection::memory();
        let serving = std::thread::spawn(move || crate::server::run(&server, &Garden).is_ok());
        let send = |message| client.sender.send(message).unwrap();
        let hear = || serde_json::to_value(client.receiver.recv().unwrap()).unwrap();
        send(request(1, "initialize", json!({ "capabilities": { "general": { "positionEncodings": offered } } })));
        assert_eq!(hear()["result"]["capabilities"]["positionEncoding"], named);
        send(notice("initialized", json!({})));
        send(open("file:///g/a.md", "é 🌱wrong"));
        let found = hear();
        assert_eq!(found["method"], "textDocument/publishDiagnostics");
        assert_eq!(found["params"]["diagnostics"][0]["range"]["start"], json!({ "line": 0, "character": column }));
        send(request(2, "shutdown", Value::Null));
        send(notice("exit", Value::Null));
        assert!(serving.join().unwrap());
    }
}

#[test]
fn what_is_not_understood_is_answered_all_the_same() {
    let place = json!({ "textDocument": { "uri": "file:///g/never.md" }, "position": { "line": 1, "character": 1 } });
    let heard = session(
        json!([]),
        vec![
            request(2, "textDocument/hover", place),
            request(3, "textDocument/hover", json!([1, 2])),
            request(4, "workspace/executeCommand", json!({ "command": "rm" })),
            notice("textDocument/didChange", json!({ "textDocument": 7 })),
            notice("textDocument/didClose", json!({ "textDocument": { "uri": "::" } })),
            open("untitled:a", "wrong"),
            open("\u{0}", "wrong"),
        ],
    );
    let answer = |id: i32| heard.iter().find(|message| message["id"] == id).unwrap().clone();
    assert_eq!((answer(2)["result"].clone(), answer(3)["result"].clone()), (Value::Null, Value::Null));
    assert_eq!(answer(4)["error"]["code"], -32601);
}

fn texts() -> impl Strategy<Value = String> {
    let part = prop_oneof![
        "(- \\[[ x]\\] |  )?[a-cé🌱 ]{0,6}(, after: [a-c]{0,3}(, [a-c])?)?",
        "- \\*\\*(Name|Skill|What is needed|References)\\*\\* [a-c]{0,3}",
        "[a-c]{0,2}\\[[a-c]{0,2}\\]\\((#[a-c]{1,2}-results|task://[a-c]{0,2}|[a-c]{0,3}#?)\\)?",
        "(tools|skill|after|name): ?[a-c,\\[]{0,4}",
        "\\{\\{[a-c]{0,2}(\\}\\})?",
        "(?s).{0,6}",
    ];
    proptest::collection::vec(part, 0..8).prop_map(|parts| parts.join("\n"))
}

fn inside(range: Range, text: &str) -> bool {
    let lines = Lines::of(text, Encoding::Utf16);
    let real = |position: Position| {
        let (line, byte) = lines.place(position);
        lines.position(line, byte) == position
    };
    range.start <= range.end && real(range.start) && real(range.end)
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    /// Whatever the text and the cursor, every request gets an answer, and the answer names existing positions.
    #[test]
    fn every_place_of_every_text_is_answered(
        text in texts(), line in 0u32..10, character in 0u32..30, to in "[a-c *]{0,4}", far in any::<bool>(),
    ) {
        let position = if far { Position { line: u32::MAX - line, character } } else { Position { line, character } };
        for kind in [Kind::Sheet, Kind::Skill, Kind::Template] {
            let view = view(kind, &text);
            for item in view.completion(position) {
                let Some(CompletionTextEdit::Edit(edit)) = item.text_edit else { panic!("an edit") };
                prop_assert!(inside(edit.range, &text), "{:?} in {text:?}", edit);
            }
            if let Some(range) = view.hover(position).and_then(|hover| hover.range) {
                prop_assert!(inside(range, &text));
            }
            let uri = "file:///garden/work.md".parse().unwrap();
            if let Some(place) = view.definition(&uri, position).filter(|place| place.uri == uri) {
                prop_assert!(inside(place.range, &text));
            }
            for action in view.actions(&uri, Range { start: Position::default(), end: position }) {
                for edit in action.edit.and_then(|edit| edit.changes).unwrap_or_default().into_values().flatten() {
                    prop_assert!(inside(edit.range, &text), "{:?} in {text:?}", edit);
                }
            }
            for found in view.diagnostics() {
                prop_assert!(inside(found.range, &text));
            }
            for symbol in view.symbols() {
                prop_assert!(inside(symbol.range, &text) && inside(symbol.selection_range, &text), "{symbol:?} {text:?}");
            }
            view.prepare_rename(position);
            if let Ok(edit) = view.rename("file:///work.md".parse().unwrap(), position, &to) {
                for edit in edit.changes.unwrap_or_default().into_values().flatten() {
                    prop_assert!(inside(edit.range, &text), "{:?} in {text:?}", edit);
                }
            }
        }
    }

    /// Edits and requests in any order end in an orderly shutdown.
    #[test]
    fn any_session_ends_well(steps in proptest::collection::vec((0..8u8, texts(), 0u32..9, 0u32..20), 0..8)) {
        let methods = ["completion", "hover", "prepareRename", "rename", "documentSymbol", "definition", "codeAction"];
        let message = |(at, (what, text, line, character)): (usize, (u8, String, u32, u32))| {
            let document = json!({ "uri": "file:///g/a.md", "version": at });
            match methods.get(usize::from(what)) {
                Some(method) => request(
                    i32::try_from(at).unwrap_or_default() + 2,
                    &format!("textDocument/{method}"),
                    json!({
                        "textDocument": document, "newName": text,
                        "position": { "line": line, "character": character },
                    }),
                ),
                None if at % 2 == 0 => open("file:///g/a.md", &text),
                None => notice(
                    "textDocument/didChange",
                    json!({ "textDocument": document, "contentChanges": [{ "text": text }] }),
                ),
            }
        };
        let asked = steps.iter().filter(|step| step.0 < 7).count();
        let heard = session(json!([]), steps.into_iter().enumerate().map(message).collect());
        prop_assert_eq!(heard.iter().filter(|message| !message["id"].is_null()).count(), asked + 2);
    }
}
