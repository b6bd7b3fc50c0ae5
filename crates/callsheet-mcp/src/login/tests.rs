use std::os::unix::fs::PermissionsExt;

use rmcp::transport::auth::{CredentialStore, OAuthTokenResponse, StoredCredentials};
use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use super::*;
use crate::settings::ServerProgram;

fn server(url: &str) -> ServerSettings {
    ServerSettings::new("shed", Reach::Address(ServerAddress { url: url.to_owned(), ..ServerAddress::default() }))
}

/// Tokens that came so long ago.
fn credentials(token: &serde_json::Value, received: u64) -> StoredCredentials {
    let token: OAuthTokenResponse = serde_json::from_value(token.clone()).unwrap();
    StoredCredentials::new("client".to_owned(), Some(token), Vec::new(), Some(received))
}

async fn holds(token: &serde_json::Value, received: u64) -> bool {
    let folder = tempfile::tempdir().unwrap();
    let logins = Logins::new(folder.path().join("logins"));
    let server = server("https://example.org/mcp");
    let store = logins.store(&server, "https://example.org/mcp", None);
    store.save(credentials(token, received)).await.unwrap();
    logins.holds(&server).unwrap()
}

#[tokio::test]
async fn a_login_counts_while_it_can_be_used_or_renewed() {
    let token = |more: serde_json::Value| {
        let mut token = json!({ "access_token": "secret-access", "token_type": "Bearer" });
        token.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        token
    };
    assert!(holds(&token(json!({})), 0).await, "nobody said how long it lasts");
    assert!(!holds(&token(json!({ "expires_in": 60 })), 0).await);
    assert!(holds(&token(json!({ "expires_in": 60, "refresh_token": "secret-refresh" })), 0).await);
    assert!(holds(&token(json!({ "expires_in": u64::MAX })), 5).await);
}

#[tokio::test]
async fn a_login_is_for_one_place_and_only_for_its_user() {
    let folder = tempfile::tempdir().unwrap();
    let logins = Logins::new(folder.path().join("logins"));
    let (one, other) = (server("https://example.org/mcp"), server("https://example.org/other"));
    let token = json!({ "access_token": "secret-access", "token_type": "Bearer" });
    let store = logins.store(&one, "https://example.org/mcp", Some("secret-of-client".to_owned()));
    store.save(credentials(&token, 5)).await.unwrap();
    assert!(logins.holds(&one).unwrap());
    assert!(!logins.holds(&other).unwrap());
    let of_project = ServerSettings { project: Some("/p".into()), ..one.clone() };
    assert!(!logins.holds(&of_project).unwrap());
    let file = std::fs::read_dir(folder.path().join("logins")).unwrap().next().unwrap().unwrap().path();
    assert_eq!(file.metadata().unwrap().permissions().mode() & 0o777, 0o600);
    let shown = callsheet_runtime::shown::mask("secret-access and secret-of-client").into_owned();
    assert!(!shown.contains("secret-"), "{shown}");
    assert_eq!(logins.of(&one).unwrap().unwrap().client_secret.as_deref(), Some("secret-of-client"));
    std::fs::write(&file, "{").unwrap();
    assert!(logins.holds(&one).is_err(), "a damaged file is not overlooked");
    assert!(logins.forget(&one).unwrap() && !logins.forget(&one).unwrap());
}

#[tokio::test]
async fn two_processes_do_not_renew_a_login_at_the_same_time() {
    let folder = tempfile::tempdir().unwrap();
    let logins = Logins::new(folder.path().to_owned());
    let store = || logins.store(&server("https://example.org/mcp"), "", None);
    let first = store().acquire_refresh_guard().await.unwrap();
    let (told, mut waits) = tokio::sync::oneshot::channel();
    let second = store();
    let second = tokio::spawn(async move {
        let guard = second.acquire_refresh_guard().await.unwrap();
        told.send(()).unwrap();
        guard
    });
    tokio::task::yield_now().await;
    assert!(waits.try_recv().is_err());
    drop(first);
    second.await.unwrap();
    waits.try_recv().unwrap();
}

#[test]
fn only_an_address_that_nobody_reads_along_has_logins() {
    let why = |settings: &ServerSettings| address_for_login(settings).err().unwrap_or_default();
    assert_eq!(why(&server("https://example.org/mcp")), "");
    assert_eq!(why(&server("http://127.0.0.1:8000/mcp")), "");
    assert!(why(&server("http://example.org/mcp")).contains("not https"));
    let program = ServerSettings::new("s", Reach::Program(ServerProgram::default()));
    assert!(why(&program).contains("it is a program"));
    let mut with_token = server("https://example.org/mcp");
    let Reach::Address(address) = &mut with_token.reach else { unreachable!() };
    address.headers.insert("authorization".to_owned(), "Bearer x".to_owned());
    assert!(why(&with_token).contains("header Authorization"));
}

#[test]
fn a_page_of_an_authorization_server_is_a_web_address() {
    for (address, is_open_to_others) in [
        ("https://example.org/authorize", false),
        ("http://[::1]:9000/authorize", false),
        ("http://example.org/authorize", true),
        ("file:///etc/passwd", true),
        ("javascript:alert(1)", true),
        ("$(reboot)", true),
    ] {
        assert_eq!(is_open(address), is_open_to_others, "{address}");
    }
}

async fn asked(address: &str, request: &str) -> String {
    let url = Url::parse(address).unwrap();
    let mut stream = tokio::net::TcpStream::connect(("127.0.0.1", url.port().unwrap())).await.unwrap();
    stream.write_all(request.as_bytes()).await.unwrap();
    stream.shutdown().await.unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    answer
}

#[tokio::test]
async fn only_the_answer_of_this_login_is_taken() {
    let redirect = Redirect::listen(None).await.unwrap();
    let address = redirect.address().to_owned();
    let browser = tokio::spawn(async move {
        let mut answers = Vec::new();
        for request in [
            "",
            "nonsense\r\n\r\n",
            "POST /callback?code=1&state=right HTTP/1.1\r\n\r\n",
            "GET /favicon.ico HTTP/1.1\r\n\r\n",
            "GET /callback HTTP/1.1\r\n\r\n",
            "GET /callback?code=1&state=wrong HTTP/1.1\r\n\r\n",
            "GET /callback?error=access_denied HTTP/1.1\r\n\r\n",
            "GET //example.org/callback?code=1&state=right HTTP/1.1\r\n\r\n",
            "GET /callback?code=a%20b&state=right HTTP/1.1\r\nhost: x\r\n\r\n",
        ] {
            answers.push(asked(&address, request).await);
        }
        answers
    });
    let url = redirect.comes("right").await.unwrap();
    assert!(url.query().unwrap().contains("code=a%20b"), "{url}");
    let mut answers = browser.await.unwrap();
    assert!(answers.pop().unwrap().starts_with("HTTP/1.1 200"));
    assert!(answers.iter().all(|answer| answer.starts_with("HTTP/1.1 404")), "{answers:?}");
}

#[test]
fn what_the_server_refuses_is_told_without_invisible_characters() {
    let refused = refusal("http://127.0.0.1/callback?error=access_denied&error_description=No%1b%5b2J&state=x");
    assert_eq!(refused.unwrap(), "it was refused: access_denied (No<U+001B>[2J)");
    assert_eq!(refusal("http://127.0.0.1/callback?code=1&state=x"), None);
}
