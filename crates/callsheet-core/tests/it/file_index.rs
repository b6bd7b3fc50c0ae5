//! The memory system, as far as it is pure (spec "Templates" 13): metadata texts and ranking.
#![allow(clippy::disallowed_methods, clippy::disallowed_macros, reason = "tests read fixtures and say what they skip")]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "helpers of tests fail by panicking")]

use crate::sections::check_all;
use callsheet_core::file_index::{
    ContextItem, ContextQuery, Document, Facts, FileMatch, metadata, rank, relevant_context,
};
use callsheet_format::sheet::titles_of;
use proptest::prelude::*;
use serde_json::json;

/// Sections: `index PATH` (a metadata text), `item NAME` (something inherited), `ask` (a question) with lines, `file
/// PATH KIND` (a text whose metadata are wanted).
#[test]
fn memory_answers_as_expected() {
    check_all("file_index", |fixture| {
        let (mut index, mut items, mut out) = (Vec::new(), Vec::new(), String::new());
        for (title, body) in fixture.inputs() {
            let (kind, name) = title.split_once(' ').unwrap_or((title, ""));
            match kind {
                "index" => index.push((name.to_owned(), body.to_owned())),
                "item" => items.push(ContextItem { name: name.to_owned(), text: body.to_owned() }),
                "ask" => out.push_str(&answer(body.trim(), &index, &items)),
                "file" => {
                    let (path, kind) = name.split_once(' ').unwrap();
                    let identifiers: Vec<String> =
                        (0..if kind == "rust" { 40 } else { 0 }).map(|n| format!("f{n}")).collect();
                    let size = u64::try_from(body.len()).unwrap();
                    let last_commit = (kind == "rust").then_some("2026-01-02 Mend the\u{1b}[2J parser");
                    out.push_str(&metadata(&Facts {
                        path,
                        kind,
                        size,
                        text: body,
                        headings: &titles_of(kind, body),
                        identifiers: &identifiers,
                        last_commit,
                    }));
                    out.push_str("--\n");
                }
                other => panic!("section {other}"),
            }
        }
        out
    });
}

fn answer(question: &str, index: &[(String, String)], items: &[ContextItem]) -> String {
    let documents: Vec<Document<'_>> = index.iter().map(|(name, text)| Document { name, text }).collect();
    let mut out = format!("{question}\n");
    for ranked in rank(question, &documents) {
        out.push_str(&format!("  {:.6} {} {:?}\n", ranked.score, documents[ranked.index].name, ranked.terms));
    }
    let query = ContextQuery {
        task_text: question.to_owned(),
        inherited_context: items.to_vec(),
        search_index: true,
        ..ContextQuery::default()
    };
    let found = relevant_context(&query, index);
    out.push_str(&format!("  files {}, items {:?}\n", json!(found.matches), found.items));
    out
}

/// Two files of one name are two files, each with its own metadata.
/// covers: C44
#[test]
fn c44_an_equal_base_name_elsewhere_is_never_chosen() {
    let index = [("/a/mod.rs".to_owned(), "Identifiers: honey".to_owned()), ("/b/mod.rs".to_owned(), "wax".to_owned())];
    let query = ContextQuery { task_text: "honey".to_owned(), search_index: true, ..ContextQuery::default() };
    let found = relevant_context(&query, &index);
    assert_eq!(found.matches, [FileMatch("/a/mod.rs".to_owned(), Some("honey".to_owned()))]);
}

/// covers: templates 13
#[test]
fn a_match_is_a_pair_on_the_wire() {
    let found = json!([["/a", "why"], ["/b", null]]);
    let read: Vec<FileMatch> = serde_json::from_value(found.clone()).unwrap();
    assert_eq!(read, [FileMatch("/a".to_owned(), Some("why".to_owned())), FileMatch("/b".to_owned(), None)]);
    assert_eq!(serde_json::to_value(read).unwrap(), found);
}

proptest! {
    /// The order of the index changes nothing, no score is not a number, and at most ten files come back.
    #[test]
    fn ranking_does_not_depend_on_the_order_of_the_index(
        files in prop::collection::btree_map("/[a-c]{1,3}/[a-z]{3,6}\\.rs", "[a-z ]{0,40}", 0..15),
        question in "[a-z ]{0,30}",
    ) {
        let index: Vec<(String, String)> = files.into_iter().collect();
        let mut turned = index.clone();
        turned.reverse();
        let query = ContextQuery { task_text: question, search_index: true, ..ContextQuery::default() };
        let found = relevant_context(&query, &index);
        prop_assert_eq!(&found, &relevant_context(&query, &turned));
        prop_assert!(found.matches.len() <= 10);
        prop_assert_eq!(found.empty_index, index.is_empty());
    }
}

/// covers: C44
#[test]
fn what_fits_far_less_than_the_best_is_left_out() {
    let index = [
        ("/p/honey.md".to_owned(), "File: honey.md\nhoney yield of the hives, honey prices, hives".to_owned()),
        ("/p/notes.md".to_owned(), "File: notes.md\nprices".to_owned()),
    ];
    let query = ContextQuery {
        task_text: "Compare the honey yield of all hives with prices".to_owned(),
        search_index: true,
        ..ContextQuery::default()
    };
    let found = relevant_context(&query, &index);
    assert_eq!(found.matches.iter().map(|file| file.0.as_str()).collect::<Vec<_>>(), ["/p/honey.md"]);
}
