//! Builds the services of a run from the configuration. Of this package, only this file names concrete adapters.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use callsheet_core::nouns::{RunId, Settings, ToolSpec};
use callsheet_core::record::SubtaskTool;
use callsheet_core::symbols::Coloured;
use callsheet_format::prompt::Templates;
use callsheet_runtime::paths::{Granted, Workspace, read_regular};
use callsheet_runtime::ports::{
    Attendance, Documents, Fetch, ModelSource, Observer, Outline, Resources, Signal, Store, Tool, Unattended,
};
use callsheet_runtime::prompts::{LoadedPrompts, PromptDirs, load_prompts};
use callsheet_runtime::references::{Pages, edited_last};
use callsheet_runtime::runfiles::{KeptFiles, RunFiles};
use callsheet_runtime::services::{Basics, Hooks, Services};
use callsheet_runtime::skills::SkillDirs;
use callsheet_runtime::templates::TemplateDirs;
use callsheet_runtime::transport_policy::Slots;

use callsheet_store::{LiveWriter, SqliteIndex};
use callsheet_tools::{HttpFetch, HttpSettings};

use crate::cli::{Failure, OpenArgs};
use crate::models::NoModels;
use crate::setup::Setup;

/// How many of the last edited files count as open with `--open-recent`.
const RECENT: usize = 10;

/// What a run needs in addition to the configuration.
pub struct Parts {
    /// The store of the project.
    pub store: Arc<dyn Store>,
    /// Says whether somebody is there to answer.
    pub attendance: Arc<dyn Attendance>,
    /// The observer of the run.
    pub observer: Arc<dyn Observer>,
    /// The models by phase.
    pub models: Arc<dyn ModelSource>,
    /// How many requests each provider accepts at the same time.
    pub slots: BTreeMap<String, usize>,
    /// The files that a person has open.
    pub open: OpenArgs,
}

/// Builds the services.
///
/// # Errors
/// A path cannot be used.
pub fn services(setup: &Setup, run: &RunId, settings: &Settings, parts: Parts) -> Result<Services, Failure> {
    callsheet_tools::remember_in(setup.folders.state.join("sandbox"));
    // The test whether commands can be confined starts a process. Whoever needs the result waits for it.
    let _tested = std::thread::Builder::new().spawn(callsheet_tools::holding);
    let path_failure = |fault: &dyn std::fmt::Display| Failure::usage(fault.to_string(), "");
    let roots: Vec<PathBuf> = settings.read_roots.iter().map(PathBuf::from).collect();
    let workspace = Workspace::new(&setup.project, &roots).map_err(|fault| path_failure(&fault))?;
    let files = RunFiles::new(&workspace, run).map_err(|fault| path_failure(&fault))?;
    let kept = KeptFiles::new(&setup.store_folder(), run).map_err(|fault| path_failure(&fault))?;
    let workspace = confined(setup, workspace.protecting(files.directory()), &*parts.observer);
    let contained = workspace.granted().contained;
    let current_file = parts.open.current_file.as_deref().map(|file| relative_to_project(setup, file)).transpose()?;
    let mut open_files =
        parts.open.open.iter().map(|file| relative_to_project(setup, file)).collect::<Result<Vec<_>, _>>()?;
    if parts.open.open_recent {
        open_files.extend(edited_last(&workspace, RECENT));
    }
    let prompts = load_prompts(&prompt_dirs(setup));
    tell_of_prompts(&prompts, &*parts.observer);
    let basics = Basics {
        store: parts.store,
        models: parts.models,
        observer: Arc::new(LiveWriter::new(&setup.store_folder(), run, parts.observer)),
        index: Arc::new(SqliteIndex::new(&setup.store_folder())),
        workspace,
        files,
        kept: kept.clone(),
    };
    let (of_servers, resources) = of_servers(setup);
    let fetch: Arc<dyn Fetch> = Arc::new(HttpFetch::new(HttpSettings::default()));
    let offer = crate::library::offer(setup)?;
    let (tools, hooks) = (tools(setup, of_servers)?, hooks(setup));
    let apart = callsheet_tools::holding().is_whole();
    Ok(Services {
        attendance: parts.attendance,
        grants: Arc::new(setup.grants()),
        slots: Slots::new(parts.slots, 1),
        tools,
        process_tools: callsheet_tools::scripts(),
        hooks,
        disabled_tools: setup.config.list("tools.disabled").into_iter().collect(),
        outline: outline(),
        documents: documents(),
        pages: Pages::new(Some(Arc::clone(&fetch)), Some(kept)).with_resources(resources),
        fetch: Some(fetch),
        skill_dirs: skill_dirs(setup),
        templates: prompts.templates,
        current_file,
        open_files,
        check_command: Some(callsheet_tools::check_changes()),
        path_command: Some(callsheet_tools::list_paths()),
        commands_apart: apart,
        commands_unheld: !apart && !contained,
        offer: Some(Arc::new(offer)),
        ..Services::of(basics)
    })
}

