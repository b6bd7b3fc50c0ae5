//! `ask_user`: a question to the person. The host asks it; the answer becomes the output of the call.

use async_trait::async_trait;
use callsheet_core::evaluate::ASK_USER;
use callsheet_core::nouns::ToolSpec;
use callsheet_runtime::ports::{Tool, ToolContext, ToolFault, ToolOutcome};
use serde::Deserialize;
use serde_json::Value;

use crate::common::{Stop, arguments, reading_tool, settle};

reading_tool!(AskUser, ASK_USER, "request_user_input", "requestuserinput", "askuserquestion");

#[derive(Deserialize)]
struct Arguments {
    prompt: String,
    #[serde(default)]
    choices: Vec<String>,
}

#[async_trait]
impl Tool for AskUser {
    fn spec(&self) -> &ToolSpec {
        &self.0
    }

    async fn run(&self, given: &Value, context: &ToolContext) -> Result<ToolOutcome, ToolFault> {
        if context.cancel.is_cancelled() {
            return Err(ToolFault::Cancelled);
        }
        settle(question(given, context.max_output_bytes))
    }
}

fn question(given: &Value, limit: usize) -> Result<ToolOutcome, Stop> {
    let wanted: Arguments = arguments(given)?;
    let prompt = wanted.prompt.trim();
    if prompt.is_empty() {
        return Err(Stop::failed("ask-empty", &[]));
    }
    let choices = wanted.choices.iter().map(|choice| format!("\n- {}", choice.trim()));
    let question: String = std::iter::once(prompt.to_owned()).chain(choices).collect();
    if question.len() > limit {
        return Err(Stop::failed("ask-too-long", &[("limit", &limit)]));
    }
    Ok(ToolOutcome::Question(question))
}
