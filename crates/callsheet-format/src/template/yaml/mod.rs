//! Templates in the short form. YAML becomes the same elements that the XML reader gives, so checks, issues and
//! lowering are shared (spec 2.8). Every part keeps its range in the YAML file.

mod blocks;
mod build;
mod emit;
mod faults;
mod keys;
mod names;
mod scalar;
mod schema;
mod shape;
mod task;
mod write;

pub(in crate::template) use keys::{in_keys, shown};
pub use schema::short_schema;
pub use write::print_short;

use callsheet_core::template::{Bytes, Code};

use super::report::Draft;
use super::xml::{Element, MAX_BYTES, MAX_DEPTH};
use crate::yaml::parse_all;

/// Whether the name of a file indicates the short form.
pub fn is_yaml(file: &str) -> bool {
    ["yaml", "yml"].iter().any(|ending| file.rsplit_once('.').is_some_and(|(_, own)| own == *ending))
}

/// The content of a text.
#[derive(Debug, Default)]
pub(in crate::template) struct Document {
    /// One `templates` element.
    pub(in crate::template) root: Element,
    /// The issues, each with its path.
    pub(in crate::template) drafts: Vec<(Draft, String)>,
    /// The names of templates that are lost because the text is not YAML.
    pub(in crate::template) lost: Vec<String>,
}

/// Reads a text.
pub(in crate::template) fn parse(text: &str) -> Document {
    let mut out = Document::default();
    "templates".clone_into(&mut out.root.name);
    out.root.span = Bytes::new(0, text.len());
    if text.len() > MAX_BYTES {
        let message = format!("the text is larger than {MAX_BYTES} bytes");
        out.drafts.push((Draft::new(Code::T003, Bytes::default(), message).advice("split it"), String::new()));
        return out;
    }
    let (nodes, fault) = parse_all(text, 1, MAX_DEPTH);
    let mut builder = build::Builder::new(text);
    let read: Vec<Element> = nodes.iter().filter_map(|node| builder.template(node)).collect();
    if let Some(fault) = fault {
        builder.drafts.push((faults::draft(text, 0, &fault), String::new()));
        let names = text.lines().filter_map(|line| line.strip_prefix("template:")).map(|name| name.trim().to_owned());
        out.lost = names.filter(|name| !read.iter().any(|element| named(element, name))).collect();
    } else if nodes.is_empty() {
        let draft =
            Draft::new(Code::T010, Bytes::default(), "there is no template").advice("begin with `template: NAME`");
        builder.drafts.push((draft, String::new()));
    }
    out.drafts = builder.drafts;
    for mut element in read {
        let (collisions, _) = names::resolve(&mut element, names::Way::Read);
        out.drafts.extend(collisions.into_iter().map(|draft| (draft, String::new())));
        out.root.items.push(super::xml::Item::Element(element));
    }
    out
}

fn named(element: &Element, name: &str) -> bool {
    element.attribute("name").is_some_and(|known| known.value.as_str() == name)
}
