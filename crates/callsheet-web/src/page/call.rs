//! One model call: the parts of the prompt, the reply beside what was read from it, and repairs and issues at their
//! lines.

use callsheet_core::issue::{Issue, Severity};
use callsheet_core::nouns::tokens;
use callsheet_core::record::StopReason;
use callsheet_core::view::{dollars, duration, thousands};
use callsheet_core::visible::readable;
use callsheet_runtime::ports::{Message, ModelReply, ModelRequest};
use callsheet_runtime::prompting::PromptRecord;
use maud::{Markup, html};

use super::asks::arguments;
use super::layout::Frame;
use super::run::RunPage;
use super::task::{blob, call_line};
use callsheet_app::{CallRecord, Refusal, one_line};

/// In replies with more lines than this, notes are below the reply instead of inside it.
const LINES: usize = 2_000;

/// The call as a page of its own.
pub(crate) fn page(page: &RunPage<'_>, call: &CallRecord) -> Result<Markup, Refusal> {
    let project = page.runs.project();
    let body = html! {
        div.run-head {
            p.crumbs {
                a href="./" { "Runs" } " / " a.mono href=(page.address("")) { (page.id()) }
                @if let Some(task) = &call.key.task { " / " a.mono href=(page.address(&format!("tasks/{task}"))) { (task) } }
            }
            h1.request { "Call " (call.number) }
            p { (call_line(call)) }
        }
        section.call-page { (part(page, call)?) }
    };
    Ok(Frame { visit: page.visit, title: &format!("Call {}", call.number), project: &project, query: "", live: None }
        .page(&body))
}

/// The call, for a page or a part of a page.
pub(crate) fn part(page: &RunPage<'_>, call: &CallRecord) -> Result<Markup, Refusal> {
    let unreadable = |error: serde_json::Error| Refusal::internal(format!("can't read the recorded call: {error}"), "");
    let prompt: PromptRecord = serde_json::from_str(&blob(page, &call.prompt)?).map_err(unreadable)?;
    let reply: ModelReply = serde_json::from_str(&blob(page, &call.reply)?).map_err(unreadable)?;
    Ok(html! {
        p.soft { (facts(call, &prompt.request)) }
        h4 { "Prompt" }
        (prompt_parts(&prompt.request))
        @if let Some(thinking) = &reply.thinking {
            details { summary { "Thinking" (count(thinking)) } pre.text { (readable(thinking)) } }
        }
        h4 { "Reply" (count(&reply.text)) }
        (reply_lines(call, &reply.text))
        @for made in &reply.calls {
            p { "Calls " strong.mono { (one_line(&made.name, 60)) } }
            pre.text { (arguments(&made.arguments)) }
        }
        (rejected(&call.rejected))
    })
}

fn facts(call: &CallRecord, request: &ModelRequest) -> String {
    let mut facts = vec![one_line(&call.model, 80), format!("attempt {}", call.attempt)];
    if let Some(earlier) = &call.reused {
        facts.push(format!("repeats the request of {} and reuses its reply", earlier.words()));
    }
    if call.sends > 1 {
        facts.push(format!("{} sends", call.sends));
    }
    facts.push(format!(
        "{} tokens in, {} of them cached, {} out",
        thousands(call.usage.input),
        thousands(call.usage.cached),
        thousands(call.usage.output)
    ));
    facts.extend(call.usage.cost_usd.map(dollars));
    facts.push(duration(call.ms));
    facts.extend(request.temperature.map(|number| format!("temperature {number}")));
    facts.extend(request.seed.map(|seed| format!("seed {seed}")));
    match call.stop {
        StopReason::End | StopReason::Tools => {}
        StopReason::Length => facts.push("cut at its length limit".to_owned()),
        StopReason::Budget => facts.push("cut at the token budget".to_owned()),
        StopReason::Repeated => facts.push("stopped, because it only repeated itself".to_owned()),
        StopReason::Filtered => facts.push("cut by the provider's filter".to_owned()),
        StopReason::Refused => facts.push("declined by the model".to_owned()),
    }
    facts.join(" · ")
}

