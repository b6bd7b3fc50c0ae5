use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use async_trait::async_trait;
use callsheet_core::nouns::{Fragment, PlanPart, Reference, RunId, Slug, Target, tokens};
use callsheet_format::reading::{Answer, Lookup};
use tokio_util::sync::CancellationToken;

use crate::ports::{Fetch, FetchFault, Page};
use crate::runfiles::KeptFiles;
use crate::testing::Project;

use super::{
    Allowance, Disk, LargeFiles, Level, Output, Pages, Request, RunTexts, Sources, Wanted, answer, named_references,
    resolve,
};

struct Nothing;

impl RunTexts for Nothing {
    fn prompts(&self) -> Vec<String> {
        Vec::new()
    }

    fn plan(&self, _part: &PlanPart) -> Option<String> {
        None
    }

    fn outputs(&self) -> Vec<Slug> {
        Vec::new()
    }

    fn output(&self, _slug: &Slug) -> Output {
        Output::Unknown
    }

    fn detail(&self, _slug: &Slug, _file: &str) -> Option<Vec<u8>> {
        None
    }
}

async fn shown(project: &Project, path: &str, fragment: Option<Fragment>) -> super::Resolved {
    shown_from(project, &LargeFiles::default(), path, fragment).await
}

async fn shown_from(project: &Project, large: &LargeFiles, path: &str, fragment: Option<Fragment>) -> super::Resolved {
    let target = Target::File { path: path.to_owned(), fragment };
    let request = Request {
        references: &[Wanted { reference: Reference { title: String::new(), target }, carried: false }],
        level: Level::Whole,
        allowance: Allowance { reference: 8_000, prompt: 24_000, preview: 600 },
        task: None,
        need: "",
        writer_before: false,
        restricted: &BTreeSet::new(),
        first_picture: None,
    };
    let pages = Pages::new(None, None);
    let sources = Sources {
        disk: Disk::of_text(&project.workspace, large),
        texts: &Nothing,
        pages: &pages,
        current_file: None,
        allow_http: false,
    };
    let cancel = CancellationToken::new();
    movable(resolve(&request, &sources, &cancel)).await.unwrap()
}

/// A driver resolves from tasks that move between threads, so the future must be `Send`.
fn movable<T>(future: impl Future<Output = T> + Send) -> impl Future<Output = T> + Send {
    future
}

/// covers: 5.8 huge files
#[tokio::test]
async fn a_huge_file_is_shown_by_its_ends_and_its_lines() {
    let project = Project::with(&[]);
    let count = 120_000_u32;
    let text: String = (1..=count).map(|n| format!("line {n} with some text to make it as long as fifty\n")).collect();
    assert!(text.len() > 6_000_000);
    std::fs::write(project.path("huge.txt"), &text).unwrap();
    let found = shown(&project, "huge.txt", None).await;
    let block = found.text();
    assert!(tokens(&block) <= 8_010, "{}", tokens(&block));
    let note = block.lines().find(|line| line.starts_with('[')).unwrap();
    assert!(note.contains("of 120000 omitted, about 1600000 tokens; use #L"), "{note}");
    assert!(block.contains("\nline 1 with") && block.contains("\nline 120000 with"));
    let first_left: u32 = note.trim_start_matches("[lines ").split('-').next().unwrap().parse().unwrap();
    assert!(
        block.contains(&format!("\nline {} with", first_left - 1))
            && !block.contains(&format!("\nline {first_left} with"))
    );
    assert_eq!(found.shown_in_part["huge.txt"], callsheet_core::nouns::BlobId::of(text.as_bytes()));

    let range = shown(&project, "huge.txt", Some(Fragment::Lines { first: 60_000, last: 60_001 })).await.text();
    assert!(
        range.contains("```text\nline 60000 with some text to make it as long as fifty\nline 60001 with"),
        "{range}"
    );

    let lookups = [
        Lookup::Path { path: "huge.txt".to_owned(), fragment: None },
        Lookup::Path { path: "huge.txt".to_owned(), fragment: Some(Fragment::Lines { first: 2, last: 3 }) },
        Lookup::Content("larger.txt".to_owned()),
    ];
    std::fs::File::create(project.path("larger.txt")).unwrap().set_len(17 << 20).unwrap();
    let answers = answer(&lookups, Disk::of_text(&project.workspace, &LargeFiles::default()));
    let Answer::File(facts) = &answers[&lookups[0]] else { panic!("{answers:?}") };
    assert_eq!((facts.lines, facts.bytes, facts.tokens), (count, text.len() as u64, tokens(&text)));
    let Answer::File(facts) = &answers[&lookups[1]] else { panic!("{answers:?}") };
    assert_eq!(facts.tokens, tokens("line 2 with some text to make it as long as fifty\n".repeat(2).as_str()));
    assert_eq!(answers[&lookups[2]], Answer::Unreadable("it is larger than 16 MiB".to_owned()));
}

