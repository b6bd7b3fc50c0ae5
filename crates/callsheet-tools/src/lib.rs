//! The tools that models may call. Each tool is one folder: code, `description.md` (what the model reads),
//! `schema.json` (the arguments) and `cases/` (arguments and a small project as input, the output as expectation).
//!
//! No tool writes to the project. [`write_file`] returns changes that the host validates, shows and applies.
//! [`run_command`] runs in a sandbox if the system has one, see [`holding`].

mod common;

pub mod ask_user;
pub mod check_changes;
pub mod fetch_url;
pub mod find_files;
pub mod list_files;
pub mod list_paths;
pub mod read_file;
pub mod run_command;
pub mod script;
pub mod search_text;
pub mod spawn_subtask;
pub mod write_file;

use std::sync::Arc;

use callsheet_runtime::ports::Tool;

pub use fetch_url::http::{HttpFetch, HttpSettings, Lookup};
pub use run_command::holding::{Held, Holding, holding};
pub use run_command::sandbox::Enforcement;
pub use run_command::{closed_to_commands, is_host, remember_in, set_aside_left, supervise, supervise_with};

/// The tools that start the processes of templates: one for all processes and, if the system can enforce it, one for
/// processes that only read. They are not in the registry, so no model is offered them.
pub fn scripts() -> Vec<Arc<dyn Tool>> {
    let reading = script::Script::reading().map(|tool| Arc::new(tool) as Arc<dyn Tool>);
    let any: Arc<dyn Tool> = Arc::new(script::Script::new());
    std::iter::once(any).chain(reading).collect()
}

/// A tool that a configuration registers. Its calls ask for subtasks (spec "Templates" 14).
pub fn subtask_tool(name: &str, description: &str) -> Arc<dyn Tool> {
    Arc::new(spawn_subtask::SpawnSubtask::registered(name, description))
}

/// Prints the paths for a `file_paths` that comes from a command. It is not in the registry either.
pub fn list_paths() -> Arc<dyn Tool> {
    Arc::new(list_paths::ListPaths::new())
}

/// Checks changes on a copy of the project. It is not in the registry either.
pub fn check_changes() -> Arc<dyn Tool> {
    Arc::new(check_changes::CheckChanges::new())
}

/// All built-in tools, in the order in which models see them.
pub fn registry() -> Vec<Arc<dyn Tool>> {
    vec![
        Arc::new(read_file::ReadFile::new()),
        Arc::new(list_files::ListFiles::new()),
        Arc::new(find_files::FindFiles::new()),
        Arc::new(search_text::SearchText::new()),
        Arc::new(write_file::WriteFile::new()),
        Arc::new(run_command::RunCommand::new()),
        Arc::new(fetch_url::FetchUrl::new()),
        Arc::new(ask_user::AskUser::new()),
        Arc::new(spawn_subtask::SpawnSubtask::new()),
    ]
}
