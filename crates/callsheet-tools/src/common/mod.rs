//! Code that several tools share: arguments, places, walks, limited output.

pub(crate) mod document;
pub(crate) mod place;
pub(crate) mod text;
pub(crate) mod walk;
pub(crate) mod words;

use std::fmt::Display;

use callsheet_core::nouns::{RepeatClass, ToolEffect, ToolSpec};
use callsheet_runtime::ports::{ToolContext, ToolFault, ToolOutcome};
use serde::de::DeserializeOwned;
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use self::words::say;

/// Why a call ends early.
pub(crate) enum Stop {
    /// The model can fix the call; the text says how.
    Failed(String),
    /// The call could not be made.
    Fault(ToolFault),
}

impl Stop {
    /// A failure with the words of a key, see [`words::say`].
    pub(crate) fn failed(key: &str, values: &[(&str, &dyn Display)]) -> Self {
        Self::Failed(say(key, values))
    }
}

impl From<ToolFault> for Stop {
    fn from(fault: ToolFault) -> Self {
        Self::Fault(fault)
    }
}

/// Converts an early end into the port's result.
pub(crate) fn settle(result: Result<ToolOutcome, Stop>) -> Result<ToolOutcome, ToolFault> {
    match result {
        Ok(outcome) => Ok(outcome),
        Err(Stop::Failed(text)) => Ok(ToolOutcome::Failed(text)),
        Err(Stop::Fault(fault)) => Err(fault),
    }
}

/// The spec of a tool, from the files of its folder. `classes` are those of spec 11.1, `aliases` those of "Templates"
/// 14.
pub(crate) fn spec(
    name: &str,
    aliases: &[&str],
    description: &str,
    schema: &str,
    classes: (ToolEffect, RepeatClass),
) -> ToolSpec {
    ToolSpec {
        name: name.to_owned(),
        description: description.trim().to_owned(),
        // The conformance suite compiles every schema, so a file that is not JSON never passes the tests.
        parameters: serde_json::from_str(schema).unwrap_or(Value::Null),
        effect: classes.0,
        repeat: classes.1,
        exclusive: false,
        named_only: false,
        aliases: aliases.iter().map(|alias| (*alias).to_owned()).collect(),
        granted_as: None,
    }
}

/// Defines a tool that only reads and may be called again. It consists of its spec, from the files of its folder.
macro_rules! reading_tool {
    ($tool:ident, $name:expr $(, $alias:literal)*) => {
        /// The tool.
        #[derive(Debug)]
        pub struct $tool(ToolSpec);

        impl $tool {
            /// The tool.
            pub fn new() -> Self {
                let classes = (callsheet_core::nouns::ToolEffect::Read, callsheet_core::nouns::RepeatClass::Read);
                let (description, schema) = (include_str!("description.md"), include_str!("schema.json"));
                Self($crate::common::spec($name, &[$($alias),*], description, schema, classes))
            }
        }

        impl Default for $tool {
            fn default() -> Self {
                Self::new()
            }
        }
    };
}
pub(crate) use reading_tool;

/// Typed arguments. The caller has already validated them against the schema; this reports what a schema cannot
/// express.
pub(crate) fn arguments<T: DeserializeOwned>(arguments: &Value) -> Result<T, Stop> {
    let empty = Value::Object(serde_json::Map::new());
    let given = if arguments.is_null() { &empty } else { arguments };
    T::deserialize(given).map_err(|error| Stop::failed("arguments-do-not-fit", &[("error", &error)]))
}

/// Tells a blocking part of a call to stop.
#[derive(Clone)]
pub(crate) struct Ticket(CancellationToken);

impl Ticket {
    /// For work that stops when the token is cancelled.
    pub(crate) fn new(token: CancellationToken) -> Self {
        Self(token)
    }

    /// Stops the work if nobody waits for it any more.
    pub(crate) fn check(&self) -> Result<(), Stop> {
        if self.0.is_cancelled() { Err(Stop::Fault(ToolFault::Cancelled)) } else { Ok(()) }
    }
}

/// Runs file work outside the async runtime, within the call's time, until it is cancelled.
pub(crate) async fn blocking<F>(context: &ToolContext, work: F) -> Result<ToolOutcome, ToolFault>
where
    F: FnOnce(&Ticket) -> Result<ToolOutcome, Stop> + Send + 'static,
{
    if context.cancel.is_cancelled() {
        return Err(ToolFault::Cancelled);
    }
    let token = context.cancel.child_token();
    // If the caller stops waiting, for whatever reason, the work stops too.
    let _stop_on_drop = token.clone().drop_guard();
    let ticket = Ticket::new(token);
    let task = tokio::task::spawn_blocking(move || settle(work(&ticket)));
    tokio::select! {
        biased;
        () = context.cancel.cancelled() => Err(ToolFault::Cancelled),
        done = task => done.unwrap_or_else(|error| Err(ToolFault::Defect(error.to_string()))),
        () = tokio::time::sleep(context.timeout) => {
            Ok(ToolOutcome::Failed(say("too-slow", &[("seconds", &context.timeout.as_secs())])))
        }
    }
}