/// covers: 5.8 huge files are read once
#[tokio::test]
async fn a_huge_file_is_read_and_hashed_once_while_it_stays_as_it_is() {
    let project = Project::with(&[]);
    std::fs::write(project.path("huge.txt"), "a line of some length\n".repeat(300_000)).unwrap();
    let large = LargeFiles::trusting();
    let lookups = [Lookup::Path { path: "huge.txt".to_owned(), fragment: None }];
    let disk = Disk::of_text(&project.workspace, &large);
    let facts = answer(&lookups, disk);
    let first = shown_from(&project, &large, "huge.txt", None).await;
    let second = shown_from(&project, &large, "huge.txt", None).await;
    assert_eq!((large.scans(), &first), (1, &second));
    assert_eq!(answer(&lookups, disk), facts);
    shown_from(&project, &large, "huge.txt", Some(Fragment::Lines { first: 5, last: 6 })).await;
    assert_eq!(large.scans(), 2, "other lines are another content");
    std::fs::write(project.path("huge.txt"), "another line, as it is\n".repeat(300_000)).unwrap();
    let third = shown_from(&project, &large, "huge.txt", None).await;
    assert!(third.text().contains("another line") && large.scans() == 3);
    // The file is newer, however long the test takes.
    let later = std::time::SystemTime::now() + std::time::Duration::from_secs(3_600);
    std::fs::File::options().append(true).open(project.path("huge.txt")).unwrap().set_modified(later).unwrap();
    let wary = LargeFiles::default();
    for _ in 0..2 {
        shown_from(&project, &wary, "huge.txt", None).await;
    }
    assert_eq!(wary.scans(), 2, "what was written just now may change again unseen");
}

#[tokio::test]
async fn a_huge_single_line_is_shown_by_its_ends() {
    let project = Project::with(&[]);
    std::fs::write(project.path("huge.js"), format!("start{}end", "é".repeat(5_000_000))).unwrap();
    let block = shown(&project, "huge.js", None).await.text();
    assert!(tokens(&block) <= 8_010, "{}", tokens(&block));
    assert!(block.starts_with("### huge.js\n\n```javascript\nstarté") && block.ends_with("éend\n```\n"));
    assert!(block.contains("\n[the middle of lines 1-1 of 1 omitted, about 5000000 tokens]\n"));
    let mut binary = vec![b'x'; 5_000_000];
    binary[8_191] = 0;
    std::fs::write(project.path("huge.bin"), &binary).unwrap();
    assert!(shown(&project, "huge.bin", None).await.text().contains("binary file, 5000000 bytes"));
}

struct Web {
    fetched: AtomicU32,
    fails: bool,
}

