//! What is known of a run, in the forms that readers, prompts and references ask for.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use callsheet_core::adopt::{self, Adoption, Former};
use callsheet_core::fence::fence;
use callsheet_core::issue::Issue;
use callsheet_core::links::parse_target;
use callsheet_core::prompt::Note;
use callsheet_core::record::{Event, ListAdopted, ListOrigin};
use callsheet_core::run::{Problem, ProblemKind, Run, RunPart, State, TaskRun};
use callsheet_core::spec::{
    BlobId, Phase, PlanPart, Reference, Settings, Skill, SkillPolicy, Slug, Target, Task, TaskList, ToolSpec,
};
use callsheet_format::grammar::Form;
use callsheet_format::prompt::CurrentFile;
use callsheet_format::reading::{KnownTask, ReadContext, Reading};
use callsheet_format::reply::ListReply;
use callsheet_format::reply::json_form::read_json_form;
use callsheet_format::sheet::{TaskForm, split_mark};
use callsheet_format::{reply, sheet};
use serde::Deserialize;

use crate::ports::{ModelReply, Store};
use crate::references::{self, Allowance, Output, RunTexts, Sources, TaskOutput, Wanted};
use crate::skills::LoadedSkills;

use super::{DriveFault, World};

/// Tokens of the project's description in a prompt.
const DESCRIPTION_TOKENS: u32 = 1_500;

/// The project's description (AGENTS.md, else README, else what its files tell); empty if there is none.
pub(super) fn project_description(world: &World) -> String {
    let Some(excerpt) = references::project_description(&world.workspace) else {
        let told = || references::overview(&world.workspace).unwrap_or_default();
        return world.snapshots.overview.get_or_init(told).clone();
    };
    let text = references::cut(&excerpt, DESCRIPTION_TOKENS).text;
    split_mark(&text).1.replace("\r\n", "\n")
}

/// The file a person has open, with its beginning.
pub(super) fn current_file(world: &World) -> Option<CurrentFile> {
    let path = world.current_file.clone()?;
    let located = world.workspace.locate(&path).ok()?;
    let bytes = world.workspace.read(&located, 256 * 1024).ok()?;
    let text = if bytes.is_binary() { String::new() } else { String::from_utf8_lossy(&bytes.bytes).into_owned() };
    Some(CurrentFile { language: references::language(&path).to_owned(), path, text })
}

/// A recorded reply.
pub(super) fn reply(world: &World, blob: &BlobId) -> Result<ModelReply, DriveFault> {
    serde_json::from_slice(&world.store.blob(blob)?).map_err(DriveFault::defect)
}

/// A refused reply as the next prompt shows it: Markdown, also where it came as its JSON twin.
pub(super) fn proposal(world: &World, run: &Run, refused: &BlobId) -> Result<String, DriveFault> {
    let text = reply(world, refused)?.text;
    let Some(call) = run.calls().iter().rev().find(|call| call.reply == *refused) else { return Ok(text) };
    let asked: AskedForm = serde_json::from_slice(&world.store.blob(&call.prompt)?).map_err(DriveFault::defect)?;
    let twin = asked.form().and_then(|form| read_json_form(&text, form, call.key.phase));
    Ok(twin.map(|twin| twin.text).filter(|text| !text.is_empty()).unwrap_or(text))
}

/// The part of a recorded prompt that says whether a JSON twin was asked for.
#[derive(Clone, Debug, Default, Deserialize)]
pub(super) struct AskedForm {
    #[serde(default)]
    request: AskedRequest,
}

#[derive(Clone, Debug, Default, Deserialize)]
struct AskedRequest {
    #[serde(default)]
    constraint: Option<AskedConstraint>,
}

#[derive(Clone, Debug, Default, Deserialize)]
struct AskedConstraint {
    #[serde(default)]
    form: Option<Form>,
}

impl AskedForm {
    /// The form of the twin that was asked for.
    pub fn form(&self) -> Option<&Form> {
        self.request.constraint.as_ref()?.form.as_ref()
    }
}

