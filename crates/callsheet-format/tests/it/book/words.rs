//! Readings in words, for expectations that a person reads.

use std::fmt::Write as _;

use callsheet_core::issue::Severity;
use callsheet_core::links::link;
use callsheet_core::nouns::{Refinement, Task};
use callsheet_format::edit::diff_of;
use callsheet_format::reading::Reading;
use callsheet_format::reply::task::Written;
use callsheet_format::reply::{ExecutionReply, ListReply, LoopTurn};

/// Repairs and issues, one a line.
pub fn notes<T>(reading: &Reading<T>) -> String {
    let flat = |text: &str| text.replace('\n', "|");
    let mut out = String::new();
    for repair in &reading.repairs {
        let (first, last) = (repair.span.first, repair.span.last);
        writeln!(out, "repair {} {first}-{last}: {} => {}", repair.code, flat(&repair.before), flat(&repair.after))
            .expect("write");
    }
    for issue in &reading.issues {
        let severity = if issue.severity == Severity::Error { "error" } else { "warning" };
        writeln!(out, "{severity} {}: {}", issue.code, flat(&issue.to_string())).expect("write");
    }
    out
}

pub fn list(reply: &ListReply) -> String {
    let mut out = String::new();
    let goals = &reply.list.goals;
    line(&mut out, "goals", &goals.text);
    if goals.plan_complete {
        out.push_str("plan complete\n");
    }
    for removal in &reply.beside.removed {
        line(&mut out, "removed", &format!("{}: {}", removal.task, removal.reason));
    }
    line(&mut out, "remarks", &reply.beside.remarks);
    line(&mut out, "no longer relevant", &reply.beside.no_longer_relevant.join(" "));
    for (number, step) in (1..).zip(&reply.list.steps).filter(|(_, step)| !step.tasks.is_empty()) {
        writeln!(out, "step {number}").expect("write");
        step.tasks.iter().for_each(|one| task(&mut out, one));
    }
    out
}

fn task(out: &mut String, task: &Task) {
    let skill = task.skill.as_deref().unwrap_or("-");
    let approval = if task.approval { ", approval" } else { "" };
    writeln!(out, "  {} ({}), {skill}{approval}", task.name, task.slug).expect("write");
    line(out, "    need", &task.need);
    for reference in &task.references {
        writeln!(out, "    reference: {}", link(reference)).expect("write");
    }
    line(out, "    expected", &task.expected);
    line(out, "    extra", &task.extra);
    for call in &task.calls {
        writeln!(out, "    call: {} {} {}", call.name, call.id, call.arguments).expect("write");
    }
}

pub fn refinement(value: &Refinement) -> String {
    let mut out = String::new();
    line(&mut out, "need", value.need.as_deref().unwrap_or_default());
    if let Some(references) = &value.references {
        let links: Vec<String> = references.iter().map(link).collect();
        writeln!(out, "references: {}", links.join(" ")).expect("write");
    }
    line(&mut out, "expected", value.expected.as_deref().unwrap_or_default());
    for call in &value.calls {
        writeln!(out, "call: {} {} {}", call.name, call.id, call.arguments).expect("write");
    }
    out
}

pub fn execution(value: &ExecutionReply) -> String {
    let mut out = String::new();
    line(&mut out, "summary", &value.summary);
    for detail in &value.details {
        writeln!(out, "details: {} ({} bytes)", detail.filename, detail.content.len()).expect("write");
    }
    if value.more_work {
        out.push_str("more work\n");
    }
    if value.no_changes {
        out.push_str("no changes\n");
    }
    out
}

pub fn write(value: &Written) -> String {
    let mut out = execution(&value.execution);
    let diff = diff_of(&value.edits);
    if !diff.is_empty() {
        writeln!(out, "{}", diff.trim_end()).expect("write");
    }
    out
}

pub fn turn(value: &LoopTurn) -> String {
    match value {
        LoopTurn::Calls(calls) => {
            calls.iter().map(|call| format!("call: {} {} {}\n", call.name, call.id, call.arguments)).collect()
        }
        LoopTurn::Final(result) => execution(result),
    }
}

fn line(out: &mut String, key: &str, value: &str) {
    if !value.is_empty() {
        writeln!(out, "{key}: {}", value.replace('\n', "|")).expect("write");
    }
}