#[async_trait]
impl Fetch for Web {
    async fn fetch(&self, url: &str, cancel: &CancellationToken) -> Result<Page, FetchFault> {
        self.fetched.fetch_add(1, Ordering::SeqCst);
        if url.ends_with("slow") {
            cancel.cancelled().await;
        }
        if self.fails {
            return Err(FetchFault::Network("reset".to_owned()));
        }
        let (media_type, text) = ("text/html".to_owned(), "page".to_owned());
        Ok(Page { url: url.to_owned(), media_type, text, truncated: false })
    }
}

/// covers: 5.4 a file of 10 GiB is refused unread
#[test]
fn a_huge_file_is_refused_unread_with_its_size_and_the_limit() {
    let project = Project::with(&[]);
    std::fs::File::create(project.path("huge.log")).unwrap().set_len(10 << 30).unwrap();
    let located = project.workspace.locate("huge.log").unwrap();
    let large = LargeFiles::default();
    let fault = super::files::read(Disk::of_text(&project.workspace, &large), &located, None).unwrap_err();
    assert_eq!(fault.to_string(), "huge.log cannot be read: it has 10240 MiB, and files over 1024 MiB are not read");
    assert_eq!(large.scans(), 0);
}

/// covers: 5.7 fetched once per run and kept in the state folder
#[tokio::test]
async fn a_page_is_fetched_once_and_kept_for_a_resumed_run() {
    let project = Project::with(&[]);
    let files = KeptFiles::new(project.outside(), &RunId::new("run-1")).unwrap();
    let web = Arc::new(Web { fetched: AtomicU32::new(0), fails: false });
    let pages = Pages::new(Some(web.clone()), Some(files.clone()));
    let cancel = CancellationToken::new();
    let url = "https://example.org/";
    assert_eq!(pages.cached(url), None);
    let both = tokio::join!(pages.page(url, &cancel), pages.page(url, &cancel));
    assert_eq!(both.0.unwrap(), both.1.unwrap());
    assert_eq!(web.fetched.load(Ordering::SeqCst), 1);
    let resumed = Pages::new(None, Some(files));
    assert_eq!(resumed.cached(url).unwrap().text, "page");
    assert_eq!(resumed.page(url, &cancel).await.unwrap().media_type, "text/html");
    assert!(matches!(resumed.page("https://example.org/other", &cancel).await, Err(FetchFault::Off)));
}

#[tokio::test]
async fn a_failed_fetch_is_tried_again_and_a_waiting_one_is_cancelled() {
    let web = Arc::new(Web { fetched: AtomicU32::new(0), fails: true });
    let pages = Pages::new(Some(web.clone()), None);
    let cancel = CancellationToken::new();
    for _ in 0..2 {
        assert!(matches!(pages.page("https://example.org/", &cancel).await, Err(FetchFault::Network(_))));
    }
    assert_eq!(web.fetched.load(Ordering::SeqCst), 2);
    let pages = Arc::new(pages);
    let waiting = tokio::spawn({
        let (pages, cancel) = (pages.clone(), cancel.clone());
        async move { pages.page("https://example.org/slow", &cancel).await }
    });
    tokio::task::yield_now().await;
    cancel.cancel();
    assert!(matches!(waiting.await.unwrap(), Err(FetchFault::Cancelled)));
}

