//! `template run`: records the template and everything that it can reach as a tree, and drives it like any other run.

use std::path::PathBuf;

use callsheet_app::Advice;
use callsheet_core::nouns::Target;
use callsheet_core::record::Tree;
use callsheet_core::template::{Automatic, Issue, Severity, Template, choose_automatically};
use callsheet_format::skill::Catalog;
use callsheet_format::template::Library;
use callsheet_runtime::driver::{EntrySpec, begin_in};
use callsheet_runtime::paths::Workspace;
use callsheet_runtime::ports::{Clock, SystemClock};
use callsheet_runtime::references::{Disk, LargeFiles, named_references};
use serde_json::Value;

use crate::cli::{Exit, Failure, TemplateRunArgs};
use crate::left_out::why_left_out;
use crate::library::{
    called_skills, empty_tree, load, may_use_others, reach, schemas, sources, take_all, take_matcher,
};
use crate::setup::{Setup, config_failure, new_run, run_name};
use crate::term::one_line;
use crate::wiring::outline;

use super::drive::{Front, ask_to_begin, drive_failure, prepare, to_the_end};
use super::run::switch;
use super::template::list_templates;
use super::template_values::{bind_text, check_inputs, check_names, take_value, tell_astray};
use super::tree_needs::unseen;

/// How many issues of a faulty template are shown.
const ISSUES: usize = 5;

/// `name` is the name of the run, if a program has chosen one.
pub(super) fn run(setup: &Setup, arguments: &TemplateRunArgs, name: Option<&str>) -> Result<Exit, Failure> {
    let mut settings = setup.config.settings().map_err(config_failure)?;
    let tree = tree(setup, arguments)?;
    let prompt = match &tree.text {
        text if text.is_empty() => format!("run the template {}{}", tree.entry, values_words(&tree)),
        text => text.clone(),
    };
    let front = Front::new(setup, &arguments.work);
    unseen(&tree).iter().for_each(|words| front.notice(&format!("note: {words}")));
    let store = setup.store()?;
    let runtime = super::runtime()?;
    runtime.block_on(async {
        let name = name.map_or_else(|| run_name(&tree.entry, SystemClock.now_ms()), str::to_owned);
        let (id, session) = new_run(&store, &name)?;
        let services = prepare(setup, &arguments.work, &front, store, &id, &mut settings, Some(&tree)).await?;
        ask_to_begin(&services, &id, &prompt).await?;
        switch(&services, &mut settings, arguments.branch.as_deref())?;
        let entry = EntrySpec::Template { tree: Box::new(tree), prompt };
        let session = begin_in(&services, session, entry, settings).map_err(|fault| drive_failure(&fault, &id))?;
        to_the_end(setup, &front, services, session, &id).await
    })
}

/// How many characters of the given values the request of a run names.
const VALUES: usize = 120;

/// The given values after the name of a template, so that its runs can be told apart.
fn values_words(tree: &Tree) -> String {
    let word = |(name, value): (&String, &Value)| match value {
        Value::String(text) => format!("{name}={text}"),
        other => format!("{name}:={other}"),
    };
    let words: Vec<String> = tree.variables.iter().map(word).collect();
    if words.is_empty() { String::new() } else { format!(": {}", one_line(&words.join(" "), VALUES)) }
}

/// The tree of the template with everything that it calls, and the given values.
fn tree(setup: &Setup, arguments: &TemplateRunArgs) -> Result<Tree, Failure> {
    let name = plain_name(&arguments.name);
    let mut tree = tree_of(setup, name, setup.config.flag("strict"))?;
    tree.files.clone_from(&arguments.files);
    for value in &arguments.values {
        take_value(setup, &mut tree, value)?;
    }
    check_names(&tree)?;
    tree.named = named_files(setup, &tree.text)?;
    bind_text(&mut tree);
    check_inputs(setup, &tree)?;
    tell_astray(&tree);
    Ok(tree)
}

/// The existing files that a text names.
fn named_files(setup: &Setup, text: &str) -> Result<Vec<String>, Failure> {
    let settings = setup.config.settings().map_err(config_failure)?;
    let roots: Vec<PathBuf> = settings.read_roots.iter().map(PathBuf::from).collect();
    let workspace = Workspace::new(&setup.project, &roots).map_err(|fault| Failure::usage(fault.to_string(), ""))?;
    let (outline, large) = (outline(), LargeFiles::default());
    let disk = Disk { outline: &*outline, ..Disk::of_text(&workspace, &large) };
    let paths = named_references(text, disk).into_iter().filter_map(|reference| match reference.target {
        Target::File { path, .. } => Some(path),
        _ => None,
    });
    Ok(paths.collect())
}

