//! MCP servers of the user's configuration and of the project's trusted `.mcp.json`, and their confirmed tools (spec 13).

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use callsheet_core::nouns::BlobId;
use callsheet_core::visible::visible_line;
use callsheet_mcp::{
    DeclaredTool, Files, Ground, Logins, McpJson, Reach, SECRET, Server, ServerAddress, ServerClient, ServerProgram,
    ServerResources, ServerSettings, canonical_name, is_secret_header, is_shared, read_mcp_json, server_tools,
};
use callsheet_runtime::grants::command_text;
use callsheet_runtime::paths::read_regular;
use callsheet_runtime::ports::Tool;
use callsheet_runtime::shown::keep_secret;
use callsheet_runtime::transport_policy::withheld;
use callsheet_runtime::trust::LeftOut;

use crate::config::{Config, Confirmed, ConfirmedTools, Folders};
use crate::setup::Setup;

/// The file in which projects name their servers.
const FILE: &str = ".mcp.json";

/// A server that may be started. Variables in its settings are filled in.
#[derive(Clone, Debug)]
pub struct KnownServer {
    /// How it is reached.
    pub settings: ServerSettings,
}

/// All servers, and what a person should know of others.
#[derive(Clone, Debug, Default)]
pub struct Servers {
    /// Those that may be started.
    pub known: Vec<KnownServer>,
    /// Why others cannot be used.
    pub notices: Vec<String>,
    /// Canonical names that are in use, also by servers that cannot be used now.
    names: BTreeSet<String>,
}

/// The servers of this project and user. Starts none.
pub fn servers(setup: &Setup) -> Servers {
    let mut servers = Servers::default();
    for name in setup.config.mcp_servers() {
        let settings = of_config(setup, &name);
        if let Some(settings) = servers.claimed(&name, "your configuration", settings) {
            servers.known.push(KnownServer { settings });
        }
    }
    let (path, content) = project_file(setup);
    if !content.is_empty() && setup.trusted().holds(&path, &content) {
        let McpJson { servers: written, faults } = read_mcp_json(&String::from_utf8_lossy(&content));
        servers.notices.extend(faults.iter().map(|fault| format!("{FILE}: {}", visible_line(fault))));
        for settings in written {
            let name = settings.name.clone();
            let settings =
                filled(&settings.reach, true).map(|reach| ServerSettings { reach, ..of_project(setup, settings) });
            if let Some(settings) = servers.claimed(&name, FILE, settings) {
                servers.known.push(KnownServer { settings });
            }
        }
    }
    servers
}

impl Servers {
    /// The settings, if nothing is wrong and the name is free. Names of tools begin with the server's, so two servers
    /// with one name cannot be told apart, and a server that cannot be used now keeps its name.
    fn claimed(&mut self, name: &str, file: &str, settings: Result<ServerSettings, String>) -> Option<ServerSettings> {
        let canonical = canonical_name(name, "");
        let why = match (canonical.trim_end_matches('_'), settings) {
            ("", _) => "its name has no letter and no digit".to_owned(),
            // Tools of all servers have aliases that begin with it.
            ("mcp", _) => "no server can have this name".to_owned(),
            _ if !self.names.insert(canonical.clone()) => "another one has this name already".to_owned(),
            (_, Ok(settings)) => return Some(settings),
            (_, Err(why)) => why,
        };
        self.notices.push(format!("can't use the server `{}` of {file}: {}", visible_line(name), visible_line(&why)));
        None
    }

    /// The server of this name.
    pub fn named(&self, name: &str) -> Option<&KnownServer> {
        self.known.iter().find(|known| known.settings.name == name)
    }
}

impl KnownServer {
    /// A server that can be asked. Nothing is started yet. Its program starts only as long as its files are these.
    pub fn server(&self, setup: &Setup, files: Files) -> Server {
        Server::new(self.settings.clone(), ground(setup, &self.settings), files)
    }

    /// The files of its program that commands could rewrite, as they are now.
    pub fn files(&self, setup: &Setup) -> Files {
        ground(setup, &self.settings).files(&self.settings)
    }

    /// Where its stderr goes.
    pub fn log(&self, setup: &Setup) -> PathBuf {
        folder(setup, &self.settings).with_extension("log")
    }

    /// What the person confirmed of it.
    ///
    /// # Errors
    /// The list cannot be read.
    pub fn confirmed(&self, setup: &Setup) -> std::io::Result<Confirmed> {
        let Confirmed { files, login, tools } = ConfirmedTools::new(&setup.folders).of(&self.settings)?;
        Ok(Confirmed { files, login, tools: usable(&self.settings.name, tools) })
    }

