//! The Evaluator of spec "Templates" 1: environments, every substitution, the context plan, the results of operators.
//! Pure code between the machine and the shell: the machine says which evaluation is due, this computes it, and the
//! shell records the result. It reads values by their hashes from the earlier record.
//!
//! What a task of the tree is told is a [`HandlerTask`]. Only this module creates one, from `Resolved` texts, so no
//! open placeholder of an author reaches a model.

mod choose;
mod close;
mod context;
mod entries;
mod evaluation;
mod formats;
mod gave;
mod graft;
mod known;
mod known_files;
mod names;
mod open;
mod output;
mod process;
mod reparse;
mod request;
mod seek;
mod subtask;
mod usage;
mod wish;

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::sync::Arc;

use serde::de::DeserializeOwned;

use crate::nouns::{BlobId, Slug, ToolEffect};
use crate::record::{Closed, Outcome, Step, Tree};
use crate::run::{ChildSlot, EvalPhase, NodeInstance, Run, TaskRun, Work};
use crate::template::{
    Blame, ErrorKind, Halt, Node, Reason, ReturnStatus, TaskError, TaskResult, Template, details, failure,
};

pub use crate::template::operators::Names;
pub use context::{HandlerTask, Item};
pub use entries::Entry;
pub use formats::{Formats, SplitReading};
pub use names::{Memory, input_fault, known_paths};
pub use output::names_a_status;
pub use process::{ProcessFile, ProcessReport, ProcessRequest, SCRIPT, SCRIPT_READ};
pub use reparse::READ_FILE;
pub use request::{ASK_USER, EVALUATION_REQUEST};
pub use wish::{FILE_TOKENS, FILES_TOKENS, FileRequest};

/// Returns a blob by its hash.
pub type Values<'a> = &'a dyn Fn(&BlobId) -> Option<Vec<u8>>;

/// The result of an evaluation, and the texts that it refers to.
#[derive(Clone, Debug, PartialEq)]
pub struct Evaluation {
    /// The fact.
    pub step: Step,
    /// Contents of the blobs that it names. Store them first.
    pub blobs: Vec<Vec<u8>>,
}

/// Evaluates one task of the tree of a run.
///
/// # Errors
/// The run has no such task, or the record lost a value. Both are defects; the text is for the log.
pub fn evaluate(
    run: &Run,
    task: &Slug,
    moment: EvalPhase,
    values: Values<'_>,
    formats: &dyn Formats,
) -> Result<Evaluation, String> {
    evaluate_with(run, task, moment, values, formats, &mut Memory::default())
}

/// Like `evaluate`, but reuses what was read for other tasks of this run: names of an operator are read once, not for
/// each child.
///
/// # Errors As [`evaluate`].
pub fn evaluate_with(
    run: &Run,
    task: &Slug,
    moment: EvalPhase,
    values: Values<'_>,
    formats: &dyn Formats,
    memory: &mut Memory,
) -> Result<Evaluation, String> {
    let op = run.operators().get(task).ok_or_else(|| format!("there is no task {task}"))?;
    let tree = run.operators().tree_of(op).ok_or("the task is of no tree")?;
    let evaluator = Evaluator {
        run,
        tree,
        values,
        formats,
        memory: RefCell::new(memory),
        kept: RefCell::default(),
        known: RefCell::default(),
        timeless: RefCell::default(),
    };
    let step = match moment {
        EvalPhase::Open if op.place.is_subtask() => evaluator.open_subtask(op),
        EvalPhase::Close if op.place.is_subtask() => evaluator.close_subtask(op),
        EvalPhase::Judge if op.reparse.is_some() => evaluator.judge_split(op),
        EvalPhase::Close if op.reparse.is_some() => evaluator.close_regrown(op),
        EvalPhase::Open => evaluator.open(op),
        EvalPhase::Judge => evaluator.judge(op),
        EvalPhase::Close => evaluator.close(op),
    };
    if matches!(step, Step::Closed(_)) {
        evaluator.memory.borrow_mut().forget(op.number);
    }
    Ok(Evaluation { step, blobs: evaluator.kept.into_inner() })
}

/// The result of the top task, after it has returned.
pub fn result_of_run(run: &Run, values: Values<'_>) -> Option<TaskResult> {
    result_of(run.operators().top()?, values)
}

/// The result of a task of a tree, after it has returned.
pub fn result_of(op: &NodeInstance, values: Values<'_>) -> Option<TaskResult> {
    serde_json::from_slice(&values(&op.closed()?.result)?).ok()
}

struct Evaluator<'a> {
    run: &'a Run,
    tree: &'a Arc<Tree>,
    values: Values<'a>,
    formats: &'a dyn Formats,
    memory: RefCell<&'a mut Memory>,
    /// Contents of new blobs.
    kept: RefCell<Vec<Vec<u8>>>,
    known: RefCell<BTreeMap<BlobId, Arc<TaskResult>>>,
    timeless: RefCell<BTreeMap<BlobId, Arc<TaskResult>>>,
}

impl<'a> Evaluator<'a> {
    fn keep(&self, value: &impl serde::Serialize) -> BlobId {
        // Values of the record can be serialised.
        let bytes = serde_json::to_vec(value).unwrap_or_default();
        let id = BlobId::of(&bytes);
        self.kept.borrow_mut().push(bytes);
        id
    }

    fn keep_text(&self, text: String) -> BlobId {
        let bytes = text.into_bytes();
        let id = BlobId::of(&bytes);
        self.kept.borrow_mut().push(bytes);
        id
    }

