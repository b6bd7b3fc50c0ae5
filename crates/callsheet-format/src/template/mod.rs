//! Templates: task trees that a person writes in XML or in the short form, YAML (spec "Templates"). This module
//! performs no I/O. Callers provide files, models and tools. Core defines the typed tree.
//!
//! The way from text to tree: `xml` (tolerant, bounded) or `yaml`, which gives the same elements; then `read`
//! (aliases, the table of `grammar`, lowering), which gives the tree of core. `report` creates diagnostics. `check`
//! works across files. Runs use `reply` (XML in the reply of a model), `turn` (a turn of a handler) and `evaluation`
//! (the formats for evaluation).

mod check;
mod comments;
mod evaluation;
mod grammar;
mod known;
mod powers;
mod print;
mod read;
mod reply;
mod report;
mod turn;
mod xml;
mod yaml;

pub use check::{Layer, Library, Loaded, TemplateFile};
pub use comments::comment_lines;
pub use evaluation::TextFormats;
pub use grammar::{issue_schema, json_schema, xml_schema};
pub use known::{FindSchema, Known};
pub use powers::powers;
pub use print::print_templates;
pub use read::{FileReading, Outermost, read_file, read_file_with, read_text};
pub use reply::{data_usage, found_xml, read_reply, xml_beside};
pub use turn::{Said, read_turn};
pub use yaml::{is_yaml, print_short, short_schema};
