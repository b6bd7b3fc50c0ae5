//! The permissions that the user granted for longer than one answer (spec 11.14). They are in a file in the user's
//! state folder, which no command and no project can write.

use std::io;
use std::path::{Path, PathBuf};

use callsheet_runtime::grants::{Caller, Grant, GrantedThing, Scope, ToolGrant};
use callsheet_runtime::paths::{create_private_folder, private};
use callsheet_runtime::ports::{Clock, Grants, SystemClock};

use super::Folders;

/// The user's grants for one project. Every query reads the file, so a revoked grant is not used any more.
#[derive(Clone, Debug)]
pub struct GrantList {
    file: PathBuf,
    project: PathBuf,
}

impl GrantList {
    /// The list of this user.
    pub fn new(folders: &Folders, project: &Path) -> Self {
        Self { file: folders.state.join("grants.json"), project: project.to_path_buf() }
    }

    /// The file with the list.
    pub fn file(&self) -> &Path {
        &self.file
    }

    /// All grants in the order of their numbers, including those of other projects and expired ones.
    ///
    /// # Errors
    /// The file cannot be read or is damaged.
    pub fn all(&self) -> io::Result<Vec<Grant>> {
        match std::fs::read(&self.file) {
            Ok(bytes) => Ok(serde_json::from_slice(&bytes)?),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
            Err(error) => Err(error),
        }
    }

    /// The scope of this project.
    pub fn here(&self) -> Scope {
        Scope { project: Some(self.project.clone()), ..Scope::default() }
    }

    /// Adds a grant for some milliseconds or until it is revoked. An equal grant keeps its number.
    ///
    /// # Errors
    /// The file cannot be read or written.
    pub fn add(&self, what: GrantedThing, scope: Scope, for_ms: Option<u64>) -> io::Result<Grant> {
        let since = SystemClock.now_ms();
        let until = for_ms.map(|ms| since.saturating_add(ms));
        self.change(|grants| {
            let same = grants.iter().position(|grant| grant.what == what && grant.scope == scope);
            let last = grants.iter().map(|grant| grant.n).max().unwrap_or_default();
            let n = same.map_or(last.saturating_add(1), |at| grants.remove(at).n);
            let grant = Grant { n, what, scope, until, since };
            grants.push(grant.clone());
            grants.sort_by_key(|grant| grant.n);
            grant
        })
    }

    /// Revokes the grant with this number. `None` if there is no such grant.
    ///
    /// # Errors
    /// The file cannot be read or written.
    pub fn revoke(&self, n: u32) -> io::Result<Option<Grant>> {
        self.change(|grants| {
            let at = grants.iter().position(|grant| grant.n == n)?;
            Some(grants.remove(at))
        })
    }

    /// Revokes every grant for a tool that `ends` selects.
    ///
    /// # Errors
    /// The file cannot be read or written.
    pub fn revoke_tools(&self, ends: impl Fn(&ToolGrant, &Scope) -> bool) -> io::Result<Vec<Grant>> {
        let is_over = |grant: &Grant| matches!(&grant.what, GrantedThing::Tool(tool) if ends(tool, &grant.scope));
        // Nothing is written if nothing ends.
        if !self.all()?.iter().any(is_over) {
            return Ok(Vec::new());
        }
        self.change(|grants| grants.extract_if(.., |grant| is_over(grant)).collect())
    }

    /// Changes the list while no other process does. Only the user may read the file.
    fn change<T>(&self, change: impl FnOnce(&mut Vec<Grant>) -> T) -> io::Result<T> {
        let folder = self.file.parent().unwrap_or(Path::new("."));
        create_private_folder(folder)?;
        let lock = private().create(true).append(true).open(self.file.with_extension("lock"))?;
        lock.lock()?;
        let mut grants = self.all()?;
        let outcome = change(&mut grants);
        let mut fresh = tempfile::NamedTempFile::new_in(folder)?;
        io::Write::write_all(&mut fresh, &serde_json::to_vec_pretty(&grants)?)?;
        fresh.persist(&self.file)?;
        Ok(outcome)
    }
}

impl Grants for GrantList {
    /// The valid grants. An unreadable list grants nothing, which a run reports when it starts.
    fn counting(&self, caller: &Caller) -> Vec<Grant> {
        let now = SystemClock.now_ms();
        let mut grants = self.all().unwrap_or_default();
        grants.retain(|grant| grant.counts(&self.project, caller, now));
        grants
    }
}
