//! The templates of a project: read, checked, and put together with all that they call.

use std::collections::BTreeMap;
use std::sync::Arc;

use callsheet_core::nouns::{BlobId, Skill, ToolEffect};
use callsheet_core::record::{Served, Tree};
use callsheet_core::run::SPAWN_SUBTASK;
use callsheet_core::template::{Filled, Node, SchemaChoice, Template};
use callsheet_format::skill::{Catalog, SkillContext};
use callsheet_format::template::{Known, Library, read_text};
use callsheet_models::config::vendors;
use callsheet_runtime::ports::{Clock, SystemClock};
use callsheet_runtime::skills::load_skills;
use callsheet_runtime::templates::{LoadedTemplates, TemplateCatalog, load_templates};

use crate::cli::Failure;
use crate::setup::{Setup, civil};
use crate::wiring::{skill_dirs, subtask_tools, template_dirs, tool_specs};

/// What templates may name: tools, skills, providers and models.
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

/// Models and providers that are configured.
fn served(setup: &Setup) -> Served {
    let models = vendors()
        .iter()
        .filter_map(|vendor| Some(format!("{}/{}", vendor.name, vendor.default_model.as_deref()?)))
        .chain(setup.config.text("model").map(str::to_owned))
        .collect();
    // Which models a provider serves is only known by asking it, so each may serve more than is listed.
    let providers = vendors()
        .iter()
        .map(|vendor| vendor.name.clone())
        .chain(setup.config.providers())
        .map(|name| (name, true))
        .collect();
    Served { models, providers }
}

/// The templates of all layers.
///
/// # Errors
/// A configuration that cannot be read.
pub fn load(setup: &Setup) -> Result<Arc<LoadedTemplates>, Failure> {
    let strict = setup.config.settings().map_err(crate::setup::config_failure)?.strict;
    let read = || Arc::new(load_templates(&template_dirs(setup), &known(setup), strict));
    Ok(Arc::clone(setup.templates.get_or_init(read)))
}

/// Skills as templates call them.
pub fn called_skills(setup: &Setup) -> Catalog {
    let tools = tool_specs(setup);
    load_skills(&skill_dirs(setup), SkillContext { tools: &tools, read_only_sandbox: false }).catalog
}

/// A tree without an entry, for today and with the tools that ask for subtasks.
///
/// # Errors
/// A tool that cannot be registered.
pub fn empty_tree(setup: &Setup) -> Result<Tree, Failure> {
    let (year, month, day, _) = civil(SystemClock.now_ms());
    let date = format!("{year:04}-{month:02}-{day:02}");
    Ok(Tree { date, subtask_tools: subtask_tools(setup)?, served: Some(served(setup)), ..Tree::default() })
}

/// The template by which a model chooses among files that were looked up (spec "Templates" 13), if one is configured.
///
/// # Errors
/// It is not there, or it is not made for that.
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

/// Every template of the library with all that it calls.
pub fn take_all(setup: &Setup, library: &Library, skills: &Catalog, tree: &mut Tree) {
    for loaded in library.templates() {
        reach(library, skills, &loaded.template.name, tree);
    }
    schemas(tree);
    sources(&setup.project, tree);
}

/// The templates that are offered to planners beside the skills.
///
/// # Errors
/// A tool that cannot be registered, or a configuration that cannot be read.
pub fn offer(setup: &Setup) -> Result<TemplateCatalog, Failure> {
    let loaded = load(setup)?;
    let mut tree = empty_tree(setup)?;
    let skills = called_skills(setup);
    take_all(setup, &loaded.library, &skills, &mut tree);
    take_matcher(setup, &loaded.library, &skills, &mut tree)?;
    let tools = tool_specs(setup);
    let writes = |name: &str| tools.iter().all(|tool| tool.name != name || tool.effect != ToolEffect::Read);
    let broken = loaded.library.causes().map(|(name, why)| (name.to_owned(), why.to_owned())).collect();
    Ok(TemplateCatalog { broken, ..TemplateCatalog::new(tree, &writes) })
}

/// Adds a template and the templates and skills it calls, under the names that calls use.
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

/// Whether a task of the tree may come to use a template that nothing of it names: by a subtask, as tools that ask for
/// one are allowed where no others are named, or by a split, which may call what the library holds.
pub fn may_use_others(tree: &Tree) -> bool {
    let asks = |tool: &String| tool == SPAWN_SUBTASK || tree.subtask_tools.contains_key(tool);
    let may_ask = |node: &Node| node.tools.as_ref().is_none_or(|tools| tools.iter().any(asks));
    let splits = |node: &Node| node.recovery.reparse && !node.disable_reparsing && !node.manual_xml;
    let mut nodes = tree.templates.values().flat_map(|template| template.body.walk());
    nodes.any(|node| node.kind.is_atomic() && (may_ask(node) || splits(node)))
}

/// A skill as a template (spec "Templates" 16): its instructions as the system text, its tools, its model.
fn skill_call(skill: &Skill) -> Option<Template> {
    let text = include_str!("commands/skill_call.xml");
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

/// `schemas/NAME.json` beside the file of each template that names one.
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

/// Hashes of the files, so that a later resume can tell which were edited.
pub fn sources(project: &std::path::Path, tree: &mut Tree) {
    let files = tree.templates.values().map(|template| template.origin.file.clone());
    for file in files.collect::<Vec<_>>() {
        if let Ok(bytes) = callsheet_runtime::paths::read_regular(&project.join(&file)) {
            tree.sources.insert(file, BlobId::of(&bytes));
        }
    }
}
