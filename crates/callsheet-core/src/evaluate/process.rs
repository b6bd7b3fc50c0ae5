//! Processes (spec 8): what is started, and the result.

use serde::{Deserialize, Serialize};

use crate::nouns::{BlobId, ToolCall, ToolEffect};
use crate::record::Plan;
use crate::run::{NodeInstance, State, ToolOutput};
use crate::template::{
    Bound, Datum, Details, Environment, Inherit, Missing, Node, Origin, Reason, ReturnStatus, Script, Stdin, TaskError,
    TaskResult, Trust, render, resolve_command, resolve_text,
};

use super::open::{input_fault, one_line};
use super::{Evaluator, failure};

/// The tool that starts processes of templates. No model is offered it.
pub const SCRIPT: &str = "script";

/// The tool for processes with `effects="read"`, if the system can enforce that (spec 2.2). Elsewhere they need
/// approval like the others.
pub const SCRIPT_READ: &str = "script_read";

/// The longest title in characters.
const TITLE: usize = 120;

/// Exit code of a process that was ended because its time was over, as the evaluator of a loop sees it (spec 8).
const TIMED_OUT: i32 = 124;

/// A file that is written for a process. `\0NAME\0` in the words stands for its path; no filled-in value can contain
/// that.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProcessFile {
    /// Its name.
    pub name: String,
    /// End of its file name.
    #[serde(default)]
    pub suffix: String,
    /// Content.
    pub content: String,
}

/// The arguments of a call of the tool.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProcessRequest {
    /// The words, one per argument.
    pub argv: Vec<String>,
    /// Standard input.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stdin: Option<String>,
    /// Private files.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<ProcessFile>,
    /// What it inherits from the environment.
    pub inherit: Inherit,
    /// Variables set for it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub variables: Vec<(String, String)>,
    /// What its approval covers, if that is more than its words: the words, the files written for it, its standard
    /// input, its variables and what it inherits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub binding: Option<BlobId>,
}

/// What a process did.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ProcessReport {
    /// Its output, cut.
    pub stdout: String,
    /// Its errors, cut.
    pub stderr: String,
    /// `None` if a signal ended it.
    pub exit_code: Option<i32>,
    /// Whether its time was over.
    pub timed_out: bool,
    /// Whether a stream was cut.
    pub truncated: bool,
}

