//! The settings of servers, from the user's configuration or a project's file.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use callsheet_core::nouns::BlobId;
use callsheet_core::visible::visible_line;
use reqwest::Url;
use reqwest::header::HeaderName;
use serde_json::json;

use crate::limits::START;

/// A server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServerSettings {
    /// The name as it is written in the file.
    pub name: String,
    /// The project whose file names the server. `None` means the user's own configuration.
    pub project: Option<PathBuf>,
    /// How to reach the server.
    pub reach: Reach,
    /// The tools that only read, according to the person.
    pub reads: Vec<String>,
    /// How long the server may take to start.
    pub start: Duration,
}

/// How to reach a server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reach {
    /// A program that speaks over its stdin and stdout.
    Program(ServerProgram),
    /// An address that speaks streamable HTTP.
    Address(ServerAddress),
}

/// A program to start.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ServerProgram {
    /// The program.
    pub command: String,
    /// Its arguments.
    pub args: Vec<String>,
    /// Variables that it gets besides the usual ones.
    pub variables: BTreeMap<String, String>,
    /// The folder in which it starts. A relative path is below the project. `None` means the project if a project names
    /// the server, and otherwise an empty folder that Callsheet makes.
    pub folder: Option<PathBuf>,
}

/// An address to call.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ServerAddress {
    /// The address.
    pub url: String,
    /// Headers that every request carries.
    pub headers: BTreeMap<String, String>,
    /// The client that logs in there.
    pub client: ServerClient,
}

/// The client that logs in at a server's address.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ServerClient {
    /// Its id at the authorization server. `None` means that Callsheet registers itself.
    pub id: Option<String>,
    /// The secret that belongs to the id.
    pub secret: Option<String>,
    /// The port on this machine to which the browser comes back. `None` means any free one.
    pub port: Option<u16>,
}

impl ServerAddress {
    /// Whether others on the network could read the requests.
    pub fn is_unencrypted(&self) -> bool {
        is_open(&self.url)
    }

    /// Whether the settings contain a token already.
    pub(crate) fn has_authorization(&self) -> bool {
        self.headers.keys().any(|name| name.eq_ignore_ascii_case("authorization"))
    }
}

/// Whether others on the network could read requests to an address.
pub(crate) fn is_open(address: &str) -> bool {
    let Ok(url) = Url::parse(address) else { return true };
    let host = url.host_str().unwrap_or_default();
    let number = host.trim_start_matches('[').trim_end_matches(']').parse::<IpAddr>();
    let is_here = number.is_ok_and(|number| number.is_loopback()) || host == "localhost";
    url.scheme() != "https" && !(url.scheme() == "http" && is_here)
}

impl ServerSettings {
    /// A server with the usual limits. None of its tools counts as only reading.
    pub fn new(name: &str, reach: Reach) -> Self {
        Self { name: name.to_owned(), project: None, reach, reads: Vec::new(), start: START }
    }

    /// The hash of the server's place: who names it, and which program or address it is. What a person confirmed or
    /// granted for one place does not count for another.
    pub fn place(&self) -> BlobId {
        let reach = match &self.reach {
            Reach::Program(program) => {
                let folder = program.folder.as_deref().map(Path::to_string_lossy);
                json!({ "command": program.command, "args": program.args, "folder": folder })
            }
            Reach::Address(address) => json!({ "url": address.url }),
        };
        let project = self.project.as_deref().map(Path::to_string_lossy);
        BlobId::of(json!({ "project": project, "reach": reach }).to_string().as_bytes())
    }
}

impl Reach {
    /// Replaces `${NAME}` and `${NAME:-otherwise}` by the values of variables.
    ///
    /// # Errors
    /// A variable is not set. The error is its name.
    pub fn filled(&self, variable: &dyn Fn(&str) -> Option<String>) -> Result<Self, String> {
        let one = |text: &String| filled(text, variable);
        let all = |texts: &BTreeMap<String, String>| {
            texts.iter().map(|(name, text)| Ok((name.clone(), one(text)?))).collect::<Result<_, String>>()
        };
        Ok(match self {
            Self::Program(program) => Self::Program(ServerProgram {
                command: one(&program.command)?,
                args: program.args.iter().map(one).collect::<Result<_, _>>()?,
                variables: all(&program.variables)?,
                folder: program.folder.clone(),
            }),
            Self::Address(address) => {
                let ServerClient { id, secret, port } = &address.client;
                let client = ServerClient {
                    id: id.as_ref().map(one).transpose()?,
                    secret: secret.as_ref().map(one).transpose()?,
                    port: *port,
                };
                Self::Address(ServerAddress { url: one(&address.url)?, headers: all(&address.headers)?, client })
            }
        })
    }

