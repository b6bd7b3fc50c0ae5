use std::os::unix::fs::symlink;

use callsheet_core::nouns::{BlobId, RunId, Slug};

use super::RunFiles;
use crate::testing::Project;

/// covers: 10.6
#[test]
fn files_are_written_whole_under_the_run_directory() {
    let project = Project::with(&[]);
    let files = RunFiles::new(&project.workspace, &RunId::new("run-1")).unwrap();
    assert!(!project.path(".callsheet").exists(), "looking creates nothing");
    files.create().unwrap();
    let slug = Slug::new("find-code-1");
    assert_eq!(files.sheet().unwrap(), None);
    assert_eq!(files.write_sheet("old").unwrap(), BlobId::of(b"old"));
    assert_eq!(files.write_sheet("new").unwrap(), BlobId::of(b"new"));
    assert_eq!(files.sheet().unwrap().unwrap().bytes, b"new");
    files.write_task(&slug, "document").unwrap();
    files.write_run(&slug, &Slug::new("known-trouble"), "part").unwrap();
    files.write_tool_output(&slug, "search/../1", "output").unwrap();
    files.write_detail(&slug, "a b.csv", b"send,22").unwrap();
    files.write_diff(&slug, "diff").unwrap();
    assert_eq!(files.write_report("report").unwrap(), ".callsheet/runs/run-1/report.md");
    let mut found = Vec::new();
    let run = project.path(".callsheet/runs/run-1");
    let mut open = vec![run.clone()];
    while let Some(directory) = open.pop() {
        for entry in directory.read_dir().unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                open.push(path)
            } else {
                found.push(path.strip_prefix(&run).unwrap().display().to_string())
            }
        }
    }
    found.sort();
    assert_eq!(
        found,
        [
            "changes/find-code-1.diff",
            "details/find-code-1/a b.csv",
            "report.md",
            "sheet.md",
            "tasks/find-code-1--known-trouble.md",
            "tasks/find-code-1-search-..-1.txt",
            "tasks/find-code-1.md",
        ]
    );
    assert_eq!(project.text(".callsheet/runs/.gitignore").unwrap(), "*\n");
    assert!(project.text(".callsheet/.gitignore").is_none(), "what people write there is committed");
    std::fs::write(project.path(".callsheet/runs/.gitignore"), "*.txt\n").unwrap();
    files.create().unwrap();
    assert_eq!(project.text(".callsheet/runs/.gitignore").unwrap(), "*.txt\n", "a person's rule is kept");
}

/// covers: 10.6, 2.18
#[test]
fn texts_of_a_person_are_kept_once_each() {
    let project = Project::with(&[]);
    let files = RunFiles::new(&project.workspace, &RunId::new("run-1")).unwrap();
    files.create().unwrap();
    let kept = ["one", "one", "two", "one"].map(|text| files.keep_edited(text.as_bytes()).unwrap());
    let number = kept.map(|name| name.strip_prefix(".callsheet/runs/run-1/sheet.edited-").unwrap().to_owned());
    assert_eq!(number, ["1.md", "1.md", "2.md", "1.md"]);
    assert_eq!(project.text(".callsheet/runs/run-1/sheet.edited-2.md").unwrap(), "two");
    assert_eq!(files.sheet_mark(), None);
    files.write_sheet("old").unwrap();
    let mark = files.sheet_mark();
    assert!(mark.is_some() && mark == files.sheet().unwrap().map(|found| found.mark));
    files.write_sheet("longer").unwrap();
    assert_ne!(files.sheet_mark(), mark);
}

#[test]
fn names_of_more_than_one_component_are_refused() {
    let project = Project::with(&[]);
    for name in ["", ".", "..", "a/b", "../x", "a\0"] {
        assert!(RunFiles::new(&project.workspace, &RunId::new(name)).is_err(), "{name:?}");
    }
    let files = RunFiles::new(&project.workspace, &RunId::new("run-1")).unwrap();
    for name in ["", "..", "../../x", "/etc/passwd"] {
        assert!(files.write_detail(&Slug::new("a-1"), name, b"x").is_err(), "{name:?}");
        assert!(files.write_task(&Slug::new(format!("{name}/../x")), "x").is_err(), "{name:?}");
    }
    assert!(files.write_detail(&Slug::new("a-1"), &"x".repeat(300), b"x").is_err());
}

/// A project may contain links where the run files belong.
#[test]
fn a_link_in_place_of_a_directory_is_not_followed() {
    let project = Project::with(&[]);
    let outside = project.outside().join("outside");
    std::fs::create_dir(&outside).unwrap();
    std::fs::create_dir(project.path(".callsheet")).unwrap();
    symlink(&outside, project.path(".callsheet/runs")).unwrap();
    let files = RunFiles::new(&project.workspace, &RunId::new("run-1")).unwrap();
    assert!(files.create().is_err());
    assert!(files.write_sheet("x").is_err());
    std::fs::remove_file(project.path(".callsheet/runs")).unwrap();
    files.create().unwrap();
    symlink(&outside, project.path(".callsheet/runs/run-1/tasks")).unwrap();
    assert!(files.write_task(&Slug::new("a-1"), "x").is_err());
    symlink(outside.join("sheet.md"), project.path(".callsheet/runs/run-1/sheet.md")).unwrap();
    files.write_sheet("x").unwrap();
    assert_eq!(outside.read_dir().unwrap().count(), 0, "a link in place of a file is replaced");
}
