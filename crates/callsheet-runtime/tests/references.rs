//! Runs the fixtures of `fixtures/references`: a project, references or lookups, and the result.
//!
//! A fixture consists of parts that each start with a line `=== kind argument`. `UPDATE_EXPECT=1` rewrites the last
//! part, `=== expect`.
#![allow(clippy::disallowed_methods, clippy::disallowed_macros, reason = "tests read fixtures and say what they skip")]
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test may panic")]

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::Path;
use std::sync::Arc;

use async_trait::async_trait;
use callsheet_core::nouns::{Fragment, PlanPart, Reference, Slug, Target};
use callsheet_core::symbols::{Symbol, SymbolKind};
use callsheet_format::reading::Lookup;
use callsheet_runtime::paths::Workspace;
use callsheet_runtime::ports::{Fetch, FetchFault, Outline, OutlineFault, Page, Resource, ResourceFault, Resources};
use callsheet_runtime::references::{
    Allowance, Disk, LargeFiles, Level, Output, Pages, Request, RunTexts, Sources, TaskOutput, Wanted, answer, check,
    resolve,
};
use tokio_util::sync::CancellationToken;

struct Fixture {
    head: String,
    parts: Vec<(String, String, String)>,
}

impl Fixture {
    fn parse(text: &str) -> Self {
        let mut fixture = Self { head: String::new(), parts: Vec::new() };
        for line in text.split_inclusive('\n') {
            if let Some(rest) = line.strip_prefix("=== ") {
                let (kind, argument) = rest.trim_end().split_once(' ').unwrap_or((rest.trim_end(), ""));
                fixture.parts.push((kind.to_owned(), argument.to_owned(), String::new()));
            } else {
                fixture.parts.last_mut().map_or(&mut fixture.head, |part| &mut part.2).push_str(line);
            }
        }
        fixture
    }

    fn of<'a>(&'a self, kind: &'a str) -> impl Iterator<Item = (&'a str, &'a str)> {
        self.parts.iter().filter(move |part| part.0 == kind).map(|part| (part.1.as_str(), part.2.as_str()))
    }

    fn option(&self, name: &str) -> Option<&str> {
        let (_, body) = self.of("options").next()?;
        body.lines().filter_map(|line| line.split_once(" = ")).find(|(key, _)| *key == name).map(|(_, value)| value)
    }
}

impl RunTexts for Fixture {
    fn prompts(&self) -> Vec<String> {
        self.of("prompt").map(|(_, text)| text.trim_end().to_owned()).collect()
    }

    fn plan(&self, part: &PlanPart) -> Option<String> {
        let name = Target::Plan(part.clone()).to_string();
        self.of("plan").find(|(argument, _)| *argument == name).map(|(_, text)| text.to_owned())
    }

    fn outputs(&self) -> Vec<Slug> {
        self.of("document").map(|(slug, _)| Slug::new(slug)).collect()
    }

    fn output(&self, slug: &Slug) -> Output {
        let named =
            |kind| self.of(kind).find(|(argument, _)| *argument == slug.as_str()).map(|(_, text)| text.to_owned());
        match (named("document"), named("pending")) {
            (Some(document), _) => Output::Done(TaskOutput {
                slug: Some(slug.clone()),
                summary: named("summary").unwrap_or_default(),
                document,
                rejected: named("told").unwrap_or_default(),
                details: self
                    .of("detail")
                    .map(|(argument, _)| argument.rsplit('/').next().unwrap().to_owned())
                    .collect(),
            }),
            (None, Some(_)) => Output::NotYet,
            (None, None) => Output::Unknown,
        }
    }

    fn detail(&self, slug: &Slug, file: &str) -> Option<Vec<u8>> {
        let name = format!("{slug}/{file}");
        self.of("detail").find(|(argument, _)| *argument == name).map(|(_, text)| text.as_bytes().to_vec())
    }
}

