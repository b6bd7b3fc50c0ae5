//! Where the files of a prompt come from, and what lookups find (spec "Templates" 5, 13, 14), as a user has it.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests")]

use crate::support::garden::{Ended, TestProject, json_lines};
use callsheet_core::events::{self, Event};
use callsheet_core::nouns::RunId;
use callsheet_core::record::Step;
use callsheet_core::template::TaskResult;
use callsheet_runtime::ports::Store;
use callsheet_store::SqliteStore;
use serde_json::Value;

const SAYS: &str = "[[rule]]\nphase = \"execute\"\ntext = 'Done.'\n";

/// A template whose only child is what `inside` says.
fn template(name: &str, inside: &str) -> String {
    format!(
        "<task type=\"atomic\" name=\"{name}\"><description>Read about honey of the beehive</description>\
         <instructions>Say it.</instructions><allowed_tools/>{inside}</task>\n"
    )
}

fn garden(templates: &[(&str, &str)]) -> TestProject {
    let garden = TestProject::scripted(SAYS);
    let all: String = templates.iter().map(|(name, inside)| template(name, inside)).collect();
    garden.write(".callsheet/templates/all.xml", format!("<templates version=\"1\">{all}</templates>"));
    garden.write("notes/honey.md", "# Honey\n\nThe beehive gives honey.\n");
    garden.write("notes/wax.md", "# Wax\n\nCandles.\n");
    garden.write("elsewhere/honey.md", "# Other\n\nNothing of it.\n");
    garden
}

struct Seen {
    notes: Value,
    prompt: String,
    ended: Ended,
}

impl Seen {
    fn warnings(&self) -> String {
        self.notes["warnings"].to_string()
    }

    /// The text of a file stands in the prompt.
    fn shows(&self, path: &str) -> bool {
        self.prompt.contains(&format!("### {path}"))
    }
}

fn run(garden: &TestProject, arguments: &[&str]) -> Seen {
    let ended = garden.expect(0, &[&["--json", "template", "run"], arguments].concat());
    let last = json_lines(&ended.out).pop().unwrap();
    let prompt = garden.expect(0, &["show", "--prompt", "1"]).out;
    Seen { notes: last["task_result"]["notes"].clone(), prompt, ended }
}

/// What stands inside of the template of each name.
const SOURCES: &[(&str, &str)] = &[
    ("none", ""),
    ("literal", "<file_paths><path>notes/wax.md</path></file_paths>"),
    ("glob", "<file_paths><path>notes/*.md</path></file_paths>"),
    ("missing", "<file_paths><path>notes/gone-*.md</path></file_paths>"),
    ("partly", "<file_paths><path>notes/gone.md</path><path>notes/wax.md</path></file_paths>"),
    ("escaping", "<file_paths><path>out.md</path></file_paths>"),
    ("command", "<file_paths source=\"command\"><command>find notes -name honey.md</command></file_paths>"),
    ("refused", "<file_paths source=\"command\"><command>find notes -delete</command></file_paths>"),
    ("program", "<file_paths source=\"command\"><command>cat notes/wax.md</command></file_paths>"),
    ("described", "<file_paths source=\"description\"><description>candles of wax</description></file_paths>"),
    ("automatic", "<context_management fresh_context=\"enabled\"/>"),
    ("both", "<context_management fresh_context=\"enabled\"/><file_paths><path>notes/wax.md</path></file_paths>"),
    ("alone", "<context_management inherit_context=\"none\"/><file_paths><path>notes/wax.md</path></file_paths>"),
    ("subset", "<context_management inherit_context=\"subset\"/><file_paths><path>notes/wax.md</path></file_paths>"),
];

