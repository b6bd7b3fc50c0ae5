//! The user's folders, by the XDG rules on every system, or all below `CALLSHEET_HOME`.

use std::path::{Path, PathBuf};

use etcetera::base_strategy::{BaseStrategy, Xdg};

/// Where Callsheet keeps what belongs to the user.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Folders {
    /// `config.toml`, `skills/`, `prompts/`.
    pub config: PathBuf,
    /// Fetched models.
    pub data: PathBuf,
    /// Trust.
    pub state: PathBuf,
}

impl Folders {
    /// From the environment; `None` without a home directory.
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

    /// All below one folder.
    pub fn below(home: &Path) -> Self {
        Self { config: home.to_path_buf(), data: home.join("data"), state: home.join("state") }
    }

    /// The user's configuration file.
    pub fn config_file(&self) -> PathBuf {
        self.config.join("config.toml")
    }

    /// Fetched embedded models.
    pub fn models(&self) -> PathBuf {
        self.data.join("models")
    }
}
