//! Who may use the interface for programs, and for what.
//!
//! A client sends a token in the `Authorization` header. Web pages cannot use the interface: a browser adds the origin
//! to what a page sends, and a request with an origin is refused. The live page's cookie does not count here.

use std::sync::Arc;

use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderName, header};
use callsheet_app::{Client, ClientRight};

use super::problem::{Code, Problem};
use super::{Api, blocking};
use crate::guard::is_loopback;

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
    let token = token.to_owned();
    let found = blocking(api, move |api| Ok(api.clients.client(&token)?));
    found.await?.ok_or_else(|| no_token("this token is unknown or was revoked"))
}

async fn with_right(parts: &Parts, api: &Arc<Api>, right: ClientRight) -> Result<Client, Problem> {
    let client = client(parts, api).await?;
    let Some(what) = client.lacks(right) else { return Ok(client) };
    let right = right.name();
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