/// Every word of `context_source`, under every source of files.
/// covers: C14
#[test]
fn c14_files_come_from_where_the_template_and_the_request_say() {
    let garden = garden(SOURCES);
    std::fs::write(garden.project().with_file_name("secret.md"), "outside").unwrap();
    std::os::unix::fs::symlink("../secret.md", garden.path("out.md")).unwrap();
    garden.expect(0, &["index", "--include", "notes/**"]);
    let source = |name: &str| {
        let seen = run(&garden, &[name]);
        (seen.notes["context_source"].as_str().unwrap().to_owned(), seen)
    };

    let (word, seen) = source("none");
    assert_eq!((word.as_str(), seen.notes["context_files_count"].as_u64()), ("none", Some(0)));
    let (word, seen) = source("literal");
    assert_eq!((word.as_str(), seen.notes["context_files_count"].as_u64()), ("template_literal", Some(1)));
    assert_eq!(seen.notes["template_used"], "literal");
    assert!(seen.shows("notes/wax.md") && seen.prompt.contains("Candles."), "{}", seen.prompt);
    let (word, seen) = source("glob");
    assert_eq!((word.as_str(), seen.notes["context_files_count"].as_u64()), ("template_literal", Some(2)));

    // Without a file that is named, that leads out, or that a pattern matches, no call is made.
    for (name, path) in [("missing", "notes/gone-*.md"), ("partly", "notes/gone.md"), ("escaping", "out.md")] {
        let ended = garden.expect(2, &["template", "run", name]);
        assert!(ended.err.contains(path), "{}", ended.err);
        assert!(garden.call(&["show", "--prompt", "1"]).out.is_empty(), "{name}");
    }

    // A command names files, without a shell and without changing anything.
    let (word, seen) = source("command");
    assert!(word == "template_command" && seen.shows("notes/honey.md"), "{word}: {}", seen.warnings());
    assert!(!seen.shows("elsewhere/honey.md"));
    let (word, seen) = source("refused");
    assert!(word == "template_command_error" && seen.warnings().contains("-delete"), "{word}: {}", seen.warnings());
    assert!(garden.path("notes/wax.md").exists(), "it was never started");
    let (word, seen) = source("program");
    assert!(word == "template_command_error" && seen.warnings().contains("cat"), "{word}: {}", seen.warnings());

    // Lookups: by a description, by the text of the task.
    let (word, seen) = source("described");
    assert!(word == "deferred_lookup" && seen.shows("notes/wax.md"), "{word}: {}", seen.warnings());
    assert!(!seen.shows("notes/honey.md"), "{}", seen.prompt);
    let (word, seen) = source("automatic");
    assert!(word == "automatic_lookup" && seen.shows("notes/honey.md"), "{word}: {}", seen.warnings());
    assert!(seen.prompt.contains("## Related material"), "{}", seen.prompt);
    let sources = seen.notes["data_sources"].as_array().unwrap();
    assert!(sources.iter().any(|one| one["kind"] == "fresh" && one["name"] == "notes/honey.md"), "{sources:?}");
    let (word, seen) = source("both");
    assert_eq!(word, "template_literal");
    assert!(seen.shows("notes/wax.md") && seen.shows("notes/honey.md"), "a lookup only adds: {}", seen.prompt);

    // Under every setting of the three dimensions; paths of the request replace those of the template.
    for name in ["alone", "subset", "literal"] {
        let (word, seen) = source(name);
        assert!(word == "template_literal" && seen.shows("notes/wax.md"), "{name}: {}", seen.prompt);
    }
    for name in ["literal", "command", "described"] {
        let seen = run(&garden, &[name, "--file", "water.md"]);
        assert_eq!(seen.notes["context_source"], "explicit_request", "{name}: {}", seen.ended.err);
        assert!(seen.shows("water.md") && !seen.shows("notes/wax.md") && !seen.shows("notes/honey.md"), "{name}");
    }
}

const LOOPS: &str = r#"<templates version="1">
<task type="director_evaluator_loop" name="bare"><description>Write</description><max_iterations>2</max_iterations><director>
<description>Make it</description><allowed_tools/></director><evaluator><description>Judge {{iteration}}</description>
<allowed_tools/></evaluator></task>
<task type="director_evaluator_loop" name="own"><description>Write</description><max_iterations>2</max_iterations><director>
<description>Make it</description><file_paths><path>notes/wax.md</path></file_paths><allowed_tools/></director>
<evaluator><description>Judge {{iteration}}</description><allowed_tools/></evaluator></task></templates>"#;

const ADDS: &str = r#"
[[rule]]
phase = "execute"
prompt = "Judge 1"
text = '{"verdict": "revise", "feedback": "more", "add_files": ["notes/honey.md", "notes/gone.md"]}'

[[rule]]
phase = "execute"
prompt = "Judge 2"
text = '{"verdict": "accept"}'

[[rule]]
phase = "execute"
text = "Made."
"#;

