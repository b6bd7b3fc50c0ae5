//! Logins at MCP servers: begun by a person, used and renewed by runs, and sent nowhere else.
#![cfg(feature = "mcp")]
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "tests")]

use std::io::{BufRead, BufReader, Read};
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::Stdio;

use crate::e2e_mcp::{APPROVED, confirm, garden};
use crate::support::garden::{Ended, TestProject};
use crate::support::login::{LoginServers, Manner, browse, get};

/// A garden whose user has the server `shed` at this address.
fn at(servers: &LoginServers, settings: &str, made: &[&str]) -> TestProject {
    let garden = garden(&["level"], "", made);
    configure(&garden, &format!("url = '{}'\n{settings}", servers.url));
    garden
}

fn configure(garden: &TestProject, settings: &str) {
    std::fs::write(garden.home().join("config.toml"), format!("[mcp.shed]\n{settings}")).unwrap();
}

/// Logs in; `browser` gets the address of the page.
fn login_with(garden: &TestProject, browser: impl FnOnce(&str)) -> Ended {
    login_as(garden, &[], browser)
}

fn login_as(garden: &TestProject, more: &[&str], browser: impl FnOnce(&str)) -> Ended {
    let log = log(garden);
    let mut command = garden.command(&[&["mcp", "login", "shed", "--log", &log], more].concat());
    let mut child = command.env("CALLSHEET_LOG", LOGGED).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(child.stderr.take().unwrap()).lines().map_while(Result::ok);
    let mut told = Vec::new();
    for line in lines.by_ref() {
        told.push(line.clone());
        if line.starts_with("http") {
            browser(&line);
            break;
        }
    }
    told.extend(lines);
    let mut out = String::new();
    child.stdout.take().unwrap().read_to_string(&mut out).unwrap();
    Ended { code: child.wait().unwrap().code().unwrap_or(-1), out, err: told.join("\n") }
}

/// Goes back from the page without a login.
fn refuse(page: &str) {
    let page = reqwest::Url::parse(page).unwrap();
    let value = |name: &str| page.query_pairs().find(|(key, _)| key == name).unwrap().1.into_owned();
    get(&format!("{}?error=access_denied&state={}", value("redirect_uri"), value("state")));
}

fn login(garden: &TestProject) -> Ended {
    login_for(garden, &[])
}

fn login_for(garden: &TestProject, more: &[&str]) -> Ended {
    let ended = login_as(garden, more, |page| drop(browse(page)));
    assert_eq!(ended.code, 0, "{}", ended.err);
    ended
}

/// Everything that is logged of the library and of Callsheet.
const LOGGED: &str = "rmcp=trace,callsheet_mcp=trace,callsheet=trace";

fn log(garden: &TestProject) -> String {
    garden.home().join("log.jsonl").display().to_string()
}

/// The files with logins.
fn kept(garden: &TestProject) -> Vec<PathBuf> {
    let files = std::fs::read_dir(garden.home().join("state/logins")).into_iter().flatten().flatten();
    files.map(|file| file.path()).filter(|file| file.extension().is_some_and(|ending| ending == "json")).collect()
}

fn everything_below(folder: PathBuf) -> String {
    let mut files = Vec::new();
    crate::support::walk(&folder, &mut files);
    files.iter().map(|file| String::from_utf8_lossy(&std::fs::read(file).unwrap()).into_owned()).collect()
}

/// covers: 13.9, 13.7
#[test]
fn a_person_logs_in_and_a_run_calls_the_tools() {
    let servers = LoginServers::start(Manner::default());
    let garden = at(&servers, "", &["level"]);
    let refused = garden.expect(1, &["tools", "confirm", "--yes"]);
    assert!(refused.err.contains("callsheet mcp login shed"), "{}", refused.err);
    let ended = login(&garden);
    assert!(ended.err.contains("callsheet tools confirm shed"), "{}", ended.err);
    let page = &servers.got("issuer", "GET /authorize")[0].line;
    for part in ["code_challenge_method=S256", "resource=http", "scope=levels", "client_id=client-1", "127.0.0.1"] {
        assert!(page.contains(part), "{page}");
    }
    let file = kept(&garden).pop().unwrap();
    assert_eq!(file.metadata().unwrap().permissions().mode() & 0o777, 0o600);
    confirm(&garden);
    let log = log(&garden);
    let mut command = garden.command(&[APPROVED, &["--log", &log]].concat());
    let ended = Ended::from(command.env("CALLSHEET_LOG", LOGGED).output().unwrap());
    assert_eq!(ended.code, 0, "{}", ended.err);
    let prompt = garden.expect(0, &["show", "--prompt", "2"]).out;
    assert!(prompt.contains("41 cm") && prompt.contains("secret of an MCP server"), "{prompt}");
    let log = std::fs::read_to_string(log).unwrap();
    let shown = everything_below(garden.path(".callsheet")) + &log + &prompt + &ended.out + &ended.err;
    servers.tokens().iter().for_each(|token| assert!(!shown.contains(token), "{token}"));
    assert!(log.contains("rmcp") && !log.contains("code-number-"), "the library logs, without the code");
    assert!(
        servers.got("issuer", "").iter().all(|got| !got.headers.contains("Bearer")),
        "an access token is for the server"
    );
    assert!(servers.got("resource", "").iter().all(|got| !format!("{got:?}").contains("refresh-token")));
}

