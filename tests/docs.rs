//! Documents tell the truth: paths they name exist, commands they show are understood.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "tests")]

use std::path::{Path, PathBuf};

mod support;
use support::{root, walk};

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

fn shown(file: &Path) -> String {
    file.strip_prefix(root()).unwrap_or(file).display().to_string()
}
