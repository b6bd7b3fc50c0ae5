//! Loads the templates of a project, and builds trees from a template and everything that it calls.

use std::collections::BTreeMap;
use std::sync::Arc;

use callsheet_core::nouns::{BlobId, ToolEffect};
use callsheet_core::record::{Served, Tree};
use callsheet_core::run::SPAWN_SUBTASK;
use callsheet_core::template::{Node, SchemaChoice};
use callsheet_format::skill::{Catalog, SkillContext};
use callsheet_format::template::{Known, Library};
use callsheet_models::config::vendors;
use callsheet_runtime::ports::{Clock, SystemClock};
use callsheet_runtime::skills::load_skills;
use callsheet_runtime::templates::{LoadedTemplates, TemplateCatalog, load_templates, skill_call};

use crate::cli::Failure;
use crate::setup::{Setup, civil};
use crate::wiring::{skill_dirs, subtask_tools, template_dirs, tool_specs};

/// The tools, skills, providers and models that templates may name.
pub fn known(setup: &Setup) -> Known<'static> {
    let specs = tool_specs(setup);
    let skills = load_skills(&skill_dirs(setup), SkillContext { tools: &specs, read_only_sandbox: false });
    let tools = specs.iter().map(|spec| spec.name.clone()).chain(setup.config.subtask_tools());
    let Served { models, providers } = served(setup);
    Known {
        models: Some(models),
        providers: Some(providers),
        tools: Some(tools.collect()),
        skills: Some(skills.catalog.skills().map(|skill| skill.name.clone()).collect()),
        specs,
        ..Known::default()
    }
}

/// The configured models and providers.
fn served(setup: &Setup) -> Served {
    let models = vendors()
        .iter()
        .filter_map(|vendor| Some(format!("{}/{}", vendor.name, vendor.default_model.as_deref()?)))
        .chain(setup.config.text("model").map(str::to_owned))
        .collect();
    // Only a provider knows all its models, so each may serve more than is listed.
    let providers = vendors()
        .iter()
        .map(|vendor| vendor.name.clone())
        .chain(setup.config.providers())
        .map(|name| (name, true))
        .collect();
    Served { models, providers }
}

/// The templates that another program may start, by name, each with its inputs and its purpose.
///
/// # Errors
/// The configuration cannot be read.
#[cfg(any(feature = "acp", feature = "mcp"))]
pub fn offered(setup: &Setup) -> Result<Vec<(String, String)>, Failure> {
    let about = |template: &callsheet_core::template::Template| {
        let inputs = template.takes();
        let takes = inputs.iter().map(|input| format!("{}{}", input.name, if input.required { "" } else { "?" }));
        format!("({}) {}", takes.collect::<Vec<_>>().join(", "), template.body.intent.description)
    };
    let loaded = load(setup)?;
    let templates = loaded.library.templates().map(|loaded| &loaded.template);
    Ok(templates.map(|template| (template.name.clone(), about(template))).collect())
}

/// The templates of all layers.
///
/// # Errors
/// The configuration cannot be read.
pub fn load(setup: &Setup) -> Result<Arc<LoadedTemplates>, Failure> {
    let strict = setup.config.settings().map_err(crate::setup::config_failure)?.strict;
    let read = || Arc::new(load_templates(&template_dirs(setup), &known(setup), strict));
    Ok(Arc::clone(setup.templates.get_or_init(read)))
}

/// The skills that templates can call.
pub fn called_skills(setup: &Setup) -> Catalog {
    let tools = tool_specs(setup);
    load_skills(&skill_dirs(setup), SkillContext { tools: &tools, read_only_sandbox: false }).catalog
}

/// A tree without an entry, with today's date and the tools that ask for subtasks.
///
/// # Errors
/// A tool cannot be registered.
pub fn empty_tree(setup: &Setup) -> Result<Tree, Failure> {
    let (year, month, day, _) = civil(SystemClock.now_ms());
    let date = format!("{year:04}-{month:02}-{day:02}");
    Ok(Tree { date, subtask_tools: subtask_tools(setup)?, served: Some(served(setup)), ..Tree::default() })
}

