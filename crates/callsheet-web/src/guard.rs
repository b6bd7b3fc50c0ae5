//! Who may use the page: those who have the printed address, through pages of this server.
//!
//! A browser sends the cookie of a host name to every port of that name. The page therefore has a host name that
//! nobody else knows. Other programs may listen at 127.0.0.1, and none of them gets our cookie. If the name cannot be
//! resolved, the address contains the token instead, and there is no cookie.

use std::fmt;

use axum::http::header::{COOKIE, HOST, ORIGIN};
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, Uri, header};
use subtle::ConstantTimeEq;

use callsheet_app::Refusal;

/// The number of random bytes in the name. In hexadecimal, they fit a label of a host name, which has at most 63
/// characters.
const NAME_BYTES: usize = 20;

/// The number of random bytes in the token.
const TOKEN_BYTES: usize = 32;

/// The host names that always mean this machine. A foreign name server could point any other name here.
const LOOPBACK: [&str; 3] = ["127.0.0.1", "localhost", "[::1]"];

/// The name of the cookie.
const COOKIE_NAME: &str = "callsheet";

/// The browser runs and shows only what this server sends, and nothing inline.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; \
                      form-action 'self'; base-uri 'self'; frame-ancestors 'none'";

/// Why a request is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Refused {
    /// The host name in its address is not that of the page.
    Host,
    /// It comes from a page of another server.
    Origin,
    /// Its token is missing or wrong.
    Token,
}

/// How an accepted request continues.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Passed {
    /// It is answered.
    Known,
    /// Its address contains the token. The browser gets the cookie and is redirected to the address without the
    /// token.
    Introduced {
        /// The address without the token.
        to: String,
    },
    /// Its address contains the token and keeps it, because this host name has no cookie.
    Below {
        /// The requested path, without the token.
        path: String,
    },
    /// The address of the first page lacks the final slash, without which relative links do not work.
    Folder {
        /// The address with the slash.
        to: String,
    },
}

/// The name and the token, and the check of every request.
pub struct Guard {
    host: String,
    port: u16,
    token: String,
}

impl fmt::Debug for Guard {
    /// Hides the name and the token.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Guard").finish_non_exhaustive()
    }
}

impl Guard {
    /// A new name and a new token for the server at this port.
    ///
    /// # Errors
    /// The system cannot provide random bytes.
    pub fn new(port: u16) -> Result<Self, Refusal> {
        let host = format!("{}.localhost:{port}", random::<NAME_BYTES>()?);
        Ok(Self { host, port, token: random::<TOKEN_BYTES>()? })
    }

    /// The address that opens the page.
    pub fn address(&self) -> String {
        format!("http://{}/{}/", self.host, self.token)
    }

    /// The address for a browser that cannot resolve the name.
    pub fn plain_address(&self) -> String {
        format!("http://127.0.0.1:{}/{}/", self.port, self.token)
    }

    /// The cookie for a browser that had the token. It names no domain, so no other host name gets it.
    pub(crate) fn set_cookie(&self) -> Option<HeaderValue> {
        HeaderValue::from_str(&format!("{COOKIE_NAME}={}; HttpOnly; SameSite=Strict; Path=/", self.token)).ok()
    }

    pub(crate) fn check(&self, method: &Method, uri: &Uri, headers: &HeaderMap) -> Result<Passed, Refused> {
        let host = text(headers, HOST).ok_or(Refused::Host)?;
        let is_own = is_same(host, &self.host);
        if !is_own && !is_loopback(host) {
            return Err(Refused::Host);
        }
        let is_safe = matches!(*method, Method::GET | Method::HEAD);
        if !is_from_here(headers, host, is_safe) {
            return Err(Refused::Origin);
        }
        let introduced = self.introduction(uri);
        if !is_own {
            return introduced.map(|path| below(uri, path)).ok_or(Refused::Token);
        }
        match introduced {
            Some(path) if is_safe => Ok(Passed::Introduced { to: path }),
            _ if self.is_known(headers) => Ok(Passed::Known),
            _ => Err(Refused::Token),
        }
    }

    fn is_known(&self, headers: &HeaderMap) -> bool {
        let cookies = headers.get_all(COOKIE).iter().filter_map(|value| value.to_str().ok());
        let named = cookies.flat_map(|cookies| cookies.split(';')).filter_map(|cookie| cookie.trim().split_once('='));
        named.filter(|(name, _)| *name == COOKIE_NAME).any(|(_, value)| is_same(value, &self.token))
    }

