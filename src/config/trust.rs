//! Trust in files of projects, each bound to its hash: another word in a file and it is asked about again.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

use callsheet_core::spec::BlobId;
use callsheet_runtime::trust::{Trusted, file_name as name};

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
        self.trusted().holds(config, content)
    }

    /// What is trusted, for those who read files of a project.
    pub fn trusted(&self) -> Trusted {
        Trusted::only(self.hashes.clone())
    }

    /// Trusts this content.
    ///
    /// # Errors
    /// If the list cannot be written.
    pub fn grant(&mut self, config: &Path, content: &[u8]) -> io::Result<()> {
        self.grant_hash(config, &BlobId::of(content))
    }

    /// Trusts the content that has this hash.
    ///
    /// # Errors
    /// If the list cannot be written.
    pub fn grant_hash(&mut self, file: &Path, hash: &BlobId) -> io::Result<()> {
        self.hashes.insert(name(file), hash.as_str().to_owned());
        self.save()
    }

    /// Takes trust in a file, or in all files of a folder, back; true if there was any.
    ///
    /// # Errors
    /// If the list cannot be written.
    pub fn revoke(&mut self, path: &Path) -> io::Result<bool> {
        let (path, before) = (name(path), self.hashes.len());
        self.hashes.retain(|file, _| !Path::new(file).starts_with(&path));
        self.save().map(|()| self.hashes.len() < before)
    }

    fn save(&self) -> io::Result<()> {
        write_json(&self.file, &self.hashes)
    }
}

/// The stores this user made or trusted. A record decides what a resume runs, so that of somebody else (in a cloned
/// project, say) is looked at and never gone on with.
#[derive(Clone, Debug)]
pub struct KnownStores {
    file: PathBuf,
    ids: BTreeMap<String, String>,
}

impl KnownStores {
    /// Reads the list; a missing or damaged one knows none.
    pub fn load(folders: &Folders) -> Self {
        let file = folders.state.join("stores.json");
        let ids = std::fs::read(&file).ok().and_then(|bytes| serde_json::from_slice(&bytes).ok()).unwrap_or_default();
        Self { file, ids }
    }

    /// Whether the store of this project is known.
    pub fn holds(&self, project: &Path) -> bool {
        let id = std::fs::read_to_string(id_file(project)).ok();
        id.is_some_and(|id| self.ids.get(&name(project)).is_some_and(|known| *known == id))
    }

    /// Remembers the store of this project, giving it an id if it has none.
    ///
    /// # Errors
    /// If the id or the list cannot be written.
    pub fn grant(folders: &Folders, project: &Path) -> io::Result<()> {
        // Other processes may begin in other projects, or in this one, right now.
        std::fs::create_dir_all(&folders.state)?;
        let turn = std::fs::File::create(folders.state.join("stores.lock"))?;
        turn.lock()?;
        let id = match std::fs::read_to_string(id_file(project)).ok().filter(|id| !id.is_empty()) {
            Some(id) => id,
            None => {
                let id = fresh_id(project);
                std::fs::create_dir_all(project.join(".callsheet"))?;
                std::fs::write(id_file(project), &id)?;
                id
            }
        };
        let mut known = Self::load(folders);
        known.ids.insert(name(project), id);
        write_json(&known.file, &known.ids)
    }
}

fn id_file(project: &Path) -> PathBuf {
    project.join(".callsheet/store-id")
}

/// Hard to guess, since the standard library seeds each hasher anew.
fn fresh_id(project: &Path) -> String {
    use std::hash::{BuildHasher, Hasher};
    let number = || std::hash::RandomState::new().build_hasher().finish();
    BlobId::of(format!("{}{}{}", project.display(), number(), number()).as_bytes()).as_str().to_owned()
}

fn write_json(file: &Path, value: &BTreeMap<String, String>) -> io::Result<()> {
    if let Some(folder) = file.parent() {
        std::fs::create_dir_all(folder)?;
    }
    let fresh = file.with_extension(format!("json.{}.new", std::process::id()));
    std::fs::write(&fresh, serde_json::to_vec_pretty(value).unwrap_or_default())?;
    std::fs::rename(&fresh, file)
}
