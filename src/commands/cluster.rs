//! `cluster`: the engine and a worker on this machine.

use std::fs::File;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use callsheet_cluster::{Addresses, Engine, Installed, LICENCE, installed, is_up};
use serde::{Deserialize, Serialize};

use crate::cli::{ClusterCommand, ClusterUpArgs, Exit, Failure};
use crate::setup::Setup;

use super::front::wait_for_signal;

/// The variable that names the program of the engine.
const PROGRAM: &str = "CALLSHEET_ENGINE";

/// How often the processes are looked at.
const LOOK: Duration = Duration::from_millis(200);

/// The ports of a cluster on this machine. They stay the same, because the engine calls a worker where it was before.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Ports {
    /// For clients.
    runs: u16,
    /// For workers that come.
    admin: u16,
    /// For other nodes of the engine.
    nodes: u16,
    /// For the engine to call the worker.
    worker: u16,
}

pub(super) fn cluster(setup: &Setup, command: &ClusterCommand) -> Result<Exit, Failure> {
    let ClusterCommand::Up(arguments) = command;
    let program = program(setup, arguments)?;
    let folder = setup.cluster_folder();
    std::fs::create_dir_all(&folder).map_err(|error| unusable(&folder, &error))?;
    let ports = ports(&folder, arguments.port)?;
    super::runtime()?.block_on(up(setup, &program, &folder, ports))
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
    match installed(named.as_deref(), &setup.folders.data.join("engine"), path.as_deref()) {
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

/// The ports of this project's cluster. They are chosen once.
fn ports(folder: &Path, runs: Option<u16>) -> Result<Ports, Failure> {
    let file = folder.join("ports.json");
    let known = std::fs::read(&file).ok().and_then(|text| serde_json::from_slice::<Ports>(&text).ok());
    let mut ports = match known {
        Some(known) => known,
        None => {
            let free = || TcpListener::bind((Ipv4Addr::LOCALHOST, 0));
            // All are held until all are chosen, so that they differ.
            let held = [free(), free(), free(), free()];
            let port = |held: &std::io::Result<TcpListener>| -> Result<u16, Failure> {
                let address = held.as_ref().ok().and_then(|held| held.local_addr().ok());
                let none = || Failure::internal("this machine has no free port", "end some programs");
                address.map(|address| address.port()).ok_or_else(none)
            };
            let [runs, admin, nodes, worker] = [port(&held[0])?, port(&held[1])?, port(&held[2])?, port(&held[3])?];
            Ports { runs, admin, nodes, worker }
        }
    };
    ports.runs = runs.unwrap_or(ports.runs);
    let text = serde_json::to_string(&ports).unwrap_or_default();
    std::fs::write(&file, text).map_err(|error| unusable(&file, &error))?;
    Ok(ports)
}

/// A worker process, which ends with this one.
struct WorkerProcess {
    child: Child,
}

impl WorkerProcess {
    fn start(setup: &Setup, folder: &Path, addresses: &Addresses, listen: SocketAddr) -> Result<Self, Failure> {
        let file = folder.join("worker.log");
        let log = File::options().create(true).append(true).open(&file).map_err(|error| unusable(&file, &error))?;
        let failed = |error: std::io::Error| Failure::internal(format!("can't start a worker: {error}"), "");
        let child = Command::new(std::env::current_exe().map_err(failed)?)
            .arg("-C")
            .arg(&setup.project)
            .args(["worker", "--engine", &addresses.runs, "--admin", &addresses.admin])
            .args(["--listen", &listen.to_string(), "--attached"])
            .stdin(Stdio::piped())
            .stdout(log.try_clone().map_err(failed)?)
            .stderr(log)
            .spawn()
            .map_err(failed)?;
        Ok(Self { child })
    }

    fn has_ended(&mut self) -> bool {
        !matches!(self.child.try_wait(), Ok(None))
    }
}

impl Drop for WorkerProcess {
    fn drop(&mut self) {
        // The end of its standard input ends it.
        self.child.stdin = None;
        let _ended = self.child.wait();
    }
}

/// Runs until a signal. An engine or a worker that ends is started again.
async fn up(setup: &Setup, program: &Path, folder: &Path, ports: Ports) -> Result<Exit, Failure> {
    let at = |port: u16| format!("http://127.0.0.1:{port}");
    let addresses = Addresses { runs: at(ports.runs), admin: at(ports.admin) };
    if is_up(&addresses).await {
        return Err(Failure::usage(
            format!("the cluster of this project is up already: {}", addresses.runs),
            "or its engine was left by a process that was killed; then end the process restate-server",
        ));
    }
    let (start, listen) =
        ([ports.runs, ports.admin, ports.nodes], SocketAddr::from((Ipv4Addr::LOCALHOST, ports.worker)));
    let failed = |fault: callsheet_cluster::ClusterFault| Failure::internal(fault.to_string(), "");
    let mut engine = Engine::start(program, &folder.join("engine"), start).await.map_err(failed)?;
    let mut worker = WorkerProcess::start(setup, folder, &addresses, listen)?;
    let mut signal = std::pin::pin!(wait_for_signal());
    tokio::select! {
        _ = &mut signal => return Ok(Exit::Cancelled),
        registered = until_registered(&addresses, &mut worker, folder) => registered?,
    }
    if setup.json {
        let pids = (engine.pid(), worker.child.id());
        super::print_json(&serde_json::json!({ "on": addresses.runs, "engine": pids.0, "worker": pids.1 }))?;
    } else {
        tell!("The cluster is up, for this machine only, until you press Ctrl-C:");
        super::print(&format!("{}\n", addresses.runs))?;
        tell!("Next: {} --on {} run \"…\"", setup.command, addresses.runs);
        tell!("Its data and the messages of its processes are in {}", folder.display());
    }
    loop {
        tokio::select! {
            _ = &mut signal => break,
            () = tokio::time::sleep(LOOK) => {}
        }
        if engine.has_ended() {
            tell!("the engine ended; starting it again");
            match Engine::start(program, &folder.join("engine"), start).await {
                Ok(started) => engine = started,
                Err(fault) => tell!("{fault}"),
            }
        }
        if worker.has_ended() {
            tell!("the worker ended; starting it again");
            match WorkerProcess::start(setup, folder, &addresses, listen) {
                Ok(started) => worker = started,
                Err(failure) => tell!("{}", failure.what),
            }
        }
    }
    drop(worker);
    drop(engine);
    Ok(Exit::Complete)
}

/// Waits until the list of runs can be read.
async fn until_registered(addresses: &Addresses, worker: &mut WorkerProcess, folder: &Path) -> Result<(), Failure> {
    let address = addresses.runs.clone();
    loop {
        let address = address.clone();
        let read = tokio::task::spawn_blocking(move || {
            use callsheet_runtime::ports::Store;
            callsheet_cluster::RemoteStore::new(&address).is_ok_and(|store| store.runs().is_ok())
        });
        if read.await.unwrap_or(false) {
            return Ok(());
        }
        if worker.has_ended() {
            let log = folder.join("worker.log");
            return Err(Failure::internal("the worker did not start", format!("{} says why", log.display())));
        }
        tokio::time::sleep(LOOK).await;
    }
}