    /// The address without the token at its beginning.
    fn introduction(&self, uri: &Uri) -> Option<String> {
        let (token, rest) = uri.path().strip_prefix('/').map(|path| path.split_once('/').unwrap_or((path, "")))?;
        if !is_same(token, &self.token) {
            return None;
        }
        let query = uri.query().map(|query| format!("?{query}")).unwrap_or_default();
        // An address that begins with two slashes would lead to another server. Browsers read some other strokes as
        // slashes.
        Some(format!("/{}{query}", rest.trim_start_matches(['/', '\\'])))
    }
}

fn random<const BYTES: usize>() -> Result<String, Refusal> {
    let mut bytes = [0_u8; BYTES];
    getrandom::fill(&mut bytes)
        .map_err(|error| Refusal::internal(format!("the system cannot provide random bytes: {error}"), ""))?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

fn below(uri: &Uri, path: String) -> Passed {
    match uri.path().matches('/').count() {
        1 => Passed::Folder { to: format!("{}/", uri.path()) },
        _ => Passed::Below { path },
    }
}

/// Whether a request comes from a page of this server or from no page. If a page sends no referrer, browsers hide the
/// origin of its forms. The `Sec-Fetch-Site` header is used instead, because pages cannot set it.
fn is_from_here(headers: &HeaderMap, host: &str, is_safe: bool) -> bool {
    match text(headers, ORIGIN) {
        Some("null") => text(headers, HeaderName::from_static("sec-fetch-site")) == Some("same-origin"),
        Some(origin) => origin == format!("http://{host}"),
        None => is_safe && !headers.contains_key(ORIGIN),
    }
}

fn is_same(given: &str, wanted: &str) -> bool {
    bool::from(given.as_bytes().ct_eq(wanted.as_bytes()))
}

fn text(headers: &HeaderMap, name: HeaderName) -> Option<&str> {
    headers.get(name)?.to_str().ok()
}

pub(crate) fn is_loopback(host: &str) -> bool {
    let name = match host.rsplit_once(':') {
        Some((name, port)) if port.chars().all(|c| c.is_ascii_digit()) && !port.is_empty() => name,
        _ => host,
    };
    LOOPBACK.contains(&name)
}

/// Adds the headers of every response.
pub(crate) fn protect(headers: &mut HeaderMap) {
    let fixed = [
        (header::CONTENT_SECURITY_POLICY, POLICY),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::X_FRAME_OPTIONS, "DENY"),
        // The address of a page may contain the token, and its host name is a secret, too.
        (header::REFERRER_POLICY, "no-referrer"),
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

    fn get(guard: &Guard, uri: &str, pairs: &[(HeaderName, &str)]) -> Result<Passed, Refused> {
        guard.check(&Method::GET, &uri.parse().unwrap(), &headers(pairs))
    }

    #[test]
    fn names_and_tokens_are_long_and_never_the_same() {
        let [one, other] = [Guard::new(4_000).unwrap(), Guard::new(4_000).unwrap()];
        assert_eq!(one.host.len(), 2 * NAME_BYTES + ".localhost:4000".len());
        assert_eq!(one.token.len(), 2 * TOKEN_BYTES);
        assert!(one.host != other.host && one.token != other.token && !one.host.contains(&one.token));
        assert!(!format!("{one:?}").contains(&one.token) && !format!("{one:?}").contains(&one.host));
    }

    #[test]
    fn the_own_name_takes_the_token_once_and_then_the_cookie() {
        let guard = Guard::new(4_000).unwrap();
        let own = |uri: &str| get(&guard, uri, &[(HOST, &guard.host)]);
        assert_eq!(own("/"), Err(Refused::Token));
        assert_eq!(own("//"), Err(Refused::Token));
        assert_eq!(own(&format!("/{}0/", guard.token)), Err(Refused::Token));
        assert_eq!(own(&format!("/{}/", &guard.token[1..])), Err(Refused::Token));
        for (address, to) in [
            ("", "/"),
            ("/", "/"),
            ("/runs/a?q=b", "/runs/a?q=b"),
            ("//example.org", "/example.org"),
            (r"/\example.org", "/example.org"),
        ] {
            let to = to.to_owned();
            assert_eq!(own(&format!("/{}{address}", guard.token)), Ok(Passed::Introduced { to }), "{address}");
        }
        let cookie = format!("other=1; callsheet={}", guard.token);
        assert_eq!(get(&guard, "/", &[(HOST, &guard.host), (COOKIE, &cookie)]), Ok(Passed::Known));
        for wrong in [cookie.replace("callsheet", "callsheets"), format!("{cookie}0"), "callsheet=".to_owned()] {
            assert_eq!(get(&guard, "/", &[(HOST, &guard.host), (COOKIE, &wrong)]), Err(Refused::Token), "{wrong}");
        }
        // A token in the address must not allow a request that changes something.
        let uri: Uri = format!("/{}/runs/a/cancel", guard.token).parse().unwrap();
        let here = headers(&[(HOST, &guard.host), (ORIGIN, &format!("http://{}", guard.host))]);
        assert_eq!(guard.check(&Method::POST, &uri, &here), Err(Refused::Token));
    }

    #[test]
    fn a_number_takes_the_token_in_each_address_and_no_cookie() {
        let guard = Guard::new(4_000).unwrap();
        let cookie = format!("callsheet={}", guard.token);
        for host in ["127.0.0.1:4000", "localhost:4000", "[::1]:4000", "localhost"] {
            assert_eq!(get(&guard, "/", &[(HOST, host), (COOKIE, &cookie)]), Err(Refused::Token), "{host}");
            let below = get(&guard, &format!("/{}/runs/a?q=b", guard.token), &[(HOST, host)]);
            assert_eq!(below, Ok(Passed::Below { path: "/runs/a?q=b".to_owned() }), "{host}");
            let to = format!("/{}/", guard.token);
            assert_eq!(get(&guard, &to[..to.len() - 1], &[(HOST, host)]), Ok(Passed::Folder { to }), "{host}");
        }
    }

    #[test]
    fn other_names_are_refused() {
        let guard = Guard::new(4_000).unwrap();
        let cookie = format!("callsheet={}", guard.token);
        let (name, _) = guard.host.split_once('.').unwrap();
        let other = Guard::new(4_000).unwrap();
        let own = [
            format!("{name}.localhost"),
            format!("{name}.localhost:4001"),
            format!("{name}.localhost.:4000"),
            format!("a.{name}.localhost:4000"),
            format!("{}.localhost:4000", name.to_uppercase().replace(|c: char| c.is_ascii_digit(), "A")),
            format!("{name}:4000"),
            other.host,
        ];
        let foreign = ["example.org", "127.0.0.1.example.org:4000", "localhost:4000.example.org", "10.0.0.1:4000", ""];
        for host in own.iter().map(String::as_str).chain(foreign) {
            assert_eq!(get(&guard, "/", &[(HOST, host), (COOKIE, &cookie)]), Err(Refused::Host), "{host}");
        }
        assert_eq!(get(&guard, "/", &[(COOKIE, &cookie)]), Err(Refused::Host));
    }

    #[test]
    fn only_own_pages_change_something() {
        let guard = Guard::new(4_000).unwrap();
        let cookie = format!("callsheet={}", guard.token);
        let site = || HeaderName::from_static("sec-fetch-site");
        let check = |method: Method, more: &[(HeaderName, &str)]| {
            let own = headers(&[&[(HOST, guard.host.as_str()), (COOKIE, &cookie)], more].concat());
            guard.check(&method, &Uri::from_static("/"), &own)
        };
        let own = format!("http://{}", guard.host);
        assert_eq!(check(Method::POST, &[(ORIGIN, &own)]), Ok(Passed::Known));
        assert_eq!(check(Method::POST, &[(ORIGIN, "null"), (site(), "same-origin")]), Ok(Passed::Known));
        assert_eq!(check(Method::POST, &[]), Err(Refused::Origin));
        assert_eq!(check(Method::POST, &[(site(), "same-origin")]), Err(Refused::Origin));
        let foreign = [
            "null",
            "http://example.org",
            "http://localhost:4000",
            &own.replace("http:", "https:"),
            &format!("{own}1"),
        ];
        for origin in foreign {
            for method in [Method::GET, Method::POST] {
                assert_eq!(check(method, &[(ORIGIN, origin)]), Err(Refused::Origin), "{origin}");
            }
            assert_eq!(
                check(Method::POST, &[(ORIGIN, origin), (site(), "same-site")]),
                Err(Refused::Origin),
                "{origin}"
            );
        }
    }
}
