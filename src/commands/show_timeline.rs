//! `show --timeline`: prints when each piece of work ran, what tasks waited for, and the ideal time.

use callsheet_app::RunView;
use callsheet_core::events::LogEntry;
use callsheet_core::view::{Bar, BarKind, Wait, WaitKind, timeline, waits};
use serde_json::json;

use crate::cli::{Exit, Failure};
use crate::setup::Setup;
use crate::term::{duration, harmless, one_line};

use super::show::paged;

/// The width of the picture in cells.
const WIDTH: u64 = 50;

/// Prints a line for each bar, then one for each wait. JSON output ends with the times of the whole run.
pub(super) fn show(setup: &Setup, run: &RunView, facts: &[LogEntry], plain: bool) -> Result<Exit, Failure> {
    let (bars, waits) = (timeline(facts), waits(facts));
    if !setup.json {
        return paged(&text(run, &bars, &waits), plain);
    }
    bars.iter().try_for_each(super::print_json)?;
    for wait in &waits {
        let Wait { task, kind, what, from, to } = wait;
        super::print_json(&json!({ "wait": kind, "task": task, "what": what, "from": from, "to": to }))?;
    }
    super::print_json(&json!({ "ideal_ms": run.ideal_ms(), "actual_ms": run.about().busy_ms })).map(|()| Exit::Complete)
}

fn text(run: &RunView, bars: &[Bar], waits: &[Wait]) -> String {
    let ends = bars.iter().filter_map(|bar| bar.to).chain(waits.iter().filter_map(|wait| wait.to));
    let end = ends.max().unwrap_or(1).max(1);
    let took = |from: u64, to: Option<u64>| {
        to.map_or_else(|| "not finished".to_owned(), |to| duration(to.saturating_sub(from)))
    };
    let mut text = String::new();
    if !bars.is_empty() {
        text.push_str(&format!(
            "Ideal: {}, with a slot for every call at once. Actual: {} at work, without waiting for you.\n",
            duration(run.ideal_ms()),
            duration(run.about().busy_ms)
        ));
    }
    for bar in bars {
        if bar.kind == BarKind::Note {
            text.push_str(&format!("{} {}\n", strip('!', (bar.from, bar.from), end), harmless(&bar.what)));
            continue;
        }
        let mark = if bar.critical { "*" } else { " " };
        let strip = strip('█', (bar.from, bar.to.unwrap_or(end)), end);
        text.push_str(&format!("{strip}{mark}{} ({})\n", harmless(&bar.what), took(bar.from, bar.to)));
    }
    if bars.iter().any(|bar| bar.critical) {
        text.push_str("* on the critical path: what the end waited for\n");
    }
    if !waits.is_empty() {
        text.push_str("\nWhat tasks waited for: ▒ you  ┄ a slot, another task or a limit\n");
    }
    for wait in waits {
        let sign = if wait.kind == WaitKind::You { '▒' } else { '┄' };
        let strip = strip(sign, (wait.from, wait.to.unwrap_or(end)), end);
        let name = run.task(&wait.task).map_or(wait.task.as_str(), |task| task.task.name.as_str());
        let words = format!("{} {}", one_line(name, 60), one_line(&wait.what, 160));
        text.push_str(&format!("{strip} {words} ({})\n", took(wait.from, wait.to)));
    }
    text
}

/// A stretch of the time up to `end`. Every stretch gets at least one cell.
fn strip(sign: char, (from, to): (u64, u64), end: u64) -> String {
    let first = (from.saturating_mul(WIDTH) / end).min(WIDTH - 1);
    let length = (to.saturating_mul(WIDTH) / end).saturating_sub(first).max(1);
    (0..WIDTH).map(|cell| if cell >= first && cell < first + length { sign } else { '·' }).collect()
}