    /// Whether the user has a login at it. One that cannot be read is reported when the server is used.
    pub fn has_login(&self, setup: &Setup) -> bool {
        logins(&setup.folders).holds(&self.settings).unwrap_or(true)
    }

    /// Tells the person to log in, if the tools were confirmed with a login that is gone.
    fn missing_login(&self, setup: &Setup) -> Option<String> {
        let is_missing = self.confirmed(setup).is_ok_and(|confirmed| confirmed.login) && !self.has_login(setup);
        let name = visible_line(&self.settings.name);
        is_missing.then(|| format!("the server {name} requires a login; run callsheet mcp login {name}"))
    }
}

/// The folders around a server.
fn ground(setup: &Setup, settings: &ServerSettings) -> Ground {
    let apart = folder(setup, settings);
    let log = Some(apart.with_extension("log"));
    Ground { project: setup.project.clone(), apart, notes: setup.notes(), log, logins: logins(&setup.folders) }
}

/// The logins of the user at servers.
pub fn logins(folders: &Folders) -> Logins {
    Logins::new(folders.state.join("logins"))
}

/// The folder of a server beside the record.
fn folder(setup: &Setup, settings: &ServerSettings) -> PathBuf {
    setup.store_folder().join("servers").join(canonical_name(&settings.name, "").trim_end_matches('_'))
}

/// Tools of a server that can be told apart by their canonical names.
fn usable(server: &str, tools: Vec<DeclaredTool>) -> Vec<DeclaredTool> {
    let mut names: BTreeMap<String, usize> = BTreeMap::new();
    tools.iter().for_each(|tool| *names.entry(canonical_name(server, &tool.name)).or_default() += 1);
    let alone = |tool: &DeclaredTool| names.get(&canonical_name(server, &tool.name)) == Some(&1);
    tools.into_iter().filter(alone).collect()
}

/// The confirmed tools of all servers, and their resources, for a run. Starts no server.
pub fn connected(setup: &Setup) -> (Vec<Arc<dyn Tool>>, ServerResources) {
    let mut all = Vec::new();
    let mut tools = Vec::new();
    for known in servers(setup).known {
        // A list that cannot be read confirms nothing, which `notices` says.
        let Confirmed { files, tools: confirmed, .. } = known.confirmed(setup).unwrap_or_default();
        let server = Arc::new(known.server(setup, files));
        tools.extend(server_tools(&server, confirmed));
        all.push(server);
    }
    (tools, ServerResources::new(all))
}

/// What a person should know before a run: which servers cannot be used, where a login is missing, and whether nothing
/// is confirmed.
pub fn notices(setup: &Setup) -> Vec<String> {
    let Servers { known, mut notices, .. } = servers(setup);
    let unreadable = known.first().and_then(|known| known.confirmed(setup).err());
    notices.extend(
        unreadable.map(|error| format!("no tool of a server is confirmed, because {}", unreadable_words(&error))),
    );
    notices.extend(known.iter().filter_map(|known| known.missing_login(setup)));
    notices
}

/// Why nothing is confirmed.
pub fn unreadable_words(error: &std::io::Error) -> String {
    format!("the list of confirmed tools can't be used: {error}; repair or delete tools.json in the state folder")
}

/// A server of the project's file.
fn of_project(setup: &Setup, settings: ServerSettings) -> ServerSettings {
    ServerSettings { project: Some(setup.project.clone()), ..settings }
}

/// The project's file if it waits for trust, with what it could do.
pub fn left_out(setup: &Setup) -> Option<LeftOut> {
    let (path, content) = project_file(setup);
    if content.is_empty() || setup.trusted().holds(&path, &content) {
        return None;
    }
    let servers = read_mcp_json(&String::from_utf8_lossy(&content)).servers;
    let names: Vec<String> = servers.iter().map(|server| visible_line(&server.name)).collect();
    let gains = servers.into_iter().map(|server| gains(setup, &of_project(setup, server))).collect();
    let hash = BlobId::of(&content);
    (!names.is_empty()).then_some(LeftOut { path, hash, kind: "servers", names, gains })
}

