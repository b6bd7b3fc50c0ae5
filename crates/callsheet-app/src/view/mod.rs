//! What a face sees of a run. The log is folded here. No face has the run itself, so a run on another machine looks
//! the same.

mod about;
mod asked;
mod decided;
mod folded;
mod lines;
mod of_tree;

use std::collections::BTreeSet;
use std::path::Path;

use callsheet_core::events::{Event, LinePiece, LogEntry};
use callsheet_core::nouns::Slug;
use callsheet_core::record::{CallKey, EffectKey, FileChange, Gate, GateKind, Outcome};
use callsheet_core::run::{Effect, Reject, Run};
use callsheet_core::template::TaskError;
use callsheet_core::template::TaskResult;
use callsheet_core::view::{self, Board, Summary};
use callsheet_runtime::driver::{edited_trees, only_asks};
use callsheet_runtime::effects::{OpenQuestion, open_gates, open_questions};
use callsheet_runtime::ports::{AskingCall, Observer, Signal};
use callsheet_runtime::templates::TemplateCatalog;
use serde::{Deserialize, Serialize};

use crate::words::{EventLine, one_line};

pub use about::About;
pub use callsheet_core::run::{
    CallRecord, Execution, Joined, Limit, LimitUse, Problem, Review, Stage, State, TaskRun, ToolOutput, ToolRun,
    ToolState, Why,
};
pub use decided::{Decided, decisions};
pub use folded::Folded;
pub use lines::RunLines;
pub use of_tree::FailedParts;

/// How much of a run's log was seen: the number of the last entry, or 0 for none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Cursor(pub u64);

/// An open question. Two questions of one call differ, even if they have the same words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Question {
    /// The name of the task that asks. A person uses it to say which question they answer.
    pub task: String,
    /// Its words.
    pub text: String,
    /// The call that asks.
    pub asking: AskingCall,
    /// How many questions of the call were answered or declined before.
    pub earlier: u32,
}

/// A run after the part of its log that was read.
#[derive(Default)]
pub struct RunView {
    run: Run,
}

impl From<Run> for RunView {
    fn from(run: Run) -> Self {
        Self { run }
    }
}

impl RunView {
    /// Takes the next entry of the log.
    ///
    /// # Errors
    /// The entry does not fit. The view is unchanged.
    pub fn take(&mut self, entry: &LogEntry) -> Result<(), Reject> {
        self.run.apply(entry)
    }

    /// How much of the log was read.
    pub fn cursor(&self) -> Cursor {
        Cursor(self.run.last_fact())
    }

    /// Whether a template of the run was edited since the run recorded it. `offer` is what the files in `root` hold now.
    pub fn has_edited_templates(&self, root: &Path, offer: &TemplateCatalog) -> bool {
        !edited_trees(root, &self.run, offer).is_empty()
    }

    /// The run, for a driver that continues it.
    pub fn into_run(self) -> Run {
        self.run
    }

    /// Shows an entry that was taken last to an observer.
    pub fn show_to(&self, observer: &dyn Observer, entry: &LogEntry) {
        observer.see(&Signal::LogEntry { fact: entry, run: self.run() });
    }

    /// What a person must do, if the run does nothing else.
    pub fn only_asks(&self) -> Option<Outcome> {
        only_asks(self.run())
    }

    pub(crate) fn run(&self) -> &Run {
        &self.run
    }

    /// The limit of a template task that caused an error, as `TASK.NAME`, and its current value.
    pub fn limit_of_error(&self, error: &TaskError) -> Option<(String, f64)> {
        self.run.limit_of_error(error)
    }

    /// The limit of a task of a sheet that made it fail, as `TASK.NAME`, and its current value.
    pub fn limit_of_failure(&self, task: &TaskRun) -> Option<(String, f64)> {
        self.run.limit_of_failure(task)
    }

