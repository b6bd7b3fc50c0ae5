//! Tests skills and prompt templates as files: layers, rescans, the bundled ones (spec 7.5, 7.8, 8.1).
#![allow(clippy::disallowed_methods, clippy::disallowed_macros, reason = "tests read fixtures and say what they skip")]
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "helpers of tests fail by panicking")]

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use callsheet_core::nouns::{BlobId, Policy, SkillLayer, SkillMode, ToolSpec, tokens};
use callsheet_format::prompt::{PlanPrompt, PromptKey, Templates};
use callsheet_format::skill::{SkillContext, SkillFile, SkillSeverity, read_skill};
use callsheet_runtime::prompts::{PromptDirs, load_prompts};
use callsheet_runtime::skills::{LoadedSkills, SkillDirs, bundled_files, load_skills, reader_skill};
use callsheet_runtime::trust::{Trusted, file_name};
use tempfile::TempDir;

struct Folders {
    project: TempDir,
    user: TempDir,
}

impl Folders {
    fn new() -> Self {
        Self { project: TempDir::new().unwrap(), user: TempDir::new().unwrap() }
    }

    fn project(&self, path: &str, text: &str) {
        write(&self.project.path().join(path), text);
    }

    fn user(&self, path: &str, text: &str) {
        write(&self.user.path().join(path), text);
    }

    fn skills(&self) -> LoadedSkills {
        load_skills(
            &self.skill_dirs(Trusted::everything()),
            SkillContext { tools: &tools(), ..SkillContext::default() },
        )
    }

    fn skill_dirs(&self, trusted: Trusted) -> SkillDirs {
        SkillDirs {
            project: Some(self.project.path().into()),
            user: Some(self.user.path().into()),
            home: Some(self.user.path().join("home")),
            trusted,
        }
    }

    fn prompts(&self) -> PromptDirs {
        self.prompts_with(Trusted::everything())
    }

    fn prompts_with(&self, trusted: Trusted) -> PromptDirs {
        PromptDirs { project: Some(self.project.path().into()), user: Some(self.user.path().into()), trusted }
    }
}

fn tools() -> Vec<ToolSpec> {
    serde_json::from_str(include_str!("../../callsheet-core/tests/tools.json")).unwrap()
}

fn write(path: &Path, text: &str) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

fn skill(description: &str) -> String {
    format!("---\ndescription: {description}\n---\nDo it.\n")
}

/// covers: 7.6, 8.7
#[test]
fn every_bundled_skill_is_sound_and_short() {
    let files = bundled_files();
    let on_disk = fs::read_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../skills")).unwrap().count();
    assert_eq!(files.len(), on_disk, "a file in skills/ is not bundled");
    for file in files {
        let (skill, issues) = read_skill(&file, SkillContext { tools: &tools(), ..SkillContext::default() });
        assert!(issues.is_empty(), "{issues:?}");
        let skill = skill.unwrap();
        assert!(skill.description.chars().count() <= 300, "{}: the catalog cuts its description", skill.name);
        assert!(tokens(&skill.text) < 400, "{} is long for a small model", skill.name);
        assert!(!skill.refinement.is_empty(), "{} says nothing to the refinement", skill.name);
        for other in mentions(&skill.description) {
            assert!(is_bundled(other), "{} sends the reader to {other}", skill.name);
        }
        for block in skill.refinement.split("```json\n").skip(1) {
            let call: serde_json::Value = serde_json::from_str(block.split("```").next().unwrap()).unwrap();
            let tool = call["name"].as_str().unwrap();
            assert!(skill.policy.tools.iter().any(|allowed| allowed == tool), "{}: {tool}", skill.name);
            assert!(call["id"].is_string() && call["arguments"].is_object(), "{}", skill.name);
        }
        assert_eq!(skill.policy.needs_arguments, skill.refinement.contains("```json"), "{}", skill.name);
    }
}

/// Names with an underscore in parentheses, with which descriptions refer to other skills.
fn mentions(description: &str) -> impl Iterator<Item = &str> {
    description.split(['(', ')', ',', ' ', '.']).filter(|word| word.contains('_'))
}

fn is_bundled(name: &str) -> bool {
    bundled_files().iter().any(|file: &SkillFile| file.stem == name)
}

/// covers: 7.6, 11.1
#[test]
fn the_bundled_catalog_tells_its_skills_apart() {
    let catalog =
        load_skills(&SkillDirs::default(), SkillContext { tools: &tools(), ..SkillContext::default() }).catalog;
    let first: Vec<&str> = catalog.skills().filter_map(|skill| skill.description.split(' ').next()).collect();
    let unique: std::collections::BTreeSet<&str> = first.iter().copied().collect();
    assert_eq!(first.len(), unique.len(), "descriptions begin alike: {first:?}");
    let of = |name: &str| catalog.get(name).map(|skill| skill.policy.clone()).unwrap();
    assert_eq!(of("explore_code").mode, SkillMode::Loop);
    assert!(of("edit_code").writes_files && of("write_document").writes_files);
    assert!(of("run_checks").writer.is_some() && of("find_code").writer.is_none());
    assert!(!of("read_files").needs_arguments && of("find_code").needs_arguments);
    assert!(tokens(&catalog.render()) <= 660, "the whole catalog is read with every plan");
}

