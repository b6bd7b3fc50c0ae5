//! Handles a task of a sheet whose skill is a template (spec "Templates" 16): its call becomes a tree below the task,
//! and the tree's result becomes the task's result. Both conversions are pure; the tree itself runs like any other.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use callsheet_core::evaluate::{known_paths, result_of};
use callsheet_core::events::{self, Event};
use callsheet_core::nouns::{BlobId, ExecutionId, Slug, Target, ToolCall, tokens};
use callsheet_core::record::{ResultParts, Tree};
use callsheet_core::run::{FOR_EACH, Run, SPAWN_SUBTASK, TaskRun, ToolState};
use callsheet_core::template::{
    Bound, Environment, Evaluated, Node, Origin, ReturnStatus, TaskError, TaskResult, Trust, bind_call,
};
use callsheet_format::reply::task::document_headings;
use callsheet_format::template::TextFormats;

use crate::fault::DriveFault;
use crate::ports::Store;
use crate::prompting::handler::{PATTERN, matching};
use crate::references::near_paths;
use crate::services::Services;

use super::for_each;

/// The longest summary taken from a result, in characters (spec 16).
const SUMMARY: usize = 600;

/// The longest text that is tried as a path, in bytes.
const LONGEST_PATH: usize = 1_024;

/// Begins a call: returns its tree, or why the arguments do not fit.
pub(crate) fn mount(
    services: &Services,
    run: &Run,
    task: &Slug,
    exec: &ExecutionId,
    call: &ToolCall,
) -> Result<Event, DriveFault> {
    let owner = run.task(task).ok_or_else(|| DriveFault::defect("a call of an unknown task"))?;
    let (task, exec) = (task.clone(), exec.clone());
    let tree = match call.name == FOR_EACH && owner.task.for_each.is_some() {
        true => for_each::tree(services, run, owner)?,
        false => bound(services, owner, call),
    };
    Ok(match tree {
        Ok(mut tree) => {
            tree.absent = absent(services, &tree);
            keep_reachable(&mut tree);
            let shared = share(&mut tree, run);
            events::CallMounted { task, run: exec, call: call.id.clone(), tree, shared }.into()
        }
        Err(reason) => events::CallReturned {
            task,
            run: exec,
            call: call.id.clone(),
            result: Box::default(),
            failed: Some(reason),
        }
        .into(),
    })
}

/// The result of a call's tree.
pub(crate) fn returned(
    services: &Services,
    run: &Run,
    task: &Slug,
    exec: &ExecutionId,
    call: &str,
) -> Result<Event, DriveFault> {
    let owner = run.task(task).ok_or_else(|| DriveFault::defect("a call of an unknown task"))?;
    let state = owner.run(exec).and_then(|exec| Some(&exec.call(call)?.state));
    let Some(ToolState::Mounted(number)) = state else { return Err(DriveFault::defect("a call without a tree")) };
    let (task, exec_id, call) = (task.clone(), exec.clone(), call.to_owned());
    if owner.task.for_each.is_some()
        && let Some(top) = run.operators().top_of(*number)
    {
        let (result, failed) = match for_each::returned(services, run, owner, top) {
            Ok(result) => (Box::new(result), None),
            Err(why) => (Box::default(), Some(why)),
        };
        return Ok(events::CallReturned { task, run: exec_id, call, result, failed }.into());
    }
    let values = |id: &BlobId| services.store.blob(id).ok();
    let result = run.operators().top_of(*number).and_then(|top| result_of(top, &values)).unwrap_or_default();
    let is_complete = result.status == ReturnStatus::Complete;
    let failed = (!is_complete).then(|| result.error.as_deref().map(placed).unwrap_or_default());
    let result = if is_complete { Box::new(parts(&*services.store, &result)) } else { Box::default() };
    Ok(events::CallReturned { task, run: exec_id, call, result, failed }.into())
}

