//! Reads commands, processes, files, outputs and limits from their elements (spec 2.4, 2.5).

use callsheet_core::nouns::{TaskLimits, canonical_tools};
use callsheet_core::template::{
    Code, Command, FilePaths, FileSource, Inherit, InputFile, OnParseFailure, OutputFormat, OutputType, Recovery,
    SchemaChoice, Script, Stdin, ValueType, Variable, is_ident,
};

use crate::template::grammar::Kind;
use crate::template::report::Draft;
use crate::template::xml::Element;

use super::Reader;
use super::command;
use super::parts::{count, flag, word};
use super::values::number;

/// The default time limit of a process in seconds.
const TIMEOUT: u32 = 300;

impl Reader<'_> {
    /// Reads the script children of a task or of `script_execution`.
    pub(super) fn script(&mut self, element: &Element) -> Script {
        let mut names = Vec::new();
        let mut input_files = Vec::new();
        for child in element.elements().filter(|child| child.name == "input_file") {
            let Some(name) = word(child, "name").filter(|name| is_ident(name)) else { continue };
            self.distinct(&mut names, "file", name, child.tag);
            let Some(from) = self.path_use(child, "from") else { continue };
            input_files.push(InputFile {
                name: name.to_owned(),
                from,
                suffix: word(child, "suffix").unwrap_or_default().to_owned(),
                origin: self.origin(child.span),
            });
        }
        let environment = element.child("environment");
        let variables = environment.into_iter().flat_map(Element::elements).filter(|child| child.name == "var");
        Script {
            command: element.child("command").map(|child| self.command(child)).unwrap_or_default(),
            timeout: count(self.word_child(element, "timeout").as_deref(), 1, 86_400).unwrap_or(TIMEOUT),
            stdin: element.child("stdin").and_then(|child| self.stdin(child)),
            input_files,
            inherit: match environment.and_then(|child| word(child, "inherit")) {
                Some("none") => Inherit::None,
                Some("all") => Inherit::All,
                _ => Inherit::Safe,
            },
            variables: variables
                .filter_map(|child| {
                    let name = word(child, "name").filter(|name| is_ident(name))?.to_owned();
                    Some(Variable { name, value: self.filled(&self.text_of(child, Kind::Filled)) })
                })
                .collect(),
        }
    }

    fn command(&mut self, element: &Element) -> Command {
        if element.elements().any(|child| child.name == "argv") {
            let words = element.elements().filter(|child| child.name == "argv");
            let word = |child: &Element| (self.filled(&self.text_of(child, Kind::Filled)), child.inner);
            let words: Vec<_> = words.map(word).collect();
            command::unexpanded(self, &words, false);
            return Command { words: words.into_iter().map(|(word, _)| word).collect() };
        }
        let text = self.text_of(element, Kind::Command);
        command::unexpanded(self, &command::unquoted(&text), true);
        let spots = self.filled(&text).places().map(|(_, spot)| spot).collect::<Vec<_>>();
        let mut spots = spots.into_iter();
        let words = command::split(text.as_str()).words.into_iter();
        Command {
            words: words
                .map(|word| {
                    let count = word.paths().count();
                    word.placed(spots.by_ref().take(count))
                })
                .collect(),
        }
    }

    fn stdin(&mut self, element: &Element) -> Option<Stdin> {
        let text = self.text_of(element, Kind::Filled);
        match self.path_use(element, "from") {
            Some(from) => {
                if !text.as_str().is_empty() {
                    self.tell(Code::T023, element.tag, "<stdin> has `from` and a text", "keep one of the two");
                }
                Some(Stdin::From(from))
            }
            None => Some(Stdin::Text(self.filled(&text))),
        }
    }

    pub(super) fn file_paths(&mut self, element: &Element) -> FilePaths {
        let source = match word(element, "source") {
            Some("command") => FileSource::Command,
            Some("description") => FileSource::Description,
            Some("context_description") => FileSource::ContextDescription,
            _ => FileSource::Literal,
        };
        let wanted = match source {
            FileSource::Literal => "path",
            FileSource::Command => "command",
            FileSource::Description => "description",
            FileSource::ContextDescription => "context_query",
        };
        for child in element.elements().filter(|child| child.name != wanted) {
            if ["path", "command", "description", "context_query"].contains(&child.name.as_str()) {
                let message = format!("<{}> does not match the source of these paths", child.name);
                let draft = Draft::new(Code::T012, child.name_span, message).found(&child.name).expected([wanted]);
                self.add(draft.advice("fix the source or the element"));
            }
        }
        if element.child(wanted).is_none() {
            let draft = Draft::new(Code::T011, element.tag, format!("<file_paths> needs <{wanted}>"));
            self.add(draft.expected([wanted]).advice(format!("add <{wanted}>")));
        }
        let paths = element.elements().filter(|child| child.name == "path");
        let paths: Vec<_> = paths.map(|child| (child.inner, self.filled(&self.text_of(child, Kind::Filled)))).collect();
        for (span, path) in &paths {
            if let Some(text) = path.as_literal().filter(|text| leads_out(text)) {
                let draft = Draft::new(Code::T056, *span, format!("`{text}` leads out of the project")).found(text);
                self.add(draft.advice("write a path below the project's folder"));
            }
        }
        let mut out = FilePaths { source, origin: self.origin(element.span), ..FilePaths::default() };
        match source {
            FileSource::Literal => out.paths = paths.into_iter().map(|(_, path)| path).collect(),
            FileSource::Command => {
                out.command = element.child("command").map(|child| self.command(child)).unwrap_or_default();
            }
            FileSource::Description | FileSource::ContextDescription => out.query = self.filled_child(element, wanted),
        }
        out
    }

    pub(super) fn output_format(&mut self, element: &Element) -> Option<OutputFormat> {
        let form = match word(element, "type")? {
            "json" => OutputType::Json,
            "text" => OutputType::Text,
            _ => return None,
        };
        let inline = self.text_of(element, Kind::JsonSchema);
        let inline = serde_json::from_str(inline.as_str()).ok().map(SchemaChoice::Inline);
        let schema = word(element, "schema").and_then(|text| match text.strip_prefix('@') {
            Some(name) => Some(SchemaChoice::Named(name.to_owned())),
            None => ValueType::parse(text).map(SchemaChoice::Type),
        });
        if inline.is_some() && schema.is_some() {
            let message = "the schema occurs as an attribute and inside the element";
            self.tell(Code::T023, element.tag, message, "keep one of the two");
        }
        let schema = schema.or(inline);
        if form == OutputType::Text && schema.is_some() {
            let message = "a schema has no effect on type=\"text\"";
            self.tell(Code::T523, element.tag, message, "write type=\"json\", or remove the schema");
        }
        Some(OutputFormat {
            form,
            on_parse_failure: match word(element, "on_parse_failure") {
                Some("error") => OnParseFailure::Error,
                Some(_) => OnParseFailure::Fallback,
                None => OnParseFailure::assumed(schema.as_ref()),
            },
            schema,
            origin: self.origin(element.span),
        })
    }

    pub(super) fn limits(&self, element: &Element) -> TaskLimits {
        let mut limits = TaskLimits::default();
        for attribute in &element.attributes {
            if let Some(value) = number(attribute.value.as_str()) {
                limits.set(&attribute.name, value);
            }
        }
        limits
    }

    pub(super) fn recovery(element: &Element) -> Recovery {
        Recovery {
            attempts: count(word(element, "attempts"), 1, 5),
            feed_issues: flag(element, "feed_issues").unwrap_or(true),
            reparse: flag(element, "reparse").unwrap_or(true),
        }
    }

    /// The canonical names of the allowed tools, without duplicates. Aliases are reported (spec 14).
    pub(super) fn allowed_tools(&mut self, element: &Element) -> Vec<String> {
        let mut tools: Vec<String> = Vec::new();
        for child in element.elements().filter(|child| child.name == "tool") {
            let text = self.text_of(child, Kind::Ident);
            let written = text.as_str();
            let canonical = canonical_tools(written, self.known.specs.iter());
            if canonical.iter().any(|name| name != written) {
                let message = format!("`{written}` means {}", canonical.join(", "));
                let draft = Draft::new(Code::T503, text.whole(), message).found(written);
                self.add(draft.expected(canonical.iter().map(String::as_str)).advice("write the canonical names"));
                tools.extend(canonical);
            } else if is_ident(written) {
                tools.push(written.to_owned());
            }
        }
        let mut seen = std::collections::BTreeSet::new();
        tools.retain(|tool| seen.insert(tool.clone()));
        tools
    }
}

/// Whether a literal path is absolute or leads above its start.
pub(super) fn leads_out(path: &str) -> bool {
    let mut depth = 0_i32;
    for part in path.split(['/', '\\']) {
        match part {
            "" | "." => {}
            ".." => depth -= 1,
            _ => depth += 1,
        }
        if depth < 0 {
            return true;
        }
    }
    path.starts_with(['/', '\\', '~']) || path.as_bytes().get(1) == Some(&b':')
}
