//! `tools`: the tools of MCP servers, and which of them the person confirmed (spec 13.3).

use std::io::BufRead;

use callsheet_app::Advice;
use callsheet_core::view::counted;
use callsheet_core::visible::{visible, visible_line};
use callsheet_mcp::{DeclaredTool, Files, canonical_name};
use callsheet_runtime::grants::{Caller, GrantedThing, Scope, ToolGrant};
use callsheet_runtime::ports::Grants;
use serde_json::json;

use crate::cli::{Exit, Failure, ToolsArgs, ToolsCommand, ToolsConfirmArgs};
use crate::config::{Confirmed, ConfirmedTools};
use crate::servers::{KnownServer, Servers, servers, unreadable_words};
use crate::setup::Setup;

use super::doctor::{Finding, bad, good};
use super::grants::unusable;

pub(super) fn tools(setup: &Setup, arguments: &ToolsArgs) -> Result<Exit, Failure> {
    let servers = servers(setup);
    match &arguments.command {
        None => list(setup, &servers),
        Some(ToolsCommand::Confirm(confirm)) => confirm_all(setup, &servers, confirm),
        Some(ToolsCommand::Revoke(revoke)) => {
            for known in named(&servers, &revoke.servers)? {
                save(setup, known, Confirmed::default())?;
                super::say(setup, &format!("no tool of {} is confirmed any more", shown(known)))?;
            }
            Ok(Exit::Complete)
        }
    }
}

fn list(setup: &Setup, servers: &Servers) -> Result<Exit, Failure> {
    if servers.known.is_empty() && !setup.json {
        tell!("there are no MCP servers; name one in {}: [mcp.NAME]", setup.folders.config_file().display());
    }
    for known in &servers.known {
        let confirmed = known.confirmed(setup).map_err(|error| unreadable(&error))?.tools;
        if setup.json {
            let tools: Vec<String> =
                confirmed.iter().map(|tool| canonical_name(&known.settings.name, &tool.name)).collect();
            let project = &known.settings.project;
            super::print_json(&json!({ "server": known.settings.name, "project": project, "tools": tools }))?;
            continue;
        }
        let none = if confirmed.is_empty() { ": no tool is confirmed" } else { "" };
        super::print(&format!("{}{none}\n", shown(known)))?;
        for tool in &confirmed {
            let first = tool.description.trim().lines().next().unwrap_or_default();
            let first: String = visible_line(first).chars().take(80).collect();
            super::print(&format!(
                "  {}{}  {first}\n",
                canonical_name(&known.settings.name, &tool.name),
                asks(setup, known, tool)
            ))?;
        }
    }
    Ok(Exit::Complete)
}

/// The tools that a server offers now, and those that were confirmed.
struct Offer<'a> {
    known: &'a KnownServer,
    confirmed: Confirmed,
    offered: Confirmed,
}

impl Offer<'_> {
    fn differs(&self) -> bool {
        self.offered != self.confirmed
    }

    /// Whether an offered tool is new, confirmed or changed.
    fn mark(&self, tool: &DeclaredTool) -> &'static str {
        match self.confirmed.tools.iter().find(|known| known.name == tool.name) {
            None => "new",
            Some(known) if known == tool => "confirmed",
            Some(_) => "changed",
        }
    }
}

fn confirm_all(setup: &Setup, servers: &Servers, arguments: &ToolsConfirmArgs) -> Result<Exit, Failure> {
    let all = named(servers, &arguments.servers)?;
    let runtime = super::runtime()?;
    let mut offers = Vec::new();
    let mut failed = false;
    for known in all {
        tell!("asking {} for its tools …", shown(known));
        let files = known.files(setup);
        if !may_start(setup, known, &files, arguments)? {
            return Err(nothing());
        }
        match runtime.block_on(async { Ok(offered(setup, known, files).await) })? {
            Ok(offer) => offers.push(offer),
            Err(why) => {
                failed = true;
                tell!("{why}{}", log_words(setup, known));
            }
        }
    }
    let same = offers.iter().filter(|offer| !offer.differs());
    same.for_each(|offer| tell!("{} offers what you confirmed", shown(offer.known)));
    offers.retain(Offer::differs);
    for offer in &offers {
        print_offer(setup, offer)?;
    }
    if !offers.is_empty() {
        if !arguments.yes && !asked(arguments, "Confirm these tools as they are now?")? {
            return Err(nothing());
        }
        for offer in offers {
            save(setup, offer.known, offer.offered)?;
        }
        super::say(setup, "confirmed as shown; a task gets only those that its skill or template names")?;
    }
    Ok(if failed { Exit::Internal } else { Exit::Complete })
}

