//! `search_text`: lines of files that fit a regular expression or a literal text.

mod page;

use async_trait::async_trait;
use callsheet_core::spec::ToolSpec;
use callsheet_runtime::ports::{Tool, ToolContext, ToolFault, ToolOutcome};
use grep_regex::{RegexMatcher, RegexMatcherBuilder};
use grep_searcher::{BinaryDetection, Searcher, SearcherBuilder};
use serde::Deserialize;
use serde_json::Value;

use self::page::Page;
use crate::common::place::{Place, readable};
use crate::common::walk::{Found, walk};
use crate::common::words::say;
use crate::common::{Stop, Ticket, arguments, blocking, reading_tool};
use crate::find_files::Glob;

reading_tool!(SearchText, "search_text");

#[derive(Deserialize)]
struct Arguments {
    pattern: String,
    path: Option<String>,
    glob: Option<String>,
    #[serde(default)]
    ignore_case: bool,
    #[serde(default)]
    context_lines: usize,
}

/// How the pattern was understood.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Reading {
    Regex,
    /// It is no regular expression.
    Literal,
    /// As a regular expression it fits nothing.
    LiteralAfterRegex,
}

#[async_trait]
impl Tool for SearchText {
    fn spec(&self) -> &ToolSpec {
        &self.0
    }

    async fn run(&self, given: &Value, context: &ToolContext) -> Result<ToolOutcome, ToolFault> {
        let given = given.clone();
        let scope = context.clone();
        blocking(context, move |ticket| {
            let wanted: Arguments = arguments(&given)?;
            let start = readable(&scope, wanted.path.as_deref().unwrap_or("."), ticket)?;
            search(&wanted, &start, scope.max_output_bytes, ticket).map(ToolOutcome::Output)
        })
        .await
    }
}

fn search(wanted: &Arguments, start: &Place, limit: usize, ticket: &Ticket) -> Result<String, Stop> {
    let glob = wanted.glob.as_deref().map(Glob::new).transpose()?;
    let pass = |reading| -> Result<Page, Stop> {
        let matcher = matcher(wanted, reading)?;
        let mut page = Page::new(limit);
        let mut searcher = searcher(wanted.context_lines.min(5));
        if start.path.is_dir() {
            walk(start, None, ticket, |found| {
                if !found.is_dir && glob.as_ref().is_none_or(|glob| glob.fits(start, &found)) {
                    page.search(&mut searcher, &matcher, (start, &found), ticket)?;
                }
                Ok(())
            })?;
        } else {
            let found = Found { path: start.path.clone(), shown: start.shown.clone(), is_dir: false };
            page.search(&mut searcher, &matcher, (start, &found), ticket)?;
        }
        Ok(page)
    };
    let mut reading = if matcher(wanted, Reading::Regex).is_ok() { Reading::Regex } else { Reading::Literal };
    let mut page = pass(reading)?;
    // Models forget to escape: `call()` is a valid expression that does not mean these six characters.
    if reading == Reading::Regex && page.matches() == 0 && has_operators(&wanted.pattern) {
        let literal = pass(Reading::LiteralAfterRegex)?;
        if literal.matches() > 0 {
            reading = Reading::LiteralAfterRegex;
            page = literal;
        }
    }
    let note = match reading {
        Reading::Regex => String::new(),
        Reading::Literal => say("search-literal", &[]),
        Reading::LiteralAfterRegex => say("search-literal-instead", &[]),
    };
    Ok(page.render(&wanted.pattern, wanted.ignore_case, &note))
}

fn matcher(wanted: &Arguments, reading: Reading) -> Result<RegexMatcher, Stop> {
    RegexMatcherBuilder::new()
        .case_insensitive(wanted.ignore_case)
        .line_terminator(Some(b'\n'))
        .fixed_strings(reading != Reading::Regex)
        .build(&wanted.pattern)
        .map_err(|error| Stop::failed("search-bad-pattern", &[("error", &error)]))
}

fn searcher(context_lines: usize) -> Searcher {
    SearcherBuilder::new()
        .binary_detection(BinaryDetection::quit(0))
        .line_number(true)
        .before_context(context_lines)
        .after_context(context_lines)
        .heap_limit(Some(16 * 1024 * 1024))
        .build()
}

fn has_operators(pattern: &str) -> bool {
    pattern.contains(['\\', '.', '+', '*', '?', '(', ')', '|', '[', ']', '{', '}', '^', '$'])
}
