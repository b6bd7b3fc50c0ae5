//! The timeline as a picture and as a table: when each piece of work ran, and the ideal time beside the actual one.

use std::collections::BTreeMap;

use callsheet_core::spec::Slug;
use callsheet_core::view::{Bar, BarKind, duration, timeline};
use maud::{Markup, html};

use super::layout::one_line;
use super::run::RunPage;
use crate::piece::{Piece, Tag};

/// Rows of the picture; the table has the rest.
const ROWS: usize = 400;

/// Height of a lane and of the words above it, in pixels.
const LANE: usize = 12;
const WORDS: usize = 18;
const AXIS: usize = 22;

/// The bars of a task, each with the lane that is free for it.
struct Row<'a> {
    task: Option<&'a Slug>,
    bars: Vec<(&'a Bar, usize)>,
    /// When each lane is free again.
    lanes: Vec<u64>,
}

pub(crate) fn pieces(page: &RunPage<'_>, pieces: &mut Vec<Piece>) {
    let bars = timeline(page.entries);
    let end = bars.iter().map(|bar| bar.to.unwrap_or(bar.from)).max().unwrap_or(0);
    let now = page.run.now_ms().saturating_sub(page.entries.first().map_or(0, |first| first.at));
    let end = end.max(now).max(1);
    let inner = html! {
        @if bars.is_empty() { section.empty { p { "Nothing has run yet." } } }
        @else {
            (totals(page))
            (legend())
            div.scroll tabindex="0" role="region" aria-label="Timeline" { (picture(page, &bars, end)) }
            (table(page, &bars, end))
        }
    };
    pieces.push(Piece::new(Tag::Block, "picture", "timeline", "timeline", inner));
}

fn totals(page: &RunPage<'_>) -> Markup {
    let (actual, ideal) = (page.run.busy_ms(), page.run.ideal_ms());
    let most = actual.max(ideal).max(1);
    let bar = |class: &str, words: &str, ms: u64| {
        html! {
            div.total {
                span.total-words { (words) " " strong { (duration(ms)) } }
                svg.total-bar width="100%" height="10" aria-hidden="true" {
                    rect class=(class) x="0" y="0" height="10" rx="3" width=(share(ms, most)) {}
                }
            }
        }
    };
    html! {
        div.totals {
            (bar("ideal", "Ideal: the longest chain of calls that wait for each other", ideal))
            (bar("actual", "Actual: time at work, without waiting for you", actual))
        }
    }
}

fn share(part: u64, of: u64) -> String {
    let percent = part as f64 * 100.0 / of.max(1) as f64;
    format!("{percent:.3}%")
}

const KINDS: [(BarKind, &str); 7] = [
    (BarKind::Plan, "plan"),
    (BarKind::Refine, "refine"),
    (BarKind::Execute, "execute"),
    (BarKind::Tool, "tool"),
    (BarKind::Change, "change"),
    (BarKind::You, "waiting for you"),
    (BarKind::Host, "Callsheet"),
];

fn kind(kind: BarKind) -> (&'static str, &'static str) {
    let words = KINDS.iter().find(|(known, _)| *known == kind).map_or("note", |(_, words)| words);
    (if kind == BarKind::You { "you" } else { words }, words)
}

fn legend() -> Markup {
    html! {
        ul.legend aria-label="Legend" {
            @for (of, words) in KINDS.iter().filter(|(of, _)| *of != BarKind::Host) {
                li {
                    svg width="18" height="12" aria-hidden="true" { rect class=(format!("bar {}", kind(*of).0)) x="1" y="1" width="16" height="10" rx="2" {} }
                    (words)
                }
            }
            li {
                svg width="18" height="12" aria-hidden="true" { rect class="bar critical" x="1" y="1" width="16" height="10" rx="2" {} }
                "what the end waited for"
            }
        }
    }
}

