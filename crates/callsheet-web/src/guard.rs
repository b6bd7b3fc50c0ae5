//! Who may use the page: whoever has the address with its token, from a page of this server, at a name of this machine.

use std::fmt;

use axum::http::header::{COOKIE, HOST, ORIGIN};
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, Uri, header};
use subtle::ConstantTimeEq;

use crate::desk::Refusal;

/// Bytes of the token.
const TOKEN_BYTES: usize = 32;

/// Names of this machine that never leave it. Another name may be one that somebody else's name server points here.
const LOOPBACK: [&str; 3] = ["127.0.0.1", "localhost", "[::1]"];

/// Nothing runs or is shown but what this server sends, and nothing of that is written into the page itself.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; \
                      form-action 'self'; base-uri 'none'; frame-ancestors 'none'";

/// Why a request is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Refused {
    /// The name in its address is none of this machine.
    Host,
    /// It comes from a page of another server.
    Origin,
    /// It has no token, or another one.
    Token,
}

/// What a request that is not refused may do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Passed {
    /// All.
    Known,
    /// Its address has the token: it gets the cookie, and comes again without the token in its address.
    Introduced {
        /// The address without the token.
        to: String,
    },
}

/// The token, and what is asked of every request.
pub struct Guard {
    token: String,
    cookie: String,
}

impl fmt::Debug for Guard {
    /// Says nothing of the token.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Guard").finish_non_exhaustive()
    }
}

impl Guard {
    /// A new token for the server at this port.
    ///
    /// # Errors
    /// The system has no random bytes.
    pub fn new(port: u16) -> Result<Self, Refusal> {
        let mut bytes = [0_u8; TOKEN_BYTES];
        getrandom::fill(&mut bytes).map_err(|error| Refusal {
            what: format!("the system gives no random bytes: {error}"),
            advice: String::new(),
        })?;
        let token = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        // Cookies know no ports: two servers on one machine need two names.
        Ok(Self { token, cookie: format!("callsheet_{port}") })
    }

    /// The token, for the address that is printed.
    pub fn token(&self) -> &str {
        &self.token
    }

    /// The cookie of a browser that had the token.
    pub(crate) fn set_cookie(&self) -> Option<HeaderValue> {
        HeaderValue::from_str(&format!("{}={}; HttpOnly; SameSite=Strict; Path=/", self.cookie, self.token)).ok()
    }

    pub(crate) fn check(&self, method: &Method, uri: &Uri, headers: &HeaderMap) -> Result<Passed, Refused> {
        let host = text(headers, HOST).filter(|host| is_loopback(host)).ok_or(Refused::Host)?;
        let safe = matches!(*method, Method::GET | Method::HEAD);
        match text(headers, ORIGIN) {
            Some(origin) if origin == format!("http://{host}") => {}
            None if safe && !headers.contains_key(ORIGIN) => {}
            _ => return Err(Refused::Origin),
        }
        if headers.get_all(COOKIE).iter().filter_map(|value| value.to_str().ok()).any(|cookies| self.is_known(cookies))
        {
            return Ok(match introduction(uri) {
                Some((_, to)) if safe => Passed::Introduced { to },
                _ => Passed::Known,
            });
        }
        match introduction(uri) {
            Some((token, to)) if safe && self.is_token(token) => Ok(Passed::Introduced { to }),
            _ => Err(Refused::Token),
        }
    }

    fn is_known(&self, cookies: &str) -> bool {
        let named = cookies.split(';').filter_map(|cookie| cookie.trim().split_once('='));
        named.filter(|(name, _)| *name == self.cookie).any(|(_, value)| self.is_token(value))
    }

    fn is_token(&self, given: &str) -> bool {
        bool::from(given.as_bytes().ct_eq(self.token.as_bytes()))
    }
}

/// The token in an address, and the address without it.
fn introduction(uri: &Uri) -> Option<(&str, String)> {
    let query = uri.query()?;
    let token = query.split('&').find_map(|pair| pair.strip_prefix("token="))?;
    let rest: Vec<&str> = query.split('&').filter(|pair| !pair.starts_with("token=")).collect();
    // An address that begins with two slashes would lead to another server.
    let path = format!("/{}", uri.path().trim_start_matches('/'));
    Some((token, if rest.is_empty() { path } else { format!("{path}?{}", rest.join("&")) }))
}

