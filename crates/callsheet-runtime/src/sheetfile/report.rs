//! Text for people about an edit: where an issue is in the file, and what the edit changed.

use callsheet_core::issue::{Issue, Severity};
use callsheet_core::run::{Run, State};
use callsheet_core::view::counted;

/// `FILE:LINE:COLUMN: error CODE: words`. The column is that of the item that the issue is about, else of the first
/// word.
pub(super) fn line_of(file: &str, text: &str, issue: &Issue) -> String {
    let (line, column) = place_of(text, issue);
    let severity = if issue.severity == Severity::Error { "error" } else { "warning" };
    format!("{file}:{line}:{column}: {severity} {}: {issue}", issue.code)
}

/// Line and column from 1, in characters.
pub(super) fn place_of(text: &str, issue: &Issue) -> (u32, usize) {
    let (first, last) = (issue.place.span.first.max(1), issue.place.span.last);
    let lines = || (first..).zip(text.lines().skip(usize::try_from(first).unwrap_or(1) - 1));
    let within = || lines().take_while(|(number, _)| *number <= last.max(first));
    let wanted = [&issue.place.item, &issue.place.key].into_iter().flatten();
    let found = wanted.into_iter().find_map(|item| {
        within().find_map(|(number, line)| {
            let at = line.find(item.as_str())?;
            Some((number, line.get(..at)?.chars().count() + 1))
        })
    });
    found.unwrap_or_else(|| {
        let indent = lines().next().map_or(0, |(_, line)| line.chars().take_while(|c| c.is_whitespace()).count());
        (first, indent + 1)
    })
}

/// The effect of an edit in one line.
pub(super) fn difference(before: &Run, after: &Run) -> String {
    let (added, changed, removed) = counts(before, after);
    let marks = if before.no_longer_relevant() == after.no_longer_relevant() { "" } else { ", other marks" };
    let added = counted(added, "task");
    format!("Edit detected: {added} added, {changed} changed, {removed} removed{marks}")
}

/// Numbers of tasks that an edit added, changed and removed.
pub(super) fn counts(before: &Run, after: &Run) -> (usize, usize, usize) {
    let (mut added, mut changed, mut removed) = (0, 0, 0);
    for task in after.tasks() {
        match before.task(&task.task.slug) {
            None => added += 1,
            Some(former) if former.state() == State::Dropped && task.state() != State::Dropped => added += 1,
            Some(former) if former.state() != State::Dropped && task.state() == State::Dropped => removed += 1,
            Some(former) if former.task != task.task => changed += 1,
            Some(_) => {}
        }
    }
    (added, changed, removed)
}

#[cfg(test)]
mod tests {
    use super::*;
    use callsheet_core::issue::{IssueCode, Location, Span};
    use callsheet_core::nouns::Phase;

    /// covers: 2.18 edit, 4.8
    #[test]
    fn the_place_of_an_issue_is_where_its_item_stands() {
        let text = "## Tasks\n- **Name** Ä\n  - **References** [W](nö.md)\n";
        let mut issue = Issue {
            code: IssueCode::FileMissing,
            severity: Severity::Error,
            place: Location {
                phase: Phase::Plan,
                section: None,
                task: None,
                item: Some("nö.md".to_owned()),
                key: Some("References".to_owned()),
                span: Span { first: 2, last: 3 },
            },
            what: "it is not there".to_owned(),
            todo: String::new(),
            allowed: Vec::new(),
            raw: None,
        };
        assert!(line_of("sheet.md", text, &issue).starts_with("sheet.md:3:24: error file-missing: "));
        issue.place.item = None;
        assert!(line_of("sheet.md", text, &issue).starts_with("sheet.md:3:7: "));
        issue.place.key = None;
        issue.place.span = Span::line(3);
        assert!(line_of("sheet.md", text, &issue).starts_with("sheet.md:3:3: "));
        issue.place.span = Span { first: 0, last: 0 };
        assert!(line_of("sheet.md", "", &issue).starts_with("sheet.md:1:1: "));
    }
}
