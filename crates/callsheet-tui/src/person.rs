//! The person at the screen. What they answer goes the way of `callsheet approve`: a message for the run, which the driver
//! takes. So there is one way to answer, whether this process drives the run or another one.

use async_trait::async_trait;
use callsheet_runtime::ports::{GateAnswer, GateView, Person, QuestionAnswer, QuestionView};
use tokio_util::sync::CancellationToken;

/// Somebody who is there; their answer closes the gate, which withdraws the question.
pub struct OnScreen;

#[async_trait]
impl Person for OnScreen {
    async fn approve(&self, _: &GateView, cancel: &CancellationToken) -> GateAnswer {
        cancel.cancelled().await;
        GateAnswer::Absent
    }

    async fn answer(&self, _: &QuestionView, cancel: &CancellationToken) -> QuestionAnswer {
        cancel.cancelled().await;
        QuestionAnswer::Absent
    }
}
