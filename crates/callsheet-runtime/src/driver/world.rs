//! Everything a drive needs of the world, behind ports.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use callsheet_core::prompt::{Environment, Templates};
use callsheet_core::record::ToolPolicy;
use callsheet_core::run::TaskRun;
use callsheet_core::skill::SkillContext;
use callsheet_core::spec::{BlobId, Settings, Skill, SkillForm, SkillPolicy, ToolSpec};

use serde::{Deserialize, Serialize};

use crate::edge::Slots;
use crate::paths::Workspace;
use crate::ports::{Clock, Fetch, Observer, Outline, Person, Signal, Store, StoreFault, Tool};
use crate::references::Pages;
use crate::runfiles::RunFiles;
use crate::skills::{LoadedSkills, SkillDirs, load_skills, reader_skill};

use super::{DriveFault, ModelSource, Snapshots};

/// The file a person has open, relative to the project root.
pub type CurrentFile = String;

/// Pinned skills by hash: every call needs one, and they never change.
#[derive(Debug, Default)]
pub struct PinnedSkills(Mutex<BTreeMap<BlobId, Skill>>);

/// Models whose provider refused a constraint in this process: they are asked for free text from then on.
#[derive(Debug, Default)]
pub struct RefusedConstraints(Mutex<BTreeSet<String>>);

impl RefusedConstraints {
    /// The model's provider refused one.
    pub fn holds(&self, model: &str) -> bool {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).contains(model)
    }

    /// Notes a refusal; false if it was known.
    pub fn add(&self, model: &str) -> bool {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(model.to_owned())
    }
}

/// A skill as a run keeps it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Pinned {
    #[serde(flatten)]
    pub skill: Skill,
    /// Paths of the skills it replaces (spec 7.5).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub replaces: Vec<String>,
}

/// The world of one run.
pub struct World {
    /// Facts, blobs, letters.
    pub store: Arc<dyn Store>,
    /// Time.
    pub clock: Arc<dyn Clock>,
    /// Who is asked.
    pub person: Arc<dyn Person>,
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
    /// Network access, if there is any.
    pub fetch: Option<Arc<dyn Fetch>>,
    /// Pages of the run.
    pub pages: Pages,
    /// Where skills are found.
    pub skill_dirs: SkillDirs,
    /// Pinned skills that were read already.
    pub pinned_skills: PinnedSkills,
    /// Models that take no constraint, whatever they say.
    pub refused_constraints: RefusedConstraints,
    /// What replies are compared with, kept from one reply to the next.
    pub snapshots: Snapshots,
    /// Prompt templates, loaded once for the run.
    pub templates: Templates,
    /// Date, system, shell, root.
    pub environment: Environment,
    /// The file a person has open.
    pub current_file: Option<CurrentFile>,
    /// Starts the processes of templates; no model is offered it.
    pub process_tool: Option<Arc<dyn Tool>>,
    /// The run directory.
    pub files: RunFiles,
    /// Commands run in a sandbox that cannot write.
    pub read_only_sandbox: bool,
}

impl World {
    /// Tells a person something in one line.
    pub fn notice(&self, text: &str) {
        self.observer.see(&Signal::Notice(text));
    }

    /// Specifications of all registered tools, by name.
    pub fn tool_specs(&self) -> Vec<ToolSpec> {
        self.tools.values().map(|tool| tool.spec().clone()).collect()
    }

    /// Specifications of the tools in `names` that are registered and switched on, in that order.
    pub fn offered_tools(&self, names: &[String]) -> Vec<ToolSpec> {
        names
            .iter()
            .filter(|name| !self.disabled_tools.contains(*name))
            .filter_map(|name| self.tools.get(name))
            .map(|tool| tool.spec().clone())
            .collect()
    }

    /// What the machine must know of the tools.
    pub fn tool_policies(&self) -> BTreeMap<String, ToolPolicy> {
        let tools = self.tools.values().chain(&self.process_tool);
        tools.map(|tool| (tool.spec().name.clone(), ToolPolicy::from(tool.spec()))).collect()
    }

    /// The skills on disk now, restricted to those the run offers. Issues of skill files are told.
    pub fn skills(&self, settings: &Settings) -> LoadedSkills {
        let specs = self.tool_specs();
        let context = SkillContext { tools: &specs, read_only_sandbox: self.read_only_sandbox };
        let mut loaded = load_skills(&self.skill_dirs, context);
        if !settings.skills.is_empty() {
            let (catalog, issues) = std::mem::take(&mut loaded.catalog).restrict(&settings.skills);
            loaded.catalog = catalog;
            loaded.issues.extend(issues);
        }
        loaded
    }

    /// Writes a skill down as it is now, so that the run keeps this version (spec 7.5). Returns its policy with the
    /// hash under which [`World::pinned`] finds it.
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
