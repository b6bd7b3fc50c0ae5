//! Reading recorded replies into facts. The readers are pure and in core; this file answers their lookups, keeps texts
//! as blobs and says what was accepted as what.

use std::collections::{BTreeMap, BTreeSet};

use callsheet_core::issue::{Issue, IssueCode, Repair, Severity};
use callsheet_core::record::{Apart, ChangeSet, DetailBlob, Event, ListOrigin, ReferenceStage, ResultParts};
use callsheet_core::run::{Asked, ExecRun, Run, TaskRun, ToolOutput};
use callsheet_core::spec::{BlobId, ExecRunId, Phase, Refinement, Settings, Slug, tokens};
use callsheet_format::edit::{Change, FileEdit};
use callsheet_format::reading::{Answer, Lookup, ReadContext, Reading};
use callsheet_format::reply::json_form::read_json_form;
use callsheet_format::reply::task::{
    TurnInput, document_headings, read_execution, read_loop_turn, read_merge, read_refinement, read_write_execution,
    summary_files, summary_with_details,
};
use callsheet_format::reply::{Execution, ListReply, LoopTurn};
use callsheet_format::{edit, reply, sheet};
use serde::Deserialize;

use crate::changes::{Edit, StageFault, stage as stage_edits};
use crate::ports::ModelReply;
use crate::references::{self, Checked, Level, Request, check};

use super::{DriveFault, World, handler, known};

pub(super) use super::known::issues_text;

/// Files shown to a model, with the hashes they had: the part of a [`PromptRecord`](super::PromptRecord) that reading a
/// reply needs.
#[derive(Clone, Debug, Default, Deserialize)]
pub(super) struct ShownFiles {
    #[serde(default, rename = "shown_in_full")]
    in_full: BTreeMap<String, BlobId>,
    #[serde(default, rename = "shown_in_part")]
    in_part: BTreeMap<String, BlobId>,
    /// Outputs of the tool calls of a conversation so far.
    #[serde(skip)]
    read: Vec<String>,
}

/// Reads a recorded reply.
pub(super) fn read_reply(world: &World, run: &Run, asked: &Asked) -> Result<Vec<Event>, DriveFault> {
    let record = run.call_record(&asked.key).ok_or_else(|| DriveFault::defect("a reply to read is not recorded"))?;
    let mut reply = known::reply(world, &record.reply)?;
    let prompt = world.store.blob(&record.prompt)?;
    let shown: ShownFiles = serde_json::from_slice(&prompt).map_err(DriveFault::defect)?;
    let asked_for: known::AskedForm = serde_json::from_slice(&prompt).map_err(DriveFault::defect)?;
    let mut mended = Vec::new();
    if let Some(twin) = asked_for.form().and_then(|form| read_json_form(&reply.text, form, asked.key.phase)) {
        if !twin.issues.is_empty() {
            let key = asked.key.clone();
            let (issues, repairs) = (twin.issues, twin.repairs);
            return Ok(vec![Event::ReplyRefused { key, issues, repairs, valid: None }]);
        }
        (reply.text, mended) = (twin.text, twin.repairs);
    }
    let input = Input { world, run, asked, reply, shown, prompt, length_stop: record.stop.is_cut() };
    let mut event = match asked.key.phase {
        Phase::Plan => input.list(reply::read_plan)?,
        Phase::Iterate => input.list(reply::read_iteration)?,
        Phase::Continue => input.list(reply::read_continuation)?,
        Phase::Refine => input.refinement()?,
        Phase::Merge => input.merge()?,
        Phase::Execute => input.execution()?,
    };
    if let Event::ListAdopted { repairs, .. }
    | Event::TaskRefined { repairs, .. }
    | Event::RunFinished { repairs, .. }
    | Event::CallsAsked { repairs, .. }
    | Event::ReplyRefused { repairs, .. } = &mut event
    {
        repairs.splice(0..0, mended);
    }
    Ok(vec![event])
}

struct Input<'a> {
    world: &'a World,
    run: &'a Run,
    asked: &'a Asked,
    reply: ModelReply,
    shown: ShownFiles,
    /// The prompt as recorded.
    prompt: Vec<u8>,
    length_stop: bool,
}

