//! What people do with runs and see of them, for every face. A face turns words, keys or forms into a [`RunCommand`], gives it
//! to a [`RunControl`], and shows the [`Receipt`] or the [`Refusal`]. This crate knows no terminal and no HTTP.

mod answer;
mod command;
mod control;
mod host;
mod local;
mod refusal;
mod report;
mod words;

pub use answer::{answer_text, join_json, joined_results, results_json, run_folder};
pub use command::{Arrival, HunkRanges, Order, Receipt, RunCommand, WordCount};
pub use control::{RunControl, SheetCheck, SheetIssue, Started};
pub use host::Host;
pub use local::{Folded, LocalRuns, Question, asked_about, find_run, grantable, questions, recorded, undo_lines};
pub use refusal::{Kind, Refusal};
pub use report::{omitted_rules, report_html, result_of_tree};
pub use words::{EventLine, event_line, one_line, retry_line, silent_line};
