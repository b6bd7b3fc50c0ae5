//! The short form of templates: every template of the repository is the same tree in it (spec "Templates" 2.8).
#![allow(clippy::disallowed_methods, clippy::disallowed_macros, reason = "tests read fixtures and say what they skip")]
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "helpers of tests fail by panicking")]

use std::fs;
use std::path::{Path, PathBuf};

use callsheet_format::template::{print_short, read_text};

/// Every library in XML of a text.
pub(crate) fn libraries(text: &str) -> Vec<&str> {
    let mut out = Vec::new();
    let mut rest = text;
    while let Some(start) = rest.find("<templates") {
        let inside = &rest[start..];
        let Some(end) = inside.find("</templates>") else { break };
        out.push(&inside[..end + "</templates>".len()]);
        rest = &inside[end..];
    }
    out
}

pub(crate) fn texts(folder: &Path, out: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        if path.is_dir() && !name.starts_with('.') && name != "target" {
            texts(&path, out);
        } else if path.extension().is_some_and(|ending| ["xml", "txt", "md"].iter().any(|known| ending == *known)) {
            out.push(path);
        }
    }
}

/// covers: 2.8. What the short form cannot say is told; all else is the same tree, printed the same again.
#[test]
fn every_template_of_the_repository_is_the_same_tree_in_the_short_form() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut paths = Vec::new();
    texts(&root, &mut paths);
    paths.sort();
    let (mut count, mut losses) = (0, Vec::new());
    for path in &paths {
        let text = fs::read_to_string(path).unwrap_or_default();
        for library in libraries(&text) {
            let templates = read_text("a.xml", library).templates;
            for template in &templates {
                count += 1;
                let (short, lost) = print_short([template]);
                if !lost.is_empty() {
                    losses.push(format!("{}: {}", path.strip_prefix(&root).unwrap().display(), lost.join("; ")));
                    continue;
                }
                let again = read_text("a.yaml", &short);
                let said = again.issues.iter().map(|(_, issue)| format!("{issue}\n")).collect::<String>();
                assert_eq!(again.templates, std::slice::from_ref(template), "{}\n{short}\n{said}", path.display());
                assert_eq!(print_short(&again.templates).0, short, "{}", path.display());
            }
        }
    }
    println!("{count} templates, of which {} lose something", losses.len());
    assert!(count > 300, "{count} templates");
    // What has no effect is not kept (T523).
    losses.retain(|loss| !loss.ends_with("a schema of a text, which has no effect"));
    assert_eq!(losses, [] as [&str; 0]);
}

/// Files of a folder that stand there in both forms.
fn pairs(folder: &str) -> Vec<(String, String, String)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join(folder);
    let mut paths: Vec<PathBuf> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.retain(|path| path.extension().is_some_and(|ending| ending == "yaml"));
    paths.sort();
    let read = |path: &Path| fs::read_to_string(path).unwrap();
    let pair = |path: &PathBuf| {
        let name = path.file_stem().unwrap().to_string_lossy().into_owned();
        (name, read(&path.with_extension("xml")), read(path))
    };
    paths.iter().map(pair).collect()
}

fn same(name: &str, xml: &str, short: &str) {
    let (xml, short) = (read_text("a.xml", xml), read_text("a.yaml", short));
    let issues: Vec<String> = short.issues.iter().map(|(_, issue)| issue.to_string()).collect();
    assert_eq!(issues, [] as [&str; 0], "{name}");
    assert_eq!(short.templates, xml.templates, "{name}");
}

/// covers: 2.8. Templates of ten shapes, each in both forms, and how many bytes each takes.
#[test]
fn templates_of_ten_shapes_are_the_same_tree_in_both_forms() {
    let all = pairs("fixtures/templates/short");
    assert_eq!(all.len(), 10);
    let (mut long, mut brief) = (0, 0);
    for (name, xml, short) in &all {
        same(name, xml, short);
        println!("{name}: {} bytes of XML, {} of YAML", xml.len(), short.len());
        long += xml.len();
        brief += short.len();
    }
    println!("all: {long} bytes of XML, {brief} of YAML");
    assert!(brief * 10 < long * 6, "{brief} of {long}");
}
