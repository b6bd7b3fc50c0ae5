//! What a reply is compared with: the project, the request, the list so far, the task and what was shown of it.
//!
//! `fixtures/book/<phase>/<request>.case` holds header lines `key: value`, an empty line, and the list of the run in the
//! form of a sheet. Keys: `world`, `part` (`seen` or `held-out`), `request`, `skill` (one a line, in place of the
//! bundled ones), `done`, `failed`, `current` (slugs of the list), `shown` (paths), `written`
//! (paths of new files of earlier tasks), `taken` (ids of earlier calls).

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::sync::Arc;

use callsheet_core::nouns::{
    BlobId, Skill, SkillForm, SkillLayer, SkillMode, SkillPolicy, SkillSource, Slug, ToolSpec,
};
use callsheet_format::reading::{KnownTask, ReadContext};
use callsheet_format::reply::read_sheet;
use callsheet_format::skill::{SkillContext, SkillFile, read_skill};

use super::world::World;

/// Every case of a phase, by name.
pub fn cases(phase: &str) -> Vec<Case> {
    let Ok(files) = fs::read_dir(super::folder().join(phase)) else { return Vec::new() };
    let names = files.map(|entry| entry.expect("entry").file_name().to_string_lossy().into_owned());
    let mut requests: Vec<String> = names.filter_map(|name| Some(name.strip_suffix(".case")?.to_owned())).collect();
    requests.sort();
    requests.iter().map(|request| Case::load(phase, request)).collect()
}

/// The world of a reply.
#[derive(Clone, Debug)]
pub struct Case {
    pub world: World,
    /// The reply was not looked at while the reader and the prompts were mended.
    pub held_out: bool,
    pub taken_ids: BTreeSet<String>,
    header: Vec<(String, String)>,
    sheet: String,
}

impl Case {
    pub fn load(phase: &str, request: &str) -> Self {
        let path = super::folder().join(phase).join(format!("{request}.case"));
        let text = fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        let (head, sheet) = text.split_once("\n\n").unwrap_or((text.trim_end(), ""));
        let header: Vec<(String, String)> = head
            .lines()
            .map(|line| line.split_once(": ").unwrap_or_else(|| panic!("{}: {line}", path.display())))
            .map(|(key, value)| (key.to_owned(), value.to_owned()))
            .collect();
        let mut case = Self {
            world: World::default(),
            held_out: false,
            taken_ids: BTreeSet::new(),
            header,
            sheet: sheet.to_owned(),
        };
        let mut world = World::load(case.get("world").next().expect("world"));
        case.get("written").for_each(|path| world.add(path));
        let held_out = case.get("part").next() == Some("held-out");
        let taken_ids = case.get("taken").map(str::to_owned).collect();
        (case.world, case.held_out, case.taken_ids) = (world, held_out, taken_ids);
        case
    }

    fn get<'a>(&'a self, key: &'a str) -> impl Iterator<Item = &'a str> {
        self.header.iter().filter(move |(known, _)| known == key).map(|(_, value)| value.as_str())
    }

    fn is(&self, key: &str, slug: &Slug) -> bool {
        self.get(key).any(|value| value == slug.as_str())
    }

    /// What the product would compare a reply with.
    pub fn context(&self) -> ReadContext {
        let tools = tools();
        let mut catalog: Vec<Skill> = self.get("skill").map(named_skill).collect();
        if catalog.is_empty() {
            catalog = bundled(&tools);
            catalog.extend(templates());
        }
        catalog.sort_by(|a, b| a.name.cmp(&b.name));
        let mut context = ReadContext {
            catalog,
            tools: tools.into_iter().map(Arc::new).collect(),
            prompts: self.get("request").map(str::to_owned).collect(),
            prompt_budget: 24_000,
            reference_budget: 8_000,
            ..ReadContext::default()
        };
        self.add_tasks(&mut context);
        for path in self.get("shown") {
            let text = self.world.text(path).unwrap_or_else(|| panic!("no file {path}"));
            context.shown_in_full.insert(path.to_owned(), BlobId::of(text.as_bytes()));
        }
        context
    }

