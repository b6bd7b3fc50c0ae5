//! Reads a template file: XML, aliases, the grammar's table, and the typed tree (spec 2, 3). Reading never fails. It
//! returns every template that can be recognised and all issues of the file.

mod alias;
mod check;
mod command;
mod lower;
mod own_part;
mod parts;
mod scripts;
mod tasks;
mod values;
mod world;

use callsheet_core::template::{Bytes, Code, Issue, Lines, Severity, Template};

use crate::template::report::{Draft, MOST, Report};

pub(in crate::template) use command::split as split_command;
pub(in crate::template) use values::{RawParam, near_word, split_params};

use super::known::Known;
use super::xml::{self, Fault, FaultKind, Mode};
use super::yaml::{self, is_yaml};

/// The content of a file.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FileReading {
    /// The templates that can be recognised, in order, including faulty ones.
    pub templates: Vec<Template>,
    /// All issues with their ranges, in the order of the file.
    pub issues: Vec<(Bytes, Issue)>,
    /// All outermost templates and tasks, including those that cannot be recognised.
    pub outermost: Vec<Outermost>,
}

/// An outermost template or task as found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Outermost {
    /// Its name, if it has one.
    pub name: Option<String>,
    /// Its bytes.
    pub span: Bytes,
    /// Whether it was not closed where it should have been. The fault is then right after it.
    pub damaged: bool,
}

impl Outermost {
    /// Whether an issue at this range belongs to it.
    pub(in crate::template) fn owns(&self, at: Bytes) -> bool {
        self.span.holds(at) || (self.damaged && at.start == self.span.end)
    }
}

impl FileReading {
    /// Whether a blocking issue concerns a template: it lies in the template, or outside every template of the file.
    pub fn is_faulty(&self, template: &Template, strict: bool) -> bool {
        let span = template.origin.spot.span;
        self.issues.iter().filter(|(_, issue)| issue.blocks(strict)).any(|(at, _)| {
            let mut owners = self.outermost.iter().filter(|known| known.owns(*at)).peekable();
            owners.peek().is_none() || owners.any(|owner| owner.span == span)
        })
    }

    /// Whether there is an issue of severity error.
    pub fn has_error(&self) -> bool {
        self.issues.iter().any(|(_, issue)| issue.severity == Severity::Error)
    }
}

/// Reads the bytes of a file. `file` is its name as shown to a person.
pub fn read_file(file: &str, bytes: &[u8]) -> FileReading {
    read_file_with(file, bytes, &Known::default())
}

/// Reads the bytes of a file and checks the names in it against what is known.
pub fn read_file_with(file: &str, bytes: &[u8], known: &Known<'_>) -> FileReading {
    // Two-byte markup is valid UTF-8, but XML does not allow every other character of it.
    let wide = matches!(bytes, [0, b'<' | b' ' | b'\n' | b'\r', ..] | [b'<' | b' ' | b'\n' | b'\r', 0, ..]);
    let valid = if wide { Err(0) } else { std::str::from_utf8(bytes).map_err(|error| error.valid_up_to()) };
    match valid {
        Ok(text) => read_known(file, text, known),
        Err(valid) => {
            let text = std::str::from_utf8(bytes.get(..valid).unwrap_or_default()).unwrap_or_default();
            let lines = Lines::new(text);
            let mut report = Report::new(file, &lines);
            let at = Bytes::new(text.len(), text.len());
            let draft = Draft::new(Code::T004, at, "the file is not UTF-8 from here on");
            report.add(draft.advice("save it as UTF-8"), "");
            FileReading { issues: report.into_issues(), ..FileReading::default() }
        }
    }
}

/// Reads the text of a file.
pub fn read_text(file: &str, text: &str) -> FileReading {
    read_known(file, text, &Known::default())
}

fn read_known(file: &str, text: &str, known: &Known<'_>) -> FileReading {
    let lines = Lines::new(text);
    if is_yaml(file) {
        return read_yaml(file, text, &lines, known);
    }
    let mut document = xml::parse(text, Mode::Strict);
    let mut reader = Reader::new(file, text, &lines, known, false);
    for (index, fault) in std::mem::take(&mut document.faults).into_iter().enumerate() {
        // Finding a path walks through the tree, which is not needed after the last reported issue.
        let root = document.root.as_ref().filter(|_| index <= MOST);
        let path = root.map(|root| path_at(root, fault.opened.unwrap_or(fault.span).start));
        reader.fault(fault, &path.unwrap_or_default());
    }
    let (mut templates, mut outermost) = (Vec::new(), Vec::new());
    if let Some(mut root) = document.root {
        alias::canonicalise(&mut reader, &mut root);
        reader.check_root(&root);
        templates = reader.lower_root(&root);
        outermost = outermost_of(&root);
    }
    FileReading { templates, issues: reader.report.into_issues(), outermost }
}

