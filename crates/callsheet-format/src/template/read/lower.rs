//! Reads templates from the outermost elements (spec 2.1).

use std::collections::BTreeMap;

use callsheet_core::template::{Bytes, Code, Param, Template, ValueType, is_ident, is_template_name};

use crate::template::grammar::{Kind, is_operator_element};
use crate::template::report::Draft;
use crate::template::xml::Element;

use super::Reader;
use super::parts::{flag, list, word};
use super::tasks::Position;
use super::values::split_params;

impl Reader<'_> {
    /// The templates in order. Other elements were already reported.
    pub(super) fn lower_root(&mut self, root: &Element) -> Vec<Template> {
        let mut templates = Vec::new();
        let top: Vec<&Element> = if root.name == "templates" { root.elements().collect() } else { vec![root] };
        let mut generated: BTreeMap<String, usize> = BTreeMap::new();
        for element in top {
            templates.extend(match element.name.as_str() {
                "template" => {
                    self.enter(element);
                    let template = self.template(element);
                    self.leave(element);
                    template
                }
                "task" => self.standard(element, &mut generated),
                _ => None,
            });
        }
        templates
    }

    fn template(&mut self, element: &Element) -> Option<Template> {
        let body = element.elements().find(|child| is_operator_element(&child.name))?;
        let name = word(element, "name").filter(|name| is_template_name(name))?.to_owned();
        let mut node = self.operator(body, Position::Body)?;
        node.name = Some(name.clone());
        Some(Template {
            name,
            params: self.params(element),
            returns: word(element, "returns").and_then(ValueType::parse),
            tags: word(element, "tags").map(list).unwrap_or_default(),
            auto_select: flag(element, "auto_select").unwrap_or(false),
            body: node,
            origin: self.origin(element.span),
            returns_at: self.value_spot(element, "returns"),
        })
    }

    /// Reads a top-level `task` as a standard template with the name of the task.
    fn standard(&mut self, element: &Element, generated: &mut BTreeMap<String, usize>) -> Option<Template> {
        let mut node = self.operator(element, Position::Top)?;
        let name = match word(element, "name") {
            Some(name) if is_template_name(name) => name.to_owned(),
            Some(_) => return None,
            None => {
                let stem = format!("{}_{}", node.kind.word(), node.subtype);
                let number = generated.entry(stem.clone()).or_default();
                *number += 1;
                let name = if *number == 1 { stem } else { format!("{stem}_{number}") };
                let draft =
                    Draft::new(Code::T505, element.tag, format!("the task has no name, so it is called {name}"));
                self.add(draft.found(&name).advice("add name=\"…\""));
                name
            }
        };
        node.name = Some(name.clone());
        Some(Template {
            name,
            params: None,
            returns: None,
            tags: Vec::new(),
            auto_select: false,
            body: node,
            origin: self.origin(element.span),
            returns_at: self.origin(element.span).spot,
        })
    }

    fn params(&mut self, element: &Element) -> Option<Vec<Param>> {
        let form = element.child("params");
        let Some(text) = element.attribute("params") else { return form.map(|form| self.param_elements(form)) };
        if let Some(form) = form {
            let draft = Draft::new(Code::T023, form.tag, "the parameters occur as an attribute and as elements");
            self.add(draft.advice("keep one of the two").related(text.name_span, "the attribute"));
        }
        let params = split_params(text.value.as_str()).into_iter().filter(|param| is_ident(param.name));
        Some(
            params
                .map(|param| {
                    let kind = param.kind.and_then(ValueType::parse).unwrap_or_default();
                    let span = text.value.span(param.start, param.end);
                    self.check_default(param.name, kind, param.default, span);
                    Param {
                        name: param.name.to_owned(),
                        kind,
                        required: param.default.is_none(),
                        default: param.default.map(str::to_owned),
                        meaning: String::new(),
                        at: self.lines.spot(span),
                    }
                })
                .collect(),
        )
    }

    /// Checks a default. It is converted like an argument (spec 4), so a default of a wrong type would make every
    /// call fail.
    fn check_default(&mut self, name: &str, kind: ValueType, default: Option<&str>, span: Bytes) {
        let Some(default) = default.filter(|default| kind.convert(default).is_none()) else { return };
        let message = format!("the default of `{name}` is not of type {}", kind.as_str());
        let draft = Draft::new(Code::T058, span, message).found(default).expected([kind.as_str()]);
        self.add(draft.advice("fix the default, or the type"));
    }

    fn param_elements(&mut self, form: &Element) -> Vec<Param> {
        self.enter(form);
        let mut out: Vec<Param> = Vec::new();
        let mut names: Vec<(String, Bytes)> = Vec::new();
        let mut optional = false;
        for element in form.elements().filter(|child| child.name == "param") {
            let Some(name) = word(element, "name").filter(|name| is_ident(name)) else { continue };
            self.distinct(&mut names, "parameter", name, element.tag);
            let default = word(element, "default").map(str::to_owned);
            let required = default.is_none() && flag(element, "required").unwrap_or(true);
            if default.is_some() && flag(element, "required") == Some(true) {
                let message = "a parameter with a default is never required";
                self.tell(Code::T023, element.tag, message, "remove one of the two");
            }
            if optional && required {
                self.late_required(name, element.tag);
            }
            optional |= !required;
            let kind = word(element, "type").and_then(ValueType::parse).unwrap_or_default();
            let given = element.attribute("default").map_or(element.tag, |default| default.value_span);
            self.check_default(name, kind, default.as_deref(), given);
            out.push(Param {
                name: name.to_owned(),
                kind,
                required,
                default,
                meaning: self.text_of(element, Kind::Text).as_str().to_owned(),
                at: self.lines.spot(element.tag),
            });
        }
        self.leave(form);
        out
    }

    /// Reports a name that a sibling also has (T021).
    pub(super) fn distinct(&mut self, names: &mut Vec<(String, Bytes)>, what: &str, name: &str, span: Bytes) {
        if let Some((_, first)) = names.iter().find(|(known, _)| known == name) {
            let draft = Draft::new(Code::T021, span, format!("the {what} `{name}` occurs twice here"));
            let first = *first;
            self.add(draft.found(name).advice("rename one of the two").related(first, "first here"));
            return;
        }
        names.push((name.to_owned(), span));
    }
}
