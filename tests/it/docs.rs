//! Documents tell the truth: paths they name exist, commands they show are understood.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "tests")]

use std::path::{Path, PathBuf};

use crate::support::garden::TestProject;
use crate::support::{root, walk};

fn documents() -> Vec<PathBuf> {
    let mut files = Vec::new();
    walk(&root().join("docs"), &mut files);
    for name in ["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md"] {
        files.push(root().join(name));
    }
    files.retain(|file| file.extension().is_some_and(|ending| ending == "md"));
    files
}

/// Path-like words in backticks and link targets that begin with a folder of this repository.
fn named_paths(text: &str) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    for line in text.lines() {
        words.extend(line.split('`').skip(1).step_by(2).map(str::to_owned));
        words.extend(line.split("](").skip(1).filter_map(|rest| rest.split(')').next().map(str::to_owned)));
    }
    const FOLDERS: [&str; 9] =
        ["src/", "crates/", "tests/", "docs/", "scripts/", "skills/", "examples/", "fixtures/", "bench/"];
    words.retain(|word| {
        FOLDERS.iter().any(|folder| word.starts_with(folder))
            && word.chars().all(|c| c.is_ascii_alphanumeric() || "/._-#".contains(c))
    });
    words.into_iter().map(|word| word.split('#').next().unwrap_or_default().to_owned()).collect()
}

#[test]
fn named_paths_exist() {
    let mut missing = Vec::new();
    for file in documents() {
        // The specification and the guides show paths of a user's project.
        if file.starts_with(root().join("docs/spec")) || file.starts_with(root().join("docs/guide")) {
            continue;
        }
        let text = std::fs::read_to_string(&file).unwrap_or_else(|_| panic!("{} is missing", file.display()));
        for path in named_paths(&text) {
            if !root().join(&path).exists() {
                missing.push(format!("{}: {path}", shown(&file)));
            }
        }
    }
    assert!(missing.is_empty(), "documents name paths that do not exist:\n{}", missing.join("\n"));
}

#[test]
fn relative_links_lead_somewhere() {
    let mut broken = Vec::new();
    for file in documents() {
        if file.starts_with(root().join("docs/spec")) || file.starts_with(root().join("docs/guide")) {
            continue;
        }
        let text = std::fs::read_to_string(&file).expect("readable");
        let folder = file.parent().expect("folder");
        for target in text.split("](").skip(1).filter_map(|rest| rest.split(')').next()) {
            let path = target.split('#').next().unwrap_or_default();
            let outside = path.is_empty() || path.contains("://") || path.contains(' ');
            if !outside && !folder.join(path).exists() {
                broken.push(format!("{}: {target}", shown(&file)));
            }
        }
    }
    assert!(broken.is_empty(), "links that lead nowhere:\n{}", broken.join("\n"));
}

/// Lines of `sh` and `console` blocks.
fn commands(text: &str) -> Vec<String> {
    let mut inside = false;
    let mut found = Vec::new();
    for line in text.lines() {
        if line.starts_with("```") {
            inside = !inside && matches!(line.trim_start_matches('`').trim(), "sh" | "console" | "bash");
        } else if inside {
            found.push(line.trim_start_matches("$ ").trim().to_owned());
        }
    }
    found
}

