//! Revokes a login at its authorization server when the person gives it up (RFC 7009).

use std::io;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use reqwest::Url;
use serde_json::Value;

use super::{Logins, discovered, manager};
use crate::connection::{chain, http_client};
use crate::limits::REVOCATION;
use crate::login::kept::Kept;
use crate::settings::{Reach, ServerSettings, is_open};

/// What became of a login that a person gave up. Its file is deleted in any case.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Logout {
    /// There was none.
    None,
    /// The authorization server revoked it.
    Revoked,
    /// The authorization server names no address for that.
    NotOffered,
    /// The authorization server did not revoke it, for this reason.
    NotRevoked(String),
}

/// The tokens of a login, the one that renews it first.
const TOKENS: [&str; 2] = ["refresh_token", "access_token"];

impl Logins {
    /// Revokes the login at a server, and deletes it here.
    ///
    /// # Errors
    /// The file cannot be deleted.
    pub async fn log_out(&self, server: &ServerSettings) -> io::Result<Logout> {
        // A damaged file has no tokens that could be revoked.
        let kept = self.of(server).ok().flatten();
        let end = match &kept {
            Some(kept) => match tokio::time::timeout(REVOCATION, revoked(server, kept)).await {
                Ok(Ok(true)) => Logout::Revoked,
                Ok(Ok(false)) => Logout::NotOffered,
                Ok(Err(reason)) => Logout::NotRevoked(reason),
                Err(_) => Logout::NotRevoked(format!("no answer within {} s", REVOCATION.as_secs())),
            },
            None => Logout::NotRevoked("its file is damaged".to_owned()),
        };
        Ok(if self.forget(server)? { end } else { Logout::None })
    }
}

/// Sends the tokens to the address for revocations. Returns whether there is one.
async fn revoked(settings: &ServerSettings, kept: &Kept) -> Result<bool, String> {
    let Reach::Address(address) = &settings.reach else { return Ok(false) };
    let manager = manager(settings, address).await?;
    let metadata = discovered(&manager).await?;
    if kept.credentials.issuer.is_some() && kept.credentials.issuer != metadata.issuer {
        return Err("the server now names another authorization server".to_owned());
    }
    let Some(endpoint) = metadata.additional_fields.get("revocation_endpoint").and_then(Value::as_str) else {
        return Ok(false);
    };
    let url = endpoint_at(endpoint, &metadata.token_endpoint, settings.project.is_some())?;
    let tokens = serde_json::to_value(&kept.credentials.token_response).unwrap_or_default();
    let client = http_client()?;
    for kind in TOKENS {
        let Some(token) = tokens.get(kind).and_then(Value::as_str) else { continue };
        let mut fields = vec![("token", token), ("token_type_hint", kind)];
        let mut request = client.post(url.clone()).header("content-type", "application/x-www-form-urlencoded");
        match &kept.client_secret {
            Some(secret) => request = request.header("authorization", basic(&kept.credentials.client_id, secret)),
            None => fields.push(("client_id", &kept.credentials.client_id)),
        }
        let answer = request.body(form(&fields)).send().await.map_err(|error| chain(&error))?;
        if !answer.status().is_success() {
            return Err(format!("its authorization server answered {}", answer.status().as_u16()));
        }
    }
    Ok(true)
}

/// The address for revocations, if tokens may go there: where the tokens came from, and unread by others.
fn endpoint_at(endpoint: &str, token_endpoint: &str, of_project: bool) -> Result<Url, String> {
    let (at, tokens) = (Url::parse(endpoint).ok(), Url::parse(token_endpoint).ok());
    let at = at.filter(|at| !is_open(endpoint) && tokens.is_some_and(|tokens| tokens.origin() == at.origin()));
    // A project's server does not make this machine ask others in its network.
    let at = at.filter(|at| at.scheme() == "https" || !of_project);
    at.ok_or_else(|| "its address for revocations is not that of its tokens".to_owned())
}

/// The header of a client with a secret, each part encoded as in a form (RFC 6749).
fn basic(id: &str, secret: &str) -> String {
    let encoded = |text: &str| form(&[("", text)]).trim_start_matches('=').to_owned();
    format!("Basic {}", BASE64_STANDARD.encode(format!("{}:{}", encoded(id), encoded(secret))))
}

fn form(fields: &[(&str, &str)]) -> String {
    let Ok(mut url) = Url::parse("http://form/") else { return String::new() };
    url.query_pairs_mut().extend_pairs(fields);
    url.query().unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// covers: 13.9
    #[test]
    fn tokens_go_back_only_to_where_they_came_from() {
        let at = |endpoint: &str, of_project| endpoint_at(endpoint, "https://id.example.org/token", of_project).is_ok();
        assert!(at("https://id.example.org/revoke", false) && at("https://id.example.org/revoke", true));
        for endpoint in
            ["https://example.org/revoke", "http://id.example.org/revoke", "https://id.example.org:8443/r", "x"]
        {
            assert!(!at(endpoint, false), "{endpoint}");
        }
        let here =
            |of_project| endpoint_at("http://127.0.0.1:9/revoke", "http://127.0.0.1:9/token", of_project).is_ok();
        assert!(here(false) && !here(true));
        assert_eq!(basic("a b", "c:d"), format!("Basic {}", BASE64_STANDARD.encode("a+b:c%3Ad")));
    }
}
