//! The grammar of templates as one table (spec 2): the rows of libraries and templates, and the rows that operators
//! declare themselves. The reader uses it for its checks, and the schema files are generated from it.

mod files;
mod operators;

pub(in crate::template) use callsheet_core::template::form::{Child, Content, Element, TaskTypes, ValueKind as Kind};
pub use files::{issue_schema, json_schema, xml_schema};
pub(in crate::template) use operators::{
    atomic, facts_of, is_operator_element, operator_elements, operator_row, task_types, template, templates, types_of,
};

use std::collections::BTreeSet;

/// All rows without duplicates, in the order of discovery from the outermost.
pub(in crate::template) fn all_rows() -> Vec<&'static Element> {
    let mut rows: Vec<&'static Element> = Vec::new();
    let mut open: Vec<&'static Element> = vec![templates(), template()];
    open.extend(operator_elements().iter().filter_map(|name| operator_row(name)));
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

/// The names of all elements and attributes.
pub(in crate::template) fn names() -> BTreeSet<&'static str> {
    let rows = all_rows();
    let attributes = rows.iter().flat_map(|row| row.attributes.iter().map(|attribute| attribute.name));
    rows.iter().map(|row| row.name).chain(attributes).collect()
}