/// Reads a file in the short form.
fn read_yaml(file: &str, text: &str, lines: &Lines<'_>, known: &Known<'_>) -> FileReading {
    let document = yaml::parse(text);
    let mut reader = Reader::new(file, text, lines, known, true);
    for (draft, path) in document.drafts {
        reader.report.add(draft, &path);
    }
    reader.lacks_tasks = reader.report.has_errors();
    reader.check_root(&document.root);
    let templates = reader.lower_root(&document.root);
    let mut outermost = outermost_of(&document.root);
    outermost.extend(document.lost.into_iter().map(|name| Outermost { name: Some(name), ..Outermost::default() }));
    FileReading { templates, issues: reader.report.into_issues(), outermost }
}

fn outermost_of(root: &xml::Element) -> Vec<Outermost> {
    let top: Vec<&xml::Element> = if root.name == "templates" { root.elements().collect() } else { vec![root] };
    let found = |element: &xml::Element| Outermost {
        name: element.attribute("name").map(|name| name.value.as_str().to_owned()),
        span: element.span,
        damaged: element.damaged,
    };
    top.into_iter().map(found).collect()
}

/// The names of the elements around a byte.
fn path_at(root: &xml::Element, offset: usize) -> String {
    let mut path = Vec::new();
    let mut inside = Some(root);
    while let Some(element) = inside {
        if element.name != "templates" {
            path.push(check::label(element));
        }
        inside = element.elements().find(|child| child.span.start <= offset && offset < child.span.end);
    }
    path.join("/")
}

/// Walks through the elements of one file.
pub(super) struct Reader<'a> {
    file: &'a str,
    text: &'a str,
    lines: &'a Lines<'a>,
    known: &'a Known<'a>,
    report: Report<'a>,
    /// The names of the surrounding elements, outermost first.
    path: Vec<String>,
    /// The start tag of the innermost task.
    task: Option<Bytes>,
    /// The number of surrounding damaged elements.
    muted: usize,
    /// Whether the file is in the short form.
    short: bool,
    /// Whether tasks may be lacking because the short form has errors.
    lacks_tasks: bool,
}

impl<'a> Reader<'a> {
    fn new(file: &'a str, text: &'a str, lines: &'a Lines<'a>, known: &'a Known<'a>, short: bool) -> Self {
        let report = Report::new(file, lines);
        Self { file, text, lines, known, report, path: Vec::new(), task: None, muted: 0, short, lacks_tasks: false }
    }

    /// The name that the author of this file uses for an element or attribute.
    fn shown<'n>(&self, name: &'n str) -> &'n str {
        if self.short { yaml::shown(name).unwrap_or(name) } else { name }
    }

    /// Adds an issue at the current element. Inside a damaged element, the structure is not checked (spec 3).
    fn add(&mut self, draft: Draft) {
        let structural = (Code::T010..=Code::T023).contains(&draft.code());
        if structural && self.muted > 0 {
            return;
        }
        let opened = self.task.filter(|task| draft.is_error() && !task.holds(draft.span()) && !draft.has_related());
        let draft = match opened {
            Some(task) => draft.related(task, "task opened here"),
            None => draft,
        };
        self.report.add(draft, &self.path.join("/"));
    }

    fn fault(&mut self, fault: Fault, path: &str) {
        let code = match fault.kind {
            FaultKind::Malformed => Code::T001,
            FaultKind::Forbidden => Code::T002,
            FaultKind::TooLarge => Code::T003,
            FaultKind::Encoding => Code::T004,
            FaultKind::Ignored => Code::T521,
        };
        let found = self.text.get(fault.span.start..fault.span.end).unwrap_or_default();
        let mut draft = Draft::new(code, fault.span, fault.message).advice(fault.advice);
        if !found.is_empty() && code != Code::T003 {
            draft = draft.found(found);
        }
        if let Some(opened) = fault.opened {
            draft = draft.related(opened, "opened here");
        }
        self.report.add(draft, path);
    }
}