/// The text form of issues, one a line, raw blocks below them (spec 4.8).
pub(super) fn issues_text(issues: &[Issue]) -> String {
    issues.iter().map(Issue::to_string).collect::<Vec<_>>().join("\n")
}

/// A task in one of the serialisations of spec 9.
pub(super) fn task_text(task: &Task, form: TaskForm) -> String {
    sheet::render_task(task, form, None)
}

/// An earlier step has a writer that has not ended.
pub(super) fn writer_before(run: &Run, slug: &Slug) -> bool {
    let step = run.step_of(slug).unwrap_or(0);
    let earlier = run.steps().iter().take(step).flatten();
    earlier.filter_map(|slug| run.task(slug)).any(|task| task.writer.is_some() && !task.state().is_ended())
}

/// File links of the summaries of producers, each once, without those the task names itself (spec 2.12).
pub(super) fn carried(run: &Run, own: &[Reference]) -> Vec<Wanted> {
    let mut carried: Vec<Wanted> = Vec::new();
    let producers = own.iter().filter_map(|reference| run.task(reference.target.producer()?));
    for link in producers.filter_map(|task| task.result()).flat_map(|result| &result.links) {
        let Ok(target) = parse_target(link) else { continue };
        let known =
            own.iter().map(|reference| &reference.target).chain(carried.iter().map(|wanted| &wanted.reference.target));
        if known.into_iter().all(|known| *known != target) {
            carried.push(Wanted { reference: Reference { title: String::new(), target }, carried: true });
        }
    }
    carried
}

/// Done tasks for the iteration prompt, each under its heading (spec 9.2).
pub(super) fn completed_outputs(run: &Run) -> String {
    let blocks = run.done().enumerate().map(|(index, task)| {
        let target = Target::TaskOutput { slug: task.task.slug.clone(), heading: None }.to_string();
        let left_out = run.no_longer_relevant().contains(&target);
        let stub = left_out.then(|| Note::RestrictedOutput.fill(&[("reference", &target)]));
        let summary = summary_now(task);
        let output = stub.as_deref().map(str::trim).or(summary.as_deref());
        format!("### Completed task output {}\n\n{}", index + 1, sheet::render_task(&task.task, TaskForm::List, output))
    });
    blocks.collect::<Vec<_>>().join("\n\n")
}

/// Outstanding tasks in LIST form (spec 9.2).
pub(super) fn outstanding_list(run: &Run) -> String {
    sheet::render_list(&outstanding(run))
}

fn outstanding(run: &Run) -> TaskList {
    let steps = run.steps().iter().map(|step| callsheet_core::spec::Step {
        tasks: step
            .iter()
            .filter_map(|slug| run.task(slug))
            .filter(|task| !task.state().is_ended())
            .map(|task| task.task.clone())
            .collect(),
    });
    TaskList { goals: run.goals().clone(), steps: steps.filter(|step| !step.tasks.is_empty()).collect() }
}

/// The saved sheet (spec 3.4): prompt, goals, outstanding and problem tasks, finished tasks.
pub fn sheet_text(run: &Run) -> String {
    let open = run.steps().iter().map(|step| callsheet_core::spec::Step {
        tasks: step
            .iter()
            .filter_map(|slug| run.task(slug))
            .filter(|task| !matches!(task.state(), State::Done | State::Dropped))
            .map(|task| task.task.clone())
            .collect(),
    });
    let list = TaskList { goals: run.goals().clone(), steps: open.filter(|step| !step.tasks.is_empty()).collect() };
    let summary = |task: &'_ TaskRun| task.result().map(|result| result.summary.clone()).unwrap_or_default();
    let done: Vec<(&Task, String)> = run.done().map(|task| (&task.task, summary(task))).collect();
    let done: Vec<(&Task, &str)> = done.iter().map(|(task, summary)| (*task, summary.as_str())).collect();
    sheet::render_sheet(run.prompt(), &list, run.no_longer_relevant(), &done)
}

