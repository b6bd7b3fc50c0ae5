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
        ("plan.odt", ["# Quarterly plan", "| Crane | 120000 |", "- First point"]),
        ("budget.ods", ["## Budget", "| Name | Amount |", "| Rope | 35.5 |"]),
        ("slides.odp", ["## Harbour", "Two cranes", "One rope"]),
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
    for name in ["plan.pdf", "plan.docx", "budget.xlsx", "slides.pptx", "plan.odt", "budget.ods", "slides.odp"] {
        let (kind, bytes) = file(name);
        let half = bytes.get(..bytes.len() / 3).unwrap();
        assert!(convert(kind, half).map_or(true, |text| text.trim().is_empty()), "{name}");
        assert!(convert(kind, b"no document").is_err(), "{name}");
    }
}

/// What a reader of the document does not see is left out, and what it says once and repeats stays short.
#[test]
fn an_open_document_is_as_its_reader_sees_it() {
    let content = |body: &str| {
        let mut archive = zip::ZipWriter::new(std::io::Cursor::new(Vec::new()));
        archive.start_file("content.xml", zip::write::SimpleFileOptions::default()).unwrap();
        std::io::Write::write_all(&mut archive, body.as_bytes()).unwrap();
        convert(DocumentKind::OpenDocument, &archive.finish().unwrap().into_inner())
    };
    for (body, text) in [
        ("<a><text:p>A &amp; <text:span>B</text:span><text:s text:c=\"2\"/>&#67;</text:p></a>", "A & B  C"),
        ("<a><text:tracked-changes><text:p>Old</text:p></text:tracked-changes><text:p>New</text:p></a>", "New"),
        (
            "<a><text:p>One<text:note><text:note-citation>1</text:note-citation><text:note-body><text:p>Two</text:p></text:note-body></text:note></text:p></a>",
            "One Two",
        ),
        (
            "<a><text:list><text:list-item><text:p>A</text:p><text:list><text:list-item><text:p>B</text:p></text:list-item></text:list></text:list-item></text:list></a>",
            "- A\n  - B",
        ),
        (
            "<a><table:table><table:table-row><table:table-cell><text:p>A|B</text:p></table:table-cell><table:table-cell table:number-columns-repeated=\"16384\"/></table:table-row><table:table-row table:number-rows-repeated=\"1048576\"><table:table-cell/></table:table-row></table:table></a>",
            "| A\\|B |\n|---|",
        ),
        ("", ""),
    ] {
        assert_eq!(content(body).as_deref(), Ok(text), "{body}");
    }
    assert!(content("<a><b></a>").is_err());
}

#[test]
fn the_extension_says_which_files_are_documents() {
    assert_eq!(DocumentKind::of("a/Plan.PDF"), Some(DocumentKind::Pdf));
    assert_eq!(DocumentKind::of("a.pdf/notes"), None);
    assert_eq!(DocumentKind::of("pdf"), None);
}
