//! The command line: what can be asked for, and the words and exit codes people get.

mod args;
mod exit;
mod run_args;
mod template_args;

pub use args::{
    ApprovalArg, ApproveArgs, Cli, Command, CompletionsArgs, ContinueArgs, DenyArgs, DropArgs, EditArg, HeadlessArg,
    HunksArg, IndexArgs, ModelCommand, ModelPullArgs, ModelTestArgs, PlanArgs, PlanForm, PromptsCommand,
    PromptsEjectArgs, RefinePolicyArg, ResumeArgs, RetryArgs, RunNameArgs, ShowArgs, SkillCheckArgs, SkillCommand,
    SkillNewArgs, SkillShowArgs, WorkArgs,
};
pub use exit::{Exit, Failure};
pub use run_args::{OpenArgs, RunArgs};
pub use template_args::{
    OperatorArg, TemplateCheckArgs, TemplateCommand, TemplateMatchArgs, TemplateNewArgs, TemplateRunArgs,
    TemplateShowArgs,
};

use clap::CommandFactory;

/// The whole command line, for completions and for tests of documents.
pub fn command() -> clap::Command {
    Cli::command()
}
