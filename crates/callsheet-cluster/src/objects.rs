//! What the engine calls: the object of a run, the list of runs, the work and the texts. Each handler is short and
//! does the same when the engine repeats it: what may differ happens inside `run`, whose result is recorded.

use std::sync::Arc;

use callsheet_core::events::{LogEntry, VERSION};
use callsheet_core::nouns::{BlobId, RunId};
use callsheet_runtime::driver::{Begun, Returned};
use callsheet_runtime::ports::{RunSummary, StoreFault};
use restate_sdk::context::RequestTarget;
use restate_sdk::prelude::*;

use crate::bucket::Blobs;
use crate::calls::{ALL, Answer, Head, INDEX, Job, Landed, Landing, Pages, WORK};
use crate::desk::End;
use crate::host::{Host, HostFault};
use crate::placement::Placement;

/// The key of a run's state.
const HEAD: &str = "head";

/// How many pages one call reads.
const PAGES: u64 = 256;

fn page(number: u64) -> String {
    format!("page/{number}")
}

/// A refusal for the caller, which the engine does not repeat.
fn refused(code: u16, what: impl Into<String>) -> HandlerError {
    TerminalError::new_with_code(code, what).into()
}

/// A run that a newer dispatcher wrote. Its workers keep their results until that one is back.
fn newer(run: &RunId, found: u32) -> String {
    let fault = StoreFault::TooNew { found, known: VERSION };
    format!("{run}: {fault}; start the cluster with the Callsheet that wrote it, or a newer one")
}

/// The object of a run.
pub(crate) struct RunObject(pub Arc<Host>);

#[restate_sdk::object(
    name = "CallsheetRun",
    client_visibility = "pub(crate)",
    lazy_state,
    inactivity_timeout = "10m",
    abort_timeout = "10m",
    journal_retention = "0s",
    invocation_retry_policy(
        initial_interval = "50ms",
        factor = 2.0,
        max_interval = "5s",
        max_attempts = 1000000,
        on_max_attempts = "pause"
    )
)]
impl RunObject {
    #[handler]
    async fn land(&self, ctx: ObjectContext<'_>, Json(landing): Json<Landing>) -> Result<Json<Answer>, HandlerError> {
        let id = RunId::new(ctx.key());
        let head = ctx.get::<Json<Head>>(HEAD).await?.map(Json::into_inner);
        match (&head, landing.first.is_empty()) {
            (Some(_), false) => return Err(refused(409, format!("run {id} already exists"))),
            (None, true) => return Err(refused(410, format!("there is no run {id}"))),
            (Some(head), _) if head.log > VERSION => return Err(refused(426, newer(&id, head.log))),
            _ => {}
        }
        let (host, run, known) = (Arc::clone(&self.0), id.clone(), head.clone());
        let landed =
            ctx.run(move || async move { landed(host, run, known, landing).await }).name("land").await?.into_inner();
        let Landed { entries, begun, attempts, stamp, rests, answer, summary } = landed;
        let is_first = head.is_none();
        let head = head.unwrap_or_default();
        if let Some(last) = entries.last() {
            let position = last.n;
            ctx.set(&page(head.pages), Json(entries));
            ctx.set(
                HEAD,
                Json(Head { position, pages: head.pages + 1, stamp: stamp.clone(), attempts, rests, log: VERSION }),
            );
        }
        for begun in begun {
            let key = format!("{id}/{}", begun.attempt);
            let Begun { effect, attempt, once, needs } = begun;
            let job = Job { run: id.clone(), effect, attempt, once, needs };
            let target = RequestTarget::service(WORK, "perform");
            ctx.request::<Json<Job>, ()>(target, Json(job)).idempotency_key(key).send();
        }
        if let Some(summary) = summary {
            let target = RequestTarget::object(INDEX, ALL, "note");
            let note = ctx.request::<Json<RunSummary>, ()>(target, Json(summary));
            if is_first {
                // Whoever began the run finds it in the list.
                note.call().await?;
            } else {
                note.send();
            }
        }
        // The landing is recorded, so people may see what it says.
        let (host, runtime) = (Arc::clone(&self.0), tokio::runtime::Handle::current());
        tokio::task::spawn_blocking(move || runtime.block_on(host.show(&id, &stamp))).await?;
        Ok(Json(answer))
    }

    #[handler]
    async fn head(&self, ctx: SharedObjectContext<'_>) -> Result<Json<Head>, HandlerError> {
        let head = ctx.get::<Json<Head>>(HEAD).await?;
        head.ok_or_else(|| refused(410, format!("there is no run {}", ctx.key())))
    }

