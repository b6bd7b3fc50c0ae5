//! Limits at the edge: how many calls a provider gets at once, and repeated sends within one attempt.

mod pauses;
mod retry;
mod shared;
mod slots;
mod withheld;

pub use pauses::Pauses;
pub use retry::{Line, RetryPolicy, Sent, Told, jitter, send};
pub use shared::SharedSlots;
pub use slots::{Permit, Slots, Turn};
pub use withheld::{withheld, withhold};
