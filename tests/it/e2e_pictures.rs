//! Pictures for models that see, and what the others get (spec 5.14).
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "tests")]

use serde_json::{Value, json};

use crate::support::garden::{Ended, TestProject};
use crate::support::server::{Answer, PlayedServer};

/// A PNG of one pixel, and its base64.
const DOT: &[u8] = b"\x89PNG\x0d\x0a\x1a\x0a\0\0\0\x0dIHDR\0\0\0\x01\0\0\0\x01\x08\x02\0\0\0\x90wS\xde\0\0\0\x0cIDATx\xdac\xf8\xcf\xc0\0\0\x03\x01\x01\0\xf7\x03AC\0\0\0\0IEND\xaeB`\x82";
const DOT_64: &str = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAIAAACQd1PeAAAADElEQVR42mP4z8AAAAMBAQD3A0FDAAAAAElFTkSuQmCC";

const RUN: &[&str] = &["run", "--sheet", "work.md", "--set", "iterate=never"];

fn sheet(links: &[&str]) -> String {
    let task = |link: &&str| {
        let name = link.chars().filter(char::is_ascii_alphabetic).collect::<String>();
        format!(
            "- **Name** Look {name}\n    - **What is needed** Say what it shows.\n- **References** [Shot]({link})\n\
             - **Expected output** A line.\n"
        )
    };
    let tasks: Vec<String> = links.iter().map(task).collect();
    format!("## Goals / summary\nLook.\n\n**plan complete**\n## Tasks\n### Task section 1\n{}", tasks.join("\n"))
}