impl Input<'_> {
    fn refused(&self, issues: Vec<Issue>, repairs: Vec<Repair>) -> Event {
        Event::ReplyRefused { key: self.asked.key.clone(), issues, repairs, valid: None }
    }

    fn owner(&self) -> Result<&TaskRun, DriveFault> {
        let slug = self.asked.key.task.as_ref().and_then(|slug| self.run.task(slug));
        slug.ok_or_else(|| DriveFault::defect("a reply of an unknown task"))
    }

    fn list(&self, read: fn(&str, &ReadContext) -> Reading<ListReply>) -> Result<Event, DriveFault> {
        let loaded = self.world.skills(self.run.settings());
        let catalog = loaded.catalog.skills().cloned().collect();
        let mut context = known::context(self.world, self.run, self.run.settings(), catalog);
        context.length_stop = self.length_stop;
        let reading = known::read_with(self.world, &self.reply.text, &mut context, read);
        if !reading.is_accepted() {
            return Ok(self.refused(reading.issues, reading.repairs));
        }
        let list = known::adopt(self.world, self.run, reading.value, &loaded, false)?;
        let origin = ListOrigin::Reply(self.asked.key.clone());
        Ok(Event::ListAdopted { origin, list, repairs: reading.repairs, issues: reading.issues })
    }

    /// What a reply about one task is compared with.
    fn task_context(&self) -> Result<ReadContext, DriveFault> {
        task_context(self.world, self.run, self.owner()?, &self.shown, self.length_stop)
    }

    fn refinement(&self) -> Result<Event, DriveFault> {
        let mut context = self.task_context()?;
        let reading = known::read_with(self.world, &self.reply.text, &mut context, read_refinement);
        Ok(if reading.is_accepted() {
            Event::TaskRefined {
                key: self.asked.key.clone(),
                refinement: reading.value,
                repairs: reading.repairs,
                issues: reading.issues,
            }
        } else {
            let valid =
                Some(valid_parts(reading.value, &reading.issues)).filter(|valid| *valid != Refinement::default());
            let key = self.asked.key.clone();
            Event::ReplyRefused { key, issues: reading.issues, repairs: reading.repairs, valid }
        })
    }

    fn merge(&self) -> Result<Event, DriveFault> {
        let mut context = self.task_context()?;
        let reading = known::read_with(self.world, &self.reply.text, &mut context, read_merge);
        self.finished(reading, &context, None)
    }

    fn execution(&self) -> Result<Event, DriveFault> {
        let task = self.owner()?;
        let exec = self.asked.key.run.as_ref().and_then(|id| task.run(id));
        let exec = exec.ok_or_else(|| DriveFault::defect("a reply of an unknown execution run"))?;
        let mut context = self.task_context()?;
        let writes = task.skill.as_ref().is_some_and(|skill| skill.writes_files);
        if task.is_handler() && !writes {
            return handler::read(self.world, self.run, self.asked, task, &self.reply, &self.prompt, context);
        }
        if exec.is_loop && !writes {
            return self.turn(task, exec, context);
        }
        if !writes {
            let reading = known::read_with(self.world, &self.reply.text, &mut context, read_execution);
            return self.finished(reading, &context, None);
        }
        let reading = known::read_with(self.world, &self.reply.text, &mut context, read_write_execution);
        let Reading { value, repairs, mut issues, wanted } = reading;
        let mut changes = None;
        if issues.iter().all(|issue| issue.severity != Severity::Error) && !value.edits.is_empty() {
            match keep(self.world, &value.edits)? {
                Ok(set) => changes = Some(set),
                Err(refused) => issues.extend(refused),
            }
        }
        self.finished(Reading { value: value.execution, repairs, issues, wanted }, &context, changes)
    }

    fn turn(&self, task: &TaskRun, exec: &ExecRun, mut context: ReadContext) -> Result<Event, DriveFault> {
        let taken: BTreeSet<String> =
            task.runs.iter().flat_map(|exec| &exec.calls).map(|call| call.call.id.clone()).collect();
        let offered = !self.asked.without_tools;
        let input = TurnInput { native: &self.reply.calls, taken_ids: &taken, tools_offered: offered };
        let reading = known::read_with(self.world, &self.reply.text, &mut context, |text, context| {
            read_loop_turn(text, input, context)
        });
        debug_assert!(exec.is_loop);
        match reading.value {
            LoopTurn::Calls(calls) if reading.issues.iter().all(|issue| issue.severity != Severity::Error) => {
                Ok(Event::CallsAsked {
                    key: self.asked.key.clone(),
                    calls,
                    said: None,
                    again: self.run.may_call_again(task, exec),
                    repairs: reading.repairs,
                    issues: reading.issues,
                })
            }
            LoopTurn::Calls(_) => Ok(self.refused(reading.issues, reading.repairs)),
            LoopTurn::Final(execution) => {
                let Reading { repairs, issues, wanted, .. } = reading;
                let reading = Reading { value: *execution, repairs, issues, wanted };
                self.finished(reading, &context, None)
            }
        }
    }

    /// An execution or merge reply as a fact, texts kept as blobs.
    fn finished(
        &self,
        reading: Reading<Execution>,
        context: &ReadContext,
        changes: Option<ChangeSet>,
    ) -> Result<Event, DriveFault> {
        if !reading.is_accepted() {
            return Ok(self.refused(reading.issues, reading.repairs));
        }
        let task = self.owner()?;
        let execution = reading.value;
        let store = &self.world.store;
        let mut details = Vec::new();
        for file in &execution.details {
            let blob = store.stage_blob(file.content.clone().into_bytes());
            details.push(DetailBlob { filename: file.filename.clone(), blob });
        }
        if self.asked.key.phase == Phase::Merge {
            details = task.details();
        }
        let names = details.iter().map(|detail| detail.filename.as_str());
        let result = ResultParts {
            summary: summary_with_details(&execution.summary, &task.task.slug, names),
            headings: document_headings(&execution.document),
            tokens: tokens(&execution.document),
            document: Some(store.stage_blob(execution.document.clone().into_bytes())),
            details,
            more_work: execution.more_work,
            changes,
            links: summary_files(&execution, context),
        };
        let key = self.asked.key.clone();
        Ok(Event::RunFinished { key, result, repairs: reading.repairs, issues: reading.issues })
    }
}