    fn value<T: DeserializeOwned>(&self, id: &BlobId) -> Option<T> {
        serde_json::from_slice(&(self.values)(id)?).ok()
    }

    fn text(&self, id: &BlobId) -> String {
        (self.values)(id).map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).unwrap_or_default()
    }

    /// The result of a returned task.
    fn result(&self, op: &NodeInstance) -> Arc<TaskResult> {
        let Some(closed) = op.closed() else { return Arc::default() };
        if let Some(known) = self.known.borrow().get(&closed.result) {
            return Arc::clone(known);
        }
        let result = Arc::new(self.value::<TaskResult>(&closed.result).unwrap_or_default());
        self.known.borrow_mut().insert(closed.result.clone(), Arc::clone(&result));
        result
    }

    /// The result without its times. Names are filled into prompts, and prompts of equal runs must be equal.
    fn timeless(&self, op: &NodeInstance) -> Arc<TaskResult> {
        let result = self.result(op);
        let Some(closed) = op.closed() else { return result };
        if let Some(known) = self.timeless.borrow().get(&closed.result) {
            return Arc::clone(known);
        }
        let mut result = (*result).clone();
        result.notes.metrics.forget_times();
        if let Some(error) = &mut result.error {
            error.metrics.forget_times();
        }
        let result = Arc::new(result);
        self.timeless.borrow_mut().insert(closed.result.clone(), Arc::clone(&result));
        result
    }

    fn parent(&self, op: &NodeInstance) -> Option<&'a NodeInstance> {
        self.run.operators().at(op.parent?)
    }

    fn children(&self, op: &NodeInstance) -> Vec<&'a NodeInstance> {
        op.children.iter().filter_map(|number| self.run.operators().at(*number)).collect()
    }

    fn work(&self, op: &NodeInstance) -> Option<Work<'a>> {
        self.run.operators().work(op)
    }

    fn node(&self, op: &NodeInstance) -> Option<&'a Node> {
        self.run.operators().node(op)
    }

    /// The request for the tree: that of the run, or the need of the task that calls the tree.
    fn request(&self, op: &NodeInstance) -> &'a str {
        let caller = self.run.operators().caller(op.mount).and_then(|caller| self.run.task(&caller.task));
        caller.map_or_else(|| self.run.prompt(), |task| &task.task.need)
    }

    /// Model calls of the tree so far.
    fn calls_of_tree(&self, op: &NodeInstance) -> u32 {
        self.run.operators().top_of(op.mount).map_or(0, |top| self.run.spent(top).calls)
    }

    fn template(&self, name: &str) -> Option<&'a Template> {
        self.tree.templates.get(name)
    }

    /// The task that did the work of a leaf.
    fn leaf(&self, op: &NodeInstance) -> Option<&'a TaskRun> {
        self.run.leaf(op)
    }

    fn writes(&self, tool: &str) -> bool {
        self.run.policy(tool).effect != ToolEffect::Read
    }

    /// The text of a schema beside the template.
    fn schema(&self, name: &str) -> Option<String> {
        self.tree.schemas.get(name).cloned()
    }

    /// A task that returns with this result.
    fn closed(&self, op: &NodeInstance, mut result: TaskResult) -> Step {
        if op.place == ChildSlot::Top {
            result = result.returned(self.template(&self.tree.entry), op.id.as_str());
        }
        self.note_lookup(op, &mut result);
        for near in self.run.limit_uses_of(op).iter().filter(|one| one.is_near()) {
            // The exact share is left out, because for times it differs between runs.
            result.notes.warn("limit_near", format!("most of {} ({}) is used up", near.name, near.max));
        }
        result.notes.metrics = self.metrics(op);
        if let Some(error) = &mut result.error {
            error.metrics = result.notes.metrics;
        }
        let outcome = match result.status {
            ReturnStatus::Failed => outcome(result.error.as_deref(), self.calls_of_tree(op)),
            _ => Outcome::Complete,
        };
        // A budget that is spent above ends the task that has it, whatever would collect the error on the way up.
        let fatal = result.error.is_some() && self.parent(op).is_some_and(|above| self.run.is_spent(above));
        let response = self.response(op, &result);
        Step::Closed(Closed { status: result.status, outcome, result: self.keep(&result), fatal, response })
    }

    fn failed(&self, op: &NodeInstance, error: TaskError) -> Step {
        self.closed(op, TaskResult::failure(error))
    }
}

/// The exit code of a run whose top task failed with this error (spec 6). `calls` is the number of model calls so far.
fn outcome(error: Option<&TaskError>, calls: u32) -> Outcome {
    let Some(error) = error else { return Outcome::TaskFailed };
    if matches!(error.kind, ErrorKind::ResourceExhaustion { .. }) {
        return Outcome::LimitReached;
    }
    if matches!(error.kind, ErrorKind::ValidationError { .. } | ErrorKind::XmlParseError { .. }) {
        return Outcome::InputInvalid;
    }
    match (failure::reason(error), failure::halt(error)) {
        (_, Some(Halt::Cancelled)) => Outcome::Cancelled,
        (Some(Reason::ExecutionTimeout | Reason::ConfigurationError | Reason::LlmError), _)
            if error.recovery.blame == Blame::Model =>
        {
            Outcome::TaskFailed
        }
        (Some(Reason::ExecutionTimeout), _) => Outcome::LimitReached,
        (Some(Reason::ConfigurationError), _) => Outcome::Misconfigured,
        (Some(Reason::InputValidationFailure), _) if calls == 0 => Outcome::InputInvalid,
        (Some(Reason::LlmError), _) => Outcome::Unreachable,
        _ => Outcome::TaskFailed,
    }
}
