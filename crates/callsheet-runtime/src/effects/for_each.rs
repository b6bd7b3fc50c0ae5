//! A task of a sheet that is done for each item of a list (spec 3.16): its items become the list of a tree that calls
//! its skill for each of them, and the results of the items become the result of the task.

use std::collections::{BTreeMap, BTreeSet};

use callsheet_core::evaluate::result_of;
use callsheet_core::fence::fence;
use callsheet_core::issue::Severity;
use callsheet_core::links::link_target;
use callsheet_core::nouns::{BlobId, ForEach, Reference, Target, tokens};
use callsheet_core::record::{ResultParts, Tree};
use callsheet_core::run::{ITEMS, NodeInstance, Run, State, TaskRun};
use callsheet_core::template::operators::ChildSlot;
use callsheet_core::template::{ReturnStatus, TaskResult};
use callsheet_format::items::{Item, filled, items_of, missing_field};
use callsheet_format::reply::task::document_headings;
use callsheet_format::sheet::join_items;
use callsheet_format::template::read_text;
use serde_json::{Value, json};

use crate::fault::DriveFault;
use crate::prompting::run_texts::Texts;
use crate::prompting::task_references::execution_allowance;
use crate::references::{ItemSource, Level, Request, Wanted, file_of_item, item_of_path, item_source, show};
use crate::services::Services;
use crate::templates::give_skill;

/// The template that goes through the items.
const FOR_EACH_TEMPLATE: &str = include_str!("../../prompts/for_each.xml");

/// Its name, which is that of a called skill: tasks of it may reply with changes.
const ENTRY: &str = "skill:for_each";

/// The variable of the template with the text that all items read.
const SHARED: &str = "shared";

/// How many failed items the reason of a failed task names.
const NAMED: usize = 5;

/// The tree of a task with its items, or why there is none.
pub(super) fn tree(services: &Services, run: &Run, owner: &TaskRun) -> Result<Result<Box<Tree>, String>, DriveFault> {
    let (Some(for_each), Some(source)) = (&owner.task.for_each, owner.task.source()) else {
        return Err(DriveFault::defect("a call for each item of a task without items"));
    };
    let items = match items(services, run, owner, source) {
        Ok(items) => match missing_field(&owner.task, &items) {
            Some(why) => return Ok(Err(format!("{}: {why}", told(source)))),
            None => items,
        },
        Err(why) => return Ok(Err(format!("{} gives no items: {why}", told(source)))),
    };
    let mut read = read_text("for_each.xml", FOR_EACH_TEMPLATE).templates;
    let mut each = read.pop().ok_or_else(|| DriveFault::defect("the template for lists of items"))?;
    ENTRY.clone_into(&mut each.name);
    let skill = services.pinned(owner.skill.as_ref())?;
    each.body.kind.nodes_mut().into_iter().for_each(|node| give_skill(node, &skill));
    let mut tree = Box::new(services.offer.as_ref().map(|offer| offer.tree.clone()).unwrap_or_default());
    tree.templates = BTreeMap::from([(ENTRY.to_owned(), each)]);
    tree.schemas.clear();
    tree.sources.clear();
    ENTRY.clone_into(&mut tree.entry);
    let shared = match shared_text(services, run, owner) {
        Ok(shared) => shared,
        Err(why) => return Ok(Err(why)),
    };
    let values = items.iter().map(|item| value(services, owner, for_each, item));
    tree.variables = BTreeMap::from([
        (ITEMS.to_owned(), Value::Array(values.collect())),
        (SHARED.to_owned(), Value::String(shared)),
    ]);
    Ok(Ok(tree))
}

fn told(source: &Reference) -> String {
    link_target(&source.target)
}

fn items(services: &Services, run: &Run, owner: &TaskRun, source: &Reference) -> Result<Vec<Item>, String> {
    let wanted = [Wanted { reference: source.clone(), carried: false }];
    let texts = Texts::of(services, run, &wanted);
    let restricted = run.no_longer_relevant().iter().cloned().collect();
    let request = request(services, run, owner, &wanted, &restricted);
    if let Target::TaskOutput { slug, heading: None } = &source.target
        && !request.is_restricted(&source.target)
        && let Some(list) = run.operators().list_of(slug)
    {
        let done = Ended::of(services, run, list).done;
        return Ok(done.into_iter().map(|(title, text)| Item::plain(title, text)).collect());
    }
    match item_source(&source.target, &request, &texts.sources(services, run.settings().allow_http))? {
        ItemSource::Files(paths) => Ok(paths.into_iter().map(item_of_path).collect()),
        ItemSource::Text { name, text } => items_of(&name, &text).map_err(|fault| fault.to_string()),
    }
}

fn request<'a>(
    services: &Services,
    run: &Run,
    owner: &'a TaskRun,
    references: &'a [Wanted],
    restricted: &'a BTreeSet<String>,
) -> Request<'a> {
    let (allowance, first_picture) = execution_allowance(services, run, owner);
    Request {
        references,
        level: Level::Whole,
        allowance,
        task: Some(&owner.task.name),
        need: &owner.task.need,
        writer_before: false,
        restricted,
        first_picture,
    }
}

/// The references that every item reads, other than whole files, as blocks of a prompt.
///
/// # Errors
/// A text that says which reference cannot be read.
fn shared_text(services: &Services, run: &Run, owner: &TaskRun) -> Result<String, String> {
    let own = owner.task.own_references().iter().filter(|reference| path_of(&reference.target).is_none());
    let wanted: Vec<Wanted> = own.map(|reference| Wanted { reference: reference.clone(), carried: false }).collect();
    if wanted.is_empty() {
        return Ok(String::new());
    }
    let texts = Texts::of(services, run, &wanted);
    let restricted = run.no_longer_relevant().iter().cloned().collect();
    let request = request(services, run, owner, &wanted, &restricted);
    let shown = show(&request, &texts.sources(services, run.settings().allow_http), &BTreeMap::new());
    match shown.issues.iter().find(|issue| issue.severity == Severity::Error) {
        Some(issue) => Err(issue.to_string()),
        None => Ok(shown.text()),
    }
}

