//! Skill files of all layers (spec 7.5). Each call reads the directories again, so that plan, iteration and
//! continuation see the current files. Tasks keep the version with which they started, through `SkillPolicy` and the
//! blob of the skill's text.

mod bundled;
mod scan;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use callsheet_core::nouns::{BlobId, Skill, SkillForm, SkillLayer, SkillSource};
use callsheet_format::skill::{Catalog, SkillContext, SkillFile, SkillIssue, SkillSeverity, powers, read_skill};

pub use bundled::bundled_files;

use crate::trust::{LeftOut, Trusted, folded, named_files};

/// Where skills are searched.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SkillDirs {
    /// The project's root.
    pub project: Option<PathBuf>,
    /// The user's Callsheet skills directory.
    pub user: Option<PathBuf>,
    /// The user's home.
    pub home: Option<PathBuf>,
    /// Files of the project that its user trusts.
    pub trusted: Trusted,
}

/// Folders of skills below the project and below the home.
const BELOW_PROJECT: &[(&str, SkillLayer)] = &[
    (".callsheet/skills", SkillLayer::Project),
    (".agents/skills", SkillLayer::ProjectAgents),
    (".claude/skills", SkillLayer::ProjectClaude),
];
const BELOW_HOME: &[(&str, SkillLayer)] =
    &[(".agents/skills", SkillLayer::UserAgents), (".claude/skills", SkillLayer::UserClaude)];

impl SkillDirs {
    /// Every folder in which skills are looked for, with its layer, the strongest first (spec 7.5).
    pub fn folders(&self) -> Vec<(PathBuf, SkillLayer)> {
        let below = |base: &Path, places: &[(&str, SkillLayer)]| -> Vec<(PathBuf, SkillLayer)> {
            places.iter().map(|(folder, layer)| (base.join(folder), *layer)).collect()
        };
        let project = self.project.iter().flat_map(|project| below(project, BELOW_PROJECT));
        let user = self.user.iter().map(|user| (user.clone(), SkillLayer::User));
        // A project in the home itself needs trust for what is there.
        let home = self.home.iter().filter(|home| self.project.as_ref() != Some(*home));
        project.chain(user).chain(home.flat_map(|home| below(home, BELOW_HOME))).collect()
    }
}

/// All skills found, and what was wrong with files.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LoadedSkills {
    /// The catalog.
    pub catalog: Catalog,
    /// Issues of files and layers. An error leaves out only its own skill.
    pub issues: Vec<SkillIssue>,
    /// Skills of the project that are not used until they are trusted (spec 12.7).
    pub left_out: Vec<LeftOut>,
    folders: BTreeMap<String, PathBuf>,
}

impl LoadedSkills {
    /// The folder of a skill in folder form. Its own runs may read the files in it (spec 7.1).
    pub fn folder(&self, name: &str) -> Option<&Path> {
        self.folders.get(name).map(PathBuf::as_path)
    }
}

/// Reads every layer: a few small files. Blocks.
pub fn load_skills(dirs: &SkillDirs, context: SkillContext<'_>) -> LoadedSkills {
    let mut issues = Vec::new();
    let mut files = Vec::new();
    for (folder, layer) in dirs.folders() {
        let project = dirs.project.as_deref().filter(|_| layer < SkillLayer::User);
        files.extend(scan::scan(&folder, layer, project.unwrap_or(Path::new("")), &mut issues));
    }
    let bundled =
        bundled_files().into_iter().map(|file| scan::ScannedSkill { file, folder: None, path: PathBuf::new() });
    let mut read = Vec::new();
    for found in files.into_iter().chain(bundled) {
        let (skill, found_issues) = read_skill(&found.file, context);
        issues.extend(found_issues);
        read.extend(skill.map(|skill| (skill, found)));
    }
    let names = read.iter().filter(|(skill, _)| !is_project(skill)).map(|(skill, _)| folded(&skill.name)).collect();
    let mut skills = Vec::new();
    let mut folders = BTreeMap::new();
    let mut left_out = Vec::new();
    for (skill, found) in read {
        let waiting = waits(&skill, &found, &names, dirs, context);
        if waiting.is_empty() {
            folders.insert(skill.source.path.clone(), found.folder);
            skills.push(skill);
        }
        left_out.extend(waiting);
    }
    let (catalog, layering) = Catalog::layer(skills);
    issues.extend(layering);
    let folders = catalog
        .skills()
        .filter_map(|skill| Some((skill.name.clone(), folders.get(&skill.source.path)?.clone()?)))
        .collect();
    LoadedSkills { catalog, issues, left_out, folders }
}

