//! Routing (spec 2.3): which skills a request may get, and the list that the host creates for a request with a single
//! task.

use callsheet_core::events::{self, Event, ListOrigin};
use callsheet_core::issue::Repair;
use callsheet_core::nouns::{Goals, Phase, Policy, Reference, Skill, SkillMode, Slug, Step, Target, Task, TaskList};
use callsheet_core::prompt::Note;
use callsheet_core::record::CallKey;
use callsheet_core::run::Run;
use callsheet_format::prompt::Candidate;
use callsheet_format::reply::ListReply;

use crate::fault::DriveFault;
use crate::material::{Material, MaterialRequest};
use crate::reading::list::reconcile;
use crate::references::named_references;
use crate::services::Services;
use crate::skills::LoadedSkills;

/// The skills that can be chosen now and, if a request may need several tasks, that choice too.
pub(crate) fn candidates(run: &Run, loaded: &LoadedSkills) -> Vec<Candidate> {
    let skills = loaded.catalog.offered().map(|skill| Candidate {
        name: skill.name.clone(),
        description: skill.description.clone(),
        examples: skill.examples.clone(),
        writes: skill.policy.writes_files,
    });
    let several = run.drafted().is_none() && run.settings().plan != Policy::Never;
    skills.chain(several.then(several_tasks).flatten()).collect()
}

/// The choice that leaves a request to the planner.
fn several_tasks() -> Option<Candidate> {
    let (name, description) = Note::RouteSeveral.text().split_once(": ")?;
    Some(Candidate { name: name.to_owned(), description: description.to_owned(), examples: Vec::new(), writes: true })
}

/// The task for a text: the person's words say what is needed.
pub(crate) fn task_of(text: &str, skill: Option<&str>, references: Vec<Reference>, expected: Note) -> Task {
    Task {
        name: String::new(),
        slug: Slug::new(""),
        aliases: Vec::new(),
        need: text.trim().to_owned(),
        skill: skill.map(str::to_owned),
        for_each: None,
        references,
        expected: expected.text().to_owned(),
        approval: false,
        review: None,
        calls: Vec::new(),
        extra: String::new(),
    }
}

/// A list of one task.
pub(crate) fn list_of(task: Task) -> TaskList {
    let goals = Goals { text: task.need.clone(), plan_complete: true, plan_continues: false };
    TaskList { goals, steps: vec![Step { tasks: vec![task] }] }
}

/// The list for a request with a single task.
pub(crate) fn direct_list(
    services: &Services,
    run: &Run,
    loaded: &LoadedSkills,
    (key, skill, written): (&CallKey, Option<&str>, &[String]),
    repairs: Vec<Repair>,
) -> Result<Event, DriveFault> {
    let request = run.prompt();
    let skill = skill.and_then(|name| loaded.catalog.get(name));
    let named = named_references(request, services.disk());
    let found = material(services, run, &named, skill);
    let is_whole = found.left_out == 0 && found.references.iter().all(|found| found.fits);
    let pages = named.iter().filter(|reference| matches!(reference.target, Target::Http(_))).cloned();
    let pages: Vec<Reference> = pages.collect();
    let all: Vec<Reference> = found.references.into_iter().map(|found| found.reference).chain(pages).collect();
    let direct = is_direct(skill, is_whole, !all.is_empty());
    let references = if direct { all } else { named };
    let writes = skill.is_some_and(|skill| skill.policy.writes_files);
    let expected = if writes { Note::ExpectedChanges } else { Note::ExpectedAnswer };
    let mut task = task_of(request, skill.map(|skill| skill.name.as_str()), references, expected);
    if let ([path], true) = (written, writes) {
        task.expected = Note::ExpectedFile.fill(&[("path", path)]);
    }
    let reply = ListReply { list: list_of(task), ..ListReply::default() };
    let mut list = reconcile(services, run, reply, loaded, false)?;
    list.writes = written.to_vec();
    list.steps.iter_mut().flatten().for_each(|planned| planned.direct = direct);
    let origin = ListOrigin::Reply(key.clone());
    Ok(events::ListAdopted { origin, list, repairs, issues: Vec::new() }.into())
}

/// What the task reads of the project: what the request names, and what else matches its words.
fn material(services: &Services, run: &Run, named: &[Reference], skill: Option<&Skill>) -> Material {
    let paths = named.iter().filter_map(|reference| match &reference.target {
        Target::File { path, .. } | Target::Directory(path) => Some(path.clone()),
        _ => None,
    });
    let paths: Vec<String> = paths.collect();
    let budget = &run.settings().budget;
    let window = services.models.model(Phase::Execute, skill.and_then(|skill| skill.policy.model.as_deref()));
    let window = window.ok().and_then(|model| model.info().window);
    // Half of the window is for what a prompt reads.
    let most = window.map_or(budget.material, |window| budget.material.min(window / 2));
    services.material(&MaterialRequest { text: run.prompt(), named: &paths, below: None, budget: most })
}

/// Whether one call with the material does the task. Then it needs no tool, or only tools that would search for what
/// the material already contains.
fn is_direct(skill: Option<&Skill>, is_whole: bool, has_material: bool) -> bool {
    let Some(policy) = skill.map(|skill| &skill.policy) else { return true };
    match policy.mode {
        SkillMode::Template | SkillMode::Handler | SkillMode::Process => false,
        SkillMode::Interpret if !policy.needs_arguments => true,
        SkillMode::Interpret | SkillMode::Loop => policy.writer.is_none() && is_whole && has_material,
    }
}
