//! Fixture files in sections: text before the first `==== title` line holds the `covers:` line; the section `expect`
//! is compared, or rewritten with `UPDATE_EXPECT=1`.

use std::fs;
use std::path::{Path, PathBuf};

use callsheet_core::nouns::ToolSpec;

/// Names, classes and aliases of the built-in tools. A test of the tools holds the file to them.
#[allow(dead_code, reason = "not every test has tools")]
pub fn tools() -> Vec<ToolSpec> {
    serde_json::from_str(include_str!("../../tools.json")).expect("tools.json")
}

/// One fixture.
pub struct Fixture {
    path: PathBuf,
    head: String,
    sections: Vec<(String, String)>,
}

impl Fixture {
    /// Sections but `expect`, in order.
    pub fn inputs(&self) -> impl Iterator<Item = (&str, &str)> {
        self.sections.iter().filter(|(title, _)| title != "expect").map(|(title, body)| (title.as_str(), body.as_str()))
    }

    /// The expected output, as it stands.
    #[allow(dead_code, reason = "not every test looks at it")]
    pub fn expect(&self) -> String {
        self.sections.iter().filter(|(title, _)| title == "expect").map(|(_, body)| body.as_str()).collect()
    }

    /// Paragraphs and codes of the `covers:` line.
    pub fn covers(&self) -> Vec<&str> {
        let line = self.head.lines().find_map(|line| line.strip_prefix("covers:")).unwrap_or_default();
        line.split(',').map(str::trim).filter(|name| !name.is_empty()).collect()
    }

    /// File name without extension.
    pub fn name(&self) -> &str {
        self.path.file_stem().and_then(|stem| stem.to_str()).unwrap_or_default()
    }
}

/// All fixtures of a folder below `fixtures/`, sorted by name.
pub fn fixtures(area: &str) -> Vec<Fixture> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures").join(area);
    let mut paths: Vec<PathBuf> = fs::read_dir(&folder)
        .unwrap_or_else(|fault| panic!("{}: {fault}", folder.display()))
        .map(|entry| entry.unwrap().path())
        .collect();
    paths.sort();
    assert!(!paths.is_empty(), "no fixtures in {}", folder.display());
    paths.into_iter().map(read).collect()
}

fn read(path: PathBuf) -> Fixture {
    let text = fs::read_to_string(&path).unwrap();
    let mut head = String::new();
    let mut sections: Vec<(String, String)> = Vec::new();
    for line in text.split_inclusive('\n') {
        match (line.strip_prefix("==== "), sections.last_mut()) {
            (Some(title), _) => sections.push((title.trim_end().to_owned(), String::new())),
            (None, Some((_, body))) => body.push_str(line),
            (None, None) => head.push_str(line),
        }
    }
    Fixture { path, head, sections }
}

/// Runs `check` on every fixture and compares what it gives with `expect`.
pub fn check_all(area: &str, check: impl Fn(&Fixture) -> String) {
    let mut failures = Vec::new();
    for fixture in fixtures(area) {
        assert!(!fixture.covers().is_empty(), "{} has no covers line", fixture.path.display());
        let actual = format!("{}\n", check(&fixture).trim_end());
        let expected = fixture.sections.iter().find(|(title, _)| title == "expect").map(|(_, body)| body.as_str());
        if expected == Some(actual.as_str()) {
            continue;
        }
        if std::env::var_os("UPDATE_EXPECT").is_some() {
            let mut text = fixture.head.clone();
            for (title, body) in fixture.inputs() {
                text.push_str(&format!("==== {title}\n{body}"));
            }
            text.push_str(&format!("==== expect\n{actual}"));
            fs::write(&fixture.path, text).unwrap();
        } else {
            failures.push(format!(
                "{}\n--- expected\n{}--- got\n{actual}",
                fixture.name(),
                expected.unwrap_or_default()
            ));
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n\n"));
}
