//! The address and the token of a project's own cluster.

use std::io::Write;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::cli::Failure;

/// The variable with the token of a cluster whose folder is not on this machine.
const TOKEN: &str = "CALLSHEET_CLUSTER_TOKEN";

/// Where everybody calls, and what everybody shows there. Both stay the same, because the engine and workers call the dispatcher
/// where it was before.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ClusterDoor {
    port: u16,
    token: String,
}

impl ClusterDoor {
    /// The door of the cluster in this folder, if one was ever made.
    pub fn read(folder: &Path) -> Option<Self> {
        serde_json::from_slice(&std::fs::read(file(folder)).ok()?).ok()
    }

    /// The same, for a command that needs it.
    ///
    /// # Errors
    /// There is none.
    pub fn of_project(folder: &Path) -> Result<Self, Failure> {
        Self::read(folder)
            .ok_or_else(|| Failure::usage("this project has no cluster", "start one: callsheet cluster up"))
    }

    /// The door of the cluster in this folder. It is made once.
    ///
    /// # Errors
    /// There is no free port, or the folder cannot be written.
    pub fn make(folder: &Path, port: Option<u16>) -> Result<Self, Failure> {
        let mut door = match Self::read(folder) {
            Some(door) => door,
            None => {
                let free = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).and_then(|free| free.local_addr());
                let none = |_| Failure::internal("this machine has no free port", "end some programs");
                let token = callsheet_app::new_key()? + &callsheet_app::new_key()?;
                Self { port: free.map_err(none)?.port(), token }
            }
        };
        door.port = port.unwrap_or(door.port);
        door.write(folder)
            .map_err(|error| Failure::internal(format!("can't write {}: {error}", file(folder).display()), ""))?;
        Ok(door)
    }

    /// Only the user of this process can read the file.
    fn write(&self, folder: &Path) -> std::io::Result<()> {
        let mut temporary = tempfile::NamedTempFile::new_in(folder)?;
        temporary.write_all(&serde_json::to_vec(self)?)?;
        temporary.persist(file(folder))?;
        Ok(())
    }

    /// Where it listens.
    pub fn listen(&self) -> SocketAddr {
        SocketAddr::from((Ipv4Addr::LOCALHOST, self.port))
    }

    /// The address for --on.
    pub fn address(&self) -> String {
        format!("http://{}", self.listen())
    }

    /// The token.
    pub fn token(&self) -> &str {
        &self.token
    }
}

fn file(folder: &Path) -> PathBuf {
    folder.join("door.json")
}

/// The token for the cluster at this address: the one of the environment, or that of the project's own cluster, which is
/// shown nowhere else.
pub fn token_for(address: &str, folder: &Path) -> Option<String> {
    let named = std::env::var(TOKEN).ok().map(|token| token.trim().to_owned()).filter(|token| !token.is_empty());
    let own = || ClusterDoor::read(folder).filter(|door| door.address() == address.trim_end_matches('/'));
    named.or_else(|| own().map(|door| door.token))
}

/// Masks the token in what is shown and recorded, and keeps it from commands.
pub fn keep_token(token: &str) {
    callsheet_runtime::shown::keep_secret([(TOKEN.to_owned(), token.to_owned())]);
    callsheet_runtime::transport_policy::withhold([TOKEN.to_owned()]);
}
