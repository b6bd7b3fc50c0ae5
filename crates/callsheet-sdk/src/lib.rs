//! Callsheet inside another program.
//!
//! Callsheet turns a request into a plan of small tasks, runs independent tasks in parallel, records every step before
//! the next one starts, and asks before it changes anything. This crate offers that to Rust programs. Programs in other
//! languages use the HTTP interface or MCP of the `callsheet` program.
//!
//! # Plan and run
//!
//! [`Callsheet::builder`] takes the folder of a project and a [`Model`]. [`Callsheet::run`] carries out a request:
//!
//! ```
//! use callsheet_sdk::{Callsheet, Error, Outcome, models};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let folder = tempfile::tempdir()?;
//! # std::fs::write(folder.path().join("garden.md"), "The gate opens on Sunday at nine.\n")?;
//! # let project = folder.path();
//! # tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(async {
//! // A model that follows a script. `models::open("ollama/qwen2.5:7b")` opens a real one.
//! let model = models::scripted(
//!     r#"
//!     [[rule]]
//!     phase = "route"
//!     text = "read_files"
//!
//!     [default]
//!     text = "The gate opens on Sunday at nine."
//!     "#,
//! )?;
//! let callsheet = Callsheet::builder(project, model).build()?;
//! let finished = callsheet.run("When does the gate open, as garden.md says?").await?;
//! assert_eq!(finished.outcome, Outcome::Complete);
//! assert_eq!(finished.answer.trim(), "The gate opens on Sunday at nine.");
//! # Ok::<(), Error>(())
//! # })?;
//! # Ok(())
//! # }
//! ```
//!
//! [`Callsheet::plan`] stops before the first task, so that a person or a program can edit the plan.
//! [`Callsheet::run_sheet`] carries out a plan. A run that was stopped or killed continues with [`Callsheet::resume`] if
//! its record is on disk: see [`Builder::record_in`].
//!
//! # Who decides
//!
//! A run that wants to change a file or start a command asks an [`Approver`]. Without one it stops there:
//! [`Finished::outcome`] is [`Outcome::ApprovalRequired`].
//!
//! # Tools and models
//!
//! A [`Tool`] says in its [`ToolSpec`] what it does to the world. A tool that only reads is called at once; others need
//! an approval. A [`Model`] answers requests; everything else, such as retries, limits and the reading of replies, is
//! done for it.
//!
//! # Faces
//!
//! [`Callsheet::runs`] returns the interface of all faces, [`RunControl`]. A face reads new entries with
//! [`RunControl::watch`], folds them into a [`RunView`], draws what that shows, and gives orders with
//! [`RunControl::order`]. It never decides what a run does next. [`Builder::observer`] shows streamed text.
//!
//! # Commands
//!
//! Runs start commands in a sandbox where the system has one. The sandbox starts the program itself again, with
//! arguments of its own, so its `main` must begin with [`supervise`]:
//!
//! ```no_run
//! fn main() -> std::process::ExitCode {
//!     if let Some(ended) = callsheet_sdk::supervise() {
//!         return ended;
//!     }
//!     // …
//!     std::process::ExitCode::SUCCESS
//! }
//! ```
//!
//! Without that call commands run without namespaces of their own, and each needs an approval.
//!
//! # Stability
//!
//! What this crate exports is the public interface. The crates below it change at any time. Until version 1, a minor
//! version may change the interface; the change log says how.
//!
//! # Examples
//!
//! `examples/library` has three programs: `plan_and_run`, `own_parts` (a tool, a model and an approver) and `own_face`.

mod approver;
mod builder;
mod callsheet;
mod error;
mod host;
#[cfg(feature = "models")]
pub mod models;
mod parts;

pub use approver::{Approver, Decision};
pub use builder::Builder;
pub use callsheet::{Callsheet, Finished, Plan, Running};
pub use error::Error;

/// Makes traits with asynchronous methods: put `#[async_trait]` on each implementation of [`Approver`], [`Model`] and
/// [`Tool`].
pub use async_trait::async_trait;
/// The JSON of tool arguments and schemas.
pub use serde_json;
/// Ends calls early. Tools and models get one with each call.
pub use tokio_util::sync::CancellationToken;

/// The first call in the `main` of a program whose runs start commands. In a process that supervises a command, it does
/// so and returns its exit code; otherwise it returns `None`.
pub use callsheet_tools::supervise;

#[doc(inline)]
pub use callsheet_app::{
    About, Cursor, EventLine, HunkRanges, Order, Question, Receipt, Refusal, RunCommand, RunControl, RunView, Standing,
    State, TaskRun, WordCount,
};
#[doc(inline)]
pub use callsheet_core::events::LogEntry;
#[doc(inline)]
pub use callsheet_core::nouns::{
    ApprovalMode, Budget, Headless, Limits, MergePolicy, Policy, RepeatClass, RunId, SectionOrder, Settings, Slug,
    Task, ToolCall, ToolEffect, ToolSpec,
};
#[doc(inline)]
pub use callsheet_core::record::{AnsweredBy, Gate, GateKind, Outcome, StopReason, Usage};
#[doc(inline)]
pub use callsheet_core::view::{Board, Summary};
#[doc(inline)]
pub use callsheet_format::edit::{Change, Hunk, HunkKind};
#[doc(inline)]
pub use callsheet_runtime::paths::Workspace;
#[doc(inline)]
pub use callsheet_runtime::ports::{
    Capabilities, Constraint, DeltaSink, GateView, Message, Model, ModelFault, ModelInfo, ModelReply, ModelRequest,
    Observer, RunSummary, Signal, Tool, ToolContext, ToolFault, ToolOutcome, WindowFrom, WriterView,
};
