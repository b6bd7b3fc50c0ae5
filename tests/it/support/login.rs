//! An MCP server that requires a login, and the authorization server beside it, each at an address of its own.

use std::collections::BTreeMap;
use std::io::Write;
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex, MutexGuard};

use callsheet_core::nouns::BlobId;
use serde_json::{Value, json};

use super::server::request_with_head;

/// A request: which server got it, its first line, its other headers in lower case, and its body.
#[derive(Clone, Debug)]
pub struct Got {
    pub server: &'static str,
    pub line: String,
    pub headers: String,
    pub body: String,
}

/// How the servers behave.
#[derive(Clone, Debug, Default)]
pub struct Manner {
    /// How long an access token lasts, in seconds.
    pub lasts: Option<u64>,
    /// No client can register by itself; this one and its secret are known.
    pub client: Option<(String, String)>,
    /// The person refuses.
    pub refuses: bool,
    /// No token can be renewed.
    pub revoked: bool,
    /// Another authorization server that the MCP server names.
    pub other: Option<String>,
    /// The address that the authorization server names for tokens.
    pub token_endpoint: Option<String>,
    /// The address below the authorization server for revocations, if it offers them.
    pub revocation: Option<&'static str>,
    /// The scope that a call of a tool needs.
    pub needs: Option<&'static str>,
}

#[derive(Default)]
struct State {
    manner: Manner,
    got: Vec<Got>,
    /// The parameters of each login in progress, by its code.
    codes: BTreeMap<String, BTreeMap<String, String>>,
    made: usize,
    access: Option<String>,
    refresh: Option<String>,
    /// The scopes of the newest login.
    scopes: String,
}

/// Both servers. They answer until the test ends.
#[derive(Clone)]
pub struct LoginServers {
    /// The address of the MCP server.
    pub url: String,
    /// The address of the authorization server.
    pub issuer: String,
    state: Arc<Mutex<State>>,
}