/// Serves the pages of a fixture, each once.
struct Web(BTreeMap<String, String>, std::sync::Mutex<BTreeSet<String>>);

#[async_trait]
impl Fetch for Web {
    async fn fetch(&self, url: &str, _cancel: &CancellationToken) -> Result<Page, FetchFault> {
        assert!(self.1.lock().unwrap().insert(url.to_owned()), "{url} was fetched twice");
        match self.0.get(url) {
            Some(text) if text.starts_with("refused") => Err(FetchFault::Refused("a private address".to_owned())),
            Some(text) => Ok(Page {
                url: url.to_owned(),
                media_type: "text/plain".to_owned(),
                text: text.clone(),
                truncated: false,
            }),
            None => Err(FetchFault::Status(404)),
        }
    }
}

/// Serves the resources of a fixture, each once.
struct Shed(BTreeMap<String, String>, std::sync::Mutex<BTreeSet<String>>);

impl Resources for Shed {
    fn read(&self, server: &str, uri: &str) -> Result<Resource, ResourceFault> {
        let link = format!("mcp:{server}/{uri}");
        let text = self.0.get(&link).ok_or_else(|| ResourceFault::Missing(self.0.keys().cloned().collect()))?;
        if let Some(why) = text.strip_prefix("unreadable: ") {
            return Err(ResourceFault::Unreadable(why.trim().to_owned()));
        }
        assert!(self.1.lock().unwrap().insert(link), "{uri} was read twice");
        let (url, media_type) = (uri.to_owned(), "text/markdown".to_owned());
        Ok(Resource::Text(Page { url, media_type, text: text.clone(), truncated: false }))
    }
}

/// An outline for files that end with `.words`: `def NAME` begins a symbol, a blank line ends it, and a line that
/// begins with `#` directly above it is its comment.
struct Words;

impl Outline for Words {
    fn outline(&self, path: &str, text: &str) -> Result<Vec<Symbol>, OutlineFault> {
        if !path.ends_with(".words") {
            return Err(OutlineFault::NoParser);
        }
        let lines: Vec<&str> = text.lines().collect();
        let mut symbols = Vec::new();
        for (at, line) in lines.iter().enumerate() {
            let Some(name) = line.strip_prefix("def ") else { continue };
            let length = lines[at..].iter().take_while(|line| !line.is_empty()).count();
            let comment = usize::from(at > 0 && lines[at - 1].starts_with('#'));
            let number = |n: usize| u32::try_from(n).unwrap();
            symbols.push(Symbol {
                path: name.to_owned(),
                number: 0,
                kind: SymbolKind::Function,
                first: number(at + 1),
                last: number(at + length),
                outer_first: number(at + 1 - comment),
                start: 0,
                end: 0,
            });
        }
        Ok(symbols)
    }
}

fn build(fixture: &Fixture, root: &Path) {
    for (kind, argument, body) in &fixture.parts {
        let (name, rest) = argument.split_once(' ').unwrap_or((argument, ""));
        let path = root.join(name);
        let content = match kind.as_str() {
            "file" => body.replace("\\r", "\r").into_bytes(),
            "lines" => {
                let (count, line) = rest.split_once(' ').unwrap();
                (1..=count.parse::<u32>().unwrap())
                    .flat_map(|n| format!("{}\n", line.replace("{n}", &n.to_string())).into_bytes())
                    .collect()
            }
            "bytes" => rest.split(' ').map(|byte| u8::from_str_radix(byte, 16).unwrap()).collect(),
            "link" => {
                std::os::unix::fs::symlink(rest, path).unwrap();
                continue;
            }
            _ => continue,
        };
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, content).unwrap();
    }
}

fn fragment(text: &str) -> Fragment {
    let lines = text.strip_prefix('L').and_then(|range| {
        let (first, last) = range.split_once("-L").unwrap_or((range, range));
        Some(Fragment::Lines { first: first.parse().ok()?, last: last.parse().ok()? })
    });
    lines.unwrap_or_else(|| Fragment::Anchor(text.to_owned()))
}

