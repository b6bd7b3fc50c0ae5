//! The dispatcher: the process that the engine calls, and that workers and clients call.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;

use callsheet_app::Clients;
use callsheet_runtime::transport_policy::Slots;
use restate_sdk::endpoint::Endpoint;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

use crate::blobs::BlobFolder;
use crate::door::{Door, router};
use crate::engine::{Sockets, register};
use crate::fault::ClusterFault;
use crate::host::{Host, Project};
use crate::objects::{BlobsService, RunObject, RunsObject, WorkService};
use crate::placement::Placement;

/// What a dispatcher is given.
pub struct Serving {
    /// The folder of the engine.
    pub engine: PathBuf,
    /// Where everybody calls. It must stay the same when the process starts again, because the engine calls there again
    /// for what is in flight.
    pub listen: SocketAddr,
    /// What everybody shows.
    pub token: String,
    /// Those with tokens of their own.
    pub clients: Arc<dyn Clients>,
    /// The folder with the texts of all runs.
    pub blobs: PathBuf,
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
    let Serving { engine, listen, token, clients, blobs, slots, project } = serving;
    let sockets = Sockets::of(&engine)?;
    let client = sockets.runs()?;
    let host = Arc::new(Host::new(client.clone(), Arc::new(BlobFolder::new(&blobs)), Arc::clone(&project)));
    let placement = Placement::new(client, slots);
    let endpoint = Endpoint::builder()
        .bind(RunObject(Arc::clone(&host)))
        .bind(RunsObject)
        .bind(WorkService(Arc::clone(&placement)))
        .bind(BlobsService(host))
        .build();
    let listener = TcpListener::bind(listen)
        .await
        .map_err(|error| ClusterFault::Machine { what: listen.to_string(), why: error.to_string() })?;
    let door = Door { token: token.as_str().into(), clients, placement, project, streams: Arc::default(), endpoint };
    let served = tokio::spawn(async move { axum::serve(listener, router(door)).await });
    register(&sockets, listen, &token, &stop).await?;
    ready();
    // The engine and the workers call again for what is in flight, so nothing is waited for.
    tokio::select! {
        () = stop.cancelled() => Ok(()),
        served = served => Err(ClusterFault::Engine(format!("the server of the dispatcher ended: {served:?}"))),
    }
}
