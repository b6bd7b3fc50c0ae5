//! Checks the models, tools, schemas and paths of a task against what is known (T033-T035, T516, T518).

use callsheet_core::fuzzy::{meant_or, nearest};
use callsheet_core::template::{Bytes, Code, FilePaths, FileSource, schema};

use crate::template::grammar::Kind;
use crate::template::known::ModelFact;
use crate::template::report::Draft;
use crate::template::xml::{Element, Mapped};

use super::Reader;

impl Reader<'_> {
    /// Checks the names in a task.
    pub(super) fn check_world(&mut self, element: &Element, tools: &[String], refs: Option<&FilePaths>) {
        self.models(element);
        self.providers(element);
        self.tools(element, tools);
        self.schema(element);
        self.paths(element, refs);
    }

    fn models(&mut self, element: &Element) {
        let Some(child) = element.child("model") else { return };
        let named = element.child("provider").map(|child| words(&self.text_of(child, Kind::List))).unwrap_or_default();
        let open =
            named.iter().any(|(name, _)| self.known.providers.as_ref().and_then(|all| all.get(name)) == Some(&true));
        self.enter(child);
        for (id, span) in words(&self.text_of(child, Kind::List)) {
            // The name of a model of an open provider may contain a slash.
            let prefix = id.split_once('/').map(|(prefix, _)| prefix);
            let own = prefix.is_some_and(|name| self.known.providers.iter().flatten().any(|(known, _)| known == name));
            match self.known.model(&id) {
                Some(ModelFact::Unknown) if open && !own => self.unverified(&id, span),
                Some(ModelFact::Unknown) => {
                    let known = self.known.models.iter().flatten().map(String::as_str);
                    let near = nearest(&id, known, 5);
                    let draft = Draft::new(Code::T033, span, format!("there is no model `{id}`")).found(&id);
                    let known = self.known.models.iter().flatten().map(String::as_str);
                    let advice = meant_or(&id, known, "`callsheet model list` lists all models");
                    self.add(draft.expected(near.iter().map(String::as_str)).advice(advice));
                }
                Some(ModelFact::Open) => self.unverified(&id, span),
                Some(ModelFact::Listed) | None => {}
            }
        }
        self.leave(child);
    }

    fn unverified(&mut self, id: &str, span: Bytes) {
        let draft = Draft::new(Code::T518, span, format!("the provider does not list `{id}`"));
        self.add(draft.found(id).advice("check its spelling"));
    }

    fn providers(&mut self, element: &Element) {
        let (Some(child), Some(known)) = (element.child("provider"), &self.known.providers) else { return };
        let names: Vec<String> = known.keys().cloned().collect();
        self.enter(child);
        for (id, span) in words(&self.text_of(child, Kind::List)) {
            if !names.contains(&id) {
                let draft = Draft::new(Code::T033, span, format!("there is no provider `{id}`")).found(&id);
                let near = meant_or(&id, names.iter().map(String::as_str), "fix the name");
                self.add(draft.expected(names.iter().map(String::as_str)).advice(near));
            }
        }
        self.leave(child);
    }

    fn tools(&mut self, element: &Element, tools: &[String]) {
        let (Some(block), Some(known)) = (element.child("allowed_tools"), &self.known.tools) else { return };
        let names: Vec<String> = known.iter().cloned().collect();
        let unknown: Vec<String> = tools.iter().filter(|tool| !names.contains(tool)).cloned().collect();
        self.enter(block);
        for child in block.elements().filter(|child| child.name == "tool") {
            let text = self.text_of(child, Kind::Ident);
            if unknown.iter().any(|tool| tool == text.as_str()) {
                let near = nearest(text.as_str(), names.iter().map(String::as_str), 5);
                let draft = Draft::new(Code::T035, text.whole(), format!("there is no tool `{}`", text.as_str()));
                let draft = draft.found(text.as_str()).expected(near.iter().map(String::as_str));
                let all = format!("the tools are {}", names.join(", "));
                let aliases = self.known.specs.iter().flat_map(|tool| &tool.aliases).map(String::as_str);
                let aliases = aliases.collect::<std::collections::BTreeSet<&str>>();
                let known = names.iter().map(String::as_str).chain(aliases);
                self.add(draft.advice(meant_or(text.as_str(), known, &all)));
            }
        }
        self.leave(block);
    }

    /// Checks that `schemas/NAME.json` exists beside the file for `@NAME`.
    fn schema(&mut self, element: &Element) {
        let Some(block) = element.child("output_format") else { return };
        let Some(attribute) = block.attribute("schema") else { return };
        let (Some(name), Some(find)) = (attribute.value.as_str().strip_prefix('@'), self.known.schema) else { return };
        let message = match find(self.file, name) {
            None => format!("there is no schemas/{name}.json beside this file"),
            Some(text) => match schema::read(&text) {
                Ok(_) => return,
                Err(message) => format!("schemas/{name}.json: {message}"),
            },
        };
        let draft = Draft::new(Code::T034, attribute.value_span, message).found(attribute.value.as_str());
        self.enter(block);
        self.add(draft.advice("add or fix it"));
        self.leave(block);
    }

    fn paths(&mut self, element: &Element, refs: Option<&FilePaths>) {
        let (Some(block), Some(exists)) = (element.child("file_paths"), self.known.exists) else { return };
        if refs.is_none_or(|refs| refs.source != FileSource::Literal) {
            return;
        }
        self.enter(block);
        for child in block.elements().filter(|child| child.name == "path") {
            let text = self.text_of(child, Kind::Filled);
            let path = text.as_str();
            if path.contains(['*', '?', '[']) || path.contains("{{") || super::scripts::leads_out(path) {
                continue;
            }
            let message = match (exists(path), self.known.escapes.is_some_and(|escapes| escapes(path))) {
                (_, true) => format!("`{path}` is a link out of the project; Callsheet does not read it"),
                (true, false) => continue,
                (false, false) => format!("`{path}` does not exist"),
            };
            let draft = Draft::new(Code::T516, text.whole(), message).found(path);
            let near = self.known.near.map(|near| near(path)).unwrap_or_default();
            let fix = if near.is_empty() { "fix it".to_owned() } else { format!("did you mean {}?", near.join(", ")) };
            let advice = format!("{fix}; a run starts only if the file exists or one of its tasks may write it");
            self.add(draft.advice(advice));
        }
        self.leave(block);
    }
}

/// The comma-separated words with their places.
fn words(text: &Mapped) -> Vec<(String, Bytes)> {
    let mut out = Vec::new();
    let mut at = 0;
    for entry in text.as_str().split(',') {
        let word = entry.trim();
        let start = at + (entry.len() - entry.trim_start().len());
        // Placeholders were already reported.
        if !word.is_empty() && !word.contains("{{") {
            out.push((word.to_owned(), text.span(start, start + word.len())));
        }
        at += entry.len() + 1;
    }
    out
}
