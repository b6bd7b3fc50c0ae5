//! What people and programs see of a run: the report, the summary at the end, the timeline, and the board that faces
//! draw. Each is a projection of a folded run. None adds a fact.

mod answer;
pub mod board;
mod diff;
mod limits;
mod moments;
mod report;
mod summary;
mod timeline;
mod times;
mod waits;
mod why;

pub use answer::{answer, joined, listed, results, unsupported_of_answer};
pub use board::{Board, state_mark};
pub use diff::{DiffKind, DiffLine, DiffReader, diff_counts, diff_lines};
pub use limits::{limit_unit, most_used_limit, pressing_limit};
pub use moments::{civil, outcome_words};
pub use report::{
    CALLS_FAILED, asked_files_words, failed_checks, outcome_word, problem_line, removals, report, review_words,
};
pub use summary::Summary;
pub use timeline::{Bar, BarKind, own_failure, timeline};
pub use times::{time_parts, time_words};
pub use waits::{Wait, WaitKind, waits};
pub use why::{why_line, why_words};

pub use crate::record::words::{call_words, unsupported_line};
pub use crate::run::events::{limit_words, list_words, raised_words, reuse_words};
pub use crate::units::{amount, counted, dollars, duration, thousands};
