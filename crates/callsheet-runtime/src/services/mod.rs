//! Everything that a run needs from the world, behind ports.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use callsheet_core::nouns::{
    BlobId, PICTURE_BYTES, PICTURE_SIDE, RunId, Settings, Skill, SkillForm, SkillPolicy, ToolEffect, ToolSpec,
};
use callsheet_core::record::ToolPolicy;
use callsheet_core::run::TaskRun;
use callsheet_core::view::civil;
use callsheet_core::visible::visible_line;
use callsheet_format::prompt::{Environment, Templates};
use callsheet_format::skill::SkillContext;
use serde::{Deserialize, Serialize};

use crate::file_index::IndexedMemory;
use crate::grants::Caller;
use crate::material::{self, Material, MaterialRequest};
use crate::paths::Workspace;
use crate::ports::{
    Attendance, Clock, Documents, Fetch, Grants, HeldCalls, Index, Memory, ModelInfo, NoDocuments, NoGrants, NoOutline,
    Observer, Outline, Signal, Store, StoreFault, SystemClock, Tool, Unattended,
};
use crate::references::{Disk, LargeFiles, Pages};
use crate::rules::{Omitted, room, rules};
use crate::runfiles::{KeptFiles, RunFiles};
use crate::skills::{LoadedSkills, SkillDirs, load_skills, reader_skill};
use crate::templates::TemplateCatalog;
use crate::transport_policy::Slots;

use crate::fault::DriveFault;
use crate::ports::ModelSource;

mod earlier;
mod hooks;
mod snapshots;
pub use earlier::EarlierCalls;
pub use hooks::{Hook, HookPoint, Hooks};
pub use snapshots::Snapshots;

/// Assumed window of a model that does not report it (spec 9).
pub(crate) const UNKNOWN_WINDOW: u32 = 8_192;

/// The file that a person has open, relative to the project root.
pub type CurrentFile = String;

/// Pinned skills by hash. Every call needs one, and they never change.
#[derive(Debug, Default)]
pub struct PinnedSkills(Mutex<BTreeMap<BlobId, Skill>>);

/// Models or files with some property that was found in this process.
#[derive(Debug, Default)]
pub struct NameSet(Mutex<BTreeSet<String>>);

impl NameSet {
    /// Whether the model or file has the property.
    pub fn holds(&self, model: &str) -> bool {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).contains(model)
    }

    /// Adds a model. Returns false if it was already known.
    pub fn add(&self, model: &str) -> bool {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(model.to_owned())
    }
}

/// Counts the running commands.
#[derive(Clone, Debug, Default)]
pub struct Commands(Arc<AtomicUsize>);

impl Commands {
    /// Whether one runs.
    pub(crate) fn any(&self) -> bool {
        self.0.load(Ordering::SeqCst) > 0
    }

    /// Counts one more command, until the returned value is dropped.
    pub(crate) fn begin(&self) -> Command {
        self.0.fetch_add(1, Ordering::SeqCst);
        Command(self.clone())
    }
}

/// A running command.
pub(crate) struct Command(Commands);

impl Drop for Command {
    fn drop(&mut self) {
        self.0.0.fetch_sub(1, Ordering::SeqCst);
    }
}

/// Which rules of a project do not fit into the prompts for a model.
pub fn omitted_rules(workspace: &Workspace, model: &ModelInfo) -> Vec<String> {
    let found = rules(workspace, &[], room(model.window)).map(|rules| rules.omitted).unwrap_or_default();
    let window = model.window.map(|window| format!(", whose window is {window} tokens")).unwrap_or_default();
    let words = |omitted: &Omitted| format!("{} for {}{window}", omitted.words(), model.id);
    found.iter().map(words).collect()
}

/// A skill in the version that a run keeps.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Pinned {
    #[serde(flatten)]
    pub skill: Skill,
    /// Paths of the skills that it replaces (spec 7.5).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub replaces: Vec<String>,
}

/// What every run needs from the world. [`Services::of`] adds the rest.
pub struct Basics {
    /// Log entries, blobs, inboxes.
    pub store: Arc<dyn Store>,
    /// Models by phase.
    pub models: Arc<dyn ModelSource>,
    /// Who watches.
    pub observer: Arc<dyn Observer>,
    /// The index behind the lookups.
    pub index: Arc<dyn Index>,
    /// The confined project.
    pub workspace: Workspace,
    /// The run directory.
    pub files: RunFiles,
    /// What the run reads besides its record.
    pub kept: KeptFiles,
}

