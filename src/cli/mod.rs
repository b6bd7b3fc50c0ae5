//! The command line: commands, flags, help and exit codes.

mod answer_args;
mod args;
mod cluster_args;
mod exit;
mod grants_args;
mod help;
mod init_args;
#[cfg(feature = "mcp")]
mod mcp_args;
mod output_args;
mod run_args;
#[cfg(feature = "page")]
mod serve_args;
#[cfg(feature = "share")]
mod share_args;
mod sheet_args;
mod template_args;
#[cfg(feature = "mcp")]
mod tools_args;
mod trust_args;
mod words;
mod work_args;

pub use answer_args::{ApproveArgs, DenyArgs, EditArg, HunksArg};
pub use args::{
    Cli, Command, CompletionsArgs, ConfigArgs, ContinueArgs, DropArgs, FindArgs, ForkArgs, IndexArgs, ManArgs,
    ModelCommand, ModelPullArgs, ModelTestArgs, PlanArgs, PromptsCommand, PromptsEjectArgs, ResumeArgs, RetryArgs,
    RunNameArgs, ShowArgs, SkillCheckArgs, SkillCommand, SkillNewArgs, SkillShowArgs, UndoArgs,
};
pub use cluster_args::{ClusterCommand, ClusterUpArgs, WorkerArgs};
pub use exit::{Exit, Failure};
pub use grants_args::{GrantsAddArgs, GrantsArgs, GrantsCommand, GrantsRevokeArgs, GrantsWhat};
pub use help::command;
pub use init_args::{DemoArgs, InitArgs};
#[cfg(feature = "mcp")]
pub use mcp_args::{McpArgs, McpCommand, ProgramRight};
pub use output_args::{GcArgs, OutputFormat, RunsArgs};
pub use run_args::{OpenArgs, RunArgs};
#[cfg(feature = "page")]
pub use serve_args::{ServeArgs, ServeCommand, TokenRight, TokensAddArgs, TokensArgs, TokensCommand, TokensRevokeArgs};
#[cfg(feature = "share")]
pub use share_args::{ExportArgs, ImportArgs, KeyArgs, KeyCommand};
pub use sheet_args::{ReportArgs, ReportFormat, SheetCheckArgs, SheetCommand, SheetFmtArgs, SheetForm, SheetNewArgs};
pub use template_args::{
    TemplateCheckArgs, TemplateCommand, TemplateFmtArgs, TemplateForm, TemplateMatchArgs, TemplateNewArgs,
    TemplateRunArgs, TemplateShowArgs, operators,
};
#[cfg(feature = "mcp")]
pub use tools_args::{ToolsArgs, ToolsCommand, ToolsConfirmArgs, ToolsRevokeArgs};
pub use trust_args::TrustArgs;
pub use words::as_command;
pub use work_args::WorkArgs;