/// covers: 13.9
#[test]
fn a_run_without_a_login_names_the_command_before_its_first_call() {
    let servers = LoginServers::start(Manner::default());
    let mut garden = at(&servers, "", &["level"]);
    login(&garden);
    confirm(&garden);
    let ended = garden.expect(0, &["mcp", "logout", "shed"]);
    assert!(ended.out.contains("deleted") || ended.err.contains("deleted"), "{} {}", ended.out, ended.err);
    assert!(kept(&garden).is_empty());
    let again = garden.expect(0, &["mcp", "logout", "shed"]);
    assert!((again.out + &again.err).contains("not on this machine"));
    garden.forget_model();
    let before = garden.call(APPROVED);
    assert!(before.err.contains("requires a login; run callsheet mcp login shed"), "{}", before.err);
    crate::e2e_mcp::follow(&mut garden, &["level"]);
    let calls = servers.got("resource", "POST /mcp").len();
    let ended = garden.expect(0, APPROVED);
    assert!(ended.err.matches("callsheet mcp login shed").count() >= 2, "{}", ended.err);
    assert!(servers.got("resource", "POST /mcp").len() > calls, "the call was tried, and nobody logged in by itself");
    assert_eq!(servers.got("issuer", "/authorize").len(), 1);
}

/// Every request needs a new token, and each refresh token counts once.
///
/// covers: 13.9
#[test]
fn a_login_is_renewed_and_ends_when_the_server_refuses() {
    let servers = LoginServers::start(Manner { lasts: Some(0), ..Manner::default() });
    let garden = at(&servers, "", &["level"]);
    login(&garden);
    confirm(&garden);
    garden.expect(0, APPROVED);
    let renewed = servers.got("issuer", "POST /token");
    assert!(renewed.len() > 4 && renewed.iter().all(|got| got.body.contains("resource=http")), "{renewed:?}");
    servers.revoke();
    let ended = garden.expect(0, APPROVED);
    assert!(!ended.err.contains("note: the server shed requires a login"), "nobody could know: {}", ended.err);
    assert!(ended.err.contains("callsheet mcp login shed"), "{}", ended.err);
    assert!(kept(&garden).is_empty(), "what the server refused is no login any more");
    let next = garden.expect(0, APPROVED);
    assert!(next.err.contains("note: the server shed requires a login"), "{}", next.err);
}

/// covers: 13.9
#[test]
fn a_login_goes_to_no_other_server() {
    let (servers, thief) = (LoginServers::start(Manner::default()), LoginServers::start(Manner::default()));
    let garden = at(&servers, "", &["level"]);
    login(&garden);
    confirm(&garden);
    // The server names another authorization server from now on.
    servers.behave(Manner { other: Some(thief.issuer.clone()), ..Manner::default() });
    let ended = garden.expect(0, APPROVED);
    assert!(ended.err.contains("callsheet mcp login shed"), "{}", ended.err);
    assert!(thief.got("issuer", "POST").is_empty());
    let refused = login_with(&garden, |page| {
        assert!(page.starts_with(&thief.issuer), "only a person goes there: {page}");
        refuse(page);
    });
    assert!(refused.err.contains("access_denied"), "{}", refused.err);
    // Its authorization server names another place for tokens.
    servers.behave(Manner::default());
    login(&garden);
    servers.behave(Manner { token_endpoint: Some("http://example.org/token".to_owned()), ..Manner::default() });
    let ended = garden.expect(0, APPROVED);
    assert!(ended.err.contains("not https: http://example.org/token"), "{}", ended.err);
    // The server is at another address.
    servers.behave(Manner::default());
    configure(&garden, &format!("url = '{}'\n", thief.url));
    garden.expect(1, &["tools", "confirm", "--yes"]);
    assert!(thief.got("resource", "").iter().all(|got| !got.headers.contains("authorization")));
}