/// The tree of a template by its name, without values.
fn tree_of(setup: &Setup, name: &str, strict: bool) -> Result<Tree, Failure> {
    let loaded = load(setup)?;
    let (library, skills) = (&loaded.library, called_skills(setup));
    if library.get(name).is_none() {
        if let Some(failure) = why_left_out(setup, &loaded.left_out, "template", name) {
            return Err(failure);
        }
        return Err(unknown(library, &skills, name, strict));
    }
    let mut tree = empty_tree(setup)?;
    name.clone_into(&mut tree.entry);
    reach(library, &skills, name, &mut tree);
    take_matcher(setup, library, &skills, &mut tree)?;
    check_strictly(library, &tree, strict)?;
    if may_use_others(&tree) {
        // Which of them are needed is only known when a model asks for a subtask or splits a task.
        take_all(setup, library, &skills, &mut tree);
    }
    schemas(&mut tree);
    sources(&setup.project, &mut tree);
    Ok(tree)
}

/// The template that a request runs instead of being planned, if all four conditions are true (spec "Templates" 10),
/// with the message about the choice.
pub(super) fn automatic(setup: &Setup, request: &str, strict: bool) -> Result<Option<(Tree, String)>, Failure> {
    let loaded = load(setup)?;
    let templates: Vec<&Template> = loaded.library.templates().map(|known| &known.template).collect();
    let Ok(Automatic { best, takes_request }) = choose_automatically(&templates, request) else { return Ok(None) };
    let mut tree = tree_of(setup, &best.template, strict)?;
    tree.named = named_files(setup, request)?;
    if let Some(input) = takes_request {
        tree.variables.insert(input, Value::String(request.to_owned()));
    }
    let parts = [
        ("text", best.parts.text),
        ("hints", best.parts.hints),
        ("subtype", best.parts.subtype),
        ("inputs", best.parts.inputs),
    ];
    let parts: Vec<String> =
        parts.iter().filter_map(|(name, value)| value.map(|value| format!("{name} {value:.6}"))).collect();
    let terms = best.matched_terms.join(", ");
    let words = format!("template {} (score {:.6}: {}; {terms})", best.template, best.score, parts.join(", "));
    Ok(Some((tree, words)))
}

/// The name without its `template:` or `skill:` prefix.
fn plain_name(name: &str) -> &str {
    name.strip_prefix("template:").unwrap_or(name)
}

/// The failure for a template that has errors or does not exist.
fn unknown(library: &Library, skills: &Catalog, name: &str, strict: bool) -> Failure {
    if library.unavailable().contains(name) {
        let (what, check) = match strict {
            true => ("errors or warnings", list_strictly()),
            false => ("errors", Advice::command("list them", ["template", "check"])),
        };
        let of_it = |issue: &&Issue| issue.blocks(strict) && issue.path.split('/').next() == Some(name);
        let found = library.issues().iter().filter(of_it).take(ISSUES).map(|issue| format!("\n{issue}"));
        let found: String = found.collect();
        return Failure::usage(format!("the template \"{name}\" has {what} and is not available{found}"), check);
    }
    let names = library.templates().map(|loaded| loaded.template.name.as_str());
    let names = names.chain(skills.skills().map(|skill| skill.name.as_str()));
    let near = callsheet_core::fuzzy::did_you_mean(name, names);
    let near = if near.is_empty() { list_templates() } else { near.into() };
    Failure::usage(format!("there is no template \"{name}\""), near)
}

fn list_strictly() -> Advice {
    Advice::command("list them", ["template", "check", "--strict"])
}

fn check_strictly(library: &Library, tree: &Tree, strict: bool) -> Result<(), Failure> {
    // A called template with warnings is not available, so the tree does not contain it.
    let called = tree.templates.values().flat_map(|template| template.body.walk());
    let called: Vec<&str> = called.filter_map(|node| node.template.as_deref()).map(plain_name).collect();
    let concerns = |issue: &Issue| {
        let owner = issue.path.split('/').next().unwrap_or_default();
        let of_it =
            |template: &Template| template.origin.file == issue.file && (owner.is_empty() || owner == template.name);
        let left_out = library.unavailable().contains(owner) && called.contains(&owner);
        left_out || tree.templates.values().any(of_it)
    };
    let warned = library.issues().iter().filter(|issue| issue.severity == Severity::Warning);
    let found: Vec<String> = warned.filter(|issue| concerns(issue)).map(ToString::to_string).collect();
    if strict && !found.is_empty() {
        let advice = Advice::from("fix them, or run without `--set strict=true`").and(list_strictly());
        return Err(Failure::usage(found.join("\n"), advice));
    }
    Ok(())
}
