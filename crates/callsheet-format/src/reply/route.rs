//! The reply of a routing call (spec 2.3): the name of a skill, and the files that it should write.

use callsheet_core::issue::{IssueCode, Span};
use callsheet_core::nouns::Phase;

use crate::markdown::{Document, Format, Prepare};
use crate::reading::{Diagnostics, Reading, files_of};

/// A name has no sections.
const FORMAT: Format = Format { rules: &[], markers: &[], plain_titles: false };

/// The choice of a routing call.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Route {
    /// The skill. `None` if the reply names none, or more than one.
    pub skill: Option<String>,
    /// Paths of the request to write, in the order of the request.
    pub writes: Vec<String>,
}

/// Reads the name that a reply gives. It is alone on a line, apart from marks, or is the only one of `names` in the
/// reply. After a colon, those of `paths` follow that should be written. A reply without a name causes a warning.
pub fn read_route(text: &str, names: &[&str], paths: &[String]) -> Reading<Route> {
    let mut notes = Diagnostics::new(Phase::Route, false);
    let document = Document::read(text, &FORMAT, Prepare::default(), &mut notes);
    let whole = document.whole();
    let line = whole.lines().find(|line| !line.trim().is_empty()).unwrap_or_default();
    let (head, files) = line.split_once(':').unwrap_or((line, ""));
    let named = chosen(&head.to_lowercase(), names);
    let skill = named.or_else(|| chosen(&whole.to_lowercase(), names)).map(str::to_owned);
    let written: Vec<String> = files_of(files).collect();
    let writes = paths.iter().filter(|path| named.is_some() && written.contains(path)).cloned().collect();
    if skill.is_none() {
        let issue = notes.issue(IssueCode::RouteUnreadable, "", Span::line(1), &[]).warning();
        notes.push(issue);
    }
    notes.finish(Route { skill, writes })
}

fn chosen<'a>(whole: &str, names: &[&'a str]) -> Option<&'a str> {
    let is_name = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-');
    let first = whole.lines().find(|line| line.contains(is_name))?;
    let bare = first.trim_matches(|c: char| !is_name(c));
    if let Some(name) = names.iter().find(|name| bare == name.to_lowercase()) {
        return Some(name);
    }
    let holds = |name: &&&str| {
        let name = name.to_lowercase();
        whole.match_indices(&name).any(|(at, _)| {
            let before = whole.get(..at).and_then(|text| text.chars().next_back());
            let behind = whole.get(at + name.len()..).and_then(|text| text.chars().next());
            !before.is_some_and(is_name) && !behind.is_some_and(is_name)
        })
    };
    let mut found = names.iter().filter(holds);
    found.next().filter(|_| found.next().is_none()).copied()
}

#[cfg(test)]
mod tests {
    use super::read_route;

    const NAMES: [&str; 3] = ["find_code", "read_files", "several_tasks"];

    #[test]
    fn one_name_is_read_whatever_is_around_it() {
        for text in
            ["find_code", " `find_code`.\n", "**Find_Code**", "find_code\n\nIt searches.", "I choose find_code here."]
        {
            assert_eq!(read_route(text, &NAMES, &[]).value.skill.as_deref(), Some("find_code"), "{text}");
        }
    }

    /// covers: 2.3, route-unreadable
    #[test]
    fn no_name_and_two_names_are_none() {
        for text in ["", "no idea", "find_code_now", "find_code or read_files?", "\u{0}\u{ffff}"] {
            let reading = read_route(text, &NAMES, &[]);
            assert_eq!((reading.value.skill, reading.issues.len()), (None, 1), "{text}");
        }
    }

    /// covers: 2.3
    #[test]
    fn files_behind_the_name_are_read_if_the_request_names_them() {
        let paths = ["notes.md".to_owned(), "docs/a.md".to_owned()];
        let read = |text: &str| read_route(text, &NAMES, &paths).value;
        let both = read("several_tasks: docs/a.md, `notes.md`, other.md\nIt writes two.");
        assert_eq!((both.skill.as_deref(), both.writes.as_slice()), (Some("several_tasks"), paths.as_slice()));
        assert_eq!(read("read_files").writes, Vec::<String>::new());
        assert_eq!(read("I read: notes.md").writes, Vec::<String>::new());
        assert_eq!(read("skill: find_code").skill.as_deref(), Some("find_code"));
    }
}