/// Files that an evaluation adds are none of the template's, unless it names some itself.
/// covers: C14, C28
#[test]
fn c14_context_source_tells_files_that_an_evaluation_added() {
    let garden = TestProject::scripted(ADDS);
    garden.write(".callsheet/templates/loops.xml", LOOPS);
    garden.write("notes/honey.md", "# Honey\n\nThe beehive gives honey.\n");
    garden.write("notes/wax.md", "# Wax\n\nCandles.\n");
    for (name, first, second, count) in
        [("bare", "none", "explicit_request", 1), ("own", "template_literal", "template_literal", 2)]
    {
        let ended = garden.expect(0, &["--json", "template", "run", name]);
        let id = RunId::new(json_lines(&ended.out).pop().unwrap()["run"].as_str().unwrap());
        let notes = |number: u32| result_of(&garden, &id, &format!("{name}-make-{number}")).notes;
        assert_eq!(notes(1).context_source, first, "{name}");
        let notes = notes(2);
        assert_eq!((notes.context_source.as_str(), notes.context_files_count), (second, count), "{name}");
        assert!(notes.warnings.iter().any(|one| one.message.contains("notes/gone.md")), "{name}");
    }
}

/// What a task of a run came back with.
fn result_of(garden: &TestProject, run: &RunId, task: &str) -> TaskResult {
    let store = SqliteStore::open(&garden.store()).unwrap();
    let closed = store.read(run, 1).unwrap().into_iter().find_map(|fact| match fact.event {
        Event::Evaluated(events::Evaluated { task: of, step: Step::Closed(closed), .. }) if of.as_str() == task => {
            Some(closed.result)
        }
        _ => None,
    });
    serde_json::from_slice(&store.blob(&closed.expect("it came back")).unwrap()).unwrap()
}

/// covers: C44, templates 13
#[test]
fn c44_the_index_is_built_refreshed_and_never_trusted_for_content() {
    let garden = garden(&[("automatic", "<context_management fresh_context=\"enabled\"/>")]);
    let seen = run(&garden, &["automatic"]);
    assert!(seen.warnings().contains("callsheet index"), "an empty index is told: {}", seen.warnings());
    assert_eq!(seen.notes["context_source"], "none");

    garden.write(".gitignore", "*.log\n");
    garden.write("big.log", "ignored honey");
    garden.write("picture.bin", [b'h', 0, b'o']);
    garden.write("large.txt", "honey ".repeat(200_000));
    let index = |arguments: &[&str]| {
        let ended = garden.expect(0, &[&["--json", "index"], arguments].concat());
        json_lines(&ended.out).pop().unwrap_or_default()
    };
    let built = index(&[]);
    assert_eq!((built["binary"].as_u64(), built["too_large"].as_u64()), (Some(1), Some(1)), "{built}");
    let listed = json_lines(&garden.expect(0, &["--json", "index", "--list"]).out);
    let paths: Vec<&str> = listed.iter().map(|entry| entry["path"].as_str().unwrap()).collect();
    assert!(paths.iter().all(|path| path.starts_with('/') && !path.contains("/.callsheet/")), "{paths:?}");
    assert!(!paths.iter().any(|path| path.ends_with("big.log")), "{paths:?}");
    let honey = listed.iter().find(|entry| entry["path"].as_str().unwrap().ends_with("notes/honey.md")).unwrap();
    let metadata = honey["metadata"].as_str().unwrap();
    for line in ["File: honey.md", "Path: notes/honey.md", "Type: markdown", "Size: 34", "Headings: Honey"] {
        assert!(metadata.contains(line), "{line}: {metadata}");
    }
    assert!(!metadata.contains("gives honey"), "no content is kept: {metadata}");

    let again = index(&[]);
    assert_eq!(
        (again["new"].as_u64(), again["changed"].as_u64(), again["removed"].as_u64()),
        (Some(0), Some(0), Some(0))
    );
    garden.write("notes/honey.md", "# Honey\n\nThe beehive stands empty.\n");
    let seen = run(&garden, &["automatic"]);
    assert!(seen.warnings().contains("notes/honey.md changed since"), "{}", seen.warnings());
    assert!(seen.prompt.contains("stands empty") && !seen.prompt.contains("gives honey"), "{}", seen.prompt);
    assert_eq!(index(&[])["changed"], 1);

    // The file is gone: an equal base name elsewhere does not stand for it.
    std::fs::remove_file(garden.path("notes/honey.md")).unwrap();
    let seen = run(&garden, &["automatic"]);
    assert!(seen.warnings().contains("out of date"), "{}", seen.warnings());
    assert!(!seen.shows("notes/honey.md") && !seen.prompt.contains("### elsewhere/honey.md\n\n```markdown\n# Honey"));
    assert_eq!(index(&[])["removed"], 1);

    let only = index(&["--include", "*.md", "--exclude", "elsewhere/**"]);
    let listed = garden.expect(0, &["index", "--list"]).out;
    assert!(
        only["files"].as_u64().unwrap() > 0 && !listed.contains("elsewhere") && !listed.contains(".xml"),
        "{listed}"
    );
    let left = index(&["--remove", "notes"]);
    assert!(left["removed"] == 1 && !garden.expect(0, &["index", "--list"]).out.contains("notes/"), "{left}");
    assert!(garden.path("notes/wax.md").exists());
    assert_eq!(index(&["--remove"])["files"], 0);
    garden.expect(2, &["index", "--include", "a{"]);
}