    #[handler]
    async fn pages(&self, ctx: SharedObjectContext<'_>, Json(from): Json<u64>) -> Result<Json<Pages>, HandlerError> {
        let Some(Json(head)) = ctx.get::<Json<Head>>(HEAD).await? else {
            return Err(refused(410, format!("there is no run {}", ctx.key())));
        };
        let end = head.pages.min(from.saturating_add(PAGES));
        let mut entries = Vec::new();
        for number in from..end {
            let Some(Json(page)) = ctx.get::<Json<Vec<LogEntry>>>(&page(number)).await? else {
                return Err(refused(500, format!("page {number} of {} is missing", ctx.key())));
            };
            entries.extend(page);
        }
        let next = (end < head.pages).then_some(end);
        Ok(Json(Pages { head, entries, next }))
    }
}

/// Lands on a thread that may block.
async fn landed(
    host: Arc<Host>,
    run: RunId,
    head: Option<Head>,
    landing: Landing,
) -> Result<Json<Landed>, HandlerError> {
    let runtime = tokio::runtime::Handle::current();
    let land = move || runtime.block_on(host.land(&run, head, landing));
    match tokio::task::spawn_blocking(land).await? {
        Ok(landed) => Ok(Json(landed)),
        Err(HostFault::Refused(why)) => Err(refused(400, why)),
        Err(fault @ HostFault::Again(_)) => {
            tracing::warn!(%fault, "landing is tried again");
            Err(fault.into())
        }
    }
}

/// The list of runs.
pub(crate) struct RunsObject;

#[restate_sdk::object(name = "CallsheetRuns", client_visibility = "pub(crate)", journal_retention = "0s")]
impl RunsObject {
    #[handler]
    async fn note(&self, ctx: ObjectContext<'_>, Json(summary): Json<RunSummary>) -> Result<(), HandlerError> {
        ctx.set(summary.run.clone().as_str(), Json(summary));
        Ok(())
    }

    #[handler]
    async fn list(&self, ctx: SharedObjectContext<'_>) -> Result<Json<Vec<RunSummary>>, HandlerError> {
        let mut runs = Vec::new();
        for key in ctx.get_keys().await? {
            runs.extend(ctx.get::<Json<RunSummary>>(&key).await?.map(Json::into_inner));
        }
        Ok(Json(runs))
    }
}

/// The work, which this hands to workers.
pub(crate) struct WorkService(pub Arc<Placement>);

#[restate_sdk::service(
    name = "CallsheetWork",
    client_visibility = "pub(crate)",
    inactivity_timeout = "1 day",
    abort_timeout = "1 day",
    journal_retention = "0s",
    idempotency_retention = "1h",
    ingress_private,
    invocation_retry_policy(
        initial_interval = "50ms",
        factor = 2.0,
        max_interval = "5s",
        max_attempts = 1000000,
        on_max_attempts = "pause"
    )
)]
impl WorkService {
    /// Lasts until the run has the result. Leases and their ends are recorded, so that the same worker goes on when this
    /// is called again.
    #[handler]
    async fn perform(&self, ctx: Context<'_>, Json(job): Json<Job>) -> Result<(), HandlerError> {
        for number in 1.. {
            let (placement, wanted) = (Arc::clone(&self.0), job.clone());
            let claim = move || async move { Ok(Json(placement.desk.claim(&wanted, number).await)) };
            let Some(lease) = ctx.run(claim).name("claim").await?.into_inner() else { return Ok(()) };
            let (placement, held) = (Arc::clone(&self.0), job.clone());
            let hold = move || async move { Ok(Json(placement.hold(&held, &lease).await)) };
            match ctx.run(hold).name("hold").await?.into_inner() {
                End::Over => return Ok(()),
                // It may have begun, so it is not performed again.
                End::Lost | End::Failed if job.once => {
                    let returned = Returned { effect: job.effect, attempt: job.attempt, events: None };
                    let landing = Landing { returned: vec![returned], ..Landing::default() };
                    self.0.client.land(&job.run, &landing).await?;
                    return Ok(());
                }
                End::Lost | End::Failed | End::NotBegun => {}
            }
        }
        Ok(())
    }
}

/// The texts.
pub(crate) struct BlobsService(pub Blobs);

#[restate_sdk::service(name = "CallsheetBlobs", client_visibility = "pub(crate)", journal_retention = "0s")]
impl BlobsService {
    #[handler]
    async fn put(&self, _ctx: Context<'_>, bytes: Vec<u8>) -> Result<Json<BlobId>, HandlerError> {
        let id = BlobId::of(&bytes);
        self.0.put_all(&[bytes])?;
        Ok(Json(id))
    }

    #[handler]
    async fn get(&self, _ctx: Context<'_>, Json(id): Json<BlobId>) -> Result<Vec<u8>, HandlerError> {
        match self.0.get(&id) {
            Err(fault @ StoreFault::NoBlob(_)) => Err(refused(410, fault.to_string())),
            read => Ok(read?),
        }
    }
}
