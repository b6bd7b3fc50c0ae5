//! `worker`: performs the tasks of runs on a cluster with the models and tools of this machine. `cluster dispatch`: folds those
//! runs.

use std::collections::BTreeMap;
use std::fs::{File, TryLockError};
use std::io::Read;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use async_trait::async_trait;
use callsheet_app::Host;
use callsheet_cluster::{
    Checkout, ClusterFault, Offer, Place, Project, ProjectFiles, Serving, Worker, WorkerSlots, WorkerTexts, serve, work,
};
use callsheet_core::nouns::{BlobId, RunId, Settings, Slug};
use callsheet_models::config::{ProcessEnvironment, usable};
use callsheet_runtime::grants::{Grant, GrantedThing};
use callsheet_runtime::paths::{OWN_FOLDER, Workspace, create_private_folder, seen_files};
use callsheet_runtime::ports::{Observer, Store, Unattended};
use callsheet_runtime::services::Services;
use callsheet_runtime::transport_policy::Slots;
use callsheet_runtime::trust::Trusted;
use tokio_util::sync::CancellationToken;

use crate::cli::{Exit, Failure, OpenArgs, WorkerArgs};
use crate::cluster_door::{ClusterDoor, keep_token, opened, worker_access_to};
use crate::config::TokenList;
use crate::models::{Choice, Models, Tape, provider_settings, provider_slots};
use crate::setup::Setup;
use crate::term::Notices;
use crate::wiring::{Parts, services, set_aside_left, without_model};

use super::front::wait_for_signal;
use super::grants;

/// The folder with the texts of all runs, in that of the cluster.
const TEXTS: &str = "texts";

pub(super) fn worker(setup: Setup, arguments: &WorkerArgs) -> Result<Exit, Failure> {
    set_aside_left(&setup, &Notices);
    let process = callsheet_app::new_key()?;
    let folder = setup.cluster_folder();
    let (access, is_here) = worker_access_to(&arguments.at, &folder)?;
    let failed = |fault: ClusterFault| Failure::usage(fault.to_string(), "");
    let slots = WorkerSlots::new(&access, &process).map_err(failed)?;
    let texts = WorkerTexts::default();
    let name = arguments.name.clone().unwrap_or_else(|| process.chars().take(6).collect());
    let named = arguments.store.as_deref().map(opened).transpose()?;
    let (place, bucket, _lock) = if is_here {
        (Place::Here(folder.join(TEXTS)), ClusterDoor::of_project(&folder)?.bucket()?, None)
    } else {
        let (folder, lock) = elsewhere(&setup, arguments)?;
        (Place::Elsewhere(folder), named, Some(lock))
    };
    let offer = offer(&setup, arguments, is_here);
    if !is_here && !offer.commands {
        tell!(
            "note: this machine does not confine commands, so this worker runs none; `{} doctor` says why",
            setup.command
        );
    }
    let worker = Worker {
        access,
        name,
        process,
        offer,
        slots: slots.clone(),
        texts: texts.clone(),
        place,
        bucket,
        project: Arc::new(Workplace { setup, slots: Slots::shared(Arc::new(slots)), texts, models: Mutex::default() }),
    };
    until_stopped(arguments.attached, async |stop| {
        let (name, at) = (worker.name.clone(), worker.access.address.clone());
        let ready = move || tell!("the worker {name} works for {at}");
        work(worker, ready, stop).await
    })
}

/// The folder for what comes from a cluster elsewhere. Each worker has its own, and nobody else for as long as the file is
/// open.
fn elsewhere(setup: &Setup, arguments: &WorkerArgs) -> Result<(PathBuf, File), Failure> {
    let id = BlobId::of(format!("{} {}", arguments.at, arguments.name.as_deref().unwrap_or_default()).as_bytes());
    let folder = setup.project.join(OWN_FOLDER).join("worker").join(id.as_str().get(..16).unwrap_or_default());
    let unusable = |error: std::io::Error| Failure::internal(format!("can't use {}: {error}", folder.display()), "");
    create_private_folder(&folder).map_err(unusable)?;
    let lock = File::create(folder.join("lock")).map_err(unusable)?;
    match lock.try_lock() {
        Ok(()) => Ok((folder, lock)),
        Err(TryLockError::WouldBlock) => Err(Failure::usage(
            "another worker works in this folder",
            "end it, or give this one another name with --name",
        )),
        Err(TryLockError::Error(error)) => Err(unusable(error)),
    }
}

/// What this machine can do, as far as the flags allow it. Changes are made where the cluster is.
fn offer(setup: &Setup, arguments: &WorkerArgs, is_here: bool) -> Offer {
    let usable = usable(&provider_settings(&setup.config), &ProcessEnvironment);
    let is_wanted = |name: &String| arguments.providers.as_ref().is_none_or(|wanted| wanted.contains(name));
    Offer {
        providers: usable.into_iter().filter(is_wanted).collect(),
        tools: arguments.tools.clone(),
        changes: is_here && !arguments.no_changes,
        here: is_here,
        // The dispatcher looks whether the token allows it.
        commands: callsheet_tools::holding().is_whole() || setup.config.flag("tools.contained"),
        at_once: usize::try_from(arguments.at_once).unwrap_or(1).max(1),
    }
}