/// A model chooses among what a lookup found; a name that was not offered is told and never taken for another file.
/// covers: C44, templates 13
#[test]
fn a_model_chooses_among_the_files_that_were_found() {
    let described =
        "<file_paths source=\"description\"><description>honey and candles of wax</description></file_paths>";
    let mut garden = garden(&[("described", described)]);
    garden.expect(0, &["index"]);
    let config = |text: &str| garden.write(".callsheet/config.toml", text);
    config("[memory]\nmatcher = \"default_atomic\"\n");
    let ended = garden.expect(2, &["template", "run", "described"]);
    assert!(ended.err.contains("memory.matcher") && ended.err.contains("match_files"), "{}", ended.err);
    config("[memory]\nmatcher = \"match_files\"\n");
    let chosen = r#"[{"path": "notes/wax.md", "score": 2}, {"path": "wax.md", "relevance": "A base name."}]"#;
    let choosing = "[[rule]]\nphase = \"execute\"\nprompt = \"Choose those that one must read\"\n";
    garden.follow_text(&format!("{choosing}text = '{chosen}'\n{SAYS}"));
    let seen = run(&garden, &["described"]);
    assert!(seen.prompt.contains("Headings: Honey") && seen.prompt.contains("notes/wax.md"), "{}", seen.prompt);
    assert!(!seen.prompt.contains("gives honey"), "memory has no content: {}", seen.prompt);
    assert!(seen.warnings().contains("the model chose wax.md, which is not among"), "{}", seen.warnings());
    let prompt = garden.expect(0, &["show", "--prompt", "2"]).out;
    assert!(prompt.contains("### notes/wax.md") && !prompt.contains("### notes/honey.md"), "{prompt}");
    // A reply that is no list is tried once more and then told as what it is.
    garden.follow_text(&format!("{choosing}text = 'Both of them.'\n{SAYS}"));
    let ended = garden.expect(5, &["--json", "template", "run", "described"]);
    let result = json_lines(&ended.out).pop().unwrap();
    assert_eq!(result["task_result"]["error"]["reason"], "context_parsing_failure", "{result}");
    assert_eq!(garden.count("reply_received"), 2);
}

/// Compares with a file of `tests/fixtures/templates`, or writes it with `UPDATE_EXPECT=1`.
fn check_bytes(name: &str, actual: &str) {
    let path = crate::support::root().join("tests/fixtures/templates").join(name);
    if std::env::var_os("UPDATE_EXPECT").is_some() {
        std::fs::write(&path, actual).unwrap();
    }
    let expected = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(expected == actual, "{}\n--- expected\n{expected}\n--- actual\n{actual}", path.display());
}

/// Every part of the messages at once, in their order; a file that holds fences stands in a longer one.
/// covers: C16
#[test]
fn c16_the_bytes_of_a_prompt_are_fixed() {
    let library = r#"<task type="sequential" name="whole"><description>Whole</description>
<context_management accumulation_format="full_output"/><steps>
<task id="first"><description>Say something</description><instructions>One word.</instructions><allowed_tools/></task>
<task id="second"><description>Judge {{what}}</description><instructions>Look at the files.</instructions>
<system>You judge.</system><expected_output>A verdict.</expected_output><inputs><input name="what"/></inputs>
<file_paths><path>fences.md</path><path>notes/wax.md</path></file_paths><allowed_tools/>
<output_format type="json" schema="object"/></task>
<task id="third"><description>Read about wax</description><instructions>Short.</instructions><allowed_tools/>
<context_management inherit_context="none" fresh_context="enabled"/></task></steps></task>"#;
    let garden = TestProject::scripted(
        "[[rule]]\nphase = \"execute\"\nprompt = \"Judge\"\ntext = '{\"verdict\": \"good\"}'\n[[rule]]\nphase = \"execute\"\ntext = 'Word.'\n",
    );
    garden.write(".callsheet/templates/whole.xml", library);
    garden.write("fences.md", "# Fences\n\n````text\n```\ninner\n```\n````\n\n~~~~\nmore\n~~~~\n");
    garden.write("notes/wax.md", "# Wax\n\nCandles.\n");
    garden.expect(0, &["index", "--include", "notes/**"]);
    let prompts = || {
        garden.expect(0, &["template", "run", "whole", "what=the fences", "a piped text"]);
        ["2", "3"].map(|number| garden.expect(0, &["show", "--prompt", number]).out).join("\n")
    };
    let once = prompts();
    assert!(once.contains("~~~~~markdown"), "a longer fence than any inside: {once}");
    let order = [
        "===",
        "### fences.md",
        "## Inherited context",
        "## Previous outputs",
        "## Inputs",
        "## Task",
        "## Expected output",
        "## Output format",
        "## Related material",
    ];
    let places: Vec<usize> =
        order.iter().map(|part| once.find(part).unwrap_or_else(|| panic!("{part}: {once}"))).collect();
    assert!(places.is_sorted(), "{places:?}: {once}");
    assert_eq!(prompts(), once, "the same inputs give the same bytes");
    check_bytes("handler_prompt.txt", &once);
}

