//! The metadata text of a file (spec 13): a few lines by fixed rules, without text of a model.

use crate::symbols::Symbol;

/// The maximum number of identifiers of a file.
const IDENTIFIERS: usize = 30;
/// The maximum number of headings of a file.
const HEADINGS: usize = 20;
/// The longest value of a line, in characters.
const LONGEST: usize = 300;

/// What is known about a file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Facts<'a> {
    /// Its path below the root that is indexed.
    pub path: &'a str,
    /// Its language or kind.
    pub kind: &'a str,
    /// Its size in bytes.
    pub size: u64,
    /// Its text.
    pub text: &'a str,
    /// The titles of the headings, if it is a Markdown document.
    pub headings: &'a [String],
    /// Names it defines.
    pub identifiers: &'a [String],
    /// Date and subject of the last commit that changed it.
    pub last_commit: Option<&'a str>,
}

/// The metadata text: lines `File:`, `Path:`, `Type:`, `Size:`, headings or a first line, `Identifiers:`,
/// `Last commit:`.
pub fn metadata(facts: &Facts<'_>) -> String {
    let name = facts.path.rsplit('/').next().unwrap_or(facts.path);
    let mut lines = vec![
        format!("File: {}", one_line(name)),
        format!("Path: {}", one_line(facts.path)),
        format!("Type: {}", facts.kind),
        format!("Size: {}", facts.size),
    ];
    let titles: Vec<&str> = facts.headings.iter().take(HEADINGS).map(String::as_str).collect();
    if !titles.is_empty() {
        lines.push(format!("Headings: {}", one_line(&titles.join("; "))));
    } else if let Some(line) = facts.text.lines().map(str::trim).find(|line| !line.is_empty()) {
        lines.push(format!("First line: {}", one_line(line)));
    }
    if !facts.identifiers.is_empty() {
        let names: Vec<&str> = facts.identifiers.iter().take(IDENTIFIERS).map(String::as_str).collect();
        lines.push(format!("Identifiers: {}", names.join(", ")));
    }
    if let Some(commit) = facts.last_commit {
        lines.push(format!("Last commit: {}", one_line(commit)));
    }
    lines.push(String::new());
    lines.join("\n")
}

/// Names of symbols in the order of the file, without duplicates, at most 30.
pub fn identifiers_of(symbols: &[Symbol]) -> Vec<String> {
    let mut out: Vec<String> = Vec::new();
    for symbol in symbols {
        let name = one_line(symbol.path.rsplit('.').next().unwrap_or(&symbol.path));
        if !name.is_empty() && !out.contains(&name) {
            out.push(name);
        }
        if out.len() == IDENTIFIERS {
            break;
        }
    }
    out
}

/// A text with blanks folded and control characters removed, and a mark if it was cut.
fn one_line(text: &str) -> String {
    let folded = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let clean: String = folded.chars().filter(|character| !character.is_control()).take(LONGEST + 1).collect();
    if clean.chars().count() <= LONGEST {
        return clean;
    }
    let mut cut: String = clean.chars().take(LONGEST - 1).collect();
    cut.push('…');
    cut
}
