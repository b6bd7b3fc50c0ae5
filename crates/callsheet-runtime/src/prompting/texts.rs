//! The state of a run in words for prompts: tasks, outputs, problems and issues.

use callsheet_core::fence::fence;
use callsheet_core::issue::{Issue, IssueCode, Severity};
use callsheet_core::names::call_title;
use callsheet_core::nouns::{Phase, Target, Task, TaskList};
use callsheet_core::prompt::Note;
use callsheet_core::run::{Problem, ProblemKind, Run, RunPart, TaskRun, ToolOutput};
use callsheet_format::sheet;
use callsheet_format::sheet::TaskForm;

use crate::issues::Finding;
use crate::ports::StoreFault;
use crate::prompting::reverted;
use crate::services::Services;

/// The text form of issues, one per line, with raw blocks below them (spec 4.8).
pub(crate) fn issues_text(issues: &[Issue]) -> String {
    issues.iter().map(Issue::to_string).collect::<Vec<_>>().join("\n")
}

/// What the failed calls said, for refining a task once more (spec 10.4).
pub(crate) fn failed_calls(services: &Services, task: &TaskRun) -> Result<Vec<Issue>, StoreFault> {
    let mut issues = Vec::new();
    for call in task.failed_calls() {
        let Some(ToolOutput::Text { blob, .. }) = call.output() else { continue };
        let finding = Finding {
            code: IssueCode::CallFailed,
            severity: Severity::Error,
            phase: Phase::Refine,
            task: None,
            target: &call_title(&call.call),
            words: "call-failed",
            values: &[],
            allowed: Vec::new(),
        };
        issues.push(finding.issue().raw(&services.text(blob)?));
    }
    Ok(issues)
}

/// A task in one of the serialisations of spec 9.
pub(crate) fn task_text(task: &Task, form: TaskForm) -> String {
    sheet::render_task(task, form, None)
}

/// Done tasks for the iteration prompt, each under its heading (spec 9.2).
pub(crate) fn completed_outputs(run: &Run) -> String {
    let blocks = run.done().enumerate().map(|(index, task)| {
        let target = Target::TaskOutput { slug: task.task.slug.clone(), heading: None }.to_string();
        let left_out = run.no_longer_relevant().contains(&target);
        let stub = left_out.then(|| Note::RestrictedOutput.fill(&[("reference", &target)]));
        let summary = reverted::current_summary(task);
        let output = stub.as_deref().map(str::trim).or(summary.as_deref());
        format!("### Completed task output {}\n\n{}", index + 1, sheet::render_task(&task.task, TaskForm::List, output))
    });
    blocks.collect::<Vec<_>>().join("\n\n")
}

/// Outstanding tasks in LIST form (spec 9.2).
pub(crate) fn outstanding_list(run: &Run) -> String {
    sheet::render_list(&outstanding(run))
}

fn outstanding(run: &Run) -> TaskList {
    let steps = run.steps().iter().map(|step| callsheet_core::nouns::Step {
        tasks: step
            .iter()
            .filter_map(|slug| run.task(slug))
            .filter(|task| !task.state().is_ended())
            .map(|task| task.task.clone())
            .collect(),
    });
    TaskList { goals: run.goals().clone(), steps: steps.filter(|step| !step.tasks.is_empty()).collect() }
}

/// The words of a task, followed by what a person said when they had it repeated (spec 2.18).
pub(crate) fn asked_again(run: &Run, task: &TaskRun, words: &str) -> String {
    let operators = run.operators();
    let of_part = operators.get(&task.task.slug).map(|op| {
        let of_caller = || operators.caller_of(op.number).and_then(|caller| run.task(&caller.task));
        operators.because(op).or_else(|| of_caller().map(|caller| caller.because.as_str())).unwrap_or_default()
    });
    let because = of_part.unwrap_or(&task.because);
    if because.trim().is_empty() {
        return words.to_owned();
    }
    let note = Note::AskedAgain.fill(&[("words", &fence("text", because))]);
    format!("{}\n\n{}", words.trim_end(), note.trim_end())
}

/// Failures with their issues, denials with the person's words, and blocked tasks with the cause (spec 2.9).
pub(crate) fn problems_text<'a>(run: &Run, problems: impl Iterator<Item = Problem<'a>>) -> String {
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

/// What a task that did not finish has changed anyway (spec 10.7).
fn left_changed(task: &TaskRun) -> String {
    let files: Vec<&str> = task.changed_files().into_iter().collect();
    if files.is_empty() {
        return String::new();
    }
    format!("\n{}", Note::ProblemChanged.fill(&[("files", &files.join(", "))]))
}

/// The finished parts of a failed task. They are not requested again if the task is listed unchanged (spec 10.5).
fn kept_parts(run: &Run, task: &TaskRun) -> String {
    let part = |part: RunPart<'_>| {
        let summary = part.text(run, task, part.result.summary.trim());
        format!("\n\n**{}**\n\n{summary}", part.title(task))
    };
    let parts: String = task.finished_parts().into_iter().map(part).collect();
    if parts.is_empty() { parts } else { format!("\n{}", Note::ProblemKept.fill(&[("parts", parts.trim_start())])) }
}
