//! Material of a small project.

use std::fmt::Write as _;
use std::path::Path;

use callsheet_core::links::link_target;
use callsheet_core::symbols::{Symbol, SymbolKind};
use proptest::prelude::*;

use super::{MaterialRequest, WordIndex, find};
use crate::ports::{Outline, OutlineFault};
use crate::references::{Disk, LargeFiles};
use crate::testing::Project;

/// Functions at the left margin, each up to the next one.
struct Functions;

impl Outline for Functions {
    fn outline(&self, _path: &str, text: &str) -> Result<Vec<Symbol>, OutlineFault> {
        let mut symbols: Vec<Symbol> = Vec::new();
        let total = u32::try_from(text.lines().count()).unwrap();
        for (line, text) in (1..).zip(text.lines()) {
            let Some(name) = text.strip_prefix("def ").and_then(|rest| rest.split('(').next()) else { continue };
            if let Some(before) = symbols.last_mut() {
                before.last = line - 1;
            }
            let (path, kind) = (name.to_owned(), SymbolKind::Function);
            let (first, outer_first, last) = (line, line, total);
            symbols.push(Symbol { path, number: 0, kind, first, last, outer_first, start: 0, end: 0 });
        }
        Ok(symbols)
    }
}

/// The bundled folder as a separate project.
fn island() -> Project {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/island");
    let mut files = Vec::new();
    let mut open = vec![folder.clone()];
    while let Some(directory) = open.pop() {
        for entry in std::fs::read_dir(directory).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                open.push(path);
            } else {
                let name = path.strip_prefix(&folder).unwrap().display().to_string();
                files.push((name, std::fs::read_to_string(&path).unwrap()));
            }
        }
    }
    let files: Vec<(&str, &str)> = files.iter().map(|(path, text)| (path.as_str(), text.as_str())).collect();
    Project::with(&files)
}

fn shown(project: &Project, index: &WordIndex, request: &MaterialRequest<'_>) -> String {
    let large = LargeFiles::default();
    let disk = Disk { outline: &Functions, ..Disk::of_text(&project.workspace, &large) };
    let found = find(disk, index, request);
    assert!(found.tokens() <= request.budget, "{found:?}");
    let mut text = String::new();
    for one in &found.references {
        let marks = [(one.named, " named"), (!one.fits, " cut")];
        let marks: String = marks.iter().filter(|(is, _)| *is).map(|(_, mark)| *mark).collect();
        writeln!(text, "{} {}{marks}", link_target(&one.reference.target), one.tokens).unwrap();
    }
    writeln!(text, "left out: {}", found.left_out).unwrap();
    text
}

fn request(text: &str, budget: u32) -> MaterialRequest<'_> {
    MaterialRequest { text, named: &[], below: None, budget }
}

/// Questions and what they find, in `fixtures/island.md`.
#[test]
fn questions_find_their_files() {
    let (project, index) = (island(), WordIndex::default());
    let mut text = String::new();
    for (question, named, below, budget) in [
        ("When does the last ferry leave on Sundays?", &[][..], None, 2_000),
        ("When does the last ferry leave on Sundays?", &[], None, 120),
        ("How many retries does the timetable client make?", &[], None, 2_000),
        ("what is the retryCount", &[], None, 150),
        ("Summarise the lighthouse", &["notes/ferry.md"], None, 2_000),
        ("Summarise the lighthouse", &["notes/history.md"], None, 150),
        ("Compare these", &["notes/", "src/client.py"], None, 400),
        ("ferry", &[], Some("src"), 2_000),
        ("ferry", &[], Some("nowhere"), 2_000),
        ("submarine", &["gone.md"], None, 2_000),
        ("the", &["notes/history.md", "notes/ferry.md"], None, 2),
    ] {
        let named: Vec<String> = named.iter().map(|name: &&str| (*name).to_owned()).collect();
        let request = MaterialRequest { text: question, named: &named, below, budget };
        writeln!(text, "## {question} {named:?} {below:?} {budget}\n\n{}", shown(&project, &index, &request)).unwrap();
    }
    let place = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/island.md");
    if std::env::var_os("UPDATE_EXPECT").is_some() {
        std::fs::write(&place, &text).unwrap();
    }
    assert_eq!(std::fs::read_to_string(place).unwrap_or_default(), text);
}

#[test]
fn the_index_follows_the_files() {
    let (project, index) = (island(), WordIndex::default());
    let question = request("submarine cable", 500);
    assert_eq!(shown(&project, &index, &question), "left out: 0\n");
    std::fs::write(project.path("notes/cable.md"), "# Cable\n\nThe submarine cable lands at the quay.\n").unwrap();
    assert!(shown(&project, &index, &question).starts_with("notes/cable.md "));
    std::fs::remove_file(project.path("notes/cable.md")).unwrap();
    assert_eq!(shown(&project, &index, &question), "left out: 0\n");
}

#[test]
fn ignored_hidden_and_binary_files_are_no_material() {
    let project = Project::with(&[
        (".gitignore", "build/\n"),
        (".secret", "zebra"),
        ("build/out.txt", "zebra"),
        ("image.bin", "zebra \0 zebra"),
        ("a.txt", "zebra"),
    ]);
    assert_eq!(shown(&project, &WordIndex::default(), &request("zebra", 500)), "a.txt 2\nleft out: 0\n");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]
    #[test]
    fn any_text_holds_the_budget_and_is_found_again(
        text in "\\PC{0,60}",
        content in "(\\PC{0,40}\n){0,90}",
        name in "[a-z]{1,6}\\.(md|py|txt)",
        budget in 0_u32..900,
        is_named in any::<bool>(),
    ) {
        let project = Project::with(&[(&name, &content), ("other.md", &text)]);
        let named: Vec<String> = if is_named { vec![name] } else { Vec::new() };
        let request = MaterialRequest { text: &text, named: &named, below: None, budget };
        let index = WordIndex::default();
        let first = shown(&project, &index, &request);
        prop_assert_eq!(&first, &shown(&project, &index, &request));
        prop_assert_eq!(&first, &shown(&project, &WordIndex::default(), &request));
        prop_assert!(!is_named || first.contains("named"));
    }
}