fn target(text: &str) -> Target {
    let (path, part) = text.split_once('#').map_or((text, None), |(path, part)| (path, Some(fragment(part))));
    if let Some(rest) = text.strip_prefix("plan:") {
        Target::Plan(match rest {
            "original-prompt" => PlanPart::OriginalPrompt,
            "goals-summary" => PlanPart::Goals,
            section => PlanPart::Section(section.rsplit('-').next().unwrap().parse().unwrap()),
        })
    } else if let Some(rest) = text.strip_prefix("task://") {
        match rest.split_once(".md#") {
            Some((slug, heading)) => Target::TaskOutput { slug: Slug::new(slug), heading: Some(heading.to_owned()) },
            None => {
                let (slug, file) = rest.split_once('/').unwrap();
                Target::TaskDetail { slug: Slug::new(slug), file: file.to_owned() }
            }
        }
    } else if let Some(slug) = text.strip_prefix('#').and_then(|text| text.strip_suffix("-results")) {
        Target::TaskOutput { slug: Slug::new(slug), heading: None }
    } else if let Some(heading) = text.strip_prefix('#') {
        Target::PromptHeading(heading.to_owned())
    } else if let Some((server, uri)) = text.strip_prefix("mcp:").and_then(|rest| rest.split_once('/')) {
        Target::Resource { server: server.to_owned(), uri: uri.to_owned() }
    } else if text.starts_with("http") {
        Target::Http(text.to_owned())
    } else if text == "project_description" {
        Target::ProjectDescription
    } else if path == "current_file" {
        Target::CurrentFile(part)
    } else if text.ends_with('/') {
        Target::Directory(text.trim_end_matches('/').to_owned())
    } else {
        Target::File { path: path.to_owned(), fragment: part }
    }
}

fn wanted(line: &str) -> Wanted {
    let carried = line.starts_with("+ ");
    let (title, rest) = line.trim_start_matches("+ ").trim_start_matches('[').split_once("](").unwrap();
    let reference = Reference { title: title.replace("\\n", "\n"), target: target(rest.trim_end_matches(')')) };
    Wanted { reference, carried }
}

async fn resolved(fixture: &Fixture, workspace: &Workspace) -> String {
    let references: Vec<Wanted> = fixture.of("references").flat_map(|(_, body)| body.lines().map(wanted)).collect();
    let number = |name: &str, default: u32| fixture.option(name).map_or(default, |value| value.parse().unwrap());
    let restricted = fixture.option("restricted").map(|value| value.split(' ').map(str::to_owned).collect());
    let pages = fixture.of("page").map(|(url, text)| (url.to_owned(), text.to_owned())).collect();
    let pages = Pages::new(Some(Arc::new(Web(pages, std::sync::Mutex::default()))), None);
    let resources = fixture.of("resource").map(|(link, text)| (link.to_owned(), text.to_owned())).collect();
    let pages = pages.with_resources(Arc::new(Shed(resources, std::sync::Mutex::default())));
    let request = Request {
        references: &references,
        level: if fixture.option("level") == Some("preview") { Level::Preview } else { Level::Whole },
        allowance: Allowance { reference: number("reference", 8_000), prompt: number("prompt", 24_000), preview: 600 },
        task: Some("Find Code 1"),
        need: fixture.option("need").unwrap_or_default(),
        writer_before: fixture.option("writer").is_some(),
        restricted: &restricted.unwrap_or_default(),
        first_picture: None,
    };
    let large = LargeFiles::default();
    let sources = Sources {
        disk: Disk { outline: &Words, resources: &pages, ..Disk::of_text(workspace, &large) },
        texts: fixture,
        pages: &pages,
        current_file: fixture.option("current"),
        allow_http: fixture.option("http").is_some(),
    };
    let found = resolve(&request, &sources, &CancellationToken::new()).await.unwrap();
    // A second resolution uses the fetched pages: the web refuses to serve one twice.
    let fetched = !found.issues.iter().any(|issue| issue.what.contains("fetched"));
    if fetched {
        assert_eq!(resolve(&request, &sources, &CancellationToken::new()).await.unwrap(), found);
    }
    let mut text = found.text();
    for issue in &found.issues {
        writeln!(text, "--- {:?} {}: {} | {} {:?}", issue.severity, issue.code, issue.what, issue.todo, issue.allowed)
            .unwrap();
        assert_eq!(issue.place.task.as_deref(), Some("Find Code 1"));
    }
    for (name, shown) in [("full", &found.shown_in_full), ("part", &found.shown_in_part)] {
        for (path, hash) in shown {
            writeln!(text, "--- shown in {name}: {path}").unwrap();
            let bytes = std::fs::read(workspace.root().join(path)).unwrap();
            assert_eq!(callsheet_core::nouns::BlobId::of(&bytes), *hash, "the hash is of the whole file");
        }
    }
    // What holds without fetching also holds after fetching, except for what only a fetch can tell.
    let checked = check(&request, &sources).issues;
    assert!(checked.iter().all(|issue| found.issues.contains(issue)), "{checked:?}");
    text
}

