//! `template run`: the template and everything it can reach is recorded as a tree, then driven like any other run.

use std::collections::BTreeMap;

use callsheet_core::record::Tree;
use callsheet_core::skill::{Catalog, SkillContext};
use callsheet_core::spec::{BlobId, Skill};
use callsheet_core::template::{Filled, Library, SchemaChoice, Severity, Template, read_text};
use callsheet_runtime::driver::{EntrySpec, begin};
use callsheet_runtime::ports::{Clock, SystemClock};
use callsheet_runtime::skills::load_skills;
use serde_json::Value;

use crate::cli::{Exit, Failure, TemplateRunArgs};
use crate::setup::{Setup, civil, config_failure, new_run_id};

use super::drive::{Front, drive_failure, prepare, to_the_end};
use super::skill::tool_specs;
use super::template::load;
use crate::wiring::skill_dirs;

pub(super) fn run(setup: &Setup, arguments: &TemplateRunArgs) -> Result<Exit, Failure> {
    let mut settings = setup.config.settings().map_err(config_failure)?;
    let tree = tree(setup, arguments)?;
    let prompt = match &tree.text {
        text if text.is_empty() => format!("run the template {}", tree.entry),
        text => text.clone(),
    };
    let front = Front::new(setup, &arguments.work);
    let store = setup.store()?;
    let runtime = super::runtime()?;
    runtime.block_on(async {
        let id = new_run_id(&store, &tree.entry, SystemClock.now_ms())?;
        let world = prepare(setup, &arguments.work, &front, store, &id, &mut settings).await?;
        let entry = EntrySpec::Template { tree: Box::new(tree), prompt };
        let session = begin(&world, &id, entry, settings).map_err(|fault| drive_failure(&fault, &id))?;
        to_the_end(setup, &front, world, session, &id).await
    })
}

/// The template with all that it calls, and the values that were given.
fn tree(setup: &Setup, arguments: &TemplateRunArgs) -> Result<Tree, Failure> {
    let loaded = load(setup)?;
    let library = &loaded.library;
    let name = arguments.name.strip_prefix("template:").unwrap_or(&arguments.name);
    if library.get(name).is_none() {
        return Err(unknown(library, name));
    }
    let mut tree = Tree { entry: name.to_owned(), files: arguments.files.clone(), ..Tree::default() };
    let (year, month, day, _) = civil(SystemClock.now_ms());
    tree.date = format!("{year:04}-{month:02}-{day:02}");
    let tools = tool_specs();
    let context = SkillContext { tools: &tools, read_only_sandbox: false };
    let skills = load_skills(&skill_dirs(setup), context).catalog;
    reach(library, &skills, name, &mut tree);
    check_strictly(library, &tree, arguments.work.strict)?;
    schemas(&mut tree);
    for value in &arguments.values {
        take_value(&mut tree, value)?;
    }
    sources(&setup.project, &mut tree);
    Ok(tree)
}

fn unknown(library: &Library, name: &str) -> Failure {
    if library.unavailable().contains(name) {
        return Failure::usage(
            format!("the template \"{name}\" has errors and is not available"),
            "callsheet template check shows them",
        );
    }
    let names = library.templates().map(|loaded| loaded.template.name.as_str());
    let near = callsheet_core::reply::near::nearest(name, names, 5);
    let near = if near.is_empty() { String::new() } else { format!("nearest: {}; ", near.join(", ")) };
    let advice = format!("{near}callsheet template list shows all");
    Failure::usage(format!("there is no template \"{name}\""), &advice)
}

/// Adds a template and the templates and skills it calls, under the names that calls use.
fn reach(library: &Library, skills: &Catalog, name: &str, tree: &mut Tree) {
    let mut open = vec![name.to_owned()];
    while let Some(name) = open.pop() {
        if tree.templates.contains_key(&name) {
            continue;
        }
        let template = match library.get(&name) {
            Some(loaded) => loaded.template.clone(),
            None => match skills.get(name.strip_prefix("skill:").unwrap_or(&name)).and_then(skill_call) {
                Some(template) => template,
                None => continue,
            },
        };
        open.extend(template.body.walk().into_iter().filter_map(|node| node.template.clone()));
        tree.templates.insert(name, template);
    }
}