/// What one run needs from the world.
pub struct Services {
    /// Log entries, blobs, inboxes.
    pub store: Arc<dyn Store>,
    /// Time.
    pub clock: Arc<dyn Clock>,
    /// Whether somebody is there to answer.
    pub attendance: Arc<dyn Attendance>,
    /// What the person allowed for longer than one answer.
    pub grants: Arc<dyn Grants>,
    /// Who watches.
    pub observer: Arc<dyn Observer>,
    /// Models by phase.
    pub models: Arc<dyn ModelSource>,
    /// Slots by provider.
    pub slots: Slots,
    /// Registered tools by name.
    pub tools: BTreeMap<String, Arc<dyn Tool>>,
    /// Tool calls that wait for the answer of a person.
    pub held_calls: HeldCalls,
    /// Tools that are disabled.
    pub disabled_tools: BTreeSet<String>,
    /// The confined project.
    pub workspace: Arc<Workspace>,
    /// Symbols of code files.
    pub outline: Arc<dyn Outline>,
    /// Texts of PDF and office files.
    pub documents: Arc<dyn Documents>,
    /// Large files that were already read.
    pub large: LargeFiles,
    /// Network access, if there is any.
    pub fetch: Option<Arc<dyn Fetch>>,
    /// Pages of the run.
    pub pages: Pages,
    /// Where skills are found.
    pub skill_dirs: SkillDirs,
    /// Pinned skills that were already read.
    pub pinned_skills: PinnedSkills,
    /// Models whose provider refused a constraint, although it was said to support it. From then on they are asked for
    /// free text.
    pub refused_constraints: NameSet,
    /// Earlier calls whose replies equal calls may reuse.
    pub earlier_calls: EarlierCalls,
    /// The earlier run whose replies this run may reuse, as the command says.
    pub reuse: Option<RunId>,
    /// Models whose price was requested and is unknown.
    pub unpriced: Arc<NameSet>,
    /// Models whose window was requested and is unknown.
    pub unknown_windows: Arc<NameSet>,
    /// Models that were to be shown a picture and see none.
    pub unseeing: NameSet,
    /// Pictures that are too large for every model.
    pub large_pictures: NameSet,
    /// How many commands run.
    pub commands: Commands,
    /// What replies are compared with, kept from one reply to the next.
    pub snapshots: Snapshots,
    /// Prompt templates, loaded once for the run.
    pub templates: Templates,
    /// Date, system, shell, root.
    pub environment: Environment,
    /// The file that a person has open.
    pub current_file: Option<CurrentFile>,
    /// Paths of other files that a person has open.
    pub open_files: Vec<String>,
    /// Tools that start the processes of templates. No model is offered them.
    pub process_tools: Vec<Arc<dyn Tool>>,
    /// Commands of the user that are asked at fixed points.
    pub hooks: Hooks,
    /// The tool that checks changes on a copy of the project. No model is offered it.
    pub check_command: Option<Arc<dyn Tool>>,
    /// The tool that prints paths for `file_paths` from a command. No model is offered it.
    pub path_command: Option<Arc<dyn Tool>>,
    /// Lookups.
    pub memory: Arc<dyn Memory>,
    /// The index behind the lookups, to report outdated entries.
    pub index: Arc<dyn Index>,
    /// The run directory.
    pub files: RunFiles,
    /// Whether commands have their own file system, in which they cannot write what Callsheet reads.
    pub commands_apart: bool,
    /// Whether nothing on this machine confines commands to what was approved.
    pub commands_unheld: bool,
    /// What the run reads besides its record.
    pub kept: KeptFiles,
    /// Whether commands run in a sandbox that cannot write.
    pub read_only_sandbox: bool,
    /// Templates offered beside the skills (spec "Templates" 16).
    pub offer: Option<Arc<TemplateCatalog>>,
}

impl Services {
    /// Services with the clock of the machine and the bundled prompts. They have no tools, grants, hooks, skills of
    /// users, network or symbols of code, and nobody answers. A caller replaces the fields that it needs.
    pub fn of(basics: Basics) -> Self {
        let Basics { store, models, observer, index, workspace, files, kept } = basics;
        Self {
            store,
            clock: Arc::new(SystemClock),
            attendance: Arc::new(Unattended),
            grants: Arc::new(NoGrants),
            observer,
            slots: Slots::new(BTreeMap::new(), 1),
            models,
            tools: BTreeMap::new(),
            held_calls: HeldCalls::default(),
            process_tools: Vec::new(),
            hooks: Hooks::default(),
            disabled_tools: BTreeSet::new(),
            outline: Arc::new(NoOutline),
            documents: Arc::new(NoDocuments),
            refused_constraints: NameSet::default(),
            earlier_calls: EarlierCalls::default(),
            reuse: None,
            unpriced: Arc::default(),
            unknown_windows: Arc::default(),
            unseeing: NameSet::default(),
            large_pictures: NameSet::default(),
            commands: Commands::default(),
            large: LargeFiles::default(),
            pages: Pages::new(None, Some(kept.clone())),
            fetch: None,
            skill_dirs: SkillDirs::default(),
            pinned_skills: PinnedSkills::default(),
            snapshots: Snapshots::default(),
            templates: Templates::bundled(),
            environment: here(&workspace),
            current_file: None,
            open_files: Vec::new(),
            check_command: None,
            path_command: None,
            memory: Arc::new(IndexedMemory::new(Arc::clone(&index))),
            index,
            workspace: Arc::new(workspace),
            files,
            commands_apart: false,
            commands_unheld: false,
            kept,
            read_only_sandbox: false,
            offer: None,
        }
    }

