//! `lsp`: the language server for editors, over stdin and stdout.

use std::path::Path;
use std::sync::Arc;

use callsheet_core::issue::{Issue, Severity};
use callsheet_core::links::parse_target;
use callsheet_core::nouns::{RunId, Settings, SkillForm, SkillLayer, SkillSource, Target};
use callsheet_core::template as tree;
use callsheet_format::reply::{is_checklist, is_keyed};
use callsheet_format::skill::{SkillContext, SkillFile, SkillSeverity, read_skill};
use callsheet_format::template::read_text;
use callsheet_lsp::{Definition, Entry, Finding, Kind, Named, Project, Weight};
use callsheet_runtime::ports::{Observer, Signal, Store};
use callsheet_runtime::references::{parts_of, project_files, shown_alone};
use callsheet_runtime::services::Services;
use callsheet_runtime::sheetfile::check_sheet;
use callsheet_runtime::templates::{TemplateDirs, check_template_text, is_template_file};
use callsheet_runtime::trust::Trusted;
use callsheet_store::MemoryStore;

use crate::cli::{Exit, Failure, OpenArgs};
use crate::library::known;
use crate::setup::{Setup, config_failure};
use crate::wiring::{template_dirs, without_model};

use super::lsp_fixes;
use super::skill::tool_specs;

/// Words in the name of a file that mark a checklist as one for Callsheet, rather than a person's private list.
const CHECKLISTS: [&str; 5] = ["checklist", "todo", "sheet", "plan", "tasks"];

pub(super) fn lsp(setup: &Setup) -> Result<Exit, Failure> {
    let settings = setup.config.settings().map_err(config_failure)?;
    let store: Arc<dyn Store> = Arc::new(MemoryStore::new());
    let services = without_model(setup, Arc::new(Unheard), store, &RunId::new("lsp"), &settings, &OpenArgs::default())?;
    let host = Host { setup, services, settings };
    callsheet_lsp::serve(&host).map_err(|fault| Failure::internal(fault.to_string(), "restart it from your editor"))?;
    Ok(Exit::Complete)
}

/// Ignores signals, because stdout belongs to the editor.
struct Unheard;

impl Observer for Unheard {
    fn see(&self, _: &Signal<'_>) {}
}

pub(super) struct Host<'a> {
    pub(super) setup: &'a Setup,
    pub(super) services: Services,
    pub(super) settings: Settings,
}

impl Host<'_> {
    fn sheet(&self, text: &str) -> Vec<Finding> {
        let reading = check_sheet(&self.services, text, None, &self.settings).list;
        let of_issue = |issue: &Issue| {
            let (column, characters) = super::check::place(text, issue);
            let line = issue.place.span.first;
            let columns = |at: usize| u32::try_from(at).unwrap_or(u32::MAX);
            let weight = if issue.severity == Severity::Error { Weight::Error } else { Weight::Warning };
            Finding {
                weight,
                code: issue.code.to_string(),
                message: words(&issue.what, &issue.todo, &issue.allowed),
                start: (line, columns(column)),
                end: (line, columns(column.saturating_add(characters))),
                fixes: lsp_fixes::of_sheet(text, issue),
            }
        };
        let told = reading.repairs.iter().filter(|repair| super::check::is_told(repair.code));
        let notes = told.map(|repair| Finding {
            weight: Weight::Note,
            code: repair.code.to_string(),
            message: super::check::repair_words(repair),
            start: (repair.span.first, 1),
            end: (repair.span.first, u32::MAX),
            fixes: lsp_fixes::of_repair(text, repair),
        });
        reading.issues.iter().map(of_issue).chain(notes).collect()
    }

    fn skill(&self, file: &Path, text: &str) -> Vec<Finding> {
        let tools = tool_specs(self.setup);
        let folder = file.file_name().is_some_and(|name| name == "SKILL.md");
        let named = if folder { file.parent().and_then(Path::file_name) } else { file.file_stem() };
        let file = SkillFile {
            form: if folder { SkillForm::Folder } else { SkillForm::SingleFile },
            stem: named.unwrap_or_default().to_string_lossy().into_owned(),
            source: SkillSource { layer: SkillLayer::Project, path: file.display().to_string() },
            text: text.to_owned(),
        };
        let (_, issues) = read_skill(&file, SkillContext { tools: &tools, read_only_sandbox: false });
        let of_issue = |issue: callsheet_format::skill::SkillIssue| Finding {
            weight: if issue.severity == SkillSeverity::Error { Weight::Error } else { Weight::Warning },
            code: "skill".to_owned(),
            message: words(&issue.message, &issue.advice, &[]),
            start: (issue.line, issue.column),
            end: (issue.line, u32::MAX),
            fixes: lsp_fixes::of_skill(text, &issue),
        };
        issues.into_iter().map(of_issue).collect()
    }

    fn template(&self, file: &Path, text: &str) -> Vec<Finding> {
        // Checking a file does not use it, so trust is not required.
        let dirs = TemplateDirs { trusted: Trusted::everything(), ..template_dirs(self.setup) };
        let issues = check_template_text(file, text, &dirs, &known(self.setup), self.settings.strict);
        let of_issue = |issue: tree::Issue| Finding {
            weight: match issue.blocks(self.settings.strict) {
                true => Weight::Error,
                false => Weight::Warning,
            },
            code: issue.code.to_string(),
            message: words(&issue.message, &issue.advice, &issue.expected),
            start: (issue.line, issue.column),
            end: (issue.end_line, issue.end_column),
            fixes: lsp_fixes::of_template(text, &issue),
        };
        issues.into_iter().map(of_issue).collect()
    }
}

