//! MCP servers of the user's configuration and of the project's trusted `.mcp.json`, and their confirmed tools (spec 13).

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use callsheet_core::nouns::BlobId;
use callsheet_core::visible::visible_line;
use callsheet_mcp::{
    DeclaredTool, McpJson, Reach, Server, ServerAddress, ServerProgram, ServerSettings, canonical_name, read_mcp_json,
    server_tools,
};
use callsheet_runtime::grants::command_text;
use callsheet_runtime::paths::read_regular;
use callsheet_runtime::ports::Tool;
use callsheet_runtime::shown::keep_secret;
use callsheet_runtime::transport_policy::withheld;
use callsheet_runtime::trust::LeftOut;

use crate::config::ConfirmedTools;
use crate::setup::Setup;

/// The file in which projects name their servers.
const FILE: &str = ".mcp.json";

/// A server that may be started.
#[derive(Clone, Debug)]
pub struct KnownServer {
    /// How it is reached. Variables are filled in.
    pub settings: ServerSettings,
    /// The project whose file names it. `None` means the user's own configuration.
    pub project: Option<PathBuf>,
}

/// All servers, and what a person should know of others.
#[derive(Clone, Debug, Default)]
pub struct Servers {
    /// Those that may be started.
    pub known: Vec<KnownServer>,
    /// Why others cannot be used.
    pub notices: Vec<String>,
}

/// The servers of this project and user. Starts none.
pub fn servers(setup: &Setup) -> Servers {
    let mut servers = Servers::default();
    for name in setup.config.mcp_servers() {
        match of_config(setup, &name) {
            Ok(settings) => servers.add(settings, None),
            Err(why) => servers.notices.push(format!("can't use the server mcp.{name}: {why}")),
        }
    }
    let (path, content) = project_file(setup);
    if !content.is_empty() && setup.trusted().holds(&path, &content) {
        let McpJson { servers: written, faults } = read_mcp_json(&String::from_utf8_lossy(&content));
        servers.notices.extend(faults.iter().map(|fault| format!("{FILE}: {}", visible_line(fault))));
        for settings in written {
            match filled(&settings.reach, true) {
                Ok(reach) => servers.add(ServerSettings { reach, ..settings }, Some(&setup.project)),
                Err(why) => {
                    let name = visible_line(&settings.name);
                    servers.notices.push(format!("{FILE}: can't use the server `{name}`: {why}"));
                }
            }
        }
    }
    servers
}

impl Servers {
    fn add(&mut self, settings: ServerSettings, project: Option<&Path>) {
        // Names of tools begin with the server's, so two servers with one name cannot be told apart.
        let same = |known: &KnownServer| canonical_name(&known.settings.name, "") == canonical_name(&settings.name, "");
        if self.known.iter().any(same) {
            let name = visible_line(&settings.name);
            self.notices.push(format!("ignored the server `{name}`: another one has this name already"));
            return;
        }
        self.known.push(KnownServer { settings, project: project.map(Path::to_path_buf) });
    }

    /// The server of this name.
    pub fn named(&self, name: &str) -> Option<&KnownServer> {
        self.known.iter().find(|known| known.settings.name == name)
    }
}

impl KnownServer {
    /// A server that can be asked. Nothing is started yet.
    pub fn server(&self, setup: &Setup) -> Server {
        Server::new(self.settings.clone(), setup.project.clone(), Some(self.log(setup)))
    }

    /// Where its stderr goes.
    pub fn log(&self, setup: &Setup) -> PathBuf {
        let name = canonical_name(&self.settings.name, "");
        setup.store_folder().join("servers").join(format!("{}.log", name.trim_end_matches('_')))
    }

    /// Its tools that the person confirmed.
    ///
    /// # Errors
    /// The list cannot be read.
    pub fn confirmed(&self, setup: &Setup) -> std::io::Result<Vec<DeclaredTool>> {
        let tools = ConfirmedTools::new(&setup.folders).of(&self.settings.name, self.project.as_deref())?;
        Ok(usable(&self.settings.name, tools))
    }
}

/// Tools of a server that can be told apart by their canonical names.
fn usable(server: &str, tools: Vec<DeclaredTool>) -> Vec<DeclaredTool> {
    let mut names: BTreeMap<String, usize> = BTreeMap::new();
    tools.iter().for_each(|tool| *names.entry(canonical_name(server, &tool.name)).or_default() += 1);
    let alone = |tool: &DeclaredTool| names.get(&canonical_name(server, &tool.name)) == Some(&1);
    tools.into_iter().filter(alone).collect()
}

