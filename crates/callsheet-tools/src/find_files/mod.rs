//! `find_files`: files by a glob pattern.

use async_trait::async_trait;
use callsheet_core::nouns::ToolSpec;
use callsheet_runtime::ports::{Tool, ToolContext, ToolFault, ToolOutcome};
use globset::{GlobBuilder, GlobMatcher};
use serde::Deserialize;
use serde_json::Value;

use crate::common::place::{Place, readable};
use crate::common::text::{Capped, count};
use crate::common::walk::{Found, walk};
use crate::common::words::say;
use crate::common::{Stop, arguments, blocking, reading_tool};

/// The maximum number of files shown.
const FILES: usize = 200;

reading_tool!(FindFiles, "find_files", "glob");

#[derive(Deserialize)]
struct Arguments {
    pattern: String,
    path: Option<String>,
}

#[async_trait]
impl Tool for FindFiles {
    fn spec(&self) -> &ToolSpec {
        &self.0
    }

    async fn run(&self, given: &Value, context: &ToolContext) -> Result<ToolOutcome, ToolFault> {
        let given = given.clone();
        let scope = context.clone();
        blocking(context, move |ticket| {
            let wanted: Arguments = arguments(&given)?;
            let start = readable(&scope, wanted.path.as_deref().unwrap_or("."), ticket)?;
            let glob = Glob::new(&wanted.pattern)?;
            let mut output = Capped::new(scope.max_output_bytes);
            let (mut shown, mut left_out) = (0_usize, 0_usize);
            walk(&start, None, ticket, |found| {
                if found.is_dir || !glob.fits(&start, &found) {
                    return Ok(());
                }
                if shown < FILES && output.line(&found.shown) {
                    shown += 1;
                } else {
                    left_out += 1;
                }
                Ok(())
            })?;
            let note = match (shown, left_out) {
                (0, 0) => say("find-none", &[("pattern", &wanted.pattern), ("path", &start.shown)]),
                (_, 0) => String::new(),
                _ => say("find-more", &[("count", &count(left_out, "more file"))]),
            };
            Ok(ToolOutcome::Output(output.with_note(&note)))
        })
        .await
    }
}

/// A glob. A pattern with a slash is matched against the path below the start, and against the path from the project
/// root. A pattern without a slash is matched against the file name, in any folder.
pub(crate) struct Glob {
    matcher: GlobMatcher,
    by_name: bool,
}

impl Glob {
    /// Reads a pattern.
    pub(crate) fn new(pattern: &str) -> Result<Self, Stop> {
        let pattern = pattern.strip_prefix("./").unwrap_or(pattern);
        let glob = GlobBuilder::new(pattern)
            .literal_separator(true)
            .build()
            .map_err(|error| Stop::failed("find-bad-glob", &[("error", &error)]))?;
        Ok(Self { matcher: glob.compile_matcher(), by_name: !pattern.contains('/') })
    }

    /// Whether a file matches.
    pub(crate) fn fits(&self, start: &Place, found: &Found) -> bool {
        if self.by_name {
            return found.path.file_name().is_some_and(|name| self.matcher.is_match(name));
        }
        self.matcher.is_match(&found.shown)
            || found.path.strip_prefix(&start.path).is_ok_and(|below| self.matcher.is_match(below))
    }
}
