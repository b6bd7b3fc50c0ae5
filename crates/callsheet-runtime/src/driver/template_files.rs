//! Takes over templates of a run whose files changed while the run rested (spec "Templates" 15).

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use callsheet_core::events::{self, LogEntry};
use callsheet_core::nouns::{BlobId, RunId, Slug, TaskLimits};
use callsheet_core::record::{Outcome, Tree};
use callsheet_core::run::{EditedTasks, Run, State, TaskRun};
use callsheet_core::template::{Kind, Template};
use callsheet_format::template::{Known, read_file_with};

use crate::driver::session::Session;
use crate::effects::template::{absent, keep_reachable};
use crate::fault::DriveFault;
use crate::paths::read_regular;
use crate::services::Services;
use crate::templates::TemplateCatalog;

/// How many tasks a notice names.
const SHOWN: usize = 5;

/// A tree of a run whose templates were edited since the run recorded them.
pub struct EditedTree {
    number: usize,
    /// The edited files.
    pub files: Vec<String>,
    /// The tree as it is now, or why the run keeps the recorded one.
    now: Result<Box<Tree>, String>,
}

/// The trees of a run whose templates were edited since the run recorded them. `offer` is what the files hold now.
pub fn edited_trees(root: &Path, run: &Run, offer: &TemplateCatalog) -> Vec<EditedTree> {
    let trees = run.operators().trees().enumerate().filter(|(number, _)| counts(run, *number));
    trees.filter_map(|(number, tree)| edited_tree(root, run, offer, number, tree)).collect()
}

/// Whether an edit of a tree may concern the run: it is a tree of the run itself, or of a call whose task is not done.
fn counts(run: &Run, number: usize) -> bool {
    let operators = run.operators();
    let goes_on = |state: State| !state.is_ended() || state == State::Failed;
    let caller =
        operators.caller(number).map(|caller| run.task(&caller.task).is_some_and(|task| goes_on(task.state())));
    operators.top_of(number).is_some_and(|top| !top.is_former()) && caller.unwrap_or(true)
}

fn edited_tree(root: &Path, run: &Run, offer: &TemplateCatalog, number: usize, tree: &Tree) -> Option<EditedTree> {
    let used = used_templates(run, tree);
    let is_used = |file: &&String| used.values().any(|template| template.origin.file == **file);
    let differs = |file: &&String| {
        read_regular(&root.join(file)).map(|bytes| BlobId::of(&bytes)).ok().as_ref() != tree.sources.get(*file)
    };
    let files: Vec<String> = tree.sources.keys().filter(is_used).filter(differs).cloned().collect();
    let same = |(name, then): (&&str, &&Template)| {
        !files.contains(&then.origin.file) || offer.tree.templates.get(*name) == Some(*then)
    };
    if files.is_empty() || used.iter().all(same) {
        return None;
    }
    Some(EditedTree { number, files, now: tree_now(offer, tree) })
}

/// The recorded tree with the templates that the files hold now.
fn tree_now(offer: &TemplateCatalog, tree: &Tree) -> Result<Box<Tree>, String> {
    let (then, now) = (tree.templates.get(&tree.entry), offer.tree.templates.get(&tree.entry));
    let Some((then, now)) = then.zip(now) else {
        return Err(
            "the new one is not available (`callsheet template check` and `callsheet trust` tell why)".to_owned()
        );
    };
    let taken = |template: &Template| {
        let taken = template.takes();
        taken.iter().map(|one| (one.name.to_owned(), one.kind, one.required)).collect::<Vec<_>>()
    };
    if taken(then) != taken(now) {
        return Err("the new one takes other inputs".to_owned());
    }
    let Tree { templates, schemas, sources, .. } = offer.tree.clone();
    let mut now = Box::new(Tree { templates, schemas, ..tree.clone() });
    keep_reachable(&mut now);
    let is_there = |file: &String| now.templates.values().any(|template| template.origin.file == *file);
    now.sources = sources.into_iter().filter(|(file, _)| is_there(file)).collect();
    Ok(now)
}

/// Takes over the templates that were edited while the run rested. Tasks that the edit does not change keep what they
/// have. What former limits had ended continues.
pub(super) fn take_over_edits(
    session: &mut Session,
    services: &Services,
    ended: Option<Outcome>,
) -> Result<(), DriveFault> {
    let Some(offer) = services.offer.as_ref() else { return Ok(()) };
    let mut limits_differ = false;
    for edited in edited_trees(services.workspace.root(), session.run(), offer) {
        let files = edited.files.join(", ");
        let kept = |why: &str| {
            services.notice(&format!(
                "note: {files} changed after this run started; the run uses the previous version: {why}"
            ))
        };
        let tree = match edited.now {
            Ok(mut tree) => {
                tree.absent = absent(services, &tree);
                tree
            }
            Err(why) => {
                kept(&format!("{why}{}", in_a_new_run(session.run(), offer, edited.number)));
                continue;
            }
        };
        let before = session.run().operators().trees().nth(edited.number).cloned();
        let event = events::TreeEdited { tree_number: edited.number, tree };
        let tasks = match changed_tasks(session.run(), &event) {
            Ok(tasks) => tasks,
            Err(why) => {
                kept(&why);
                continue;
            }
        };
        limits_differ |= before.is_some_and(|before| limits_of(&before) != limits_of(&event.tree));
        session.record(services, vec![event.into()])?;
        let again = said(&tasks.again, "begins again", "begin again");
        let other_steps = said(&tasks.other_steps, "has other steps", "have other steps");
        services.notice(&format!("note: {files} changed and applies from now on{again}{other_steps}"));
    }
    if limits_differ {
        retry_what_limits_ended(session, services, ended)?;
    }
    Ok(())
}

