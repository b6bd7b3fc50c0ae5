//! The engine's program: where it is, how it starts, and how workers make themselves known to it.

use std::fs::File;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use serde_json::json;
use tokio_util::sync::CancellationToken;

use crate::client::Client;
use crate::fault::ClusterFault;

/// The version of the engine that this build is tested with.
const VERSION: &str = "1.7";

/// The licence of the engine, in one sentence for a person who is about to install it.
pub const LICENCE: &str = "Restate has the Business Source License 1.1 (Restate Software, Inc.): you may run it in production and change \
     it, but not offer Restate itself to others as a managed service; each version becomes Apache-2.0 four years after its release";

/// How long the engine may take to start.
const START: Duration = Duration::from_secs(60);
/// How often a start is looked at.
const LOOK: Duration = Duration::from_millis(50);

/// Where an engine is reached.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Addresses {
    /// For runs: where clients and workers call.
    pub runs: String,
    /// For workers to make themselves known.
    pub admin: String,
}

/// Whether the engine is installed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Installed {
    /// Its program.
    Found(PathBuf),
    /// It is missing. This command installs it.
    Missing {
        /// A command for a shell.
        command: String,
    },
}

/// Looks for the engine: the program that was named, the folder that the command of [`Installed::Missing`] fills, and
/// the folders of `path`, in this order.
pub fn installed(named: Option<&Path>, folder: &Path, path: Option<&std::ffi::OsStr>) -> Installed {
    let (system, machine) = (std::env::consts::OS, std::env::consts::ARCH);
    let system = if system == "macos" { "darwin" } else { system };
    let machine = if machine == "x86_64" { "x64" } else { "arm64" };
    let package = format!("@restatedev/restate-server-{system}-{machine}");
    let inside = format!("node_modules/{package}/bin/restate-server");
    let in_path = path.into_iter().flat_map(std::env::split_paths).map(|folder| folder.join("restate-server"));
    let places = named.map(Path::to_owned).into_iter().chain([folder.join(inside)]).chain(in_path);
    match places.into_iter().find(|place| place.is_file()) {
        Some(program) => Installed::Found(program),
        None => {
            Installed::Missing { command: format!("npm install --prefix '{}' {package}@{VERSION}", folder.display()) }
        }
    }
}

/// A running engine that this process started.
#[derive(Debug)]
pub struct Engine {
    child: Child,
    addresses: Addresses,
}

/// The configuration of an engine on one machine. It listens only there and sends nothing to its maker.
fn configuration(ports: [u16; 3]) -> String {
    let [runs, admin, nodes] = ports;
    format!(
        "disable-telemetry = true\nlisten-mode = \"tcp\"\nbind-ip = \"127.0.0.1\"\nbind-port = {nodes}\n\
         cluster-name = \"callsheet\"\nnode-name = \"node-1\"\ndefault-num-partitions = 4\n\
         rocksdb-total-memory-size = \"256.0 MiB\"\nlog-filter = \"warn\"\nlog-disable-ansi-codes = true\n\
         [ingress]\nbind-port = {runs}\n[admin]\nbind-port = {admin}\ndisable-web-ui = true\n"
    )
}

impl Engine {
    /// Starts an engine with its data in `folder`, on ports of this machine: for runs, for workers, and for other nodes.
    ///
    /// # Errors
    /// The program does not start, or not in time. Its messages are in `engine.log` in the folder.
    pub async fn start(program: &Path, folder: &Path, ports: [u16; 3]) -> Result<Self, ClusterFault> {
        let machine = |what: &Path, error: &std::io::Error| ClusterFault::Machine {
            what: what.display().to_string(),
            why: error.to_string(),
        };
        std::fs::create_dir_all(folder).map_err(|error| machine(folder, &error))?;
        let (settings, log) = (folder.join("engine.toml"), folder.join("engine.log"));
        std::fs::write(&settings, configuration(ports)).map_err(|error| machine(&settings, &error))?;
        let words = File::options().create(true).append(true).open(&log).map_err(|error| machine(&log, &error))?;
        let child = Command::new(program)
            .arg("--no-logo")
            .arg("--config-file")
            .arg(&settings)
            .arg("--base-dir")
            .arg(folder.join("data"))
            .stdin(Stdio::null())
            .stdout(words.try_clone().map_err(|error| machine(&log, &error))?)
            .stderr(words)
            .spawn()
            .map_err(|error| machine(program, &error))?;
        let at = |port: u16| format!("http://127.0.0.1:{port}");
        let mut engine = Self { child, addresses: Addresses { runs: at(ports[0]), admin: at(ports[1]) } };
        let begun = tokio::time::Instant::now();
        loop {
            if is_up(&engine.addresses).await {
                return Ok(engine);
            }
            if engine.has_ended() || begun.elapsed() > START {
                return Err(ClusterFault::Engine(format!("the engine did not start; {} says why", log.display())));
            }
            tokio::time::sleep(LOOK).await;
        }
    }

    /// Where it is reached.
    pub fn addresses(&self) -> &Addresses {
        &self.addresses
    }

    /// The id of its process.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Whether its process has ended.
    pub fn has_ended(&mut self) -> bool {
        !matches!(self.child.try_wait(), Ok(None))
    }
}

impl Drop for Engine {
    /// Everything that it confirmed is on disk, so it may be killed.
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ended = self.child.kill().and_then(|()| self.child.wait());
    }
}

/// Whether an engine serves at these addresses.
pub async fn is_up(addresses: &Addresses) -> bool {
    let answers = async |address: &str, path: &str| {
        let Ok(client) = Client::new(address) else { return false };
        client.answers(path).await
    };
    answers(&addresses.admin, "health").await && answers(&addresses.runs, "restate/health").await
}

/// Makes a worker known to the engine, until it succeeds, is refused, or `stop` comes.
pub(crate) async fn register(
    engine: &Addresses,
    worker: SocketAddr,
    stop: &CancellationToken,
) -> Result<(), ClusterFault> {
    let client = Client::new(&engine.admin)?;
    let body = json!({ "uri": format!("http://{worker}/"), "force": true });
    let begun = tokio::time::Instant::now();
    loop {
        match client.call::<serde_json::Value>("deployments", &body).await {
            Ok(_) => return Ok(()),
            Err(fault) if begun.elapsed() > START || stop.is_cancelled() => return Err(fault),
            Err(fault) => tracing::debug!(%fault, "the worker is not registered yet"),
        }
        tokio::select! {
            () = tokio::time::sleep(LOOK) => {}
            () = stop.cancelled() => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// covers: 15.7
    #[test]
    fn the_engine_is_found_where_the_command_installs_it_and_where_it_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let Installed::Missing { command } = installed(None, folder.path(), None) else { panic!("nothing is there") };
        let package = command.split_whitespace().last().unwrap().strip_suffix("@1.7").unwrap();
        let program = folder.path().join("node_modules").join(package).join("bin/restate-server");
        std::fs::create_dir_all(program.parent().unwrap()).unwrap();
        std::fs::write(&program, "").unwrap();
        assert_eq!(installed(None, folder.path(), None), Installed::Found(program));
        let named = folder.path().join("other");
        std::fs::write(&named, "").unwrap();
        assert_eq!(installed(Some(&named), folder.path(), None), Installed::Found(named));
    }
}
