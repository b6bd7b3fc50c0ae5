//! Prints the canonical XML of a tree. Reading it again gives an equal tree (spec 16).

mod node;
mod writer;

use callsheet_core::template::{Param, Template, ValueType};
use writer::Writer;

/// Prints templates as one XML library that ends with a line feed. What XML cannot express becomes a comment.
pub fn print_templates<'a>(templates: impl IntoIterator<Item = &'a Template>) -> String {
    let mut writer = Writer::default();
    writer.open("templates", &[("version", "1".to_owned())]);
    for template in templates {
        print_template(&mut writer, template);
    }
    writer.close("templates");
    writer.finish()
}

fn print_template(writer: &mut Writer, template: &Template) {
    let body = &template.body;
    let plain = template.params.is_none()
        && template.returns.is_none()
        && template.tags.is_empty()
        && !template.auto_select
        && node::is_typed_task(body);
    if plain {
        node::operator(writer, body, node::Place::Top(&template.name));
        return;
    }
    let mut attributes = vec![("name", template.name.clone())];
    let params = template.params.as_deref();
    let simple = params.filter(|params| params.iter().all(is_simple));
    if let Some(params) = simple {
        attributes.push(("params", params.iter().map(param_text).collect::<Vec<_>>().join(", ")));
    }
    if let Some(returns) = template.returns {
        attributes.push(("returns", returns.as_str().to_owned()));
    }
    if !template.tags.is_empty() {
        attributes.push(("tags", template.tags.join(",")));
    }
    if template.auto_select {
        attributes.push(("auto_select", "true".to_owned()));
    }
    writer.open("template", &attributes);
    if let (Some(params), None) = (params, simple) {
        writer.open("params", &[]);
        for param in params {
            print_param(writer, param);
        }
        writer.close("params");
    }
    node::operator(writer, body, node::Place::Nested);
    writer.close("template");
}

/// Whether the attribute form can express the parameter.
fn is_simple(param: &Param) -> bool {
    let default = param.default.as_deref();
    param.meaning.is_empty()
        && param.required == default.is_none()
        && default.is_none_or(|text| !text.contains([',', '\n', '\t', '\r']) && text.trim() == text)
}

fn param_text(param: &Param) -> String {
    let mut text = param.name.clone();
    if param.kind != ValueType::Any {
        text.push_str(&format!(":{}", param.kind.as_str()));
    }
    if let Some(default) = &param.default {
        text.push_str(&format!("={default}"));
    }
    text
}

fn print_param(writer: &mut Writer, param: &Param) {
    let mut attributes = vec![("name", param.name.clone())];
    if param.kind != ValueType::Any {
        attributes.push(("type", param.kind.as_str().to_owned()));
    }
    match &param.default {
        Some(default) => attributes.push(("default", default.clone())),
        None if !param.required => attributes.push(("required", "false".to_owned())),
        None => {}
    }
    writer.text("param", &attributes, &param.meaning);
}
