//! Logins at servers with an address (OAuth, spec 13.9). A person begins each one. A run only uses and renews it.

mod kept;
mod redirect;
mod revoke;

use callsheet_core::visible::visible_line;
use callsheet_runtime::shown::keep_secret;
use reqwest::Url;
use rmcp::transport::auth::{
    AuthError, AuthorizationCallback, AuthorizationManager, AuthorizationMetadata, OAuthClientConfig,
};

use crate::connection::{chain, clipped};
use crate::http::use_tls;
use crate::limits::LOGIN;
use crate::settings::{Reach, ServerAddress, ServerSettings, is_open};

pub use kept::{Logins, SECRET};
use redirect::{Redirect, is_answer};
pub use revoke::Logout;

/// The name under which Callsheet registers with an authorization server.
const CLIENT: &str = "Callsheet";

/// Why there is no login.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("can't log in to the server {server}: {reason}")]
pub struct LoginFault {
    server: String,
    reason: String,
}

/// A login in progress.
pub struct Login {
    server: String,
    manager: AuthorizationManager,
    redirect: Redirect,
    address: Url,
    state: String,
}

impl Login {
    /// Finds out where the person logs in, and registers Callsheet there if the settings name no client. Asks for
    /// `more` scopes beside those that the server names and those of the login so far.
    ///
    /// # Errors
    /// The server offers no login that Callsheet can use.
    pub async fn begin(settings: &ServerSettings, logins: &Logins, more: &[String]) -> Result<Self, LoginFault> {
        Self::prepared(settings, logins, more).await.map_err(|reason| fault(settings, reason))
    }

    async fn prepared(settings: &ServerSettings, logins: &Logins, more: &[String]) -> Result<Self, String> {
        let address = address_for_login(settings)?;
        let mut manager = manager(settings, address).await?;
        manager.set_metadata(discovered(&manager).await?);
        let redirect = Redirect::listen(address.client.port).await.map_err(|error| {
            let port = address.client.port.map_or(String::new(), |port| format!(" at port {port}"));
            format!("can't listen{port} for the browser: {error}")
        })?;
        let mut scopes = manager.select_initial_scopes(&[]).await;
        let known = logins.of(settings).ok().flatten().map(|kept| kept.credentials.granted_scopes);
        let known = known.filter(|_| !more.is_empty()).unwrap_or_default();
        for scope in known.iter().chain(more) {
            if !scopes.contains(scope) {
                scopes.push(scope.clone());
            }
        }
        let scopes: Vec<&str> = scopes.iter().map(String::as_str).collect();
        let client = match &address.client.id {
            Some(id) => named_client(id, redirect.address(), address.client.secret.clone()),
            None => {
                let registered = manager.register_client(CLIENT, redirect.address(), &scopes).await;
                registered.map_err(|error| unregistered(settings, &error))?
            }
        };
        manager.set_credential_store(logins.store(settings, &address.url, client.client_secret.clone()));
        manager.configure_client(client).map_err(|error| chain(&error))?;
        let begun = manager.get_authorization_url(&scopes).await.map_err(|error| chain(&error))?;
        let address = Url::parse(&begun).map_err(|error| error.to_string())?;
        let state = address.query_pairs().find(|(name, _)| name == "state").map(|(_, state)| state.into_owned());
        let state = state.ok_or("its login has no state")?;
        Ok(Self { server: settings.name.clone(), manager, redirect, address, state })
    }

    /// The page on which the person logs in.
    pub fn address(&self) -> &str {
        self.address.as_str()
    }

    /// Whether a text is the address to which the browser came back, for a person whose browser runs elsewhere.
    pub fn is_end(&self, text: &str) -> bool {
        Url::parse(text.trim()).is_ok_and(|url| is_answer(&url, &self.state))
    }

    /// Waits until the browser comes back.
    ///
    /// # Errors
    /// It does not come back in time.
    pub async fn came_back(&self) -> Result<String, LoginFault> {
        let late = || format!("nobody logged in within {} minutes", LOGIN.as_secs() / 60);
        let came = tokio::time::timeout(LOGIN, self.redirect.comes(&self.state)).await;
        let came = came.map_err(|_| late()).and_then(|came| came.map_err(|error| error.to_string()));
        came.map(String::from).map_err(|reason| self.fault(reason))
    }

