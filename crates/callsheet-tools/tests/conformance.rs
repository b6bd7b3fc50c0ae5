//! Runs every built-in tool against the conformance suite.
#![allow(clippy::disallowed_methods, clippy::disallowed_macros, reason = "tests read fixtures and say what they skip")]
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "test code")]

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use callsheet_core::nouns::{RepeatClass, ToolEffect, ToolSpec};
use callsheet_core::template::SubtaskType;
use callsheet_runtime::conformance::tool::ToolTrial;
use callsheet_runtime::paths::Workspace;
use callsheet_runtime::ports::{Fetch, FetchFault, NoDocuments, Page, ToolContext};
use callsheet_tools::{HttpFetch, HttpSettings, registry};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio_util::sync::CancellationToken;

callsheet_runtime::tool_conformance!(trial;
    read_file list_files find_files search_text write_file run_command fetch_url ask_user spawn_subtask);

/// One long page at one address. For everything else, the real adapter answers.
struct OnePage(HttpFetch);

#[async_trait]
impl Fetch for OnePage {
    async fn fetch(&self, url: &str, cancel: &CancellationToken) -> Result<Page, FetchFault> {
        if url != "https://example.com/long" {
            return self.0.fetch(url, cancel).await;
        }
        let text = "long ".repeat(1_000);
        Ok(Page { url: url.to_owned(), media_type: "text/plain".to_owned(), text, truncated: false })
    }
}

/// A project with a long file, many files, and links that lead out. Secrets are beside it.
fn project() -> TempDir {
    let folder = TempDir::new().unwrap();
    let root = folder.path().join("project");
    std::fs::create_dir_all(root.join("many")).unwrap();
    std::fs::create_dir_all(root.join(".git")).unwrap();
    std::fs::create_dir_all(folder.path().join("beside")).unwrap();
    std::fs::write(folder.path().join("beside/secret.txt"), "secret\n").unwrap();
    let line = |n: usize| format!("this is line {n} of a long file\n");
    std::fs::write(root.join("long.txt"), (1..=1_000).map(line).collect::<String>()).unwrap();
    for n in 0..150 {
        std::fs::write(root.join(format!("many/a-file-with-a-name-{n:03}.txt")), "").unwrap();
    }
    std::os::unix::fs::symlink("../beside/secret.txt", root.join("link.txt")).unwrap();
    std::os::unix::fs::symlink("../beside", root.join("link")).unwrap();
    folder
}

fn trial(name: &str) -> ToolTrial {
    let folder = project();
    let root = folder.path().join("project");
    let secret = folder.path().join("beside/secret.txt").display().to_string();
    let beside = folder.path().join("beside").display().to_string();
    let files = ["../beside/secret.txt", "link.txt", "link/secret.txt", &secret, "/etc/passwd"];
    let folders = ["..", "../beside", "link", &beside, "/"];
    let of = |key: &str, paths: &[&str], more: Value| -> Vec<Value> {
        let with = |path: &&str| {
            let mut arguments = more.clone();
            arguments.as_object_mut().unwrap().insert(key.to_owned(), json!(path));
            arguments
        };
        paths.iter().map(with).collect()
    };
    let (plenty, escapes) = match name {
        "read_file" => (Some(json!({"path": "long.txt"})), of("path", &files, json!({}))),
        "list_files" => (Some(json!({"path": "many"})), of("path", &folders, json!({}))),
        "find_files" => (Some(json!({"pattern": "*.txt"})), of("path", &folders, json!({"pattern": "*"}))),
        "search_text" => (Some(json!({"pattern": "line"})), of("path", &folders, json!({"pattern": "secret"}))),
        "write_file" => {
            let paths = [&files[..], &[".git/config", "many/../.callsheet/callsheet.db"]].concat();
            (None, of("path", &paths, json!({"content": "x", "overwrite": true})))
        }
        "run_command" => {
            (Some(json!({"command": ["seq", "100000"]})), of("cwd", &folders, json!({"command": ["true"]})))
        }
        "fetch_url" => {
            let urls = [
                "http://127.0.0.1:9/",
                "http://[::1]/",
                "http://169.254.169.254/latest",
                "http://localhost:9/",
                "http://2130706433/",
                "http://0x7f.1/",
                "file:///etc/passwd",
                "http://user:secret@example.com/",
                "x",
            ];
            (Some(json!({"url": "https://example.com/long"})), of("url", &urls, json!({})))
        }
        _ => (None, Vec::new()),
    };
    let workspace = Arc::new(Workspace::new(&root, &[] as &[PathBuf]).unwrap());
    let context = ToolContext {
        workspace,
        skill_dir: None,
        fetch: Some(Arc::new(OnePage(HttpFetch::new(HttpSettings::default())))),
        documents: Arc::new(NoDocuments),
        max_output_bytes: 262_144,
        timeout: Duration::from_secs(60),
        cancel: CancellationToken::new(),
    };
    let tool = registry().into_iter().find(|tool| tool.spec().name == name).unwrap();
    ToolTrial { tool, context, plenty, escapes, keep: Box::new(folder) }
}

/// Tests of core know the tools from a file. It must say the same as the folder of each tool.
///
/// covers: 11.1
#[test]
fn effects_classes_and_aliases_are_those_that_tests_of_core_have() {
    let text = include_str!("../../callsheet-core/tests/tools.json");
    let told: Vec<ToolSpec> = serde_json::from_str(text).unwrap();
    let of = |tool: &ToolSpec| (tool.name.clone(), tool.effect, tool.repeat, tool.aliases.clone());
    let known: Vec<_> = registry().iter().map(|tool| of(tool.spec())).collect();
    assert_eq!(known, told.iter().map(of).collect::<Vec<_>>());
    for tool in &told {
        let class = match tool.effect {
            ToolEffect::Read => RepeatClass::Read,
            ToolEffect::Write => RepeatClass::Idempotent,
            ToolEffect::Execute => RepeatClass::Once,
        };
        assert_eq!(tool.repeat, class, "{}", tool.name);
    }
}

#[test]
fn the_registry_holds_each_tool_once() {
    let names: Vec<String> = registry().iter().map(|tool| tool.spec().name.clone()).collect();
    let expected = [
        "read_file",
        "list_files",
        "find_files",
        "search_text",
        "write_file",
        "run_command",
        "fetch_url",
        "ask_user",
        "spawn_subtask",
    ];
    assert_eq!(names, expected);
}

/// covers: T 12
#[test]
fn a_subtask_is_offered_for_each_operator_that_may_be_asked_for() {
    let tools = registry();
    let tool = tools.iter().find(|tool| tool.spec().name == "spawn_subtask").unwrap();
    let offered = tool.spec().parameters["properties"]["type"]["enum"].clone();
    assert_eq!(offered, json!(SubtaskType::words().collect::<Vec<_>>()));
}
