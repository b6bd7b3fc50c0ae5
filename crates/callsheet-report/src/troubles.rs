//! What was repaired, asked again, or failed.

use std::collections::BTreeMap;

use callsheet_app::{CallRecord, RunView};
use callsheet_core::view::{call_words, counted};
use maud::{Markup, html};

use crate::shown;

/// Lines of each kind.
const MOST: usize = 500;

/// What a heading says of more lines.
fn of(lines: usize) -> String {
    if lines > MOST { format!(", the first {MOST} of {lines}") } else { String::new() }
}

/// The section. Empty if nothing went wrong.
pub(crate) fn troubles(run: &RunView, omitted: &[String]) -> Markup {
    let problems: Vec<String> = run.all_problems().map(|problem| run.problem_line(&problem)).collect();
    let refused: Vec<&CallRecord> = run.calls().iter().filter(|call| call.accepted == Some(false)).collect();
    let repaired: Vec<&CallRecord> = run.calls().iter().filter(|call| !call.repairs.is_empty()).collect();
    let rejected: Vec<&CallRecord> = run.calls().iter().filter(|call| !call.rejected.is_empty()).collect();
    if omitted.is_empty() && problems.is_empty() && refused.is_empty() && repaired.is_empty() && rejected.is_empty() {
        return html! { section { h2 { "Repairs and failures" } p { "None: every reply was used unchanged." } } };
    }
    html! {
        section {
            h2 { "Repairs and failures" }
            @if !omitted.is_empty() {
                h3 { "Rules without room" }
                ul { @for line in omitted { li.bad { (shown(line)) } } }
            }
            @if !problems.is_empty() {
                h3 { "Failed" (of(problems.len())) }
                ul { @for line in problems.iter().take(MOST) { li.bad { (shown(line)) } } }
            }
            @if !refused.is_empty() {
                h3 { "Asked again" (of(refused.len())) }
                ul { @for call in refused.iter().take(MOST) { li { (words(call)) ": " (issues(call)) } } }
            }
            @if !rejected.is_empty() {
                h3 { "Changes that could not be applied" (of(rejected.len())) }
                ul { @for call in rejected.iter().take(MOST) {
                    li { (words(call)) ": " (shown(&call.rejected.iter().map(ToString::to_string).collect::<Vec<_>>().join("; "))) }
                } }
            }
            @if !repaired.is_empty() {
                h3 { "Repaired by code" (of(repaired.len())) }
                ul { @for call in repaired.iter().take(MOST) { li { (words(call)) ": " (repairs(call)) } } }
            }
        }
    }
}

fn words(call: &CallRecord) -> String {
    format!("call {}, {}", call.number, shown(&call_words(&call.key, &call.part)))
}

fn issues(call: &CallRecord) -> String {
    shown(&call.issues.iter().map(ToString::to_string).collect::<Vec<_>>().join("; "))
}

/// Each kind of repair, and how often.
fn repairs(call: &CallRecord) -> String {
    let mut kinds: BTreeMap<&str, usize> = BTreeMap::new();
    for repair in &call.repairs {
        *kinds.entry(repair.code.as_str()).or_default() += 1;
    }
    let each =
        kinds.iter().map(|(code, count)| if *count == 1 { (*code).to_owned() } else { format!("{code} × {count}") });
    format!("{} ({})", counted(call.repairs.len(), "repair"), each.collect::<Vec<_>>().join(", "))
}
