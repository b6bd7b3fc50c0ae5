//! Writers take turns (spec "Templates" 8): a run and those inside its calls share one turn. It is had while a process
//! or an apply goes on, never while a person is asked, and what waits for it has not begun: no time of its task passes.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use callsheet_core::record::EffectKey;
use callsheet_core::run::{Effect, Run};
use tokio::sync::{Mutex, OwnedMutexGuard};
use tokio_util::sync::CancellationToken;

use crate::effects::{Completion, EffectResult};

/// The turn of writers, shared by a run and those inside its calls.
#[derive(Clone, Debug, Default)]
pub struct Turns {
    turn: Arc<Mutex<()>>,
    /// How many commands run.
    commands: Arc<AtomicUsize>,
}

/// A command that runs.
pub(crate) struct Command(Arc<AtomicUsize>);

impl Drop for Command {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

/// The right to write, until it is dropped.
pub(crate) type Turn = OwnedMutexGuard<()>;

/// Whether an effect may change something by itself, so that no other such one may go on beside it.
pub(crate) fn needs_turn(run: &Run, effect: &Effect) -> bool {
    match effect {
        Effect::RunTool { call, .. } => run.policy(&call.name).exclusive,
        Effect::ApplyChanges { .. } => true,
        _ => false,
    }
}

impl Turns {
    /// The turn, if nobody has it.
    pub(crate) fn free(&self) -> Option<Turn> {
        Arc::clone(&self.turn).try_lock_owned().ok()
    }

    /// Notes that a command runs, until this is dropped.
    pub(crate) fn command(&self) -> Command {
        self.commands.fetch_add(1, Ordering::SeqCst);
        Command(Arc::clone(&self.commands))
    }

    /// Whether a command runs.
    pub(crate) fn has_command(&self) -> bool {
        self.commands.load(Ordering::SeqCst) > 0
    }

    /// Waits for the turn of an effect, in the order of asking, until it is cancelled.
    /// No longer than the time of the run that is left.
    pub(crate) async fn wait(self, key: EffectKey, cancel: CancellationToken, left_ms: Option<u64>) -> Completion {
        let begun = Instant::now();
        let time_is_over = async {
            match left_ms {
                Some(left) => tokio::time::sleep(Duration::from_millis(left.saturating_add(1))).await,
                None => std::future::pending().await,
            }
        };
        let turn = tokio::select! {
            biased;
            () = cancel.cancelled() => return Completion { key, result: Ok(EffectResult::Events(Vec::new())) },
            turn = self.turn.lock_owned() => Some(turn),
            () = time_is_over => None,
        };
        let waited_ms = u64::try_from(begun.elapsed().as_millis()).unwrap_or(u64::MAX);
        Completion { key, result: Ok(EffectResult::WriterTurn { turn, waited_ms }) }
    }
}