/// The observer of a run that is driven, with telemetry if the environment asks for it.
#[cfg(feature = "otel")]
pub fn observed(setup: &Setup, observer: &Arc<dyn Observer>) -> Arc<dyn Observer> {
    let project = setup.project.display().to_string();
    callsheet_telemetry::Telemetry::around(Arc::clone(observer), &project, &|name| std::env::var(name).ok())
}

/// The observer of a run that is driven. This build has no telemetry.
#[cfg(not(feature = "otel"))]
pub fn observed(_setup: &Setup, observer: &Arc<dyn Observer>) -> Arc<dyn Observer> {
    Arc::clone(observer)
}

/// The services for reading runs, which need no model.
///
/// # Errors
/// A path cannot be used.
pub fn without_model(
    setup: &Setup,
    observer: Arc<dyn Observer>,
    store: Arc<dyn Store>,
    run: &RunId,
    settings: &Settings,
    open: &OpenArgs,
) -> Result<Services, Failure> {
    let parts = Parts {
        store,
        attendance: Arc::new(Unattended),
        observer,
        slots: BTreeMap::new(),
        models: Arc::new(NoModels),
        open: open.clone(),
    };
    services(setup, run, settings, parts)
}

/// The workspace with the permissions of commands in it.
fn confined(setup: &Setup, workspace: Workspace, observer: &dyn Observer) -> Workspace {
    let workspace = workspace.protecting(&setup.folders.state);
    let workspace = setup.folders.kept().into_iter().fold(workspace, Workspace::keeping);
    tell_of_grants(setup, observer);
    workspace.noting(setup.notes()).granting(granted(setup))
}

/// The permissions of commands from the user's configuration. The list of grants is read when a command starts.
pub fn granted(setup: &Setup) -> Granted {
    let folders = |key: &str| setup.config.list(key).iter().map(|folder| from_home(folder)).collect();
    Granted {
        writable: folders("tools.caches"),
        shown: folders("tools.shown"),
        variables: setup.config.list("tools.environment"),
        hosts: setup.config.list("tools.hosts"),
        memory_mb: setup.config.count("tools.memory_mb"),
        cpu_seconds: setup.config.count("tools.cpu_seconds"),
        contained: setup.config.flag("tools.contained"),
        protected: Vec::new(),
    }
}

/// Moves leftovers of commands aside whose supervisor was killed, and reports them.
pub fn set_aside_left(setup: &Setup, observer: &dyn Observer) {
    for line in callsheet_tools::set_aside_left(&setup.notes(), &setup.project) {
        observer.see(&Signal::Notice(&line));
    }
}

/// Reports if no grant is valid because the list cannot be read.
fn tell_of_grants(setup: &Setup, observer: &dyn Observer) {
    let list = setup.grants();
    if let Err(error) = list.all() {
        let words = format!("note: no grant is valid, because {} can't be read: {error}", list.file().display());
        observer.see(&Signal::Notice(&words));
    }
}

