//! Writers take turns (spec "Templates" 8): a run and those inside its calls share one turn. It is had while a process or an
//! apply goes on, never while a person is asked, and what waits for it has not begun: no time of its task passes.

use std::sync::Arc;
use std::time::{Duration, Instant};

use callsheet_core::record::EffectKey;
use callsheet_core::run::{Effect, Run};
use tokio::sync::{Mutex, OwnedMutexGuard};
use tokio_util::sync::CancellationToken;

use super::work::{Done, Landed};

/// The turn of writers, shared by a run and those inside its calls.
#[derive(Clone, Debug, Default)]
pub struct Turns(Arc<Mutex<()>>);

/// The right to write, until it is dropped.
pub(super) type Turn = OwnedMutexGuard<()>;

/// Whether an effect may change something by itself, so that no other such one may go on beside it.
pub(super) fn needs_turn(run: &Run, effect: &Effect) -> bool {
    match effect {
        Effect::RunTool { call, .. } => run.policy(&call.name).exclusive,
        Effect::ApplyChanges { .. } => true,
        _ => false,
    }
}

impl Turns {
    /// The turn, if nobody has it.
    pub(super) fn free(&self) -> Option<Turn> {
        Arc::clone(&self.0).try_lock_owned().ok()
    }

    /// Whether a process or an apply goes on. What is written to a sheet then is not a person's (spec 11.11).
    pub(super) fn is_had(&self) -> bool {
        self.0.try_lock().is_err()
    }

    /// Waits for the turn of an effect, in the order of asking, until it is cancelled.
    /// No longer than the time of the run that is left.
    pub(super) async fn wait(self, key: EffectKey, cancel: CancellationToken, left_ms: Option<u64>) -> Done {
        let begun = Instant::now();
        let time_is_over = async {
            match left_ms {
                Some(left) => tokio::time::sleep(Duration::from_millis(left.saturating_add(1))).await,
                None => std::future::pending().await,
            }
        };
        let turn = tokio::select! {
            biased;
            () = cancel.cancelled() => return Done { key, result: Ok(Landed::Facts(Vec::new())) },
            turn = self.0.lock_owned() => Some(turn),
            () = time_is_over => None,
        };
        let waited_ms = u64::try_from(begun.elapsed().as_millis()).unwrap_or(u64::MAX);
        Done { key, result: Ok(Landed::Turn { turn, waited_ms }) }
    }
}
