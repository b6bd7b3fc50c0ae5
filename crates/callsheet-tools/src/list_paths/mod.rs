//! `list_paths`: `file_paths` from a command (spec "Templates" 5, 14). It uses no shell, writes nothing and starts only
//! this one program. No model is offered it.

mod allowed;

use async_trait::async_trait;
use callsheet_core::nouns::ToolSpec;
use callsheet_runtime::ports::{Tool, ToolContext, ToolFault, ToolOutcome};
use serde::Deserialize;
use serde_json::Value;
use tokio::process::Command;

use crate::common::{Stop, arguments, reading_tool, settle};
use crate::run_command::border::Confined;
use crate::run_command::process::{self, Bounds, NotRun};
use crate::run_command::reason;
use crate::script::{report, unasked};

use self::allowed::{GIT_VARIABLES, Refused, allowed};

reading_tool!(ListPaths, "list_paths");

#[derive(Deserialize)]
struct Arguments {
    argv: Vec<String>,
}

#[async_trait]
impl Tool for ListPaths {
    fn spec(&self) -> &ToolSpec {
        &self.0
    }

    async fn run(&self, given: &Value, context: &ToolContext) -> Result<ToolOutcome, ToolFault> {
        if context.cancel.is_cancelled() {
            return Err(ToolFault::Cancelled);
        }
        settle(run(given, context).await)
    }
}

async fn run(given: &Value, context: &ToolContext) -> Result<ToolOutcome, Stop> {
    let wanted: Arguments = arguments(given)?;
    let argv = allowed(&wanted.argv).map_err(|refused| match refused {
        Refused::Program(program) => Stop::failed("paths-program", &[("program", &program)]),
        Refused::Word(word) => Stop::failed("paths-word", &[("word", &word)]),
    })?;
    let Some((program, rest)) = argv.split_first() else { return Err(Stop::failed("paths-program", &[])) };
    let mut command = Command::new(program);
    command.args(rest).current_dir(context.workspace.root()).env_clear().envs(unasked());
    if program == "git" {
        command.envs(GIT_VARIABLES);
    }
    let bounds = Bounds {
        timeout: context.timeout,
        cap: context.max_output_bytes,
        cancel: &context.cancel,
        confined: Confined::reading(&context.workspace, false),
        stdin: None,
    };
    match process::run(command, bounds).await {
        Ok(ended) => report(&ended),
        Err(NotRun::Fault(fault)) => Err(Stop::Fault(fault)),
        Err(NotRun::Start(error)) => {
            Err(Stop::failed("command-not-started", &[("program", program), ("reason", &reason(&error))]))
        }
    }
}
