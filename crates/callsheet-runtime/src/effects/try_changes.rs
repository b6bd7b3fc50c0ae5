//! Checking change sets on a copy of the project (spec 10.10).

use std::sync::Arc;
use std::time::Duration;

use callsheet_core::evaluate::ProcessReport;
use callsheet_core::events;
use callsheet_core::issue::{Issue, IssueCode, RAW, Severity};
use callsheet_core::nouns::Phase;
use callsheet_core::record::{ChangeSet, CheckEnd, CheckReport};
use callsheet_core::run::{Effect, Run};
use serde_json::json;

use crate::fault::DriveFault;
use crate::grants::Caller;
use crate::issues::Finding;
use crate::ports::{StoreFault, ToolContext, ToolFault, ToolOutcome};
use crate::services::Services;

use super::work::{EffectFuture, EffectResult, Work, ready};

/// Runs the check of a set whose start is on disk.
pub(crate) fn check(work: Work, run: &Run, effect: Effect) -> EffectFuture {
    let Effect::TryChanges { task, run: exec, set, changes, check: name, argv, deadline_ms } = effect else {
        return ready(Err(DriveFault::defect("an effect that is no check was performed as one")));
    };
    let limit = usize::try_from(run.settings().limits.max_output_bytes).unwrap_or(usize::MAX);
    let caller = Caller::of(run, &task);
    Box::pin(async move {
        let services = &work.services;
        let Some(tool) = services.check_command.clone() else {
            return Err(DriveFault::defect("there is no tool for checks"));
        };
        let arguments = json!({ "argv": argv, "files": files(services, &changes)? });
        let context = ToolContext {
            workspace: services.workspace_for(&caller, None),
            skill_dir: None,
            fetch: None,
            documents: Arc::clone(&services.documents),
            max_output_bytes: limit,
            timeout: Duration::from_millis(deadline_ms),
            cancel: work.cancel.clone(),
        };
        let begun = services.clock.now_ms();
        let (end, output) = match tool.run(&arguments, &context).await {
            Ok(ToolOutcome::Output(text)) => ended(&text),
            Ok(ToolOutcome::Failed(text)) => (CheckEnd::NotRun, text),
            Ok(
                ToolOutcome::Pictures(..) | ToolOutcome::Changes(_) | ToolOutcome::Question(_) | ToolOutcome::Midway(_),
            ) => {
                return Err(DriveFault::defect("a check gave no output"));
            }
            Err(ToolFault::Cancelled) => return Ok(EffectResult::Events(Vec::new())),
            Err(fault) => (CheckEnd::NotRun, fault.to_string()),
        };
        let ms = services.clock.now_ms().saturating_sub(begun);
        let issues =
            if end == CheckEnd::Failed { vec![refused_set("check-failed", &name, &output)] } else { Vec::new() };
        let output = services.store.stage_blob(output.into_bytes());
        let check = CheckReport { name, end, output, ms };
        Ok(EffectResult::Events(vec![events::ChangesChecked { task, run: exec, set, check, issues }.into()]))
    })
}

/// The changed files in their new form.
fn files(services: &Services, changes: &ChangeSet) -> Result<Vec<serde_json::Value>, StoreFault> {
    let files = changes.files.iter().map(|file| {
        let content = file.after.as_ref().map(|blob| services.text(blob)).transpose()?;
        Ok(json!({ "path": file.path, "content": content }))
    });
    files.collect()
}

/// How the command ended, and what it printed.
fn ended(report: &str) -> (CheckEnd, String) {
    let report: ProcessReport = serde_json::from_str(report).unwrap_or_default();
    let streams = [&report.stdout, &report.stderr].map(|stream| stream.trim_end().to_owned());
    let output = streams.into_iter().filter(|stream| !stream.is_empty()).collect::<Vec<_>>().join("\n");
    let end = if report.exit_code == Some(0) { CheckEnd::Passed } else { CheckEnd::Failed };
    (end, output)
}

/// What the model is told when a check or a hook refuses its changes: the end of the output, in a fence that the output
/// cannot close.
pub(super) fn refused_set(words: &'static str, name: &str, output: &str) -> Issue {
    let finding = Finding {
        code: IssueCode::CheckFailed,
        severity: Severity::Error,
        phase: Phase::Execute,
        task: None,
        target: name,
        words,
        values: &[],
        allowed: Vec::new(),
    };
    let start = output.char_indices().rev().nth(RAW - 1).map_or(0, |(at, _)| at);
    finding.issue().raw(output.get(start..).unwrap_or(output))
}