#[test]
fn shown_commands_are_understood() {
    let mut wrong = Vec::new();
    for file in documents() {
        let text = std::fs::read_to_string(&file).expect("readable");
        for command in commands(&text) {
            let Some(words) = shlex::split(command.split(" #").next().unwrap_or_default()) else {
                wrong.push(format!("{}: {command}: quotes do not close", shown(&file)));
                continue;
            };
            let Some(program) = words.first() else { continue };
            if program == "callsheet" {
                let words = callsheet::cli::as_command(words.iter().map(Into::into).collect());
                if let Err(error) = callsheet::cli::command().try_get_matches_from(&words)
                    && error.use_stderr()
                {
                    wrong.push(format!("{}: {command}: {error}", shown(&file)));
                }
            } else if program.starts_with("./") && !root().join(program).exists() {
                wrong.push(format!("{}: {command}: no such script", shown(&file)));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Text outside fences and code spans, where links are links.
fn prose(text: &str) -> String {
    let mut fence = None;
    let mut kept = String::new();
    for line in text.lines() {
        let mark = ["~~~~", "```"].into_iter().find(|mark| line.starts_with(mark));
        match (fence, mark) {
            (None, Some(mark)) => fence = Some(mark),
            (Some(open), Some(mark)) if open == mark => fence = None,
            (None, None) => {
                kept.extend(line.split('`').step_by(2));
                kept.push('\n');
            }
            _ => {}
        }
    }
    kept
}

/// The anchor of each heading, by the common web rule.
fn anchors(text: &str) -> Vec<String> {
    let titles = text
        .lines()
        .filter_map(|line| line.trim_start_matches('#').strip_prefix(' ').filter(|_| line.starts_with('#')));
    titles
        .map(|title| {
            let kept =
                title.to_lowercase().chars().filter(|c| c.is_alphanumeric() || " -_".contains(*c)).collect::<String>();
            kept.replace(' ', "-")
        })
        .collect()
}

#[test]
fn links_of_guides_lead_to_files_and_headings() {
    let mut broken = Vec::new();
    for file in guides() {
        let text = std::fs::read_to_string(&file).expect("readable");
        for target in prose(&text).split("](").skip(1).filter_map(|rest| rest.split(')').next()) {
            let (path, anchor) = target.split_once('#').unwrap_or((target, ""));
            let other = if path.is_empty() { file.clone() } else { file.parent().expect("folder").join(path) };
            let there = std::fs::read_to_string(&other).unwrap_or_default();
            let lands = anchor.is_empty() || anchors(&there).iter().any(|heading| heading == anchor);
            if !(target.contains("://") || other.exists() && lands) {
                broken.push(format!("{}: {target}", shown(&file)));
            }
        }
    }
    assert!(broken.is_empty(), "links that lead nowhere:\n{}", broken.join("\n"));
}

#[test]
fn every_guide_is_named_by_the_readme() {
    let readme = std::fs::read_to_string(root().join("README.md")).expect("readable");
    for file in guides() {
        assert!(readme.contains(&format!("]({})", shown(&file))), "README.md does not name {}", shown(&file));
    }
}

/// What a stranger reads first stays short, and its picture is the screen as it is.
#[test]
fn the_readme_is_short_and_shows_the_screen() {
    let readme = std::fs::read_to_string(root().join("README.md")).expect("readable");
    let words = readme.split_whitespace().count();
    assert!(words <= 900, "README.md has {words} words, at most 900: move some to a guide");
    let screen = root().join("crates/callsheet-tui/fixtures/screens/before-run-80x24.txt");
    let screen = std::fs::read_to_string(screen).expect("readable");
    let shown = blocks(&readme, "text").into_iter().map(|(block, _)| block).next().expect("a picture");
    assert_eq!(shown.trim_end(), screen.trim_end());
}

fn guides() -> Vec<PathBuf> {
    let mut files = documents();
    files.retain(|file| file.starts_with(root().join("docs/guide")));
    assert!(files.len() >= 4, "{files:?}");
    files
}

/// Blocks whose fence carries these words, each with the text that follows it.
fn blocks<'a>(text: &'a str, words: &str) -> Vec<(&'a str, &'a str)> {
    let mut found = Vec::new();
    for mark in ["~~~~", "```"] {
        for part in text.split(&format!("\n{mark}{words}\n")).skip(1) {
            let (body, rest) = part.split_once(&format!("\n{mark}\n")).expect("a closed fence");
            found.push((body, rest));
        }
    }
    found
}

/// Sheets in the guides are checked in the example project; what a wrong one prints stands in the next `text` block.
///
/// covers: 3.4, 4.8
#[test]
fn sheets_of_the_guides_are_read_as_they_say() {
    let garden = TestProject::bare();
    let mut found = 0;
    for file in guides() {
        let text = std::fs::read_to_string(&file).expect("readable");
        for (sheet, _) in blocks(&text, "markdown sheet") {
            garden.write("work.md", format!("{sheet}\n"));
            let ended = garden.expect(0, &["sheet", "check", "work.md"]);
            assert_eq!(ended.out, "", "{}:\n{sheet}", shown(&file));
            found += 1;
        }
        for (sheet, rest) in blocks(&text, "markdown sheet wrong") {
            garden.write("work.md", format!("{sheet}\n"));
            let ended = garden.expect(2, &["sheet", "check", "work.md"]);
            let printed = rest.split_once("```text\n").and_then(|(_, rest)| rest.split_once("\n```\n"));
            let (printed, _) = printed.expect("what it prints");
            assert_eq!(ended.out.trim_end(), printed, "{}:\n{sheet}", shown(&file));
            found += 1;
        }
    }
    assert!(found >= 4, "{found} sheets in the guides");
}

/// Skills marked by a comment `<!-- skill: PATH -->` before them.
///
/// covers: 7.1, 7.2
#[test]
fn skills_of_the_guides_have_no_issue() {
    let garden = TestProject::bare();
    let mut found = 0;
    for file in guides() {
        let text = std::fs::read_to_string(&file).expect("readable");
        for example in text.split("<!-- skill: ").skip(1) {
            let (path, rest) = example.split_once(" -->").expect("a closed comment");
            let (skill, _) = blocks(rest, "markdown").into_iter().next().expect("a fence after the comment");
            garden.write(&format!(".callsheet/skills/{path}"), format!("{skill}\n"));
            found += 1;
        }
    }
    assert!(found >= 3, "{found} skills in the guides");
    assert_eq!(garden.expect(0, &["skill", "check"]).out, "");
}

/// Every `toml` block is a configuration file.
#[test]
fn configurations_of_the_guides_are_understood() {
    let folder = tempfile::tempdir().expect("folder");
    let file = folder.path().join("config.toml");
    let mut found = 0;
    let mut documents = guides();
    documents.push(root().join("README.md"));
    for document in documents {
        let text = std::fs::read_to_string(&document).expect("readable");
        for (config, _) in blocks(&text, "toml") {
            std::fs::write(&file, config).expect("written");
            let sources = callsheet::config::Sources { user: Some(file.clone()), ..Default::default() };
            let config = callsheet::config::Config::load(&sources, None);
            let config = config.unwrap_or_else(|fault| panic!("{}: {fault}", shown(&document)));
            assert!(config.notices.is_empty(), "{}: {:?}", shown(&document), config.notices);
            assert!(config.settings().is_ok(), "{}: {:?}", shown(&document), config.settings());
            found += 1;
        }
    }
    assert!(found >= 3, "{found} configurations");
}

/// Words of a paragraph of the specification. A longer one is a design to simplify, or several paragraphs.
const MAX_PARAGRAPH: usize = 150;

/// Each line is one paragraph, as the specifications write them; rows of tables and fenced lines are none.
fn paragraphs(text: &str) -> Vec<(usize, usize)> {
    let mut fence: Option<&str> = None;
    let mut found = Vec::new();
    for (number, line) in (1..).zip(text.lines()) {
        let mark = ["~~~~", "```"].into_iter().find(|mark| line.trim_start().starts_with(mark));
        match (fence, mark) {
            (None, Some(mark)) => fence = Some(mark),
            (Some(open), Some(mark)) if open == mark => fence = None,
            (None, None) if !line.trim_start().starts_with('|') => {
                found.push((number, line.split_whitespace().count()));
            }
            _ => {}
        }
    }
    found
}

#[test]
fn paragraphs_of_the_specification_stay_short() {
    let mut long = Vec::new();
    for entry in std::fs::read_dir(root().join("docs/spec")).expect("docs/spec") {
        let file = entry.expect("an entry").path();
        let text = std::fs::read_to_string(&file).expect("a specification");
        let paragraphs = paragraphs(&text).into_iter().filter(|(_, words)| *words > MAX_PARAGRAPH);
        long.extend(paragraphs.map(|(line, words)| {
            format!("{}:{line}: a paragraph of {words} words, at most {MAX_PARAGRAPH}", shown(&file))
        }));
    }
    assert!(long.is_empty(), "split it into several paragraphs:\n{}", long.join("\n"));
}

fn shown(file: &Path) -> String {
    file.strip_prefix(root()).unwrap_or(file).display().to_string()
}
