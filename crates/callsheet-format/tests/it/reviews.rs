//! Replies of reviews read as the fixtures say; `UPDATE_EXPECT=1` writes what was read.
#![allow(clippy::disallowed_methods, reason = "the test reads fixtures")]
#![allow(clippy::expect_used, clippy::unwrap_used)]

use std::fs;
use std::path::{Path, PathBuf};

use callsheet_core::nouns::Phase;
use callsheet_format::grammar;
use callsheet_format::reply::json_form::read_json_form;
use callsheet_format::reply::read_review;

fn read(reply: &str) -> String {
    let reading = read_review(reply);
    let mut text = match &reading.value {
        Some(missing) => format!("no: {missing}\n"),
        None => "yes\n".to_owned(),
    };
    for repair in &reading.repairs {
        text.push_str(&format!("repair {}\n", repair.code));
    }
    for issue in &reading.issues {
        text.push_str(&format!("{:?} {}: {issue}\n", issue.severity, issue.code));
    }
    text
}

#[test]
fn verdicts_read_as_the_fixtures_say() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/reviews");
    let mut paths: Vec<PathBuf> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    assert!(paths.len() >= 10);
    for path in paths {
        let text = fs::read_to_string(&path).unwrap();
        let (head, rest) = text.split_once("===== reply\n").unwrap();
        let (reply, expected) = rest.split_once("===== expect\n").unwrap_or((rest, ""));
        let actual = read(reply);
        if std::env::var_os("UPDATE_EXPECT").is_some() {
            fs::write(&path, format!("{head}===== reply\n{reply}===== expect\n{actual}")).unwrap();
            continue;
        }
        assert_eq!(actual, expected, "{}", path.display());
        for code in head.split([' ', ',', '\n']).filter(|word| word.starts_with("review-")) {
            assert!(actual.contains(code), "{} covers {code}", path.display());
        }
    }
}

/// covers: 3.13
#[test]
fn the_twin_of_a_verdict_is_read_as_the_verdict() {
    let form = grammar::review();
    for (twin, expected) in [
        (r#"{"verdict": {"kind": "yes"}}"#, None),
        (r#"{"verdict": {"kind": "no", "missing": "the table"}}"#, Some("the table")),
    ] {
        let text = read_json_form(twin, &form, Phase::Review).unwrap();
        assert!(text.issues.is_empty(), "{:?}", text.issues);
        assert_eq!(read_review(&text.text).value.as_deref(), expected, "{twin}");
    }
}

/// covers: 3.13
#[test]
fn what_the_grammar_gives_is_read() {
    for seed in 0..20 {
        let text = grammar::review().grammar().sample(seed);
        let reading = read_review(&text);
        assert_eq!(reading.value.is_none(), text == "yes", "{text}");
        assert!(reading.repairs.is_empty(), "{text}: {:?}", reading.repairs);
    }
}
