//! How a run begins.

use std::sync::Arc;

use callsheet_core::events::{self, Event};
use callsheet_core::fuzzy::did_you_mean;
use callsheet_core::issue::{Issue, Repair, RepairCode, Severity};
use callsheet_core::nouns::{Headless, Reference, RunId, Settings, TaskList};
use callsheet_core::prompt::Note;
use callsheet_core::record::{Entry, Tree};
use callsheet_format::reading::Reading;
use callsheet_format::skill::SkillSeverity;

use crate::driver::session::Session;
use crate::effects::template::{absent, keep_reachable};
use crate::fault::{DriveFault, InputFault};
use crate::reading::route::{list_of, task_of};
use crate::references::named_references;
use crate::services::Services;
use crate::sheetfile::{SheetReading, adopt_host_list, check_sheet};
use crate::skills::LoadedSkills;

/// How many warnings of a sheet file are reported when it is run.
const WARNINGS: usize = 10;

/// What a run begins with (spec 2.2).
#[derive(Clone, Debug, PartialEq)]
pub enum EntrySpec {
    /// A request that must be planned.
    Prompt(String),
    /// The text of a sheet file, and the text given with the run, if any.
    Sheet {
        /// Text of the file.
        text: String,
        /// Text given with the run.
        prompt: Option<String>,
    },
    /// A task tree, which is recorded as a whole.
    Template {
        /// The tree.
        tree: Box<Tree>,
        /// The request that it runs for.
        prompt: String,
    },
    /// One skill and one text.
    Skill {
        /// Name.
        name: String,
        /// What is needed.
        prompt: String,
    },
}

/// Starts a new run: records its first facts and returns the session to drive. A sheet with errors starts nothing.
///
/// # Errors
/// [`InputFault`], or the store's fault.
pub fn begin(
    services: &Arc<Services>,
    id: &RunId,
    entry: EntrySpec,
    settings: Settings,
) -> Result<Session, DriveFault> {
    let session = Session::open(Arc::clone(&services.store), id)?;
    begin_in(services, session, entry, settings)
}

/// Like [`begin`], in a session that its caller already holds. That is how a new name is claimed.
///
/// # Errors
/// As [`begin`].
pub fn begin_in(
    services: &Arc<Services>,
    mut session: Session,
    entry: EntrySpec,
    settings: Settings,
) -> Result<Session, DriveFault> {
    let mut tree_adopted = None;
    let (entry, list) = match entry {
        EntrySpec::Template { mut tree, prompt } => {
            let name = tree.entry.clone();
            tree.absent = absent(services, &tree);
            keep_reachable(&mut tree);
            tree_adopted = Some(events::TreeAdopted { tree }.into());
            (Entry::Template { name, prompt }, None)
        }
        EntrySpec::Prompt(prompt) => {
            refuse_empty(&prompt)?;
            (Entry::Prompt { prompt }, None)
        }
        EntrySpec::Sheet { text, prompt } => {
            let prompt = prompt.filter(|prompt| !prompt.trim().is_empty());
            let mut sheet = check_sheet(services, &text, prompt.as_deref(), &settings);
            let errors: Vec<Issue> = errors(&sheet.list.issues).cloned().collect();
            if !errors.is_empty() {
                return Err(InputFault::GivenSheet(errors).into());
            }
            let prompt = prompt.or(sheet.prompt.take());
            let prompt = prompt.unwrap_or_else(|| sheet.list.value.goals.text.clone());
            (Entry::Sheet { prompt }, Some(sheet))
        }
        EntrySpec::Skill { name, prompt } => {
            refuse_empty(&prompt)?;
            let list = one_task(services, &name, &prompt, &settings)?;
            let list = Reading { value: list, repairs: Vec::new(), issues: Vec::new(), wanted: Vec::new() };
            let sheet = SheetReading { list, prompt: None, no_longer_relevant: Vec::new() };
            (Entry::Skill { prompt }, Some(sheet))
        }
    };
    refuse_unknown_skills(services, &settings)?;
    report_skill_issues(services, &settings);
    let id = session.lock().run.clone();
    if session.entries() > 0 {
        return Err(InputFault::RunExists(id).into());
    }
    services.files.create().map_err(|fault| InputFault::Folder(fault.to_string()))?;
    let tools = if tree_adopted.is_some() { services.tool_policies() } else { services.call_policies() };
    // Both go into one append, because a run of a sheet without its list would have nothing pending.
    let mut events = Vec::new();
    events.extend(tree_adopted);
    if let Some(sheet) = list {
        report_warnings(services, &sheet.list.issues);
        report_done(services, &sheet.list.repairs);
        let adopted = adopt_host_list(services, session.run(), &settings, sheet)?;
        if let Event::ListAdopted(events::ListAdopted { list, .. }) = &adopted {
            let tasks = list.steps.iter().flatten().map(|planned| planned.task.slug.as_str());
            refuse_unknown_tasks(&settings.headless, tasks)?;
        }
        events.push(adopted);
    }
    events.extend(services.reuse.clone().map(|run| events::ReuseAllowed { run }.into()));
    events.insert(0, events::RunStarted { run: id, entry, settings, tools }.into());
    session.record(services, events)?;
    Ok(session)
}

