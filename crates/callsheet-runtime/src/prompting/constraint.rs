//! Forms of replies, built from what a reply may name: skills, links, tools, files.

use std::collections::BTreeSet;

use callsheet_core::fence::fence;
use callsheet_core::links;
use callsheet_core::nouns::{Phase, Reference, SkillPolicy, Target, ToolSpec, tokens};
use callsheet_core::prompt::Note;
use callsheet_core::run::{Run, State, TaskRun};
use callsheet_format::grammar;
use callsheet_format::grammar::{EditableFile, Form, ListShape, WriteOffer};
use callsheet_format::prompt::RoutePrompt;
use serde_json::Value;

use crate::material::named_at;
use crate::ports::{Constraint, ModelFault, ModelInfo};
use crate::reading::aim::WriteAim;
use crate::references::Resolved;

use super::project;
use crate::services::{NameSet, Services};

/// How the form of a reply is enforced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Notation {
    /// A grammar of the Markdown.
    Grammar,
    /// The JSON schema of its JSON form, and a note about it in the prompt.
    Schema,
    /// Not at all: the reader decides.
    Free,
}

impl Notation {
    /// The strongest notation that a model supports. Its vendor row, the provider's settings or a probe say what it
    /// supports. What a provider has refused is not tried again.
    pub fn of(model: &ModelInfo, refused: &NameSet) -> Self {
        let can = model.capabilities;
        match (can.grammar, can.twins) {
            _ if refused.holds(&model.id) => Self::Free,
            (true, _) => Self::Grammar,
            (false, true) => Self::Schema,
            (false, false) => Self::Free,
        }
    }

    /// The constraint of a reply of this form.
    pub fn constraint(self, form: Form) -> Option<Constraint> {
        match self {
            Self::Grammar => Some(Constraint { grammar: Some(form.grammar()), ..Constraint::default() }),
            Self::Schema => Some(Constraint { json_schema: Some(form.schema()), form: Some(form), grammar: None }),
            Self::Free => None,
        }
    }
}

/// The name of a skill, and the files that it may write.
pub(crate) fn route(prompt: &RoutePrompt) -> Form {
    let skills = prompt.candidates.iter().map(|candidate| (candidate.name.clone(), candidate.writes));
    grammar::route(&skills.collect::<Vec<_>>(), &prompt.paths)
}

/// The constraint for a reply whose JSON an author declared (spec "Templates" 7.5). Providers that accept grammars
/// accept every schema; most others accept only objects.
pub(crate) fn declared(model: &ModelInfo, schema: Value) -> Option<Constraint> {
    let can = model.capabilities;
    let object = schema.get("type").and_then(Value::as_str) == Some("object");
    let taken = can.json_schema && (can.grammar || object);
    taken.then(|| Constraint { json_schema: Some(schema), ..Constraint::default() })
}

/// What a prompt says about the JSON form that it asks for.
pub(crate) fn twin_note(form: &Form) -> String {
    let outline = serde_json::to_string_pretty(&form.outline()).unwrap_or_default();
    format!("\n\n{}", Note::JsonTwin.fill(&[("outline", &fence("json", &outline))]))
}

/// Whether the constraint may have caused a fault: the provider refused the request, or failed because of its schema or
/// grammar.
pub(crate) fn may_blame(fault: &ModelFault) -> bool {
    match fault {
        ModelFault::Configuration { .. } => true,
        ModelFault::Communication { message } => {
            let low = message.to_lowercase();
            ["grammar", "schema", "response_format"].iter().any(|word| low.contains(word))
        }
        _ => false,
    }
}

/// The maximum number of files that a plan may link to. Those that the request names come first.
const MAX_FILES: usize = 40;
/// The maximum number of folders, in the same order.
const MAX_FOLDERS: usize = 12;
/// The maximum number of tasks that a constrained list may remove.
const MAX_REMOVED: usize = 24;
/// Numbers of sections and tasks of a constrained list, the largest first. Models that need a grammar work best with
/// few, and a list must fit into half of the window.
const SHAPES: [(u32, u32); 5] = [(4, 2), (3, 2), (2, 2), (2, 1), (1, 1)];

/// What a list may contain.
pub(crate) struct ListOffer {
    links: Vec<String>,
    /// Names of tasks that may be removed.
    open: Vec<String>,
    first_number: u32,
    sections: u32,
    tasks: u32,
}

impl ListOffer {
    pub fn new(services: &Services, run: &Run, window: Option<u32>) -> Self {
        let mut links = project_links(services, &run.prompts().join("\n"));
        links.extend(
            run.done()
                .map(|task| link(&task.task.name, Target::TaskOutput { slug: task.task.slug.clone(), heading: None })),
        );
        // Problems come first, because the reply must deal with them.
        let (problems, pending): (Vec<&TaskRun>, Vec<&TaskRun>) = run
            .tasks()
            .filter(|task| task.state().may_become(State::Dropped))
            .partition(|task| task.state().is_problem());
        let open = problems.into_iter().chain(pending).take(MAX_REMOVED).map(|task| task.task.name.clone()).collect();
        let first_number = run
            .taken()
            .filter_map(|slug| slug.as_str().strip_prefix("task-")?.split('-').next()?.parse::<u32>().ok())
            .max()
            .unwrap_or(0)
            .saturating_add(1);
        let mut offer = Self { links, open, first_number, sections: 1, tasks: 1 };
        for (sections, tasks) in SHAPES {
            (offer.sections, offer.tasks) = (sections, tasks);
            if window.is_none_or(|window| offer.tokens() <= window / 2) {
                break;
            }
        }
        offer
    }

