//! Ports: what the runtime asks of the world. Each has a fault type that says who can fix a fault and whether a retry
//! helps, and a conformance suite that every adapter runs.

mod asking;
mod clock;
mod documents;
mod fetch;
mod grants;
mod held_call;
mod hosting;
mod memory;
mod model;
mod model_source;
mod observer;
mod outline;
mod repetition;
mod resources;
mod store;
mod tool;

pub use asking::{Attendance, CheckView, EqualCall, GateView, PartAnswer, UNHELD, Unattended, WriterView};
pub use clock::{Clock, SystemClock};
pub use documents::{DOCUMENT_LIMIT, DocumentFault, DocumentKind, Documents, NoDocuments};
pub use fetch::{Fetch, FetchFault, Page};
pub use grants::{Grants, NoGrants};
pub use held_call::{HeldCall, HeldCalls, Midway};
pub use hosting::{Answered, Asked, Hosting};
pub use memory::{Index, IndexEntry, IndexFault, IndexMode, Memory, MemoryFault, check_entries};
pub use model::{
    Capabilities, Constraint, DeltaSink, Message, Model, ModelFault, ModelInfo, ModelReply, ModelRequest,
    NativeNotation, NativeTool, ShownPicture, WindowFrom,
};
pub use model_source::ModelSource;
pub use observer::{LiveText, Observer, Signal};
pub use outline::{NoOutline, Outline, OutlineFault};
pub use repetition::Repetition;
pub use resources::{NoResources, Resource, ResourceFault, Resources};
pub use store::{AskingCall, InboxMessage, Lock, Posted, RunSummary, Store, StoreFault};
pub use tool::{Tool, ToolContext, ToolFault, ToolOutcome};