/// The message of an issue that an editor shows at its place.
fn words(what: &str, todo: &str, allowed: &[String]) -> String {
    let todo = if todo.is_empty() { String::new() } else { format!("; {todo}") };
    let allowed = if allowed.is_empty() { String::new() } else { format!(". Allowed: {}", allowed.join(", ")) };
    format!("{what}{todo}{allowed}")
}

impl Project for Host<'_> {
    fn kind(&self, file: &Path, text: &str) -> Option<Kind> {
        let above = |name: &str| file.parent().is_some_and(|folder| folder.iter().any(|part| part == name));
        let ending = file.extension().and_then(|ending| ending.to_str()).unwrap_or_default();
        if above("templates") && is_template_file(file) {
            return Some(Kind::Template);
        }
        if !matches!(ending, "md" | "markdown") {
            return None;
        }
        let own = file.starts_with(self.setup.folders.config.join("skills"));
        let shared = [".callsheet", ".agents", ".claude"].iter().any(|folder| above(folder));
        // Other files in the folder of a skill are its references.
        let direct = file.parent().is_some_and(|folder| folder.ends_with("skills")) || file.ends_with("SKILL.md");
        if direct && (own || above("skills") && shared) {
            return Some(Kind::Skill);
        }
        let name = file.file_name().unwrap_or_default().to_string_lossy().to_lowercase();
        let listed = CHECKLISTS.iter().any(|word| name.contains(word)) && is_checklist(text);
        (is_keyed(text) || listed).then_some(Kind::Sheet)
    }

    fn check(&self, kind: Kind, file: &Path, text: &str) -> Vec<Finding> {
        match kind {
            Kind::Sheet => self.sheet(text),
            Kind::Skill => self.skill(file, text),
            Kind::Template => self.template(file, text),
        }
    }

    fn skills(&self) -> Vec<Entry> {
        let loaded = self.services.skills(&self.settings);
        let entry =
            |skill: &callsheet_core::nouns::Skill| Entry { name: skill.name.clone(), about: skill.description.clone() };
        loaded.catalog.skills().map(entry).collect()
    }

    fn tools(&self) -> Vec<Entry> {
        let line = |text: &str| text.lines().next().unwrap_or_default().to_owned();
        tool_specs(self.setup)
            .into_iter()
            .map(|tool| Entry { about: line(&tool.description), name: tool.name })
            .collect()
    }

    fn paths(&self) -> Vec<String> {
        project_files(&self.services.workspace)
    }

    fn anchors(&self, path: &str) -> Vec<Entry> {
        let entry = |(name, about)| Entry { name, about };
        parts_of(path, self.services.disk()).into_iter().map(entry).collect()
    }

    fn shown(&self, target: &str) -> String {
        let target = match parse_target(target) {
            Ok(target @ (Target::File { .. } | Target::Directory(_) | Target::ProjectDescription)) => target,
            Ok(_) => return "Only a run can show this; there is no file for it.".to_owned(),
            Err(_) => return "This is not a link target.".to_owned(),
        };
        match shown_alone(&target, self.services.disk(), &self.settings.budget) {
            Ok(block) => {
                let whole = if block.whole { "" } else { ", cut to the limit of a reference" };
                format!("about {} tokens{whole}\n\n{}", block.tokens, block.text)
            }
            Err(why) => why,
        }
    }

    fn defined(&self, file: &Path, text: &str, named: Named<'_>) -> Option<Definition> {
        match named {
            Named::Skill(name) => self.skill_file(name),
            Named::Target(target) => self.target(target),
            Named::Value(inside, byte) => Self::value(file, text, inside, byte),
            Named::Call(byte) => self.called(file, text, byte),
        }
    }

    fn values(&self, file: &Path, text: &str) -> Vec<Entry> {
        let read = read_text(&file.display().to_string(), text);
        let mut found: Vec<Entry> = Vec::new();
        for template in &read.templates {
            let takes = template.params.iter().flatten().map(|param| (param.name.clone(), "parameter"));
            let nodes = template.body.walk();
            let gives = nodes.iter().flat_map(|node| node.inputs.iter().map(|input| (input.name.clone(), "input")));
            for (name, about) in takes.chain(gives) {
                if found.iter().all(|entry| entry.name != name) {
                    found.push(Entry { name, about: format!("{about} of {}", template.name) });
                }
            }
        }
        found
    }
}
