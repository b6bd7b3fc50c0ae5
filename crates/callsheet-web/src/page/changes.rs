//! The changes of a run: those that wait; those that were approved, partly kept or denied, with the person's words;
//! and those that were reverted.

use std::collections::BTreeSet;

use callsheet_core::events::Event;
use callsheet_core::nouns::{ExecutionId, Slug};
use callsheet_core::record::{Answer, AnsweredBy, GateKind, Verdict};
use callsheet_core::view::diff_counts;
use callsheet_core::visible::readable;
use maud::{Markup, html};

use super::diff;
use super::layout::{Standing, WAITS};
use super::run::RunPage;
use super::task::blob;
use crate::piece::{Piece, Tag};
use callsheet_app::{Refusal, decisions, one_line};

type Set = (Slug, ExecutionId, u32);

pub(crate) fn pieces(page: &RunPage<'_>, pieces: &mut Vec<Piece>) -> Result<(), Refusal> {
    let decided = decisions(page.entries);
    let answered: BTreeSet<&Set> = decided.iter().map(|one| &one.set).collect();
    let mut add = |id: String, inner: Markup| pieces.push(Piece::new(Tag::Block, "changes", id, "change", inner));
    let applied = || page.run.all_tasks().flat_map(|task| task.applied.iter().map(move |set| (task, set)));
    let standing = applied().filter(|(_, set)| !set.reverted).count();
    add("changes-head".to_owned(), head(page, standing));
    let waiting = page.gates.iter().filter(|view| matches!(view.gate.kind, GateKind::BeforeApply { .. }));
    for view in waiting {
        let Some(task) = &view.task else { continue };
        let mark = Standing::new("wait", WAITS, "waits for you");
        let words = html! { a href=(page.part(&format!("gate-{}", view.gate.n))) { "Answer above" } };
        add(format!("change-gate-{}", view.gate.n), change(page, task, &mark, &words, &view.diff));
    }
    for one in &decided {
        let (task, ..) = &one.set;
        let reverted = applied().any(|(of, set)| of.task.slug == *task && set.set == one.set.2 && set.reverted);
        let (mark, words) = verdict(&one.answer, reverted);
        let shown = one.shown.as_ref().map(|id| blob(page, id)).transpose()?.unwrap_or_default();
        let place = one.by.as_ref().map(AnsweredBy::words).unwrap_or_default();
        let words = html! { span.soft { (place) } " " (words) };
        let mut inner = change(page, task, &mark, &words, &shown);
        if let Answer::Part { refused, .. } = &one.answer {
            let left = blob(page, &refused.diff)?;
            inner = html! { (inner) h4 { "Left out, or edited, by you" } (diff::lines(&left, "", &page.painter())) };
        }
        add(format!("change-{}", one.gate), inner);
    }
    for (task, set) in applied() {
        let key = (task.task.slug.clone(), set.run.clone(), set.set);
        let Some(id) = set.changes.diff.as_ref().filter(|_| !answered.contains(&key)) else { continue };
        let mark = if set.reverted { reverted_mark() } else { Standing::new("good", "✓", "applied without asking") };
        let text = blob(page, id)?;
        add(format!("change-{}-{}", key.0, key.2), change(page, &key.0, &mark, &html! {}, &text));
    }
    Ok(())
}

fn head(page: &RunPage<'_>, standing: usize) -> Markup {
    html! {
        @if standing > 0 {
            details.danger {
                summary { "Revert all changes of this run" }
                p { "Each file goes back to what it was. Files that changed since are left alone, and Callsheet lists them." }
                form method="post" action=(page.action("undo")) {
                    input type="hidden" name="n" value=(last_applied(page));
                    button title="Reverts every change that this run made" { "Revert them now" }
                }
            }
        } @else { p.soft { "No change of this run is in your files now." } }
    }
}

/// The number of the last entry that applied changes. A revert is refused if changes were applied after it. Later entries
/// do not change the number, so they do not replace the form while a person reads it.
fn last_applied(page: &RunPage<'_>) -> u64 {
    let applied = page.entries.iter().rfind(|entry| matches!(entry.event, Event::ChangesApplied(_)));
    applied.map_or(0, |entry| entry.n)
}

fn reverted_mark() -> Standing {
    Standing::new("rest", "↶", "reverted")
}

fn verdict(answer: &Answer, reverted: bool) -> (Standing, Markup) {
    let said = |words: &str| html! { @if !words.trim().is_empty() { "“" (readable(words.trim())) "”" } };
    let (mark, words) = match answer {
        Answer::All | Answer::Listed => (Standing::new("good", "✓", "approved"), html! {}),
        Answer::Part { refused, .. } => (Standing::new("good", "◐", "approved in part"), said(&refused.words)),
        Answer::Deny { words } => (Standing::new("bad", "✗", "denied"), said(words)),
        Answer::Stop => (Standing::new("rest", "–", "not answered: the run was stopped"), html! {}),
        Answer::Each { verdicts, words } if verdicts.values().all(|verdict| *verdict == Verdict::Approve) => {
            (Standing::new("good", "✓", "approved"), said(words))
        }
        Answer::Each { words, .. } => (Standing::new("bad", "✗", "denied"), said(words)),
    };
    let mark = if reverted { Standing::new("rest", "↶", format!("{}, then reverted", mark.words)) } else { mark };
    (mark, words)
}

fn change(page: &RunPage<'_>, task: &Slug, mark: &Standing, words: &Markup, text: &str) -> Markup {
    let title = page.board.row(task).map_or_else(|| task.to_string(), |row| row.title.clone());
    html! {
        h3 { a href=(page.address(&format!("tasks/{task}"))) { (one_line(&title, 100)) } " " (mark.badge()) }
        p { (words) }
        @for (path, body) in diff::files(text) {
            @let (added, removed) = diff_counts(&body);
            details open {
                summary { span.mono { (one_line(&path, 200)) } " " span.facts { "+" (added) " −" (removed) } }
                (diff::lines(&body, &path, &page.painter()))
            }
        }
    }
}
