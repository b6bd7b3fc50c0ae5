//! Hands work to workers and takes their results.

use std::sync::{Arc, Weak};
use std::time::Duration;

use callsheet_core::nouns::RunId;
use callsheet_runtime::driver::Returned;
use callsheet_runtime::transport_policy::Slots;

use crate::calls::{Claim, Done, Job, Key, Lease, Take, Taken, Unperformed};
use crate::client::Client;
use crate::desk::{Desk, End, Replaced, Standing};
use crate::fault::ClusterFault;
use crate::landings::Landings;
use crate::limits::Limits;

/// How often the dispatcher looks which work is still wanted, and which workers are silent.
const TICK: Duration = Duration::from_secs(1);
/// How long work that failed waits before it is given out again. This grows up to the longest wait.
const AGAIN: Duration = Duration::from_millis(200);
const LONGEST: Duration = Duration::from_secs(5);

/// What a worker hears about its result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Receipt {
    /// The run has recorded it.
    Taken,
    /// It came too late, or nobody waits for it.
    Late,
    /// The dispatcher does not know yet. The worker asks again.
    Later,
}

/// Whether a worker may read and write texts of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Admission {
    /// It has work of the run.
    Yes,
    /// The dispatcher does not know yet. The worker asks again.
    Later,
    /// It has none.
    No,
}

/// The work of a cluster.
pub(crate) struct Placement {
    pub desk: Desk,
    pub limits: Limits,
    pub client: Client,
    landings: Arc<Landings>,
}

impl Placement {
    pub fn new(client: Client, slots: Slots) -> Arc<Self> {
        let (desk, limits, landings) = (Desk::new(slots.clone()), Limits::new(slots), Landings::new(client.clone()));
        let placement = Arc::new(Self { desk, limits, client, landings });
        tokio::spawn(Self::look(Arc::downgrade(&placement)));
        placement
    }

    /// Waits for something that a worker has to do or to drop, but not for long.
    pub async fn take(&self, asks: &Take) -> Result<Taken, Replaced> {
        self.limits.note(&asks.process, &asks.slots).await;
        self.desk.take(asks).await
    }

    /// Waits for the end of a lease.
    pub async fn hold(&self, job: &Job, lease: &Lease) -> End {
        // Only a run that is known to wait for it lets a worker begin it again.
        let is_awaited = async {
            loop {
                match self.is_awaited(&job.run, job.attempt).await {
                    Ok(is_awaited) => return is_awaited,
                    Err(_) => tokio::time::sleep(AGAIN).await,
                }
            }
        };
        let end = self.desk.hold(job, lease, is_awaited).await;
        if matches!(end, End::Failed | End::NotBegun) {
            tokio::time::sleep(AGAIN.saturating_mul(lease.number).min(LONGEST)).await;
        }
        end
    }

    /// Takes a result under a lease. The run decides whether it fits.
    pub async fn done(&self, done: Done) -> Result<Receipt, ClusterFault> {
        let Done { job, lease, result } = done;
        let key = job.key();
        match self.desk.standing(&key, &lease) {
            Standing::Good => {}
            Standing::Late => return Ok(Receipt::Late),
            Standing::Unknown if self.is_awaited(&job.run, job.attempt).await? => return Ok(Receipt::Later),
            Standing::Unknown => return Ok(Receipt::Late),
        }
        let end = match result {
            Ok(Some(events)) => {
                let returned = Returned { effect: job.effect, attempt: job.attempt, events: Some(events) };
                self.landings.give(&job.run, returned).await?;
                End::Over
            }
            // The worker found that nobody waits for it, or has not seen its start yet.
            Ok(None) if self.is_awaited(&job.run, job.attempt).await? => End::NotBegun,
            Ok(None) => End::Over,
            Err(Unperformed { begun, why }) => {
                tracing::warn!(why, run = %job.run, "a worker failed");
                if begun { End::Failed } else { End::NotBegun }
            }
        };
        self.desk.finish(&key, &lease, end);
        Ok(Receipt::Taken)
    }

    /// Whether a process works for a run, as it claims.
    pub async fn admits(&self, claim: &Claim) -> Result<Admission, ClusterFault> {
        let mut admission = Admission::No;
        for (attempt, number) in &claim.leases {
            let key = Key { run: claim.run.clone(), attempt: *attempt };
            match self.desk.standing(&key, &Lease { process: claim.process.clone(), number: *number }) {
                Standing::Good => return Ok(Admission::Yes),
                Standing::Late => {}
                Standing::Unknown if self.is_awaited(&key.run, key.attempt).await? => admission = Admission::Later,
                Standing::Unknown => {}
            }
        }
        Ok(admission)
    }

    /// Whether a run waits for an attempt.
    async fn is_awaited(&self, run: &RunId, attempt: u64) -> Result<bool, ClusterFault> {
        match self.client.head(run).await {
            Ok(head) => Ok(!head.has_left(attempt)),
            Err(ClusterFault::NoRun(_)) => Ok(false),
            Err(fault) => Err(fault),
        }
    }

    /// Looks again and again what is still wanted.
    async fn look(placement: Weak<Self>) {
        let mut ticks = tokio::time::interval(TICK);
        ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        loop {
            ticks.tick().await;
            let Some(placement) = placement.upgrade() else { return };
            placement.desk.tick();
            placement.limits.keep_only(&placement.desk.processes());
            for (run, attempts) in placement.desk.attempts() {
                // If the engine does not respond, the work goes on.
                let Ok(head) = placement.client.head(&run).await else { continue };
                let left: Vec<u64> = attempts.into_iter().filter(|attempt| head.has_left(*attempt)).collect();
                placement.desk.drop_work(&run, &left);
            }
        }
    }
}