/// Reports the warnings of a sheet file. The run begins anyway.
fn report_warnings(services: &Services, issues: &[Issue]) {
    for issue in issues.iter().take(WARNINGS) {
        services.notice(&format!("warning {}: {issue}", issue.code));
    }
    if let Some(more) = issues.len().checked_sub(WARNINGS).filter(|more| *more > 0) {
        services.notice(&format!("and {more} more; `callsheet sheet check FILE` lists all"));
    }
}

/// Reports the checked items of a checklist, which do not run.
fn report_done(services: &Services, repairs: &[Repair]) {
    let done = repairs.iter().filter(|repair| repair.code == RepairCode::ItemDone);
    let names: Vec<&str> = done.map(|repair| repair.before.as_str()).collect();
    if !names.is_empty() {
        services.notice(&format!("note: checked off, so not run: {}", names.join(", ")));
    }
}

/// Refuses a list of allowed skills with unknown names.
fn refuse_unknown_skills(services: &Services, settings: &Settings) -> Result<(), InputFault> {
    if settings.skills.is_empty() {
        return Ok(());
    }
    let all = services.skills(&Settings { skills: Vec::new(), ..settings.clone() });
    let unknown = settings.skills.iter().find(|name| all.catalog.get(name).is_none());
    unknown.map_or(Ok(()), |name| Err(unknown_skill(name, &all)))
}

fn unknown_skill(name: &str, loaded: &LoadedSkills) -> InputFault {
    let near = did_you_mean(name, loaded.catalog.skills().map(|skill| skill.name.as_str()));
    let advice = if near.is_empty() { "`callsheet skill list` lists all skills".to_owned() } else { near };
    InputFault::UnknownSkill { name: name.to_owned(), advice }
}

/// Refuses approval by name for tasks that a known list does not have.
fn refuse_unknown_tasks<'a>(
    headless: &Headless,
    tasks: impl Iterator<Item = &'a str> + Clone,
) -> Result<(), InputFault> {
    let Headless::Slugs(slugs) = headless else { return Ok(()) };
    // A task inside a call is named after the calling task.
    for name in slugs.iter().filter_map(|slug| slug.as_str().split('/').next()) {
        if tasks.clone().all(|task| task != name) {
            let near = did_you_mean(name, tasks);
            let advice =
                if near.is_empty() { "`--headless` takes stop, deny, approve, or tasks".to_owned() } else { near };
            return Err(InputFault::UnknownTask { name: name.to_owned(), advice });
        }
    }
    Ok(())
}

/// How many remarks about skill files a run prints. A collection of published skills has hundreds of them.
const REMARKS: usize = 5;

/// Reports what is wrong with skill files, and which skills of the project replace others: errors first, and not all of a
/// large number.
fn report_skill_issues(services: &Services, settings: &Settings) {
    let mut issues = services.skills(settings).issues;
    issues.sort_by_key(|issue| issue.severity != SkillSeverity::Error);
    for issue in issues.iter().take(REMARKS) {
        services.notice(&format!("note: {}:{}: {}", issue.file, issue.line, issue.message));
    }
    if let Some(more) = issues.len().checked_sub(REMARKS).filter(|more| *more > 0) {
        services.notice(&format!("note: {more} more about skill files; `callsheet skill list` prints all of them"));
    }
}

pub(super) fn refuse_empty(prompt: &str) -> Result<(), InputFault> {
    if prompt.trim().is_empty() { Err(InputFault::EmptyRequest) } else { Ok(()) }
}

fn errors(issues: &[Issue]) -> impl Iterator<Item = &Issue> {
    issues.iter().filter(|issue| issue.severity == Severity::Error)
}

/// The files that a request names. The person is told that they are read.
fn named(services: &Services, prompt: &str) -> Vec<Reference> {
    let references = named_references(prompt, services.disk());
    let paths: Vec<String> = references.iter().map(|reference| reference.target.to_string()).collect();
    if !paths.is_empty() {
        services.notice(&format!("attached {}", paths.join(", ")));
    }
    references
}

/// The list for one skill and a text (spec 2.2): one task, and the plan is complete.
fn one_task(services: &Services, name: &str, prompt: &str, settings: &Settings) -> Result<TaskList, DriveFault> {
    let loaded = services.skills(settings);
    if loaded.catalog.get(name).is_none() {
        // The skill may exist and have been left out.
        report_skill_issues(services, settings);
        return Err(unknown_skill(name, &loaded).into());
    }
    if loaded.catalog.get(name).is_some_and(|skill| skill.policy.lacks_refinement(settings.refine, &[])) {
        return Err(InputFault::NeedsRefinement(name.to_owned()).into());
    }
    Ok(list_of(task_of(prompt, Some(name), named(services, prompt), Note::ExpectedAnswer)))
}