/// The tree with the arguments bound (spec 4), before any call.
fn bound(services: &Services, owner: &TaskRun, call: &ToolCall) -> Result<Box<Tree>, String> {
    let offered = services.offer.as_ref().filter(|offer| offer.spec(&call.name).is_some());
    let offered = offered.ok_or_else(|| format!("there is no template {}", call.name))?;
    let mut tree = Box::new(offered.tree.clone());
    tree.entry.clone_from(&call.name);
    let template = tree.templates.get(&call.name).ok_or_else(|| call.name.clone())?;
    let arguments = call.arguments.as_object().cloned().unwrap_or_default();
    let given = arguments.into_iter().map(|(name, value)| Evaluated {
        literal: value.is_string(),
        name: Some(name),
        bound: Bound::json(value, Trust::Model),
    });
    let root = Arc::new(Environment::root([]));
    let environment = bind_call(template, given.collect(), &root, &Origin::default(), &call.name);
    let environment = environment.map_err(|fault| fault.into_error().message)?;
    tree.variables = environment.own().iter().map(|(name, bound)| (name.clone(), bound.value())).collect();
    let targets = owner.task.references.iter().map(|reference| &reference.target);
    tree.files = targets
        .filter_map(|target| match target {
            Target::File { path, .. } => Some(path.clone()),
            _ => None,
        })
        .collect();
    Ok(tree)
}

/// Paths that are known before the run and lead to nothing readable, with suggestions (spec "Templates" 5).
pub(crate) fn absent(services: &Services, tree: &Tree) -> BTreeMap<String, Vec<String>> {
    let known = known_paths(tree, &TextFormats);
    let is_path = |text: &&String| text.len() <= LONGEST_PATH && !text.trim().is_empty() && !text.contains('\n');
    let lost = |path: &&String| match path.contains(PATTERN) {
        true => matching(services, path).is_empty(),
        false => services.workspace.locate(path).is_err(),
    };
    let lost = known.iter().chain(&tree.files).filter(is_path).filter(lost);
    lost.map(|path| (path.clone(), near_paths(&services.workspace, path))).collect()
}

/// Removes the templates that nothing in a tree can reach, whether by a call or because a model may request any
/// template as a subtask or in a split.
pub(crate) fn keep_reachable(tree: &mut Tree) {
    let mut reached: BTreeSet<String> = BTreeSet::new();
    let mut open: Vec<String> = std::iter::once(&tree.entry).chain(&tree.matcher).cloned().collect();
    while let Some(name) = open.pop() {
        let Some(template) = tree.templates.get(&name).filter(|_| reached.insert(name)) else { continue };
        let nodes = template.body.walk();
        if nodes.iter().any(|node| may_ask_for_any(node, tree)) {
            return;
        }
        open.extend(nodes.into_iter().filter_map(|node| node.template.clone()));
    }
    tree.templates.retain(|name, _| reached.contains(name));
}

fn may_ask_for_any(node: &Node, tree: &Tree) -> bool {
    let asks = |tool: &String| tool == SPAWN_SUBTASK || tree.subtask_tools.contains_key(tool);
    let matches = node.subtype == "associative_matching";
    let may_ask = node.tools.as_ref().map_or(!matches, |tools| tools.iter().any(asks));
    node.kind.is_atomic() && (may_ask || node.recovery.reparse && !matches)
}

/// Removes from a tree the templates that the run's record already has. Returns their names.
fn share(tree: &mut Tree, run: &Run) -> BTreeSet<String> {
    let trees: Vec<&Arc<Tree>> = run.operators().trees().collect();
    let last = |name: &String| trees.iter().rev().find_map(|tree| tree.templates.get(name));
    let known = tree.templates.iter().filter(|&(name, template)| last(name) == Some(template));
    let shared: BTreeSet<String> = known.map(|(name, _)| name.clone()).collect();
    tree.templates.retain(|name, _| !shared.contains(name));
    shared
}

/// Document and summary of a result (spec 16).
fn parts(store: &dyn Store, result: &TaskResult) -> ResultParts {
    let words = result.words();
    let summary = result.notes.summary.clone().filter(|summary| !summary.trim().is_empty());
    ResultParts {
        summary: summary.unwrap_or_else(|| first_paragraph(&words)),
        headings: document_headings(&words),
        tokens: tokens(&words),
        document: Some(store.stage_blob(words.into_owned().into_bytes())),
        ..ResultParts::default()
    }
}

/// The text of an error with its place in the template, because the sheet does not know the template's files.
fn placed(error: &TaskError) -> String {
    let Some(at) = error.location.as_ref().filter(|at| !at.file.is_empty()) else { return error.message.clone() };
    format!("{} ({}:{}:{}: {})", error.message, at.file, at.line, at.column, at.task)
}

fn first_paragraph(text: &str) -> String {
    let text = text.trim_start();
    let end = text.find("\n\n").unwrap_or(text.len());
    text.get(..end).unwrap_or_default().trim_end().chars().take(SUMMARY).collect()
}
