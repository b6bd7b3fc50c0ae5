//! Runs `src/TOOL/cases/*.txt`. A case is text in sections:
//!
//! - `covers: PARAGRAPH` lines before the first section
//! - `=== arguments`: JSON; `$BESIDE` is the folder that holds the project's
//! - `=== file PATH`: a file of the project; `=== outside PATH`: one beside it; `=== skill PATH`: one of the skill
//! - `=== bytes PATH`: a file with escapes `\0 \r \n \xNN`, without a final newline
//! - `=== lines PATH COUNT`: a file of numbered lines; `=== folder PATH`; `=== link PATH -> TARGET`
//! - `=== page URL MEDIA`: a page that can be fetched; without any there is no network
//! - `=== limit BYTES`: cap of output
//! - last, `=== output`, `=== failed`, `=== changes` or `=== question`: what came out
//!
//! `UPDATE_EXPECT=1` rewrites the last section.
#![allow(clippy::disallowed_methods, clippy::disallowed_macros, reason = "tests read fixtures and say what they skip")]
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "test code")]

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use callsheet_core::nouns::BlobId;
use callsheet_runtime::paths::Workspace;
use callsheet_runtime::ports::{
    DocumentFault, DocumentKind, Documents, Fetch, FetchFault, Page, ToolContext, ToolOutcome,
};
use callsheet_tools::registry;
use serde_json::Value;
use tempfile::TempDir;
use tokio_util::sync::CancellationToken;

#[derive(Default)]
struct Pages(BTreeMap<String, Page>);

#[async_trait]
impl Fetch for Pages {
    async fn fetch(&self, url: &str, _cancel: &CancellationToken) -> Result<Page, FetchFault> {
        self.0.get(url).cloned().ok_or(FetchFault::Status(404))
    }
}

/// Reads documents whose bytes are `notes:` and their text.
struct Notes;

impl Documents for Notes {
    fn text(&self, _: DocumentKind, _: &BlobId, bytes: &[u8]) -> Result<String, DocumentFault> {
        let text = std::str::from_utf8(bytes).map_err(|_| DocumentFault::Unreadable)?;
        text.strip_prefix("notes:").map(|text| text.trim_start().to_owned()).ok_or(DocumentFault::Unreadable)
    }
}

struct Case {
    head: String,
    sections: Vec<(String, String)>,
}

impl Case {
    fn parse(text: &str) -> Self {
        let mut parts = text.split("=== ");
        let head = parts.next().unwrap().to_owned();
        let section = |part: &str| {
            let (title, body) = part.split_once('\n').unwrap_or((part, ""));
            (title.trim().to_owned(), body.to_owned())
        };
        Self { head, sections: parts.map(section).collect() }
    }

    fn with_result(&self, result: &str) -> String {
        let kept = &self.sections[..self.sections.len() - 1];
        let sections: String = kept.iter().map(|(title, body)| format!("=== {title}\n{body}")).collect();
        format!("{}{sections}=== {result}", self.head)
    }
}

fn unescape(text: &str) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut rest = text.trim_end_matches('\n');
    while let Some((before, after)) = rest.split_once('\\') {
        bytes.extend(before.bytes());
        let (byte, used) = match after.as_bytes()[0] {
            b'0' => (0, 1),
            b'r' => (b'\r', 1),
            b'n' => (b'\n', 1),
            b'x' => (u8::from_str_radix(&after[1..3], 16).unwrap(), 3),
            other => panic!("unknown escape {}", other as char),
        };
        bytes.push(byte);
        rest = &after[used..];
    }
    bytes.extend(rest.bytes());
    bytes
}

fn put(path: PathBuf, content: impl AsRef<[u8]>) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, content).unwrap();
}

