//! `cluster`: the engine, the dispatcher and workers on this machine.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use callsheet_cluster::{ClusterFault, Engine, Installed, LICENCE, RemoteStore, Sockets, WorkerView, installed};
use callsheet_runtime::ports::Store;

use crate::cli::{ClusterCommand, ClusterUpArgs, Exit, Failure};
use crate::cluster_door::{CERTIFICATE, ClusterDoor, TOKEN, engine_certificate};
use crate::setup::{Setup, store_failure};

use super::front::wait_for_signal;

/// The variable that names the program of the engine.
const PROGRAM: &str = "CALLSHEET_ENGINE";

/// How often the processes are looked at.
const LOOK: Duration = Duration::from_millis(200);

pub(super) fn cluster(setup: Setup, command: &ClusterCommand) -> Result<Exit, Failure> {
    match command {
        ClusterCommand::Up(arguments) => start(&setup, arguments),
        ClusterCommand::Workers => workers(&setup),
        ClusterCommand::Token { .. } if setup.on.is_some() => Err(Failure::usage(
            "the token is not sent to anybody",
            "print it in the project of the cluster, without --on",
        )),
        ClusterCommand::Token { commands } => {
            let door = ClusterDoor::of_project(&setup.cluster_folder())?;
            let token = if *commands { door.commands_token() } else { door.worker_token() };
            super::print(&format!("{token}\n"))?;
            Ok(Exit::Complete)
        }
        ClusterCommand::Dispatch => super::worker::dispatcher(setup),
    }
}

/// Lists the workers.
fn workers(setup: &Setup) -> Result<Exit, Failure> {
    let failed = |fault: ClusterFault| store_failure(fault.into());
    let workers = match &setup.on {
        Some(on) => on.workers(),
        None => {
            let folder = setup.cluster_folder();
            let access = ClusterDoor::of_project(&folder)?.access(&folder)?;
            RemoteStore::new(&access).and_then(|own| own.workers())
        }
    };
    for worker in workers.map_err(failed)? {
        if setup.json {
            super::print_json(&serde_json::to_value(worker).unwrap_or_default())?;
            continue;
        }
        let WorkerView { name, offer, doing, done } = worker;
        let tools = offer.tools.map_or_else(|| "all tools".to_owned(), |tools| format!("tools {}", tools.join(", ")));
        let changes = match (offer.here, offer.changes, offer.commands) {
            (true, true, _) => "changes",
            (true, false, _) => "no changes",
            (false, _, true) => "elsewhere, with commands",
            (false, _, false) => "elsewhere",
        };
        let providers = offer.providers.join(", ");
        super::print(&format!(
            "{name}  {doing} of {} at once, {done} done; {tools}; {changes}; {providers}\n",
            offer.at_once
        ))?;
    }
    Ok(Exit::Complete)
}

fn start(setup: &Setup, arguments: &ClusterUpArgs) -> Result<Exit, Failure> {
    let program = program(setup, arguments)?;
    let folder = setup.cluster_folder();
    std::fs::create_dir_all(&folder).map_err(|error| unusable(&folder, &error))?;
    super::runtime()?.block_on(async {
        refuse_second(&folder).await?;
        let door = ClusterDoor::make(&folder, arguments)?;
        let cluster = Cluster { setup, program: &program, folder: &folder, door: &door, workers: arguments.workers };
        cluster.up().await
    })
}

/// The folder of the engine, in that of the cluster.
fn engine_folder(folder: &Path) -> PathBuf {
    folder.join("engine")
}

/// Refuses to start a cluster that is up, before anything of it is written.
async fn refuse_second(folder: &Path) -> Result<(), Failure> {
    let Some(door) = ClusterDoor::read(folder) else { return Ok(()) };
    let sockets = Sockets::of(&engine_folder(folder), door.nodes());
    if sockets.map_err(|fault| Failure::internal(fault.to_string(), ""))?.are_served().await {
        return Err(Failure::usage(
            format!("the cluster of this project is up already: {}", door.address()),
            "or its engine was left by a process that was killed; then end the process restate-server",
        ));
    }
    Ok(())
}

/// The engine's program, or how to get it.
fn program(setup: &Setup, arguments: &ClusterUpArgs) -> Result<PathBuf, Failure> {
    let variable = std::env::var_os(PROGRAM).map(PathBuf::from);
    let named = arguments.engine.clone().or(variable);
    if let Some(named) = named.as_deref().filter(|named| !named.is_file()) {
        let what = format!("there is no engine at {}", named.display());
        return Err(Failure::usage(what, format!("name the program restate-server with --engine or {PROGRAM}")));
    }
    let path = std::env::var_os("PATH");
    match installed(named.as_deref(), &setup.folders.engine(), path.as_deref()) {
        Installed::Found(program) => Ok(program),
        Installed::Missing { command } => Err(Failure::internal(
            "the engine of clusters, Restate, is not installed",
            format!("install it: {command}\n{LICENCE}"),
        )),
    }
}

fn unusable(what: &Path, error: &std::io::Error) -> Failure {
    Failure::internal(format!("can't use {}: {error}", what.display()), "")
}

/// A process of this program, which ends with this one.
struct Part {
    name: String,
    words: Vec<String>,
    child: Child,
}