/// covers: 7.8
#[test]
fn the_built_in_reader_has_no_tools_and_is_never_refined() {
    let reader = reader_skill();
    assert_eq!(reader.name, "reader");
    assert!(reader.policy.tools.is_empty() && reader.policy.writer.is_none());
    assert_eq!(reader.policy.refine, Some(Policy::Never));
    assert!(!reader.execution.contains("---") && reader.refinement.is_empty());
}

/// covers: 7.5
#[test]
fn the_project_comes_before_its_agents_the_user_and_the_bundle() {
    let folders = Folders::new();
    let name = "find_code.md";
    for (layer, put) in [
        (SkillLayer::Bundled, None),
        (SkillLayer::User, Some("user")),
        (SkillLayer::ProjectAgents, Some("agents")),
        (SkillLayer::Project, Some("project")),
    ] {
        match put {
            Some("user") => folders.user(name, &skill("The user's.")),
            Some("agents") => folders.project(&format!(".agents/skills/{name}"), &skill("For agents.")),
            Some(_) => folders.project(&format!(".callsheet/skills/{name}"), &skill("The project's.")),
            None => {}
        }
        let loaded = folders.skills();
        assert_eq!(loaded.catalog.get("find_code").unwrap().source.layer, layer);
        let notices = loaded.issues.iter().filter(|issue| issue.severity == SkillSeverity::Notice).count();
        assert_eq!(notices, loaded.catalog.replaced("find_code").len());
    }
    let loaded = folders.skills();
    assert_eq!(loaded.catalog.replaced("find_code").len(), 3);
    assert_eq!(loaded.catalog.get("find_code").unwrap().source.path, ".callsheet/skills/find_code.md");
}

/// covers: 7.1, 7.3
#[test]
fn a_bad_file_leaves_out_only_its_own_skill() {
    let folders = Folders::new();
    folders.project(".callsheet/skills/good/SKILL.md", "---\nname: good\ndescription: Good.\n---\nDo it.\n");
    folders.project(".callsheet/skills/good/words.txt", "beside it");
    folders.project(".callsheet/skills/bad.md", "---\ndescription: [no, text]\n---\nDo it.\n");
    folders.project(".callsheet/skills/no-skill/notes.md", "no skill at all");
    folders.project(".callsheet/skills/README.md", "about this folder");
    folders.project(".callsheet/skills/data.bin", "not even Markdown");
    fs::write(folders.project.path().join(".callsheet/skills/bytes.md"), [0xff, 0xfe]).unwrap();
    let loaded = folders.skills();
    assert!(loaded.catalog.get("good").is_some() && loaded.catalog.get("bad").is_none());
    let places: Vec<String> = loaded.issues.iter().map(|issue| format!("{}:{}", issue.file, issue.line)).collect();
    assert_eq!(places, [".callsheet/skills/bytes.md:1", ".callsheet/skills/bad.md:2"]);
    let folder = loaded.folder("good").unwrap();
    assert!(folder.join("words.txt").exists());
    assert_eq!(loaded.folder("find_code"), None);
}

/// covers: 7.5
#[test]
fn directories_are_read_anew_on_each_load() {
    let folders = Folders::new();
    assert!(folders.skills().catalog.get("later").is_none());
    folders.user("later.md", &skill("One."));
    let one = folders.skills().catalog.get("later").unwrap().policy.hash.clone();
    folders.user("later.md", &skill("Two."));
    let two = folders.skills().catalog.get("later").unwrap().policy.hash.clone();
    assert_ne!(one, two);
    fs::remove_file(folders.user.path().join("later.md")).unwrap();
    assert!(folders.skills().catalog.get("later").is_none());
}

/// covers: 8.1
#[test]
fn templates_of_the_project_win_and_their_hashes_are_known() {
    let folders = Folders::new();
    let own = |word: &str| Templates::bundled_text(PromptKey::Plan).replace("You are a planner", word);
    folders.user("task_creation_initial.md", &own("The user's"));
    let user = load_prompts(&folders.prompts());
    assert!(PlanPrompt::default().render(&user.templates).unwrap().system.starts_with("The user's"));
    folders.project(".callsheet/prompts/task_creation_initial.md", &own("The project's"));
    let project = load_prompts(&folders.prompts());
    assert!(PlanPrompt::default().render(&project.templates).unwrap().system.starts_with("The project's"));
    assert_eq!(project.templates.hash(PromptKey::Plan), Some(BlobId::of(own("The project's").as_bytes())));
    assert!(project.templates.source(PromptKey::Plan).unwrap().path.contains(".callsheet"));
    assert!(user.unknown.is_empty() && project.unknown.is_empty());
}

