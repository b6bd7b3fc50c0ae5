//! Who gets an answer, and what every answer says.

use axum::body::Body;
use axum::http::{Request, StatusCode, header};

use crate::support::{RUN, Recorded, Site};

/// covers: 11.18
#[tokio::test]
async fn the_printed_address_opens_the_page_and_the_token_leaves_it() {
    let site = Site::of(None);
    let first = Request::get(format!("/{}/?q=a", site.token)).header(header::HOST, &site.host);
    let first = site.send(first.body(Body::empty()).unwrap()).await;
    assert_eq!(first.status, StatusCode::SEE_OTHER);
    assert_eq!(first.headers[header::LOCATION], "/?q=a");
    let cookie = first.headers[header::SET_COOKIE].to_str().unwrap();
    assert_eq!(cookie, format!("callsheet={}; HttpOnly; SameSite=Strict; Path=/", site.token));
    let page = site.get("/").await;
    assert_eq!(page.status, StatusCode::OK);
    assert!(page.text.contains("No runs yet"));
}

#[tokio::test]
async fn without_the_token_nothing_is_shown() {
    let site = Site::of(Some(Recorded::of(&[("Read Notes", false)]).store));
    for host in [&site.host, "127.0.0.1:4000"] {
        for path in ["/", "/live", &format!("/runs/{RUN}"), &format!("/runs/{RUN}/log"), "/page.js", "/nothing"] {
            let request = Request::get(path).header(header::HOST, host);
            let answer = site.send(request.body(Body::empty()).unwrap()).await;
            assert_eq!(answer.status, StatusCode::UNAUTHORIZED, "{path}");
            assert!(!answer.text.contains("Notes") && !answer.text.contains("counts are"), "{path}");
        }
    }
}

/// A cookie goes to every port of 127.0.0.1, so no page there has one: it works by its address alone.
#[tokio::test]
async fn a_page_of_a_number_has_no_cookie_and_only_relative_links() {
    let mut recorded = Recorded::of(&[("Read Notes", false), ("Write Notes", true)]);
    recorded.drive();
    let site = Site::of(Some(std::sync::Arc::clone(&recorded.store)));
    let get = |path: String| Request::get(path).header(header::HOST, "127.0.0.1:4000").body(Body::empty()).unwrap();
    let with_cookie = Request::get("/").header(header::HOST, "127.0.0.1:4000").header(header::COOKIE, site.cookie());
    assert_eq!(site.send(with_cookie.body(Body::empty()).unwrap()).await.status, StatusCode::UNAUTHORIZED);
    for (path, root) in [("", "./"), ("nothing", "./"), ("runs/none", "../"), ("runs/a/b/c", "../../../")]
        .map(|(path, root)| (path.to_owned(), root))
        .into_iter()
        .chain([(format!("runs/{RUN}"), "../"), (format!("runs/{RUN}/tasks/read-notes?a=/b"), "../../../")])
    {
        let page = site.send(get(format!("/{}/{path}", site.token))).await;
        assert!(page.text.contains(&format!("<base href=\"{root}\">")), "{path}: {}", page.text);
        assert!(!page.headers.contains_key(header::SET_COOKIE) && !page.text.contains(&site.token), "{path}");
        // A link to a part of the page names the page, which the first one has no name for.
        assert_eq!(page.text.contains("href=\"#"), path.is_empty(), "{path}");
        for absolute in ["href=\"/", "src=\"/", "action=\"/", "live=\"/", "http://"] {
            assert!(!page.text.contains(absolute), "{path}: {absolute}: {}", page.text);
        }
    }
    let whole = site.send(get(format!("/{}", site.token))).await;
    assert_eq!(whole.headers[header::LOCATION], format!("/{}/", site.token));
    let form = |origin: &str, site_words: &str| {
        Request::post(format!("/{}/runs/{RUN}/cancel?from=tasks/a%0D%0Ab", site.token))
            .header(header::HOST, "127.0.0.1:4000")
            .header(header::ORIGIN, origin)
            .header("sec-fetch-site", site_words)
            .header(header::CONTENT_TYPE, "application/x-www-form-urlencoded")
            .body(Body::empty())
            .unwrap()
    };
    assert_eq!(site.send(form("null", "same-site")).await.status, StatusCode::FORBIDDEN);
    let done = site.send(form("null", "same-origin")).await;
    assert_eq!(done.headers[header::LOCATION], format!("../../runs/{RUN}/tasks/a%0D%0Ab"));
    assert_eq!(*site.runs.asked.lock().unwrap(), [r#"{"by":"page","command":"stop"}"#]);
}

#[tokio::test]
async fn other_hosts_and_other_origins_are_refused() {
    let site = Site::of(None);
    let rebound = Request::get("/").header(header::HOST, "rebound.example:4000").header(header::COOKIE, site.cookie());
    assert_eq!(site.send(rebound.body(Body::empty()).unwrap()).await.status, StatusCode::FORBIDDEN);
    let without = Request::get("/").header(header::COOKIE, site.cookie());
    assert_eq!(site.send(without.body(Body::empty()).unwrap()).await.status, StatusCode::FORBIDDEN);
    for origin in [None, Some("null"), Some("http://elsewhere.example"), Some("http://127.0.0.1:4000")] {
        let mut request = Request::post(format!("/runs/{RUN}/cancel"))
            .header(header::HOST, &site.host)
            .header(header::COOKIE, site.cookie())
            .header(header::CONTENT_TYPE, "application/x-www-form-urlencoded");
        if let Some(origin) = origin {
            request = request.header(header::ORIGIN, origin);
        }
        let answer = site.send(request.body(Body::empty()).unwrap()).await;
        assert_eq!(answer.status, StatusCode::FORBIDDEN, "{origin:?}");
    }
    assert!(site.runs.asked.lock().unwrap().is_empty());
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
        assert_eq!(answer.headers[header::REFERRER_POLICY], "no-referrer", "{path}");
        assert!(!answer.text.contains("style=\""), "{path} has a style of its own");
    }
}
