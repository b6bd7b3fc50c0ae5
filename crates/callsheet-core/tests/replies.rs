//! Real replies of small models, each judged by hand (`judged:` in the expectation), and the laws of spec 4.1 on them.
#![allow(clippy::disallowed_methods, clippy::disallowed_macros, reason = "tests read fixtures and say what they skip")]
// A fixture that cannot be read fails its test at once.
#![allow(clippy::expect_used)]

mod support;

use std::path::{Path, PathBuf};

use support::{REPLIES, World, describe};

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/replies")
}

/// The request of a reply, by its name.
fn request(name: &str) -> &'static str {
    match name {
        name if name.contains("request0") => {
            "Write a short project proposal for a community garden and save it as proposal.md"
        }
        name if name.contains("request1") => {
            "Find all TODO comments in the src folder of my Rust project and write a report of them"
        }
        _ => "Compare SQLite and PostgreSQL for a small web shop and recommend one",
    }
}

/// Expectations start with header lines (a verdict judged by hand, and flags), then an empty line, then the reading.
fn check(path: &Path) -> Result<(), String> {
    let name = path.file_stem().and_then(|stem| stem.to_str()).expect("name");
    let text = std::fs::read_to_string(path).expect("reply");
    let expect_path = path.with_extension("expect");
    let expect = std::fs::read_to_string(&expect_path).unwrap_or_else(|_| "judged: ?\n\n".to_owned());
    let (header, wanted) = expect.split_once("\n\n").unwrap_or((expect.trim_end(), ""));
    let mut world = World::new(&format!("{REPLIES}prompt: {}\n{header}", request(name)));
    world.answer(&text);
    let reading = world.read(&text);
    assert_eq!(reading, world.read(&text), "{name}: reading is deterministic");
    let seen = describe(&reading);
    if std::env::var_os("UPDATE_EXPECT").is_some() {
        std::fs::write(&expect_path, format!("{header}\n\n{seen}")).expect("write expectation");
    }
    let verdict = header.lines().find_map(|line| line.strip_prefix("judged: ")).unwrap_or("?");
    let accepted = if reading.is_accepted() { "accept" } else { "refuse" };
    if !verdict.starts_with(accepted) {
        return Err(format!("{name}: judged {verdict:?}, read as {accepted}\n{seen}"));
    }
    if std::env::var_os("UPDATE_EXPECT").is_none() && seen != wanted {
        return Err(format!("{name}:\n--- expected\n{wanted}\n--- seen\n{seen}"));
    }
    Ok(())
}

#[test]
fn real_replies_are_read_as_a_careful_person_would() {
    let mut paths: Vec<PathBuf> = std::fs::read_dir(folder())
        .expect("fixtures")
        .map(|entry| entry.expect("entry").path())
        .filter(|path| path.extension().is_some_and(|ending| ending == "txt"))
        .collect();
    paths.sort();
    assert!(paths.len() >= 42, "{} replies", paths.len());
    let failures: Vec<String> = paths.iter().filter_map(|path| check(path).err()).collect();
    assert!(failures.is_empty(), "{}", failures.join("\n\n"));
}
