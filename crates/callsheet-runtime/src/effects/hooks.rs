//! Asks hooks (spec 12.11). A hook reads JSON from its standard input, and its exit code is the answer. It runs in the
//! same sandbox as scripts that only read.

use std::sync::Arc;

use callsheet_core::evaluate::{ProcessReport, ProcessRequest, SCRIPT_READ};
use callsheet_core::template::Inherit;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use crate::grants::Caller;
use crate::ports::{ToolContext, ToolOutcome};
use crate::services::{Hook, HookPoint, Services};

/// Most bytes that are kept of each output stream of a hook.
const OUTPUT: usize = 16 * 1024;

/// The refusal of a hook.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HookRefusal {
    /// The name of the hook.
    pub hook: String,
    /// What the hook printed, or why it could not be asked.
    pub why: String,
}

/// Asks the hooks of a point one after the other, until one refuses. A hook that cannot be asked counts as a refusal.
///
/// # Errors
/// A hook refused.
pub async fn ask_hooks(
    services: &Services,
    point: HookPoint,
    input: &Value,
    cancel: &CancellationToken,
) -> Result<(), HookRefusal> {
    for hook in services.hooks.list.iter().filter(|hook| hook.point == point) {
        let refusal = |why: String| HookRefusal { hook: hook.name.clone(), why };
        if !hook.is_as_it_was(services.workspace.root()) {
            return Err(refusal("a file that it runs changed since the run began".to_owned()));
        }
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
        documents: Arc::clone(&services.documents),
        max_output_bytes: OUTPUT,
        timeout: services.hooks.timeout,
        cancel: cancel.clone(),
    };
    match tool.run(&request, &context).await {
        Ok(ToolOutcome::Output(text)) => serde_json::from_str(&text).map_err(|error| error.to_string()),
        Ok(ToolOutcome::Failed(text)) => Err(text),
        Ok(ToolOutcome::Pictures(..) | ToolOutcome::Changes(_) | ToolOutcome::Question(_) | ToolOutcome::Midway(_)) => {
            Err("it gave no output".to_owned())
        }
        Err(fault) => Err(fault.to_string()),
    }
}

/// Why a hook refuses: what it printed, or else how it ended.
fn said(report: &ProcessReport) -> String {
    let streams = [&report.stderr, &report.stdout].map(|stream| stream.trim());
    let said = streams.into_iter().filter(|stream| !stream.is_empty()).collect::<Vec<_>>().join("\n");
    match report.exit_code {
        _ if report.timed_out => format!("it ran out of time\n{said}").trim_end().to_owned(),
        _ if !said.is_empty() => said,
        Some(code) => format!("it exited with code {code}"),
        None => "a signal killed it".to_owned(),
    }
}
