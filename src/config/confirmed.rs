//! Tools of servers that the user confirmed, each exactly as the server declared it, and files of their programs (spec
//! 13.3): a file in their state folder, which no command and no project can write.

use std::io;
use std::path::{Path, PathBuf};

use callsheet_core::nouns::BlobId;
use callsheet_mcp::{DeclaredTool, Files, ServerSettings};
use callsheet_runtime::paths::{create_private_folder, private};
use serde::{Deserialize, Serialize};

use super::Folders;

/// What the user confirmed of one server.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Confirmed {
    /// The files of its program that commands could rewrite.
    pub files: Files,
    /// Whether the server was asked with a login of the user.
    pub login: bool,
    /// Its tools, sorted by name.
    pub tools: Vec<DeclaredTool>,
}

/// An entry of the list.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct ConfirmedServer {
    server: String,
    /// The project whose file names the server. `None` means the user's own configuration.
    project: Option<PathBuf>,
    /// Where the server was. At another place, nothing is confirmed.
    place: BlobId,
    #[serde(flatten)]
    confirmed: Confirmed,
}

/// The user's list.
#[derive(Clone, Debug)]
pub struct ConfirmedTools {
    file: PathBuf,
}

impl ConfirmedServer {
    fn is_of(&self, server: &ServerSettings) -> bool {
        self.server == server.name && self.project == server.project
    }
}

impl ConfirmedTools {
    /// The list of this user.
    pub fn new(folders: &Folders) -> Self {
        Self { file: folders.state.join("tools.json") }
    }

    /// What is confirmed of a server.
    ///
    /// # Errors
    /// The file cannot be read, or is damaged.
    pub fn of(&self, server: &ServerSettings) -> io::Result<Confirmed> {
        let place = server.place();
        let known = self.all()?.into_iter().find(|known| known.is_of(server) && known.place == place);
        Ok(known.map(|known| known.confirmed).unwrap_or_default())
    }

    /// Confirms exactly this of a server.
    ///
    /// # Errors
    /// The file cannot be read or written.
    pub fn set(&self, server: &ServerSettings, confirmed: Confirmed) -> io::Result<()> {
        let folder = self.file.parent().unwrap_or(Path::new("."));
        create_private_folder(folder)?;
        let lock = private().create(true).append(true).open(self.file.with_extension("lock"))?;
        lock.lock()?;
        let mut all = self.all()?;
        all.retain(|known| !known.is_of(server));
        if confirmed != Confirmed::default() {
            let ServerSettings { name, project, .. } = server.clone();
            all.push(ConfirmedServer { server: name, project, place: server.place(), confirmed });
        }
        let mut fresh = tempfile::NamedTempFile::new_in(folder)?;
        io::Write::write_all(&mut fresh, &serde_json::to_vec_pretty(&all)?)?;
        fresh.persist(&self.file)?;
        Ok(())
    }

    fn all(&self) -> io::Result<Vec<ConfirmedServer>> {
        match std::fs::read(&self.file) {
            Ok(bytes) => Ok(serde_json::from_slice(&bytes)?),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
            Err(error) => Err(error),
        }
    }
}