    fn shape(&self) -> ListShape<'_> {
        ListShape {
            references: &self.links,
            max_sections: self.sections,
            max_tasks: self.tasks,
            first_number: self.first_number,
        }
    }

    /// Tokens that are enough for any list of this offer, because a list that is cut is invalid.
    pub fn tokens(&self) -> u32 {
        let removed: u32 = self.open.iter().map(|name| tokens(name).saturating_add(60)).sum();
        grammar::list_tokens(&self.shape()).saturating_add(removed)
    }

    pub fn plan(&self) -> Form {
        grammar::plan(&self.shape())
    }

    pub fn continuation(&self) -> Form {
        grammar::continuation(&self.shape(), &self.open)
    }

    pub fn iteration(&self) -> Form {
        grammar::iteration(&self.shape(), &self.open)
    }
}

fn link(title: &str, target: Target) -> String {
    links::link(&Reference { title: title.to_owned(), target })
}

/// Links to the project's description, its files and its folders, without ignored ones. Those that the request names
/// come first, then those that are most related to it.
fn project_links(services: &Services, prompt: &str) -> Vec<String> {
    let mut links = Vec::new();
    if !project::project_description(services, Phase::Plan, &[], None).0.is_empty() {
        links.push(link("Project description", Target::ProjectDescription));
    }
    let files: Vec<String> = project::files_for(services, prompt).into_iter().map(|file| file.path).collect();
    let mut seen = BTreeSet::new();
    let above = files.iter().flat_map(|path| path.rmatch_indices('/').filter_map(|(at, _)| path.get(..at)));
    let folders = above.filter(|folder| seen.insert(*folder));
    let title = |path: &str| path.rsplit('/').next().unwrap_or(path).to_owned();
    let file = |path: &&str| link(&title(path), Target::File { path: (*path).to_owned(), fragment: None });
    let folder = |path: &&str| link(&title(path), Target::Directory((*path).to_owned()));
    links.extend(offered(files.iter().map(String::as_str), prompt, MAX_FILES).iter().map(file));
    links.extend(offered(folders, prompt, MAX_FOLDERS).iter().map(folder));
    links
}

/// The first of the paths that a link of a grammar can contain. Those that the request names come first.
fn offered<'a>(paths: impl Iterator<Item = &'a str>, prompt: &str, most: usize) -> Vec<&'a str> {
    let can_be_held = |path: &&str| !path.chars().any(|c| c.is_control() || "()[]<>`".contains(c));
    let mut paths: Vec<&str> = paths.filter(can_be_held).collect();
    // A stable sort keeps the other paths in order.
    paths.sort_by_key(|path| named_at(prompt, path).is_none());
    paths.truncate(most);
    paths
}

/// Links that a refinement may keep or choose: the task's own, and the project's files.
pub(crate) fn task_links(services: &Services, run: &Run, task: &TaskRun) -> Vec<String> {
    let mut links: Vec<String> = task.task.references.iter().map(links::link).collect();
    for more in project_links(services, run.prompt()) {
        if !links.contains(&more) {
            links.push(more);
        }
    }
    links
}

pub(crate) fn refinement(links: &[String], tools: &[ToolSpec], needs_call: bool) -> Form {
    grammar::refinement(links, tools, needs_call)
}

pub(crate) fn loop_turn(tools: &[ToolSpec]) -> Form {
    grammar::loop_turn(tools)
}

pub(crate) fn execution() -> Form {
    grammar::execution()
}

pub(crate) fn merge() -> Form {
    grammar::merge()
}

/// The form of the reply for a task that changes files. An existing file that was not shown is not offered for changes.
/// A direct task does what a person explicitly asked for: it changes something, or fails.
pub(crate) fn write_execution(resolved: &Resolved, aim: &WriteAim, skill: &SkillPolicy, direct: bool) -> Form {
    let whole = resolved.shown_in_full.keys().map(|path| EditableFile { path: path.clone(), shown_in_full: true });
    let part = resolved
        .shown_in_part
        .keys()
        .filter(|path| !resolved.shown_in_full.contains_key(*path))
        .map(|path| EditableFile { path: path.clone(), shown_in_full: false });
    let files: Vec<EditableFile> = whole.chain(part).collect();
    grammar::write_execution(&WriteOffer {
        files,
        made: aim.made.clone(),
        named: aim.named.clone(),
        creates: !skill.new_files_named && aim.named.is_empty(),
        may_decline: !direct,
    })
}