pub(super) fn dispatcher(setup: Setup) -> Result<Exit, Failure> {
    let folder = setup.cluster_folder();
    let door = ClusterDoor::of_project(&folder)?;
    keep_token(door.token());
    let slots = Slots::new(provider_slots(&setup.config), 1);
    let serving = Serving {
        engine: folder.join("engine"),
        nodes: door.nodes(),
        listen: door.listen(),
        certificate: door.certificate(&folder)?,
        engine_listen: door.engine_listen(),
        engine_certificate: door.engine_certificate(&folder)?,
        token: door.token().to_owned(),
        worker_token: door.worker_token().to_owned(),
        commands_token: door.commands_token().to_owned(),
        clients: Arc::new(TokenList::new(&setup.folders, &setup.project)),
        blobs: folder.join(TEXTS),
        bucket: door.bucket()?,
        slots: slots.clone(),
        project: Arc::new(Workplace { setup, slots, texts: WorkerTexts::default(), models: Mutex::default() }),
    };
    until_stopped(true, async |stop| {
        let ready = move || tell!("the dispatcher serves at {}", door.address());
        serve(serving, ready, stop).await
    })
}

/// Works until a signal, or until the end of standard input if somebody holds its other end.
fn until_stopped<F>(attached: bool, work: impl FnOnce(CancellationToken) -> F) -> Result<Exit, Failure>
where
    F: Future<Output = Result<(), ClusterFault>>,
{
    let stop = CancellationToken::new();
    if attached {
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
        work(stop).await.map_err(|fault| Failure::internal(fault.to_string(), ""))?;
        callsheet_tools::run_command::kill_all();
        Ok(Exit::Complete)
    })
}

/// The project of this machine, with its models.
struct Workplace {
    setup: Setup,
    slots: Slots,
    texts: WorkerTexts,
    /// Models by the name of the model that a run began with. Runs share them.
    models: Mutex<BTreeMap<String, Arc<Models>>>,
}

impl Workplace {
    async fn models(&self, name: &str) -> Result<Arc<Models>, Failure> {
        let lock = || self.models.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = lock().get(name) {
            return Ok(Arc::clone(known));
        }
        let choice = Choice::recorded(name)?;
        let warn = Box::new(|text: &str| tell!("note: {text}"));
        let models = Arc::new(Models::new(&self.setup.config, &choice, Tape::None, warn)?);
        models.connect().await;
        models.check()?;
        Ok(Arc::clone(lock().entry(name.to_owned()).or_insert(models)))
    }

    async fn built(
        &self,
        run: &RunId,
        settings: &Settings,
        store: Arc<dyn Store>,
        checkout: Option<&Checkout>,
    ) -> Result<Services, Failure> {
        let copy = checkout.map(|Checkout { folder, trusted }| Setup {
            project: folder.clone(),
            vouched: Some(Trusted::in_copy(folder, trusted)),
            templates: OnceLock::new(),
            ..self.setup.clone()
        });
        let setup = copy.as_ref().unwrap_or(&self.setup);
        let observer: Arc<dyn Observer> = self.texts.observer(run, Arc::new(Notices));
        let open = OpenArgs::default();
        let Some(name) = &settings.model else {
            return without_model(setup, observer, store, run, settings, &open);
        };
        let models = self.models(name).await?;
        let parts = Parts { store, attendance: Arc::new(Unattended), observer, models, slots: BTreeMap::new(), open };
        Ok(Services { slots: self.slots.clone(), ..services(setup, run, settings, parts)? })
    }
}

#[async_trait]
impl Project for Workplace {
    async fn services(
        &self,
        run: &RunId,
        settings: &Settings,
        store: Arc<dyn Store>,
        checkout: Option<&Checkout>,
    ) -> Result<Services, String> {
        let built = self.built(run, settings, store, checkout).await;
        built.map_err(|failure| format!("{}; {}", failure.what, failure.advice))
    }

    fn files(&self) -> ProjectFiles {
        let root = &self.setup.project;
        ProjectFiles { root: root.clone(), paths: seen_files(root), trusted: self.setup.trusted().below(root) }
    }

    fn grants(&self) -> Result<Vec<Grant>, String> {
        let mut listed = self.setup.grants().all().map_err(|error| grants::unusable(&self.setup, &error).what)?;
        listed.retain(|grant| grant.scope.project.as_ref().is_none_or(|project| *project == self.setup.project));
        Ok(listed)
    }

    fn revoke(&self, number: u32) -> Result<Option<Grant>, String> {
        if !self.grants()?.iter().any(|grant| grant.n == number) {
            return Ok(None);
        }
        self.setup.grants().revoke(number).map_err(|error| grants::unusable(&self.setup, &error).what)
    }

    fn closed_to_commands(&self, workspace: &Workspace, paths: &[PathBuf]) -> Vec<PathBuf> {
        callsheet_tools::closed_to_commands(workspace, paths)
    }

    fn grant(&self, what: GrantedThing, only: Option<(RunId, Slug)>) -> Result<String, String> {
        self.setup.program().grant(what, only).map_err(|refusal| refusal.to_string())
    }
}
