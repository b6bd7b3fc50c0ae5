//! PDF and office files as references (spec 5.4).
#![cfg(feature = "documents")]
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "tests")]

use crate::support::garden::TestProject;

const SHEET: &str = "## Goals / summary\nOne answer.\n\n**plan complete**\n## Tasks\n### Task section 1\n- **Name** Sum\n\
    - **What is needed** Sum up.\n- **References** LINK\n- **Expected output** A line.\n";

const REPLY: &str = "[default]\ntext = \"## Result summary\\nSummed.\"\n";

fn document(name: &str) -> Vec<u8> {
    std::fs::read(format!("{}/crates/callsheet-documents/tests/files/{name}", env!("CARGO_MANIFEST_DIR"))).unwrap()
}

fn prompt_with(link: &str, files: &[&str]) -> String {
    let garden = TestProject::scripted(REPLY);
    files.iter().for_each(|name| garden.write(&format!("docs/{name}"), document(name)));
    garden.write("work.md", SHEET.replace("LINK", link));
    garden.expect(0, &["run", "--sheet", "work.md", "--set", "iterate=never"]);
    garden.expect(0, &["show", "--prompt", "1"]).out
}

/// covers: 5.4
#[test]
fn documents_are_shown_as_markdown() {
    for (name, words) in [
        ("plan.pdf", "The harbour needs two new cranes by March."),
        ("plan.docx", "| Crane | 120000 |"),
        ("budget.xlsx", "| Rope | 35.5 |"),
        ("slides.pptx", "Two cranes"),
        ("budget.ods", "| Rope | 35.5 |"),
    ] {
        let prompt = prompt_with(&format!("[Plan](docs/{name})"), &[name]);
        assert!(prompt.contains(words), "{name}: {words} is not in\n{prompt}");
    }
    let section = prompt_with("[Plan](docs/plan.docx#quarterly-plan)", &["plan.docx"]);
    assert!(section.contains("two new cranes"), "{section}");
    let folder = prompt_with("[Docs](docs/)", &["plan.pdf", "plan.docx"]);
    assert!(folder.contains("Second page.") && folder.contains("| Crane |"), "{folder}");
}

/// covers: 5.4, 5.5
#[test]
fn a_link_into_a_file_without_headings_names_no_list() {
    let garden = TestProject::scripted(REPLY);
    garden.write("docs/plan.md", "No heading.\n");
    garden.write("work.md", SHEET.replace("LINK", "[Plan](docs/plan.md#page=2)"));
    let checked = garden.call(&["sheet", "check", "work.md"]);
    assert!(checked.out.contains("has no headings to link to"), "{}", checked.out);
    assert!(!checked.out.contains("use one of"), "{}", checked.out);
}

/// A document without a text that can be read is told before any call.
///
/// covers: 5.4
#[test]
fn a_damaged_document_is_told_before_the_first_call() {
    let garden = TestProject::scripted(REPLY);
    garden.write("docs/plan.pdf", b"%PDF-1.7\nnot much\n\0\0");
    garden.write("work.md", SHEET.replace("LINK", "[Plan](docs/plan.pdf)"));
    let checked = garden.call(&["sheet", "check", "work.md"]);
    assert!(checked.out.contains("docs/plan.pdf") && checked.out.contains("damaged"), "{}", checked.out);
    assert_ne!(checked.code, 0);
}
