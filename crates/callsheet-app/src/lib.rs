//! What people do with runs and see of them, for all faces. A face turns words, keys or forms into a [`RunCommand`],
//! passes it to a [`RunControl`], and shows the [`Receipt`] or the [`Refusal`]. It draws what a [`RunView`] shows,
//! which folds the entries from [`RunControl::watch`]. This crate knows neither terminals nor HTTP.

mod advice;
mod answer;
mod clients;
mod command;
mod control;
mod host;
mod local;
mod naming;
mod refusal;
mod report;
mod settled;
mod starter;
mod view;
mod words;

pub use advice::{Advice, AdviceStep, shell_word};
pub use answer::{answer_text, join_json, joined_results, results_json, run_folder};
pub use clients::{Client, ClientRight, Clients, KnownClient};
pub use command::{AnswerTo, Arrival, HunkRanges, Order, Receipt, RunCommand, WordCount, new_key};
pub use control::{RunControl, SheetCheck, SheetIssue, Started};
pub use host::Host;
pub use local::{
    LocalRuns, Standing, asked_about, find_run, no_question, recorded, standing, undo_lines, unknown_run, unknown_task,
};
pub use naming::{new_run, run_name};
pub use refusal::{Kind, Refusal, refuse_unmasked};
pub use report::{omitted_rules, result_of_tree, warnings_of_tree};
pub use settled::{Awaited, settled};
pub use starter::{InputOffer, NewRun, RunStarter, TemplateOffer};
pub use view::{
    About, CallRecord, Cursor, Decided, Execution, FailedParts, Folded, Joined, Limit, LimitUse, Problem, Question,
    Review, RunLines, RunView, Stage, State, TaskRun, ToolOutput, ToolRun, ToolState, Why, decisions,
};
pub use words::{EventLine, one_line, retry_line, silent_line};