fn rows(bars: &[Bar], end: u64) -> Vec<Row<'_>> {
    let mut rows: Vec<Row<'_>> = Vec::new();
    let mut known: BTreeMap<Option<&Slug>, usize> = BTreeMap::new();
    for bar in bars.iter().filter(|bar| bar.kind != BarKind::Host || bar.task.is_some()) {
        let at = *known.entry(bar.task.as_ref()).or_insert_with(|| {
            rows.push(Row { task: bar.task.as_ref(), bars: Vec::new(), lanes: Vec::new() });
            rows.len() - 1
        });
        let Some(row) = rows.get_mut(at) else { continue };
        let to = bar.to.unwrap_or(end);
        let free = row.lanes.iter().position(|free| *free <= bar.from);
        let lane = free.unwrap_or(row.lanes.len());
        match row.lanes.get_mut(lane) {
            Some(until) => *until = to,
            None => row.lanes.push(to),
        }
        row.bars.push((bar, lane));
    }
    rows
}

fn picture(page: &RunPage<'_>, bars: &[Bar], end: u64) -> Markup {
    let rows = rows(bars, end);
    let mut top = AXIS;
    let placed: Vec<(usize, &Row<'_>)> = rows
        .iter()
        .take(ROWS)
        .map(|row| {
            let at = top;
            top += WORDS + LANE * row.lanes.len() + 6;
            (at, row)
        })
        .collect();
    html! {
        svg.picture width="100%" height=(top) role="img" aria-label=(format!("{} pieces of work in {}", bars.len(), duration(end))) {
            @for tick in 0..=4_u64 {
                line.tick x1=(share(tick, 4)) x2=(share(tick, 4)) y1=(AXIS) y2=(top) {}
                text.tick-words x=(share(tick, 4)) y="14" text-anchor=(match tick { 0 => "start", 4 => "end", _ => "middle" }) {
                    (duration(end.saturating_mul(tick) / 4))
                }
            }
            @for (at, row) in &placed { (drawn(page, row, *at, end)) }
        }
        @if rows.len() > ROWS { p.soft { (rows.len() - ROWS) " more tasks are in the table only." } }
    }
}

fn drawn(page: &RunPage<'_>, row: &Row<'_>, at: usize, end: u64) -> Markup {
    let words = row.task.map_or_else(|| "The list and the answer".to_owned(), |task| title(page, task));
    html! {
        @match row.task {
            Some(task) => { a href=(page.address(&format!("tasks/{task}"))) { text.row-words x="2" y=(at + 13) { (words) } } }
            None => { text.row-words x="2" y=(at + 13) { (words) } }
        }
        @for (bar, lane) in &row.bars {
            @let to = bar.to.unwrap_or(end);
            @let critical = if bar.critical { " critical" } else { "" };
            rect class=(format!("bar {}{critical}", kind(bar.kind).0)) x=(share(bar.from, end)) y=(at + WORDS + lane * LANE)
                width=(share(to.saturating_sub(bar.from), end)) height=(LANE - 2) rx="2" {
                title { (one_line(&bar.what, 120)) ", " (took(bar)) }
            }
        }
    }
}

fn title(page: &RunPage<'_>, slug: &Slug) -> String {
    one_line(page.board.row(slug).map_or(slug.as_str(), |row| &row.title), 60)
}

fn took(bar: &Bar) -> String {
    bar.to.map_or_else(|| "not finished".to_owned(), |to| duration(to.saturating_sub(bar.from)))
}

fn table(page: &RunPage<'_>, bars: &[Bar], end: u64) -> Markup {
    html! {
        details {
            summary { "As a table: " (bars.len()) " pieces of work in " (duration(end)) }
            div.scroll tabindex="0" role="region" aria-label="Timeline as a table" {
                table {
                    thead { tr { th { "Began" } th { "Took" } th { "What" } th { "Kind" } th { "Task" } } }
                    tbody {
                        @for bar in bars {
                            tr {
                                td.number { (duration(bar.from)) }
                                td.number { (took(bar)) }
                                td { (one_line(&bar.what, 120)) @if bar.critical { " " span.tag { "the end waited for it" } } }
                                td { (kind(bar.kind).1) }
                                td { @if let Some(task) = &bar.task { (title(page, task)) } }
                            }
                        }
                    }
                }
            }
        }
    }
}