/// covers: 8.1, 8.6
#[test]
fn an_alias_is_read_and_a_stray_file_is_named() {
    let folders = Folders::new();
    let text = Templates::bundled_text(PromptKey::Iteration);
    folders.project(".callsheet/prompts/task_post_completion.md", text);
    folders.project(".callsheet/prompts/task_plan.md", text);
    let loaded = load_prompts(&folders.prompts());
    assert!(loaded.templates.source(PromptKey::Iteration).unwrap().path.ends_with("task_post_completion.md"));
    let [(path, fault)] = loaded.unknown.as_slice() else { panic!("{:?}", loaded.unknown) };
    assert!(path.ends_with("task_plan.md"));
    assert!(fault.to_string().starts_with("No prompt template \"task_plan\". Known: task_creation_initial, "));
}

/// covers: 8.1, 8.2
#[test]
fn a_broken_template_is_an_error_only_when_it_is_used() {
    let folders = Folders::new();
    folders.project(".callsheet/prompts/task_post_exec.md", "no separator");
    let loaded = load_prompts(&folders.prompts());
    assert!(PlanPrompt::default().render(&loaded.templates).is_ok());
    let fault = loaded.templates.get(PromptKey::Merge).unwrap_err().to_string();
    assert!(fault.contains("task_post_exec") && fault.contains(".callsheet/prompts"), "{fault}");
}

/// covers: 12.7
#[test]
fn what_could_act_waits_for_trust_in_what_it_holds() {
    let folders = Folders::new();
    let bash = "---\ndescription: Runs.\ntools: run_command\n---\nRun.\n";
    folders.project(".callsheet/skills/reads.md", &skill("Reads."));
    folders.project(".callsheet/skills/writes.md", "---\ndescription: Writes.\ntools: write_file\n---\nWrite.\n");
    folders.project(".callsheet/skills/runs.md", bash);
    folders.project(".agents/skills/chooses.md", "---\ndescription: x\nmodel: other/model\n---\nDo it.\n");
    folders.project(".agents/skills/edit-code.md", &skill("In the place of a bundled one."));
    folders.user("own.md", "---\ndescription: Mine.\ntools: run_command\n---\nRun.\n");
    let tools = tools();
    let context = SkillContext { tools: &tools, ..SkillContext::default() };
    let load = |trusted| load_skills(&folders.skill_dirs(trusted), context);
    let loaded = load(Trusted::default());
    for name in ["reads", "writes", "own"] {
        assert!(loaded.catalog.get(name).is_some(), "{name}");
    }
    let left: Vec<&str> = loaded.left_out.iter().flat_map(|one| &one.names).map(String::as_str).collect();
    assert!(left.contains(&"runs") && left.contains(&"chooses"), "{left:?}");
    assert!(loaded.catalog.get("runs").is_none() && loaded.catalog.get("chooses").is_none());
    assert_eq!(loaded.catalog.get("edit_code").map(|skill| skill.source.layer), Some(SkillLayer::Bundled));

    let file = folders.project.path().join(".callsheet/skills/runs.md");
    let hash = BlobId::of(bash.as_bytes()).as_str().to_owned();
    let trusted = Trusted::only(BTreeMap::from([(file_name(&file), hash)]));
    assert!(load(trusted.clone()).catalog.get("runs").is_some());
    fs::write(&file, format!("{bash}Run more.\n")).unwrap();
    assert!(load(trusted).catalog.get("runs").is_none(), "another content is asked about again");
}

/// covers: 12.7
#[test]
fn prompts_of_a_project_wait_for_trust_and_links_are_never_read() {
    let folders = Folders::new();
    let bundled = Templates::bundled_text(PromptKey::Plan);
    let own = bundled.replace("You are a planner", "Obey the project");
    let file = folders.project.path().join(".callsheet/prompts/task_creation_initial.md");
    folders.user("task_creation_initial.md", &bundled.replace("You are a planner", "The user's"));
    folders.project(".callsheet/prompts/task_creation_initial.md", &own);
    let says = |trusted| {
        let loaded = load_prompts(&folders.prompts_with(trusted));
        let system = PlanPrompt::default().render(&loaded.templates).unwrap().system;
        (system.lines().next().unwrap_or_default().to_owned(), loaded)
    };
    let (first, loaded) = says(Trusted::default());
    assert!(first.starts_with("The user's"), "{first}");
    assert_eq!(loaded.left_out.len(), 1);
    let hash = BlobId::of(own.as_bytes()).as_str().to_owned();
    let trusted = Trusted::only(BTreeMap::from([(file_name(&file), hash)]));
    assert!(says(trusted.clone()).0.starts_with("Obey the project"));

    fs::rename(&file, folders.project.path().join("beside.md")).unwrap();
    symlink(folders.project.path().join("beside.md"), &file).unwrap();
    folders.project(".callsheet/skills/real.md", &skill("Real."));
    symlink(folders.project.path().join("beside.md"), folders.project.path().join(".callsheet/skills/link.md"))
        .unwrap();
    let (first, loaded) = says(trusted);
    assert!(first.starts_with("The user's") && loaded.links == [file], "{first}");
    let skills = folders.skills();
    assert!(skills.catalog.get("link").is_none() && skills.catalog.get("real").is_some());
    assert!(skills.issues.iter().any(|issue| issue.file.ends_with("link.md")), "{:?}", skills.issues);
}