/// What a server of a project could do.
fn gains(setup: &Setup, server: &ServerSettings) -> String {
    let listed = |words: &str, names: Vec<String>| match names.is_empty() {
        true => String::new(),
        false => format!("{words}{}", names.join(", ")),
    };
    let variables: BTreeSet<String> = server.reach.named_variables().into_iter().collect();
    let with = listed(" with the values of ", variables.into_iter().collect());
    match &server.reach {
        Reach::Program(program) => {
            let words: Vec<String> = std::iter::once(&program.command).chain(&program.args).cloned().collect();
            let set: Vec<String> = program.variables.iter().map(|(name, value)| format!("{name}={value}")).collect();
            let set = if set.is_empty() { String::new() } else { format!("{} ", command_text(&set)) };
            let folder = program.folder.iter().map(|folder| folder.display().to_string()).collect();
            let folder = listed(" in the folder ", folder);
            let files = ground(setup, server).files(server).into_keys();
            let shown = |file: PathBuf| file.strip_prefix(&setup.project).unwrap_or(&file).display().to_string();
            let files = listed(", running the files ", files.map(shown).collect());
            let start = command_text(&words);
            format!("start `{set}{start}`{folder} with your rights, outside the sandbox{with}{files}")
        }
        Reach::Address(address) => {
            let headers = listed(" with the headers ", address.headers.keys().cloned().collect());
            format!("send what models ask its tools to {}{headers}{with}", address.url)
        }
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
        (None, Some(url)) => {
            let text = |part: &str| config.text(&key(part)).map(str::to_owned);
            let port = config.count(&key("callback_port")).map(u16::try_from).transpose();
            let port = port.map_err(|_| format!("{} is not a port", key("callback_port")))?;
            let client = ServerClient { id: text("client_id"), secret: text("client_secret"), port };
            Reach::Address(ServerAddress { url: url.to_owned(), headers: map("headers"), client })
        }
        _ => return Err("give it either a `command` or a `url`".to_owned()),
    };
    let mut settings = ServerSettings::new(name, filled(&reach, false)?);
    settings.reads = config.list(&key("read"));
    if let Some(seconds) = config.count(&key("start_seconds")) {
        settings.start = Duration::from_secs(seconds);
    }
    Ok(settings)
}

/// Fills variables in, and keeps what comes from them from being shown.
fn filled(reach: &Reach, of_project: bool) -> Result<Reach, String> {
    let withheld = withheld();
    let kept = std::cell::RefCell::new(Vec::new());
    let value = |name: &str| {
        if of_project && withheld.contains(name) {
            return None;
        }
        let value = std::env::var(name).ok()?;
        // What every server sees is no secret.
        if !is_shared(name) && !Path::new(&value).exists() {
            kept.borrow_mut().push((SECRET.to_owned(), value.clone()));
        }
        Some(value)
    };
    let filled = reach.filled(&value).map_err(|name| {
        let why = if withheld.contains(&name) { "holds the key of a provider" } else { "is not set" };
        format!("the variable {} {why}", visible_line(&name))
    })?;
    keep_secret(kept.into_inner());
    if let Some(why) = filled.fault() {
        return Err(why);
    }
    match (reach, &filled) {
        (Reach::Address(written), Reach::Address(address)) if address.is_unencrypted() => {
            let is_secret = |(name, value): &(&String, &String)| is_secret_header(name) || value.contains("${");
            match written.headers.iter().find(is_secret) {
                Some((name, _)) => {
                    Err(format!("it would send the header {name} unencrypted; give it an https address"))
                }
                None => Ok(filled),
            }
        }
        _ => Ok(filled),
    }
}

/// Masks the secrets of servers from now on: those of the user's own configuration, and the logins.
pub fn mask_secrets(config: &Config, folders: &Folders) {
    for name in config.mcp_servers() {
        keep_secret(header_secrets(&config.texts_below(&format!("mcp.{name}.headers"))));
        let secret = config.text(&format!("mcp.{name}.client_secret")).filter(|secret| !secret.contains("${"));
        keep_secret(secret.map(|secret| (SECRET.to_owned(), secret.to_owned())));
    }
    logins(folders).mask();
}

/// Values of headers that are not shown: whole, and the token behind a word such as `Bearer`.
fn header_secrets(headers: &BTreeMap<String, String>) -> Vec<(String, String)> {
    let secret = headers.iter().filter(|(name, value)| is_secret_header(name) && !value.contains("${"));
    let parts = |(_, value): (&String, &String)| {
        let token = value.rsplit(' ').next().unwrap_or_default();
        [value.as_str(), token].map(|part| (SECRET.to_owned(), part.to_owned()))
    };
    secret.flat_map(parts).collect()
}
