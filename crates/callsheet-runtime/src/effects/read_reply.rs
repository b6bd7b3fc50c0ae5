//! Reads recorded replies into events. The readers are pure. This file answers their lookups, stores texts as blobs,
//! and reports what was accepted as what.

use std::collections::BTreeSet;

use callsheet_core::events::{self, Event, ListOrigin};
use callsheet_core::issue::{Issue, IssueCode, Repair, Severity, Span};
use callsheet_core::links;
use callsheet_core::nouns::{Phase, Policy, Reference, Refinement, Target, tokens};
use callsheet_core::prompt::Note;
use callsheet_core::record::{ChangeSet, DetailBlob, ResultParts, StopReason};
use callsheet_core::run::{Execution, ModelCall, Run, TaskRun};
use callsheet_format::edit::{Change, ChangeWay};
use callsheet_format::grammar::Form;
use callsheet_format::reading::{KnownTasks, ReadContext, Reading};
use callsheet_format::reply;
use callsheet_format::reply::json_form::read_json_form;
use callsheet_format::reply::task::{
    TurnInput, document_headings, read_execution, read_loop_turn, read_merge, read_refinement, read_write_execution,
    summary_files, summary_with_details,
};
use callsheet_format::reply::{ExecutionReply, ListReply, LoopTurn, read_answer, read_document, read_review, recited};

use crate::effects::stage::ShownFiles;
use crate::effects::unsupported::{not_found, shown_text};
use crate::effects::{read_turn, stage};
use crate::fault::DriveFault;
use crate::ports::ModelReply;
use crate::prompting::keys::prompt_key;
use crate::prompting::recorded;
use crate::reading;
use crate::reading::aim::{files_named, write_aim};
use crate::reading::known::TaskIndex;
use crate::reading::list::reconcile;
use crate::reading::route::direct_list;
use crate::services::Services;

/// Reads a recorded reply.
pub(crate) fn read_reply(
    services: &Services,
    run: &Run,
    asked: &ModelCall,
    index: &mut TaskIndex,
) -> Result<Vec<Event>, DriveFault> {
    let record = run.call_record(&asked.key).ok_or_else(|| DriveFault::defect("a reply to read is not recorded"))?;
    if record.stop.is_withheld() && !ends_a_handler(run, asked) {
        return Ok(vec![withheld(asked, record.stop)]);
    }
    let mut reply = recorded::reply(services, &record.reply)?;
    let prompt = services.store.blob(&record.prompt)?;
    let shown: ShownFiles = serde_json::from_slice(&prompt).map_err(DriveFault::defect)?;
    let asked_for: recorded::AskedForm = serde_json::from_slice(&prompt).map_err(DriveFault::defect)?;
    let mut repaired = Vec::new();
    let form = asked_for.form().filter(|_| asked.key.phase != Phase::Review);
    if let Some(twin) = form.and_then(|form| read_json_form(&reply.text, form, asked.key.phase)) {
        if !twin.issues.is_empty() {
            let key = asked.key.clone();
            let (issues, repairs) = (twin.issues, twin.repairs);
            return Ok(vec![events::ReplyRefused { key, issues, repairs, valid: None }.into()]);
        }
        (reply.text, repaired) = (twin.text, twin.repairs);
    }
    let tasks = if knows_no_task(run, asked) { KnownTasks::default() } else { index.of(run) };
    let length_stop = record.stop.is_cut();
    let input = RecordedReply { services, run, asked, tasks, reply, repaired, shown, prompt, length_stop };
    let event = match asked.key.phase {
        Phase::Route => input.route()?,
        Phase::Plan => input.list(reply::read_plan)?,
        Phase::Iterate => input.list(reply::read_iteration)?,
        Phase::Continue => input.list(reply::read_continuation)?,
        Phase::Refine => input.refinement()?,
        Phase::Merge => input.merge()?,
        Phase::Review => read_verdict(asked, &input.reply.text, asked_for.form()),
        Phase::Join => input.join()?,
        Phase::Execute => input.execution()?,
    };
    Ok(vec![event])
}

