//! Turns of a loop task (spec 10.7).

use std::collections::BTreeSet;

use callsheet_core::issue::{IssueCode, RepairCode, Span};
use callsheet_core::nouns::{Phase, ToolCall};

use crate::markdown::{Document, Heading, Prepare, Section, channels};
use crate::reading::{Diagnostics, ReadContext, Reading};
use crate::reply::LoopTurn;
use crate::reply::calls::{self, BlockForm, CallBlock, CallRules, check_native, may_hold, read_calls, read_marked};

use super::{call_blocks, execution, formats, skill_policy};

/// What is known about a turn besides its text.
#[derive(Clone, Copy, Debug)]
pub struct TurnInput<'a> {
    /// Calls from the provider's tool calling.
    pub native: &'a [ToolCall],
    /// Ids of earlier calls of the task.
    pub taken_ids: &'a BTreeSet<String>,
    /// Whether tools were offered in this turn. Without them only a result counts.
    pub tools_offered: bool,
}

/// Reads a turn: calls, native or as text, else a reply in execution format.
pub fn read_loop_turn(text: &str, input: TurnInput<'_>, context: &ReadContext) -> Reading<LoopTurn> {
    if input.tools_offered {
        let mut notes = execution::notes(Phase::Execute, context);
        let calls = calls(text, input, context, &mut notes);
        let failed = notes.errors() > 0;
        if failed || !calls.is_empty() {
            return notes.finish(LoopTurn::Calls(calls));
        }
    }
    let mut notes = execution::notes(Phase::Execute, context);
    let execution = execution::result(text, context, &mut notes);
    notes.finish(LoopTurn::Final(Box::new(execution)))
}

fn calls(text: &str, input: TurnInput<'_>, context: &ReadContext, notes: &mut Diagnostics) -> Vec<ToolCall> {
    let policy = skill_policy(context);
    let allowed = policy.map(|policy| policy.tools.as_slice()).unwrap_or_default();
    let rules = CallRules { allowed, context, taken_ids: input.taken_ids, must_start: false };
    notes.set_section(Some("Tool Calls"));
    if !input.native.is_empty() {
        return check_native(input.native, &rules, notes);
    }
    if let Some(call) = channel_call(text) {
        return check_native(&[call], &rules, notes);
    }
    let prepare = Prepare { copies: &[], length_stop: context.length_stop, ..Prepare::default() };
    let mut scratch = Diagnostics::new(Phase::Execute, false);
    let document = Document::read(text, &formats::LOOP, prepare, &mut scratch);
    let marked = marked_calls(&document, &scratch, &rules, context, notes);
    if !marked.is_empty() || notes.errors() > 0 {
        return marked;
    }
    if !text.contains(['{', '`', '~']) {
        unread_call(&document, &rules, notes);
        return Vec::new();
    }
    let sections: Vec<&Section> = document.all(Heading::ToolCalls).collect();
    if sections.is_empty() {
        let calls = loose_calls(&document, &rules, context, notes);
        if calls.is_empty() && notes.errors() == 0 {
            unread_call(&document, &rules, notes);
        }
        if !calls.is_empty() {
            notes.repeat(&scratch, |code| code == RepairCode::ExampleDropped);
        }
        return calls;
    }
    // Calls take priority over a result in the same turn, because the result was written before their output was known.
    let mut blocks = Vec::new();
    for section in document.all(Heading::ToolCalls) {
        blocks.extend(call_blocks(&document, section.body.clone()));
    }
    if blocks.is_empty() {
        return Vec::new();
    }
    notes.repeat(&scratch, |_| true);
    document.trim_prose(document.preamble.clone(), notes);
    for section in document.sections.iter().filter(|section| section.heading != Some(Heading::ToolCalls)) {
        document.trim_prose(section.line..section.body.end, notes);
    }
    if context.length_stop {
        super::body::has_reply(&document, context, notes);
    }
    read_calls(&blocks, &rules, notes)
}

/// The call of a reply in channels: the message to a tool.
fn channel_call(text: &str) -> Option<ToolCall> {
    let called = channels::messages(text)?.into_iter().find(|message| message.recipient.is_some())?;
    let name = called.recipient.unwrap_or_default();
    let arguments = text.get(called.body).unwrap_or_default().trim().into();
    Some(ToolCall { name, id: String::new(), arguments })
}

/// Calls in the notation of a chat template.
fn marked_calls(
    document: &Document<'_>,
    scratch: &Diagnostics,
    rules: &CallRules<'_>,
    context: &ReadContext,
    notes: &mut Diagnostics,
) -> Vec<ToolCall> {
    let text = lines_of(document);
    if !may_hold(&text) {
        return Vec::new();
    }
    let calls = read_marked(&text, rules, notes);
    if !calls.is_empty() {
        notes.repeat(scratch, |code| code == RepairCode::ExampleDropped);
        if context.length_stop {
            super::body::has_reply(document, context, notes);
        }
    }
    calls
}

/// The unchanged lines of a document, so that their numbers stay the same.
fn lines_of(document: &Document<'_>) -> String {
    let mut text = String::new();
    for at in 0..document.len() {
        text.push_str(document.line(at));
        text.push('\n');
    }
    text
}

/// A reply without a result that contains a call in an unknown notation is rejected and requested again. It is never
/// the answer.
fn unread_call(document: &Document<'_>, rules: &CallRules<'_>, notes: &mut Diagnostics) {
    if document.all(Heading::ResultSummary).next().is_some() {
        return;
    }
    let text = lines_of(document);
    if let Some((line, call)) = calls::unread_call(&text, rules) {
        let issue = notes.issue(IssueCode::CallUnread, "", Span::line(line), &[]).raw(call);
        notes.push(issue);
    }
}

/// Calls without the heading and without marks, in a reply without a result whose JSON is a call.
fn loose_calls(
    document: &Document<'_>,
    rules: &CallRules<'_>,
    context: &ReadContext,
    notes: &mut Diagnostics,
) -> Vec<ToolCall> {
    let whole = 0..document.len();
    let has_result = document.all(Heading::ResultSummary).next().is_some();
    let mut blocks = call_blocks(document, whole);
    if has_result {
        return Vec::new();
    }
    for block in &mut blocks {
        // A fence in a result is content unless it is a call, whatever its tag.
        block.lenient = true;
        if let BlockForm::Fence { tag } = &mut block.form
            && tag == "json"
        {
            let mut scratch = Diagnostics::new(Phase::Execute, false);
            let trial = [CallBlock { lenient: false, ..block.clone() }];
            let named = ["\"name\"", "\"arguments\"", "tool_calls"].iter().any(|key| block.text.contains(key));
            if read_calls(&trial, rules, &mut scratch).is_empty() && !(named && block.text.contains("\"arguments\"")) {
                block.text.clear();
            }
        }
    }
    blocks.retain(|block| !block.text.trim().is_empty());
    let calls = read_calls(&blocks, rules, notes);
    if context.length_stop && !calls.is_empty() {
        super::body::has_reply(document, context, notes);
    }
    calls
}