/// The estimated number of tokens of a text.
fn count(text: &str) -> Markup {
    html! { span.facts { " about " (thousands(u64::from(tokens(text)))) " tokens" } }
}

fn prompt_parts(request: &ModelRequest) -> Markup {
    let last = request.messages.len().saturating_sub(1);
    html! {
        details { summary { "System" (count(&request.system)) } pre.text { (readable(&request.system)) } }
        @for (at, message) in request.messages.iter().enumerate() {
            details open[at == last] {
                summary { (role(message, at, last)) (count(message.text())) }
                pre.text { (readable(message.text())) }
                @if let Message::Assistant { calls, .. } = message {
                    @for call in calls { p { "Calls " strong.mono { (one_line(&call.name, 60)) } } pre.text { (arguments(&call.arguments)) } }
                }
            }
        }
        @if !request.tools.is_empty() {
            details {
                summary { "Tools offered: " (request.tools.iter().map(|tool| tool.name.as_str()).collect::<Vec<_>>().join(", ")) }
                @for tool in &request.tools { p { strong.mono { (tool.name) } " " (readable(&tool.description)) } }
            }
        }
    }
}

fn role(message: &Message, at: usize, last: usize) -> String {
    match message {
        Message::User { .. } if at == last => "Prompt".to_owned(),
        Message::User { .. } => "Callsheet said".to_owned(),
        Message::Assistant { .. } => "Model said".to_owned(),
        Message::Tool { name, error, .. } => {
            format!("Output of {}{}", one_line(name, 60), if *error { " (failed)" } else { "" })
        }
    }
}

/// A note at a line of a reply.
struct Note {
    last: u32,
    class: &'static str,
    words: String,
}

fn notes(call: &CallRecord) -> Vec<Note> {
    let repairs = call.repairs.iter().map(|repair| {
        let change = if repair.before.is_empty() && repair.after.is_empty() {
            String::new()
        } else {
            format!(": “{}” was read as “{}”", one_line(&repair.before, 120), one_line(&repair.after, 120))
        };
        Note { last: repair.span.last, class: "note repair", words: format!("Repaired {}{change}", repair.code) }
    });
    let issues = call.issues.iter().map(|issue| {
        let (class, word) = match issue.severity {
            Severity::Error => ("note issue", "Problem"),
            Severity::Warning => ("note warning", "Warning"),
        };
        Note { last: issue.place.span.last, class, words: format!("{word} {}: {issue}", issue.code) }
    });
    repairs.chain(issues).collect()
}

/// The reply line by line. Repairs and issues are below the lines that they refer to.
fn reply_lines(call: &CallRecord, text: &str) -> Markup {
    let notes = notes(call);
    let lines: Vec<&str> = text.lines().collect();
    let count = u32::try_from(lines.len()).unwrap_or(u32::MAX);
    let inline = lines.len() <= LINES;
    let at = |number: u32| notes.iter().filter(move |note| inline && note.last == number);
    let apart = notes.iter().filter(|note| !inline || note.last == 0 || note.last > count);
    html! {
        @if text.trim().is_empty() { p.soft { "No text." } }
        ol.reply {
            @for (line, number) in lines.iter().zip(1_u32..) {
                li {
                    code { (readable(line)) }
                    @for note in at(number) { p class=(note.class) { (readable(&note.words)) } }
                }
            }
        }
        @for note in apart { p class=(note.class) { (readable(&note.words)) } }
    }
}

fn rejected(issues: &[Issue]) -> Markup {
    html! {
        @if !issues.is_empty() {
            h4 { "Changes that could not be applied" }
            @for issue in issues { p.note.issue { (readable(&issue.to_string())) } }
        }
    }
}