/// Failures with their issues, denials with the person's words, blocks with their cause (spec 2.9).
pub(super) fn problems_text<'a>(run: &Run, problems: impl Iterator<Item = Problem<'a>>) -> String {
    let blocks = problems.map(|problem| {
        let name = problem.task.task.name.as_str();
        let said = match problem.kind {
            ProblemKind::Failed { reason, issues, .. } => {
                let issues = issues_text(issues);
                let failed = Note::ProblemFailed.fill(&[("name", name), ("reason", reason), ("issues", &issues)]);
                format!("{failed}{}", kept_parts(run, problem.task))
            }
            ProblemKind::Denied { words } => {
                let words = if words.trim().is_empty() { String::new() } else { fence("text", words) };
                Note::ProblemDenied.fill(&[("name", name), ("words", &words)])
            }
            ProblemKind::Blocked { cause } => {
                let cause = run.task(cause).map_or(cause.as_str(), |task| task.task.name.as_str());
                Note::ProblemBlocked.fill(&[("name", name), ("cause", cause)])
            }
        };
        format!("{said}{}", left_changed(problem.task))
    });
    blocks.collect::<Vec<_>>().join("\n")
}

/// What a task that did not come to its end has left changed (spec 10.7).
fn left_changed(task: &TaskRun) -> String {
    let files: Vec<&str> = task.changed_files().into_iter().collect();
    if files.is_empty() {
        return String::new();
    }
    format!("\n{}", Note::ProblemChanged.fill(&[("files", &files.join(", "))]))
}

/// What finished of a failed task, which is not asked for again if the task is listed as it was (spec 10.5).
fn kept_parts(run: &Run, task: &TaskRun) -> String {
    let part = |part: RunPart<'_>| {
        let summary = part.text(run, task, part.result.summary.trim());
        format!("\n\n**{}**\n\n{summary}", part.title(task))
    };
    let parts: String = task.finished_parts().into_iter().map(part).collect();
    if parts.is_empty() { parts } else { format!("\n{}", Note::ProblemKept.fill(&[("parts", parts.trim_start())])) }
}

/// What readers compare replies with, made once and made again only where it changed: a run has many tasks, and a
/// reply changes one.
#[derive(Debug, Default)]
pub struct Snapshots {
    tools: OnceLock<Vec<Arc<ToolSpec>>>,
    /// What the files tell of a project that nobody describes, the same in all prompts.
    overview: OnceLock<String>,
    /// In the order of [`Run::tasks`].
    tasks: Mutex<Vec<Arc<KnownTask>>>,
}

impl Snapshots {
    /// All tasks of the run as they are now, without those that were dropped.
    fn tasks(&self, run: &Run) -> Vec<Arc<KnownTask>> {
        let mut kept = self.tasks.lock().unwrap_or_else(PoisonError::into_inner);
        let mut former = std::mem::take(&mut *kept).into_iter();
        *kept = run
            .tasks_with_steps()
            .map(|(task, step)| {
                let step = step.and_then(|step| u32::try_from(step).ok());
                former
                    .next()
                    .filter(|known| is_still(known, task, step))
                    .unwrap_or_else(|| known_task(task, step).into())
            })
            .collect();
        let listed = run.tasks().zip(kept.iter()).filter(|(task, _)| task.state() != State::Dropped);
        listed.map(|(_, known)| Arc::clone(known)).collect()
    }
}

fn known_task(task: &TaskRun, step: Option<u32>) -> KnownTask {
    let result = task.result();
    KnownTask {
        task: task.task.clone(),
        step,
        done: task.state() == State::Done,
        denied: task.state() == State::Denied,
        outstanding: !task.state().is_ended(),
        headings: result.map(|result| result.headings.clone()).unwrap_or_default(),
        details: result
            .map(|result| result.details.iter().map(|detail| detail.filename.clone()).collect())
            .unwrap_or_default(),
        tokens: result.map(|result| result.tokens).unwrap_or_default(),
        writer: task.writer.is_some(),
    }
}