/// A skill as a template (spec "Templates" 16): its instructions as the system text, its tools, its model.
fn skill_call(skill: &Skill) -> Option<Template> {
    let text = include_str!("skill_call.xml");
    let mut template = read_text("skill_call.xml", text).templates.pop()?;
    template.name = format!("skill:{}", skill.name);
    template.body.system = Filled::literal(skill.execution.trim());
    template.body.tools = Some(skill.policy.tools.clone());
    template.body.models = skill.policy.model.iter().cloned().collect();
    if skill.policy.writer.is_some() {
        template.body.approval.required = Some(true);
    }
    template.body.limits.max_turns = skill.policy.limits.max_turns;
    template.body.limits.timeout_seconds = skill.policy.limits.timeout_seconds;
    Some(template)
}

fn check_strictly(library: &Library, tree: &Tree, strict: bool) -> Result<(), Failure> {
    let files: Vec<&str> = tree.templates.values().map(|template| template.origin.file.as_str()).collect();
    let warned = library.issues().iter().filter(|issue| issue.severity == Severity::Warning);
    let found: Vec<String> =
        warned.filter(|issue| files.contains(&issue.file.as_str())).map(ToString::to_string).collect();
    if strict && !found.is_empty() {
        return Err(Failure::usage(found.join("\n"), "correct them, or leave --strict out"));
    }
    Ok(())
}

/// `schemas/NAME.json` beside the file of each template that names one.
fn schemas(tree: &mut Tree) {
    let mut found = BTreeMap::new();
    for template in tree.templates.values() {
        for node in template.body.walk() {
            let Some(SchemaChoice::Named(name)) = node.output.as_ref().and_then(|output| output.schema.as_ref()) else {
                continue;
            };
            let file = std::path::Path::new(&template.origin.file);
            let path = file.parent().unwrap_or(std::path::Path::new("")).join(format!("schemas/{name}.json"));
            if let Ok(text) = std::fs::read_to_string(path) {
                found.insert(name.clone(), text);
            }
        }
    }
    tree.schemas = found;
}

/// Hashes of the files, so that a later resume can tell which were edited.
fn sources(project: &std::path::Path, tree: &mut Tree) {
    let files = tree.templates.values().map(|template| template.origin.file.clone());
    for file in files.collect::<Vec<_>>() {
        if let Ok(bytes) = std::fs::read(project.join(&file)) {
            tree.sources.insert(file, BlobId::of(&bytes));
        }
    }
}

/// `k=v`, `k=@file`, `k:=json`; anything else is text for the task.
fn take_value(tree: &mut Tree, given: &str) -> Result<(), Failure> {
    let Some((key, value)) = given.split_once('=').filter(|(key, _)| is_name(key)) else {
        let joint = if tree.text.is_empty() { "" } else { " " };
        tree.text = format!("{}{joint}{given}", tree.text);
        return Ok(());
    };
    let (key, value) = match key.strip_suffix(':') {
        Some(key) => {
            let parsed = serde_json::from_str::<Value>(value);
            let parsed = parsed.map_err(|error| Failure::usage(format!("{key}: {error}"), "k:=JSON takes JSON"))?;
            (key, parsed)
        }
        None => match value.strip_prefix('@') {
            Some(path) => {
                let text = std::fs::read_to_string(path);
                let text = text.map_err(|error| Failure::usage(format!("{key}: {path}: {error}"), ""))?;
                (key, Value::String(text))
            }
            None => (key, Value::String(value.to_owned())),
        },
    };
    tree.variables.insert(key.to_owned(), value);
    Ok(())
}

fn is_name(key: &str) -> bool {
    let key = key.strip_suffix(':').unwrap_or(key);
    callsheet_core::template::is_ident(key)
}