/// The confirmed tools of all servers, for a run.
pub fn tools(setup: &Setup) -> Vec<Arc<dyn Tool>> {
    let known = servers(setup).known.into_iter();
    // A list that cannot be read confirms nothing; `doctor` and `tools` say so.
    known.flat_map(|known| server_tools(known.server(setup), known.confirmed(setup).unwrap_or_default())).collect()
}

/// The project's file if it waits for trust, with what it could do.
pub fn left_out(setup: &Setup) -> Option<LeftOut> {
    let (path, content) = project_file(setup);
    if content.is_empty() || setup.trusted().holds(&path, &content) {
        return None;
    }
    let servers = read_mcp_json(&String::from_utf8_lossy(&content)).servers;
    let names: Vec<String> = servers.iter().map(|server| visible_line(&server.name)).collect();
    let gains = servers.iter().map(gains).collect();
    let hash = BlobId::of(&content);
    (!names.is_empty()).then_some(LeftOut { path, hash, kind: "servers", names, gains })
}

/// What a server of a project could do.
fn gains(server: &ServerSettings) -> String {
    let variables: BTreeSet<String> = server.reach.named_variables().into_iter().collect();
    let variables: Vec<String> = variables.into_iter().collect();
    let with =
        if variables.is_empty() { String::new() } else { format!(" with the values of {}", variables.join(", ")) };
    match &server.reach {
        Reach::Program(program) => {
            let words: Vec<String> = std::iter::once(&program.command).chain(&program.args).cloned().collect();
            let set: Vec<String> = program.variables.iter().map(|(name, value)| format!("{name}={value}")).collect();
            let set = if set.is_empty() { String::new() } else { format!("{} ", command_text(&set)) };
            format!("start `{set}{}` with your rights, outside the sandbox{with}", command_text(&words))
        }
        Reach::Address(address) => format!("send what models ask its tools to {}{with}", address.url),
    }
}

fn project_file(setup: &Setup) -> (PathBuf, Vec<u8>) {
    let path = setup.project.join(FILE);
    let content = read_regular(&path).unwrap_or_default();
    (path, content)
}

fn of_config(setup: &Setup, name: &str) -> Result<ServerSettings, String> {
    let config = &setup.config;
    let key = |part: &str| format!("mcp.{name}.{part}");
    let map = |part: &str| config.texts_below(&key(part));
    let mut words = config.list(&key("command")).into_iter();
    let reach = match (words.next(), config.text(&key("url"))) {
        (Some(command), None) => Reach::Program(ServerProgram {
            command,
            args: words.chain(config.list(&key("args"))).collect(),
            variables: map("env"),
            folder: config.text(&key("cwd")).map(crate::wiring::from_home),
        }),
        (None, Some(url)) => Reach::Address(ServerAddress { url: url.to_owned(), headers: map("headers") }),
        _ => return Err("give it either a `command` or a `url`".to_owned()),
    };
    let mut settings = ServerSettings::new(name, filled(&reach, false)?);
    settings.reads = config.list(&key("read"));
    if let Some(seconds) = config.count(&key("start_seconds")) {
        settings.start = Duration::from_secs(seconds);
    }
    Ok(settings)
}

/// Fills variables in, and keeps what comes from them and all headers from being shown.
fn filled(reach: &Reach, of_project: bool) -> Result<Reach, String> {
    let withheld = withheld();
    let kept = std::cell::RefCell::new(Vec::new());
    let value = |name: &str| {
        if of_project && withheld.contains(name) {
            return None;
        }
        let value = std::env::var(name).ok()?;
        kept.borrow_mut().push((name.to_owned(), value.clone()));
        Some(value)
    };
    let filled = reach.filled(&value).map_err(|name| {
        let why = if withheld.contains(&name) { "holds the key of a provider" } else { "is not set" };
        format!("the variable {} {why}", visible_line(&name))
    })?;
    let secret = |(_, value): &(String, String)| value.len() >= 8 && !Path::new(value).exists();
    keep_secret(kept.into_inner().into_iter().filter(secret));
    if let Reach::Address(address) = &filled {
        keep_secret(header_secrets(&address.headers));
    }
    Ok(filled)
}

/// Values of headers that are not shown: whole, and the token behind a word such as `Bearer`.
pub fn header_secrets(headers: &BTreeMap<String, String>) -> Vec<(String, String)> {
    let parts = |(name, value): (&String, &String)| {
        let token = value.rsplit(' ').next().unwrap_or_default().to_owned();
        [(name.clone(), value.clone()), (name.clone(), token)]
    };
    headers.iter().flat_map(parts).collect()
}