    /// The project on disk, for references.
    pub fn disk(&self) -> Disk<'_> {
        Disk {
            workspace: &self.workspace,
            outline: &*self.outline,
            documents: &*self.documents,
            large: &self.large,
            resources: &self.pages,
        }
    }

    /// The files and sections of the project that are most related to a text. Blocks while it reads files.
    pub fn material(&self, request: &MaterialRequest<'_>) -> Material {
        material::find(self.disk(), &self.snapshots.words, request)
    }

    /// The files and folders of the project that a text names, in its order. Blocks while it reads files.
    pub fn named_files(&self, text: &str) -> Vec<String> {
        material::named_in(text, &self.snapshots.words.rank(&self.workspace, text))
    }

    /// The project with what its commands may do now. A grant applies from the moment when it is given (spec 11.14).
    /// Commands of a task can read the folder of its skill.
    pub fn workspace_for(&self, caller: &Caller, skill_dir: Option<&Path>) -> Arc<Workspace> {
        let mut granted = self.workspace.granted().clone();
        self.grants.add_to(&mut granted, caller);
        granted.shown.extend(skill_dir.map(Path::to_path_buf));
        Arc::new(Workspace::clone(&self.workspace).granting(granted))
    }

    /// Shows a person one line.
    pub fn notice(&self, text: &str) {
        self.observer.see(&Signal::Notice(text));
    }

    /// Warns once per run that the window of a model is a guess, and names the setting for it.
    pub fn warn_unknown_window(&self, model: &ModelInfo) {
        if model.window.is_none() && self.unknown_windows.add(&model.id) {
            let (id, provider) = (&model.id, &model.provider);
            self.notice(&format!(
                "note: the context window of {id} is unknown: tasks of templates assume {UNKNOWN_WINDOW} tokens, and prompts of \
                 sheets have no limit (set providers.{provider}.window)"
            ));
        }
    }

    /// Tells once per run that a model gets no pictures, and names the setting for it.
    pub(crate) fn tell_unseen(&self, model: &ModelInfo) {
        if self.unseeing.add(&model.id) {
            let (id, provider) = (&model.id, &model.provider);
            self.notice(&format!(
                "note: {id} gets no pictures, because it is not known to see them; use a model that does or, if this one \
                 does, set providers.{provider}.vision=true"
            ));
        }
    }

    /// Tells once per run that no model gets a picture because of its size.
    pub(crate) fn tell_too_large(&self, path: &str) {
        if self.large_pictures.add(path) {
            let path = visible_line(path);
            self.notice(&format!(
                "note: {path} is a picture that is too large, so no model gets it: at most {PICTURE_BYTES} bytes and \
                 {PICTURE_SIDE} pixels a side"
            ));
        }
    }

    /// Reports which rules of the project do not fit into the prompts for a model.
    pub fn tell_of_rules(&self, model: &ModelInfo) {
        for omitted in omitted_rules(&self.workspace, model) {
            self.notice(&format!("note: {omitted}; shorten the file, or use a model with a larger window"));
        }
    }

    /// Specifications of all registered tools and of the calls of templates.
    pub fn tool_specs(&self) -> Vec<ToolSpec> {
        let templates = self.offer.iter().flat_map(|offer| offer.specs.iter().cloned());
        self.tools.values().map(|tool| tool.spec().clone()).chain(templates).collect()
    }

    fn template_spec(&self, name: &str) -> Option<ToolSpec> {
        self.offer.as_ref()?.spec(name).cloned()
    }

    /// Specifications of the tools in `names` that are registered and enabled, in that order.
    pub fn offered_tools(&self, names: &[String]) -> Vec<ToolSpec> {
        names
            .iter()
            .filter(|name| !self.disabled_tools.contains(*name))
            .filter_map(|name| {
                let tool = self.tools.get(name).map(|tool| tool.spec().clone());
                tool.or_else(|| self.template_spec(name))
            })
            .collect()
    }

    /// What the machine must know about the tools.
    pub fn tool_policies(&self) -> BTreeMap<String, ToolPolicy> {
        let tools = self.tools.values().chain(&self.process_tools);
        let policy = |spec: &ToolSpec| {
            let unheld = self.commands_unheld && spec.effect == ToolEffect::Execute;
            ToolPolicy { unheld, ..ToolPolicy::from(spec) }
        };
        tools.map(|tool| (tool.spec().name.clone(), policy(tool.spec()))).collect()
    }

    /// Like `tool_policies`, but for a run of a sheet, whose tasks may call templates.
    pub fn call_policies(&self) -> BTreeMap<String, ToolPolicy> {
        let templates = self.offer.iter().flat_map(|offer| &offer.specs);
        let templates = templates.map(|spec| (spec.name.clone(), ToolPolicy::from(spec)));
        // A template never replaces a tool.
        templates.chain(self.tool_policies()).collect()
    }

    /// The current skills on disk, limited to those that the run offers. Reports issues of skill files.
    pub fn skills(&self, settings: &Settings) -> LoadedSkills {
        let specs = self.tool_specs();
        let context = SkillContext { tools: &specs, read_only_sandbox: self.read_only_sandbox };
        let mut loaded = load_skills(&self.skill_dirs, context);
        if let Some(offer) = &self.offer {
            let (catalog, issues) = std::mem::take(&mut loaded.catalog).with_templates(offer.skills.clone());
            loaded.catalog = catalog;
            loaded.issues.extend(issues);
        }
        if !settings.skills.is_empty() {
            let (catalog, issues) = std::mem::take(&mut loaded.catalog).restrict(&settings.skills);
            loaded.catalog = catalog;
            loaded.issues.extend(issues);
        }
        loaded
    }

    /// Stores the current version of a skill, so that the run keeps it (spec 7.5). Returns its policy with the hash
    /// under which [`Services::pinned`] finds it.
    pub fn pin(&self, skill: &Skill, loaded: &LoadedSkills) -> Result<SkillPolicy, DriveFault> {
        let replaces = loaded.catalog.replaced(&skill.name).iter().map(|source| source.path.clone()).collect();
        let text = serde_json::to_vec(&Pinned { skill: skill.clone(), replaces }).map_err(DriveFault::defect)?;
        let hash = self.store.put_blob(&text)?;
        Ok(SkillPolicy { hash: Some(hash), ..skill.policy.clone() })
    }

    /// The pinned skill of a task, or the built-in reader for a task without a skill.
    pub fn pinned(&self, policy: Option<&SkillPolicy>) -> Result<Skill, DriveFault> {
        let Some(hash) = policy.and_then(|policy| policy.hash.as_ref()) else { return Ok(reader_skill()) };
        let mut known = self.pinned_skills.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(skill) = known.get(hash) {
            return Ok(skill.clone());
        }
        let pinned: Pinned = serde_json::from_slice(&self.store.blob(hash)?).map_err(DriveFault::defect)?;
        let skill = pinned.skill;
        known.insert(hash.clone(), skill.clone());
        Ok(skill)
    }

    /// The folder of a task's skill, if the skill has its own files.
    pub fn skill_dir(&self, task: &TaskRun) -> Option<PathBuf> {
        // Only the folder form has files, and to find the folder, every skill must be read.
        if self.pinned(task.skill.as_ref()).is_ok_and(|skill| skill.form != SkillForm::Folder) {
            return None;
        }
        let specs = self.tool_specs();
        let context = SkillContext { tools: &specs, read_only_sandbox: self.read_only_sandbox };
        load_skills(&self.skill_dirs, context).folder(task.task.skill.as_deref()?).map(PathBuf::from)
    }

    /// The folder of a task's skill as a model and a command name it, if it has anything beside the instructions.
    pub fn shown_skill_dir(&self, task: &TaskRun) -> Option<String> {
        let folder = self.skill_dir(task)?;
        let others = std::fs::read_dir(&folder).ok()?.flatten().any(|entry| entry.file_name() != "SKILL.md");
        let shown = folder.strip_prefix(self.workspace.root()).unwrap_or(&folder);
        others.then(|| visible_line(&shown.display().to_string()))
    }

    /// A blob as text. Invalid UTF-8 is replaced.
    pub fn text(&self, id: &BlobId) -> Result<String, StoreFault> {
        Ok(String::from_utf8_lossy(&self.store.blob(id)?).into_owned())
    }
}

/// What prompts say about where the run takes place.
fn here(workspace: &Workspace) -> Environment {
    let (year, month, day, _) = civil(SystemClock.now_ms());
    Environment {
        date: format!("{year:04}-{month:02}-{day:02}"),
        system: std::env::consts::OS.to_owned(),
        shell: "sh".to_owned(),
        project_root: workspace.root().display().to_string(),
    }
}
