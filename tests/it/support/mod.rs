//! Shared by the tests about the source tree itself.
#![allow(dead_code, reason = "each test file uses its part")]

pub mod control;
pub mod crashes;
pub mod garden;
pub mod killed;
#[cfg(feature = "mcp")]
pub mod login;
pub mod processes;
pub mod server;
pub mod terminal;

use std::path::{Path, PathBuf};

/// The repository.
pub fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

/// Every `.rs` file below a folder, sorted; the folder may also name a module that is one file.
pub fn rust_files(folder: &Path) -> Vec<PathBuf> {
    let single = folder.with_extension("rs");
    let mut files = if single.is_file() { vec![single] } else { Vec::new() };
    walk(folder, &mut files);
    files.retain(|file| file.extension().is_some_and(|ending| ending == "rs"));
    files.sort();
    files
}

/// Every file below a folder that belongs to the repository.
pub fn walk(folder: &Path, files: &mut Vec<PathBuf>) {
    let Ok(entries) = std::fs::read_dir(folder) else { return };
    for entry in entries.flatten() {
        let path = entry.path();
        let name = entry.file_name().to_string_lossy().into_owned();
        if path.is_dir() {
            if !(name == "target" || name == ".git" || name == ".callsheet" || name == "node_modules") {
                walk(&path, files);
            }
        } else {
            files.push(path);
        }
    }
}
