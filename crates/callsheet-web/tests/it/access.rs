//! Who gets an answer, and what every answer says.

use axum::body::Body;
use axum::http::{Request, StatusCode, header};

use crate::support::{RUN, Recorded, Site};

#[tokio::test]
async fn the_printed_address_opens_the_page_and_the_token_leaves_it() {
    let site = Site::of(None);
    let first = Request::get(format!("/?token={}&q=a", site.token)).header(header::HOST, "127.0.0.1:4000");
    let first = site.send(first.body(Body::empty()).unwrap()).await;
    assert_eq!(first.status, StatusCode::SEE_OTHER);
    assert_eq!(first.headers[header::LOCATION], "/?q=a");
    let cookie = first.headers[header::SET_COOKIE].to_str().unwrap();
    assert_eq!(cookie, format!("callsheet_4000={}; HttpOnly; SameSite=Strict; Path=/", site.token));
    let page = site.get("/").await;
    assert_eq!(page.status, StatusCode::OK);
    assert!(page.text.contains("No runs yet"));
}

#[tokio::test]
async fn without_the_token_nothing_is_shown() {
    let site = Site::of(Some(Recorded::of(&[("Read Notes", false)]).store));
    for path in ["/", "/live", &format!("/runs/{RUN}"), &format!("/runs/{RUN}/log"), "/page.js", "/nothing"] {
        let request = Request::get(path).header(header::HOST, "127.0.0.1:4000");
        let answer = site.send(request.body(Body::empty()).unwrap()).await;
        assert_eq!(answer.status, StatusCode::UNAUTHORIZED, "{path}");
        assert!(!answer.text.contains("Notes") && !answer.text.contains(RUN), "{path}");
    }
}

#[tokio::test]
async fn other_hosts_and_other_origins_are_refused() {
    let site = Site::of(None);
    let rebound = Request::get("/").header(header::HOST, "rebound.example:4000").header(header::COOKIE, site.cookie());
    assert_eq!(site.send(rebound.body(Body::empty()).unwrap()).await.status, StatusCode::FORBIDDEN);
    let without = Request::get("/").header(header::COOKIE, site.cookie());
    assert_eq!(site.send(without.body(Body::empty()).unwrap()).await.status, StatusCode::FORBIDDEN);
    for origin in [None, Some("null"), Some("http://elsewhere.example"), Some("http://127.0.0.1:4001")] {
        let mut request = Request::post(format!("/runs/{RUN}/cancel"))
            .header(header::HOST, "127.0.0.1:4000")
            .header(header::COOKIE, site.cookie())
            .header(header::CONTENT_TYPE, "application/x-www-form-urlencoded");
        if let Some(origin) = origin {
            request = request.header(header::ORIGIN, origin);
        }
        let answer = site.send(request.body(Body::empty()).unwrap()).await;
        assert_eq!(answer.status, StatusCode::FORBIDDEN, "{origin:?}");
    }
    assert!(site.desk.asked.lock().unwrap().is_empty());
}

#[tokio::test]
async fn every_answer_forbids_what_the_server_did_not_send() {
    let site = Site::of(None);
    for path in ["/", "/page.js", "/page.css", "/nothing", "/runs/none"] {
        let answer = site.get(path).await;
        let policy = answer.headers[header::CONTENT_SECURITY_POLICY].to_str().unwrap();
        assert!(policy.starts_with("default-src 'none'; script-src 'self'; style-src 'self';"), "{path}: {policy}");
        assert!(!policy.contains("unsafe"), "{path}: {policy}");
        assert_eq!(answer.headers[header::X_CONTENT_TYPE_OPTIONS], "nosniff", "{path}");
        assert_eq!(answer.headers[header::X_FRAME_OPTIONS], "DENY", "{path}");
        assert!(!answer.text.contains("style=\""), "{path} has a style of its own");
    }
}
