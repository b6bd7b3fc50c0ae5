//! Hooks: a user's commands that are asked at fixed points of a run (spec 12.11). A hook reads JSON from its standard
//! input; its exit code decides. It runs in the sandbox of scripts that only read.

use std::time::Duration;

use callsheet_core::evaluate::{ProcessReport, ProcessRequest, SCRIPT_READ};
use callsheet_core::template::Inherit;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use crate::grants::Caller;
use crate::ports::{ToolContext, ToolFault, ToolOutcome};

use super::Services;

/// The most bytes of each stream of a hook that are kept.
const OUTPUT: usize = 16 * 1024;

/// A point of a run at which hooks are asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum HookPoint {
    /// Before a run or a follow-up begins.
    PrePlan,
    /// Before a tool call is made.
    PreTool,
    /// Before changes are written to files.
    PreWrite,
    /// After a task ended.
    PostTask,
    /// After a run ended or began to wait for a person.
    RunEnd,
}

impl HookPoint {
    /// All points.
    pub const ALL: [Self; 5] = [Self::PrePlan, Self::PreTool, Self::PreWrite, Self::PostTask, Self::RunEnd];

    /// Its name in the configuration and in the input of hooks.
    pub fn name(self) -> &'static str {
        match self {
            Self::PrePlan => "pre-plan",
            Self::PreTool => "pre-tool",
            Self::PreWrite => "pre-write",
            Self::PostTask => "post-task",
            Self::RunEnd => "run-end",
        }
    }
}

/// A command that is asked at a point.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hook {
    /// The point.
    pub point: HookPoint,
    /// Its name in the configuration.
    pub name: String,
    /// The program and its arguments.
    pub argv: Vec<String>,
}

/// All hooks of a run.
#[derive(Clone, Debug)]
pub struct Hooks {
    /// The hooks in the order in which they are asked.
    pub list: Vec<Hook>,
    /// How long each may take.
    pub timeout: Duration,
}

impl Default for Hooks {
    fn default() -> Self {
        Self { list: Vec::new(), timeout: Duration::from_secs(30) }
    }
}

/// A hook that said no.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HookRefusal {
    /// The name of the hook.
    pub hook: String,
    /// What it printed, or why it could not be asked.
    pub why: String,
}

impl Hooks {
    /// Whether there is a hook for a point.
    pub fn has(&self, point: HookPoint) -> bool {
        self.list.iter().any(|hook| hook.point == point)
    }
}

/// Asks all hooks of a point, one after the other. The first refusal counts. A hook that cannot be asked refuses.
///
/// # Errors
/// The refusal.
pub async fn ask_hooks(
    services: &Services,
    point: HookPoint,
    input: &Value,
    cancel: &CancellationToken,
) -> Result<(), HookRefusal> {
    for hook in services.hooks.list.iter().filter(|hook| hook.point == point) {
        let refusal = |why: String| HookRefusal { hook: hook.name.clone(), why };
        let report = asked(services, hook, input, cancel).await.map_err(refusal)?;
        if report.exit_code != Some(0) {
            return Err(refusal(said(&report)));
        }
    }
    Ok(())
}

async fn asked(
    services: &Services,
    hook: &Hook,
    input: &Value,
    cancel: &CancellationToken,
) -> Result<ProcessReport, String> {
    let tool = services.process_tools.iter().find(|tool| tool.spec().name == SCRIPT_READ);
    let tool = tool.ok_or("this system cannot confine hooks; `callsheet doctor` says why")?;
    let mut whole = json!({ "hook": hook.point.name(), "project": services.workspace.root().display().to_string() });
    if let (Some(whole), Some(input)) = (whole.as_object_mut(), input.as_object()) {
        whole.extend(input.clone());
    }
    let request = ProcessRequest {
        argv: hook.argv.clone(),
        stdin: Some(whole.to_string()),
        files: Vec::new(),
        inherit: Inherit::None,
        variables: Vec::new(),
        binding: None,
    };
    let request = serde_json::to_value(request).map_err(|error| error.to_string())?;
    let context = ToolContext {
        workspace: services.workspace_for(&Caller::default(), None),
        skill_dir: None,
        fetch: None,
        max_output_bytes: OUTPUT,
        timeout: services.hooks.timeout,
        cancel: cancel.clone(),
    };
    match tool.run(&request, &context).await {
        Ok(ToolOutcome::Output(text)) => serde_json::from_str(&text).map_err(|error| error.to_string()),
        Ok(ToolOutcome::Failed(text)) => Err(text),
        Ok(ToolOutcome::Changes(_) | ToolOutcome::Question(_)) => Err("it gave no output".to_owned()),
        Err(fault @ (ToolFault::Cancelled | ToolFault::Defect(_) | ToolFault::Told { .. })) => Err(fault.to_string()),
    }
}

/// Why a hook refuses, in its own words.
fn said(report: &ProcessReport) -> String {
    let streams = [&report.stderr, &report.stdout].map(|stream| stream.trim());
    let said = streams.into_iter().filter(|stream| !stream.is_empty()).collect::<Vec<_>>().join("\n");
    match report.exit_code {
        _ if report.timed_out => format!("its time is over\n{said}").trim_end().to_owned(),
        _ if !said.is_empty() => said,
        Some(code) => format!("it ended with code {code}"),
        None => "a signal ended it".to_owned(),
    }
}