/// Whether [`known_task`] would give the same again.
fn is_still(known: &KnownTask, task: &TaskRun, step: Option<u32>) -> bool {
    let KnownTask { task: text, step: known_step, done, denied, outstanding, headings, details, tokens, writer } =
        known;
    let result = task.result();
    let of_result = match result {
        Some(result) => {
            *tokens == result.tokens
                && *headings == result.headings
                && details.iter().eq(result.details.iter().map(|detail| &detail.filename))
        }
        None => *tokens == 0 && headings.is_empty() && details.is_empty(),
    };
    let states = (task.state() == State::Done, task.state() == State::Denied, !task.state().is_ended());
    of_result
        && (*done, *denied, *outstanding) == states
        && *known_step == step
        && *writer == task.writer.is_some()
        && *text == task.task
}

/// What readers may compare with, without answers to lookups.
pub(super) fn context(world: &World, run: &Run, settings: &Settings, catalog: Vec<Skill>) -> ReadContext {
    let (tasks, taken) = (world.snapshots.tasks(run), run.taken().cloned().collect());
    ReadContext { tasks, taken, ..context_without_tasks(world, run, settings, catalog) }
}

/// The same for a reply that names no task of its run.
pub(super) fn context_without_tasks(world: &World, run: &Run, settings: &Settings, catalog: Vec<Skill>) -> ReadContext {
    ReadContext {
        catalog,
        broken: world.offer.as_ref().map(|offer| offer.broken.clone()).unwrap_or_default(),
        tools: world.snapshots.tools.get_or_init(|| world.tool_specs().into_iter().map(Arc::new).collect()).clone(),
        disabled_tools: world.disabled_tools.clone(),
        prompts: run.prompts().into_iter().map(str::to_owned).collect(),
        allow_http: settings.allow_http,
        current_file: world.current_file.clone(),
        prompt_budget: prompt_budget(world, settings),
        reference_budget: settings.budget.reference,
        refine: settings.refine,
        restricted: run.no_longer_relevant().iter().cloned().collect(),
        strict: settings.strict,
        ..ReadContext::default()
    }
}

/// Tokens of the references of one execution prompt: the budget, or half of the window if that is less (spec 5.8).
fn prompt_budget(world: &World, settings: &Settings) -> u32 {
    let window = world.models.model(Phase::Execute, None).ok().and_then(|model| model.info().window);
    window.map_or(settings.budget.prompt, |window| settings.budget.prompt.min(window / 2))
}

/// Reads a text with all its lookups answered: read again as long as that raises new ones (spec 4.1). Most replies ask
/// nothing and are read once.
pub(super) fn read_with<T>(
    world: &World,
    text: &str,
    context: &mut ReadContext,
    read: impl Fn(&str, &ReadContext) -> Reading<T>,
) -> Reading<T> {
    let mut reading = read(text, context);
    for _ in 0..4 {
        if reading.wanted.is_empty() {
            break;
        }
        context.answers.extend(references::answer(&reading.wanted, world.disk()));
        reading = read(text, context);
    }
    reading
}

/// A sheet file as read.
#[derive(Clone, Debug, PartialEq)]
pub struct SheetReading {
    /// Its list, with all repairs and issues in line order.
    pub list: Reading<TaskList>,
    /// Its own `Original prompt`.
    pub prompt: Option<String>,
    /// What the person marked as no longer relevant (spec 5.10).
    pub no_longer_relevant: Vec<String>,
}

/// Reads a sheet file, with the request that is given with it.
pub(super) fn read_sheet(world: &World, text: &str, prompt: Option<&str>, settings: &Settings) -> SheetReading {
    let loaded = world.skills(settings);
    let mut context = context(world, &Run::new(), settings, loaded.catalog.skills().cloned().collect());
    // Headings of the request may be referred to (spec 5.1): of the one that is given, else of the sheet's own.
    context.prompts.extend(prompt.map(str::to_owned));
    let mut reading = read_with(world, text, &mut context, reply::read_sheet);
    if let Some(prompt) = reading.value.prompt.clone().filter(|_| context.prompts.is_empty()) {
        context.prompts.push(prompt);
        reading = read_with(world, text, &mut context, reply::read_sheet);
    }
    let Reading { value, repairs, issues, wanted } = reading;
    let list = Reading { value: value.list, repairs, issues, wanted };
    SheetReading { list, prompt: value.prompt, no_longer_relevant: value.no_longer_relevant }
}