fn nothing() -> Failure {
    Failure::usage("nothing was confirmed", "tasks get only tools that you have confirmed")
}

/// Whether a server may start. Commands can rewrite these files of its program. So unless all of them are as
/// confirmed, this asks the person.
fn may_start(setup: &Setup, known: &KnownServer, files: &Files, arguments: &ToolsConfirmArgs) -> Result<bool, Failure> {
    let confirmed = known.confirmed(setup).map_err(|error| unreadable(&error))?.files;
    let fresh = files.iter().filter(|(path, hash)| confirmed.get(*path) != Some(*hash));
    let names = fresh.map(|(path, _)| crate::left_out::shown(setup, path)).collect::<Vec<_>>().join(", ");
    if names.is_empty() {
        return Ok(true);
    }
    tell!("{} would run these files with your rights, outside the sandbox: {names}", shown(known));
    Ok(arguments.yes || asked(arguments, "Have you checked these files, and may the server start?")?)
}

/// Starts a server to see which usable tools it offers. The server starts only if its files match `files`.
async fn offered<'a>(setup: &Setup, known: &'a KnownServer, files: Files) -> Result<Offer<'a>, String> {
    let server = known.server(setup, files.clone());
    let declared = server.tools().await;
    server.end().await;
    let declared = declared.map_err(|trouble| visible(&trouble.to_string()))?;
    let name = |tool: &DeclaredTool| canonical_name(&known.settings.name, &tool.name);
    let mut tools = Vec::new();
    for tool in &declared {
        let twins = declared.iter().filter(|other| name(other) == name(tool)).count();
        let fault =
            tool.fault().or_else(|| (twins > 1).then(|| "another tool of the server has the same name".to_owned()));
        match fault {
            None => tools.push(tool.clone()),
            Some(why) => tell!("left out {}: {why}", visible_line(&tool.name)),
        }
    }
    tools.sort_by(|one, other| one.name.cmp(&other.name));
    let confirmed = known.confirmed(setup).map_err(|error| error.to_string())?;
    let login = known.has_login(setup);
    Ok(Offer { known, confirmed, offered: Confirmed { files, login, tools } })
}

/// Prints everything that a server declares about new or changed tools. Nothing is cut or hidden.
fn print_offer(setup: &Setup, offer: &Offer<'_>) -> Result<(), Failure> {
    let name = &offer.known.settings.name;
    let offered = &offer.offered.tools;
    let gone = offer.confirmed.tools.iter().filter(|known| !offered.iter().any(|tool| tool.name == known.name));
    if setup.json {
        for tool in offered {
            let mark = offer.mark(tool);
            super::print_json(
                &json!({ "server": name, "tool": canonical_name(name, &tool.name), "is": mark, "declared": tool }),
            )?;
        }
        return Ok(());
    }
    super::print(&format!("{} offers:\n", shown(offer.known)))?;
    for tool in offered {
        let mark = offer.mark(tool);
        let title = format!("  {} ({mark}){}\n", canonical_name(name, &tool.name), asks(setup, offer.known, tool));
        super::print(&title)?;
        if mark != "confirmed" {
            let schema = serde_json::to_string(&tool.schema).unwrap_or_default();
            let words = visible(tool.description.trim()).replace('\n', "\n      ");
            super::print(&format!("      {words}\n      arguments: {}\n", visible_line(&schema)))?;
        }
    }
    for tool in gone {
        super::print(&format!("  {} (gone)\n", canonical_name(name, &tool.name)))?;
    }
    Ok(())
}

/// Where the server's log is, if there is one.
fn log_words(setup: &Setup, known: &KnownServer) -> String {
    let log = known.log(setup);
    if log.exists() { format!("\n  its log: {}", log.display()) } else { String::new() }
}