    /// Tells a person why it cannot be used. `None` if it can. Variables must have been replaced.
    pub fn fault(&self) -> Option<String> {
        let Self::Address(address) = self else { return None };
        let named = |name: &&String| HeaderName::from_bytes(name.as_bytes()).is_err();
        if let Some(name) = address.headers.keys().find(named) {
            return Some(format!("`{}` is not the name of a header", visible_line(name)));
        }
        match Url::parse(&address.url) {
            Ok(url) if ["http", "https"].contains(&url.scheme()) => None,
            _ => {
                Some(format!("`{}` is not an address that begins with https:// or http://", visible_line(&address.url)))
            }
        }
    }

    /// The names of the variables that it uses.
    pub fn named_variables(&self) -> Vec<String> {
        let names = std::cell::RefCell::new(Vec::new());
        let note = |name: &str| {
            names.borrow_mut().push(name.to_owned());
            Some(String::new())
        };
        let _filled = self.filled(&note);
        names.into_inner()
    }
}

/// Whether the name of a header suggests that its value is secret.
pub fn is_secret_header(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    ["authorization", "key", "token", "secret", "cookie"].iter().any(|word| name.contains(word))
}

fn filled(text: &str, variable: &dyn Fn(&str) -> Option<String>) -> Result<String, String> {
    let mut out = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("${") {
        out.push_str(before);
        let Some((inside, behind)) = after.split_once('}') else {
            out.push_str("${");
            rest = after;
            continue;
        };
        let (name, otherwise) = match inside.split_once(":-") {
            Some((name, otherwise)) => (name, Some(otherwise.to_owned())),
            None => (inside, None),
        };
        let value = variable(name).filter(|value| otherwise.is_none() || !value.is_empty());
        out.push_str(&value.or(otherwise).ok_or_else(|| name.to_owned())?);
        rest = behind;
    }
    out.push_str(rest);
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variables_are_filled_in_once() {
        let known = |name: &str| match name {
            "TOKEN" => Some("a ${B}".to_owned()),
            "EMPTY" => Some(String::new()),
            _ => None,
        };
        let fill = |text: &str| filled(text, &known);
        assert_eq!(fill("Bearer ${TOKEN}!").unwrap(), "Bearer a ${B}!");
        assert_eq!(fill("${NONE:-x}${EMPTY:-y}${EMPTY}").unwrap(), "xy");
        assert_eq!(fill("${NONE}").unwrap_err(), "NONE");
        assert_eq!(fill("$HOME ${open").unwrap(), "$HOME ${open");
    }

    #[test]
    fn a_header_or_address_that_cannot_be_one_is_a_fault() {
        let of = |url: &str, header: &str| {
            let headers = BTreeMap::from([(header.to_owned(), "x".to_owned())]);
            Reach::Address(ServerAddress { url: url.to_owned(), headers, ..ServerAddress::default() }).fault()
        };
        assert_eq!(of("https://example.org/mcp", "X-Tenant"), None);
        assert!(of("https://example.org/mcp", "x]\",\"--check").unwrap().contains("not the name of a header"));
        assert!(of("file:///etc/passwd", "X-Tenant").unwrap().contains("not an address"));
        assert!(of("example.org", "X-Tenant").is_some());
    }

    #[test]
    fn only_https_and_this_machine_keep_a_header_secret() {
        for (url, unencrypted) in [
            ("https://example.org/mcp", false),
            ("http://127.0.0.1:80/mcp", false),
            ("http://[::1]/mcp", false),
            ("http://localhost:8080", false),
            ("http://192.0.2.1/mcp", true),
            ("http://127.0.0.1.example.org/", true),
            ("http://localhost.example.org/", true),
            ("http://localhost@example.org/", true),
        ] {
            let address = ServerAddress { url: url.to_owned(), ..ServerAddress::default() };
            assert_eq!(address.is_unencrypted(), unencrypted, "{url}");
        }
    }

    #[test]
    fn another_origin_program_or_address_is_another_place() {
        let program =
            |command: &str| Reach::Program(ServerProgram { command: command.to_owned(), ..ServerProgram::default() });
        let one = ServerSettings::new("s", program("a"));
        let of_project = ServerSettings { project: Some(PathBuf::from("/p")), ..one.clone() };
        let address = |url: &str| Reach::Address(ServerAddress { url: url.to_owned(), ..ServerAddress::default() });
        let places = [
            one.place(),
            of_project.place(),
            ServerSettings { project: Some(PathBuf::from("/q")), ..one.clone() }.place(),
            ServerSettings::new("s", program("b")).place(),
            ServerSettings::new("s", address("https://a")).place(),
            ServerSettings::new("s", address("https://b")).place(),
        ];
        assert_eq!(places.iter().collect::<std::collections::BTreeSet<_>>().len(), places.len());
        assert_eq!(one.place(), ServerSettings { reads: vec!["x".to_owned()], ..one }.place());
    }
}
