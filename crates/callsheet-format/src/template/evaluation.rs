//! The readers and printers for evaluation: implements the port of core.

use callsheet_core::evaluate::{Formats, SplitReading};
use callsheet_core::links::parse_target;
use callsheet_core::nouns::{Target, ToolSpec};
use callsheet_core::record::Tree;
use callsheet_core::template::{JsonFound, JsonReading, Lines, ParseError, ReplyReading, Severity, Template};

use crate::reading::clause;
use crate::reply::json::{Meant, in_a_string, meant};
use crate::reply::references::{WrittenLink, written_links};

use super::{
    Known, Layer, Library, TemplateFile, data_usage, found_xml, print_templates, read_reply, read_text, xml_beside,
};

/// The evaluator that is used if no template fits.
const EVALUATOR: &str = include_str!("../../prompts/evaluator.xml");

/// The template that asks for a split.
const SPLIT: &str = include_str!("../../prompts/reparse.xml");

/// The file name under which a split is read.
const FILE: &str = "reparse";

/// The text formats for evaluation.
#[derive(Clone, Copy, Debug, Default)]
pub struct TextFormats;

impl Formats for TextFormats {
    fn reply(&self, text: &str, manual: bool) -> ReplyReading {
        let mut reading = read_reply(text, manual);
        if !manual && let Some((content, usage)) = data_usage(&reading.content) {
            (reading.content, reading.data_usage) = (content.to_owned(), usage.to_owned());
        }
        reading
    }

    fn json(&self, text: &str) -> JsonReading {
        let place = |at: usize, what: String| {
            let place = Lines::new(text).place(at.min(text.len()));
            ParseError { message: what, line: place.line, column: place.column }
        };
        match meant(text) {
            Err(fault) => JsonReading { values: Vec::new(), fault: place(fault.at, fault.what) },
            Ok(values) => {
                let second = values.get(1).map_or(0, |second| second.located.start);
                let many = clause("json-many", &[("count", &values.len().to_string())]);
                let values = values.into_iter().map(|one| found(text, one)).collect();
                JsonReading { values, fault: place(second, many) }
            }
        }
    }

    fn linked_paths(&self, text: &str) -> Vec<String> {
        if !text.trim_start().starts_with('[') {
            return Vec::new();
        }
        let target = |link: &WrittenLink<'_>| match parse_target(&link.target) {
            Ok(Target::File { path, .. } | Target::Directory(path)) => path,
            _ => link.target.to_string(),
        };
        written_links(text).iter().map(target).collect()
    }

    fn evaluator(&self) -> Option<Template> {
        read_text("evaluator.xml", EVALUATOR).templates.pop()
    }

    fn split_request(&self) -> Option<Template> {
        read_text("reparse.xml", SPLIT).templates.pop()
    }

    fn split(&self, reply: &str, name: &str, tree: &Tree, tools: Vec<ToolSpec>) -> Option<SplitReading> {
        let xml = found_xml(reply)?;
        let text = format!("<templates><template name=\"{name}\">{xml}</template></templates>");
        let rest = print_templates(tree.templates.values());
        let file = |layer, file: &str, text: &str| TemplateFile {
            layer,
            file: file.to_owned(),
            bytes: text.as_bytes().to_vec(),
        };
        let files = [file(Layer::Project, FILE, &text), file(Layer::BuiltIn, "library", &rest)];
        let skills = tree.templates.keys().filter_map(|name| name.strip_prefix("skill:")).map(str::to_owned);
        let schema = |_: &str, name: &str| tree.schemas.get(name).cloned();
        let served = tree.served.as_ref();
        let known = Known {
            models: served.map(|served| served.models.clone()),
            providers: served.map(|served| served.providers.clone()),
            tools: Some(tools.iter().map(|tool| tool.name.clone()).collect()),
            specs: tools,
            skills: Some(skills.collect()),
            schema: Some(&schema),
            ..Known::default()
        };
        let library = Library::load(&files, &known, false);
        let issues = library.issues().iter();
        let wrong = issues.filter(|issue| issue.file == FILE && issue.severity == Severity::Error);
        let faults = wrong.map(ToString::to_string).collect();
        // A faulty tree is returned as well, because other checks may find more faults in it.
        let faulty = || read_text(FILE, &text).templates.pop().filter(|read| read.name == name);
        let template = library.get(name).map(|loaded| loaded.template.clone()).or_else(faulty);
        Some(SplitReading { template, faults, beside: xml_beside(reply) })
    }
}

/// A value in the form that core expects.
fn found(text: &str, one: Meant) -> JsonFound {
    let whole = text.get(one.located.start..one.located.end).is_some_and(|value| value == text.trim());
    let inner = in_a_string(&one.located.value).map(|inner| {
        let mut inner = found(one.located.value.as_str().unwrap_or_default(), inner);
        inner.whole = false;
        Box::new(inner)
    });
    JsonFound { whole, repairs: one.repairs.iter().map(ToString::to_string).collect(), value: one.located.value, inner }
}