/// The event for a reply that its provider withheld. Its fragment is not read.
fn withheld(asked: &ModelCall, stop: StopReason) -> Event {
    let (key, issue) = (asked.key.clone(), reply::withheld(asked.key.phase, stop == StopReason::Refused));
    let (repairs, issues) = (Vec::new(), vec![issue]);
    if asked.key.phase == Phase::Review {
        let issues = issues.into_iter().map(Issue::warning).collect();
        return events::Reviewed { key, missing: None, repairs, issues }.into();
    }
    events::ReplyRefused { key, issues, repairs, valid: None }.into()
}

/// Whether the evaluator handles this reply, because it is the last one of a handler.
fn ends_a_handler(run: &Run, asked: &ModelCall) -> bool {
    let task = asked.key.task.as_ref().and_then(|slug| run.task(slug));
    let writes = task.and_then(|task| task.skill.as_ref()).is_some_and(|skill| skill.writes_files);
    asked.key.phase == Phase::Execute && task.is_some_and(TaskRun::is_handler) && !writes
}

/// Reads the reply of a review, which may be the JSON form of `form`.
fn read_verdict(asked: &ModelCall, text: &str, form: Option<&Form>) -> Event {
    let twin = form.and_then(|form| read_json_form(text, form, Phase::Review)).filter(|twin| twin.issues.is_empty());
    let (text, mut repairs) = match twin {
        Some(twin) => (twin.text, twin.repairs),
        None => (text.to_owned(), Vec::new()),
    };
    let reading = read_review(&text);
    repairs.extend(reading.repairs);
    events::Reviewed { key: asked.key.clone(), missing: reading.value, repairs, issues: reading.issues }.into()
}

struct RecordedReply<'a> {
    services: &'a Services,
    run: &'a Run,
    asked: &'a ModelCall,
    /// The tasks that it is compared with.
    tasks: KnownTasks,
    reply: ModelReply,
    /// Repairs between the original reply and this text.
    repaired: Vec<Repair>,
    shown: ShownFiles,
    /// The prompt as recorded.
    prompt: Vec<u8>,
    length_stop: bool,
}

/// What a person wrote for the run: the request and what followed it.
fn said(run: &Run) -> String {
    [run.prompt()].into_iter().chain(run.follow_ups().iter().map(String::as_str)).collect::<Vec<_>>().join("\n")
}

