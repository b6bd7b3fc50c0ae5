//! The dispatcher: the process that the engine calls, and that workers and clients call.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;

use callsheet_app::Clients;
use callsheet_runtime::transport_policy::Slots;
use restate_sdk::endpoint::Endpoint;
use tokio_util::sync::CancellationToken;

use crate::bucket::{Blobs, Bucket};
use crate::door::{Door, engine_router, router};
use crate::engine::{Sockets, register};
use crate::fault::ClusterFault;
use crate::host::{Host, Project};
use crate::objects::{BlobsService, RunObject, RunsObject, WorkService};
use crate::placement::Placement;
use crate::records::Records;
use crate::texts::Texts;
use crate::tls::{Certificate, TlsListener};

/// What a dispatcher is given.
pub struct Serving {
    /// The folder of the engine.
    pub engine: PathBuf,
    /// How many nodes it has.
    pub nodes: u32,
    /// Where workers and clients call.
    pub listen: SocketAddr,
    /// What it shows there.
    pub certificate: Certificate,
    /// Where the engine calls. It must stay the same when the process starts again, because the engine calls there again
    /// for what is in flight.
    pub engine_listen: SocketAddr,
    /// What it shows there, which the engine was started with.
    pub engine_certificate: Certificate,
    /// What clients and the engine show.
    pub token: String,
    /// What workers show.
    pub worker_token: String,
    /// What workers show that run commands elsewhere.
    pub commands_token: String,
    /// Those with tokens of their own.
    pub clients: Arc<dyn Clients>,
    /// The folder with the texts of all runs.
    pub blobs: PathBuf,
    /// Where they are kept beyond this machine, with files of the project.
    pub bucket: Option<Bucket>,
    /// How many calls each provider takes at the same time, from all workers together.
    pub slots: Slots,
    /// Models and the project.
    pub project: Arc<dyn Project>,
}

/// Serves until `stop`. `ready` is called when the engine knows this process.
///
/// # Errors
/// The address cannot be used, or the engine does not respond.
pub async fn serve(serving: Serving, ready: impl FnOnce(), stop: CancellationToken) -> Result<(), ClusterFault> {
    let Serving { listen, certificate, engine_listen, engine_certificate, .. } = serving;
    let Serving { engine, nodes, token, worker_token, commands_token, clients, blobs, bucket, slots, project, .. } =
        serving;
    let sockets = Sockets::of(&engine, nodes)?;
    let client = sockets.runs()?;
    let blobs = Blobs::new(&blobs, bucket);
    let (texts, records) = (Arc::new(Texts::here(blobs.clone())), Records::Engine(client.clone()));
    let host = Arc::new(Host::new(records, texts, Arc::clone(&project), None));
    let placement = Placement::new(client, slots);
    let endpoint = Endpoint::builder()
        .bind(RunObject(Arc::clone(&host)))
        .bind(RunsObject)
        .bind(WorkService(Arc::clone(&placement)))
        .bind(BlobsService(blobs.clone()))
        .build();
    let marked = match blobs.bucket.clone() {
        Some(bucket) => {
            let marked = tokio::task::spawn_blocking(move || bucket.mark());
            let failed = |why: String| ClusterFault::Machine { what: "the object store".to_owned(), why };
            let marked = marked.await.map_err(|error| failed(error.to_string()))?;
            Some(marked.map_err(|fault| failed(fault.to_string()))?)
        }
        None => None,
    };
    let for_engine = TlsListener::bind(engine_listen, engine_certificate).await?;
    let listener = TlsListener::bind(listen, certificate).await?;
    let door = Door {
        token: token.as_str().into(),
        worker_token: worker_token.into(),
        commands_token: commands_token.into(),
        clients,
        placement,
        host,
        project,
        streams: Arc::default(),
        blobs,
        marked,
        named: Arc::default(),
        snapshots: Arc::default(),
        endpoint,
    };
    let called = engine_router(door.clone());
    let called = tokio::spawn(async move { axum::serve(for_engine, called).await });
    let served = tokio::spawn(async move { axum::serve(listener, router(door)).await });
    register(&sockets, engine_listen, &token, &stop).await?;
    ready();
    // The engine and the workers call again for what is in flight, so nothing is waited for.
    tokio::select! {
        () = stop.cancelled() => Ok(()),
        called = called => Err(ClusterFault::Engine(format!("the server for the engine ended: {called:?}"))),
        served = served => Err(ClusterFault::Engine(format!("the server of the dispatcher ended: {served:?}"))),
    }
}