/// The tasks that change with an edited tree.
///
/// # Errors
/// Why the run cannot take it over.
fn changed_tasks(run: &Run, event: &events::TreeEdited) -> Result<EditedTasks, String> {
    let tasks = run.changes_with(event.tree_number, &event.tree).map_err(|reject| reject.to_string())?;
    let mut after = run.clone();
    after
        .apply(&LogEntry::new(run.last_fact() + 1, run.now_ms(), event.clone().into()))
        .map_err(|reject| reject.to_string())?;
    let stands = run.changes_again(&after);
    if stands.is_empty() {
        return Ok(tasks);
    }
    let id = run.id().map_or("RUN", RunId::as_str);
    let tasks = stands.iter().map(Slug::as_str).collect::<Vec<_>>().join(" ");
    let (would, their) = (named(&stands), if stands.len() == 1 { "its" } else { "their" });
    Err(format!(
        "{would} would change files again; revert {their} changes first, and resume then: callsheet undo {id} {tasks}"
    ))
}

/// How the edited template of a run is used, other than by the run itself.
fn in_a_new_run(run: &Run, offer: &TemplateCatalog, number: usize) -> String {
    let is_usable = |tree: &&Arc<Tree>| number == 0 && offer.tree.templates.contains_key(&tree.entry);
    let Some(tree) = run.operators().tree().filter(is_usable) else { return String::new() };
    let id = run.id().map_or("RUN", RunId::as_str);
    format!("; to run the new one and pay only for what changed: callsheet template run {} … --reuse {id}", tree.entry)
}

/// What a notice says of these tasks. Empty if there are none.
fn said(tasks: &[Slug], one: &str, several: &str) -> String {
    let does = if tasks.len() == 1 { one } else { several };
    if tasks.is_empty() { String::new() } else { format!("; {} {does}", named(tasks)) }
}

/// Some of the tasks by name, and the number of the others.
fn named(tasks: &[Slug]) -> String {
    let some: Vec<&str> = tasks.iter().take(SHOWN).map(Slug::as_str).collect();
    match tasks.len().saturating_sub(SHOWN) {
        0 => some.join(", "),
        more => format!("{} and {more} more", some.join(", ")),
    }
}

/// The limits of all tasks, and those that only their operators have.
fn limits_of(tree: &Tree) -> Vec<(&TaskLimits, [Option<u32>; Kind::LIMITS.len()])> {
    let nodes = tree.templates.values().flat_map(|template| template.body.walk());
    nodes.map(|node| (&node.limits, Kind::LIMITS.map(|name| node.kind.operator().limit(name)))).collect()
}

/// Continues what limits of templates had ended, as far as it can continue. A loop without iterations left and a script without time left
/// failed.
fn retry_what_limits_ended(
    session: &mut Session,
    services: &Services,
    ended: Option<Outcome>,
) -> Result<(), DriveFault> {
    let by_limit = matches!(ended, Some(Outcome::LimitReached | Outcome::TaskFailed));
    let of_template = by_limit && session.run().operators().tree().is_some();
    let failed = if of_template { session.run().failed() } else { Vec::new() };
    let failed = failed.into_iter().chain(session.run().failed_by_limits_of_calls());
    let after = |task: Slug| match session.run().may_continue(&task) {
        true => events::TaskContinued { task }.into(),
        false => events::TaskRetried { task, skills: BTreeMap::new(), because: String::new() }.into(),
    };
    let events = failed.map(after).collect();
    session.record(services, events)?;
    Ok(())
}

/// Whether the files still contain the templates that a task calls as they are in the record. Its calls then continue
/// with what they have. A task that goes through a list has its items from no file.
pub(super) fn still_hold(services: &Services, run: &Run, task: &TaskRun) -> bool {
    if task.task.for_each.is_some() {
        return false;
    }
    let mounts: Vec<usize> = task.runs.iter().flat_map(|exec| &exec.calls).filter_map(|call| call.mount).collect();
    let trees = mounts.iter().filter_map(|mount| run.operators().tree_of(run.operators().top_of(*mount)?));
    let holds = |tree: &Arc<Tree>| {
        let used = used_templates(run, tree);
        tree.sources.keys().filter(|file| used.values().any(|template| template.origin.file == **file)).all(|file| {
            let now = read_regular(&services.workspace.root().join(file));
            now.is_ok_and(|bytes| says_the_same(services, tree, file, &bytes))
        })
    };
    !mounts.is_empty() && trees.into_iter().all(holds)
}

/// The templates that a file holds now.
fn templates_now(services: &Services, file: &str, bytes: &[u8]) -> Vec<Template> {
    read_file_with(file, bytes, &Known { specs: services.tool_specs(), ..Known::default() }).templates
}

/// Whether a file still contains its recorded templates unchanged.
fn says_the_same(services: &Services, tree: &Tree, file: &str, bytes: &[u8]) -> bool {
    let now = templates_now(services, file, bytes);
    let mut recorded = tree.templates.values().filter(|then| then.origin.file == file);
    recorded.all(|then| now.iter().any(|now| now.name == then.name && now == then))
}

/// The templates with which the run began, and those that its subtasks ran, by the names that calls use.
fn used_templates<'a>(run: &'a Run, tree: &'a Tree) -> BTreeMap<&'a str, &'a Template> {
    let mut used = BTreeMap::new();
    let mut open: Vec<&str> = run.operators().iter().map(|op| op.template.as_str()).collect();
    open.push(&tree.entry);
    while let Some(name) = open.pop() {
        let Some(template) = tree.templates.get(name).filter(|_| !used.contains_key(name)) else { continue };
        used.insert(name, template);
        open.extend(template.body.walk().into_iter().filter_map(|node| node.template.as_deref()));
    }
    used
}