/// covers: 13.9
#[test]
fn who_refuses_or_cannot_log_in_is_told_why() {
    let servers = LoginServers::start(Manner { refuses: true, ..Manner::default() });
    let garden = at(&servers, "", &[]);
    let ended = login_with(&garden, |page| drop(browse(page)));
    assert!(ended.code == 1 && ended.err.contains("it was refused: access_denied (Not today)"), "{}", ended.err);
    assert!(kept(&garden).is_empty());
    servers.behave(Manner::default());
    let wrong = login_with(&garden, |page| {
        let (back, _) = get(page);
        let forged = get(&back.clone().unwrap().replace("state=", "state=x")).1;
        assert!(forged.starts_with("HTTP/1.1 404"), "{forged}");
        let taken = get(&back.unwrap()).1;
        assert!(taken.contains("You can close this page"), "{taken}");
    });
    assert_eq!(wrong.code, 0, "a forged answer does not end the login: {}", wrong.err);
    let refused = |settings: &str, why: &str| {
        configure(&garden, settings);
        let ended = garden.expect(1, &["mcp", "login", "shed"]);
        assert!(ended.err.contains(why), "{}", ended.err);
    };
    refused("command = 'cat'\n", "it is a program");
    refused("url = 'http://192.0.2.1/mcp'\n", "not https");
    refused(&format!("url = '{}'\nheaders = {{ authorization = 'Bearer x' }}\n", servers.url), "header Authorization");
    refused(&format!("url = '{}'\n", servers.url.replace("/mcp", "/other")), "can't log in");
    refused("url = 'http://127.0.0.1:9/mcp'\n", "can't log in");
    let ended = garden.expect(2, &["mcp", "login", "nobody"]);
    assert!(ended.err.contains("there is no server nobody"), "{}", ended.err);
}

/// covers: 13.9
#[test]
fn a_client_that_was_registered_by_hand_logs_in_with_its_secret() {
    let client = Some(("callsheet-by-hand".to_owned(), "secret-of-the-client".to_owned()));
    let servers = LoginServers::start(Manner { client, lasts: Some(0), ..Manner::default() });
    let garden = at(&servers, "", &["level"]);
    let ended = garden.expect(1, &["mcp", "login", "shed"]);
    assert!(ended.err.contains("set mcp.shed.client_id"), "{}", ended.err);
    let settings = "client_id = 'callsheet-by-hand'\nclient_secret = 'secret-of-the-client'\n";
    configure(&garden, &format!("url = '{}'\n{settings}", servers.url));
    login(&garden);
    confirm(&garden);
    garden.expect(0, APPROVED);
    assert!(servers.got("issuer", "POST /token").len() > 4, "the secret renews, too");
    let shown = garden.expect(0, &["config"]).out;
    assert!(!shown.contains("secret-of-the-client"), "{shown}");
}

/// covers: 13.9
#[test]
fn a_login_is_revoked_when_it_is_given_up() {
    let servers = LoginServers::start(Manner { revocation: Some("/revoke"), ..Manner::default() });
    let garden = at(&servers, "", &[]);
    login(&garden);
    let ended = garden.expect(0, &["mcp", "logout", "shed"]);
    assert!((ended.out + &ended.err).contains("is revoked, and deleted here"));
    assert!(servers.tokens().is_empty() && kept(&garden).is_empty());
    let sent = servers.got("issuer", "POST /revoke");
    let hints: Vec<bool> = sent.iter().map(|got| got.body.contains("token_type_hint=refresh_token")).collect();
    assert_eq!(hints, [true, false], "the token that renews comes first: {sent:?}");
    assert!(sent.iter().all(|got| got.body.contains("client_id=client-1")), "{sent:?}");
    for (manner, why) in [
        (Manner::default(), "offers no way to revoke it"),
        (Manner { revocation: Some("/nowhere"), ..Manner::default() }, "its authorization server answered 404"),
        (Manner { revocation: Some(".example.org/revoke"), ..Manner::default() }, "is not that of its tokens"),
    ] {
        servers.behave(manner);
        login(&garden);
        let ended = garden.expect(0, &["mcp", "logout", "shed"]);
        assert!((ended.out.clone() + &ended.err).contains(why), "{why}: {} {}", ended.out, ended.err);
        assert!(kept(&garden).is_empty(), "it is deleted here in any case");
    }
}

/// What the server names goes into a command, so it must be plain.
///
/// covers: 13.9
#[test]
fn a_call_that_needs_more_rights_names_the_login_that_has_them() {
    let servers = LoginServers::start(Manner { needs: Some("levels:write"), ..Manner::default() });
    let garden = at(&servers, "", &["level"]);
    login(&garden);
    confirm(&garden);
    let ended = garden.expect(0, APPROVED);
    assert!(ended.err.contains("callsheet mcp login shed --scope 'levels:write'"), "{}", ended.err);
    login_for(&garden, &["--scope", "levels:write"]);
    let page = servers.got("issuer", "GET /authorize").pop().unwrap().line;
    assert!(page.contains("levels%3Awrite") && page.contains("scope=levels"), "{page}");
    let ended = garden.expect(0, APPROVED);
    assert!(!ended.err.contains("--scope"), "{}", ended.err);
    servers.behave(Manner { needs: Some("x'$(reboot)"), ..Manner::default() });
    let ended = garden.expect(0, APPROVED);
    assert!(ended.err.contains("--scope SCOPE") && !ended.err.contains("reboot"), "{}", ended.err);
}
