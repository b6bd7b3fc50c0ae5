//! Names of a task's execution runs for people and models (spec 10.1).

use std::collections::BTreeSet;

use serde_json::Value;

use crate::nouns::{Fragment, Reference, Slug, Target, ToolCall};

use super::{numbered_slug, slug_of};

/// The longest title, characters.
const LONGEST: usize = 60;

/// The text of a link. Without text, the name of its file, the task or the anchor.
pub fn reference_title(reference: &Reference) -> String {
    let written = short(&reference.title);
    if !written.is_empty() {
        return written;
    }
    short(&match &reference.target {
        Target::File { path, fragment } => match fragment {
            Some(Fragment::Anchor(anchor)) => format!("{}#{anchor}", file_name(path)),
            Some(lines) => format!("{}#{lines}", file_name(path)),
            None => file_name(path).to_owned(),
        },
        Target::Directory(path) => format!("{}/", file_name(path)),
        Target::TaskOutput { slug, heading: None } => slug.to_string(),
        Target::TaskOutput { slug, heading: Some(heading) } => format!("{slug}#{heading}"),
        Target::TaskDetail { file, .. } => file.clone(),
        target => target.to_string(),
    })
}

/// The tool and the first text, or list of texts, of its arguments, as written: `read_file src/main.rs`.
pub fn call_title(call: &ToolCall) -> String {
    let main = call.arguments.as_object().and_then(|arguments| arguments.values().find_map(words));
    match main {
        Some(main) => short(&format!("{} {main}", call.name)),
        None => short(&call.name),
    }
}

/// A title that is not in use yet, also as a slug: the title itself, or with ` (2)`, ` (3)` added. It is in use from
/// then on.
pub fn distinct_title(title: &str, taken: &mut BTreeSet<Slug>) -> (String, Slug) {
    let (mut distinct, mut slug) = (title.to_owned(), slug_of(title));
    let mut number = 2_u32;
    while !taken.insert(slug.clone()) && number < u32::MAX {
        distinct = format!("{title} ({number})");
        slug = numbered_slug(&distinct, number);
        number += 1;
    }
    (distinct, slug)
}

fn words(argument: &Value) -> Option<String> {
    let text = match argument {
        Value::String(text) => text.clone(),
        Value::Array(items) => items.iter().filter_map(Value::as_str).collect::<Vec<_>>().join(" "),
        _ => String::new(),
    };
    Some(text).filter(|text| !text.trim().is_empty())
}

fn file_name(path: &str) -> &str {
    let path = path.trim_end_matches('/');
    path.rsplit('/').next().unwrap_or(path)
}

/// A text as one line without control characters.
fn short(text: &str) -> String {
    let plain: String = text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    let line = plain.split_whitespace().collect::<Vec<_>>().join(" ");
    if line.chars().count() <= LONGEST {
        return line;
    }
    let mut cut: String = line.chars().take(LONGEST - 1).collect();
    cut.push('…');
    cut
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use serde_json::json;

    use super::{call_title, distinct_title, reference_title};
    use crate::links::parse_target;
    use crate::nouns::{Reference, ToolCall};

    /// covers: 10.1
    #[test]
    fn a_reference_is_called_by_its_text_else_by_what_it_names() {
        let title = |title: &str, target: &str| {
            let reference = Reference { title: title.to_owned(), target: parse_target(target).unwrap() };
            reference_title(&reference)
        };
        assert_eq!(title("Known\ntrouble", "docs/water.md#known-trouble"), "Known trouble");
        assert_eq!(title("", "docs/water.md"), "water.md");
        assert_eq!(title(" ", "docs/water.md#known-trouble"), "water.md#known-trouble");
        assert_eq!(title("", "src/net.rs#L10-L20"), "net.rs#L10-L20");
        assert_eq!(title("", "docs/notes/"), "notes/");
        assert_eq!(title("", "#read-water-results"), "read-water");
        assert_eq!(title("", "task://list/names.csv"), "names.csv");
        assert_eq!(title(&"long ".repeat(20), "a.md").chars().count(), 60);
    }

    /// covers: 10.1
    #[test]
    fn a_call_is_called_by_its_tool_and_its_first_text() {
        let title =
            |arguments| call_title(&ToolCall { name: "read_file".to_owned(), id: "read_file-1".to_owned(), arguments });
        assert_eq!(title(json!({ "path": "src/main.rs", "start_line": 4 })), "read_file src/main.rs");
        assert_eq!(title(json!({ "limit": 3, "argv": ["make", "test"] })), "read_file make test");
        assert_eq!(title(json!({ "limit": 3, "path": " " })), "read_file");
        assert_eq!(title(json!("src")), "read_file");
    }

    /// covers: 10.1
    #[test]
    fn titles_of_one_task_differ_also_in_names_of_files() {
        let mut taken = BTreeSet::new();
        let mut next = |title: &str| {
            let (title, slug) = distinct_title(title, &mut taken);
            (title, slug.as_str().to_owned())
        };
        assert_eq!(next("Plan"), ("Plan".to_owned(), "plan".to_owned()));
        assert_eq!(next("plan!"), ("plan! (2)".to_owned(), "plan-2".to_owned()));
        assert_eq!(next("Plan"), ("Plan (3)".to_owned(), "plan-3".to_owned()));
        let long = "word ".repeat(20);
        assert_ne!(next(&long).1, next(&long).1);
    }
}
