//! Documents made by office programs and a PDF writer, and damaged ones.
#![allow(clippy::unwrap_used, reason = "tests")]

use callsheet_documents::convert;
use callsheet_runtime::ports::DocumentKind;

fn file(name: &str) -> (DocumentKind, Vec<u8>) {
    let path = format!("{}/tests/files/{name}", env!("CARGO_MANIFEST_DIR"));
    (DocumentKind::of(name).unwrap(), std::fs::read(path).unwrap())
}

#[test]
fn documents_become_markdown() {
    let cases = [
        ("plan.pdf", ["# Harbour plan", "two new cranes by March", "Second page"]),
        ("plan.docx", ["# Quarterly plan", "| Crane | 120000 |", "First point"]),
        ("budget.xlsx", ["## Budget", "| Name | Amount |", "| Rope | 35.5 |"]),
        ("slides.pptx", ["# Harbour", "Two cranes", "One rope"]),
    ];
    for (name, expected) in cases {
        let (kind, bytes) = file(name);
        let text = convert(kind, &bytes).unwrap();
        for words in expected {
            assert!(text.contains(words), "{name}: {words} is not in\n{text}");
        }
    }
}

#[test]
fn a_damaged_document_is_an_error() {
    for name in ["plan.pdf", "plan.docx", "budget.xlsx", "slides.pptx"] {
        let (kind, bytes) = file(name);
        let half = bytes.get(..bytes.len() / 3).unwrap();
        assert!(convert(kind, half).map_or(true, |text| text.trim().is_empty()), "{name}");
        assert!(convert(kind, b"no document").is_err(), "{name}");
    }
}

#[test]
fn the_extension_says_which_files_are_documents() {
    assert_eq!(DocumentKind::of("a/Plan.PDF"), Some(DocumentKind::Pdf));
    assert_eq!(DocumentKind::of("a.pdf/notes"), None);
    assert_eq!(DocumentKind::of("pdf"), None);
}