impl RecordedReply<'_> {
    /// All repairs of the reply, in the order in which they were made. `of_reader` holds those of its last reader.
    fn repairs(&self, of_reader: Vec<Repair>) -> Vec<Repair> {
        self.repaired.iter().cloned().chain(of_reader).collect()
    }

    fn refused(&self, issues: Vec<Issue>, repairs: Vec<Repair>) -> Event {
        let (key, repairs) = (self.asked.key.clone(), self.repairs(repairs));
        events::ReplyRefused { key, issues, repairs, valid: None }.into()
    }

    fn owner(&self) -> Result<&TaskRun, DriveFault> {
        let slug = self.asked.key.task.as_ref().and_then(|slug| self.run.task(slug));
        slug.ok_or_else(|| DriveFault::defect("a reply of an unknown task"))
    }

    fn list(&self, read: fn(&str, &ReadContext) -> Reading<ListReply>) -> Result<Event, DriveFault> {
        let loaded = self.services.skills(self.run.settings());
        let catalog = loaded.catalog.nameable(&said(self.run)).cloned().collect();
        let settings = self.run.settings();
        let mut context = reading::list_context(self.services, self.run, self.tasks.clone(), settings, catalog);
        context.length_stop = self.length_stop;
        let reading = reading::read_with(self.services, &self.reply.text, &mut context, read);
        if !reading.is_accepted() {
            return Ok(self.refused(reading.issues, reading.repairs));
        }
        if reading.value.list.tasks().any(|task| task.skill.is_none()) {
            let (key, ListReply { list, beside, .. }) = (self.asked.key.clone(), reading.value);
            let (repairs, issues) = (self.repairs(reading.repairs), reading.issues);
            return Ok(events::ListDrafted { key, list, beside, repairs, issues }.into());
        }
        let list = reconcile(self.services, self.run, reading.value, &loaded, false)?;
        let origin = ListOrigin::Reply(self.asked.key.clone());
        let (repairs, issues) = (self.repairs(reading.repairs), reading.issues);
        Ok(events::ListAdopted { origin, list, repairs, issues }.into())
    }

    /// The answer that joins results. What the results say without having read it stays marked in the answer.
    fn join(&self) -> Result<Event, DriveFault> {
        let mut reading = read_answer(&self.reply.text, self.length_stop);
        reading.issues.extend(self.recited(&reading.value)?);
        if !reading.is_accepted() {
            return Ok(self.refused(reading.issues, reading.repairs));
        }
        let (key, answer) = (self.asked.key.clone(), reading.value);
        let tasks = self.run.results();
        let marks = tasks.into_iter().filter_map(TaskRun::result).flat_map(|result| &result.unsupported);
        let unsupported = not_found(&self.prompt, &answer, "", marks)?;
        let (repairs, issues) = (self.repairs(reading.repairs), reading.issues);
        Ok(events::Joined { key, answer, unsupported, repairs, issues }.into())
    }

    /// The skill for the request, or for the task that waits for one.
    fn route(&self) -> Result<Event, DriveFault> {
        let (run, key) = (self.run, &self.asked.key);
        let loaded = self.services.skills(run.settings());
        let candidates = reading::route::candidates(run, &loaded);
        let names: Vec<&str> = candidates.iter().map(|candidate| candidate.name.as_str()).collect();
        let paths = if run.drafted().is_none() { files_named(self.services, run.prompt()) } else { Vec::new() };
        let Reading { value: chosen, issues, .. } = reply::read_route(&self.reply.text, &names, &paths);
        let skill = chosen.skill.as_deref().filter(|name| loaded.catalog.get(name).is_some());
        let Some((mut list, beside)) = run.drafted().map(|(list, beside)| (list.clone(), beside.clone())) else {
            if skill.is_some() || run.settings().plan == Policy::Never {
                return direct_list(self.services, run, &loaded, (key, skill, &chosen.writes), self.repaired.clone());
            }
            return Ok(events::Routed { key: key.clone(), skill: None, writes: chosen.writes, issues }.into());
        };
        let skill = skill.map(str::to_owned);
        if run.unrouted_tasks().nth(1).is_some() {
            return Ok(events::Routed { key: key.clone(), skill, writes: Vec::new(), issues }.into());
        }
        let last = run.routed_task(key).map(|task| task.slug.clone());
        let last = list.tasks_mut().filter(|task| Some(&task.slug) == last.as_ref() && task.skill.is_none());
        last.for_each(|task| task.skill.clone_from(&skill));
        let list = reconcile(self.services, run, ListReply { list, beside, ..ListReply::default() }, &loaded, false)?;
        Ok(events::ListAdopted { origin: ListOrigin::Reply(key.clone()), list, repairs: self.repaired.clone(), issues }
            .into())
    }

    /// The context for reading a reply about one task.
    fn task_context(&self) -> Result<ReadContext, DriveFault> {
        let task = self.owner()?;
        let mut skill = self.services.pinned(task.skill.as_ref())?;
        if let Some(name) = &task.task.skill {
            skill.name.clone_from(name);
        }
        let (run, settings) = (self.run, self.run.settings());
        let mut context = reading::context(self.services, run, self.tasks.clone(), settings, vec![skill]);
        context.current = Some(task.task.clone());
        context.length_stop = self.length_stop;
        context.shown_in_full.clone_from(&self.shown.in_full);
        context.shown_in_part.clone_from(&self.shown.in_part);
        Ok(context)
    }

    fn refinement(&self) -> Result<Event, DriveFault> {
        let mut context = self.task_context()?;
        let reading = reading::read_with(self.services, &self.reply.text, &mut context, read_refinement);
        Ok(if reading.is_accepted() {
            events::TaskRefined {
                key: self.asked.key.clone(),
                refinement: reading.value,
                repairs: self.repairs(reading.repairs),
                issues: reading.issues,
            }
            .into()
        } else {
            let valid =
                Some(valid_parts(reading.value, &reading.issues)).filter(|valid| *valid != Refinement::default());
            let key = self.asked.key.clone();
            let (repairs, issues) = (self.repairs(reading.repairs), reading.issues);
            events::ReplyRefused { key, issues, repairs, valid }.into()
        })
    }

    fn merge(&self) -> Result<Event, DriveFault> {
        let mut context = self.task_context()?;
        let reading = reading::read_with(self.services, &self.reply.text, &mut context, read_merge);
        self.finished(reading, &context, None)
    }

    fn execution(&self) -> Result<Event, DriveFault> {
        let task = self.owner()?;
        let exec = self.asked.key.run.as_ref().and_then(|id| task.run(id));
        let exec = exec.ok_or_else(|| DriveFault::defect("a reply of an unknown execution run"))?;
        let mut context = self.task_context()?;
        let writes = task.skill.as_ref().is_some_and(|skill| skill.writes_files);
        if task.is_handler() && !writes {
            let from = read_turn::Recorded { reply: &self.reply, repaired: &self.repaired, prompt: &self.prompt };
            return read_turn::read(self.services, self.run, self.asked, task, from, context);
        }
        if exec.is_loop && !writes {
            return self.turn(task, exec, context);
        }
        if !writes && task.direct {
            let reading = read_answer(&self.reply.text, self.length_stop);
            let answer = reading.value.clone();
            let value = ExecutionReply { summary: answer.clone(), document: answer, ..ExecutionReply::default() };
            return self.finished(reading.with(value), &context, None);
        }
        if !writes {
            let reading = reading::read_with(self.services, &self.reply.text, &mut context, read_execution);
            return self.finished(reading, &context, None);
        }
        if let Some(path) = &self.shown.document {
            return self.document(path, &context);
        }
        let edits = task.skill.as_ref().is_some_and(|skill| skill.new_files_named);
        context.expected_file = write_aim(self.services, &task.task, edits).one();
        let reading = reading::read_with(self.services, &self.reply.text, &mut context, read_write_execution);
        let Reading { value, repairs, mut issues, wanted } = reading;
        let mut changes = None;
        if issues.iter().all(|issue| issue.severity != Severity::Error) && !value.edits.is_empty() {
            match stage::keep(self.services, &value.edits)? {
                Ok(set) => changes = Some(set),
                Err(refused) => issues.extend(refused),
            }
        }
        self.finished(Reading { value: value.execution, repairs, issues, wanted }, &context, changes)
    }

    /// The reply is the text of a new file. The host builds its change set.
    fn document(&self, path: &str, context: &ReadContext) -> Result<Event, DriveFault> {
        let Reading { value: content, repairs, mut issues, wanted } =
            read_document(&self.reply.text, path, self.length_stop);
        let mut changes = None;
        if issues.iter().all(|issue| issue.severity != Severity::Error) {
            let way = ChangeWay::Whole { content: content.clone(), overwrite: false };
            match stage::stage(
                self.services,
                &[Change { path: path.to_owned(), way, span: Span::line(1) }],
                &self.shown,
            )? {
                Ok(set) => changes = Some(set),
                Err(refused) => issues.extend(refused),
            }
        }
        let written = links::link(&Reference {
            title: path.to_owned(),
            target: Target::File { path: path.to_owned(), fragment: None },
        });
        let summary = Note::DocumentWritten.fill(&[("link", &written)]);
        let value = ExecutionReply { summary, document: content, ..ExecutionReply::default() };
        self.finished(Reading { value, repairs, issues, wanted }, context, changes)
    }

    fn turn(&self, task: &TaskRun, exec: &Execution, mut context: ReadContext) -> Result<Event, DriveFault> {
        let taken: BTreeSet<String> =
            task.runs.iter().flat_map(|exec| &exec.calls).map(|call| call.call.id.clone()).collect();
        let offered = !self.asked.without_tools;
        let input = TurnInput { native: &self.reply.calls, taken_ids: &taken, tools_offered: offered };
        let reading = reading::read_with(self.services, &self.reply.text, &mut context, |text, context| {
            read_loop_turn(text, input, context)
        });
        debug_assert!(exec.is_loop);
        match reading.value {
            LoopTurn::Calls(calls) if reading.issues.iter().all(|issue| issue.severity != Severity::Error) => {
                Ok(events::CallsAsked {
                    key: self.asked.key.clone(),
                    repeats: self.run.repeats(task, exec, &calls),
                    stuck: read_turn::stuck(self.services, &calls),
                    calls,
                    said: None,
                    repairs: self.repairs(reading.repairs),
                    issues: reading.issues,
                }
                .into())
            }
            LoopTurn::Calls(_) => Ok(self.refused(reading.issues, reading.repairs)),
            LoopTurn::Final(execution) => {
                let Reading { repairs, issues, wanted, .. } = reading;
                self.finished(Reading { value: *execution, repairs, issues, wanted }, &context, None)
            }
        }
    }

    /// A sentence of the host that the reply repeats.
    fn recited(&self, text: &str) -> Result<Option<Issue>, DriveFault> {
        let key = prompt_key(self.services, self.run, self.asked);
        let Ok(template) = self.services.templates.get(key) else { return Ok(None) };
        let shown = shown_text(&self.prompt)?;
        Ok(recited(text, &template.static_text(), &shown, self.asked.key.phase))
    }

    /// What the result says word for word although its prompt did not show it. What a merge adopts from its runs stays
    /// marked.
    fn unsupported(
        &self,
        task: &TaskRun,
        execution: &ExecutionReply,
        changes: Option<&ChangeSet>,
    ) -> Result<Vec<String>, DriveFault> {
        let merges = self.asked.key.phase == Phase::Merge;
        let runs = task.runs.iter().filter(|_| merges).filter_map(Execution::result);
        // If the reply is the text of a file, only the path comes from the host.
        let mut own = self.shown.document.clone().unwrap_or_default();
        for file in changes.filter(|_| own.is_empty()).into_iter().flat_map(|set| &set.files) {
            let after = file.after.as_ref().map(|blob| self.services.text(blob)).transpose()?;
            own.push_str(&format!("{}\n{}\n", file.path, after.unwrap_or_default()));
        }
        not_found(&self.prompt, &execution.document, &own, runs.flat_map(|result| &result.unsupported))
    }

    /// An execution or merge reply as a fact, with its texts stored as blobs.
    fn finished(
        &self,
        mut reading: Reading<ExecutionReply>,
        context: &ReadContext,
        changes: Option<ChangeSet>,
    ) -> Result<Event, DriveFault> {
        reading.issues.extend(self.recited(&reading.value.document)?);
        if !reading.is_accepted() {
            return Ok(self.refused(reading.issues, reading.repairs));
        }
        let task = self.owner()?;
        let execution = reading.value;
        let store = &self.services.store;
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
            links: summary_files(&execution, context),
            unchanged: execution.unchanged.clone(),
            unsupported: self.unsupported(task, &execution, changes.as_ref())?,
            changes,
        };
        let key = self.asked.key.clone();
        Ok(events::ExecutionFinished { key, result, repairs: self.repairs(reading.repairs), issues: reading.issues }
            .into())
    }
}

/// Whether the reader knows no other task: that is so for a handler of a template, whose run may have very many.
fn knows_no_task(run: &Run, asked: &ModelCall) -> bool {
    let task = asked.key.task.as_ref().and_then(|slug| run.task(slug));
    let writes = task.and_then(|task| task.skill.as_ref()).is_some_and(|skill| skill.writes_files);
    task.is_some_and(TaskRun::is_handler) && !writes
}

/// The part of a rejected refinement that is applied to the task (spec 3.7, 12). Reading has already removed bad links
/// and calls. Links do not replace those of the task if none of them is left or if they are too much together.
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
