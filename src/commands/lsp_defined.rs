//! Where skills, templates, values and link targets are defined, for editors.

use std::path::{Path, PathBuf};

use callsheet_core::links::parse_target;
use callsheet_core::nouns::{Fragment, Target};
use callsheet_core::template::{Node, Position, Template};
use callsheet_format::template::read_text;
use callsheet_lsp::Definition;
use callsheet_runtime::references::line_of_part;
use callsheet_runtime::templates::{TemplateDirs, load_templates};
use callsheet_runtime::trust::Trusted;

use crate::library::known;
use crate::wiring::template_dirs;

use super::lsp::Host;

impl Host<'_> {
    /// A file by its path as shown to a person. Bundled skills and templates have none.
    fn shown_file(&self, shown: &str) -> Option<PathBuf> {
        Some(self.setup.project.join(shown)).filter(|file| file.is_file())
    }

    pub(super) fn skill_file(&self, name: &str) -> Option<Definition> {
        let loaded = self.services.skills(&self.settings);
        let skill = loaded.catalog.get(name)?;
        Some(Definition { file: self.shown_file(&skill.source.path)?, line: 1, column: 1 })
    }

    /// The file that a link names, at the line that it names.
    pub(super) fn target(&self, written: &str) -> Option<Definition> {
        let Ok(Target::File { path, fragment }) = parse_target(written) else { return None };
        let located = self.services.workspace.locate(&path).ok()?;
        let line = match fragment {
            Some(Fragment::Lines { first, .. }) => first,
            Some(Fragment::Anchor(part)) => line_of_part(&path, &part, self.services.disk()).unwrap_or(1),
            None => 1,
        };
        Some(Definition { file: self.setup.project.join(located.path()), line, column: 1 })
    }

    /// The parameter, input or step that a placeholder uses.
    pub(super) fn value(file: &Path, text: &str, inside: &str, byte: usize) -> Option<Definition> {
        let name = inside.strip_prefix("steps.").unwrap_or(inside);
        let name = name.split(|c: char| !(c.is_alphanumeric() || matches!(c, '_' | '-'))).next()?;
        let read = read_text(&file.display().to_string(), text);
        let above = read.templates.iter().filter(|template| template.origin.spot.span.start <= byte);
        let template = above.max_by_key(|template| template.origin.spot.span.start)?;
        declared(template, name).map(|place| definition(file, place))
    }

    /// The template or skill whose name is at a byte of a file of templates.
    pub(super) fn called(&self, file: &Path, text: &str, byte: usize) -> Option<Definition> {
        let read = read_text(&file.display().to_string(), text);
        let nodes = read.templates.iter().flat_map(|template| template.body.walk());
        let is_here = |node: &&Node| (node.called_at.span.start..=node.called_at.span.end).contains(&byte);
        let name = nodes.filter(|node| node.template.is_some()).find(is_here)?.template.as_deref()?;
        if let Some(skill) = name.strip_prefix("skill:") {
            return self.skill_file(skill);
        }
        let name = name.strip_prefix("template:").unwrap_or(name);
        if let Some(template) = read.templates.iter().find(|template| template.name == name) {
            return Some(definition(file, template.origin.spot.place));
        }
        // Showing a file does not use it, so trust is not required.
        let dirs = TemplateDirs { trusted: Trusted::everything(), ..template_dirs(self.setup) };
        let loaded = load_templates(&dirs, &known(self.setup), self.settings.strict);
        match loaded.library.get(name) {
            Some(loaded) => {
                let origin = &loaded.template.origin;
                Some(definition(&self.shown_file(&origin.file)?, origin.spot.place))
            }
            None => self.skill_file(name),
        }
    }
}

fn definition(file: &Path, place: Position) -> Definition {
    Definition { file: file.to_path_buf(), line: place.line, column: place.column }
}

/// Where a template declares a name: as a parameter, as an input, or as the id of a step.
fn declared(template: &Template, name: &str) -> Option<Position> {
    let mut params = template.params.iter().flatten();
    if let Some(param) = params.find(|param| param.name == name) {
        return Some(param.at.place);
    }
    let nodes = template.body.walk();
    let mut inputs = nodes.iter().flat_map(|node| &node.inputs);
    if let Some(input) = inputs.find(|input| input.name == name) {
        return Some(input.origin.spot.place);
    }
    nodes.iter().find(|node| node.id.as_deref() == Some(name)).map(|node| node.origin.spot.place)
}
