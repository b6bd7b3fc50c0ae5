//! What waits for the person: gates and questions, each with its form.

use std::collections::BTreeMap;

use callsheet_core::record::{CheckEnd, GateKind};
use callsheet_core::view::diff_counts;
use callsheet_core::visible::{hidden_count, visible};
use callsheet_format::edit::Hunk;
use callsheet_runtime::ports::{GateView, UNHELD, WriterView};
use callsheet_runtime::shown::MASK;
use maud::{Markup, html};

use super::diff;
use super::layout::WAITS;
use super::run::{RunPage, told};
use crate::piece::{Piece, Tag};
use callsheet_app::one_line;
use callsheet_app::{Refusal, Standing, standing};

/// The form of a change as the person filled it in, and why it was refused.
pub(crate) struct Typed {
    /// The number of its gate.
    pub gate: u32,
    /// The chosen hunks.
    pub hunks: Vec<u32>,
    /// The texts of hunks.
    pub edits: BTreeMap<u32, String>,
    pub because: String,
    pub refusal: Refusal,
}

/// The pieces for all gates and questions, each with its form. `open` says whether the forms are open. Otherwise each
/// is folded under its title.
pub(crate) fn pieces(page: &RunPage<'_>, open: bool, pieces: &mut Vec<Piece>) {
    let mut add = |id: String, title: Markup, form: Markup| {
        let inner = html! {
            details open[open] id=(format!("d-{id}")) {
                summary { h2 { span aria-hidden="true" { (WAITS) " " } (title) } }
                (form)
            }
        };
        pieces.push(Piece::new(Tag::Block, "asks", id, "ask", inner));
    };
    for view in page.gates {
        let (title, form) = gate(page, view);
        add(format!("gate-{}", view.gate.n), title, form);
    }
    for (number, open) in page.run.questions().iter().enumerate() {
        let asking = &open.asking;
        let inner = html! {
            pre.text { (visible(&open.text)) }
            form method="post" action=(page.action("answer")) {
                input type="hidden" name="task" value=(asking.task);
                input type="hidden" name="execution" value=(asking.run);
                input type="hidden" name="call" value=(asking.call);
                label { span { "Your answer" } textarea name="text" rows="3" required {} }
                (buttons(page, &[("", "Answer", "main")]))
            }
        };
        let title = html! { (title(page, asking.task.as_str())) " asks you" };
        add(format!("question-{number}-{}", asking.call), title, inner);
    }
}

/// A notice that something waits, for pages about something else.
pub(crate) fn in_short(page: &RunPage<'_>, pieces: &mut Vec<Piece>) {
    let waiting = page.board.header.waiting;
    if waiting > 0 {
        let inner = html! {
            p.notice.wait {
                strong { (waiting) @if waiting == 1 { " question waits" } @else { " questions wait" } " for you. " }
                a href=(page.address("")) { "Answer on the board" }
            }
        };
        pieces.push(Piece::new(Tag::Block, "asks", "asks-short", "asks-short", inner));
    }
}

/// The name of a task for people.
fn title(page: &RunPage<'_>, slug: &str) -> String {
    let task = page.board.rows().find(|row| row.slug.as_str() == slug);
    one_line(task.map_or(slug, |row| &row.title), 80)
}

/// What a gate asks in a few words, and its form.
fn gate(page: &RunPage<'_>, view: &GateView) -> (Markup, Markup) {
    let form = |inner: Markup| {
        html! { form method="post" action=(page.action(&format!("gates/{}", view.gate.n))) { (inner) } }
    };
    match &view.gate.kind {
        GateKind::BeforeRun(_) => (html! { "Approve before these tasks start" }, form(before_run(page, view))),
        GateKind::BeforeApply { task, .. } => {
            (html! { "Approve a change by " (title(page, task.as_str())) }, form(before_apply(page, view)))
        }
        GateKind::BeforeCall { task, .. } => {
            (html! { "Approve a call by " (title(page, task.as_str())) }, form(before_call(page, view)))
        }
    }
}

fn before_run(page: &RunPage<'_>, view: &GateView) -> Markup {
    let several = view.writers.len() > 1;
    html! {
        p.soft { "They can change files or run commands. You are asked again before each change." }
        @if several { input type="hidden" name="tasks" value="1"; }
        ul.writers { @for writer in &view.writers { li { (one_writer(page, writer, several)) } } }
        (because("Why not? The model reads it when it plans again.", ""))
        (verdicts(page, if several { "Approve the chosen" } else { "Approve" }, None))
    }
}

fn one_writer(page: &RunPage<'_>, writer: &WriterView, several: bool) -> Markup {
    let slug = writer.task.slug.as_str();
    html! {
        @if several {
            label.pick { input type="checkbox" name="task" value=(slug) checked; strong { (visible(&writer.task.name)) } }
        } @else {
            strong { (visible(&writer.task.name)) }
        }
        p.need { (visible(&writer.task.need)) }
        p.soft {
            "Skill " (visible(&writer.skill)) " · " (visible(&writer.reason)) " · "
            @if writer.by_model { "refined by a model" } @else if writer.refined { "needs no refinement" } @else { "not refined yet" }
            " · " a href=(page.address(&format!("tasks/{slug}"))) { "all of it" }
        }
    }
}