proptest::proptest! {
    /// covers: 5.9
    #[test]
    fn no_content_leaves_its_block(
        title in "[a`#~\\[\\]()<>\\n\\r\\t\u{1b} -]{0,20}",
        target in "[a/`#~\u{1b}\\n\\r .-]{1,20}",
        content in "[`~ \\t\\n\\r#a<>!-]{0,60}",
    ) {
        use pulldown_cmark::{CodeBlockKind, Event, Parser, Tag, TagEnd};
        let text = super::render::block_of(&title, &target, "text", &content);
        let (mut blocks, mut headings, mut depth, mut code) = (0, 0, 0_u32, String::new());
        for event in Parser::new(&text) {
            match event {
                Event::Start(Tag::CodeBlock(CodeBlockKind::Fenced(tag))) => {
                    proptest::prop_assert_eq!(&*tag, "text");
                    (blocks, depth) = (blocks + 1, depth + 1);
                }
                Event::Start(Tag::Heading { .. }) => (headings, depth) = (headings + 1, depth + 1),
                Event::Start(_) => {
                    proptest::prop_assert!(depth > 0, "{text}");
                    depth += 1;
                }
                Event::End(TagEnd::Heading(_)) => {
                    proptest::prop_assert_eq!(blocks, 0, "the heading comes first");
                    depth -= 1;
                }
                Event::End(_) => depth -= 1,
                Event::Text(part) if blocks == 1 => code.push_str(&part),
                _ => proptest::prop_assert!(depth > 0, "{text}"),
            }
        }
        proptest::prop_assert_eq!((blocks, headings), (1, 1), "{}", text);
        // The test does not care which line ends a parser keeps.
        let plain = |text: &str| text.replace(['\r', '\n'], "");
        proptest::prop_assert_eq!(plain(&code), plain(&content));
    }
}

/// covers: 4.4 path-leading-slash
#[test]
fn the_whole_path_of_a_new_file_means_its_path_in_the_project() {
    let project = Project::with(&[("docs/a.md", "A.\n")]);
    let root = project.workspace.root().to_string_lossy().into_owned();
    let large = LargeFiles::default();
    let inside = |path: &str| {
        let lookup = Lookup::Content(format!("{root}/{path}"));
        let disk = Disk::of_text(&project.workspace, &large);
        match answer(std::slice::from_ref(&lookup), disk).remove(&lookup) {
            Some(Answer::Missing(found)) => found.without_slash,
            found => panic!("{path}: {found:?}"),
        }
    };
    assert_eq!(inside("docs/new.md").as_deref(), Some("docs/new.md"));
    assert_eq!(inside("new.md").as_deref(), Some("new.md"));
    assert_eq!(inside("nowhere/new.md"), None, "its folder is not there");
}

fn named(project: &Project, text: &str) -> Vec<String> {
    let large = LargeFiles::default();
    let disk = Disk::of_text(&project.workspace, &large);
    named_references(text, disk).iter().map(callsheet_core::links::link).collect()
}

/// covers: 2.2
#[test]
fn a_text_names_the_files_that_exist() {
    let files =
        [("src/a.rs", "one\ntwo\n"), ("docs/plan.md", "# Plan\n"), ("LICENSE", "Free.\n"), ("Garden/x.md", "x\n")];
    let project = Project::with(&files);
    let text = "Does `src/a.rs` do what docs/plan.md says? Compare [it](src/a.rs), nowhere.md and e.g. and/or LICENSE. Not Garden.";
    assert_eq!(named(&project, text), ["[a.rs](src/a.rs)", "[plan.md](docs/plan.md)", "[LICENSE](LICENSE)"]);
    assert_eq!(named(&project, "Read docs/plan.md?"), ["[plan.md](docs/plan.md)"]);
    assert_eq!(named(&project, "What is in ./docs/, and in .?"), ["[docs](docs/)"]);
    assert!(named(&project, "Say something about ../secret.md, https://example.org/a.md and /etc/passwd").is_empty());
}

/// covers: 2.2
#[test]
fn a_part_that_a_text_names_is_kept_if_it_exists() {
    let project = Project::with(&[("src/a.rs", "one\ntwo\n"), ("plan.md", "# Plan\n\n## Beds\n")]);
    let text = "Look at src/a.rs#L2-L9 and plan.md#beds.";
    assert_eq!(named(&project, text), ["[a.rs](src/a.rs#L2)", "[plan.md](plan.md#beds)"]);
    assert_eq!(named(&project, "Look at src/a.rs#L7 and plan.md#paths."), ["[a.rs](src/a.rs)", "[plan.md](plan.md)"]);
    assert_eq!(named(&project, &"src/a.rs plan.md ".repeat(50)).len(), 2);
}
