//! The language server of the built binary, spoken to over its stdin and stdout.
#![cfg(feature = "lsp")]
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "tests")]

use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, ChildStdin, ChildStdout, Stdio};

use serde_json::{Value, json};

use crate::support::garden::TestProject;

/// A scripted editor.
struct Editor {
    child: Child,
    to: Option<ChildStdin>,
    from: BufReader<ChildStdout>,
    asked: u32,
}

impl Editor {
    fn start(garden: &TestProject) -> Self {
        let mut command = garden.command(&["lsp"]);
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        let (to, from) = (child.stdin.take(), BufReader::new(child.stdout.take().unwrap()));
        let mut editor = Self { child, to, from, asked: 0 };
        let answer = editor.ask("initialize", &json!({ "capabilities": {} }));
        assert_eq!(answer["capabilities"]["positionEncoding"], "utf-16");
        editor.tell("initialized", &json!({}));
        editor
    }

    fn send(&mut self, message: &Value) {
        let body = message.to_string();
        let to = self.to.as_mut().unwrap();
        write!(to, "Content-Length: {}\r\n\r\n{body}", body.len()).unwrap();
        to.flush().unwrap();
    }

    fn tell(&mut self, method: &str, params: &Value) {
        self.send(&json!({ "jsonrpc": "2.0", "method": method, "params": params }));
    }

    fn hear(&mut self) -> Value {
        let mut length = 0;
        loop {
            let mut line = String::new();
            assert!(self.from.read_line(&mut line).unwrap() > 0, "the server is gone");
            if line.trim().is_empty() {
                break;
            }
            if let Some(number) = line.strip_prefix("Content-Length: ") {
                length = number.trim().parse().unwrap();
            }
        }
        let mut body = vec![0; length];
        self.from.read_exact(&mut body).unwrap();
        serde_json::from_slice(&body).unwrap()
    }

    fn ask(&mut self, method: &str, params: &Value) -> Value {
        self.asked += 1;
        let id = self.asked;
        self.send(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }));
        loop {
            let heard = self.hear();
            if heard["id"] == id {
                assert!(heard["error"].is_null(), "{method}: {heard}");
                return heard["result"].clone();
            }
        }
    }

    /// Opens a file with a text, which need not be on disk; what is found in it.
    fn open(&mut self, garden: &TestProject, name: &str, text: &str) -> (String, Vec<Value>) {
        let uri = format!("file://{}", garden.path(name).display());
        let document = json!({ "uri": uri, "languageId": "markdown", "version": 1, "text": text });
        self.tell("textDocument/didOpen", &json!({ "textDocument": document }));
        let found = self.found(&uri);
        (uri, found)
    }

    /// What is found in a file, next.
    fn found(&mut self, uri: &str) -> Vec<Value> {
        loop {
            let heard = self.hear();
            if heard["method"] == "textDocument/publishDiagnostics" && heard["params"]["uri"] == uri {
                return heard["params"]["diagnostics"].as_array().unwrap().clone();
            }
        }
    }
}

impl Drop for Editor {
    fn drop(&mut self) {
        self.to = None;
        drop(self.child.wait());
    }
}

fn at(uri: &str, line: u32, character: u32) -> Value {
    json!({ "textDocument": { "uri": uri }, "position": { "line": line, "character": character } })
}

fn labels(items: &Value) -> Vec<&str> {
    items.as_array().unwrap().iter().filter_map(|item| item["label"].as_str()).collect()
}