/// What a reply about `task` is compared with.
pub(super) fn task_context(
    world: &World,
    run: &Run,
    task: &TaskRun,
    shown: &ShownFiles,
    length_stop: bool,
) -> Result<ReadContext, DriveFault> {
    let mut skill = world.pinned(task.skill.as_ref())?;
    if let Some(name) = &task.task.skill {
        skill.name.clone_from(name);
    }
    // A handler of a template is told of no other task, and its run may have very many.
    let knows_none = task.is_handler() && !skill.policy.writes_files;
    let make = if knows_none { known::context_without_tasks } else { known::context };
    let mut context = make(world, run, run.settings(), vec![skill]);
    context.current = Some(task.task.clone());
    context.length_stop = length_stop;
    context.shown_in_full.clone_from(&shown.in_full);
    context.shown_in_part.clone_from(&shown.in_part);
    Ok(context)
}

/// What of a refused refinement enters the task (spec 3.7, 12). Reading leaves bad links and calls out already; links
/// of which nothing is left, or that are too much together, do not take the place of those the task has.
fn valid_parts(mut value: Refinement, issues: &[Issue]) -> Refinement {
    let refused =
        |issue: &&Issue| issue.severity == Severity::Error && issue.place.key.as_deref() == Some("References");
    let mut errors = issues.iter().filter(refused).peekable();
    let none_left = errors.peek().is_some() && value.references.as_ref().is_some_and(Vec::is_empty);
    if none_left || errors.any(|issue| issue.code == IssueCode::OverBudget) {
        value.references = None;
    }
    value
}

/// Keeps composed edits as a change set, checked against the project as it is.
pub(super) fn keep(world: &World, edits: &[FileEdit]) -> Result<Result<ChangeSet, Vec<Issue>>, DriveFault> {
    let diff = edit::diff_of(edits);
    let edits: Vec<Edit> = edits
        .iter()
        .map(|edit| Edit { path: edit.path.clone(), before: edit.before.clone(), after: edit.after.clone() })
        .collect();
    match stage_edits(&edits, &diff, &world.workspace, &*world.store) {
        Ok(set) => Ok(Ok(set)),
        Err(StageFault::Refused(issues)) => Ok(Err(issues)),
        Err(StageFault::Store(fault)) => Err(fault.into()),
    }
}

/// What an execution run was shown in its latest prompt, for the changes of a tool.
pub(super) fn shown(world: &World, run: &Run, task: &Slug, exec: &ExecRunId) -> ShownFiles {
    let latest = run
        .calls()
        .iter()
        .rev()
        .find(|call| call.key.task.as_ref() == Some(task) && call.key.run.as_ref() == Some(exec));
    let record = latest.and_then(|call| world.store.blob(&call.prompt).ok());
    let mut shown: ShownFiles = record.and_then(|bytes| serde_json::from_slice(&bytes).ok()).unwrap_or_default();
    if let Some(exec) = run.task(task).and_then(|task| task.run(exec)).filter(|exec| exec.is_loop) {
        let outputs = exec.calls.iter().filter_map(|call| match call.output() {
            Some(ToolOutput::Text { blob, error: false }) => world.text(blob).ok(),
            _ => None,
        });
        shown.read = outputs.collect();
    }
    shown
}

