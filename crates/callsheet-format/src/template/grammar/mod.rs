//! The grammar of templates as one table (spec 2). The reader checks by it, and the schema files are made from it.

mod blocks;
mod files;
mod operators;
mod rows;

pub use files::{issue_schema, json_schema, xml_schema};
pub(in crate::template) use rows::{
    Child, Content, Element, Kind, OPERATOR_ELEMENTS, OPERATOR_TYPES, Operators, is_operator_element, operators_of,
};

use std::collections::BTreeSet;

/// The outermost element.
pub(in crate::template) static TEMPLATES: &Element = &operators::TEMPLATES;
/// A named template.
pub(in crate::template) static TEMPLATE: &Element = &operators::TEMPLATE;

/// The row of an operator element.
pub(in crate::template) fn operator_row(name: &str) -> Option<&'static Element> {
    match name {
        "task" => Some(&operators::TASK),
        "call" => Some(&operators::CALL),
        "cond" => Some(&operators::COND),
        "parallel" => Some(&operators::PARALLEL),
        _ => None,
    }
}

/// Every row once, in order of discovery from the outermost.
pub(in crate::template) fn all_rows() -> Vec<&'static Element> {
    let mut rows: Vec<&'static Element> = Vec::new();
    let mut open: Vec<&'static Element> = vec![TEMPLATES, TEMPLATE];
    open.extend(OPERATOR_ELEMENTS.iter().filter_map(|name| operator_row(name)));
    open.reverse();
    while let Some(row) = open.pop() {
        if rows.iter().any(|known| std::ptr::eq(*known, row)) {
            continue;
        }
        rows.push(row);
        open.extend(row.children.iter().rev().map(|child| child.element));
    }
    rows
}

/// Names of all elements and attributes.
pub(in crate::template) fn names() -> BTreeSet<&'static str> {
    let rows = all_rows();
    let attributes = rows.iter().flat_map(|row| row.attributes.iter().map(|attribute| attribute.name));
    rows.iter().map(|row| row.name).chain(attributes).collect()
}