/// A folder as a person writes it, with `~` for their home folder.
pub fn from_home(folder: &str) -> PathBuf {
    match folder.strip_prefix("~/").zip(std::env::home_dir()) {
        Some((below, home)) => home.join(below),
        None => PathBuf::from(folder),
    }
}

/// Reports the prompts that differ from the bundled ones, and the files that could not be used.
fn tell_of_prompts(prompts: &LoadedPrompts, observer: &dyn Observer) {
    for key in callsheet_format::prompt::PromptKey::ALL {
        // An unchanged copy has the same text as the bundled prompt.
        let bundled = Templates::bundled_text(*key).as_bytes();
        let source = prompts.templates.source(*key);
        if let Some(source) =
            source.filter(|source| read_regular(Path::new(&source.path)).is_ok_and(|text| text != bundled))
        {
            let words = format!("note: using prompt {} from {}", key.as_str(), source.path);
            observer.see(&Signal::Notice(&words));
        }
    }
    for (file, fault) in &prompts.unknown {
        observer.see(&Signal::Notice(&format!("{}: {fault}", file.display())));
    }
    for link in &prompts.links {
        let words = format!("ignored {}, because it is a link", link.display());
        observer.see(&Signal::Notice(&words));
    }
}

/// The tools that the configuration registers. Their calls are subtasks (spec "Templates" 14).
///
/// # Errors
/// A name is invalid or belongs to another tool, or a tool has no description.
pub fn subtask_tools(setup: &Setup) -> Result<BTreeMap<String, SubtaskTool>, Failure> {
    let built_in: Vec<String> = callsheet_tools::registry().iter().map(|tool| tool.spec().name.clone()).collect();
    let mut tools = BTreeMap::new();
    for name in setup.config.subtask_tools() {
        let letters = name.chars().all(|letter| letter.is_ascii_lowercase() || letter == '_');
        if !letters || name.is_empty() || built_in.contains(&name) || RESERVED.contains(&name.as_str()) {
            let advice = "use the letters a-z and `_`, and a name that no other tool has";
            return Err(Failure::usage(format!("can't register subtask_tools.{name}"), advice));
        }
        let key = format!("subtask_tools.{name}");
        let Some(description) = setup.config.text(&format!("{key}.description")) else {
            return Err(Failure::usage(format!("{key} has no description"), "describe the tool for the model"));
        };
        let template_hints = setup.config.list(&format!("{key}.template_hints"));
        tools.insert(name, SubtaskTool { description: description.to_owned(), template_hints });
    }
    Ok(tools)
}

/// The specifications of the built-in tools and of the tools of MCP servers that the user confirmed.
pub fn tool_specs(setup: &Setup) -> Vec<ToolSpec> {
    let tools = callsheet_tools::registry().into_iter().chain(of_servers(setup).0);
    tools.map(|tool: Arc<dyn Tool>| tool.spec().clone()).collect()
}

/// Tools of MCP servers that the user confirmed, and the resources of these servers. Starts no server.
#[cfg(feature = "mcp")]
fn of_servers(setup: &Setup) -> (Vec<Arc<dyn Tool>>, Arc<dyn Resources>) {
    let (tools, resources) = crate::servers::connected(setup);
    (tools, Arc::new(resources))
}

/// This build knows no servers.
#[cfg(not(feature = "mcp"))]
fn of_servers(_setup: &Setup) -> (Vec<Arc<dyn Tool>>, Arc<dyn Resources>) {
    (Vec::new(), Arc::new(callsheet_runtime::ports::NoResources))
}

/// The names of other kinds of calls.
const RESERVED: &[&str] =
    &[callsheet_core::evaluate::SCRIPT, callsheet_core::evaluate::SCRIPT_READ, callsheet_core::run::SUBTASK_REQUEST];

/// The folders with skills.
pub fn skill_dirs(setup: &Setup) -> SkillDirs {
    let user = Some(setup.folders.config.join("skills"));
    SkillDirs { project: Some(setup.project.clone()), user, home: std::env::home_dir(), trusted: setup.trusted() }
}