fn answered(fixture: &Fixture, workspace: &Workspace) -> String {
    let lookups: Vec<Lookup> = fixture
        .of("lookups")
        .flat_map(|(_, body)| body.lines())
        .map(|line| {
            let (kind, rest) = line.split_once(' ').unwrap();
            let (path, part) = rest.split_once('#').map_or((rest, None), |(path, part)| (path, Some(fragment(part))));
            match kind {
                "path" => Lookup::Path { path: path.replace("{nul}", "\0"), fragment: part },
                "glob" => Lookup::Glob(rest.to_owned()),
                "symbols" => Lookup::Symbols(rest.to_owned()),
                _ => Lookup::Content(path.to_owned()),
            }
        })
        .collect();
    let answers = answer(&lookups, Disk { outline: &Words, ..Disk::of_text(workspace, &LargeFiles::default()) });
    let shown = |lookup: &Lookup| {
        let line = format!(
            "{}\n  {}\n",
            serde_json::to_string(lookup).unwrap(),
            serde_json::to_string(&answers[lookup]).unwrap()
        );
        line.replace(workspace.root().to_str().unwrap(), "{root}")
    };
    let asked: String = lookups.iter().map(&shown).collect();
    let others: String = answers.keys().filter(|lookup| !lookups.contains(lookup)).map(&shown).collect();
    if others.is_empty() { asked } else { format!("{asked}--- for candidates\n{others}") }
}

#[tokio::test]
async fn fixtures() {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/references");
    let mut paths: Vec<_> = directory.read_dir().unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    assert!(paths.len() > 5, "fixtures are found");
    let mut wrong = Vec::new();
    for path in paths {
        let text = std::fs::read_to_string(&path).unwrap();
        let fixture = Fixture::parse(&text);
        assert!(fixture.head.starts_with("covers: "), "{} says what it covers", path.display());
        let project = tempfile::tempdir().unwrap();
        build(&fixture, project.path());
        let workspace = Workspace::new(project.path(), &[]).unwrap();
        let mut found = resolved(&fixture, &workspace).await;
        found.push_str(&answered(&fixture, &workspace));
        let expected = fixture.of("expect").next().map(|(_, body)| body).unwrap_or_default();
        if found == expected {
            continue;
        }
        if std::env::var_os("UPDATE_EXPECT").is_some() {
            let before = text.split("=== expect\n").next().unwrap();
            std::fs::write(&path, format!("{before}=== expect\n{found}")).unwrap();
        } else {
            wrong.push(format!("{}\n--- found\n{found}\n--- expected\n{expected}", path.display()));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
}