/// An empty file is found and empty; what the window cuts is told with how much was shown.
/// covers: C14
#[test]
fn empty_and_cut_files_are_told_of() {
    let garden = garden(&[
        ("empty", "<file_paths><path>empty.txt</path><path>bare</path></file_paths>"),
        ("long", "<file_paths><path>long.txt</path></file_paths>"),
    ]);
    garden.write("empty.txt", "");
    std::fs::create_dir(garden.path("bare")).unwrap();
    garden.write("long.txt", "honey and wax\n".repeat(20_000));
    let seen = run(&garden, &["empty"]);
    assert_eq!(seen.notes["context_source"], "template_literal");
    assert_eq!((&seen.notes["context_files_count"], seen.shows("empty.txt")), (&2.into(), false));
    assert_eq!(seen.notes["data_sources"][0]["bytes"], 0);
    let warnings = seen.warnings();
    assert!(warnings.contains("empty.txt is empty") && warnings.contains("bare is empty"), "{warnings}");
    let seen = run(&garden, &["long"]);
    let shown = &seen.notes["data_sources"][0];
    let told = format!(
        "long.txt is longer than its share of the context window; the prompt shows {} bytes of it",
        shown["bytes"]
    );
    assert!(shown["truncated"] == true && seen.warnings().contains(&told), "{}", seen.notes);
}

/// covers: C19
#[test]
fn c19_what_was_used_is_told_whatever_the_model_says() {
    let garden = TestProject::scripted(
        r#"
[[rule]]
phase = "execute"
prompt = "Plainly"
text = "Done."
[[rule]]
phase = "execute"
prompt = "Itself"
text = "Done.\n\n## Data usage\n\nThe wax alone."
[[rule]]
phase = "execute"
text = '{"status": "COMPLETE", "content": "Done.", "notes": {"metrics": {"calls": 99}, "data_sources": [], "summary": "short", "mood": "good"}}'
"#,
    );
    let task = |name: &str| {
        format!(
            "<task type=\"atomic\" name=\"{name}\"><description>{name} use {{{{what}}}}</description>\
             <instructions>Go.</instructions><allowed_tools/><inputs><input name=\"what\"/></inputs>\
             <file_paths><path>notes/wax.md</path><path>water.md</path></file_paths></task>"
        )
    };
    let all = ["Plainly", "Itself", "Envelope"].map(task).concat();
    garden.write(".callsheet/templates/all.xml", format!("<templates version=\"1\">{all}</templates>"));
    garden.write("notes/wax.md", "# Wax\n");
    let notes = |name: &str| run(&garden, &[name, "what=it"]).notes;
    let named = |notes: &Value| -> Vec<String> {
        let sources = notes["data_sources"].as_array().unwrap();
        sources
            .iter()
            .map(|one| format!("{} {}", one["kind"].as_str().unwrap(), one["name"].as_str().unwrap()))
            .collect()
    };
    let wanted = ["file notes/wax.md", "file water.md", "input what"];

    let plain = notes("Plainly");
    assert_eq!(named(&plain), wanted);
    assert_eq!(plain["data_usage"], "notes/wax.md, water.md, what", "written where the reply says nothing");
    let itself = notes("Itself");
    assert_eq!(
        (itself["data_usage"].as_str(), named(&itself)),
        (Some("The wax alone."), wanted.map(str::to_owned).to_vec())
    );
    let envelope = notes("Envelope");
    assert_eq!(envelope["model"]["metrics"]["calls"], 99, "{envelope}");
    assert_eq!(envelope["metrics"]["calls"], 1, "what the runtime counts is its own");
    assert_eq!(named(&envelope), wanted);
    assert_eq!((envelope["summary"].as_str(), envelope["mood"].as_str()), (Some("short"), Some("good")));
}