    fn add_tasks(&self, context: &mut ReadContext) {
        if self.sheet.is_empty() {
            return;
        }
        let mut reading = read_sheet(&self.sheet, context);
        for _ in 0..4 {
            for lookup in
                callsheet_format::reply::lookups(callsheet_format::reply::ReplyKind::Sheet, &self.sheet, context)
            {
                context.answers.insert(lookup.clone(), self.world.answer(&lookup));
            }
            reading = read_sheet(&self.sheet, context);
        }
        assert!(reading.is_accepted(), "the sheet of a case has issues: {:?}", reading.issues);
        context.steps = reading.value.list.steps.len();
        for (step, tasks) in (0_u32..).zip(reading.value.list.steps) {
            for task in tasks.tasks {
                context.taken.insert(task.slug.clone());
                if self.is("current", &task.slug) {
                    context.current = Some(task.clone());
                }
                let done = self.is("done", &task.slug);
                let policy = context.catalog.iter().find(|skill| Some(&skill.name) == task.skill.as_ref());
                context.tasks.push(Arc::new(KnownTask {
                    writer: policy.is_some_and(|skill| skill.policy.writer.is_some()),
                    step: Some(step),
                    done,
                    denied: false,
                    headings: vec!["result-summary".to_owned()],
                    details: Vec::new(),
                    tokens: 100,
                    task,
                }));
            }
        }
        if let Some(skill) = context.current.as_ref().and_then(|task| task.skill.clone()) {
            // A reply about one task is compared with its pinned skill alone.
            context.catalog.retain(|known| known.name == skill);
        }
    }
}

fn tools() -> Vec<ToolSpec> {
    let text = fs::read_to_string(super::folder().join("tools.json")).expect("tools.json");
    serde_json::from_str(&text).expect("tools")
}

/// The bundled skills.
fn bundled(tools: &[ToolSpec]) -> Vec<Skill> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../skills");
    let files = fs::read_dir(folder).expect("skills").map(|entry| entry.expect("entry").path());
    // The world of the replies offers fewer.
    let all: Vec<ToolSpec> =
        serde_json::from_str(include_str!("../../../../callsheet-core/tests/tools.json")).expect("tools.json");
    let tools: Vec<ToolSpec> = tools.iter().cloned().chain(all).collect();
    let context = SkillContext { tools: &tools, read_only_sandbox: false };
    files
        .filter(|path| path.extension().is_some_and(|ending| ending == "md"))
        .map(|path| {
            let stem = path.file_stem().and_then(|stem| stem.to_str()).expect("a name").to_owned();
            let source = SkillSource { layer: SkillLayer::Bundled, path: format!("{stem}.md") };
            let text = fs::read_to_string(&path).expect("a skill");
            read_skill(&SkillFile { form: SkillForm::SingleFile, stem, source, text }, context)
                .0
                .expect("a sound skill")
        })
        .collect()
}

/// The bundled templates, which stand in the catalog beside the skills.
fn templates() -> Vec<Skill> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../templates");
    let files = fs::read_dir(folder).expect("templates").map(|entry| entry.expect("entry").path());
    files
        .filter(|path| path.extension().is_some_and(|ending| ending == "yaml"))
        .map(|path| path.file_stem().and_then(|stem| stem.to_str()).expect("a name").to_owned())
        .filter(|name| !matches!(name.as_str(), "default_atomic" | "match_files"))
        .map(|name| {
            let mut skill = named_skill(&name);
            skill.policy.mode = SkillMode::Template;
            skill.policy.tools = vec![name];
            skill
        })
        .collect()
}

/// `NAME [writer]`: a skill of an older catalog.
fn named_skill(value: &str) -> Skill {
    let (name, writer) = value.split_once(' ').unwrap_or((value, ""));
    let policy = SkillPolicy {
        writer: (!writer.is_empty()).then(|| "the skill writes".to_owned()),
        mode: SkillMode::Interpret,
        ..SkillPolicy::default()
    };
    Skill {
        description: name.to_owned(),
        form: SkillForm::SingleFile,
        source: SkillSource { layer: SkillLayer::Project, path: format!("{name}.md") },
        refinement: String::new(),
        execution: "Do it.".to_owned(),
        examples: Vec::new(),
        input_requirements: String::new(),
        policy,
        text: String::new(),
        name: name.to_owned(),
    }
}
