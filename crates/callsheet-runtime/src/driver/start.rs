//! How a run begins and is taken up again.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use callsheet_core::evaluate::known_paths;
use callsheet_core::issue::{Issue, IssueCode, Severity};
use callsheet_core::record::{Entry, Event, Outcome, Tree};
use callsheet_core::run::{Effect, Run};
use callsheet_core::spec::{BlobId, Goals, RunId, Settings, Slug, Step, Task, TaskLimits, TaskList};
use callsheet_core::template::Template;
use callsheet_format::reading::Reading;
use callsheet_format::template::{Known, read_file_with};

use crate::paths::read_regular;
use crate::ports::{InboxMessage, StoreFault};
use crate::references::near_paths;

use super::handler::PATTERN;
use super::known::SheetReading;
use super::{DriveFault, Session, World, known, read};

/// Longest text that is looked at as a path, bytes.
const LONGEST_PATH: usize = 1_024;
/// Warnings of a sheet file that are told when it is run.
const WARNINGS: usize = 10;

/// What a run begins with (spec 2.2).
#[derive(Clone, Debug, PartialEq)]
pub enum EntrySpec {
    /// A request, to be planned.
    Prompt(String),
    /// A sheet file's text, and the text given with the run, if any.
    Sheet {
        /// Text of the file.
        text: String,
        /// Text given with the run.
        prompt: Option<String>,
    },
    /// A task tree, recorded whole.
    Template {
        /// The tree.
        tree: Box<Tree>,
        /// The request it is run for.
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
/// `DriveFault::GivenSheet` with the issues, `DriveFault::Invalid`, or what the store says.
pub fn begin(world: &Arc<World>, id: &RunId, entry: EntrySpec, settings: Settings) -> Result<Session, DriveFault> {
    let session = Session::open(Arc::clone(&world.store), id)?;
    begin_in(world, session, entry, settings)
}

/// [`begin`] in a session that its caller holds already, which is how a new name is claimed.
///
/// # Errors
/// As [`begin`].
pub fn begin_in(
    world: &Arc<World>,
    mut session: Session,
    entry: EntrySpec,
    settings: Settings,
) -> Result<Session, DriveFault> {
    let mut tree_adopted = None;
    let (entry, list) = match entry {
        EntrySpec::Template { mut tree, prompt } => {
            let name = tree.entry.clone();
            super::template::keep_reachable(&mut tree);
            tree.absent = absent(world, &tree);
            tree_adopted = Some(Event::TreeAdopted { tree });
            (Entry::Template { name, prompt }, None)
        }
        EntrySpec::Prompt(prompt) => {
            refuse_empty(&prompt)?;
            (Entry::Prompt { prompt }, None)
        }
        EntrySpec::Sheet { text, prompt } => {
            let prompt = prompt.filter(|prompt| !prompt.trim().is_empty());
            let mut sheet = check_sheet(world, &text, prompt.as_deref(), &settings);
            let errors: Vec<Issue> = errors(&sheet.list.issues).cloned().collect();
            if !errors.is_empty() {
                return Err(DriveFault::GivenSheet(errors));
            }
            let prompt = prompt.or(sheet.prompt.take());
            let prompt = prompt.unwrap_or_else(|| sheet.list.value.goals.text.clone());
            (Entry::Sheet { prompt }, Some(sheet))
        }
        EntrySpec::Skill { name, prompt } => {
            refuse_empty(&prompt)?;
            let list = one_task(world, &name, &prompt, &settings)?;
            let list = Reading { value: list, repairs: Vec::new(), issues: Vec::new(), wanted: Vec::new() };
            let sheet = SheetReading { list, prompt: None, no_longer_relevant: Vec::new() };
            (Entry::Skill { prompt }, Some(sheet))
        }
    };
    tell_of_skills(world, &settings);
    let id = session.lock().run.clone();
    if session.facts() > 0 {
        return Err(DriveFault::Invalid(format!("run {id} already exists")));
    }
    world.files.create().map_err(|fault| DriveFault::Invalid(fault.to_string()))?;
    let tools = if tree_adopted.is_some() { world.tool_policies() } else { world.call_policies() };
    // Both in one append: a run of a sheet without its list would owe nothing.
    let mut events = Vec::new();
    events.extend(tree_adopted);
    if let Some(sheet) = list {
        tell_of_warnings(world, &sheet.list.issues);
        events.push(known::adopt_host_list(world, session.run(), &settings, sheet)?);
    }
    events.insert(0, Event::RunStarted { run: id, entry, settings, tools });
    session.record(world, events)?;
    Ok(session)
}

/// Paths that are known before the run, and lead to nothing that may be read, with those that may be meant (spec
/// "Templates" 5).
pub(super) fn absent(world: &World, tree: &Tree) -> BTreeMap<String, Vec<String>> {
    let known = known_paths(tree);
    let is_path = |text: &&String| text.len() <= LONGEST_PATH && !text.trim().is_empty() && !text.contains('\n');
    let one = |path: &&String| is_path(path) && !path.contains(PATTERN);
    let lost = |path: &&String| world.workspace.locate(path).is_err();
    let lost = known.iter().chain(&tree.files).filter(one).filter(lost);
    lost.map(|path| (path.clone(), near_paths(&world.workspace, path))).collect()
}

/// How a run is taken up again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TakeUp {
    /// It goes on where it stopped.
    Resume,
    /// It has ended, and a person follows up on it (spec 2.17).
    Continue(String),
}

/// Takes a run up again. `settings` are those recorded, with what was given anew laid over them by the caller. What a
/// person changed meanwhile comes first: answers, the edited sheet, tasks retried and dropped.
///
/// # Errors
/// If another process writes the run, or there is none, or it cannot be taken up like that, or its edited sheet has
/// errors. In the last two cases nothing but answers was recorded.
pub fn reopen(
    world: &Arc<World>,
    id: &RunId,
    how: TakeUp,
    change: impl FnOnce(Settings) -> Settings,
) -> Result<Session, DriveFault> {
    let mut session = Session::open(Arc::clone(&world.store), id)?;
    if session.facts() == 0 {
        return Err(StoreFault::NoRun(id.clone()).into());
    }
    let settings = change(session.run().settings().clone());
    let (steering, last) = take_answers(&mut session, world)?;
    let taken_up = match how {
        TakeUp::Resume => Event::RunResumed { settings },
        TakeUp::Continue(text) => {
            refuse_empty(&text)?;
            Event::RunContinued { text, settings }
        }
    };
    let ended = session.run().outcome();
    match session.edit_after(world, Some(&taken_up))? {
        Some(edit) => {
            session.record_edit(world, Some(taken_up), edit)?;
        }
        None => {
            session.record(world, vec![taken_up])?;
        }
    }
    take_limits(&mut session, world, ended)?;
    super::gates::take_letters(&mut session, world, steering)?;
    if let Some(last) = last {
        world.store.discard(session.lock(), last)?;
    }
    if let Some(changed) = super::told::prompts_changed(world, session.run()) {
        session.record(world, vec![changed])?;
    }
    tell_of_edited_templates(world, session.run());
    session.rewrite_views(world)?;
    Ok(session)
}

/// Records what other processes answered. Gives what they want changed of the list, and the last number of all letters.
fn take_answers(session: &mut Session, world: &World) -> Result<(Vec<InboxMessage>, Option<u64>), DriveFault> {
    let letters = world.store.letters(session.lock())?;
    let last = letters.last().map(|(number, _)| *number);
    let (steering, answers): (Vec<InboxMessage>, Vec<InboxMessage>) =
        letters.into_iter().map(|(_, letter)| letter).partition(super::gates::steers);
    super::gates::take_letters(session, world, answers)?;
    if let (Some(last), true) = (last, steering.is_empty()) {
        // Recorded answers are not asked for again if the edited sheet stops what follows.
        world.store.discard(session.lock(), last)?;
    }
    Ok((steering, last))
}

/// Takes an edited sheet into a run that no process drives, before somebody looks at it or answers it (spec 2.18). Work is
/// left for who takes the run up; what needs no model is done, so that the run waits with its gates as they are now. True if
/// anything was recorded.
///
/// # Errors
/// The edited sheet has errors, or what the store says.
pub fn take_in(world: &World, id: &RunId) -> Result<bool, DriveFault> {
    let mut session = match Session::open(Arc::clone(&world.store), id) {
        // Whoever drives the run takes the edit.
        Err(DriveFault::Store(StoreFault::Locked { .. })) => return Ok(false),
        opened => opened?,
    };
    if !session.run().may_edit() {
        return Ok(false);
    }
    let before = session.facts();
    let (steering, last) = take_answers(&mut session, world)?;
    if let Some(edit) = session.edit_after(world, None)? {
        session.record_edit(world, None, edit)?;
    }
    super::gates::take_letters(&mut session, world, steering)?;
    if let Some(last) = last {
        world.store.discard(session.lock(), last)?;
    }
    while check_what_is_owed(&mut session, world)? {}
    rest(&mut session, world)?;
    session.write_views(world)?;
    Ok(session.facts() > before)
}

/// Checks references that a gate waits for. True if there were any.
fn check_what_is_owed(session: &mut Session, world: &World) -> Result<bool, DriveFault> {
    let mut checked = Vec::new();
    for effect in session.run().outstanding() {
        if let Effect::CheckReferences { task, n, stage } = effect {
            checked.push(read::check_references(world, session.run(), &task, n, stage)?);
        }
    }
    Ok(session.record(world, checked)? > 0)
}

/// A run that owes nothing but questions to people waits for them.
fn rest(session: &mut Session, world: &World) -> Result<(), DriveFault> {
    let run = session.run();
    if run.outcome().is_some() {
        return Ok(());
    }
    let asks = run.outstanding().iter().map(outcome_of).collect::<Option<Vec<Outcome>>>();
    let outcome = asks.and_then(|asks| asks.into_iter().min());
    session.record(world, outcome.map(|outcome| Event::RunWaiting { outcome }).into_iter().collect())?;
    Ok(())
}

/// What a run waits with that owes this alone; `None` for work.
fn outcome_of(effect: &Effect) -> Option<Outcome> {
    match effect {
        Effect::AskApproval(_) => Some(Outcome::ApprovalRequired),
        Effect::AskPerson { .. } => Some(Outcome::InputRequired),
        _ => None,
    }
}

/// Limits of the run's templates that were changed in their files count from here on, and what they had ended begins again.
fn take_limits(session: &mut Session, world: &World, ended: Option<Outcome>) -> Result<(), DriveFault> {
    let limits = changed_limits(world, session.run());
    if limits.is_empty() {
        return Ok(());
    }
    let names: Vec<&str> = limits.keys().map(String::as_str).collect();
    world.notice(&format!("note: the limits of {} changed and apply from now on", names.join(", ")));
    session.record(world, vec![Event::LimitsChanged { limits }])?;
    if ended == Some(Outcome::LimitReached) {
        let retried = |task| Event::TaskRetried { task, skills: BTreeMap::new() };
        let failed = session.run().failed_of_tree().into_iter().map(retried).collect();
        session.record(world, failed)?;
    }
    Ok(())
}

/// Limits of recorded templates of which nothing else was changed, by name.
fn changed_limits(world: &World, run: &Run) -> BTreeMap<String, Vec<TaskLimits>> {
    let mut changed = BTreeMap::new();
    let sources = run.operators().trees().flat_map(|tree| tree.sources.iter().map(move |source| (tree, source)));
    for (tree, (file, hash)) in sources {
        let Ok(bytes) = read_regular(&world.workspace.root().join(file)) else { continue };
        if BlobId::of(&bytes) == *hash {
            continue;
        }
        for now in templates_now(world, file, &bytes) {
            let Some(then) = tree.templates.get(&now.name).filter(|then| then.origin.file == *file) else { continue };
            let limits: Vec<TaskLimits> = now.body.walk().into_iter().map(|node| node.limits.clone()).collect();
            let mut with_them = then.clone();
            with_them.body.set_limits(&mut limits.iter().cloned());
            if *then != now && with_them == now {
                changed.insert(now.name.clone(), limits);
            }
        }
    }
    changed
}

/// The recorded tree runs; a person hears which of its files are no longer what it was read from.
fn tell_of_edited_templates(world: &World, run: &Run) {
    let mut told = BTreeSet::new();
    for tree in run.operators().trees() {
        let used = used_files(run, tree);
        for (file, hash) in tree.sources.iter().filter(|(file, _)| used.contains(file.as_str())) {
            let now = read_regular(&world.workspace.root().join(file));
            let same = now.as_ref().is_ok_and(|bytes| says_the_same(world, tree, file, bytes));
            let changed = now.map(|bytes| BlobId::of(&bytes)).ok().as_ref() != Some(hash) && !same;
            if changed && told.insert(file) {
                world
                    .notice(&format!("note: {file} changed after this run started; the run uses the previous version"));
            }
        }
    }
}

/// The templates that a file holds now.
fn templates_now(world: &World, file: &str, bytes: &[u8]) -> Vec<Template> {
    read_file_with(file, bytes, &Known { specs: world.tool_specs(), ..Known::default() }).templates
}

/// Whether the recorded templates of a file are as they are in it now.
fn says_the_same(world: &World, tree: &Tree, file: &str, bytes: &[u8]) -> bool {
    let now = templates_now(world, file, bytes);
    let mut recorded = tree.templates.values().filter(|then| then.origin.file == file);
    recorded.all(|then| now.iter().any(|now| now.name == then.name && now == then))
}

/// Files of the templates that the run began with, and of those that its subtasks ran.
fn used_files<'a>(run: &'a Run, tree: &'a Tree) -> BTreeSet<&'a str> {
    let mut seen: BTreeSet<&str> = BTreeSet::new();
    let mut open: Vec<&str> = run.operators().iter().map(|op| op.template.as_str()).collect();
    open.push(&tree.entry);
    let mut files = BTreeSet::new();
    while let Some(name) = open.pop() {
        let Some(template) = tree.templates.get(name).filter(|_| seen.insert(name)) else { continue };
        files.insert(template.origin.file.as_str());
        open.extend(template.body.walk().into_iter().filter_map(|node| node.template.as_deref()));
    }
    files
}

/// What reading a sheet file warns of; the run begins all the same.
fn tell_of_warnings(world: &World, issues: &[Issue]) {
    for issue in issues.iter().take(WARNINGS) {
        world.notice(&format!("warning {}: {issue}", issue.code));
    }
    if let Some(more) = issues.len().checked_sub(WARNINGS).filter(|more| *more > 0) {
        world.notice(&format!("and {more} more; `callsheet run --sheet FILE --check` lists all"));
    }
}

/// What is wrong with skill files, and which skills of the project stand in the place of others.
fn tell_of_skills(world: &World, settings: &Settings) {
    let loaded = world.skills(settings);
    for issue in &loaded.issues {
        world.notice(&format!("note: {}:{}: {}", issue.file, issue.line, issue.message));
    }
}

fn refuse_empty(prompt: &str) -> Result<(), DriveFault> {
    if prompt.trim().is_empty() { Err(DriveFault::Invalid("the request is empty".to_owned())) } else { Ok(()) }
}

fn errors(issues: &[Issue]) -> impl Iterator<Item = &Issue> {
    issues.iter().filter(|issue| issue.severity == Severity::Error)
}

/// Reads a sheet file without starting anything. Without a request given with it, the sheet has to say what it is for
/// (spec 2.2).
pub fn check_sheet(world: &World, text: &str, prompt: Option<&str>, settings: &Settings) -> SheetReading {
    let given = prompt.filter(|prompt| !prompt.trim().is_empty());
    let mut sheet = known::read_sheet(world, text, given, settings);
    let prompted = given.is_some() || sheet.prompt.as_ref().is_some_and(|prompt| !prompt.trim().is_empty());
    for issue in sheet.list.issues.iter_mut().filter(|issue| !prompted && issue.code == IssueCode::GoalsMissing) {
        issue.severity = Severity::Error;
    }
    sheet
}

/// The list of spec 2.2 (c): one task, plan complete.
fn one_task(world: &World, name: &str, prompt: &str, settings: &Settings) -> Result<TaskList, DriveFault> {
    let loaded = world.skills(settings);
    if loaded.catalog.get(name).is_none() {
        let near = callsheet_core::fuzzy::did_you_mean(name, loaded.catalog.skills().map(|skill| skill.name.as_str()));
        let near = if near.is_empty() { "`callsheet skill list` lists all skills".to_owned() } else { near };
        return Err(DriveFault::Invalid(format!("there is no skill \"{name}\". {near}")));
    }
    if loaded.catalog.get(name).is_some_and(|skill| skill.policy.lacks_refinement(settings.refine, &[])) {
        return Err(DriveFault::Invalid(format!(
            "skill \"{name}\" needs tool arguments that only a refinement can give, and refinement is disabled. \
             Allow it with `--refine auto`"
        )));
    }
    let task = Task {
        name: String::new(),
        slug: Slug::new(""),
        aliases: Vec::new(),
        need: prompt.trim().to_owned(),
        skill: Some(name.to_owned()),
        references: Vec::new(),
        expected: "A summary that answers the need.".to_owned(),
        approval: false,
        calls: Vec::new(),
        extra: String::new(),
    };
    let goals = Goals { text: prompt.trim().to_owned(), plan_complete: true, plan_continues: false };
    Ok(TaskList { goals, steps: vec![Step { tasks: vec![task] }] })
}
