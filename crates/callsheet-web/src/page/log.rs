//! The log: what happened, entry by entry.

use callsheet_core::events::LogEntry;
use callsheet_core::view::{civil, thousands};
use callsheet_core::visible::visible_json;
use maud::{Markup, html};
use serde_json::Value;

use super::run::RunPage;
use crate::piece::{Piece, Tag, listed};
use callsheet_app::one_line;

/// The number of entries on one page.
const PAGE: usize = 200;

/// How many characters of an entry are shown at first.
const SHOWN: usize = 6_000;

/// The entries of a page: those before a number, or the last ones.
fn chosen<'a>(page: &RunPage<'a>, before: Option<u64>) -> &'a [LogEntry] {
    let end = before.map_or(page.entries.len(), |before| page.entries.partition_point(|entry| entry.n < before));
    page.entries.get(end.saturating_sub(PAGE)..end).unwrap_or_default()
}

pub(crate) fn pieces(page: &RunPage<'_>, before: Option<u64>, pieces: &mut Vec<Piece>) {
    for entry in chosen(page, before) {
        pieces.push(Piece::new(Tag::Item, "log", format!("entry-{}", entry.n), "entry", line(page, entry)));
    }
}

pub(crate) fn page(page: &RunPage<'_>, before: Option<u64>, pieces: &[Piece]) -> Markup {
    let first = chosen(page, before).first().map_or(0, |entry| entry.n);
    html! {
        div.filter {
            label { span { "Show only entries with" } input #filter type="search" data-filter="log"; }
            span.soft { (thousands(page.entries.len() as u64)) " entries" }
        }
        @if first > 1 { nav.pages aria-label="Earlier entries" { a.button href=(page.address(&format!("log?before={first}"))) { "Earlier" } } }
        ol #log.log { (listed(pieces, "log")) }
        @if before.is_some() { nav.pages aria-label="Later entries" { a.button href=(page.address("log")) { "Last entries" } } }
    }
}

fn line(page: &RunPage<'_>, entry: &LogEntry) -> Markup {
    let (_, _, _, seconds) = civil(entry.at);
    let value = serde_json::to_value(&entry.event).unwrap_or_default();
    let name = value.get("event").and_then(Value::as_str).unwrap_or_default().replace('_', " ");
    let whole = visible_json(&serde_json::to_string_pretty(&value).unwrap_or_default());
    let said = page.run.event_line(&entry.event).map(|line| one_line(&line.text, 160));
    let shown: String = whole.chars().take(SHOWN).collect();
    html! {
        details {
            summary {
                span.number { (entry.n) } " "
                span.soft.mono { (format!("{:02}:{:02}:{:02}.{:03}", seconds / 3_600, seconds / 60 % 60, seconds % 60, entry.at % 1_000)) } " "
                strong { (name) } " "
                span.facts { (said.unwrap_or_else(|| about(&value))) }
            }
            pre.text { (shown) }
            @if shown.len() < whole.len() { p { a href=(page.address(&format!("entry/{}", entry.n))) { "All of it" } } }
        }
    }
}

/// The subject of an entry in a few words: the task, the call or the gate that it names.
fn about(event: &Value) -> String {
    let text = |value: &Value| match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        _ => None,
    };
    let of_key = |key: &Value| {
        let parts = ["phase", "task", "run"].iter().filter_map(|name| key.get(name).and_then(text));
        parts.collect::<Vec<_>>().join(" ")
    };
    let effect = event.get("effect").and_then(Value::as_object).and_then(|fields| fields.iter().next());
    let words = match (event.get("key"), effect) {
        (Some(key), _) => of_key(key),
        (None, Some((kind, of))) => format!("{} {}", kind.replace('_', " "), of_key(of)),
        (None, None) => ["task", "text", "request", "outcome", "limit"]
            .iter()
            .find_map(|name| event.get(name).and_then(text))
            .unwrap_or_default(),
    };
    one_line(&words, 120)
}
