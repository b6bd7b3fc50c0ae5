//! Trust in a project's configuration file, bound to its hash: another word in the file and it is asked again.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

use callsheet_core::spec::BlobId;

use super::Folders;

/// The user's list of trusted project files.
#[derive(Clone, Debug)]
pub struct Trust {
    file: PathBuf,
    hashes: BTreeMap<String, String>,
}

impl Trust {
    /// Reads the list; a missing or damaged one trusts nothing.
    pub fn load(folders: &Folders) -> Self {
        let file = folders.state.join("trust.json");
        let hashes =
            std::fs::read(&file).ok().and_then(|bytes| serde_json::from_slice(&bytes).ok()).unwrap_or_default();
        Self { file, hashes }
    }

    /// Whether this content of this file was trusted.
    pub fn holds(&self, config: &Path, content: &[u8]) -> bool {
        self.hashes.get(&name(config)).is_some_and(|hash| hash == BlobId::of(content).as_str())
    }

    /// Trusts this content.
    ///
    /// # Errors
    /// If the list cannot be written.
    pub fn grant(&mut self, config: &Path, content: &[u8]) -> io::Result<()> {
        self.hashes.insert(name(config), BlobId::of(content).as_str().to_owned());
        self.save()
    }

    /// Takes trust back; true if there was any.
    ///
    /// # Errors
    /// If the list cannot be written.
    pub fn revoke(&mut self, config: &Path) -> io::Result<bool> {
        let was = self.hashes.remove(&name(config)).is_some();
        self.save().map(|()| was)
    }

    fn save(&self) -> io::Result<()> {
        write_json(&self.file, &self.hashes)
    }
}

fn name(config: &Path) -> String {
    config.canonicalize().unwrap_or_else(|_| config.to_path_buf()).display().to_string()
}

fn write_json(file: &Path, value: &BTreeMap<String, String>) -> io::Result<()> {
    if let Some(folder) = file.parent() {
        std::fs::create_dir_all(folder)?;
    }
    let fresh = file.with_extension(format!("json.{}.new", std::process::id()));
    std::fs::write(&fresh, serde_json::to_vec_pretty(value).unwrap_or_default())?;
    std::fs::rename(&fresh, file)
}