fn is_project(skill: &Skill) -> bool {
    skill.source.layer < SkillLayer::User
}

/// What a person must trust before a skill of a project is used: its text, if it could act or replaces one of `names`,
/// and the files that it may run without asking.
fn waits(
    skill: &Skill,
    found: &scan::ScannedSkill,
    names: &BTreeSet<String>,
    dirs: &SkillDirs,
    context: SkillContext<'_>,
) -> Vec<LeftOut> {
    if !is_project(skill) {
        return Vec::new();
    }
    let mut gains = powers(&skill.policy, context);
    if names.contains(&folded(&skill.name)) {
        gains.push(format!("replace the skill {}, which is built in or yours", skill.name));
    }
    let left_out = |path: PathBuf, hash: BlobId, gains: Vec<String>| LeftOut {
        path,
        hash,
        kind: "skill",
        names: vec![skill.name.clone()],
        gains,
    };
    let content = found.file.text.as_bytes();
    let own = !gains.is_empty() && !dirs.trusted.holds(&found.path, content);
    let own = own.then(|| left_out(found.path.clone(), BlobId::of(content), gains));
    let words = skill.policy.commands.iter().flat_map(|command| command.words.iter().map(String::as_str));
    let runs = dirs.project.iter().flat_map(|project| named_files(project, words.clone()));
    let runs = runs.filter(|(path, hash)| !dirs.trusted.holds_hash(path, hash));
    let runs = runs.map(|(path, hash)| {
        let gain = format!("be run by the skill {} without asking, once you approved its task", skill.name);
        left_out(path, hash, vec![gain])
    });
    own.into_iter().chain(runs).collect()
}

/// Issues of skill files that a person names: files, folders in folder form, and directories of skills, in which two
/// skills with one name are an error.
pub fn check_paths(paths: &[&Path], context: SkillContext<'_>) -> Vec<SkillIssue> {
    let mut issues = Vec::new();
    for path in paths {
        let before = issues.len();
        let one = scan::one(path, SkillLayer::Project, &mut issues);
        let alone = one.is_some();
        let found = match one {
            Some(found) => vec![found],
            None if path.is_dir() => scan::scan(path, SkillLayer::Project, Path::new(""), &mut issues),
            None => Vec::new(),
        };
        if found.is_empty() && issues.len() == before {
            issues.push(unreadable(
                &path.display().to_string(),
                "contains no skill",
                "name a .md file or a folder of skills",
            ));
        }
        let mut skills = Vec::new();
        for found in found {
            let (skill, found_issues) = read_skill(&found.file, context);
            issues.extend(found_issues);
            skills.extend(skill);
        }
        if !alone {
            issues.extend(Catalog::layer(skills).1);
        }
    }
    issues
}

/// The built-in instructions for tasks without a skill (spec 7.8). It has no tools and is never refined.
pub fn reader_skill() -> Skill {
    static READ: LazyLock<Skill> = LazyLock::new(read_reader);
    READ.clone()
}

fn read_reader() -> Skill {
    let text = include_str!("../../prompts/reader.md");
    let file = SkillFile {
        form: SkillForm::SingleFile,
        stem: "reader".to_owned(),
        source: SkillSource { layer: SkillLayer::Bundled, path: "built in: reader".to_owned() },
        text: text.to_owned(),
    };
    let plain = Skill {
        name: file.stem.clone(),
        description: String::new(),
        form: file.form,
        source: file.source.clone(),
        refinement: String::new(),
        execution: text.to_owned(),
        examples: Vec::new(),
        input_requirements: String::new(),
        policy: callsheet_core::nouns::SkillPolicy::default(),
        text: text.to_owned(),
    };
    let mut skill = read_skill(&file, SkillContext::default()).0.unwrap_or(plain);
    skill.policy.refine = Some(callsheet_core::nouns::Policy::Never);
    skill
}

fn unreadable(path: &str, reason: &str, advice: &str) -> SkillIssue {
    SkillIssue {
        severity: SkillSeverity::Error,
        file: path.to_owned(),
        line: 1,
        column: 1,
        message: reason.to_owned(),
        advice: advice.to_owned(),
        misspelt: None,
    }
}