/// The fact of a list that the host read or made.
pub(super) fn adopt_host_list(
    world: &World,
    run: &Run,
    settings: &Settings,
    sheet: SheetReading,
) -> Result<Event, DriveFault> {
    let reading = sheet.list;
    let mut list = reading.value;
    // A sheet or one skill counts as complete unless it says that it continues (spec 2.2).
    list.goals.plan_complete = !list.goals.plan_continues;
    let reply = ListReply { list, no_longer_relevant: sheet.no_longer_relevant, ..ListReply::default() };
    let loaded = world.skills(settings);
    let list = adopt(world, run, reply, &loaded, false)?;
    Ok(Event::ListAdopted { origin: ListOrigin::Host, list, repairs: reading.repairs, issues: reading.issues })
}

/// Pins the skills a list names and matches it with the outstanding tasks (spec 2.11, 6.4); `edit`: with all open ones.
pub(super) fn adopt(
    world: &World,
    run: &Run,
    reply: ListReply,
    loaded: &LoadedSkills,
    edit: bool,
) -> Result<ListAdopted, DriveFault> {
    let mut skills: BTreeMap<String, SkillPolicy> = BTreeMap::new();
    for name in reply.list.tasks().filter_map(|task| task.skill.as_ref()) {
        if !skills.contains_key(name)
            && let Some(skill) = loaded.catalog.get(name)
        {
            skills.insert(name.clone(), world.pin(skill, loaded)?);
        }
    }
    let former: Vec<Former<'_>> = run
        .tasks()
        .filter(|task| !matches!(task.state(), State::Done | State::Dropped))
        .map(|task| Former { task: &task.task, outstanding: !task.state().is_ended() })
        .collect();
    let taken = run.taken().cloned().collect();
    let adoption = Adoption { former: &former, skills: &skills, taken: &taken, edit };
    let mut adopted = adopt::adopt(&reply.list, &adoption);
    adopted.no_longer_relevant = reply.no_longer_relevant;
    adopted.remarks = reply.remarks;
    Ok(adopted)
}

/// What a person refused of the changes of a task, and took back of them, as its document ends with it (spec 11.4, 3.10);
/// empty if nothing was.
pub(super) fn told_of(task: &TaskRun) -> String {
    let refused: String = task.refused().map(|part| format!("\n\n{}\n", part.told)).collect();
    let undone = undone(task);
    if undone.is_empty() { refused } else { format!("{refused}\n\n{undone}\n") }
}

/// What a person took back of the changes of a task after they were made; empty if nothing was.
fn undone(task: &TaskRun) -> String {
    let files: Vec<&str> = task.taken_back_files().into_iter().collect();
    if files.is_empty() {
        return String::new();
    }
    Note::ChangesUndone.fill(&[("files", &files.join(", "))]).trim_end().to_owned()
}

/// The summary of a done task as later prompts show it: with what was taken back since (spec 3.10).
fn summary_now(task: &TaskRun) -> Option<String> {
    let summary = &task.result()?.summary;
    let undone = undone(task);
    Some(if undone.is_empty() { summary.clone() } else { format!("{}\n\n{undone}", summary.trim_end()) })
}

/// The run's own texts for references, owned: only those that a request asks for.
pub(super) struct Texts {
    prompts: Vec<String>,
    goals: String,
    sections: Vec<String>,
    outputs: BTreeMap<Slug, Known>,
    done: Vec<Slug>,
    store: Arc<dyn Store>,
}

struct Known {
    slug: Slug,
    /// What a person refused or took back, at the end of the document.
    told: String,
    summary: String,
    result: Option<callsheet_core::record::ResultParts>,
}

