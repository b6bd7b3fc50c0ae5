//! One task: its description, its inputs, why it waits, its result, and its calls.

use callsheet_core::issue::Severity;
use callsheet_core::nouns::{BlobId, Reference, Slug};
use callsheet_core::record::Gate;
use callsheet_core::view::{
    call_words, counted, dollars, duration, review_words, state_mark, thousands, unsupported_line,
};
use callsheet_core::visible::readable;
use callsheet_report::markdown;
use callsheet_runtime::ports::LiveText;
use callsheet_runtime::shown::mask;
use maud::{Markup, html};

use super::asks::arguments;
use super::diff;
use super::layout::WAITS;
use super::run::RunPage;
use crate::piece::{Piece, Tag, listed};
use callsheet_app::{CallRecord, Refusal, State, TaskRun, ToolOutput, ToolRun, ToolState, one_line, unknown_task};

/// How many characters of a text are shown at first. The whole text is a page of its own.
const SHOWN: usize = 12_000;

/// The pieces of the task. If there is no such task, the pieces say so.
pub(crate) fn pieces(page: &RunPage<'_>, slug: &Slug, pieces: &mut Vec<Piece>) -> Result<(), Refusal> {
    let mut add = |list: &str, id: String, class: &str, inner: Markup| {
        pieces.push(Piece::new(Tag::Block, list, id, class, inner))
    };
    let Some(task) = page.run.all_tasks().find(|task| task.task.slug == *slug) else {
        let names: Vec<&str> = page.run.all_tasks().map(|task| task.task.slug.as_str()).collect();
        let refusal = unknown_task(page.id(), slug.as_str(), &names);
        let words = html! { p { (readable(&refusal.what)) ". " (readable(&refusal.advice.to_string())) } };
        add("task-parts", "t-none".to_owned(), "t-none", words);
        return Ok(());
    };
    add("task-parts", "t-head".to_owned(), "t-head", head(page, task));
    add("task-parts", "t-plan".to_owned(), "t-plan", plan(page, task));
    add("task-parts", "t-writing".to_owned(), "t-writing", writing(page, Some(slug)));
    add("task-parts", "t-result".to_owned(), "t-result", result(page, task)?);
    for exec in &task.runs {
        for call in &exec.calls {
            add("task-tools", format!("tool-{}-{}", exec.id, call.call.id), "call", tool(page, &exec.title, call)?);
        }
    }
    for call in page.run.calls_of(slug) {
        add("task-calls", format!("call-{}", call.number), "call", model_call(page, call));
    }
    Ok(())
}

/// The pane with its pieces.
pub(crate) fn shell(page: &RunPage<'_>, pieces: &[Piece]) -> Markup {
    html! {
        a.back href=(page.address("")) { "← Board" }
        div #task-parts { (listed(pieces, "task-parts")) }
        h3.when-filled { "Tool calls" }
        div #task-tools.calls { (listed(pieces, "task-tools")) }
        h3.when-filled { "Model calls" }
        div #task-calls.calls { (listed(pieces, "task-calls")) }
    }
}

fn head(page: &RunPage<'_>, task: &TaskRun) -> Markup {
    let state = page.run.standing(task);
    let slug = &task.task.slug;
    let asked = page.board.queue.iter().find(|ask| ask.tasks.contains(slug));
    let (mark, word) = state_mark(state);
    html! {
        h2 { (one_line(&task.task.name, 160)) }
        p.facts-line {
            @if asked.is_some() { span.badge.wait { span aria-hidden="true" { (WAITS) } " asks you" } }
            @else { span class=(format!("badge {}", tone(state))) { span aria-hidden="true" { (mark) } " " (word) } }
            @if let Some(skill) = &task.task.skill { span { "skill " (one_line(skill, 60)) } }
            @if let Some(row) = page.board.row(slug) {
                @if row.ms > 0 && state.is_ended() { span { (duration(row.ms)) } }
                @if row.tokens > 0 { span { (thousands(row.tokens)) " tokens" } }
            }
            span.soft.mono { (slug) }
        }
        @if let Some(reason) = &task.writer { p.soft { "Needs approval: " (readable(reason)) } }
        @if !state.is_ended() && asked.is_none() {
            @let now = page.run.explain(slug);
            p { strong { "Now: " } (readable(&page.run.why_words(&now, page.is_driven()))) "." }
        }
        @if let Some(ask) = asked { p { strong { "Now: " } (one_line(&ask.line, 200)) ". " a href=(ask_link(page, slug)) { "Answer" } } }
        @if (state.is_problem() || state == State::Done) && page.run.may_retry(slug) {
            form.retry method="post" action=(page.action("retry")) {
                input type="hidden" name="task" value=(slug);
                label { span { "What was wrong? The model reads it. (optional)" } input type="text" name="because" autocomplete="off"; }
                button title="Runs this task and the tasks that read its result again." { "Retry this task" }
            }
        }
    }
}

