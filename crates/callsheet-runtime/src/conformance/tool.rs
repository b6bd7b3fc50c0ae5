//! What every `Tool` must do. Adapters call [`crate::tool_conformance!`] with a function that returns a [`ToolTrial`] for a
//! tool's name.

use std::sync::Arc;

use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use crate::ports::{Tool, ToolContext, ToolFault, ToolOutcome};

/// A tool in a small project.
pub struct ToolTrial {
    /// The tool.
    pub tool: Arc<dyn Tool>,
    /// Its project.
    pub context: ToolContext,
    /// Valid arguments that produce much more than 2,000 bytes of output. `None` if the tool never produces that much.
    pub plenty: Option<Value>,
    /// Valid arguments that try to reach outside the project or the public network.
    pub escapes: Vec<Value>,
    /// Kept until the trial ends, such as the folder of the project.
    pub keep: Box<dyn std::any::Any + Send + Sync>,
}

/// Makes a module of `#[tokio::test]`s for each named tool, for the [`ToolTrial`] that the given function returns.
#[macro_export]
macro_rules! tool_conformance {
    ($trial:path; $($tool:ident)+) => {
        $($crate::tool_conformance!(@tool $trial, $tool;
            the_spec_is_valid
            the_example_fits_the_schema
            a_cancelled_call_ends
            odd_arguments_fail_kindly
            output_is_capped
            escapes_are_refused
        );)+
    };
    (@tool $trial:path, $tool:ident; $($check:ident)+) => {
        mod $tool {
            use super::*;

            $(#[tokio::test]
            async fn $check() {
                let trial = $trial(stringify!($tool));
                $crate::conformance::tool::$check(&trial).await;
            })+
        }
    };
}

/// A name, a description of fewer than 200 tokens, and an object schema that compiles.
pub async fn the_spec_is_valid(trial: &ToolTrial) {
    let spec = trial.tool.spec();
    assert!(!spec.name.is_empty() && spec.name.chars().all(|c| c.is_ascii_lowercase() || c == '_'), "{}", spec.name);
    let (ascii, other) = spec.description.chars().partition::<Vec<char>, _>(char::is_ascii);
    let tokens = ascii.len().div_ceil(4) + other.len();
    assert!((5..200).contains(&tokens), "the description has {tokens} tokens");
    assert_eq!(spec.parameters.get("type"), Some(&json!("object")), "arguments are an object");
    assert_eq!(spec.parameters.get("additionalProperties"), Some(&json!(false)), "other arguments are refused");
    let properties = spec.parameters.get("properties").and_then(Value::as_object).unwrap();
    for (name, property) in properties {
        assert!(property.get("description").is_some_and(Value::is_string), "{name} is described");
    }
    jsonschema::validator_for(&spec.parameters).unwrap();
}

fn example(trial: &ToolTrial) -> Value {
    let line = trial.tool.spec().description.lines().find_map(|line| line.trim().strip_prefix("Example: ")).unwrap();
    serde_json::from_str(line).unwrap()
}

/// The description shows one valid call.
pub async fn the_example_fits_the_schema(trial: &ToolTrial) {
    let validator = jsonschema::validator_for(&trial.tool.spec().parameters).unwrap();
    let example = example(trial);
    assert!(validator.is_valid(&example), "{example}");
    for arguments in trial.plenty.iter().chain(&trial.escapes) {
        assert!(validator.is_valid(arguments), "a trial's arguments are valid: {arguments}");
    }
}

/// If a call is cancelled before it begins, it does nothing and says so.
pub async fn a_cancelled_call_ends(trial: &ToolTrial) {
    let cancel = CancellationToken::new();
    cancel.cancel();
    let context = ToolContext { cancel, ..trial.context.clone() };
    let arguments = trial.plenty.clone().unwrap_or_else(|| example(trial));
    let ended = trial.tool.run(&arguments, &context).await;
    assert!(matches!(ended, Err(ToolFault::Cancelled)), "{ended:?}");
}

/// Arguments that violate the schema give a failure with words, not a fault.
pub async fn odd_arguments_fail_kindly(trial: &ToolTrial) {
    for odd in
        [json!("text"), json!(7), json!([1]), json!({"path": 7, "pattern": [], "url": {}, "argv": "x", "prompt": 1})]
    {
        let outcome = trial.tool.run(&odd, &trial.context).await;
        assert!(matches!(&outcome, Ok(ToolOutcome::Failed(text)) if !text.is_empty()), "{odd}: {outcome:?}");
    }
}

/// Output does not exceed the cap, apart from a note that something was left out. A process has two streams.
pub async fn output_is_capped(trial: &ToolTrial) {
    let Some(arguments) = &trial.plenty else { return };
    let context = ToolContext { max_output_bytes: 1_000, ..trial.context.clone() };
    let outcome = trial.tool.run(arguments, &context).await.unwrap();
    let ToolOutcome::Output(text) = outcome else { panic!("{outcome:?}") };
    assert!((500..=2_400).contains(&text.len()), "{} bytes", text.len());
    assert!(text.contains("left out") || text.contains("cut"), "it says that something is missing: {text}");
}

/// covers: 5.6, 5.7
///
/// Nothing outside the project is read, listed, written to, or run in.
pub async fn escapes_are_refused(trial: &ToolTrial) {
    for arguments in &trial.escapes {
        let outcome = trial.tool.run(arguments, &trial.context).await;
        assert!(matches!(&outcome, Ok(ToolOutcome::Failed(_))), "{arguments}: {outcome:?}");
    }
}
