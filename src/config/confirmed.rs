//! Tools of servers that the user confirmed, each exactly as the server declared it (spec 13.3): a file in their state
//! folder, which no command and no project can write.

use std::io;
use std::path::{Path, PathBuf};

use callsheet_mcp::DeclaredTool;
use callsheet_runtime::paths::{create_private_folder, private};
use serde::{Deserialize, Serialize};

use super::Folders;

/// The confirmed tools of one server.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct ConfirmedServer {
    server: String,
    /// The project whose file names the server. `None` means the user's own configuration.
    project: Option<PathBuf>,
    tools: Vec<DeclaredTool>,
}

/// The user's list.
#[derive(Clone, Debug)]
pub struct ConfirmedTools {
    file: PathBuf,
}

impl ConfirmedTools {
    /// The list of this user.
    pub fn new(folders: &Folders) -> Self {
        Self { file: folders.state.join("tools.json") }
    }

    /// The confirmed tools of a server.
    ///
    /// # Errors
    /// The file cannot be read, or is damaged.
    pub fn of(&self, server: &str, project: Option<&Path>) -> io::Result<Vec<DeclaredTool>> {
        let is_it = |known: &ConfirmedServer| known.server == server && known.project.as_deref() == project;
        Ok(self.all()?.into_iter().find(is_it).map(|known| known.tools).unwrap_or_default())
    }

    /// Confirms exactly these tools of a server.
    ///
    /// # Errors
    /// The file cannot be read or written.
    pub fn set(&self, server: &str, project: Option<&Path>, tools: Vec<DeclaredTool>) -> io::Result<()> {
        let folder = self.file.parent().unwrap_or(Path::new("."));
        create_private_folder(folder)?;
        let lock = private().create(true).append(true).open(self.file.with_extension("lock"))?;
        lock.lock()?;
        let mut all = self.all()?;
        all.retain(|known| known.server != server || known.project.as_deref() != project);
        if !tools.is_empty() {
            all.push(ConfirmedServer { server: server.to_owned(), project: project.map(Path::to_path_buf), tools });
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