/// What models are writing for a task, or for the run as a whole. Empty if they are not writing.
pub(crate) fn writing(page: &RunPage<'_>, task: Option<&Slug>) -> Markup {
    let calls = page.writing(task);
    let words = |call: &LiveText| call_words(&call.key, page.run.part(&call.key));
    let is_cut = |call: &LiveText| (call.text.chars().count() as u64) < call.count;
    html! {
        @for call in &calls {
            h3 { "Writing: " (one_line(&words(call), 80)) " " span.facts { (thousands(call.count)) " characters" } }
            pre.text { @if is_cut(call) { "…" } (readable(&call.text)) }
        }
    }
}

fn ask_link(page: &RunPage<'_>, slug: &Slug) -> String {
    let gate = |gate: &Gate| page.part(&format!("gate-{}", gate.n));
    let of_task = page
        .gates
        .iter()
        .find(|view| view.task.as_ref() == Some(slug) || view.writers.iter().any(|writer| writer.task.slug == *slug));
    of_task.map_or_else(|| page.part("asks"), |view| gate(&view.gate))
}

fn tone(state: State) -> &'static str {
    match state {
        State::Done => "good",
        State::Running | State::Refining => "work",
        State::Failed | State::Blocked | State::Denied => "bad",
        _ => "rest",
    }
}

fn plan(page: &RunPage<'_>, task: &TaskRun) -> Markup {
    let inner = &task.task;
    html! {
        dl {
            dt { "Need" } dd { p.text { (readable(&inner.need)) } }
            @if !inner.references.is_empty() {
                dt { "Reads" } dd { ul.refs { @for reference in &inner.references { li { (link(page, reference)) } } } }
            }
            @if !inner.expected.trim().is_empty() { dt { "Expected" } dd { p.text { (readable(&inner.expected)) } } }
            @if !task.check_issues.is_empty() {
                dt { "References" } dd { @for issue in &task.check_issues { p.bad-words { (readable(&issue.to_string())) } } }
            }
        }
    }
}

/// A reference: a link to a task, or the name of a file.
fn link(page: &RunPage<'_>, reference: &Reference) -> Markup {
    let target = reference.target.to_string();
    let title = if reference.title.trim().is_empty() { &target } else { &reference.title };
    html! {
        @if let Some(task) = reference.target.producer().and_then(|slug| page.run.task(slug)) {
            a href=(page.address(&format!("tasks/{}", task.task.slug))) data-task=(task.task.slug) { (one_line(title, 100)) }
        } @else { (one_line(title, 100)) }
        " " span.soft.mono { (one_line(&target, 160)) }
    }
}

fn result(page: &RunPage<'_>, task: &TaskRun) -> Result<Markup, Refusal> {
    let document = task.result().and_then(|result| result.document.as_ref());
    let summary = task.result().map(|result| result.summary.trim()).unwrap_or_default();
    let marks = task.result().into_iter().flat_map(|result| &result.unsupported).map(String::as_str);
    let whole = document.map(|id| blob(page, id)).transpose()?;
    Ok(html! {
        @if let Some(failure) = task.failure() {
            div.notice.bad {
                strong { "Failed: " } (readable(&failure.reason))
                @for issue in &failure.issues { p { (readable(&issue.to_string())) } }
            }
        }
        @if let Some(words) = task.denial() {
            p.notice.bad { strong { "Denied" } @if !words.trim().is_empty() { ": " (readable(words)) } }
        }
        @if let Some(by) = task.blocked_by() { p.notice.bad { strong { "Blocked" } " by " span.mono { (by) } } }
        @if !summary.is_empty() { h3 { "Result" } div.prose { (markdown(summary)) } }
        @if let Some(line) = unsupported_line(marks) { p.bad-words { (readable(&line)) "." } }
        @for review in task.reviews() { p.soft { (readable(&review_words(review))) } }
        @if let (Some(whole), Some(id)) = (&whole, document) {
            @if whole.trim() != summary {
                details { summary { "Whole document" } (document_words(page, whole, id)) }
            }
        }
        @for set in &task.applied {
            @if let Some(diff) = &set.changes.diff {
                h3 { @if set.reverted { "Changed, and reverted" } @else { "Changed" } }
                (diff::lines(&blob(page, diff)?, "", &page.painter()))
            }
            @if let Some(refused) = &set.refused {
                h3 { "Left out by you" }
                @if !refused.words.is_empty() { p { "“" (readable(&refused.words)) "”" } }
                (diff::lines(&blob(page, &refused.diff)?, "", &page.painter()))
            }
        }
    })
}

/// A formatted document. Only the beginning of a long one is shown, without formatting.
fn document_words(page: &RunPage<'_>, text: &str, id: &BlobId) -> Markup {
    html! { @if text.len() <= SHOWN { div.prose { (markdown(text)) } } @else { (long(page, text, id)) } }
}