/// An item as the tree binds it: its words, with the item in place of the placeholder, and the files that it reads. An
/// item of several lines is in a fence, so that nothing in it becomes a heading of the prompt.
fn value(services: &Services, owner: &TaskRun, for_each: &ForEach, item: &Item) -> Value {
    let placeholder = format!("{{{}}}", for_each.name);
    let (task, text) = (&owner.task, item.text.as_str());
    let is_one_line = !text.contains('\n');
    let words = if is_one_line { text } else { item.title.as_str() };
    let mut need = filled(&task.need, &for_each.name, item, words);
    if !is_one_line || !task.need.contains(&placeholder) {
        need = format!("{need}\n\n{}:\n\n{}", for_each.name, fence("text", text));
    }
    let files = task.own_references().iter().filter_map(|reference| path_of(&reference.target));
    let mut references: Vec<String> = file_of_item(item, &services.workspace).into_iter().collect();
    for path in files {
        if !references.contains(&path) {
            references.push(path);
        }
    }
    json!({
        "title": item.title,
        "need": need,
        "expected": filled(&task.expected, &for_each.name, item, words),
        "references": if references.is_empty() { Value::from("") } else { Value::from(references) },
    })
}

/// The path of a whole file.
fn path_of(target: &Target) -> Option<String> {
    match target {
        Target::File { path, fragment: None } => Some(path.clone()),
        _ => None,
    }
}

/// The items of a list that a task has gone through, in order.
struct Ended<'a> {
    titles: Vec<&'a str>,
    /// The titles and results of the items that are done.
    done: Vec<(&'a str, String)>,
    /// The titles of the failed items, each with its reason.
    failed: Vec<String>,
    /// The titles of the items that a person removed.
    removed: Vec<&'a str>,
}

impl<'a> Ended<'a> {
    fn of(services: &Services, run: &'a Run, top: &NodeInstance) -> Self {
        let values = |id: &BlobId| services.store.blob(id).ok();
        let titles = run.operators().item_titles(top);
        let at = |child: &NodeInstance| match child.place {
            ChildSlot::Item { index } => usize::try_from(index).ok(),
            _ => None,
        };
        let mut items: Vec<(usize, &NodeInstance)> =
            run.operators().children(top).filter_map(|child| Some((at(child)?, child))).collect();
        items.sort_by_key(|(index, _)| *index);
        let (mut done, mut failed, mut removed) = (Vec::new(), Vec::new(), Vec::new());
        for (index, item) in items {
            let title = titles.get(index).copied().unwrap_or_default();
            if item.state() == State::Dropped {
                removed.push(title);
                continue;
            }
            let result = result_of(item, &values).unwrap_or_default();
            match result.status {
                ReturnStatus::Complete => done.push((title, result.words().into_owned())),
                _ => failed.push(format!("{title}: {}", why(&result))),
            }
        }
        Self { titles, done, failed, removed }
    }

    /// Whether not all items have begun.
    fn is_stopped(&self) -> bool {
        self.done.len() + self.failed.len() + self.removed.len() < self.titles.len()
    }
}

fn why(result: &TaskResult) -> &str {
    result.error.as_deref().map_or("", |error| error.message.as_str())
}

/// The result of the task once its tree came back.
///
/// # Errors
/// A text that says why the task failed.
pub(super) fn returned(
    services: &Services,
    run: &Run,
    owner: &TaskRun,
    top: &NodeInstance,
) -> Result<ResultParts, String> {
    let ended = Ended::of(services, run, top);
    let allowed =
        owner.task.for_each.as_ref().is_some_and(|for_each| for_each.allow_failures) && !ended.done.is_empty();
    if ended.is_stopped() && ended.failed.is_empty() {
        let values = |id: &BlobId| services.store.blob(id).ok();
        return Err(why(&result_of(top, &values).unwrap_or_default()).to_owned());
    }
    let count = format!("{} of {} items failed", ended.failed.len(), ended.titles.len());
    if ended.is_stopped() || !ended.failed.is_empty() && !allowed {
        let more = ended.failed.len().saturating_sub(NAMED);
        let more = if more > 0 { format!("; and {more} more") } else { String::new() };
        let named: Vec<&str> = ended.failed.iter().take(NAMED).map(String::as_str).collect();
        return Err(format!("{count}: {}{more}", named.join("; ")));
    }
    let removed = ended.removed.iter().map(|title| (*title).to_owned()).collect();
    let notes = [(&*count, ended.failed), ("items that a person removed", removed)];
    let notes = notes.iter().filter(|(_, items)| !items.is_empty());
    let mut note: Vec<String> = notes.map(|(what, items)| format!("{what}:\n\n- {}", items.join("\n- "))).collect();
    if ended.titles.is_empty() {
        let source = owner.task.source().map(told).unwrap_or_default();
        note.push(format!("There was nothing to do: {source} contains no items."));
    }
    let note = note.join("\n\n");
    let (summary, document) = join_items(&note, &ended.done);
    Ok(ResultParts {
        summary,
        headings: document_headings(&document),
        tokens: tokens(&document),
        document: Some(services.store.stage_blob(document.into_bytes())),
        ..ResultParts::default()
    })
}
