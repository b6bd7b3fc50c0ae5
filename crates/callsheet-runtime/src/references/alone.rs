//! A single reference outside any run, for a person who looks at it.

use std::collections::{BTreeMap, BTreeSet};

use callsheet_core::nouns::{Budget, PlanPart, Reference, Slug, Target};
use callsheet_format::sheet::{find_heading, headings};

use crate::paths::Workspace;

use super::answer::Disk;
use super::files::{self, Content};
use super::language::is_markdown;
use super::overview;
use super::pages::Pages;
use super::resolve::{Block, Level, Request, Sources, Wanted, show};
use super::shares::Allowance;
use super::sources::{Output, RunTexts};

/// No run.
struct NoRun;

impl RunTexts for NoRun {
    fn prompts(&self) -> Vec<String> {
        Vec::new()
    }

    fn plan(&self, _: &PlanPart) -> Option<String> {
        None
    }

    fn outputs(&self) -> Vec<Slug> {
        Vec::new()
    }

    fn output(&self, _: &Slug) -> Output {
        Output::Unknown
    }

    fn detail(&self, _: &Slug, _: &str) -> Option<Vec<u8>> {
        None
    }
}

/// What the prompt of an execution would show of a file, a part of one or a folder.
///
/// # Errors
/// A text that says why it would show nothing.
pub fn shown_alone(target: &Target, disk: Disk<'_>, budget: &Budget) -> Result<Block, String> {
    let wanted = [Wanted { reference: Reference { title: String::new(), target: target.clone() }, carried: false }];
    let request = Request {
        references: &wanted,
        level: Level::Whole,
        allowance: Allowance::new(budget, None, None, 1.0),
        task: None,
        need: "",
        writer_before: false,
        restricted: &BTreeSet::new(),
        first_picture: Some(1),
    };
    let pages = Pages::new(None, None);
    let sources = Sources { disk, texts: &NoRun, pages: &pages, current_file: None, allow_http: false };
    let mut shown = show(&request, &sources, &BTreeMap::new());
    let why = || shown.issues.first().map_or_else(String::new, |issue| issue.what.clone());
    shown.blocks.pop().ok_or_else(why)
}

/// What a link can name in a file: each heading or symbol, with its title, if it has one.
pub fn parts_of(path: &str, disk: Disk<'_>) -> Vec<(String, String)> {
    let Some(content) = whole_text(path, disk) else { return Vec::new() };
    if is_markdown(path) {
        return headings(&content).into_iter().map(|heading| (heading.slug, heading.title)).collect();
    }
    let symbols = disk.outline.outline(path, &content).unwrap_or_default();
    symbols.iter().map(|symbol| (symbol.name(), String::new())).collect()
}

/// The line, counted from 1, at which a heading or symbol of a file begins.
pub fn line_of_part(path: &str, part: &str, disk: Disk<'_>) -> Option<u32> {
    let content = whole_text(path, disk)?;
    if is_markdown(path) {
        return find_heading(&headings(&content), part).map(|heading| heading.first);
    }
    let symbols = disk.outline.outline(path, &content).unwrap_or_default();
    symbols.iter().find(|symbol| symbol.name() == part).map(|symbol| symbol.first)
}

/// The text of a file that is short enough to be read completely.
fn whole_text(path: &str, disk: Disk<'_>) -> Option<String> {
    let located = disk.workspace.locate(path).ok()?;
    match files::read(disk, &located, None).ok()? {
        Content::Text(text) if text.complete => Some(text.excerpt.head),
        _ => None,
    }
}

/// Paths of the project's files, found by a walk that respects its ignore files.
pub fn project_files(workspace: &Workspace) -> Vec<String> {
    overview::files(workspace).map(|(path, _)| path).collect()
}
