//! The other tabs of a task: its last prompt, its calls, its tools and its changes.

use callsheet_app::{CallRecord, TaskRun, ToolOutput, ToolRun, ToolState};
use callsheet_core::nouns::{Slug, tokens};
use callsheet_core::record::CallKey;
use callsheet_core::view::{call_words, counted};
use callsheet_runtime::ports::{Message, ModelReply};
use callsheet_runtime::prompting::PromptRecord;

use super::Teller;
use crate::app::Tab;
use crate::diff;
use crate::text::one_line;

impl<'a> Teller<'a> {
    /// `slug` is the task. `None` for calls without a task, such as the plan.
    pub(super) fn tab(&mut self, slug: Option<&Slug>) {
        let calls: Vec<&CallRecord> = self.calls_of(slug);
        match self.app.tab {
            Tab::Task => {}
            Tab::Prompt => match calls.last() {
                Some(call) => self.prompt(call),
                None => self.quiet("no model call has ended yet"),
            },
            Tab::Calls => {
                for call in calls.iter().rev() {
                    self.call(call);
                }
                if calls.is_empty() {
                    self.quiet("no model call has ended yet");
                }
            }
            Tab::Tools => {
                let app = self.app;
                self.tools(slug.and_then(|slug| app.run.task(slug)));
            }
            Tab::Changes => self.changes(slug),
        }
    }

    fn calls_of(&self, slug: Option<&Slug>) -> Vec<&'a CallRecord> {
        let of = |key: &CallKey| key.task.as_ref() == slug;
        let app = self.app;
        app.run.calls().iter().filter(|call| of(&call.key)).collect()
    }

    fn prompt(&mut self, call: &CallRecord) {
        let record = self.viewer.blob(&call.prompt).and_then(|text| serde_json::from_str::<PromptRecord>(&text).ok());
        let Some(record) = record else { return self.bad("the prompt cannot be read") };
        let what = call_words(&call.key, &call.part);
        let cached =
            if call.usage.cached > 0 { format!(", {} of them cached", call.usage.cached) } else { String::new() };
        self.quiet(&format!("call {}: {what}, {} input tokens{cached}", call.number, call.usage.input));
        self.part("system", &record.request.system);
        for message in &record.request.messages {
            match message {
                Message::User { text, .. } => self.part("user", text),
                Message::Assistant { text, .. } => self.part("assistant", text),
                Message::Tool { name, text, .. } => self.part(&format!("tool {name}"), text),
            }
        }
    }

    fn part(&mut self, name: &str, text: &str) {
        self.heading(&format!("{name}, about {} tokens", tokens(text)));
        self.text(text);
    }

    fn call(&mut self, call: &CallRecord) {
        let how = match call.accepted {
            Some(true) if call.repairs.is_empty() => "accepted".to_owned(),
            Some(true) => format!("accepted with {}", counted(call.repairs.len(), "repair")),
            Some(false) => format!("rejected, {}", counted(call.issues.len(), "issue")),
            None => "not read".to_owned(),
        };
        self.heading(&format!("call {}: {}, {how}", call.number, call_words(&call.key, &call.part)));
        let usage = &call.usage;
        let cost = usage.cost_usd.map(|usd| format!(", ${usd:.4}")).unwrap_or_default();
        self.quiet(&format!(
            "{}  {} input + {} output tokens, {} ms{cost}",
            one_line(&call.model),
            usage.input,
            usage.output,
            call.ms
        ));
        for repair in &call.repairs {
            let (first, last) = repair.span.into();
            self.quiet(&format!("repaired {} (lines {first}-{last})", repair.code));
        }
        call.issues.iter().chain(&call.rejected).for_each(|issue| self.bad(&issue.to_string()));
        let reply = self.viewer.blob(&call.reply).and_then(|text| serde_json::from_str::<ModelReply>(&text).ok());
        match reply {
            Some(reply) => {
                self.text(&reply.text);
                for call in &reply.calls {
                    self.quiet(&format!("{} {}", call.name, call.arguments));
                }
            }
            None => self.bad("the reply cannot be read"),
        }
    }

    fn tools(&mut self, task: Option<&TaskRun>) {
        let calls: Vec<&ToolRun> = task.iter().flat_map(|task| &task.runs).flat_map(|run| &run.calls).collect();
        if calls.is_empty() {
            self.quiet("no tool call");
        }
        for call in calls {
            let state = match &call.state {
                ToolState::Queued => "not started".to_owned(),
                ToolState::Gated { .. } => "waits for you".to_owned(),
                ToolState::Approved => "approved".to_owned(),
                ToolState::Cut { .. } => "cut off".to_owned(),
                ToolState::Asking { .. } => "asks you".to_owned(),
                ToolState::Answered(_) => "continues with your answer".to_owned(),
                ToolState::Mounted(_) => "runs a template".to_owned(),
                ToolState::Staged(_) => "its changes wait".to_owned(),
                ToolState::Done(_) => format!("{} ms", call.ms),
            };
            self.heading(&format!("{} {}, {state}", call.call.name, call.call.arguments));
            match call.output() {
                Some(ToolOutput::Text { blob, error }) => {
                    let text = self.viewer.blob(blob).unwrap_or_default();
                    if *error { self.bad(&text) } else { self.text(&text) }
                }
                Some(ToolOutput::Answered(blob)) => {
                    let text = self.viewer.blob(blob).unwrap_or_default();
                    self.text(&text);
                }
                Some(ToolOutput::Applied { set }) => self.quiet(&format!("its changes are made (set {set})")),
                Some(ToolOutput::Rejected(issues)) => issues.iter().for_each(|issue| self.bad(&issue.to_string())),
                Some(ToolOutput::Repeated { of }) => self.quiet(&format!("same as {of}, an equal earlier call")),
                None => {}
            }
        }
    }

    /// The changes of a task, or of the whole run if none is named.
    fn changes(&mut self, slug: Option<&Slug>) {
        let tasks: Vec<&TaskRun> = match slug {
            Some(slug) => self.app.run.task(slug).into_iter().collect(),
            None => self.app.run.all_tasks().collect(),
        };
        let sets = tasks.iter().flat_map(|task| task.applied.iter().map(move |set| (*task, set)));
        let mut any = false;
        for (task, set) in sets {
            any = true;
            let back = if set.reverted { ", reverted" } else { "" };
            self.heading(&format!("{}{back}", task.task.slug));
            if let Some(text) = set.changes.diff.as_ref().and_then(|id| self.viewer.blob(id)) {
                let paint = |path: &str, text: &str| self.viewer.colours(path, text);
                let lines = diff::unified(&text, "", (self.theme, &paint), self.cells);
                self.lines.extend(lines);
            }
            if let Some(refused) = &set.refused {
                self.bad(&one_line(&refused.told));
            }
        }
        if !any {
            self.quiet("no changes on disk");
        }
    }
}
