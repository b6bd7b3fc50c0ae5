//! Who may use the interface for programs, and for what.
//!
//! A client sends a token in the `Authorization` header. Web pages cannot use the interface: a browser adds the origin
//! to what a page sends, and a request with an origin is refused. The live page's cookie does not count here.

use std::sync::Arc;

use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderName, header};
use callsheet_app::Refusal;
use callsheet_core::nouns::BlobId;
use callsheet_core::record::AnsweredBy;
use serde::{Deserialize, Serialize};
use subtle::ConstantTimeEq;

use super::problem::{Code, Problem};
use super::{Api, blocking};
use crate::guard::is_loopback;

/// What a client may do. Each right includes those before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ClientRight {
    /// Look at runs.
    Look,
    /// Also start, resume, retry and cancel runs.
    Steer,
    /// Also approve, deny and answer.
    Approve,
}

impl ClientRight {
    /// The name in commands and answers.
    pub fn name(self) -> &'static str {
        match self {
            Self::Look => "look",
            Self::Steer => "steer",
            Self::Approve => "approve",
        }
    }
}

/// A program that uses the interface.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Client {
    /// Its name, which the record shows.
    pub name: String,
    /// What the client may do.
    pub may: ClientRight,
}

/// A client, with the hash of its token.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KnownClient {
    /// The client.
    pub client: Client,
    /// The hash of its token.
    pub hash: BlobId,
}

/// The clients to which the person gave tokens.
pub trait Clients: Send + Sync {
    /// All clients whose tokens are valid now.
    ///
    /// # Errors
    /// The list cannot be read.
    fn known(&self) -> Result<Vec<KnownClient>, Refusal>;
}

/// Refuses a request that a web page sent, or whose host name is not a loopback name.
pub(super) fn from_a_program(headers: &HeaderMap) -> Result<(), Problem> {
    let text = |name: HeaderName| headers.get(name).map(|value| value.to_str().unwrap_or("?"));
    if !text(header::HOST).is_some_and(is_loopback) {
        return Err(Problem::new(
            Code::NotAProgram,
            "the host name of the request is not a loopback name",
            "use http://127.0.0.1:PORT",
        ));
    }
    // Browsers add both headers themselves. A page can neither omit nor change them.
    let site = text(HeaderName::from_static("sec-fetch-site"));
    if headers.contains_key(header::ORIGIN) || site.is_some_and(|site| site != "none") {
        return Err(Problem::new(Code::NotAProgram, "this request came from a web page", "send it from a program"));
    }
    Ok(())
}

/// The client whose token the request carries.
async fn client(parts: &Parts, api: &Arc<Api>) -> Result<Client, Problem> {
    let no_token = |what: &str| {
        Problem::new(
            Code::NoToken,
            what,
            "send Authorization: Bearer TOKEN; make a token: callsheet serve tokens add NAME",
        )
    };
    let given = parts.headers.get(header::AUTHORIZATION).and_then(|value| value.to_str().ok());
    let given = given.and_then(|value| value.split_once(' ')).filter(|(kind, _)| kind.eq_ignore_ascii_case("bearer"));
    let Some((_, token)) = given else { return Err(no_token("the request has no token")) };
    let hash = BlobId::of(token.trim().as_bytes());
    let found = blocking(api, move |api| {
        // Compares every hash in constant time, so that the duration reveals nothing.
        let is_it = |known: &KnownClient| bool::from(known.hash.as_str().as_bytes().ct_eq(hash.as_str().as_bytes()));
        let known = api.clients.known()?.into_iter();
        Ok(known.fold(None, |found, known| if is_it(&known) { Some(known.client) } else { found }))
    });
    found.await?.ok_or_else(|| no_token("this token is unknown or was revoked"))
}

async fn with_right(parts: &Parts, api: &Arc<Api>, right: ClientRight) -> Result<Client, Problem> {
    let client = client(parts, api).await?;
    if client.may >= right {
        return Ok(client);
    }
    let (name, may, right) = (&client.name, client.may.name(), right.name());
    let what = format!("the token {name} has the right to {may}, but this needs the right to {right}");
    Err(Problem::new(Code::NoRight, what, format!("callsheet serve tokens add NAME --may {right}")))
}

/// A client that may look at runs.
pub(super) struct Looking;

impl FromRequestParts<Arc<Api>> for Looking {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, api: &Arc<Api>) -> Result<Self, Problem> {
        with_right(parts, api, ClientRight::Look).await.map(|_| Self)
    }
}

macro_rules! rights {
    ($($(#[$doc:meta])* $name:ident: $right:ident,)*) => {
        $($(#[$doc])*
        pub(super) struct $name(pub Client);

        impl FromRequestParts<Arc<Api>> for $name {
            type Rejection = Problem;

            async fn from_request_parts(parts: &mut Parts, api: &Arc<Api>) -> Result<Self, Problem> {
                with_right(parts, api, ClientRight::$right).await.map(Self)
            }
        })*
    };
}

rights! {
    /// A client that may also start, resume, retry and cancel runs.
    Steering: Steer,
    /// A client that may also approve, deny and answer.
    Approving: Approve,
}

impl Client {
    /// The name under which the record keeps the client's orders.
    pub(super) fn by(&self) -> AnsweredBy {
        AnsweredBy::Api(self.name.clone())
    }
}