/// covers: 11.20
#[test]
fn an_editor_is_served() {
    let garden = TestProject::bare();
    let mut editor = Editor::start(&garden);
    let text = "Water it.\n- [ ] read [who](water.md#who-waters)\n- [ ] é🌱 [gone](gone.md)\n  skill: read_filse_now\n";
    let (uri, found) = editor.open(&garden, "todo.md", text);
    let codes: Vec<&str> = found.iter().filter_map(|one| one["code"].as_str()).collect();
    assert!(codes.contains(&"file-missing") && codes.contains(&"skill-unknown"), "{found:?}");
    let gone = found.iter().find(|one| one["code"] == "file-missing").unwrap();
    assert_eq!(
        gone["range"],
        json!({ "start": { "line": 2, "character": 10 }, "end": { "line": 2, "character": 25 } })
    );
    let hover = editor.ask("textDocument/hover", &at(&uri, 1, 14));
    let shown = hover["contents"]["value"].as_str().unwrap();
    assert!(shown.contains("tokens") && shown.contains("Ana looks after the barrels"), "{shown}");
    assert!(!shown.contains("Barrel 2 leaks"), "{shown}");
    let change = json!({ "contentChanges": [{ "text": "Water it.\n- [ ] read [who](water.md#)\n" }],
        "textDocument": { "uri": uri, "version": 2 } });
    editor.tell("textDocument/didChange", &change);
    let anchors = editor.ask("textDocument/completion", &at(&uri, 1, 26));
    assert!(labels(&anchors).contains(&"who-waters"), "{anchors}");
    let outside = "- [ ] read [it](../../../../etc/passwd)\n- [ ] tell (after: read)\n  skill: \n";
    editor.tell(
        "textDocument/didChange",
        &json!({ "contentChanges": [{ "text": outside }], "textDocument": { "uri": uri, "version": 3 } }),
    );
    let hover = editor.ask("textDocument/hover", &at(&uri, 0, 18));
    assert!(!hover["contents"]["value"].as_str().unwrap().contains("root:"), "{hover}");
    assert!(labels(&editor.ask("textDocument/completion", &at(&uri, 2, 9))).contains(&"read_files"));
    let renamed =
        json!({ "textDocument": { "uri": uri }, "position": { "line": 0, "character": 8 }, "newName": "Look" });
    let edits = editor.ask("textDocument/rename", &renamed);
    assert_eq!(edits["changes"][&uri].as_array().unwrap().len(), 2, "{edits}");

    let (_, found) = editor.open(&garden, ".callsheet/skills/look.md", "---\ndescription: 7\n---\n");
    assert!(found.iter().any(|one| one["source"] == "callsheet"), "{found:?}");
    let template = "<templates>\n  <template name=\"a\"><task type=\"atomic\"><description>x {{y}}</description></task>\n</templates>\n";
    let (uri, found) = editor.open(&garden, ".callsheet/templates/a.xml", template);
    let checked = {
        garden.write(".callsheet/templates/a.xml", template);
        garden.call(&["template", "check", ".callsheet/templates/a.xml", "--json"]).out
    };
    assert_eq!(found.len(), checked.lines().count(), "{found:?}\n{checked}");
    assert!(editor.ask("textDocument/documentSymbol", &json!({ "textDocument": { "uri": uri } })).is_array());
    let (_, found) = editor.open(&garden, "README.md", "# A readme\n- [ ] buy seeds\n");
    assert!(found.is_empty(), "{found:?}");
    assert!(editor.ask("shutdown", &Value::Null).is_null());
    editor.tell("exit", &Value::Null);
    assert!(editor.child.wait().unwrap().success());
    assert!(!garden.path(".callsheet/runs").exists());
}

/// covers: 11.20
#[test]
fn an_editor_goes_to_what_a_name_means() {
    let garden = TestProject::bare();
    let skill = "---\ndescription: Looks.\n---\n# Look\n## Instructions\nLook.\n";
    garden.plant(".callsheet/skills/look_here.md", skill);
    garden.plant(".callsheet/templates/count.yaml", "# Counts.\n\ntemplate: count\nabout: Counts\nask: Count.\n");
    let mut editor = Editor::start(&garden);
    let goes = |editor: &mut Editor, uri: &str, line: u32, character: u32| {
        let place = editor.ask("textDocument/definition", &at(uri, line, character));
        let file = place["uri"].as_str().unwrap_or_default();
        let name = file.rsplit('/').next().unwrap_or_default().to_owned();
        (name, place["range"]["start"]["line"].as_u64())
    };
    let text = "- [ ] read [who](water.md#who-waters)\n  skill: look_here\n- [ ] tell, after: read\n";
    let (uri, _) = editor.open(&garden, "todo.md", text);
    let (file, line) = goes(&mut editor, &uri, 0, 20);
    let shown = garden.read("water.md");
    let wanted = shown.lines().position(|line| line.to_lowercase().contains("who waters")).unwrap();
    assert_eq!((file.as_str(), line), ("water.md", u64::try_from(wanted).ok()));
    assert_eq!(goes(&mut editor, &uri, 1, 12), ("look_here.md".to_owned(), Some(0)));
    assert_eq!(goes(&mut editor, &uri, 2, 20), ("todo.md".to_owned(), Some(0)));
    let template = "template: all\nabout: All\ninputs: {topic: string}\ntasks:\n  - one: {ask: \"On {{topic}}.\"}\n\
        \x20 - two: {call: count}\n  - last: {ask: \"Of {{one}}.\"}\n";
    let (uri, found) = editor.open(&garden, ".callsheet/templates/all.yaml", template);
    assert!(found.iter().all(|one| one["severity"] != 1), "{found:?}");
    assert_eq!(goes(&mut editor, &uri, 4, 23), ("all.yaml".to_owned(), Some(2)));
    assert_eq!(goes(&mut editor, &uri, 5, 18), ("count.yaml".to_owned(), Some(2)));
    assert_eq!(goes(&mut editor, &uri, 6, 24), ("all.yaml".to_owned(), Some(4)));
}