/// The text of a blob.
pub(crate) fn blob(page: &RunPage<'_>, id: &BlobId) -> Result<String, Refusal> {
    let bytes = page.runs.blob(id)?;
    Ok(mask(&String::from_utf8_lossy(&bytes)).into_owned())
}

/// A text. A long text is shortened and has a link to the whole.
pub(crate) fn long(page: &RunPage<'_>, text: &str, id: &BlobId) -> Markup {
    let cut: String = text.chars().take(SHOWN).collect();
    html! {
        pre.text { (readable(&cut)) }
        @if cut.len() < text.len() { p { a href=(page.address(&format!("text/{id}"))) { "All " (thousands(text.len() as u64)) " bytes" } } }
    }
}

fn tool(page: &RunPage<'_>, part: &str, call: &ToolRun) -> Result<Markup, Refusal> {
    let (sign, how) = tool_state(call);
    let output = match call.output() {
        Some(ToolOutput::Text { blob: id, .. } | ToolOutput::Answered(id)) => Some((id, blob(page, id)?)),
        _ => None,
    };
    Ok(html! {
        details id=(format!("d-{}", call.call.id)) {
            summary {
                span aria-hidden="true" { (sign) " " }
                strong.mono { (one_line(&call.call.name, 60)) } " "
                span.soft { (one_line(&first_argument(&call.call.arguments), 80)) } " "
                span.facts { (how) @if call.ms > 0 { " · " (duration(call.ms)) } @if !part.is_empty() { " · " (one_line(part, 60)) } }
            }
            h4 { "Arguments" }
            pre.text { (arguments(&call.call.arguments)) }
            @if let Some((id, text)) = output { h4 { "Output" } (long(page, &text, id)) }
        }
    })
}

fn first_argument(arguments: &serde_json::Value) -> String {
    let first = arguments.as_object().and_then(|fields| fields.values().next());
    first.map(|value| value.as_str().map_or_else(|| value.to_string(), str::to_owned)).unwrap_or_default()
}

fn tool_state(call: &ToolRun) -> (&'static str, &'static str) {
    match &call.state {
        ToolState::Gated { .. } | ToolState::Asking { .. } => (WAITS, "asks you"),
        ToolState::Staged(_) => (WAITS, "its change waits"),
        ToolState::Queued => ("○", "not finished"),
        ToolState::Approved => ("▶", "approved, not finished"),
        ToolState::Answered(_) => ("▶", "continues with your answer"),
        ToolState::Mounted(_) => ("▶", "runs a template"),
        ToolState::Cut { .. } => ("–", "stopped at the time limit"),
        ToolState::Done(output) => match output {
            ToolOutput::Text { error: false, .. } => ("✓", "done"),
            ToolOutput::Text { error: true, .. } => ("✗", "failed"),
            ToolOutput::Answered(_) => ("✓", "answered by you"),
            ToolOutput::Applied { .. } => ("✓", "change applied"),
            ToolOutput::Rejected(_) => ("✗", "change not possible"),
            ToolOutput::Repeated { .. } => ("✓", "same call as before"),
        },
    }
}

fn model_call(page: &RunPage<'_>, call: &CallRecord) -> Markup {
    let address = page.address(&format!("calls/{}", call.number));
    html! {
        details id=(format!("d-call-{}", call.number)) data-part=(address) {
            summary { (call_line(call)) }
            div.part { a href=(address) { "Prompt, reply, repairs and issues" } }
        }
    }
}

/// A call in one line.
pub(crate) fn call_line(call: &CallRecord) -> Markup {
    let (sign, how) = verdict(call);
    html! {
        span aria-hidden="true" { (sign) " " }
        strong { (call.number) ". " (one_line(&call_words(&call.key, &call.part), 80)) } " "
        span.facts {
            (how) " · " (thousands(call.usage.input)) " in"
            @if call.usage.cached > 0 { " (" (thousands(call.usage.cached)) " cached)" }
            " · " (thousands(call.usage.output)) " out"
            @if let Some(usd) = call.usage.cost_usd { " · " (dollars(usd)) }
            " · " (duration(call.ms))
        }
    }
}

fn verdict(call: &CallRecord) -> (&'static str, String) {
    let repairs = match call.repairs.len() {
        0 => String::new(),
        1 => ", 1 repair".to_owned(),
        count => format!(", {count} repairs"),
    };
    let errors = call.issues.iter().filter(|issue| issue.severity == Severity::Error).count();
    match call.accepted {
        Some(true) if !call.rejected.is_empty() => ("!", format!("accepted{repairs}, changes not possible")),
        Some(true) => ("✓", format!("accepted{repairs}")),
        Some(false) => ("✗", format!("rejected, {}{repairs}", counted(errors, "issue"))),
        None => ("▶", "not read yet".to_owned()),
    }
}