fn text(headers: &HeaderMap, name: HeaderName) -> Option<&str> {
    headers.get(name)?.to_str().ok()
}

fn is_loopback(host: &str) -> bool {
    let name = match host.rsplit_once(':') {
        Some((name, port)) if port.chars().all(|c| c.is_ascii_digit()) && !port.is_empty() => name,
        _ => host,
    };
    LOOPBACK.contains(&name)
}

/// What every answer says.
pub(crate) fn protect(headers: &mut HeaderMap) {
    let fixed = [
        (header::CONTENT_SECURITY_POLICY, POLICY),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::X_FRAME_OPTIONS, "DENY"),
        // With `no-referrer` browsers name no origin when a form is sent.
        (header::REFERRER_POLICY, "same-origin"),
        (HeaderName::from_static("cross-origin-opener-policy"), "same-origin"),
        (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
    ];
    for (name, value) in fixed {
        headers.insert(name, HeaderValue::from_static(value));
    }
    headers.entry(header::CACHE_CONTROL).or_insert(HeaderValue::from_static("no-store"));
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(pairs: &[(HeaderName, &str)]) -> HeaderMap {
        pairs.iter().map(|(name, value)| (name.clone(), HeaderValue::from_str(value).unwrap())).collect()
    }

    #[test]
    fn the_token_is_asked_for_and_leaves_the_address() {
        let guard = Guard::new(4_000).unwrap();
        assert_eq!(guard.token().len(), 2 * TOKEN_BYTES);
        let here = headers(&[(HOST, "127.0.0.1:4000")]);
        let check = |uri: &str, headers: &HeaderMap| guard.check(&Method::GET, &uri.parse().unwrap(), headers);
        assert_eq!(check("/", &here), Err(Refused::Token));
        assert_eq!(check("/?token=", &here), Err(Refused::Token));
        assert_eq!(check(&format!("/?token={}0", guard.token()), &here), Err(Refused::Token));
        let to = "/runs/a?q=b".to_owned();
        assert_eq!(check(&format!("/runs/a?token={}&q=b", guard.token()), &here), Ok(Passed::Introduced { to }));
        let cookie = format!("other=1; callsheet_4000={}", guard.token());
        let known = headers(&[(HOST, "localhost:4000"), (COOKIE, &cookie)]);
        assert_eq!(check("/", &known), Ok(Passed::Known));
        let of_another = cookie.replace("4000", "4001");
        assert_eq!(check("/", &headers(&[(HOST, "localhost:4000"), (COOKIE, &of_another)])), Err(Refused::Token));
    }

    #[test]
    fn other_names_and_other_pages_are_refused() {
        let guard = Guard::new(4_000).unwrap();
        let cookie = format!("callsheet_4000={}", guard.token());
        let check = |method: Method, host: &str, origin: Option<&str>| {
            let mut all = vec![(HOST, host), (COOKIE, cookie.as_str())];
            all.extend(origin.map(|origin| (ORIGIN, origin)));
            guard.check(&method, &Uri::from_static("/"), &headers(&all))
        };
        for host in ["example.org", "127.0.0.1.example.org:4000", "localhost:4000.example.org", "10.0.0.1:4000", ""] {
            assert_eq!(check(Method::GET, host, None), Err(Refused::Host), "{host}");
        }
        for host in ["127.0.0.1:4000", "localhost:4000", "[::1]:4000", "localhost"] {
            assert_eq!(check(Method::GET, host, None), Ok(Passed::Known), "{host}");
            assert_eq!(check(Method::POST, host, Some(&format!("http://{host}"))), Ok(Passed::Known), "{host}");
            assert_eq!(check(Method::POST, host, None), Err(Refused::Origin), "{host}");
            for origin in ["null", "http://example.org", "https://127.0.0.1:4000", "http://localhost:4001"] {
                assert_eq!(check(Method::POST, host, Some(origin)), Err(Refused::Origin), "{origin}");
                assert_eq!(check(Method::GET, host, Some(origin)), Err(Refused::Origin), "{origin}");
            }
        }
        // A token in the address opens nothing that changes something.
        let uri: Uri = format!("/runs/a/cancel?token={}", guard.token()).parse().unwrap();
        let here = headers(&[(HOST, "localhost"), (ORIGIN, "http://localhost")]);
        assert_eq!(guard.check(&Method::POST, &uri, &here), Err(Refused::Token));
    }
}
