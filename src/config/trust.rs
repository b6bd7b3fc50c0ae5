//! Trust in files of projects. It is bound to the hash of each file, so a changed file must be trusted again.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

use callsheet_core::nouns::BlobId;
use callsheet_runtime::paths::{create_private_folder, write_private};
use callsheet_runtime::trust::{Trusted, file_name as name};

use super::{Config, Folders};

/// A file of a project that its hooks run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HookFile {
    /// Where it is.
    pub path: PathBuf,
    /// The hash of its content.
    pub hash: BlobId,
    /// The names of the hooks.
    pub hooks: Vec<String>,
}

/// The user's list of trusted project files.
#[derive(Clone, Debug)]
pub struct Trust {
    file: PathBuf,
    hashes: BTreeMap<String, String>,
}

impl Trust {
    /// Reads the list. A missing or damaged list trusts nothing.
    pub fn load(folders: &Folders) -> Self {
        let file = folders.state.join("trust.json");
        let hashes =
            std::fs::read(&file).ok().and_then(|bytes| serde_json::from_slice(&bytes).ok()).unwrap_or_default();
        Self { file, hashes }
    }

    /// Whether this content of this file is trusted.
    pub fn holds(&self, config: &Path, content: &[u8]) -> bool {
        self.trusted().holds(config, content)
    }

    /// The files of the project that hooks of its configuration run and that are not trusted as they are, each with the
    /// names of the hooks.
    pub fn untrusted_hooks(&self, config: &Path) -> Vec<HookFile> {
        // A configuration that cannot be read is reported where it is used.
        let Ok(read) = Config::of_trusted(config) else { return Vec::new() };
        let Some(project) = config.parent().and_then(Path::parent) else { return Vec::new() };
        let trusted = self.trusted();
        let mut files: Vec<HookFile> = Vec::new();
        for hook in read.hooks(project) {
            for (path, hash) in hook.files {
                match files.iter_mut().find(|file| file.path == path) {
                    Some(file) => file.hooks.push(hook.name.clone()),
                    None if trusted.holds_hash(&path, &hash) => {}
                    None => files.push(HookFile { path, hash, hooks: vec![hook.name.clone()] }),
                }
            }
        }
        files
    }

    /// The trusted files, for readers of project files.
    pub fn trusted(&self) -> Trusted {
        Trusted::only(self.hashes.clone())
    }

    /// Trusts this content.
    ///
    /// # Errors
    /// The list cannot be written.
    pub fn grant(&mut self, config: &Path, content: &[u8]) -> io::Result<()> {
        self.grant_hash(config, &BlobId::of(content))
    }

    /// Trusts the content with this hash.
    ///
    /// # Errors
    /// The list cannot be written.
    pub fn grant_hash(&mut self, file: &Path, hash: &BlobId) -> io::Result<()> {
        self.hashes.insert(name(file), hash.as_str().to_owned());
        self.save()
    }

    /// Revokes trust in a file, or in all files of a folder. Returns whether there was any.
    ///
    /// # Errors
    /// The list cannot be written.
    pub fn revoke(&mut self, path: &Path) -> io::Result<bool> {
        let (path, before) = (name(path), self.hashes.len());
        self.hashes.retain(|file, _| !Path::new(file).starts_with(&path));
        self.save().map(|()| self.hashes.len() < before)
    }

    fn save(&self) -> io::Result<()> {
        write_json(&self.file, &self.hashes)
    }
}

fn write_json(file: &Path, value: &BTreeMap<String, String>) -> io::Result<()> {
    if let Some(folder) = file.parent() {
        create_private_folder(folder)?;
    }
    let fresh = file.with_extension(format!("json.{}.new", std::process::id()));
    write_private(&fresh, &serde_json::to_vec_pretty(value).unwrap_or_default())?;
    std::fs::rename(&fresh, file)
}
