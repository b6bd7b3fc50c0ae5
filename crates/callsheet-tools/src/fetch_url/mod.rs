//! `fetch_url`: the text of a web page.

pub(crate) mod address;
mod entities;
mod html;
pub(crate) mod http;
mod media;

use async_trait::async_trait;
use callsheet_core::nouns::ToolSpec;
use callsheet_runtime::ports::{FetchFault, Page, Tool, ToolContext, ToolFault, ToolOutcome};
use serde::Deserialize;
use serde_json::Value;

use crate::common::text::clip;
use crate::common::words::say;
use crate::common::{Stop, arguments, reading_tool, settle};

reading_tool!(FetchUrl, "fetch_url", "webfetch");

#[derive(Deserialize)]
struct Arguments {
    url: String,
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
        Ok(Err(fault)) => Err(not_fetched(&fault)),
        Err(_) => Err(Stop::failed("fetch-late", &[])),
    }
}

fn not_fetched(fault: &FetchFault) -> Stop {
    match fault {
        FetchFault::Off => Stop::failed("fetch-off", &[]),
        FetchFault::Refused(reason) => Stop::failed("fetch-refused", &[("reason", reason)]),
        FetchFault::Status(status) => Stop::failed("fetch-status", &[("status", status)]),
        FetchFault::NotText(media) => Stop::failed("fetch-not-text", &[("type", media)]),
        FetchFault::Network(reason) => Stop::failed("fetch-network", &[("reason", reason)]),
        FetchFault::Cancelled => Stop::Fault(ToolFault::Cancelled),
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