impl Part {
    fn start(cluster: &Cluster<'_>, name: &str, words: &[&str]) -> Result<Self, Failure> {
        let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
        let child = spawn(cluster, name, &words)?;
        Ok(Self { name: name.to_owned(), words, child })
    }

    fn has_ended(&mut self) -> bool {
        !matches!(self.child.try_wait(), Ok(None))
    }

    /// Starts it again if it has ended.
    fn revive(&mut self, cluster: &Cluster<'_>) {
        if self.has_ended() {
            tell!("the {} ended; starting it again", self.name);
            match spawn(cluster, &self.name, &self.words) {
                Ok(child) => self.child = child,
                Err(failure) => tell!("{}", failure.what),
            }
        }
    }
}

fn spawn(cluster: &Cluster<'_>, name: &str, words: &[String]) -> Result<Child, Failure> {
    let file = cluster.folder.join(format!("{}.log", name.replace(' ', "-")));
    let log = File::options().create(true).append(true).open(&file).map_err(|error| unusable(&file, &error))?;
    let failed = |error: std::io::Error| Failure::internal(format!("can't start the {name}: {error}"), "");
    Command::new(std::env::current_exe().map_err(failed)?)
        .arg("-C")
        .arg(&cluster.setup.project)
        .args(words)
        // They know this cluster by its folder, whatever this process was told of another one.
        .env_remove(TOKEN)
        .env_remove(CERTIFICATE)
        .stdin(Stdio::piped())
        .stdout(log.try_clone().map_err(failed)?)
        .stderr(log)
        .spawn()
        .map_err(failed)
}

impl Drop for Part {
    fn drop(&mut self) {
        // The end of its standard input ends it.
        self.child.stdin = None;
        let _ended = self.child.wait();
    }
}

/// What `cluster up` starts.
struct Cluster<'a> {
    setup: &'a Setup,
    program: &'a Path,
    folder: &'a Path,
    door: &'a ClusterDoor,
    workers: u32,
}

impl Cluster<'_> {
    /// Runs until a signal. What ends is started again.
    async fn up(&self) -> Result<Exit, Failure> {
        let failed = |fault: ClusterFault| Failure::internal(fault.to_string(), "");
        let (address, data) = (self.door.address(), engine_folder(self.folder));
        let trusted = engine_certificate(self.folder);
        let mut engine = Engine::start(self.program, &data, &trusted, self.door.nodes()).await.map_err(failed)?;
        let mut dispatcher = Part::start(self, "dispatcher", &["cluster", "dispatch"])?;
        let worker = |n: u32| {
            let name = format!("worker {n}");
            Part::start(self, &name, &["worker", "--at", &address, "--name", &name, "--attached"])
        };
        let mut workers = (1..=self.workers).map(worker).collect::<Result<Vec<Part>, Failure>>()?;
        let mut signal = std::pin::pin!(wait_for_signal());
        tokio::select! {
            _ = &mut signal => return Ok(Exit::Cancelled),
            ready = self.until_ready(&mut dispatcher) => ready?,
        }
        self.announce(&engine, &dispatcher, &workers)?;
        loop {
            tokio::select! {
                _ = &mut signal => break,
                () = tokio::time::sleep(LOOK) => {}
            }
            for words in engine.revive() {
                tell!("{words}");
            }
            dispatcher.revive(self);
            workers.iter_mut().for_each(|worker| worker.revive(self));
        }
        // Workers first, so that each can say that it goes.
        drop(workers);
        drop(dispatcher);
        drop(engine);
        Ok(Exit::Complete)
    }

    fn announce(&self, engine: &Engine, dispatcher: &Part, workers: &[Part]) -> Result<(), Failure> {
        let address = self.door.address();
        let certificate = self.door.certificate(self.folder)?.fingerprint().to_string();
        if self.setup.json {
            let workers: Vec<u32> = workers.iter().map(|worker| worker.child.id()).collect();
            let (engine, dispatcher) = (engine.pids(), dispatcher.child.id());
            let up = serde_json::json!({
                "on": address, "certificate": certificate, "engine": engine, "dispatcher": dispatcher, "workers": workers
            });
            return super::print_json(&up);
        }
        let is_here = self.door.listen().ip().is_loopback();
        let who = if is_here { "on this machine only" } else { "and for whoever has a token of it" };
        tell!("The cluster is up, for you {who}, until you press Ctrl-C:");
        super::print(&format!("{address}\n"))?;
        if !is_here {
            tell!("Elsewhere: {CERTIFICATE}={certificate}");
            let program = &self.setup.command;
            tell!("{TOKEN} for people: {program} serve tokens add; for workers: {program} cluster token");
        }
        tell!("Next: {} --on {address} run \"…\"", self.setup.command);
        tell!("Its data and the messages of its processes are in {}", self.folder.display());
        Ok(())
    }

    /// Waits until the list of runs can be read.
    async fn until_ready(&self, dispatcher: &mut Part) -> Result<(), Failure> {
        loop {
            let access = self.door.access(self.folder)?;
            let read =
                tokio::task::spawn_blocking(move || RemoteStore::new(&access).is_ok_and(|store| store.runs().is_ok()));
            if read.await.unwrap_or(false) {
                return Ok(());
            }
            if dispatcher.has_ended() {
                let log = self.folder.join("dispatcher.log");
                return Err(Failure::internal("the dispatcher did not start", format!("{} says why", log.display())));
            }
            tokio::time::sleep(LOOK).await;
        }
    }
}