/// Adds the configured template by which a model chooses among looked-up files (spec "Templates" 13), if there is
/// one.
///
/// # Errors
/// The template does not exist, or is not a matching template.
pub fn take_matcher(setup: &Setup, library: &Library, skills: &Catalog, tree: &mut Tree) -> Result<(), Failure> {
    let Some(name) = setup.config.text("memory.matcher").filter(|name| !name.is_empty()) else { return Ok(()) };
    let fits = library.get(name).is_some_and(|loaded| loaded.template.body.subtype == "associative_matching");
    if !fits {
        let what = format!("memory.matcher: there is no template `{name}` with the subtype associative_matching");
        return Err(Failure::usage(
            what,
            "use the bundled `match_files`, or remove the setting to use all files that match",
        ));
    }
    reach(library, skills, name, tree);
    tree.matcher = Some(name.to_owned());
    Ok(())
}

/// Adds every template of the library and everything that it calls.
pub fn take_all(setup: &Setup, library: &Library, skills: &Catalog, tree: &mut Tree) {
    for loaded in library.templates() {
        reach(library, skills, &loaded.template.name, tree);
    }
    schemas(tree);
    sources(&setup.project, tree);
}

/// The templates that planners can use in addition to skills.
///
/// # Errors
/// A tool cannot be registered, or the configuration cannot be read.
pub fn offer(setup: &Setup) -> Result<TemplateCatalog, Failure> {
    let loaded = load(setup)?;
    let mut tree = empty_tree(setup)?;
    let skills = called_skills(setup);
    take_all(setup, &loaded.library, &skills, &mut tree);
    take_matcher(setup, &loaded.library, &skills, &mut tree)?;
    let tools = tool_specs(setup);
    let writes = |name: &str| tools.iter().all(|tool| tool.name != name || tool.effect != ToolEffect::Read);
    let broken = loaded.library.causes().map(|(name, why)| (name.to_owned(), why.to_owned())).collect();
    let context = SkillContext { tools: &tools, read_only_sandbox: false };
    let left_out = load_skills(&skill_dirs(setup), context).left_out.into_iter().chain(loaded.left_out.iter().cloned());
    let untrusted = left_out.flat_map(|one| one.names.into_iter().map(move |name| (name, one.kind))).collect();
    Ok(TemplateCatalog { broken, untrusted, ..TemplateCatalog::new(tree, &writes) })
}

/// Adds a template and the templates and skills that it calls, under the names that calls use.
pub fn reach(library: &Library, skills: &Catalog, name: &str, tree: &mut Tree) {
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

/// Whether a task of the tree may use a template that the tree does not name. A subtask can do so, because tools that
/// ask for subtasks are allowed where no tools are named. The split of a failed task can call any template of the
/// library.
pub fn may_use_others(tree: &Tree) -> bool {
    let asks = |tool: &String| tool == SPAWN_SUBTASK || tree.subtask_tools.contains_key(tool);
    let may_ask = |node: &Node| node.tools.as_ref().is_none_or(|tools| tools.iter().any(asks));
    let splits = |node: &Node| node.recovery.reparse && !node.disable_reparsing && !node.manual_xml;
    let mut nodes = tree.templates.values().flat_map(|template| template.body.walk());
    nodes.any(|node| node.kind.is_atomic() && (may_ask(node) || splits(node)))
}

/// Adds the `schemas/NAME.json` files that templates name, from the folder of each template.
pub fn schemas(tree: &mut Tree) {
    let mut found = BTreeMap::new();
    for template in tree.templates.values() {
        for node in template.body.walk() {
            let Some(SchemaChoice::Named(name)) = node.output.as_ref().and_then(|output| output.schema.as_ref()) else {
                continue;
            };
            let file = std::path::Path::new(&template.origin.file);
            let path = file.parent().unwrap_or(std::path::Path::new("")).join(format!("schemas/{name}.json"));
            if let Ok(text) = callsheet_runtime::paths::read_regular_text(&path) {
                found.insert(name.clone(), text);
            }
        }
    }
    tree.schemas = found;
}

/// Adds the hashes of the files, so that a later resume can detect edited files.
pub fn sources(project: &std::path::Path, tree: &mut Tree) {
    let files = tree.templates.values().map(|template| template.origin.file.clone());
    for file in files.collect::<Vec<_>>() {
        if let Ok(bytes) = callsheet_runtime::paths::read_regular(&project.join(&file)) {
            tree.sources.insert(file, BlobId::of(&bytes));
        }
    }
}
