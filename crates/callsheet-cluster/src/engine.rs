//! The engine's program: where it is, how it starts, and how the dispatcher makes itself known to it.

use std::fs::File;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::json;
use tempfile::TempDir;
use tokio_util::sync::CancellationToken;

use crate::client::Client;
use crate::fault::ClusterFault;

/// The version of the engine that this build is tested with.
const VERSION: &str = "1.7";

/// The licence of the engine, in one sentence for a person who is about to install it.
pub const LICENCE: &str = "Restate has the Business Source License 1.1 (Restate Software, Inc.): you may run it in production and change \
     it, but not offer Restate itself to others as a managed service; each version becomes Apache-2.0 four years after its release";

/// The folder of the engine's data, inside of its own.
const DATA: &str = "data";

/// How long the engine may take to start.
const START: Duration = Duration::from_secs(60);
/// How long after its start a node that has ended is started again, at the earliest.
const REVIVE: Duration = Duration::from_secs(1);
/// How often a start is looked at.
const LOOK: Duration = Duration::from_millis(50);

/// Where an engine is reached: by files of its folder, which only its user can open.
#[derive(Debug)]
pub struct Sockets {
    /// A short way to the data, because the names of sockets have a limit of about a hundred letters.
    way: TempDir,
    nodes: u32,
}

impl Sockets {
    /// The sockets of the nodes of an engine whose data is in `folder`.
    ///
    /// # Errors
    /// The folder for temporary files cannot be used.
    pub fn of(folder: &Path, nodes: u32) -> Result<Self, ClusterFault> {
        let failed = |error: std::io::Error| machine(&std::env::temp_dir(), &error);
        let way = tempfile::Builder::new().prefix("callsheet-").tempdir().map_err(failed)?;
        std::os::unix::fs::symlink(folder.join(DATA), way.path().join(DATA)).map_err(failed)?;
        Ok(Self { way, nodes })
    }

    /// For runs: where the dispatcher calls. Any node answers.
    pub(crate) fn runs(&self) -> Result<Client, ClusterFault> {
        Client::at_sockets(self.all("ingress.sock"))
    }

    /// For the dispatcher to make itself known.
    pub(crate) fn admin(&self) -> Result<Client, ClusterFault> {
        Client::at_sockets(self.all("admin.sock"))
    }

    fn all(&self, name: &str) -> impl Iterator<Item = PathBuf> {
        (1..=self.nodes).map(move |number| self.one(number, name))
    }

    fn one(&self, number: u32, name: &str) -> PathBuf {
        self.way.path().join(DATA).join(node_name(number)).join(name)
    }

    /// Whether a node serves there.
    pub async fn are_served(&self) -> bool {
        for number in 1..=self.nodes {
            if self.is_served(number).await {
                return true;
            }
        }
        false
    }

    async fn is_served(&self, number: u32) -> bool {
        let client = |name: &str| Client::at_sockets([self.one(number, name)]);
        let (Ok(runs), Ok(admin)) = (client("ingress.sock"), client("admin.sock")) else { return false };
        admin.answers("health").await && runs.answers("restate/health").await
    }
}

fn node_name(number: u32) -> String {
    format!("node-{number}")
}

fn machine(what: &Path, error: &std::io::Error) -> ClusterFault {
    ClusterFault::Machine { what: what.display().to_string(), why: error.to_string() }
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
    program: PathBuf,
    folder: PathBuf,
    /// The file with the certificate of the dispatcher.
    trusted: PathBuf,
    nodes: Vec<Node>,
}

/// A process of the engine.
#[derive(Debug)]
struct Node {
    child: Child,
    since: Instant,
}

/// The configuration of a node on this machine. It opens no port and sends nothing to its maker.
fn configuration(number: u32, nodes: u32) -> String {
    let (name, socket) = (node_name(number), |number| format!("unix:{DATA}/{}/fabric.sock", node_name(number)));
    let mut text = format!(
        "disable-telemetry = true\nlisten-mode = \"unix\"\nadvertised-address = \"{}\"\ncluster-name = \"callsheet\"\n\
         node-name = \"{name}\"\ndefault-num-partitions = 4\nrocksdb-total-memory-size = \"256.0 MiB\"\nlog-filter = \"warn\"\n\
         log-disable-ansi-codes = true\n",
        socket(number)
    );
    if nodes > 1 {
        // Each entry is on the disks of two nodes before it counts, so the loss of one loses nothing.
        let addresses: Vec<String> = (1..=nodes).map(|number| format!("\"{}\"", socket(number))).collect();
        text += &format!(
            "auto-provision = {}\ndefault-replication = 2\n\
             roles = [\"metadata-server\", \"worker\", \"log-server\", \"admin\", \"http-ingress\"]\n\
             [metadata-server]\ntype = \"replicated\"\n[metadata-client]\ntype = \"replicated\"\naddresses = [{}]\n\
             [bifrost]\ndefault-provider = \"replicated\"\n",
            number == 1,
            addresses.join(", ")
        );
    }
    text + "[admin]\ndisable-web-ui = true\n"
}