impl Evaluator<'_> {
    /// The tool that starts the process of a task: the reading one if nobody must approve it.
    pub(super) fn process_tool(&self, op: &NodeInstance, node: &Node) -> &'static str {
        let asked = self.asks(op, node) || self.is_asked_above(op);
        let held = self.run.tools().any(|(name, policy)| name == SCRIPT_READ && policy.effect == ToolEffect::Read);
        if held && !asked { SCRIPT_READ } else { SCRIPT }
    }

    pub(super) fn process_plan(
        &self,
        op: &NodeInstance,
        script: &Script,
        own: &Environment,
        origin: &Origin,
        tool: &str,
    ) -> Result<Plan, Box<TaskError>> {
        let task = op.id.as_str();
        let mut missing: Vec<Missing> = Vec::new();
        let mut paths = std::collections::BTreeMap::new();
        let mut files = Vec::new();
        for file in &script.input_files {
            match own.find(&file.from.path) {
                Some(bound) => files.push(ProcessFile {
                    name: file.name.clone(),
                    suffix: file.suffix.clone(),
                    content: render(&content(&bound)),
                }),
                None => missing.push(unbound(&file.from, "input_file", &file.origin, task)),
            }
            paths.insert(file.name.clone(), Bound::json(format!("\0{}\0", file.name), Trust::Author));
        }
        let files_names = Bound { datum: Datum::Map(std::sync::Arc::new(paths)), trust: Trust::Author };
        let inner = std::sync::Arc::new(own.clone()).inner([("files".to_owned(), files_names)]);
        let stdin = match &script.stdin {
            None => None,
            Some(Stdin::From(from)) => match own.find(&from.path) {
                Some(bound) => Some(render(&content(&bound))),
                None => {
                    missing.push(unbound(from, "stdin", origin, task));
                    None
                }
            },
            Some(Stdin::Text(text)) => {
                Some(resolve_text(text, own, "stdin", origin, task, &mut missing).as_str().to_owned())
            }
        };
        let variables = script.variables.iter().map(|variable| {
            let value = resolve_text(&variable.value, own, "environment", origin, task, &mut missing);
            (variable.name.clone(), value.as_str().to_owned())
        });
        let variables: Vec<(String, String)> = variables.collect();
        if !missing.is_empty() {
            return Err(input_fault(missing));
        }
        let words = resolve_command(&script.command, &inner, origin, task);
        let words = words.map_err(|fault| Box::new(fault.into_error()))?;
        let argv: Vec<String> = words.iter().map(|word| word.as_str().to_owned()).collect();
        let title = one_line(&argv.join(" ").replace('\0', ""), TITLE);
        let mut request = ProcessRequest { argv, stdin, files, inherit: script.inherit, variables, binding: None };
        request.binding = binding(&request);
        let arguments = serde_json::to_value(&request).unwrap_or_default();
        let call = ToolCall { name: tool.to_owned(), id: "script-1".to_owned(), arguments };
        Ok(Plan::Process { call, timeout_seconds: script.timeout, title })
    }

    /// The result of a process. In a loop it fails only if it could not be started; otherwise its output is judged
    /// (spec 8).
    pub(super) fn process_result(&self, op: &NodeInstance, goes_on: bool, judged: bool) -> TaskResult {
        let fail = |error: TaskError| TaskResult {
            status: ReturnStatus::Failed,
            error: Some(Box::new(error)),
            ..TaskResult::default()
        };
        let Some(task) = self.leaf(op) else {
            return fail(failure::failure(Reason::UnexpectedError, "the process is not known", Details::default()));
        };
        if task.state() != State::Done {
            return fail(self.leaf_error(op, task));
        }
        let output = task.runs.iter().flat_map(|run| &run.calls).find_map(|call| call.output());
        let report = match output {
            Some(ToolOutput::Text { blob, error: false }) => self.value::<ProcessReport>(blob),
            Some(ToolOutput::Text { blob, error: true }) => {
                let words = self.text(blob);
                return fail(failure::failure(Reason::ToolExecutionError, words, Details::default()));
            }
            _ => None,
        };
        let Some(report) = report else {
            let words = "it was started and never finished; Callsheet does not start it again";
            return fail(failure::failure(Reason::ToolExecutionError, words, Details::default()));
        };
        let code = if report.timed_out { Some(TIMED_OUT) } else { report.exit_code };
        let mut result = TaskResult {
            content: report.stdout.clone(),
            stdout: Some(report.stdout.clone()),
            stderr: Some(report.stderr.clone()),
            exit_code: code,
            timed_out: Some(report.timed_out),
            ..TaskResult::default()
        };
        if report.truncated {
            result.notes.warn("output_truncated", "an output stream exceeded its limit and was cut");
        }
        let details = Details {
            script_stdout: Some(report.stdout),
            script_stderr: Some(report.stderr),
            script_exit_code: code,
            truncated: Some(report.truncated),
            ..Details::default()
        };
        let error = if judged {
            None
        } else if report.timed_out {
            Some(failure::failure(Reason::ExecutionTimeout, "the process exceeded its timeout", details))
        } else if code != Some(0) && !goes_on {
            let words = code.map_or("a signal ended the process".to_owned(), |code| {
                format!("the process ended with exit code {code}")
            });
            Some(failure::failure(Reason::ToolExecutionError, words, details))
        } else {
            None
        };
        if let Some(error) = error {
            result.status = ReturnStatus::Failed;
            result.error = Some(Box::new(failure::with_content(error, &result.content)));
        }
        result
    }
}

/// What an approval covers besides the words. The path of a file is the same whatever its content, and the words do not
/// show what a program reads, receives or inherits.
fn binding(request: &ProcessRequest) -> Option<BlobId> {
    let ProcessRequest { argv, stdin, files, inherit, variables, .. } = request;
    let told = (argv, files, stdin, variables);
    let bytes = if *inherit == Inherit::default() {
        let further = !files.is_empty() || stdin.is_some() || !variables.is_empty();
        // The form must not change, so that what a run approved before still applies.
        further.then(|| serde_json::to_vec(&told))
    } else {
        Some(serde_json::to_vec(&(told, inherit)))
    };
    bytes.map(|bytes| BlobId::of(&bytes.unwrap_or_default()))
}

/// The text of a value to pass on. For a result, its content.
fn content(bound: &Bound) -> serde_json::Value {
    match &bound.datum {
        Datum::Result(result) => serde_json::Value::from(result.content.as_str()),
        _ => bound.value(),
    }
}

pub(super) fn unbound(from: &crate::template::PathUse, field: &str, origin: &Origin, task: &str) -> Missing {
    Missing {
        name: from.path.to_string(),
        field: field.to_owned(),
        task: task.to_owned(),
        file: origin.file.clone(),
        line: from.at.place.line,
        column: from.at.place.column,
        record: None,
        fields: Vec::new(),
    }
}
