//! The tokens of programs and people that may use `serve` (spec 11.22) or the cluster of the project (spec 15.17): a file in the user's state folder, which no command and no
//! project can write. It holds hashes, so nobody can use what stands in it.

use std::io;
use std::path::{Path, PathBuf};

use callsheet_app::{Client, ClientRight, Clients, KnownClient, Refusal, new_key};
use callsheet_core::nouns::BlobId;
use callsheet_runtime::paths::{create_private_folder, private};
use callsheet_runtime::ports::{Clock, SystemClock};
use serde::{Deserialize, Serialize};

use super::Folders;

/// A token.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClientToken {
    /// The name of the client.
    pub name: String,
    /// The project whose runs the client may use.
    pub project: PathBuf,
    /// What it may do.
    pub may: ClientRight,
    /// When the token was made, in milliseconds since the Unix epoch.
    pub since: u64,
    /// The hash of the token.
    pub hash: BlobId,
}

/// The user's tokens for one project. Every request reads the file, so a revoked token is not used any more.
#[derive(Clone, Debug)]
pub struct TokenList {
    file: PathBuf,
    project: PathBuf,
}

impl TokenList {
    /// The list of this user.
    pub fn new(folders: &Folders, project: &Path) -> Self {
        Self { file: folders.state.join("tokens.json"), project: project.to_path_buf() }
    }

    /// The file with the list.
    pub fn file(&self) -> &Path {
        &self.file
    }

    /// The tokens for this project, in the order in which they were made.
    ///
    /// # Errors
    /// The file cannot be read or is damaged.
    pub fn here(&self) -> io::Result<Vec<ClientToken>> {
        let mut tokens = self.all()?;
        tokens.retain(|token| token.project == self.project);
        Ok(tokens)
    }

    /// Makes a token. Returns it, for the only time. `None` if the client has one already.
    ///
    /// # Errors
    /// The file cannot be read or written, or the system cannot provide random bytes.
    pub fn add(&self, name: &str, may: ClientRight) -> io::Result<Option<String>> {
        let random = || new_key().map_err(|refusal| io::Error::other(refusal.what));
        let token = format!("callsheet_{}{}", random()?, random()?);
        let hash = BlobId::of(token.as_bytes());
        self.change(|tokens| {
            if tokens.iter().any(|known| known.project == self.project && known.name == name) {
                return None;
            }
            let (project, since) = (self.project.clone(), SystemClock.now_ms());
            tokens.push(ClientToken { name: name.to_owned(), project, may, since, hash });
            Some(token)
        })
    }

    /// Revokes the token of a client. Returns whether it had one.
    ///
    /// # Errors
    /// The file cannot be read or written.
    pub fn revoke(&self, name: &str) -> io::Result<bool> {
        self.change(|tokens| {
            let before = tokens.len();
            tokens.retain(|token| token.project != self.project || token.name != name);
            tokens.len() < before
        })
    }

    fn all(&self) -> io::Result<Vec<ClientToken>> {
        match std::fs::read(&self.file) {
            Ok(bytes) => Ok(serde_json::from_slice(&bytes)?),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
            Err(error) => Err(error),
        }
    }

    /// Changes the list while no other process does. Only the user may read the file.
    fn change<T>(&self, change: impl FnOnce(&mut Vec<ClientToken>) -> T) -> io::Result<T> {
        let folder = self.file.parent().unwrap_or(Path::new("."));
        create_private_folder(folder)?;
        let lock = private().create(true).append(true).open(self.file.with_extension("lock"))?;
        lock.lock()?;
        let mut tokens = self.all()?;
        let outcome = change(&mut tokens);
        let mut fresh = tempfile::NamedTempFile::new_in(folder)?;
        io::Write::write_all(&mut fresh, &serde_json::to_vec_pretty(&tokens)?)?;
        fresh.persist(&self.file)?;
        Ok(outcome)
    }
}

impl Clients for TokenList {
    fn known(&self) -> Result<Vec<KnownClient>, Refusal> {
        let known =
            |token: ClientToken| KnownClient { client: Client { name: token.name, may: token.may }, hash: token.hash };
        let tokens = self.here().map_err(|error| {
            Refusal::internal(
                format!("can't use the list of tokens, {}: {error}", self.file.display()),
                "repair or delete the file; until then, no token is valid",
            )
        })?;
        Ok(tokens.into_iter().map(known).collect())
    }
}
