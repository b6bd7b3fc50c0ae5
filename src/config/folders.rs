//! The user's folders, by the XDG rules on every system, or all below `CALLSHEET_HOME`.

use std::path::{Path, PathBuf};

use callsheet_core::nouns::BlobId;
use etcetera::base_strategy::{BaseStrategy, Xdg};

/// The folders with the user's data.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Folders {
    /// The folder with `config.toml`, `skills/` and `prompts/`.
    pub config: PathBuf,
    /// The folder with downloaded models.
    pub data: PathBuf,
    /// The folder with trust and the data of each project: its runs, their answers and its index. Commands must not
    /// write here.
    pub state: PathBuf,
}

impl Folders {
    /// The folders from the environment. `None` without a home directory.
    pub fn from_environment() -> Option<Self> {
        match std::env::var_os("CALLSHEET_HOME") {
            Some(home) if !home.is_empty() => Some(Self::below(Path::new(&home))),
            _ => {
                let xdg = Xdg::new().ok()?;
                let state = xdg.state_dir().unwrap_or_else(|| xdg.data_dir());
                Some(Self {
                    config: xdg.config_dir().join("callsheet"),
                    data: xdg.data_dir().join("callsheet"),
                    state: state.join("callsheet"),
                })
            }
        }
    }

    /// All folders below one folder.
    pub fn below(home: &Path) -> Self {
        let home = std::path::absolute(home).unwrap_or_else(|_| home.to_path_buf());
        Self { config: home.clone(), data: home.join("data"), state: home.join("state") }
    }

    /// The user's configuration file.
    pub fn config_file(&self) -> PathBuf {
        self.config.join("config.toml")
    }

    /// The folder with the store of a project, named by the hash of the project's canonical path.
    pub fn store(&self, project: &Path) -> PathBuf {
        use std::os::unix::ffi::OsStrExt;
        self.state.join("projects").join(BlobId::of(project.as_os_str().as_bytes()).as_str())
    }

    /// The folders that commands must not write to, because their contents determine what is approved.
    pub fn kept(&self) -> [&Path; 2] {
        [&self.state, &self.config]
    }

    /// The folder with the engine of clusters.
    pub fn engine(&self) -> PathBuf {
        self.data.join("engine")
    }

    /// The folder with downloaded embedded models.
    pub fn models(&self) -> PathBuf {
        self.data.join("models")
    }
}
