//! What events consist of: keys, results, change sets, gates and answers, lists and trees.

mod answered;
mod list;
mod operators;
mod order;
mod parts;
mod stop;
mod tool_record;
pub mod words;

pub use answered::AnsweredBy;
pub use operators::{Closed, HandlerPlan, Opened, Plan, Retrieval, Served, Step, SubtaskTool, Tree};
pub use order::OrderId;

pub use list::{AdoptedList, Beside, PlannedTask, Removal};
pub use parts::{
    Answer, Apart, CallFault, CallKey, CallNo, CallSizes, ChangeSet, CheckEnd, CheckReport, DetailBlob, EffectKey,
    Entry, FileChange, Gate, GateKind, Outcome, PromptFile, ReferenceStage, RefusedPart, ResultParts, ReusedCall,
    ToolPolicy, Usage, Verdict,
};
pub use stop::StopReason;
pub use tool_record::ToolRecord;