impl Texts {
    /// A snapshot of what `wanted` may read.
    pub fn of(world: &World, run: &Run, wanted: &[Wanted]) -> Self {
        let section = |step: &Vec<Slug>| {
            let tasks = step.iter().filter_map(|slug| run.task(slug));
            tasks.map(|task| sheet::render_task(&task.task, TaskForm::Coarse, None)).collect::<Vec<_>>().join("\n\n")
        };
        let mut outputs = BTreeMap::new();
        for slug in wanted.iter().filter_map(|wanted| wanted.reference.target.producer()) {
            if let Some(task) = run.task(slug) {
                let result = task.result().cloned();
                let (told, summary) = (told_of(task), summary_now(task).unwrap_or_default());
                outputs.insert(slug.clone(), Known { slug: task.task.slug.clone(), result, told, summary });
            }
        }
        let shows_sections =
            wanted.iter().any(|wanted| matches!(wanted.reference.target, Target::Plan(PlanPart::Section(_))));
        let sections = if shows_sections { run.steps().iter().map(section).collect() } else { Vec::new() };
        Self {
            prompts: run.prompts().into_iter().map(str::to_owned).collect(),
            goals: run.goals().text.clone(),
            sections,
            outputs,
            done: run.done().map(|task| task.task.slug.clone()).collect(),
            store: Arc::clone(&world.store),
        }
    }

    /// Where references get their contents from.
    pub fn sources<'a>(&'a self, world: &'a World, allow_http: bool) -> Sources<'a> {
        Sources {
            disk: world.disk(),
            texts: self,
            pages: &world.pages,
            current_file: world.current_file.as_deref(),
            allow_http,
        }
    }
}

impl RunTexts for Texts {
    fn prompts(&self) -> Vec<String> {
        self.prompts.clone()
    }

    fn plan(&self, part: &PlanPart) -> Option<String> {
        match part {
            PlanPart::OriginalPrompt => self.prompts.first().cloned(),
            PlanPart::Goals => Some(self.goals.clone()),
            PlanPart::Section(number) => self.sections.get(usize::try_from(*number).ok()?.checked_sub(1)?).cloned(),
        }
    }

    fn outputs(&self) -> Vec<Slug> {
        self.done.clone()
    }

    fn output(&self, slug: &Slug) -> Output {
        let Some(known) = self.outputs.get(slug) else { return Output::Unknown };
        let Some(result) = &known.result else { return Output::NotYet };
        let document = result.document.as_ref().and_then(|blob| self.store.blob(blob).ok()).unwrap_or_default();
        Output::Done(TaskOutput {
            slug: Some(known.slug.clone()),
            summary: known.summary.clone(),
            document: format!("{}{}", String::from_utf8_lossy(&document), known.told),
            told: known.told.clone(),
            details: result.details.iter().map(|detail| detail.filename.clone()).collect(),
        })
    }

    fn detail(&self, slug: &Slug, file: &str) -> Option<Vec<u8>> {
        let result = self.outputs.get(slug)?.result.as_ref()?;
        let detail = result.details.iter().find(|detail| detail.filename == file)?;
        self.store.blob(&detail.blob).ok()
    }
}

/// The references a task's execution would read, carried ones included.
pub(super) fn execution_references(run: &Run, task: &TaskRun) -> Vec<Wanted> {
    let own: Vec<Reference> = task.task.references.clone();
    let carried = carried(run, &own);
    own.into_iter().map(|reference| Wanted { reference, carried: false }).chain(carried).collect()
}

/// Tokens that a prompt of a task's execution has for references (spec 5.8).
pub(super) fn execution_allowance(world: &World, run: &Run, task: &TaskRun) -> Allowance {
    let skill = task.skill.as_ref();
    let wish = skill.and_then(|skill| skill.model.as_deref());
    let window = world.models.model(Phase::Execute, wish).ok().and_then(|model| model.info().window);
    let own = skill.and_then(|skill| skill.limits.reference_tokens);
    Allowance::new(&run.settings().budget, own, window, 1.0)
}
