//! `fetch_url`: the text of a web page.

mod address;
mod entities;
mod html;
pub(crate) mod http;
mod media;

use async_trait::async_trait;
use callsheet_core::spec::{RepeatClass, ToolEffect, ToolSpec};
use callsheet_runtime::ports::{FetchFault, Page, Tool, ToolContext, ToolFault, ToolOutcome};
use serde::Deserialize;
use serde_json::Value;

use crate::common::text::clip;
use crate::common::words::say;
use crate::common::{Stop, arguments, settle, spec};

/// The tool.
#[derive(Debug)]
pub struct FetchUrl(ToolSpec);

#[derive(Deserialize)]
struct Arguments {
    url: String,
}

impl FetchUrl {
    /// The tool.
    pub fn new() -> Self {
        let classes = (ToolEffect::Read, RepeatClass::Read);
        Self(spec("fetch_url", include_str!("description.md"), include_str!("schema.json"), classes))
    }
}

impl Default for FetchUrl {
    fn default() -> Self {
        Self::new()
    }
}

#[async_trait]
impl Tool for FetchUrl {
    fn spec(&self) -> &ToolSpec {
        &self.0
    }

    async fn run(&self, given: &Value, context: &ToolContext) -> Result<ToolOutcome, ToolFault> {
        if context.cancel.is_cancelled() {
            return Err(ToolFault::Cancelled);
        }
        settle(fetch(given, context).await)
    }
}

async fn fetch(given: &Value, context: &ToolContext) -> Result<ToolOutcome, Stop> {
    let wanted: Arguments = arguments(given)?;
    let Some(fetch) = &context.fetch else {
        return Err(Stop::failed("fetch-off", &[]));
    };
    match tokio::time::timeout(context.timeout, fetch.fetch(wanted.url.trim(), &context.cancel)).await {
        Ok(Ok(page)) => Ok(ToolOutcome::Output(shown(&page, context.max_output_bytes))),
        Ok(Err(FetchFault::Cancelled)) => Err(Stop::Fault(ToolFault::Cancelled)),
        Ok(Err(fault)) => Err(Stop::failed("fetch-failed", &[("reason", &fault)])),
        Err(_) => Err(Stop::failed("fetch-late", &[])),
    }
}

fn shown(page: &Page, limit: usize) -> String {
    let text = clip(&page.text, limit);
    let note = match (text.len() < page.text.len(), page.truncated) {
        (true, _) => format!("\n{}", say("fetch-cut", &[("shown", &text.len()), ("all", &page.text.len())])),
        (false, true) => format!("\n{}", say("fetch-longer", &[])),
        (false, false) => String::new(),
    };
    format!("[{}, {}]\n{text}{note}", page.url, page.media_type)
}