/// Validates and composes the changes of a write call; issues go back to the model as its output.
pub(super) fn stage(
    world: &World,
    changes: &[Change],
    shown: &ShownFiles,
) -> Result<Result<ChangeSet, Vec<Issue>>, DriveFault> {
    let mut lookups: Vec<Lookup> = changes.iter().map(|change| Lookup::Content(change.path.clone())).collect();
    let named = changes.iter().filter(|change| edit::names_symbol(change));
    lookups.extend(named.map(|change| Lookup::Symbols(change.path.clone())));
    let answers = references::answer(&lookups, world.disk());
    let mut files = edit::Files::new();
    let mut outlines = edit::Outlines::new();
    let mut in_full = shown.in_full.clone();
    for (lookup, answer) in &answers {
        if let (Lookup::Symbols(path), Answer::Symbols(symbols)) = (lookup, answer) {
            outlines.insert(path.clone(), symbols.clone());
        }
        if let (Lookup::Content(path), Answer::Content(text)) = (lookup, answer) {
            // A conversation reads files by tools: what it read is its to replace, as long as it is still the same.
            if shown.read.iter().any(|output| !text.is_empty() && output.contains(text.trim_end())) {
                in_full.insert(path.clone(), BlobId::of(text.as_bytes()));
            }
            files.insert(path.clone(), text.clone());
        }
    }
    let shown = edit::Shown { in_full: &in_full, in_part: &shown.in_part };
    let reading = edit::validate(changes, &files, &outlines, shown);
    if !reading.is_accepted() {
        return Ok(Err(reading.issues));
    }
    keep(world, &reading.value)
}

/// Whether the references of a task hold now (spec 2.8, 2.12).
pub(super) fn check_references(
    world: &World,
    run: &Run,
    task: &Slug,
    n: u32,
    stage: ReferenceStage,
) -> Result<Event, DriveFault> {
    let owner = run.task(task).ok_or_else(|| DriveFault::defect("a check of an unknown task"))?;
    let settings: &Settings = run.settings();
    let wanted = known::execution_references(run, owner);
    let restricted = run.no_longer_relevant().iter().cloned().collect();
    let allowance = known::execution_allowance(world, run, owner);
    let request = Request {
        references: &wanted,
        level: Level::Whole,
        allowance,
        task: Some(&owner.task.name),
        writer_before: known::writer_before(run, task),
        restricted: &restricted,
    };
    let texts = known::Texts::of(world, run, &wanted);
    let Checked { issues, contents, tokens } = check(&request, &texts.sources(world, settings.allow_http));
    let fits = tokens <= u64::from(allowance.prompt);
    let apart = (owner.needs_room() && !fits).then_some(Apart { tokens, most: allowance.prompt });
    Ok(Event::ReferencesChecked { task: task.clone(), n, stage, issues, contents, apart })
}

/// Merges the finished runs of a task by code (spec 3.12).
pub(super) fn merge_by_code(world: &World, run: &Run, task: &Slug, n: u32) -> Result<Event, DriveFault> {
    let owner = run.task(task).ok_or_else(|| DriveFault::defect("a merge of an unknown task"))?;
    if owner.merge.as_ref().is_some_and(|merge| merge.fell_back()) {
        world.notice(&format!("note: {task}: the model gave no valid merge, so code merged its runs"));
    }
    let mut texts = Vec::new();
    let mut result = ResultParts::default();
    for part in owner.parts() {
        let document = match &part.result.document {
            Some(blob) => world.text(blob)?,
            None => String::new(),
        };
        let told = |text: &str| part.text(run, owner, text);
        texts.push((part.title(owner).to_owned(), told(&part.result.summary), told(&document)));
        result.more_work |= part.result.more_work;
        for link in &part.result.links {
            if !result.links.contains(link) {
                result.links.push(link.clone());
            }
        }
    }
    let parts: Vec<(&str, &str, &str)> =
        texts.iter().map(|(title, summary, document)| (title.as_str(), summary.as_str(), document.as_str())).collect();
    let (summary, document) = sheet::merge_runs(&parts);
    result.details = owner.details();
    result.headings = document_headings(&document);
    result.tokens = tokens(&document);
    result.document = Some(world.store.stage_blob(document.into_bytes()));
    result.summary = summary;
    Ok(Event::RunsMerged { task: task.clone(), n, result })
}
