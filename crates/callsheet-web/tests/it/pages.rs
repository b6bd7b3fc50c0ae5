//! What pages show of a run, and what their forms have done.

use axum::http::{StatusCode, header};
use callsheet_core::nouns::Slug;
use callsheet_core::record::{Answer, CallKey, Gate, GateKind};
use callsheet_runtime::ports::{InboxMessage, LiveText};

use crate::support::{HOSTILE, RUN, Recorded, Site};

fn run(rest: &str) -> String {
    format!("/runs/{RUN}{rest}")
}

/// As pages link to it.
fn link(rest: &str) -> String {
    format!("runs/{RUN}{rest}")
}

#[tokio::test]
async fn the_board_has_every_task_and_what_waits() {
    let mut recorded = Recorded::of(&[("Read Notes", false), ("Write Notes", true)]);
    recorded.drive();
    let site = Site::of(Some(std::sync::Arc::clone(&recorded.store)));
    let page = site.get(&run("")).await;
    assert_eq!(page.status, StatusCode::OK);
    let text = &page.text;
    for words in ["Read Notes", "Write Notes", "Section 2", "1 of 2 done", "1 waits for you", "1,234 tokens", "Cancel"]
    {
        assert!(text.contains(words), "{words}:\n{text}");
    }
    assert!(text.contains(&format!("action=\"{}&amp;page=", link("/gates/1?from="))), "{text}");
    assert!(!text.contains(">Resume<"), "a process drives it");
    let list = site.get("/").await;
    assert!(list.text.contains("▶") && list.text.contains("running") && list.text.contains(RUN), "{}", list.text);
}

/// The board of a large run is small; every task is one link away.
#[tokio::test]
async fn a_board_of_thousands_of_tasks_has_the_first_rows_and_pages_have_the_others() {
    let names: Vec<String> = (0..5_000).map(|number| format!("Read {number:04}")).collect();
    let tasks: Vec<(&str, bool)> = names.iter().map(|name| (name.as_str(), false)).collect();
    let recorded = Recorded::of(&tasks);
    let site = Site::of(Some(std::sync::Arc::clone(&recorded.store)));
    let page = site.get(&run("")).await.text;
    assert!(page.len() < 300_000, "{} bytes", page.len());
    assert!(page.contains("row-read-0000") && !page.contains("row-read-4000"));
    let last = site.get(&run("/tasks?from=4800")).await.text;
    assert!(last.contains("Tasks 4801 to 5000 of 5,000") && last.contains("row-read-4999"));
    assert!(last.contains(&link("/tasks?from=4600")) && !last.contains(&link("/tasks?from=5000")));
}

#[tokio::test]
async fn nothing_that_a_model_says_is_markup() {
    let mut recorded = Recorded::of(&[("Read Notes", false)]);
    recorded.drive();
    recorded.release();
    let site = Site::of(Some(std::sync::Arc::clone(&recorded.store)));
    let paths = [
        "",
        "/tasks/read-notes",
        "/tasks/read-notes?part=1",
        "/calls/1",
        "/calls/1?part=1",
        "/log",
        "/sheet",
        "/timeline",
        "/changes",
    ];
    for path in paths {
        let page = site.get(&run(path)).await;
        assert_eq!(page.status, StatusCode::OK, "{path}");
        for markup in ["<script>", "<img", "<b>counts", "<i>", "</textarea><script", "\u{1b}", "\u{202e}"] {
            assert!(!page.text.contains(markup), "{path} has {markup}");
        }
    }
    let call = site.get(&run("/calls/1")).await.text;
    assert!(call.contains("&lt;script&gt;alert(1)&lt;/script&gt;"), "{call}");
    assert!(call.contains("Repaired label-form"), "{call}");
    let report = site.get(&run("/report")).await;
    assert_eq!(report.headers[header::CONTENT_DISPOSITION], format!("attachment; filename=\"{RUN}.html\""));
    let text = site.get(&run("/entry/1")).await;
    assert_eq!(text.headers[header::CONTENT_TYPE], "text/plain; charset=utf-8");
}