/// A server of a model that sees, as its settings say.
fn seeing() -> (PlayedServer, TestProject) {
    let chunk = json!({"choices": [{"delta": {"content": "## Result summary\nA dot.\n"}, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": 100, "completion_tokens": 5, "total_tokens": 105}});
    let body = format!("data: {chunk}\n\ndata: [DONE]\n\n");
    let answer = Answer { status: 200, media: "text/event-stream".to_owned(), body, breaks: false };
    let server = PlayedServer::start(vec![answer]);
    let garden = TestProject::bare();
    let config = format!(
        "model = \"acme/brook\"\n[providers.acme]\ndialect = \"openai\"\nbase_url = \"http://{}\"\nwindow = 32768\n\
         vision = true\n",
        server.host
    );
    std::fs::create_dir_all(garden.home()).unwrap();
    std::fs::write(garden.home().join("config.toml"), config).unwrap();
    (server, garden)
}

fn ran(garden: &TestProject, arguments: &[&str]) -> Ended {
    Ended::from(garden.command(arguments).env("NO_PROXY", "*").output().unwrap())
}

fn reuse(garden: &TestProject, run: &str) -> Ended {
    ran(garden, &[RUN, &["--reuse", run]].concat())
}

/// The content tells what a file is, not its name. The record has the bytes once, as a blob.
///
/// covers: 5.14
#[test]
fn a_model_that_sees_gets_the_picture() {
    let (server, garden) = seeing();
    garden.write("docs/shot.txt", DOT);
    garden.write("work.md", sheet(&["docs/shot.txt"]));
    let ended = ran(&garden, RUN);
    assert_eq!(ended.code, 0, "{}", ended.err);
    assert!(!ended.err.contains("gets no pictures"), "{}", ended.err);
    let body: Value = serde_json::from_str(&server.calls()[0].1).unwrap();
    let content = &body["messages"].as_array().unwrap().last().unwrap()["content"];
    assert_eq!(content[0]["image_url"]["url"], format!("data:image/png;base64,{DOT_64}"));
    let said = content[1]["text"].as_str().unwrap();
    assert!(said.contains("picture 1 of this message: PNG, 1 x 1 pixels"), "{said}");
    let facts = garden.facts();
    let reply = facts.iter().find(|fact| fact["event"] == "reply_received").unwrap();
    assert_eq!(reply["pictures"].as_array().map(Vec::len), Some(1), "{reply}");
    assert!(!facts.iter().any(|fact| fact.to_string().contains(DOT_64)), "no event holds the bytes");
    assert!(garden.expect(0, &["gc", "--dry-run"]).err.contains("nothing to remove"));
    let runs = crate::support::garden::json_lines(&garden.expect(0, &["--json", "runs"]).out);
    let run = runs[0]["run"].as_str().unwrap();
    let again = reuse(&garden, run);
    assert_eq!((again.code, server.calls().len()), (0, 1), "an equal request is not sent again: {}", again.err);
    garden.write("docs/shot.txt", [DOT, b"!"].concat());
    reuse(&garden, run);
    assert_eq!(server.calls().len(), 2, "another picture is another request");
}

/// Pictures of a folder come after its texts.
///
/// covers: 5.14
#[test]
fn a_folder_shows_its_pictures_to_a_model_that_sees() {
    let garden = TestProject::scripted(&format!("{BLIND}[model]\nvision = true\n"));
    garden.write("docs/a.png", DOT);
    garden.write("docs/b.md", "A text.\n");
    garden.write("docs/c.bin", b"\0\0");
    garden.write("work.md", sheet(&["docs/"]));
    garden.expect(0, RUN);
    let prompt = garden.expect(0, &["show", "--prompt", "1"]).out;
    let text = prompt.find("A text.").unwrap();
    let picture = prompt.find("picture 1 of this message: PNG, 1 x 1 pixels").unwrap();
    assert!(text < picture && !prompt.contains("picture 2"), "{prompt}");
    let facts = garden.facts();
    let reply = facts.iter().find(|fact| fact["event"] == "reply_received").unwrap();
    assert_eq!(reply["pictures"].as_array().map(Vec::len), Some(1), "{reply}");
}

const BLIND: &str = "[default]\ntext = \"## Result summary\\nSeen.\"\n";

/// covers: 5.14
#[test]
fn a_model_that_sees_nothing_is_told_and_so_is_the_person_once() {
    let garden = TestProject::scripted(BLIND);
    garden.write("docs/one.png", DOT);
    garden.write("docs/two.png", [DOT, b"!"].concat());
    garden.write("work.md", sheet(&["docs/one.png", "docs/two.png"]));
    let ended = garden.expect(0, RUN);
    assert_eq!(ended.err.matches("gets no pictures").count(), 1, "{}", ended.err);
    assert!(ended.err.contains("providers.scripted.vision=true"), "{}", ended.err);
    let prompt = garden.expect(0, &["show", "--prompt", "1"]).out;
    assert!(prompt.contains("not shown, because you see no pictures"), "{prompt}");
}

/// covers: 5.14
#[test]
fn a_picture_that_is_too_large_is_told() {
    let garden = TestProject::scripted(&format!("{BLIND}[model]\nvision = true\n"));
    garden.write("docs/large.png", [DOT, &vec![7; 4_000_000]].concat());
    garden.write("docs/huge.png", [DOT, &vec![7; 9_000_000]].concat());
    for name in ["large", "huge"] {
        garden.write("work.md", sheet(&[&format!("docs/{name}.png")]));
        let ended = garden.expect(0, RUN);
        assert!(ended.err.contains("is a picture that is too large"), "{name}: {}", ended.err);
        let prompt = garden.expect(0, &["show", "--prompt", "1"]).out;
        assert!(prompt.contains("not shown, because it is too large"), "{name}: {prompt}");
    }
}

const CALL: &str = "[[rule]]\nphase = 'execute'\n[[rule.reply]]\n\
    calls = [{ name = 'read_file', arguments = { path = 'docs/shot.png' } }]\n\
    [[rule.reply]]\ntext = \"## Result summary\\nA dot.\\n\"\n[model]\nvision = ";
const SKILL: &str =
    "---\nname: look\ndescription: Looks.\ntools: [read_file]\nmode: loop\n---\nSay what.\n---\nLook.\n";

/// covers: 5.14
#[test]
fn a_picture_that_a_tool_reads_follows_its_output() {
    for (vision, wanted) in [("true", "picture 1 of this message: PNG"), ("false", "because you see no pictures")] {
        let garden = TestProject::scripted(&format!("{CALL}{vision}\n"));
        garden.write(".callsheet/skills/look.md", SKILL);
        garden.write("docs/shot.png", DOT);
        let skilled = sheet(&["water.md"]).replace("- **References**", "- **Skill** look\n- **References**");
        garden.write("work.md", skilled);
        garden.expect(0, RUN);
        let prompt = garden.expect(0, &["show", "--prompt", "2"]).out;
        assert!(prompt.contains("docs/shot.png is a picture: PNG, 1 x 1 pixels"), "{prompt}");
        assert!(prompt.contains(wanted), "{prompt}");
        let kept = garden.facts().iter().filter(|fact| !fact["record"]["output"]["pictures"].is_null()).count();
        assert_eq!(kept, 1, "the record keeps it, whichever model asks");
    }
}

/// covers: 5.14
#[test]
fn a_question_can_name_a_picture() {
    let (server, garden) = seeing();
    garden.write("docs/shot.png", DOT);
    let ended = ran(&garden, &["run", "--set", "plan=never", "What does docs/shot.png show?"]);
    assert!(server.calls().iter().any(|(_, body)| body.contains(DOT_64)), "{}\n{:?}", ended.err, server.calls());
}

/// covers: 5.14
#[test]
fn a_template_reads_a_picture() {
    const TEMPLATE: &str = "template: look\nabout: Look at a picture\ninputs:\n  shot:\nask: Say what it shows.\n\
        files: [\"{{shot}}\"]\n";
    let (server, garden) = seeing();
    garden.write("docs/shot.png", DOT);
    garden.write(".callsheet/templates/look.yaml", TEMPLATE);
    let ended = ran(&garden, &["template", "run", "look", "shot=docs/shot.png"]);
    assert!(server.calls().iter().any(|(_, body)| body.contains(DOT_64)), "{}\n{:?}", ended.err, server.calls());
}
