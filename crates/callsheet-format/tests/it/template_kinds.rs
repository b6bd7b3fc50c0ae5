//! Kinds of values in templates: faults are found, and no sound template is refused (spec "Templates" 4, 8).
#![allow(clippy::disallowed_methods, clippy::disallowed_macros, reason = "tests read fixtures and say what they skip")]
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "helpers of tests fail by panicking")]

use std::fs;
use std::path::{Path, PathBuf};

use callsheet_core::template::Code;
use callsheet_format::template::{Known, Layer, Library, TemplateFile};

use crate::sections::check_all;
use crate::template_library::shown;
use crate::template_short::{libraries, texts};

/// What is told of values that cannot be what their places take.
const OF_KINDS: [Code; 3] = [Code::T059, Code::T060, Code::T061];

/// Further fixtures of faults: what happens to arguments of another kind at run time, and one file for each code.
const FAULTY: [&str; 3] =
    ["operators/missing_in_a_called_template.txt", "templates/bind/arguments.txt", "templates/codes.txt"];

/// Each fixture is named after its fault; those that begin with `sound` have none.
#[test]
fn kinds_of_values_are_checked_as_expected() {
    check_all("templates/kinds", |fixture| {
        let out = shown(fixture);
        let told = OF_KINDS.iter().any(|code| out.contains(code.as_str()));
        assert!(!(fixture.name().starts_with("sound") && told), "{}: {out}", fixture.name());
        out
    });
}

/// Libraries in the short form that stand in a text: all of a file in YAML, and what is fenced in a document.
fn short(path: &Path, text: &str) -> Vec<String> {
    let ends = |ending: &str| path.extension().is_some_and(|own| own == ending);
    let blocks: Vec<&str> = match ends("md") {
        true => text.split("```yaml\n").skip(1).filter_map(|rest| rest.split("```").next()).collect(),
        false if ends("yaml") => vec![text],
        false => text.split("==== ").filter_map(|part| part.split_once(".yaml\n")).map(|(_, body)| body).collect(),
    };
    blocks
        .into_iter()
        .filter(|block| block.lines().any(|line| line.starts_with("template:")))
        .map(str::to_owned)
        .collect()
}

/// covers: 3. Every template of the repository, but for the fixtures of faults, is free of them.
#[test]
fn no_template_of_the_repository_has_a_fault_of_kinds() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut paths: Vec<PathBuf> = Vec::new();
    texts(&root, &mut paths);
    for folder in ["templates", "crates", "examples"] {
        short_files(&root.join(folder), &mut paths);
    }
    let faulty = |path: &Path| FAULTY.iter().any(|known| path.ends_with(known));
    paths.retain(|path| !faulty(path) && !path.components().any(|part| part.as_os_str() == "kinds"));
    paths.sort();
    let (mut count, mut told) = (0, Vec::new());
    for path in &paths {
        let text = fs::read_to_string(path).unwrap_or_default();
        let long = libraries(&text).into_iter().map(|text| ("a.xml", text.to_owned()));
        for (file, text) in long.chain(short(path, &text).into_iter().map(|text| ("a.yaml", text))) {
            let files = [TemplateFile { layer: Layer::Project, file: file.to_owned(), bytes: text.into_bytes() }];
            let library = Library::load(&files, &Known::default(), false);
            count += library.templates().count();
            let found = library.issues().iter().filter(|issue| OF_KINDS.contains(&issue.code));
            told.extend(found.map(|issue| format!("{}: {issue}", path.strip_prefix(&root).unwrap().display())));
        }
    }
    println!("{count} templates");
    assert!(count > 250, "{count} templates");
    assert_eq!(told, [] as [&str; 0]);
}

fn short_files(folder: &Path, out: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            short_files(&path, out);
        } else if path.extension().is_some_and(|ending| ending == "yaml") {
            out.push(path);
        }
    }
}
