//! Everything a run needs of the world, behind ports.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use callsheet_core::record::ToolPolicy;
use callsheet_core::run::TaskRun;
use callsheet_core::spec::{BlobId, RunId, Settings, Skill, SkillForm, SkillPolicy, ToolEffect, ToolSpec};
use callsheet_format::prompt::{Environment, Templates};
use callsheet_format::skill::SkillContext;
use serde::{Deserialize, Serialize};

use crate::grants::Caller;
use crate::material::{self, Material, MaterialRequest};
use crate::paths::Workspace;
use crate::ports::{
    Attendance, Clock, Fetch, Grants, Index, Memory, ModelInfo, Observer, Outline, Signal, Store, StoreFault, Tool,
};
use crate::references::{Disk, LargeFiles, Pages};
use crate::rules::{Omitted, room, rules};
use crate::runfiles::{KeptFiles, RunFiles};
use crate::skills::{LoadedSkills, SkillDirs, load_skills, reader_skill};
use crate::templates::TemplateCatalog;
use crate::transport_policy::Slots;

pub use crate::effects::EarlierCalls;
use crate::fault::DriveFault;
use crate::ports::ModelSource;

mod snapshots;
pub use snapshots::Snapshots;

/// Window of a model that does not tell (spec 9).
pub(crate) const UNKNOWN_WINDOW: u32 = 8_192;

/// The file a person has open, relative to the project root.
pub type CurrentFile = String;

/// Pinned skills by hash: every call needs one, and they never change.
#[derive(Debug, Default)]
pub struct PinnedSkills(Mutex<BTreeMap<BlobId, Skill>>);

/// Models of which something was found in this process.
#[derive(Debug, Default)]
pub struct ModelSet(Mutex<BTreeSet<String>>);

impl ModelSet {
    /// Whether it was found of the model.
    pub fn holds(&self, model: &str) -> bool {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).contains(model)
    }

    /// Notes it; false if it was known.
    pub fn add(&self, model: &str) -> bool {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(model.to_owned())
    }
}

/// How many commands run.
#[derive(Clone, Debug, Default)]
pub struct Commands(Arc<AtomicUsize>);

impl Commands {
    /// Whether one runs.
    pub(crate) fn any(&self) -> bool {
        self.0.load(Ordering::SeqCst) > 0
    }

    /// One runs, until what is given is dropped.
    pub(crate) fn begin(&self) -> Command {
        self.0.fetch_add(1, Ordering::SeqCst);
        Command(self.clone())
    }
}

/// A command that runs.
pub(crate) struct Command(Commands);

impl Drop for Command {
    fn drop(&mut self) {
        self.0.0.fetch_sub(1, Ordering::SeqCst);
    }
}

/// Which rules of a project have no room in the prompts for a model.
pub fn omitted_rules(workspace: &Workspace, model: &ModelInfo) -> Vec<String> {
    let found = rules(workspace, &[], room(model.window)).map(|rules| rules.omitted).unwrap_or_default();
    let window = model.window.map(|window| format!(", whose window is {window} tokens")).unwrap_or_default();
    let words = |omitted: &Omitted| format!("{} for {}{window}", omitted.words(), model.id);
    found.iter().map(words).collect()
}

/// A skill as a run keeps it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Pinned {
    #[serde(flatten)]
    pub skill: Skill,
    /// Paths of the skills it replaces (spec 7.5).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub replaces: Vec<String>,
}

/// What one run needs of the world.
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
    /// Tools that are switched off.
    pub disabled_tools: BTreeSet<String>,
    /// The confined project.
    pub workspace: Arc<Workspace>,
    /// Symbols of code files.
    pub outline: Arc<dyn Outline>,
    /// Large files that were read already.
    pub large: LargeFiles,
    /// Network access, if there is any.
    pub fetch: Option<Arc<dyn Fetch>>,
    /// Pages of the run.
    pub pages: Pages,
    /// Where skills are found.
    pub skill_dirs: SkillDirs,
    /// Pinned skills that were read already.
    pub pinned_skills: PinnedSkills,
    /// Models whose provider refused a constraint, whatever they say: they are asked for free text from then on.
    pub refused_constraints: ModelSet,
    /// Calls whose replies others may have that ask the same.
    pub earlier_calls: EarlierCalls,
    /// The run whose replies a person lets this one use, as the command says.
    pub reuse: Option<RunId>,
    /// Models whose price was asked for and is not known.
    pub unpriced: Arc<ModelSet>,
    /// Models whose window was asked for and is not known.
    pub unknown_windows: Arc<ModelSet>,
    /// How many commands run.
    pub commands: Commands,
    /// What replies are compared with, kept from one reply to the next.
    pub snapshots: Snapshots,
    /// Prompt templates, loaded once for the run.
    pub templates: Templates,
    /// Date, system, shell, root.
    pub environment: Environment,
    /// The file a person has open.
    pub current_file: Option<CurrentFile>,
    /// Paths of other files that a person has open.
    pub open_files: Vec<String>,
    /// Start the processes of templates; no model is offered them.
    pub process_tools: Vec<Arc<dyn Tool>>,
    /// Checks changes on a copy of the project; no model is offered it.
    pub check_command: Option<Arc<dyn Tool>>,
    /// Prints paths for `file_paths` by command; no model is offered it.
    pub path_command: Option<Arc<dyn Tool>>,
    /// Lookups.
    pub memory: Arc<dyn Memory>,
    /// The index behind the lookups, to tell of entries that are out of date.
    pub index: Arc<dyn Index>,
    /// The run directory.
    pub files: RunFiles,
    /// Commands have a file system of their own, in which they cannot write what Callsheet reads back.
    pub commands_apart: bool,
    /// Nothing on this machine holds commands to what was approved.
    pub commands_unheld: bool,
    /// What the run reads back besides its record.
    pub kept: KeptFiles,
    /// Commands run in a sandbox that cannot write.
    pub read_only_sandbox: bool,
    /// Templates offered beside the skills (spec "Templates" 16).
    pub offer: Option<Arc<TemplateCatalog>>,
}