/// The folders with templates.
pub fn template_dirs(setup: &Setup) -> TemplateDirs {
    let user = Some(setup.folders.config.join("templates"));
    let skills = Some(setup.folders.config.join("skills"));
    TemplateDirs {
        project: Some(setup.project.clone()),
        user,
        skills,
        home: std::env::home_dir(),
        trusted: setup.trusted(),
    }
}

/// Finds symbols in code files.
#[cfg(feature = "symbols")]
pub fn outline() -> Arc<dyn Outline> {
    Arc::new(callsheet_symbols::TreeSitter::default())
}

/// The kinds of the pieces of code in a text.
#[cfg(feature = "symbols")]
pub fn colours(path: &str, text: &str) -> Vec<Coloured> {
    static CODE: std::sync::LazyLock<callsheet_symbols::TreeSitter> =
        std::sync::LazyLock::new(callsheet_symbols::TreeSitter::default);
    CODE.colours(path, text)
}

/// The kinds of the pieces of code in a text. This build knows no languages.
#[cfg(not(feature = "symbols"))]
pub fn colours(_path: &str, _text: &str) -> Vec<Coloured> {
    Vec::new()
}

/// Finds symbols in code files. This build knows no languages.
#[cfg(not(feature = "symbols"))]
pub fn outline() -> Arc<dyn Outline> {
    Arc::new(callsheet_runtime::ports::NoOutline)
}

/// Reads PDF and office files.
#[cfg(feature = "documents")]
pub fn documents() -> Arc<dyn Documents> {
    match callsheet_documents::DocumentReader::of_this_program() {
        Some(reader) => Arc::new(reader),
        None => Arc::new(callsheet_runtime::ports::NoDocuments),
    }
}

/// Reads a document if this process was started for that, and returns its exit code.
#[cfg(feature = "documents")]
pub use callsheet_documents::read_document;

/// No process of this build is started to read a document.
#[cfg(not(feature = "documents"))]
pub fn read_document() -> Option<std::process::ExitCode> {
    None
}

/// Reads PDF and office files. This build reads none.
#[cfg(not(feature = "documents"))]
pub fn documents() -> Arc<dyn Documents> {
    Arc::new(callsheet_runtime::ports::NoDocuments)
}

/// The folders with prompt templates.
pub fn prompt_dirs(setup: &Setup) -> PromptDirs {
    let user = Some(setup.folders.config.join("prompts"));
    PromptDirs { project: Some(setup.project.clone()), user, trusted: setup.trusted() }
}

/// The registered tools by name, with these tools of servers.
fn tools(setup: &Setup, of_servers: Vec<Arc<dyn Tool>>) -> Result<BTreeMap<String, Arc<dyn Tool>>, Failure> {
    let subtasks = subtask_tools(setup)?;
    let subtasks = subtasks.iter().map(|(name, tool)| callsheet_tools::subtask_tool(name, &tool.description));
    let all = of_servers.into_iter().chain(callsheet_tools::registry()).chain(subtasks);
    Ok(all.map(|tool: Arc<dyn Tool>| (tool.spec().name.clone(), tool)).collect())
}

/// The user's hooks, and those of a trusted project.
fn hooks(setup: &Setup) -> Hooks {
    let list = setup.config.hooks(&setup.project);
    let seconds = setup.config.count("hooks.timeout_seconds");
    Hooks { list, timeout: seconds.map_or(Hooks::default().timeout, Duration::from_secs) }
}

fn relative_to_project(setup: &Setup, file: &std::path::Path) -> Result<String, Failure> {
    let full = file
        .canonicalize()
        .map_err(|error| Failure::usage(format!("can't use the open file {}: {error}", file.display()), ""))?;
    full.strip_prefix(&setup.project).map(|path| path.display().to_string()).map_err(|_| {
        Failure::usage(format!("the open file {} is outside the project", file.display()), "open a file of the project")
    })
}
