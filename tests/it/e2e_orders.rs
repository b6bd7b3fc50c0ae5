//! Orders of persons that come more than once.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "tests")]

use callsheet_core::nouns::{RunId, Slug};
use callsheet_core::record::{AnsweredBy, OrderId};
use callsheet_runtime::ports::{InboxMessage, Posted, Store};
use callsheet_store::SqliteStore;

use crate::support::garden::TestProject;

/// The process that took an order may end before it put the message away, and whoever gave it may give it again.
/// covers: 11.21
#[test]
fn an_order_that_comes_again_has_one_effect() {
    let garden = TestProject::with("fails");
    garden.expect(5, &["run", "who waters, and how?"]);
    let run = RunId::new(garden.run_folder().file_name().unwrap().to_str().unwrap());
    let order = |key: &str| Posted {
        order: Some(OrderId { by: AnsweredBy::Page, key: format!("{key}/0") }),
        message: InboxMessage::Retry { tasks: vec![Slug::new("read-water-1")], because: String::new() },
    };
    let post = |posted: &Posted| SqliteStore::open(&garden.store()).unwrap().post(&run, posted).unwrap();
    post(&order("first"));
    post(&order("first"));
    garden.expect(5, &["resume", run.as_str()]);
    assert_eq!(garden.count("task_retried"), 1);
    post(&order("first"));
    let calls = garden.asked().len();
    garden.expect(5, &["resume", run.as_str()]);
    assert_eq!((garden.count("task_retried"), garden.asked().len()), (1, calls), "nothing was done again");
    post(&order("second"));
    garden.expect(5, &["resume", run.as_str()]);
    assert_eq!(garden.count("task_retried"), 2);
    let events = garden.expect(0, &["show", "--events"]).out;
    assert!(events.contains(r#""orders":[{"by":"page","key":"second/0"}]"#), "{events}");
}