impl Services {
    /// The project on disk, as references see it.
    pub fn disk(&self) -> Disk<'_> {
        Disk { workspace: &self.workspace, outline: &*self.outline, large: &self.large }
    }

    /// The files and sections of the project that have most to do with a text. Blocks while files are read.
    pub fn material(&self, request: &MaterialRequest<'_>) -> Material {
        material::find(self.disk(), &self.snapshots.words, request)
    }

    /// The files and folders of the project that a text names, in its order. Blocks while files are read.
    pub fn named_files(&self, text: &str) -> Vec<String> {
        material::named_in(text, &self.snapshots.words.rank(&self.workspace, text))
    }

    /// The project with what its commands may do now: a grant counts from the moment that it is given (spec 11.14).
    pub fn workspace_for(&self, caller: Caller<'_>) -> Arc<Workspace> {
        let mut granted = self.workspace.granted().clone();
        self.grants.add_to(&mut granted, caller);
        Arc::new(Workspace::clone(&self.workspace).granting(granted))
    }

    /// Shows a person one line.
    pub fn notice(&self, text: &str) {
        self.observer.see(&Signal::Notice(text));
    }

    /// Warns once a run that the window of a model is guessed, with the setting that says what it is.
    pub fn warn_unknown_window(&self, model: &ModelInfo) {
        if model.window.is_none() && self.unknown_windows.add(&model.id) {
            let (id, provider) = (&model.id, &model.provider);
            self.notice(&format!(
                "note: the context window of {id} is unknown: tasks of templates assume {UNKNOWN_WINDOW} tokens, and prompts of \
                 sheets have no limit (set providers.{provider}.window)"
            ));
        }
    }

    /// Says which rules of the project have no room in the prompts for a model.
    pub fn tell_of_rules(&self, model: &ModelInfo) {
        for omitted in omitted_rules(&self.workspace, model) {
            self.notice(&format!("note: {omitted}; shorten the file, or use a model with a larger window"));
        }
    }

    /// Specifications of all registered tools, and of the calls of templates.
    pub fn tool_specs(&self) -> Vec<ToolSpec> {
        let templates = self.offer.iter().flat_map(|offer| offer.specs.iter().cloned());
        self.tools.values().map(|tool| tool.spec().clone()).chain(templates).collect()
    }

    fn template_spec(&self, name: &str) -> Option<ToolSpec> {
        self.offer.as_ref()?.spec(name).cloned()
    }

    /// Specifications of the tools in `names` that are registered and switched on, in that order.
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

    /// What the machine must know of the tools.
    pub fn tool_policies(&self) -> BTreeMap<String, ToolPolicy> {
        let tools = self.tools.values().chain(&self.process_tools);
        let policy = |spec: &ToolSpec| {
            let unheld = self.commands_unheld && spec.effect == ToolEffect::Execute;
            ToolPolicy { unheld, ..ToolPolicy::from(spec) }
        };
        tools.map(|tool| (tool.spec().name.clone(), policy(tool.spec()))).collect()
    }

    /// The same for a run of a sheet, whose tasks may call templates.
    pub fn call_policies(&self) -> BTreeMap<String, ToolPolicy> {
        let templates = self.offer.iter().flat_map(|offer| &offer.specs);
        let templates = templates.map(|spec| (spec.name.clone(), ToolPolicy::from(spec)));
        // A template never stands in the place of a tool.
        templates.chain(self.tool_policies()).collect()
    }

    /// The skills on disk now, restricted to those the run offers. Issues of skill files are reported.
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

    /// Writes a skill down as it is now, so that the run keeps this version (spec 7.5). Returns its policy with the
    /// hash under which [`Services::pinned`] finds it.
    pub fn pin(&self, skill: &Skill, loaded: &LoadedSkills) -> Result<SkillPolicy, DriveFault> {
        let replaces = loaded.catalog.replaced(&skill.name).iter().map(|source| source.path.clone()).collect();
        let text = serde_json::to_vec(&Pinned { skill: skill.clone(), replaces }).map_err(DriveFault::defect)?;
        let hash = self.store.put_blob(&text)?;
        Ok(SkillPolicy { hash: Some(hash), ..skill.policy.clone() })
    }

    /// The skill of a task as it was pinned; the built-in reader for a task without one.
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

    /// The folder of a task's skill with files of its own, if it has one.
    pub fn skill_dir(&self, task: &TaskRun) -> Option<PathBuf> {
        // Only the folder form has files, and finding the folder means to read every skill.
        if self.pinned(task.skill.as_ref()).is_ok_and(|skill| skill.form != SkillForm::Folder) {
            return None;
        }
        let specs = self.tool_specs();
        let context = SkillContext { tools: &specs, read_only_sandbox: self.read_only_sandbox };
        load_skills(&self.skill_dirs, context).folder(task.task.skill.as_deref()?).map(PathBuf::from)
    }

    /// A blob as text; invalid UTF-8 is replaced.
    pub fn text(&self, id: &BlobId) -> Result<String, StoreFault> {
        Ok(String::from_utf8_lossy(&self.store.blob(id)?).into_owned())
    }
}
