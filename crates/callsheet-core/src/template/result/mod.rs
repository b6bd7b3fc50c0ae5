//! Results and errors of tasks, and how they are read from model output (spec 6, 7, 11).

pub(crate) mod details;
mod error;
pub(crate) mod failure;
mod keys;
mod metrics;
mod output;
mod reading;
mod request;
mod task_result;

pub use error::{
    Blame, Details, ErrorKind, Halt, Hears, InputFaultDetails, Invalid, ItemError, Iteration, Missing, PartialResult,
    Reason, RecoveryAdvice, Resource, SourceLocation, TaskError,
};
pub use keys::snake_keys;
pub use metrics::{ContextUse, CostUse, DepthUse, OutputUse, ResourceMetrics, TokenUse, TurnUse, WallUse};
pub use output::{OutputReading, ParseError, check_returns, hold_value, read_output};
pub use reading::{JsonFound, JsonReading, ReplyReading, XmlError, XmlNote, XmlWarning};
pub use request::{SubtaskRequest, SubtaskType, Verdict};
pub use task_result::{DataSource, DataSourceKind, NoteWarning, Notes, ReturnStatus, TaskResult, judged, timeless};
pub(in crate::template) use task_result::{brief, brief_item};