    /// The run as a whole.
    pub fn about(&self) -> About<'_> {
        About::of(&self.run)
    }

    /// A task by slug or by the former slug of a renamed task.
    pub fn task(&self, slug: &Slug) -> Option<&TaskRun> {
        self.run.task(slug)
    }

    /// All tasks of the lists or of the template that is run, in the order in which they first appeared.
    pub fn tasks(&self) -> impl Iterator<Item = &TaskRun> {
        self.run.tasks()
    }

    /// The tasks of the templates that a listed task calls.
    pub fn tasks_below(&self, task: &Slug) -> impl Iterator<Item = &TaskRun> {
        self.run.tasks_below(task).filter(|below| !self.run.is_replaced(below))
    }

    /// Whether a later task counts in place of this one, because a person had its work repeated.
    pub fn is_replaced(&self, task: &TaskRun) -> bool {
        self.run.is_replaced(task)
    }

    /// All tasks. The tasks of a called template follow the task that calls it.
    pub fn all_tasks(&self) -> impl Iterator<Item = &TaskRun> {
        self.run.all_tasks()
    }

    /// Whether a part of a template has this name.
    pub fn has_part(&self, name: &Slug) -> bool {
        self.run.operators().get(name).is_some()
    }

    /// The first task of the template node that a task executes. `None` for a task of a list.
    pub fn first_of_node(&self, task: &Slug) -> Option<&Slug> {
        self.run.first_of_node(task)
    }

    /// The slugs of the current list by step, in its order.
    pub fn steps(&self) -> &[Vec<Slug>] {
        self.run.steps()
    }

    /// The 0-based step of a task in the current list.
    pub fn step_of(&self, task: &Slug) -> Option<usize> {
        self.run.step_of(task)
    }

    /// The state of a task that people see.
    pub fn standing(&self, task: &TaskRun) -> State {
        self.run.standing(task)
    }

    /// Whether a person may repeat a failed task.
    pub fn may_retry(&self, task: &Slug) -> bool {
        self.run.may_retry(task)
    }

    /// All failed, denied and blocked tasks.
    pub fn all_problems(&self) -> impl Iterator<Item = Problem<'_>> {
        self.run.all_problems()
    }

    /// A problem in one line.
    pub fn problem_line(&self, problem: &Problem<'_>) -> String {
        view::problem_line(&self.run, problem)
    }

    /// Why a task is not done.
    pub fn explain(&self, task: &Slug) -> Why {
        self.run.explain(task)
    }

    /// Why a task, and the tasks that it waits for, are not done. Without a task, the same for every unfinished task.
    pub fn explain_all(&self, task: Option<Slug>) -> Vec<(Slug, Why)> {
        let explainer = self.run.explainer();
        let mut tasks: Vec<Slug> = match task {
            Some(task) => vec![task],
            None => return self.run.not_done().into_iter().map(|task| (task.clone(), explainer.why(task))).collect(),
        };
        let mut reasons = Vec::new();
        while let Some(task) = tasks.get(reasons.len()).cloned() {
            let why = explainer.why(&task);
            for awaited in why.awaited() {
                if !tasks.contains(awaited) {
                    tasks.push(awaited.clone());
                }
            }
            reasons.push((task, why));
        }
        reasons
    }

    /// Why a task is not done, as a sentence that names the task. `driven` means that a process drives the run.
    pub fn why_line(&self, task: &Slug, why: &Why, driven: bool) -> String {
        view::why_line(&self.run, task, why, driven)
    }

    /// Why a task is not done, without its name.
    pub fn why_words(&self, why: &Why, driven: bool) -> String {
        view::why_words(&self.run, why, driven)
    }

    /// The model calls that gave a reply, in the order in which they were recorded.
    pub fn calls(&self) -> &[CallRecord] {
        self.run.calls()
    }

    /// The model calls of one task, by the slug that the task had then.
    pub fn calls_of(&self, task: &Slug) -> impl DoubleEndedIterator<Item = &CallRecord> {
        self.run.calls_of(task)
    }

    /// The title of the execution of a call. Empty if the execution has no title.
    pub fn part(&self, key: &CallKey) -> &str {
        self.run.part(key)
    }

    /// Whether a call has started and has no result yet.
    pub fn is_in_flight(&self, key: &CallKey) -> bool {
        self.run.is_in_flight(&EffectKey::Ask(key.clone()))
    }

    /// The open gates, in the order in which they were opened.
    pub fn open_gates(&self) -> Vec<Gate> {
        open_gates(&self.run).collect()
    }

    /// The files that the changes behind a gate would change. Empty if the gate does not ask about changes.
    pub fn changes_of(&self, gate: &Gate) -> &[FileChange] {
        let GateKind::BeforeApply { task, run, set } = &gate.kind else { return &[] };
        self.run.pending_changes(task, run, *set).map(|changes| changes.files.as_slice()).unwrap_or_default()
    }

    /// Whether nothing is left to do until a person answers.
    pub fn only_waits(&self) -> bool {
        let outstanding = self.run.outstanding();
        let is_asking = |effect: &Effect| matches!(effect, Effect::AskApproval(_) | Effect::AskPerson { .. });
        !outstanding.is_empty() && outstanding.iter().all(is_asking)
    }

    /// The open questions.
    pub fn questions(&self) -> Vec<Question> {
        let earlier = |AskingCall { task, run, call }: &AskingCall| {
            let exec = self.run.task(task).and_then(|task| task.run(run));
            exec.and_then(|exec| exec.call(call)).map_or(0, |call| call.answers)
        };
        let question = |open: OpenQuestion| Question {
            task: open.asking.task.to_string(),
            text: open.question,
            earlier: earlier(&open.asking),
            asking: open.asking,
        };
        open_questions(&self.run).map(question).collect()
    }

    /// The run as a board. `driven` means that a process drives it.
    pub fn board(&self, driven: bool) -> Board {
        Board::of(&self.run, driven)
    }

    /// The numbers of the run. `driven` means that a process drives it.
    pub fn summary(&self, driven: bool) -> Summary {
        if driven { Summary::of(&self.run) } else { Summary::at_rest(&self.run) }
    }

    /// The duration in milliseconds that it would have had if no task had waited for a slot or for the model.
    pub fn ideal_ms(&self) -> u64 {
        self.run.ideal_ms()
    }

    /// The limit of which most is used.
    pub fn most_used_limit(&self) -> Option<LimitUse> {
        view::most_used_limit(&self.run)
    }

    /// The limit that stopped the run or is about to.
    pub fn pressing_limit(&self) -> Option<LimitUse> {
        view::pressing_limit(&self.run)
    }

    /// The providers whose models the run asked or was to ask.
    pub fn providers(&self) -> BTreeSet<String> {
        let asked = self.calls().iter().map(|call| call.model.as_str());
        let models = asked.chain(self.about().settings.model.as_deref());
        models.filter_map(|model| model.split_once(['/', ':'])).map(|(provider, _)| provider.to_owned()).collect()
    }

    /// The plan as text, as in its file.
    pub fn plan_text(&self) -> String {
        callsheet_runtime::sheetfile::sheet_text(&self.run)
    }

    /// Whether the request was answered only by tasks that may not change anything.
    pub fn is_read_only(&self) -> bool {
        self.run.is_read_only()
    }

    /// The requested files that nothing has written.
    pub fn unwritten(&self) -> Vec<&str> {
        self.run.unwritten()
    }

    /// The requested files that a task said to need no change.
    pub fn said_unchanged(&self) -> Vec<&str> {
        self.run.said_unchanged()
    }

    /// What happened to the requested files, in words.
    pub fn asked_files(&self) -> Vec<String> {
        view::asked_files_words(&self.run)
    }

    /// The changes on disk whose check did not pass, one line each.
    pub fn failed_checks(&self) -> Vec<String> {
        view::failed_checks(&self.run)
    }

    /// The tasks that were removed from the plan, one line each.
    pub fn removals(&self) -> Vec<String> {
        view::removals(&self.run)
    }

    /// The report of the whole run. `of_tree` is the result of a template.
    pub fn report(&self, of_tree: Option<&TaskResult>) -> String {
        view::report(&self.run, self.run.outcome(), of_tree)
    }

    /// The answer of a finished run, with the links as the models wrote them. Empty for any other run.
    pub fn answer(&self) -> String {
        view::answer(&self.run, &|_, text| text.to_owned())
    }

    /// The results that answer the request, each with its task.
    pub fn results(&self) -> Vec<(&TaskRun, String)> {
        view::results(&self.run, &|_, text| text.to_owned())
    }

    /// The outcome of joining the results of a finished run. `None` if they were not joined.
    pub fn joined(&self) -> Option<&Joined> {
        view::joined(&self.run)
    }

    /// A warning about the parts of the answer that nothing in its prompt supports.
    pub fn unsupported_line(&self) -> Option<String> {
        view::unsupported_line(view::unsupported_of_answer(&self.run))
    }

    /// An event in words, if it is worth a line. The view must have taken the event already.
    pub fn event_line(&self, event: &Event) -> Option<EventLine> {
        event_line(event, &self.run)
    }
}

/// An event in words. `run` is the run after it.
fn event_line(event: &Event, run: &Run) -> Option<EventLine> {
    let line = event.line(run)?;
    let shown = |piece: &LinePiece| match piece {
        LinePiece::Own(words) => words.clone(),
        LinePiece::Quoted { text, most } => one_line(text, *most),
    };
    Some(EventLine { text: line.pieces.iter().map(shown).collect(), is_detail: line.is_detail })
}