/// Whether calls of a tool ask first.
fn asks(setup: &Setup, known: &KnownServer, tool: &DeclaredTool) -> String {
    if known.settings.reads.contains(&tool.name) {
        return " only reads".to_owned();
    }
    let granted = ToolGrant::of(&tool.spec(&known.settings)).map(GrantedThing::Tool);
    let grants = setup.grants().counting(&Caller::default());
    match grants.iter().find(|grant| Some(&grant.what) == granted.as_ref()) {
        Some(grant) => format!(" is called without asking (grant {})", grant.n),
        None => " asks before each call".to_owned(),
    }
}

fn asked(arguments: &ToolsConfirmArgs, question: &str) -> Result<bool, Failure> {
    if !crate::term::is_interactive() {
        let servers = arguments.servers.iter().map(String::as_str);
        let command = ["tools", "confirm"].into_iter().chain(servers).chain(["--yes"]);
        let advice = Advice::command("read the list, and then", command);
        return Err(Failure::usage("nothing was confirmed: there is no terminal to ask you", advice));
    }
    tell_part!("{question} [y/N] ");
    let mut line = String::new();
    let _ended = std::io::stdin().lock().read_line(&mut line);
    Ok(matches!(line.trim().to_ascii_lowercase().as_str(), "y" | "yes"))
}

pub(super) fn named<'a>(servers: &'a Servers, names: &[String]) -> Result<Vec<&'a KnownServer>, Failure> {
    if names.is_empty() && servers.known.is_empty() {
        return Err(Failure::usage("there are no MCP servers", "name one in your configuration: [mcp.NAME]"));
    }
    if names.is_empty() {
        return Ok(servers.known.iter().collect());
    }
    let found = |name: &String| {
        servers.named(name).ok_or_else(|| {
            let known: Vec<String> = servers.known.iter().map(|known| visible_line(&known.settings.name)).collect();
            let advice = Advice::from(format!("servers: {}", known.join(", ")))
                .or("a project's servers need your trust first", ["trust"]);
            Failure::usage(format!("there is no server {}", visible_line(name)), advice)
        })
    };
    names.iter().map(found).collect()
}

/// Confirms tools of a server instead of those that were confirmed. Grants for other versions of its tools end, so none
/// comes back if the server returns to an earlier version.
fn save(setup: &Setup, known: &KnownServer, confirmed: Confirmed) -> Result<(), Failure> {
    let settings = &known.settings;
    let now: Vec<ToolGrant> = confirmed.tools.iter().filter_map(|tool| ToolGrant::of(&tool.spec(settings))).collect();
    ConfirmedTools::new(&setup.folders).set(settings, confirmed).map_err(|error| unreadable(&error))?;
    let names = canonical_name(&settings.name, "");
    let is_of_server = |scope: &Scope| settings.project.is_none() || scope.project == settings.project;
    let ended = setup
        .grants()
        .revoke_tools(|grant, scope| grant.tool.starts_with(&names) && is_of_server(scope) && !now.contains(grant));
    for grant in ended.map_err(|error| unusable(setup, &error))? {
        let words = "was for another version of the tool, so it has ended";
        super::say(setup, &format!("grant {} {words}: {}", grant.n, grant.what.shown()))?;
    }
    Ok(())
}

fn unreadable(error: &std::io::Error) -> Failure {
    Failure::internal(unreadable_words(error), "until then no MCP tool is confirmed")
}

pub(super) fn shown(known: &KnownServer) -> String {
    let of = if known.settings.project.is_some() { " (of this project's .mcp.json)" } else { "" };
    format!("{}{of}", visible_line(&known.settings.name))
}

/// Checks each server and its tools, for `doctor`.
pub(super) async fn findings(setup: &Setup) -> Vec<Finding> {
    let servers = servers(setup);
    let mut findings: Vec<Finding> = servers.notices.iter().map(|notice| bad(notice, "")).collect();
    for known in &servers.known {
        let name = shown(known);
        let confirmed = known.confirmed(setup).unwrap_or_default();
        findings.push(match offered(setup, known, confirmed.files).await {
            Err(why) => bad(format!("MCP server {name}: {why}{}", log_words(setup, known)), ""),
            Ok(offer) if offer.differs() => bad(
                format!(
                    "MCP server {name} offers {} now, which differs from what you confirmed",
                    counted(offer.offered.tools.len(), "tool")
                ),
                format!("callsheet tools confirm {}", known.settings.name),
            ),
            Ok(offer) => good(format!("MCP server {name}: {} confirmed", counted(offer.offered.tools.len(), "tool"))),
        });
    }
    findings
}
