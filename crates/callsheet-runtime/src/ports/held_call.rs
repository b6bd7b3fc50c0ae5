//! A tool call that waits for the answer of a person, with what it keeps open until then.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;
use callsheet_core::record::EffectKey;

use super::tool::{ToolContext, ToolFault, ToolOutcome};

/// A call in the middle. If it is dropped, the call ends.
#[async_trait]
pub trait HeldCall: Send {
    /// Goes on with the answer. `None` means that the question is declined, because nobody is there.
    async fn go_on(self: Box<Self>, answer: Option<&str>, context: &ToolContext) -> Result<ToolOutcome, ToolFault>;
}

/// A question in the middle of a call.
#[derive(Clone)]
pub struct Midway {
    /// What the person reads.
    pub question: String,
    held: Arc<Mutex<Option<Box<dyn HeldCall>>>>,
}

impl Midway {
    /// A question of this call.
    pub fn new(question: String, held: Box<dyn HeldCall>) -> Self {
        Self { question, held: Arc::new(Mutex::new(Some(held))) }
    }

    /// The call. `None` if it was taken before.
    pub fn take(&self) -> Option<Box<dyn HeldCall>> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

impl fmt::Debug for Midway {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Midway").field("question", &self.question).finish_non_exhaustive()
    }
}

impl PartialEq for Midway {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.held, &other.held)
    }
}

/// The calls of this process that wait for an answer.
#[derive(Default)]
pub struct HeldCalls(Mutex<BTreeMap<EffectKey, Box<dyn HeldCall>>>);

impl HeldCalls {
    /// Keeps a call.
    pub(crate) fn keep(&self, key: EffectKey, held: Box<dyn HeldCall>) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(key, held);
    }

    /// Takes a call out. `None` if it ended with another process.
    pub(crate) fn take(&self, key: &EffectKey) -> Option<Box<dyn HeldCall>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).remove(key)
    }

    /// Ends all of them.
    pub(crate) fn end(&self) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clear();
    }
}