#[tokio::test]
async fn forms_ask_the_desk_and_the_next_page_says_what_came_of_it() {
    let mut recorded = Recorded::of(&[("Write Notes", true), ("Write More", true)]);
    recorded.drive();
    let site = Site::of(Some(std::sync::Arc::clone(&recorded.store)));
    let answer = site.post(&run("/gates/1?from=changes"), "verdict=approve&tasks=1&task=write-notes&because=").await;
    assert_eq!(answer.status, StatusCode::SEE_OTHER);
    assert_eq!(answer.headers[header::LOCATION], format!("../../../{}", link("/changes")));
    assert!(site.get(&run("")).await.text.contains("✓ </span>Done"));
    assert!(!site.get(&run("")).await.text.contains("✓ </span>Done"), "it is said once");
    site.post(&run("/gates/1"), "verdict=deny&because=not%20now").await;
    site.post(
        &run("/gates/1"),
        "verdict=approve&hunks=1&hunk=1&edit-2=no&hunk=3&edit-3=+a%0D%0A%2Bb%0D%0A&because=too%20much&resume=1",
    )
    .await;
    site.post(&run("/gates/1"), "verdict=approve&hunks=1").await;
    assert!(site.get(&run("")).await.text.contains("no hunk was chosen"));
    site.post(&run("/answer"), "task=a&execution=e&call=b&text=line%0D%0Atwo").await;
    site.post(&run("/retry"), "task=write-notes&because=").await;
    site.post(&run("/retry"), "task=write-notes&because=Six+words+at+most.+").await;
    site.post(&run("/cancel"), "").await;
    site.post(&run("/raise"), "limit=max_calls&max=40").await;
    site.post(&run("/raise"), "limit=max_calls&max=many").await;
    assert!(site.get(&run("")).await.text.contains("the new limit is not a number"));
    site.post(&run("/sheet"), "seen=a&text=b%0D%0A").await;
    site.post(&run("/undo"), "n=7").await;
    assert!(site.get(&run("")).await.text.contains("notes.md &lt;changed&gt; after the run"));
    let asked = site.runs.asked.lock().unwrap().join("\n");
    assert_eq!(
        asked,
        [
            r#"{"by":"page","command":"approve","gates":[1],"tasks":["write-notes"],"later":false,"always":null}"#,
            r#"{"by":"page","command":"deny","gates":[1],"tasks":[],"because":"not now"}"#,
            r#"{"by":"page","command":"keep","gates":[1],"tasks":[],"hunks":[[1,1],[3,3]],"edits":{"3":" a\n+b\n"},"because":"too much"}"#,
            "resume",
            r#"{"by":"page","command":"reply","to":{"task":"a","run":"e","call":"b"},"text":"line\ntwo"}"#,
            r#"{"by":"page","command":"retry","tasks":["write-notes"],"keep_changes":false}"#,
            "resume",
            r#"{"by":"page","command":"retry","tasks":["write-notes"],"keep_changes":false,"because":"Six words at most."}"#,
            "resume",
            r#"{"by":"page","command":"stop"}"#,
            r#"{"by":"page","command":"raise","limits":[["max_calls",40.0]]}"#,
            "resume",
            r#"{"by":"page","command":"edit","seen":"a","text":"b\n"}"#,
            r#"{"by":"page","revision":7,"command":"undo","tasks":[]}"#,
        ]
        .join("\n")
    );
}

/// A browser that sends a form twice gives one order, and the form of another page is another order.
#[tokio::test]
async fn a_form_that_is_sent_twice_is_one_order() {
    let mut recorded = Recorded::of(&[("Write Notes", true)]);
    recorded.drive();
    let site = Site::of(Some(std::sync::Arc::clone(&recorded.store)));
    let action = async || {
        let page = site.get(&run("")).await.text;
        let action =
            page.split("action=\"").find(|rest| rest.contains("/gates/1?")).unwrap().split('"').next().unwrap();
        format!("/{}", action.replace("&amp;", "&"))
    };
    let (one, other) = (action().await, action().await);
    for (action, verdict) in [(&one, "approve"), (&one, "approve"), (&one, "deny"), (&other, "approve")] {
        site.post(action, &format!("verdict={verdict}")).await;
    }
    let keys = site.runs.keys.lock().unwrap().clone();
    assert_eq!(keys[0], keys[1]);
    assert!(keys[1] != keys[2] && keys[0] != keys[3], "{keys:?}");
}

#[tokio::test]
async fn a_timeline_is_shown_in_stretches() {
    let mut recorded = Recorded::of(&[("Read Notes", false), ("Read More", false)]);
    recorded.drive();
    let site = Site::of(Some(std::sync::Arc::clone(&recorded.store)));
    let whole = site.get(&run("/timeline")).await.text;
    assert!(whole.contains("Ideal") && whole.contains(">ideal<") && !whole.contains("data-key=\"0\""), "{whole}");
    let inside = whole.split("data-key=\"+\"").next().unwrap().rsplit("href=\"").next().unwrap();
    let inside = inside.split('"').next().unwrap().replace("&amp;", "&");
    assert!(inside.starts_with(&link("/timeline?from=")), "{inside}");
    let page = site.get(&format!("/{inside}")).await.text;
    assert!(page.contains("data-key=\"0\"") && !page.contains(">ideal<"), "{page}");
    let stretch = inside.split_once('?').unwrap().1.replace('&', "&amp;");
    assert!(page.contains(&format!("&amp;{stretch}")), "what changes is drawn in the same stretch: {page}");
    // The last call is not in the first moments.
    let bars = |page: &str| page.matches("class=\"execute").count();
    let first = site.get(&run("/timeline?from=0&to=3500")).await.text;
    assert!(bars(&first) < bars(&whole) && first.contains("0 ms to 3.5 s"), "{first}");
    let odd = site.get(&run("/timeline?from=9&to=x")).await;
    assert!(odd.status == StatusCode::OK && odd.text.contains(">ideal<"));
}

