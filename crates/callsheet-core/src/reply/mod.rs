//! Tolerant reading of model output (spec 4). Two pure passes: `lookups` names what must be known of the world,
//! `read` uses the answers. Reading never fails: every reading is `(value, repairs, issues)`.

mod codes;
mod issue;
mod lookup;
pub mod markdown;
pub mod near;
mod notes;
mod value;
mod words;

pub use codes::{IssueCode, RepairCode};
pub use issue::{Issue, Phase, Place, Reading, Repair, Severity, Span};
pub use lookup::{Answer, Answers, Candidates, FileFacts, KnownTask, Lookup, ReadContext};
pub use notes::{Notes, excerpt};
pub use value::{Change, ChangeWay, DetailFile, Execution, Location, LoopTurn, Refinement};
