//! `mcp login` and `mcp logout`: a person's logins at MCP servers (spec 13.9).

use std::process::{Command, Stdio};

use callsheet_mcp::{Login, LoginFault, Logout};
use callsheet_runtime::shown::Shown;

use crate::cli::{Exit, Failure};
use crate::servers::{KnownServer, logins, servers};
use crate::setup::Setup;
use crate::term;

use super::tools::{named, shown};

pub(super) fn login(setup: &Setup, name: &str, scopes: &[String]) -> Result<Exit, Failure> {
    let scopes: Vec<String> = scopes.iter().flat_map(|scope| scope.split_whitespace()).map(str::to_owned).collect();
    let servers = servers(setup);
    let known = server(&servers, name)?;
    let runtime = super::runtime()?;
    runtime.block_on(async { Ok(logged_in(setup, known, &scopes).await) })?.map_err(|error| {
        let why = Shown::text(&error.to_string()).into_string();
        Failure::internal(why, "a token that you have already can be sent with a header (mcp.NAME.headers)")
    })?;
    super::say(setup, &format!("logged in to {}", shown(known)))?;
    let is_confirmed = known.confirmed(setup).is_ok_and(|confirmed| !confirmed.tools.is_empty());
    if !is_confirmed {
        tell!("next, look at its tools: callsheet tools confirm {}", known.settings.name);
    }
    Ok(Exit::Complete)
}

async fn logged_in(setup: &Setup, known: &KnownServer, scopes: &[String]) -> Result<(), LoginFault> {
    let login = Login::begin(&known.settings, &logins(&setup.folders), scopes).await?;
    tell!("log in to {} in your browser:\n{}", shown(known), login.address());
    open(login.address());
    let came_back = if term::is_interactive() {
        tell!("if your browser runs on another machine, paste the address here that it cannot reach at the end");
        tokio::select! {
            came_back = login.came_back() => came_back?,
            pasted = pasted(&login) => pasted,
        }
    } else {
        login.came_back().await?
    };
    login.end(&came_back).await
}

pub(super) fn logout(setup: &Setup, name: &str) -> Result<Exit, Failure> {
    let servers = servers(setup);
    let known = server(&servers, name)?;
    let logins = logins(&setup.folders);
    let end = super::runtime()?.block_on(async { Ok(logins.log_out(&known.settings).await) })?;
    let end = end.map_err(|error| Failure::internal(format!("can't delete the login: {error}"), ""))?;
    let words = match end {
        Logout::None => "is not on this machine".to_owned(),
        Logout::Revoked => "is revoked, and deleted here".to_owned(),
        Logout::NotOffered => {
            "is deleted here; the server offers no way to revoke it, and may accept it until it runs out".to_owned()
        }
        Logout::NotRevoked(reason) => {
            let reason = Shown::text(&reason).into_string();
            format!("is deleted here, but not revoked ({reason}); the server may accept it until it runs out")
        }
    };
    super::say(setup, &format!("the login at {} {words}", shown(known)))?;
    Ok(Exit::Complete)
}

fn server<'a>(servers: &'a crate::servers::Servers, name: &str) -> Result<&'a KnownServer, Failure> {
    let found = named(servers, &[name.to_owned()])?;
    found.into_iter().next().ok_or_else(|| Failure::usage(format!("there is no server {name}"), ""))
}

/// Opens an address in the browser of the desktop, if there is one.
fn open(address: &str) {
    let has_desktop = ["DISPLAY", "WAYLAND_DISPLAY"].iter().any(|name| std::env::var_os(name).is_some());
    let opener = if cfg!(target_os = "macos") { "open" } else { "xdg-open" };
    if has_desktop || cfg!(target_os = "macos") {
        let mut browser = Command::new(opener);
        browser.arg(address).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        // The address is printed, too.
        let _started = browser.spawn();
    }
}

/// Waits for the person to paste the address at which their browser ended. Other lines are answered.
async fn pasted(login: &Login) -> String {
    let (sender, mut lines) = tokio::sync::mpsc::channel(1);
    std::thread::spawn(move || {
        for line in std::io::stdin().lines().map_while(Result::ok) {
            if sender.blocking_send(line).is_err() {
                return;
            }
        }
    });
    while let Some(line) = lines.recv().await {
        if login.is_end(&line) {
            return line;
        }
        tell!("this is not the address that ends the login; it begins with http://127.0.0.1");
    }
    std::future::pending().await
}
