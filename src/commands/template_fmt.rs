//! `template fmt`: prints a file in the short form or in XML, with the same tree. `template schema` prints the
//! schema.

use std::fs::OpenOptions;
use std::io::Write;
use std::path::Path;

use callsheet_core::template::{Node, Severity, Template};
use callsheet_format::template::{
    FileReading, comment_lines, is_yaml, print_short, print_templates, read_text, short_schema,
};

use super::template::near_files;
use crate::cli::{Exit, Failure, TemplateFmtArgs, TemplateForm};
use crate::setup::Setup;
use crate::term::harmless;

pub(super) fn schema() -> Result<Exit, Failure> {
    super::print(&format!("{:#}\n", short_schema())).map(|()| Exit::Complete)
}

pub(super) fn fmt(setup: &Setup, arguments: &TemplateFmtArgs) -> Result<Exit, Failure> {
    let path = arguments.file.as_path();
    let file = path.display().to_string();
    let text = std::fs::read_to_string(path)
        .map_err(|error| Failure::usage(format!("can't read {file}: {error}"), near_files(path)))?;
    let reading = read_text(&file, &text);
    if reading.has_error() {
        for (_, issue) in reading.issues.iter().filter(|(_, issue)| issue.severity == Severity::Error) {
            super::print(&format!("{issue}\n"))?;
        }
        return Err(Failure::usage(format!("{file} has errors"), "fix them first; nothing was written"));
    }
    let own = if is_yaml(&file) { TemplateForm::Yaml } else { TemplateForm::Xml };
    let form = arguments.to.unwrap_or(own);
    let printed = printed(&file, (own, form), &reading)?;
    let comments = comment_lines(&file, &text);
    let place = if arguments.write { Some(write(path, form, &printed)?) } else { None };
    if place.is_some() {
        tell!("remove {file} when you are satisfied: the same template in two files is an error");
    }
    if setup.json {
        let row = serde_json::json!({
            "file": file, "text": printed, "written": place, "lost_comments": comments,
        });
        super::print_json(&row)?;
    } else if let Some(place) = place {
        super::print(&format!("{place}\n"))?;
    } else {
        super::print(&harmless(&printed))?;
    }
    if !comments.is_empty() {
        let lines: Vec<String> = comments.iter().map(ToString::to_string).collect();
        let lines = lines.join(", ");
        tell!("{file}: the comments on these lines are lost; copy them by hand: {}", lines);
    }
    Ok(Exit::Complete)
}

/// The templates in a form, if the form preserves them.
fn printed(file: &str, (own, form): (TemplateForm, TemplateForm), reading: &FileReading) -> Result<String, Failure> {
    let (text, lost) = match (own, form) {
        (_, TemplateForm::Yaml) => print_short(&reading.templates),
        (TemplateForm::Xml, TemplateForm::Xml) => (print_templates(&reading.templates), Vec::new()),
        (TemplateForm::Yaml, TemplateForm::Xml) => {
            (print_templates(&with_instructions(&reading.templates)), Vec::new())
        }
    };
    let again = read_text(name_of(form), &text);
    let equal = |again: &[Template]| again == reading.templates.as_slice();
    if lost.is_empty() && equal(&again.templates) && !again.has_error() {
        return Ok(text);
    }
    let wrong = again.issues.iter().filter(|(_, issue)| issue.severity == Severity::Error);
    let reasons: Vec<String> = lost.into_iter().chain(wrong.map(|(_, issue)| issue.message.clone())).collect();
    let what = format!("{file} can't be written in that form: {}", reasons.join("; "));
    Err(Failure::usage(what, "change that first; nothing was written"))
}

/// The same templates with what a model is asked as instructions. The short form has one text for both, and XML warns of
/// a task that has only a description (T507).
fn with_instructions(templates: &[Template]) -> Vec<Template> {
    let mut templates = templates.to_vec();
    let mut open: Vec<&mut Node> = templates.iter_mut().map(|template| &mut template.body).collect();
    while let Some(node) = open.pop() {
        if node.kind.is_atomic() && node.intent.instructions.is_empty() {
            node.intent.instructions = node.intent.description.clone();
        }
        open.extend(node.children_mut());
    }
    templates
}

/// A file name with which the reader expects this form.
fn name_of(form: TemplateForm) -> &'static str {
    match form {
        TemplateForm::Yaml => "printed.yaml",
        TemplateForm::Xml => "printed.xml",
    }
}

/// Writes a new file beside the given one. Never overwrites a file.
fn write(path: &Path, form: TemplateForm, text: &str) -> Result<String, Failure> {
    let ending = if form == TemplateForm::Yaml { "yaml" } else { "xml" };
    let place = path.with_extension(ending);
    let mut file = OpenOptions::new().write(true).create_new(true).open(&place).map_err(|error| {
        let advice = "print it without --write, or choose another name; nothing was written";
        Failure::usage(format!("can't write {}: {error}", place.display()), advice)
    })?;
    file.write_all(text.as_bytes())
        .map_err(|error| Failure::internal(format!("can't write {}: {error}", place.display()), "try again"))?;
    Ok(place.display().to_string())
}
