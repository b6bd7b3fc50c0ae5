//! Task lists in all the forms that are read: every repair and issue of lists by name.
//!
//! A fixture is header lines (see `support`), `---- text`, the text, `---- expect`, the reading in words.

mod support;

use std::path::{Path, PathBuf};

use support::{World, describe};

fn fixtures() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/lists");
    let mut paths: Vec<PathBuf> = std::fs::read_dir(folder)
        .expect("fixtures")
        .map(|entry| entry.expect("entry").path())
        .filter(|path| path.extension().is_some_and(|ending| ending == "txt"))
        .collect();
    paths.sort();
    paths
}

fn check(path: &Path) -> Result<(), String> {
    let source = std::fs::read_to_string(path).expect("fixture");
    let (header, rest) = source.split_once("---- text\n").expect("text part");
    let (text, wanted) = rest.split_once("---- expect\n").unwrap_or((rest, ""));
    let mut world = World::new(header);
    world.answer(text);
    let reading = world.read(text);
    let seen = describe(&reading);
    if std::env::var_os("UPDATE_EXPECT").is_some() {
        std::fs::write(path, format!("{header}---- text\n{text}---- expect\n{seen}")).expect("write expectation");
    } else if seen != wanted {
        return Err(format!("{}:\n--- expected\n{wanted}\n--- seen\n{seen}", path.display()));
    }
    for code in header.lines().filter_map(|line| line.strip_prefix("covers: ")).flat_map(|codes| codes.split(", ")) {
        let is_paragraph = code.starts_with(|c: char| c.is_ascii_digit());
        if !is_paragraph && !seen.contains(&format!(" {code} ")) && !seen.contains(&format!(" {code}: ")) {
            return Err(format!("{}: covers {code}, which does not occur", path.display()));
        }
    }
    Ok(())
}

#[test]
fn lists_are_read_as_their_fixtures_say() {
    let failures: Vec<String> = fixtures().iter().filter_map(|path| check(path).err()).collect();
    assert!(failures.is_empty(), "{}", failures.join("\n\n"));
}
