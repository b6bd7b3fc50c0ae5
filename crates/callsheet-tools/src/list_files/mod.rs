//! `list_files`: what is in a folder.

use async_trait::async_trait;
use callsheet_core::nouns::ToolSpec;
use callsheet_runtime::ports::{Tool, ToolContext, ToolFault, ToolOutcome};
use serde::Deserialize;
use serde_json::Value;

use crate::common::place::readable;
use crate::common::text::{Capped, count};
use crate::common::walk::walk;
use crate::common::words::say;
use crate::common::{Stop, arguments, blocking, reading_tool};

/// The maximum number of names shown (spec 5.1, the same as for a referenced folder).
const NAMES: usize = 200;

reading_tool!(ListFiles, "list_files", "file_access", "ls", "list_dir");

#[derive(Deserialize)]
struct Arguments {
    path: Option<String>,
    depth: Option<usize>,
}

#[async_trait]
impl Tool for ListFiles {
    fn spec(&self) -> &ToolSpec {
        &self.0
    }

    async fn run(&self, given: &Value, context: &ToolContext) -> Result<ToolOutcome, ToolFault> {
        let given = given.clone();
        let scope = context.clone();
        blocking(context, move |ticket| {
            let wanted: Arguments = arguments(&given)?;
            let start = readable(&scope, wanted.path.as_deref().unwrap_or("."), ticket)?;
            if !start.path.is_dir() {
                return Err(Stop::failed("is-a-file", &[("path", &start.shown)]));
            }
            let mut output = Capped::new(scope.max_output_bytes);
            let (mut shown, mut left_out) = (0_usize, 0_usize);
            walk(&start, Some(wanted.depth.unwrap_or(1).clamp(1, 10)), ticket, |found| {
                let line = if found.is_dir { format!("{}/", found.shown) } else { found.shown };
                if shown < NAMES && output.line(&line) {
                    shown += 1;
                } else {
                    left_out += 1;
                }
                Ok(())
            })?;
            let note = match (shown, left_out) {
                (0, 0) => say("list-empty", &[("path", &start.shown)]),
                (_, 0) => String::new(),
                _ => say("list-more", &[("count", &count(left_out, "more name"))]),
            };
            Ok(ToolOutcome::Output(output.with_note(&note)))
        })
        .await
    }
}
