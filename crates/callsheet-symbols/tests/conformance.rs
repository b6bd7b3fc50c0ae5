//! Symbols by tree-sitter against the suite of the `Outline` port.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test may panic")]

use std::path::Path;
use std::sync::Arc;

use callsheet_runtime::conformance::outline::OutlineTrial;
use callsheet_symbols::TreeSitter;

/// The sound files of all fixtures.
fn trial() -> OutlineTrial {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures");
    let mut texts = Vec::new();
    for folder in root.read_dir().unwrap() {
        for file in folder.unwrap().path().read_dir().unwrap() {
            let path = file.unwrap().path();
            let name = path.to_str().unwrap().to_owned();
            if !name.ends_with(".expect") && !name.contains("broken") {
                let path_of_code = name.strip_suffix(".source").unwrap_or(&name).to_owned();
                texts.push((path_of_code, std::fs::read_to_string(&path).unwrap()));
            }
        }
    }
    assert!(texts.len() >= 8, "a file of each language");
    OutlineTrial { outline: Arc::new(TreeSitter::default()), texts }
}

callsheet_runtime::outline_conformance!(trial);