/// Each correction is applied to the text, and the issue is gone.
///
/// covers: 11.20
#[test]
fn an_editor_corrects_misspelt_names() {
    let garden = TestProject::bare();
    garden.plant(".callsheet/templates/count.yaml", "template: count\nabout: Counts\nask: Count.\n");
    garden.write("people.csv", "name,city\nAna,Rome\n");
    let mut editor = Editor::start(&garden);
    let rows = [
        ("todo.md", "- [ ] greet {person.nmae}\n  for each: person in [People](people.csv)\n", "{person.name}"),
        ("todo.md", "- [ ] read it\n  skill: read_fils\n", "read_files"),
        ("todo.md", "- [ ] read [who](watr.md)\n", "[who](water.md)"),
        ("todo.md", "- [ ] read [who](water.md#who-watres)\n", "[who](water.md#who-waters)"),
        (".callsheet/templates/a.yaml", "template: a\nabout: A\ncall: cuont\n", "call: count"),
        (".callsheet/templates/a.yaml", "template: a\nabuot: A\nask: Hello.\n", "about: A"),
        (
            ".callsheet/templates/a.yaml",
            "template: a\nabout: A\ninputs: {topic: string}\nask: On {{topci}}.\n",
            "On {{topic}}",
        ),
        (
            ".callsheet/templates/a.yaml",
            "template: a\nabout: A\ntasks:\n  - one: {ask: Hello., gives: {name: string}}\n  - two: {ask: \"Of {{one.nmae}}.\"}\n",
            "{{one.name}}",
        ),
        (".callsheet/skills/find/SKILL.md", "---\nname: find\ndescripton: Finds.\n---\nDo.\n", "description: Finds."),
        (
            ".callsheet/skills/find/SKILL.md",
            "---\nname: find\ndescription: Finds.\nallowed-tools: Bash serch_text # \n---\nDo.\n",
            "Bash search_text #",
        ),
        (
            ".callsheet/skills/find/SKILL.md",
            "---\nname: find\ndescription: Finds.\nallowed-tools: [Read, Grepp]\n---\nDo.\n",
            "[Read, grep]",
        ),
        (
            ".callsheet/skills/find/SKILL.md",
            "---\nname: find\ndescription: Finds.\nmetadata:\n  callsheet-mod: loop\n---\nDo.\n",
            "callsheet-mode: loop",
        ),
        (
            ".callsheet/skills/find.md",
            "---\ndescription: Finds.\ntools: read_file, raed_file\n---\nDo.\n",
            "read_file, read_file",
        ),
        (".callsheet/skills/find.md", "---\ndescription: Finds.\nmode: lop\n---\nDo.\n", "mode: loop"),
        (".callsheet/skills/find.md", "---\ndescription: Finds.\nlimits:\n  max_turn: 3\n---\nDo.\n", "  max_turns: 3"),
    ];
    for (file, text, wanted) in rows {
        let (uri, found) = editor.open(&garden, file, text);
        assert!(!found.is_empty(), "{text}");
        let end = json!({ "line": 99, "character": 0 });
        let range = json!({ "start": { "line": 0, "character": 0 }, "end": end });
        let asked = json!({ "textDocument": { "uri": uri }, "range": range, "context": { "diagnostics": found } });
        let actions = editor.ask("textDocument/codeAction", &asked);
        let corrected = |action: &Value| {
            let edit = &action["edit"]["changes"][&uri][0];
            let number = |name: &str, part: &str| usize::try_from(edit["range"][name][part].as_u64().unwrap()).unwrap();
            let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
            let (from, to) = (number("start", "character"), number("end", "character"));
            lines[number("start", "line")].replace_range(from..to, edit["newText"].as_str().unwrap());
            lines.join("\n")
        };
        let texts: Vec<String> = actions.as_array().unwrap().iter().map(corrected).collect();
        assert!(texts.iter().any(|text| text.contains(wanted)), "{text}: {actions} of {found:?}");
    }
}
