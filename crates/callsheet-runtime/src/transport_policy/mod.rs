//! Budgets at the edge: how many calls a provider gets at once, and repeated sends inside one attempt.

mod retry;
mod slots;
mod withheld;

pub use retry::{RetryPolicy, Sent, jitter, send};
pub use slots::{Permit, Slots, Turn};
pub use withheld::{withheld, withhold};
