//! `worker`: performs the tasks of runs on a cluster with the models and tools of this machine.

use std::collections::BTreeMap;
use std::io::Read;
use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;
use callsheet_cluster::{Addresses, Project, Worker, serve};
use callsheet_core::nouns::{RunId, Settings};
use callsheet_runtime::ports::{Observer, Store, Unattended};
use callsheet_runtime::services::Services;
use callsheet_runtime::transport_policy::Slots;
use tokio_util::sync::CancellationToken;

use crate::cli::{Exit, Failure, OpenArgs, WorkerArgs};
use crate::models::{Choice, Models, Tape};
use crate::setup::Setup;
use crate::term::Notices;
use crate::wiring::{Parts, services, set_aside_left, without_model};

use super::front::wait_for_signal;

pub(super) fn worker(setup: Setup, arguments: &WorkerArgs) -> Result<Exit, Failure> {
    set_aside_left(&setup, &Notices);
    let process = callsheet_app::new_key()?;
    let stop = CancellationToken::new();
    let worker = Worker {
        engine: Addresses { runs: arguments.engine.clone(), admin: arguments.admin.clone() },
        listen: arguments.listen,
        blobs: setup.cluster_folder().join("texts"),
        project: Arc::new(Workplace { setup, models: Mutex::default() }),
        process,
    };
    if arguments.attached {
        let stop = stop.clone();
        std::thread::spawn(move || {
            // Whoever started this process is gone when its end of the pipe is.
            let _ended = std::io::stdin().lock().read_to_end(&mut Vec::new());
            stop.cancel();
        });
    }
    super::runtime()?.block_on(async {
        let signalled = stop.clone();
        tokio::spawn(async move {
            wait_for_signal().await;
            signalled.cancel();
        });
        let listen = worker.listen;
        let ready = move || tell!("the worker serves at {listen}");
        serve(worker, ready, stop).await.map_err(|fault| Failure::internal(fault.to_string(), ""))?;
        callsheet_tools::run_command::kill_all();
        Ok(Exit::Complete)
    })
}

/// The project of this machine, with its models.
struct Workplace {
    setup: Setup,
    /// Models and their slots by the name of the model that a run began with. Runs share them.
    models: Mutex<BTreeMap<String, (Arc<Models>, Slots)>>,
}

impl Workplace {
    async fn models(&self, name: &str) -> Result<(Arc<Models>, Slots), Failure> {
        let lock = || self.models.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = lock().get(name) {
            return Ok(known.clone());
        }
        let choice = Choice::recorded(name)?;
        let warn = Box::new(|text: &str| tell!("note: {text}"));
        let models = Arc::new(Models::new(&self.setup.config, &choice, Tape::None, warn)?);
        models.connect().await;
        models.check()?;
        let slots = Slots::new(models.slots(&choice), 1);
        Ok(lock().entry(name.to_owned()).or_insert((models, slots)).clone())
    }

    async fn built(&self, run: &RunId, settings: &Settings, store: Arc<dyn Store>) -> Result<Services, Failure> {
        let observer: Arc<dyn Observer> = Arc::new(Notices);
        let open = OpenArgs::default();
        let Some(name) = &settings.model else {
            return without_model(&self.setup, observer, store, run, settings, &open);
        };
        let (models, slots) = self.models(name).await?;
        let parts = Parts { store, attendance: Arc::new(Unattended), observer, models, slots: BTreeMap::new(), open };
        Ok(Services { slots, ..services(&self.setup, run, settings, parts)? })
    }
}

#[async_trait]
impl Project for Workplace {
    async fn services(&self, run: &RunId, settings: &Settings, store: Arc<dyn Store>) -> Result<Services, String> {
        self.built(run, settings, store).await.map_err(|failure| format!("{}; {}", failure.what, failure.advice))
    }
}