async fn run(tool: &str, case: &Case) -> String {
    let folder = TempDir::new().unwrap();
    let root = folder.path().join("project");
    fs::create_dir_all(&root).unwrap();
    let (mut arguments, mut limit, mut skill_dir) = (Value::Null, 262_144, None);
    let mut pages = Pages::default();
    for (title, body) in &case.sections[..case.sections.len() - 1] {
        let words: Vec<&str> = title.split(' ').collect();
        match words[..] {
            ["arguments"] => {
                let beside = folder.path().canonicalize().unwrap().display().to_string();
                arguments = serde_json::from_str(&body.replace("$BESIDE", &beside)).unwrap();
            }
            ["file", path] => put(root.join(path), body),
            ["outside", path] => put(folder.path().join(path), body),
            ["skill", path] => {
                put(folder.path().join("skill").join(path), body);
                skill_dir = Some(folder.path().join("skill"));
            }
            ["bytes", path] => put(root.join(path), unescape(body)),
            ["lines", path, count] => {
                let count: usize = count.parse().unwrap();
                put(root.join(path), (1..=count).map(|n| format!("line {n}\n")).collect::<String>());
            }
            ["folder", path] => fs::create_dir_all(root.join(path)).unwrap(),
            ["link", path, "->", target] => std::os::unix::fs::symlink(target, root.join(path)).unwrap(),
            ["page", url, media] => {
                let page =
                    Page { url: url.to_owned(), media_type: media.to_owned(), text: body.clone(), truncated: false };
                pages.0.insert(url.to_owned(), page);
            }
            ["limit", bytes] => limit = bytes.parse().unwrap(),
            _ => panic!("unknown section {title}"),
        }
    }
    let root = root.canonicalize().unwrap();
    let context = ToolContext {
        workspace: Arc::new(Workspace::new(&root, &[] as &[PathBuf]).unwrap()),
        skill_dir: skill_dir.map(|folder| folder.canonicalize().unwrap()),
        fetch: (!pages.0.is_empty()).then(|| Arc::new(pages) as Arc<dyn Fetch>),
        documents: Arc::new(Notes),
        max_output_bytes: limit,
        timeout: Duration::from_secs(60),
        cancel: CancellationToken::new(),
    };
    let tool = registry().into_iter().find(|known| known.spec().name == tool).unwrap();
    let schema = jsonschema::validator_for(&tool.spec().parameters).unwrap();
    assert!(schema.is_valid(&arguments), "a case holds valid arguments: {arguments}");
    let (title, text) = match tool.run(&arguments, &context).await.unwrap() {
        ToolOutcome::Output(text) => ("output", text),
        ToolOutcome::Pictures(text, pictures) => ("output", format!("{text}\n{pictures:?}")),
        ToolOutcome::Failed(text) => ("failed", text),
        ToolOutcome::Question(text) => ("question", text),
        ToolOutcome::Midway(midway) => ("question", midway.question),
        ToolOutcome::Changes(changes) => ("changes", serde_json::to_string_pretty(&changes).unwrap()),
    };
    let beside = folder.path().canonicalize().unwrap().display().to_string();
    format!("{title}\n{}\n", text.replace(&root.display().to_string(), "$PROJECT").replace(&beside, "$BESIDE"))
}

fn case_files() -> Vec<(String, PathBuf)> {
    let tools = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut files = Vec::new();
    for tool in fs::read_dir(tools).unwrap().map(|entry| entry.unwrap().path()) {
        let Ok(cases) = fs::read_dir(tool.join("cases")) else { continue };
        let name = tool.file_name().unwrap().to_str().unwrap().to_owned();
        files.extend(cases.map(|entry| (name.clone(), entry.unwrap().path())));
    }
    files.sort();
    files
}

#[tokio::test]
async fn every_case_gives_what_it_says() {
    let update = std::env::var_os("UPDATE_EXPECT").is_some();
    let files = case_files();
    assert!(files.len() >= 40, "the cases were not found");
    let mut wrong = Vec::new();
    for (tool, path) in files {
        let text = fs::read_to_string(&path).unwrap();
        let case = Case::parse(&text);
        assert!(case.head.contains("covers: "), "{} covers nothing", path.display());
        let found = case.with_result(&run(&tool, &case).await);
        if found != text && update {
            fs::write(&path, &found).unwrap();
        } else if found != text {
            wrong.push(format!("--- {}\n{found}", path.display()));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
