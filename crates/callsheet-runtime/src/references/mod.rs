//! References (spec 5): answers what reading must know about the project, and turns the references of a task into the
//! blocks of a prompt.
//!
//! All content is untrusted. It is shown inside a fence that it cannot close, whatever it contains. Titles and targets
//! stay on the line of their heading.

mod alone;
mod answer;
mod files;
mod folder;
mod gather;
mod items;
mod language;
mod large;
mod named;
mod overview;
mod pages;
mod parts;
mod project;
mod render;
mod resolve;
mod shares;
mod sources;

pub use alone::{line_of_part, parts_of, project_files, shown_alone};
pub use answer::{Disk, answer};
pub use callsheet_format::prompt::{Excerpt, Gap, Shown, cut, line_count, preview};
pub use files::{document_text, document_too_large};
pub use gather::project_description;
pub(crate) use items::{ItemSource, item_of_path, item_source};
pub use items::{file_of_item, known_items};
pub(crate) use language::is_markdown;
pub use language::language;
pub use large::LargeFiles;
pub(crate) use large::Stamp;
pub use named::named_references;
pub(crate) use overview::files;
pub use overview::{edited_last, overview};
pub use pages::Pages;
pub use project::near_paths;
pub(crate) use render::names_omitted;
pub(crate) use resolve::show;
pub use resolve::{Block, Checked, Level, Request, Resolved, Sources, Wanted, check, resolve};
pub use shares::{Allowance, Demand, shares};
pub use sources::{Output, RunTexts, TaskOutput};

#[cfg(test)]
mod tests;