#[tokio::test]
async fn an_answer_that_waits_for_a_resume_is_told() {
    let mut recorded = Recorded::of(&[("Write Notes", true)]);
    recorded.drive();
    recorded.release();
    let kind = GateKind::BeforeRun(vec![Slug::new("write-notes")]);
    recorded.post(&InboxMessage::Answer {
        gate: Some(Gate { n: 1, kind }),
        answer: Answer::Listed,
        named: true,
        by: None,
    });
    let page = Site::of(Some(std::sync::Arc::clone(&recorded.store))).get(&run("")).await.text;
    assert!(page.contains("Your answer is saved.") && page.contains(">Resume<"), "{page}");
}

#[tokio::test]
async fn what_a_model_writes_is_shown_while_its_call_is_under_way() {
    let mut recorded = Recorded::of(&[("Read Notes", false), ("Read More", false)]);
    let key = recorded.ask();
    let site = Site::of(Some(std::sync::Arc::clone(&recorded.store)));
    let gone = CallKey { n: key.n + 1, ..key.clone() };
    let live = |key: CallKey, text: &str| LiveText { key, text: text.to_owned(), count: 1_234 };
    *site.runs.writing.lock().unwrap() = vec![live(key, &format!("Bed 4 {HOSTILE}")), live(gone, "is over")];
    let page = site.get(&run("/tasks/read-notes")).await.text;
    assert!(page.contains("Writing: execute read-notes") && page.contains("1,234 characters"), "{page}");
    assert!(page.contains("…Bed 4 &lt;script&gt;") && !page.contains("is over"), "{page}");
    for markup in ["<script>", "<img", "\u{1b}", "\u{202e}"] {
        assert!(!page.contains(markup), "{markup}");
    }
    for other in ["/tasks/read-more", "", "/timeline"] {
        assert!(!site.get(&run(other)).await.text.contains("Bed 4"), "{other}");
    }
    recorded.release();
    let writing = site.runs.writing.lock().unwrap().clone();
    let site = Site::of(Some(std::sync::Arc::clone(&recorded.store)));
    *site.runs.writing.lock().unwrap() = writing;
    assert!(!site.get(&run("/tasks/read-notes")).await.text.contains("Bed 4"), "no process drives it");
}

#[tokio::test]
async fn runs_are_found_by_what_they_say() {
    let mut recorded = Recorded::of(&[("Read Notes", false)]);
    recorded.drive();
    let site = Site::of(Some(std::sync::Arc::clone(&recorded.store)));
    for (query, found) in [("COUNTS+right", true), ("read+notes", true), ("alert(1)", true), ("lighthouse", false)] {
        let page = site.get(&format!("/?q={query}")).await.text;
        assert_eq!(page.contains(&format!("href=\"{}\"", link(""))), found, "{query}");
    }
}

#[tokio::test]
async fn what_is_not_there_is_said() {
    let site = Site::of(Some(Recorded::of(&[("Read Notes", false)]).store));
    for path in ["/runs/none", "/elsewhere", &run("/elsewhere"), &run("/calls/9"), &run("/text/00")] {
        assert_eq!(site.get(path).await.status, StatusCode::NOT_FOUND, "{path}");
    }
    let text = site.get(&run("/tasks/raed-notes")).await.text;
    assert!(text.contains("has no task raed-notes. Did you mean read-notes?"), "{text}");
    let text = site.get("/runs/20260301-101112-raed").await.text;
    assert!(text.contains("there is no run 20260301-101112-raed."), "{text}");
}

/// covers: 11.16
#[tokio::test]
async fn known_keys_are_masked_on_every_page() {
    let mut recorded = Recorded::of(&[("Read Notes", false)]);
    recorded.drive();
    let site = Site::of(Some(std::sync::Arc::clone(&recorded.store)));
    let key = "<b>counts</b> are right?";
    callsheet_runtime::shown::keep_secret([("A_KEY".to_owned(), key.to_owned())]);
    for path in ["/", &run(""), &run("/log"), &run("/entry/1"), &run("/tasks/read-notes"), &run("/sheet")] {
        let page = site.get(path).await.text;
        assert!(!page.contains(key) && !page.contains("counts&lt;/b&gt; are"), "{path}: {page}");
    }
    assert!(site.get("/").await.text.contains("[masked: A_KEY]"));
}
