//! What an edited sheet would lose when it is written over (spec 2.18).
#![allow(clippy::disallowed_methods, reason = "tests read fixtures")]
// A fixture that cannot be read fails its test at once.
#![allow(clippy::expect_used, clippy::unwrap_used)]

#[path = "sections/mod.rs"]
mod sections;

use callsheet_core::reply::{Kept, Severity, lost};
use sections::{Fixture, check_all};

fn check(fixture: &Fixture) -> String {
    let section = |wanted: &str| -> String {
        fixture.inputs().filter(|(title, _)| *title == wanted).map(|(_, body)| body).collect()
    };
    let (before, after, known) = (section("before"), section("after"), section("known"));
    let issues = lost(&section("edited"), &Kept { before: &before, after: &after, known: &known, repairs: &[] });
    let lines = issues.iter().map(|issue| {
        let severity = if issue.severity == Severity::Error { "error" } else { "warning" };
        format!("{severity} {}: {issue}\n", issue.code)
    });
    lines.collect()
}

#[test]
fn edits_lose_what_their_fixtures_say() {
    check_all("edits", check);
}