impl Engine {
    /// Starts an engine of so many nodes with its data in `folder`, for the user of this process only. It calls a dispatcher
    /// that has the certificate in the file `trusted`, and trusts no other.
    ///
    /// # Errors
    /// The program does not start, or not in time. Its messages are in `engine-1.log` in the folder, and so on.
    pub async fn start(program: &Path, folder: &Path, trusted: &Path, nodes: u32) -> Result<Self, ClusterFault> {
        let data = folder.join(DATA);
        std::fs::create_dir_all(&data).map_err(|error| machine(&data, &error))?;
        let own = std::os::unix::fs::PermissionsExt::from_mode(0o700);
        std::fs::set_permissions(&data, own).map_err(|error| machine(&data, &error))?;
        let (program, trusted) = (program.to_owned(), trusted.to_owned());
        let mut engine = Self { program, folder: folder.to_owned(), trusted, nodes: Vec::new() };
        for number in 1..=nodes {
            engine.nodes.push(engine.spawn(number, nodes)?);
        }
        let (sockets, begun) = (Sockets::of(folder, nodes)?, Instant::now());
        for number in 1..=nodes {
            while !sockets.is_served(number).await {
                let has_ended = engine.nodes.iter_mut().any(Node::has_ended);
                if has_ended || begun.elapsed() > START {
                    let log = folder.join(format!("engine-{number}.log"));
                    return Err(ClusterFault::Engine(format!("the engine did not start; {} says why", log.display())));
                }
                tokio::time::sleep(LOOK).await;
            }
        }
        Ok(engine)
    }

    fn spawn(&self, number: u32, nodes: u32) -> Result<Node, ClusterFault> {
        let (settings, log) =
            (self.folder.join(format!("engine-{number}.toml")), self.folder.join(format!("engine-{number}.log")));
        std::fs::write(&settings, configuration(number, nodes)).map_err(|error| machine(&settings, &error))?;
        let words = File::options().create(true).append(true).open(&log).map_err(|error| machine(&log, &error))?;
        // Names of sockets are relative to the folder in which the engine starts.
        let child = Command::new(&self.program)
            .current_dir(&self.folder)
            .env("SSL_CERT_FILE", &self.trusted)
            .env_remove("SSL_CERT_DIR")
            .arg("--no-logo")
            .arg("--config-file")
            .arg(&settings)
            .arg("--base-dir")
            .arg(self.folder.join(DATA))
            .stdin(Stdio::null())
            .stdout(words.try_clone().map_err(|error| machine(&log, &error))?)
            .stderr(words)
            .spawn()
            .map_err(|error| machine(&self.program, &error))?;
        Ok(Node { child, since: Instant::now() })
    }

    /// The ids of its processes.
    pub fn pids(&self) -> Vec<u32> {
        self.nodes.iter().map(|node| node.child.id()).collect()
    }

    /// Starts nodes again that have ended. Returns what is to be told of that.
    pub fn revive(&mut self) -> Vec<String> {
        let mut told = Vec::new();
        let mut nodes = std::mem::take(&mut self.nodes);
        let count = u32::try_from(nodes.len()).unwrap_or(u32::MAX);
        for (number, node) in (1..).zip(&mut nodes) {
            if node.since.elapsed() < REVIVE || !node.has_ended() {
                continue;
            }
            node.since = Instant::now();
            let which = if count == 1 { "the engine".to_owned() } else { format!("node {number} of the engine") };
            told.push(format!("{which} ended; starting it again"));
            match self.spawn(number, count) {
                Ok(started) => *node = started,
                Err(fault) => told.push(fault.to_string()),
            }
        }
        self.nodes = nodes;
        told
    }
}

impl Node {
    fn has_ended(&mut self) -> bool {
        !matches!(self.child.try_wait(), Ok(None))
    }
}

impl Drop for Node {
    /// Everything that it confirmed is on disk, so it may be killed.
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ended = self.child.kill().and_then(|()| self.child.wait());
    }
}

/// Makes the dispatcher known to the engine, until it succeeds, is refused, or `stop` comes. The engine shows the token with
/// each call.
pub(crate) async fn register(
    engine: &Sockets,
    host: SocketAddr,
    token: &str,
    stop: &CancellationToken,
) -> Result<(), ClusterFault> {
    let client = engine.admin()?;
    let headers = json!({ "authorization": format!("Bearer {token}") });
    let body = json!({ "uri": format!("https://{host}/"), "force": true, "additional_headers": headers });
    let begun = tokio::time::Instant::now();
    loop {
        match client.call::<serde_json::Value>("deployments", &body).await {
            Ok(_) => return Ok(()),
            Err(fault) if begun.elapsed() > START || stop.is_cancelled() => return Err(fault),
            Err(fault) => tracing::debug!(%fault, "the dispatcher is not registered yet"),
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