    /// Exchanges the code in the address to which the browser came back for tokens, and keeps them.
    ///
    /// # Errors
    /// The person or the server refused, or the tokens cannot be kept.
    pub async fn end(self, came_back: &str) -> Result<(), LoginFault> {
        if let Some(refused) = refusal(came_back.trim()) {
            return Err(self.fault(refused));
        }
        let exchanged = async {
            let AuthorizationCallback { code, csrf_token, issuer, .. } =
                AuthorizationCallback::from_redirect_url(came_back.trim())?;
            keep_secret([(SECRET.to_owned(), code.clone())]);
            self.manager.exchange_code_for_token_with_issuer(&code, &csrf_token, issuer.as_deref()).await
        };
        exchanged.await.map(|_| ()).map_err(|error| self.fault(chain(&error)))
    }

    fn fault(&self, reason: String) -> LoginFault {
        LoginFault { server: self.server.clone(), reason }
    }
}

fn fault(settings: &ServerSettings, reason: String) -> LoginFault {
    LoginFault { server: settings.name.clone(), reason }
}

/// What adds the token of the person's login to requests. `None` if there is no login, or if it was for another
/// authorization server.
pub(crate) async fn authorized(
    settings: &ServerSettings,
    address: &ServerAddress,
    logins: &Logins,
) -> Result<Option<AuthorizationManager>, String> {
    let kept = logins.of(settings).map_err(|error| format!("its login can't be read: {error}."))?;
    let Some(kept) = kept.filter(|_| !address.has_authorization()) else { return Ok(None) };
    let login = async {
        let mut manager = manager(settings, address).await?;
        manager.set_credential_store(logins.store(settings, &address.url, kept.client_secret.clone()));
        // Without this, the library would renew the login at addresses that it guesses.
        manager.set_metadata(discovered(&manager).await?);
        if !manager.initialize_from_store().await.map_err(|error| chain(&error))? {
            return Ok(None);
        }
        if kept.client_secret.is_some() {
            // No browser comes back during a run.
            let client = named_client(&kept.credentials.client_id, &address.url, kept.client_secret);
            manager.configure_client(client).map_err(|error| chain(&error))?;
        }
        Ok(Some(manager))
    };
    login.await.map_err(|why: String| format!("its login can't be used: {why}."))
}

/// The address of a server, if a person can log in there.
fn address_for_login(settings: &ServerSettings) -> Result<&ServerAddress, String> {
    match &settings.reach {
        Reach::Program(_) => Err("it is a program; only servers with an address have logins".to_owned()),
        Reach::Address(address) if address.is_unencrypted() => {
            Err("its address is not https, so others could read the token".to_owned())
        }
        Reach::Address(address) if address.has_authorization() => {
            Err("its settings contain a header Authorization; remove that first".to_owned())
        }
        Reach::Address(address) => Ok(address),
    }
}

async fn manager(settings: &ServerSettings, address: &ServerAddress) -> Result<AuthorizationManager, String> {
    use_tls();
    let url = address.url.as_str();
    // A project's server does not make this machine ask others in its network.
    let made = match &settings.project {
        None => AuthorizationManager::new_allowing_private_addresses(url).await,
        Some(_) => AuthorizationManager::new(url).await,
    };
    made.map_err(|error| chain(&error))
}

/// What the authorization server of a server says about itself.
async fn discovered(manager: &AuthorizationManager) -> Result<AuthorizationMetadata, String> {
    let found = manager.resolve_metadata().await.map_err(|error| chain(&error))?;
    if !found.source.is_discovered() {
        return Err("it names no authorization server".to_owned());
    }
    let metadata = found.metadata;
    let endpoints = [&metadata.authorization_endpoint, &metadata.token_endpoint];
    let endpoints: Vec<&String> = endpoints.into_iter().chain(&metadata.registration_endpoint).collect();
    if let Some(open) = endpoints.into_iter().find(|endpoint| is_open(endpoint)) {
        return Err(format!("its authorization server has an address that is not https: {}", visible_line(open)));
    }
    Ok(metadata)
}

fn named_client(id: &str, redirect: &str, secret: Option<String>) -> OAuthClientConfig {
    let client = OAuthClientConfig::new(id, redirect);
    match secret {
        Some(secret) => client.with_client_secret(secret),
        None => client,
    }
}

fn unregistered(settings: &ServerSettings, error: &AuthError) -> String {
    let key = format!("mcp.{}.client_id", settings.name);
    format!("Callsheet can't register there ({}); register it by hand and set {key}", chain(error))
}

/// What the authorization server says in place of a code.
fn refusal(came_back: &str) -> Option<String> {
    let url = Url::parse(came_back).ok()?;
    let value = |name: &str| url.query_pairs().find(|(key, _)| key == name).map(|(_, value)| clipped(&value));
    let error = value("error")?;
    let said = value("error_description").map_or(String::new(), |said| format!(" ({said})"));
    Some(format!("it was refused: {error}{said}"))
}

#[cfg(test)]
mod tests;
