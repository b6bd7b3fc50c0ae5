//! The engine's program: where it is, how it starts, and how the dispatcher makes itself known to it.

use std::fs::File;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

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
/// The name of the only node.
const NODE: &str = "node-1";

/// How long the engine may take to start.
const START: Duration = Duration::from_secs(60);
/// How often a start is looked at.
const LOOK: Duration = Duration::from_millis(50);

/// Where an engine is reached: by files of its folder, which only its user can open.
#[derive(Debug)]
pub struct Sockets {
    /// A short way to the folder, because the names of sockets have a limit of about a hundred letters.
    way: TempDir,
}

impl Sockets {
    /// The sockets of the engine whose data is in `folder`.
    ///
    /// # Errors
    /// The folder for temporary files cannot be used.
    pub fn of(folder: &Path) -> Result<Self, ClusterFault> {
        let failed = |error: std::io::Error| ClusterFault::Machine {
            what: std::env::temp_dir().display().to_string(),
            why: error.to_string(),
        };
        let way = tempfile::Builder::new().prefix("callsheet-").tempdir().map_err(failed)?;
        std::os::unix::fs::symlink(folder.join(DATA).join(NODE), way.path().join("engine")).map_err(failed)?;
        Ok(Self { way })
    }

    /// For runs: where the dispatcher calls.
    pub(crate) fn runs(&self) -> Result<Client, ClusterFault> {
        Client::at_socket(&self.way.path().join("engine/ingress.sock"))
    }

    /// For the dispatcher to make itself known.
    pub(crate) fn admin(&self) -> Result<Client, ClusterFault> {
        Client::at_socket(&self.way.path().join("engine/admin.sock"))
    }

    /// Whether an engine serves there.
    pub async fn are_served(&self) -> bool {
        let (Ok(runs), Ok(admin)) = (self.runs(), self.admin()) else { return false };
        admin.answers("health").await && runs.answers("restate/health").await
    }
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
}

/// The configuration of an engine on one machine. It opens no port and sends nothing to its maker.
fn configuration() -> String {
    format!(
        "disable-telemetry = true\nlisten-mode = \"unix\"\n\
         advertised-address = \"unix:{DATA}/{NODE}/fabric.sock\"\ncluster-name = \"callsheet\"\nnode-name = \"{NODE}\"\n\
         default-num-partitions = 4\nrocksdb-total-memory-size = \"256.0 MiB\"\nlog-filter = \"warn\"\n\
         log-disable-ansi-codes = true\n[admin]\ndisable-web-ui = true\n"
    )
}

impl Engine {
    /// Starts an engine with its data in `folder`, for the user of this process only. It calls a dispatcher that has the
    /// certificate in the file `trusted`, and trusts no other.
    ///
    /// # Errors
    /// The program does not start, or not in time. Its messages are in `engine.log` in the folder.
    pub async fn start(program: &Path, folder: &Path, trusted: &Path) -> Result<Self, ClusterFault> {
        let machine = |what: &Path, error: &std::io::Error| ClusterFault::Machine {
            what: what.display().to_string(),
            why: error.to_string(),
        };
        let data = folder.join(DATA);
        std::fs::create_dir_all(&data).map_err(|error| machine(&data, &error))?;
        let own = std::os::unix::fs::PermissionsExt::from_mode(0o700);
        std::fs::set_permissions(&data, own).map_err(|error| machine(&data, &error))?;
        let (settings, log) = (folder.join("engine.toml"), folder.join("engine.log"));
        std::fs::write(&settings, configuration()).map_err(|error| machine(&settings, &error))?;
        let words = File::options().create(true).append(true).open(&log).map_err(|error| machine(&log, &error))?;
        // Names of sockets are relative to the folder in which the engine starts.
        let child = Command::new(program)
            .current_dir(folder)
            .env("SSL_CERT_FILE", trusted)
            .env_remove("SSL_CERT_DIR")
            .arg("--no-logo")
            .arg("--config-file")
            .arg(&settings)
            .arg("--base-dir")
            .arg(&data)
            .stdin(Stdio::null())
            .stdout(words.try_clone().map_err(|error| machine(&log, &error))?)
            .stderr(words)
            .spawn()
            .map_err(|error| machine(program, &error))?;
        let (mut engine, sockets) = (Self { child }, Sockets::of(folder)?);
        let begun = tokio::time::Instant::now();
        loop {
            if sockets.are_served().await {
                return Ok(engine);
            }
            if engine.has_ended() || begun.elapsed() > START {
                return Err(ClusterFault::Engine(format!("the engine did not start; {} says why", log.display())));
            }
            tokio::time::sleep(LOOK).await;
        }
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
