//! Logins of the person at servers, each in a file of its own that only the person can read.

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use async_trait::async_trait;
use callsheet_runtime::paths::{create_private_folder, private};
use callsheet_runtime::shown::keep_secret;
use rmcp::transport::auth::{AuthError, CredentialRefreshGuard, CredentialStore, StoredCredentials};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::settings::ServerSettings;

/// What is shown in place of a secret of a server. No project chooses it.
pub const SECRET: &str = "secret of an MCP server";

/// The names under which a file has secrets.
const SECRETS: &[&str] = &["access_token", "refresh_token", "id_token", "client_secret"];

/// The logins of a person.
#[derive(Clone, Debug)]
pub struct Logins {
    folder: PathBuf,
}

/// The content of a file.
#[derive(Clone, Serialize, Deserialize)]
pub(super) struct Kept {
    /// For whoever looks at the file.
    server: String,
    /// For whoever looks at the file. What counts is the file's name, which is the hash of the server's place.
    url: String,
    /// The secret of the client, if it has one.
    pub client_secret: Option<String>,
    pub credentials: StoredCredentials,
}

impl Logins {
    /// The logins in a folder.
    pub fn new(folder: PathBuf) -> Self {
        Self { folder }
    }

    /// Whether there is a login at a server that can be used or renewed.
    ///
    /// # Errors
    /// The file cannot be read, or is damaged.
    pub fn holds(&self, server: &ServerSettings) -> io::Result<bool> {
        Ok(read(&self.file(server))?.is_some_and(|kept| !is_over(&kept.credentials)))
    }

    /// Deletes the login at a server. Returns whether there was one.
    ///
    /// # Errors
    /// The file cannot be deleted.
    pub fn forget(&self, server: &ServerSettings) -> io::Result<bool> {
        remove(&self.file(server))
    }

    /// Masks the secrets of all logins wherever something is shown, from now on. A file that cannot be read is reported
    /// when its server is used.
    pub fn mask(&self) {
        let files = std::fs::read_dir(&self.folder).into_iter().flatten().flatten().map(|entry| entry.path());
        for file in files.filter(|file| file.extension().is_some_and(|ending| ending == "json")) {
            mask(&std::fs::read(file).unwrap_or_default());
        }
    }

    fn file(&self, server: &ServerSettings) -> PathBuf {
        self.folder.join(format!("{}.json", server.place()))
    }

    pub(super) fn of(&self, server: &ServerSettings) -> io::Result<Option<Kept>> {
        read(&self.file(server))
    }

    /// Where the library finds and keeps the login at a server.
    pub(super) fn store(&self, server: &ServerSettings, url: &str, client_secret: Option<String>) -> LoginFile {
        LoginFile { file: self.file(server), server: server.name.clone(), url: url.to_owned(), client_secret }
    }
}

/// Whether an access token has run out and there is nothing to renew it with.
fn is_over(credentials: &StoredCredentials) -> bool {
    let Ok(Value::Object(token)) = serde_json::to_value(&credentials.token_response) else { return true };
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
    let lasts = token.get("expires_in").and_then(Value::as_u64);
    let end = credentials.token_received_at.zip(lasts).map(|(received, lasts)| received.saturating_add(lasts));
    !token.contains_key("refresh_token") && end.is_some_and(|end| end <= now)
}

fn read(file: &Path) -> io::Result<Option<Kept>> {
    match std::fs::read(file) {
        Ok(bytes) => {
            mask(&bytes);
            Ok(Some(serde_json::from_slice(&bytes)?))
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

fn remove(file: &Path) -> io::Result<bool> {
    match std::fs::remove_file(file) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error),
    }
}

/// Masks the secrets in the content of a file.
fn mask(bytes: &[u8]) {
    let Ok(content) = serde_json::from_slice::<Value>(bytes) else { return };
    let places = [content.pointer("/credentials/token_response"), Some(&content)];
    let secrets = places.into_iter().flatten().flat_map(|place| SECRETS.iter().filter_map(|name| place.get(name)));
    keep_secret(secrets.filter_map(Value::as_str).map(|value| (SECRET.to_owned(), value.to_owned())));
}

/// The file of one login.
pub(super) struct LoginFile {
    file: PathBuf,
    server: String,
    url: String,
    client_secret: Option<String>,
}

impl LoginFile {
    fn write(&self, credentials: StoredCredentials) -> io::Result<()> {
        let Self { file, server, url, client_secret } = self;
        let folder = file.parent().unwrap_or(Path::new("."));
        create_private_folder(folder)?;
        let (server, url, client_secret) = (server.clone(), url.clone(), client_secret.clone());
        let bytes = serde_json::to_vec_pretty(&Kept { server, url, client_secret, credentials })?;
        mask(&bytes);
        // It replaces the old file as a whole, and only the person can read it.
        let mut fresh = tempfile::NamedTempFile::new_in(folder)?;
        fresh.write_all(&bytes)?;
        fresh.as_file().sync_all()?;
        fresh.persist(file)?;
        Ok(())
    }
}

#[async_trait]
impl CredentialStore for LoginFile {
    async fn load(&self) -> Result<Option<StoredCredentials>, AuthError> {
        Ok(read(&self.file).map_err(|error| fault(&error))?.map(|kept| kept.credentials))
    }

    async fn save(&self, credentials: StoredCredentials) -> Result<(), AuthError> {
        self.write(credentials).map_err(|error| fault(&error))
    }

    async fn clear(&self) -> Result<(), AuthError> {
        remove(&self.file).map(|_| ()).map_err(|error| fault(&error))
    }

    async fn on_refresh_token_rejected(&self, _: &StoredCredentials) -> Result<(), AuthError> {
        // No other process has renewed it meanwhile, because this one holds the lock.
        self.clear().await
    }

    async fn acquire_refresh_guard(&self) -> Result<Option<CredentialRefreshGuard>, AuthError> {
        // A server may take each refresh token only once, and several runs may use one login.
        let path = self.file.with_extension("lock");
        let locked = tokio::task::spawn_blocking(move || {
            let lock = private().create(true).append(true).open(path)?;
            lock.lock()?;
            Ok::<_, io::Error>(lock)
        });
        let lock = locked.await.map_err(io::Error::other).and_then(|locked| locked).map_err(|error| fault(&error))?;
        Ok(Some(CredentialRefreshGuard::new(lock)))
    }
}

fn fault(error: &io::Error) -> AuthError {
    AuthError::CredentialStoreError(error.to_string())
}