fn before_apply(page: &RunPage<'_>, view: &GateView) -> Markup {
    let hidden = hidden_count(&view.diff);
    let several = view.hunks.len() > 1;
    let typed = page.typed.filter(|typed| typed.gate == view.gate.n);
    let (added, removed) = diff_counts(&view.diff);
    html! {
        p.soft { "+" (added) " −" (removed) " lines. Nothing is written before you approve." }
        @if let Some(check) = &view.check {
            details.check open[check.end != CheckEnd::Passed] {
                summary { "Check " strong { (visible(&check.name)) } ": " (check_words(check.end)) " on a copy of the project with this change" }
                pre.text { (visible(&check.output)) }
            }
        }
        @if let Some(words) = view.unchecked_words() { p.soft { (visible(&words)) } }
        @if hidden > 0 { p.bad-words { (hidden) " hidden characters are shown as <U+…>." } }
        @if let Some(typed) = typed { (told(&Err(typed.refusal.clone()))) }
        @if view.hunks.is_empty() { (diff::lines(&view.diff, "", &page.painter())) } @else { input type="hidden" name="hunks" value="1"; }
        @if several { p.soft { "Clear a hunk to leave it out. The model and the task's result learn what you left out or edited." } }
        @for hunk in &view.hunks { (one_hunk(page, hunk, view.gate.n, several, typed)) }
        (because("Why not, or why not all of it?", typed.map_or("", |typed| typed.because.as_str())))
        (verdicts(page, if several { "Approve the chosen hunks" } else { "Approve" }, standing(view).as_ref()))
    }
}

fn one_hunk(page: &RunPage<'_>, hunk: &Hunk, gate: u32, several: bool, typed: Option<&Typed>) -> Markup {
    let number = hunk.number;
    let chosen = typed.is_none_or(|typed| typed.hunks.contains(&number));
    let text = hunk.text.replace("\r\n", "\n");
    let edited = typed.and_then(|typed| typed.edits.get(&number)).filter(|edited| **edited != text);
    let rows = edited.unwrap_or(&text).lines().count().clamp(4, 24);
    html! {
        div.hunk {
            @if several {
                label.pick {
                    input type="checkbox" name="hunk" value=(number) checked[chosen];
                    strong { "Hunk " (number) } span { (diff::place(hunk)) }
                }
            } @else {
                input type="hidden" name="hunk" value=(number);
                p { strong { (diff::place(hunk)) } }
            }
            (diff::hunk(hunk, &page.painter()))
            // A text field would hide what the lines above show.
            @if hidden_count(&text) > 0 || text.contains(MASK) {
                p.soft { "To edit this hunk, use a terminal: it has characters or a key that a page does not show." }
            } @else if !text.is_empty() {
                details.edit-hunk open[edited.is_some()] id=(format!("d-hunk-{gate}-{number}")) {
                    summary { "Edit this hunk" }
                    label {
                        span { "To keep a deleted line, replace its - with a space. To omit a new line, delete it. You can change and add lines with +." }
                        textarea name=(format!("edit-{number}")) rows=(rows) spellcheck="false" autocomplete="off" { (edited.unwrap_or(&text)) }
                    }
                }
            }
        }
    }
}

fn check_words(end: CheckEnd) -> &'static str {
    match end {
        CheckEnd::Passed => "passed",
        CheckEnd::Failed => "failed",
        CheckEnd::NotRun => "did not run",
    }
}

fn before_call(page: &RunPage<'_>, view: &GateView) -> Markup {
    html! {
        @if view.unheld { p.bad-words { (UNHELD) } }
        @if let Some(unended) = &view.unended {
            p.bad-words { "This call may repeat another one, which was started and never finished:" }
            pre.text { (visible(&unended.name)) " " (arguments(&unended.arguments)) }
        } @else if view.again {
            p.bad-words { "This call was started before and never finished." }
        }
        @if let Some(call) = &view.call {
            p { "Tool " strong.mono { (visible(&call.name)) } }
            pre.text { (arguments(&call.arguments)) }
        }
        @for also in &view.also {
            p { "Also for " (visible(also.task.as_str())) ":" }
            pre.text { (arguments(&also.call.arguments)) }
            input type="hidden" name="also" value=(also.gate.n);
        }
        @if let Some(directory) = &view.directory { p.soft { "In " span.mono { (visible(directory)) } } }
        (because("Why not?", ""))
        (verdicts(page, "Approve", standing(view).as_ref()))
    }
}

/// The arguments of a call, exactly: each on separate lines, with hidden characters shown.
pub(crate) fn arguments(arguments: &serde_json::Value) -> String {
    let text = |value: &serde_json::Value| match value {
        serde_json::Value::String(text) => visible(text),
        other => visible(&other.to_string()),
    };
    match arguments.as_object() {
        Some(fields) => fields.iter().map(|(key, value)| format!("{}: {}\n", visible(key), text(value))).collect(),
        None => text(arguments),
    }
}

fn because(words: &str, typed: &str) -> Markup {
    html! { label.because { span { (words) " (optional)" } textarea name="because" rows="2" { (typed) } } }
}

/// The buttons of a gate: yes, yes from now on, and no.
fn verdicts(page: &RunPage<'_>, yes: &str, always: Option<&Standing>) -> Markup {
    let always = always.map(|standing| ("always", standing.words(), ""));
    let answers: Vec<_> = [("approve", yes, "main")].into_iter().chain(always).chain([("deny", "Deny", "")]).collect();
    buttons(page, &answers)
}

/// The buttons that answer. For a resting run, the answer is saved until the run is resumed.
fn buttons(page: &RunPage<'_>, answers: &[(&str, &str, &str)]) -> Markup {
    let rests = page.summary.owner.is_none();
    html! {
        div.answers {
            @for (verdict, words, class) in answers {
                button class=(class) name="verdict" value=(verdict) { (words) }
            }
            @if rests {
                label.pick { input type="checkbox" name="resume" value="1" checked; span { "and resume the run, in a process of its own" } }
            }
        }
    }
}