type Reply = (u16, Vec<(&'static str, String)>, String);

impl LoginServers {
    pub fn start(manner: Manner) -> Self {
        let listeners = [(); 2].map(|()| TcpListener::bind("127.0.0.1:0").unwrap());
        let at = |listener: &TcpListener| format!("http://{}", listener.local_addr().unwrap());
        let [resource, issuer] = &listeners;
        let (url, issuer) = (format!("{}/mcp", at(resource)), at(issuer));
        let servers = Self { url, issuer, state: Arc::new(Mutex::new(State { manner, ..State::default() })) };
        for (listener, name) in listeners.into_iter().zip(["resource", "issuer"]) {
            let servers = servers.clone();
            std::thread::spawn(move || {
                for stream in listener.incoming().flatten() {
                    let servers = servers.clone();
                    std::thread::spawn(move || servers.serve(stream, name));
                }
            });
        }
        servers
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap()
    }

    pub fn behave(&self, manner: Manner) {
        self.state().manner = manner;
    }

    /// The requests that a server got so far and whose first line contains this.
    pub fn got(&self, server: &str, line: &str) -> Vec<Got> {
        let is_asked = |got: &&Got| got.server == server && got.line.contains(line);
        self.state().got.iter().filter(is_asked).cloned().collect()
    }

    /// The tokens that count now.
    pub fn tokens(&self) -> Vec<String> {
        let state = self.state();
        state.access.iter().chain(&state.refresh).cloned().collect()
    }

    /// No token counts any more.
    pub fn revoke(&self) {
        let mut state = self.state();
        (state.access, state.refresh, state.manner.revoked) = (None, None, true);
    }

    fn serve(&self, mut stream: TcpStream, server: &'static str) -> Option<()> {
        let mut bytes = Vec::new();
        loop {
            let (head, body) = request_with_head(&mut stream, &mut bytes)?;
            let (line, headers) = head.split_once("\r\n")?;
            let got = Got { server, line: line.to_owned(), headers: headers.to_owned(), body };
            self.state().got.push(got.clone());
            let (status, headers, body) = match server {
                "resource" => self.of_resource(&got),
                _ => self.of_issuer(&got),
            };
            let headers: String = headers.iter().map(|(name, value)| format!("{name}: {value}\r\n")).collect();
            let kind = "content-type: application/json";
            let length = body.len();
            write!(stream, "HTTP/1.1 {status} Played\r\n{kind}\r\n{headers}content-length: {length}\r\n\r\n{body}")
                .ok()?;
        }
    }

    fn of_resource(&self, got: &Got) -> Reply {
        let state = self.state();
        if got.line.contains("/.well-known/oauth-protected-resource/mcp") {
            let issuer = state.manner.other.as_ref().unwrap_or(&self.issuer);
            return ok(&json!({ "resource": self.url, "authorization_servers": [issuer] }));
        }
        if !got.line.contains(" /mcp ") {
            return (404, Vec::new(), String::new());
        }
        let bearer = got.headers.lines().find_map(|line| line.strip_prefix("authorization: "));
        let is_allowed = state.access.as_ref().is_some_and(|access| bearer == Some(&format!("Bearer {access}")));
        if !is_allowed {
            let place = self.url.replace("/mcp", "/.well-known/oauth-protected-resource/mcp");
            let challenge = format!("Bearer resource_metadata=\"{place}\", scope=\"levels\"");
            return (401, vec![("www-authenticate", challenge)], String::new());
        }
        let message: Value = serde_json::from_str(&got.body).unwrap_or_default();
        if let Some(scope) = state.manner.needs.filter(|_| message["method"] == "tools/call")
            && !state.scopes.split(' ').any(|one| one == scope)
        {
            let challenge = format!("Bearer error=\"insufficient_scope\", scope=\"{scope}\"");
            return (403, vec![("www-authenticate", challenge)], String::new());
        }
        let schema = json!({ "type": "object", "properties": { "place": { "type": "string" } } });
        let result = match message["method"].as_str().unwrap_or_default() {
            "initialize" => json!({ "protocolVersion": "2025-11-25", "capabilities": { "tools": {} },
                "serverInfo": { "name": "shed", "version": "1" } }),
            "tools/list" => json!({ "tools": [{ "name": "level", "inputSchema": schema }] }),
            // A careless server says what it was sent.
            "tools/call" => json!({ "content": [{ "type": "text", "text": format!("41 cm for {bearer:?}") }] }),
            _ if message["id"].is_null() => return (202, Vec::new(), String::new()),
            _ => {
                let error = json!({ "code": -32601, "message": "unknown" });
                return ok(&json!({ "jsonrpc": "2.0", "id": message["id"], "error": error }));
            }
        };
        ok(&json!({ "jsonrpc": "2.0", "id": message["id"], "result": result }))
    }

    fn of_issuer(&self, got: &Got) -> Reply {
        let target = got.line.split(' ').nth(1).unwrap_or_default();
        let (path, query) = target.split_once('?').unwrap_or((target, ""));
        match path {
            "/.well-known/oauth-authorization-server" => self.metadata(),
            "/register" => self.registered(got),
            "/authorize" => self.authorized(form(query)),
            "/token" => self.token(got),
            "/revoke" => self.revoked(got),
            _ => (404, Vec::new(), String::new()),
        }
    }

    fn metadata(&self) -> Reply {
        let state = self.state();
        let at = |path: &str| format!("{}{path}", self.issuer);
        let token = state.manner.token_endpoint.clone().unwrap_or_else(|| at("/token"));
        let mut metadata = json!({ "issuer": self.issuer, "authorization_endpoint": at("/authorize"),
            "token_endpoint": token, "response_types_supported": ["code"],
            "code_challenge_methods_supported": ["S256"], "scopes_supported": ["levels", "offline_access"] });
        if let Some(path) = state.manner.revocation {
            metadata["revocation_endpoint"] = at(path).into();
        }
        if state.manner.client.is_none() {
            metadata["registration_endpoint"] = at("/register").into();
        }
        ok(&metadata)
    }

    fn registered(&self, got: &Got) -> Reply {
        let asked: Value = serde_json::from_str(&got.body).unwrap();
        let uris = &asked["redirect_uris"];
        (201, Vec::new(), json!({ "client_id": "client-1", "redirect_uris": uris }).to_string())
    }

    /// The page on which a person logs in. This person does so at once, or refuses.
    fn authorized(&self, asked: BTreeMap<String, String>) -> Reply {
        let mut state = self.state();
        state.made += 1;
        let code = format!("code-number-{}", state.made);
        let end = match state.manner.refuses {
            true => "error=access_denied&error_description=Not%20today".to_owned(),
            false => format!("code={code}"),
        };
        let back = format!("{}?{end}&state={}", asked["redirect_uri"], asked["state"]);
        state.codes.insert(code, asked);
        (302, vec![("location", back)], String::new())
    }

    /// A revoked token no longer counts.
    fn revoked(&self, got: &Got) -> Reply {
        let mut state = self.state();
        let asked = form(&got.body);
        let is = |token: &Option<String>| token.is_some() && token.as_ref() == asked.get("token");
        if is(&state.refresh) {
            state.refresh = None;
        }
        if is(&state.access) {
            state.access = None;
        }
        (200, Vec::new(), String::new())
    }

    fn token(&self, got: &Got) -> Reply {
        let mut state = self.state();
        let asked = form(&got.body);
        let refused = |why: &str| (400, Vec::new(), json!({ "error": why }).to_string());
        if let Some((id, secret)) = &state.manner.client {
            let basic = format!("authorization: Basic {}", base64(format!("{id}:{secret}").as_bytes(), true));
            if !got.headers.lines().any(|line| line == basic) {
                return refused("invalid_client");
            }
        }
        if asked.get("resource") != Some(&self.url) {
            return refused("invalid_target");
        }
        if let Some(begun) = asked.get("code").and_then(|code| state.codes.get(code)) {
            state.scopes = begun.get("scope").cloned().unwrap_or_default();
        }
        let is_good = match asked["grant_type"].as_str() {
            "authorization_code" => state.codes.remove(&asked["code"]).is_some_and(|begun| {
                let hash = BlobId::of(asked["code_verifier"].as_bytes()).to_string();
                let bytes: Vec<u8> =
                    (0..64).step_by(2).map(|at| u8::from_str_radix(&hash[at..at + 2], 16).unwrap()).collect();
                let same = |name: &str| begun.get(name) == asked.get(name);
                begun["code_challenge"] == base64(&bytes, false) && same("redirect_uri") && same("resource")
            }),
            "refresh_token" => {
                !state.manner.revoked && state.refresh.is_some() && state.refresh.as_ref() == asked.get("refresh_token")
            }
            _ => false,
        };
        if !is_good {
            return refused("invalid_grant");
        }
        state.made += 1;
        // Each refresh token counts once.
        state.access = Some(format!("access-token-{}", state.made));
        state.refresh = Some(format!("refresh-token-{}", state.made));
        let mut answer =
            json!({ "access_token": state.access, "refresh_token": state.refresh, "token_type": "Bearer" });
        if let Some(lasts) = state.manner.lasts {
            answer["expires_in"] = lasts.into();
        }
        ok(&answer)
    }
}

fn ok(body: &Value) -> Reply {
    (200, Vec::new(), body.to_string())
}

/// The values of a form or a query.
fn form(text: &str) -> BTreeMap<String, String> {
    reqwest::Url::parse(&format!("http://form/?{text}")).unwrap().query_pairs().into_owned().collect()
}

fn base64(bytes: &[u8], is_padded: bool) -> String {
    let letters: Vec<char> = ('A'..='Z').chain('a'..='z').chain('0'..='9').chain(['-', '_']).collect();
    let mut out = String::new();
    for part in bytes.chunks(3) {
        let whole = part.iter().chain([&0; 2]).take(3).fold(0, |sum, byte| sum << 8 | usize::from(*byte));
        (0..=part.len()).for_each(|at| out.push(letters[whole >> (18 - 6 * at) & 63]));
    }
    match is_padded {
        true => out.replace('-', "+").replace('_', "/") + &"=".repeat((3 - bytes.len() % 3) % 3),
        false => out,
    }
}

/// What a browser does on the page on which a person logs in: it goes where it is sent.
pub fn browse(address: &str) -> String {
    let location = get(address).0.expect("the page leads back");
    get(&location).1
}

/// Requests an address. Returns where it leads, and the text of the answer.
pub fn get(address: &str) -> (Option<String>, String) {
    use std::io::Read;
    let url = reqwest::Url::parse(address).unwrap();
    let mut stream = TcpStream::connect((url.host_str().unwrap(), url.port().unwrap())).unwrap();
    let target = format!("{}?{}", url.path(), url.query().unwrap_or_default());
    write!(stream, "GET {target} HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n").unwrap();
    stream.shutdown(std::net::Shutdown::Write).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    let location = answer.lines().find_map(|line| line.strip_prefix("location: ")).map(str::to_owned);
    (location, answer)
}
