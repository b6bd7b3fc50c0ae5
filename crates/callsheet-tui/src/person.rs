//! The person at the screen. What they answer goes the way of `callsheet approve`: a message for the run, which the driver
//! takes. So there is one way to answer, whether this process drives the run or another one.

use async_trait::async_trait;
use callsheet_runtime::ports::{GateAnswer, GateView, Person, QuestionAnswer, QuestionView};
use tokio_util::sync::CancellationToken;

/// Somebody who is there until their terminal is gone; their answer closes the gate, which withdraws the question.
pub struct OnScreen {
    /// Cancelled when the terminal goes away.
    pub gone: CancellationToken,
}

impl OnScreen {
    async fn leaves(&self, withdrawn: &CancellationToken) {
        tokio::select! {
            () = withdrawn.cancelled() => {}
            () = self.gone.cancelled() => {}
        }
    }
}

#[async_trait]
impl Person for OnScreen {
    async fn approve(&self, _: &GateView, cancel: &CancellationToken) -> GateAnswer {
        self.leaves(cancel).await;
        GateAnswer::Absent
    }

    async fn answer(&self, _: &QuestionView, cancel: &CancellationToken) -> QuestionAnswer {
        self.leaves(cancel).await;
        QuestionAnswer::Absent
    }
}
