//! A process that hosts runs and performs effects.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;

use restate_sdk::endpoint::Endpoint;
use restate_sdk::http_server::HttpServer;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

use crate::blobs::BlobFolder;
use crate::client::Client;
use crate::engine::{Addresses, register};
use crate::fault::ClusterFault;
use crate::host::{Host, Project};
use crate::objects::{BlobsService, RunObject, RunsObject, WorkService};
use crate::registry::Registry;

/// What a worker is given.
pub struct Worker {
    /// The engine.
    pub engine: Addresses,
    /// Where the engine reaches this process. It must stay the same when the process starts again, because the engine
    /// calls there again for what is in flight.
    pub listen: SocketAddr,
    /// The folder with the texts of all runs.
    pub blobs: PathBuf,
    /// Models, tools and the project.
    pub project: Arc<dyn Project>,
    /// A name that no other process has.
    pub process: String,
}

/// Serves until `stop`. `ready` is called when the engine knows this process.
///
/// # Errors
/// The address cannot be used, or the engine does not respond.
pub async fn serve(worker: Worker, ready: impl FnOnce(), stop: CancellationToken) -> Result<(), ClusterFault> {
    let Worker { engine, listen, blobs, project, process } = worker;
    let client = Client::new(&engine.runs)?;
    let host = Arc::new(Host::new(client, Arc::new(BlobFolder::new(&blobs)), project));
    let registry = Registry::new(Arc::clone(&host), process);
    let endpoint = Endpoint::builder()
        .bind(RunObject(Arc::clone(&host)))
        .bind(RunsObject)
        .bind(WorkService(registry))
        .bind(BlobsService(host))
        .build();
    let listener = TcpListener::bind(listen)
        .await
        .map_err(|error| ClusterFault::Machine { what: listen.to_string(), why: error.to_string() })?;
    let served = tokio::spawn({
        let stop = stop.clone();
        async move { HttpServer::new(endpoint).serve_with_cancel(listener, stop.cancelled_owned()).await }
    });
    register(&engine, listen, &stop).await?;
    ready();
    // The engine calls again for what is in flight, so nothing is waited for. A panic of the server ends the process,
    // which is started again.
    tokio::select! {
        () = stop.cancelled() => Ok(()),
        served = served => served.map_err(|error| ClusterFault::Engine(format!("the worker's server ended: {error}"))),
    }
}
