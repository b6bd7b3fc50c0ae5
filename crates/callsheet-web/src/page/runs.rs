//! The runs of the project: newest first, or those that contain the searched words.

use callsheet_core::view::{dollars, thousands};
use callsheet_runtime::ports::RunSummary;
use maud::{Markup, html};

use super::layout::{Frame, Standing, ago};
use crate::app::Visit;
use crate::piece::{Piece, Tag, listed};
use crate::record::Record;
use callsheet_app::Refusal;
use callsheet_app::one_line;

/// The number of runs on one page.
pub(crate) const PAGE: usize = 40;

/// In how many of the newest runs the search also covers more than the request.
const SEARCHED: usize = 200;

/// Which runs are shown.
#[derive(Clone, Debug, Default)]
pub(crate) struct Which {
    /// The searched words.
    pub query: String,
    /// The number of runs before them.
    pub skip: usize,
}

/// The shown runs, and the total number.
pub(crate) struct Found {
    runs: Vec<RunSummary>,
    total: usize,
}

impl Which {
    pub fn find(&self, record: &Record) -> Result<Found, Refusal> {
        let all = record.list()?;
        let words: Vec<String> = self.query.split_whitespace().map(str::to_lowercase).collect();
        let has = |text: &str| words.iter().all(|word| text.contains(word.as_str()));
        let mut runs = Vec::new();
        for (at, run) in all.into_iter().enumerate() {
            let mut text = format!("{}\n{}", run.run, run.request.to_lowercase());
            if !has(&text) && at < SEARCHED && !words.is_empty() {
                text.push_str(&record.gist(&run)?.words);
            }
            if has(&text) {
                runs.push(run);
            }
        }
        let total = runs.len();
        Ok(Found { runs: runs.into_iter().skip(self.skip).take(PAGE).collect(), total })
    }

    fn address(&self, skip: usize) -> String {
        format!("./?q={}&skip={skip}", encoded(&self.query))
    }

    /// The address that sends changes of this page.
    pub fn live(&self) -> String {
        format!("live?q={}&skip={}", encoded(&self.query), self.skip)
    }
}

/// Encodes text for a part of an address.
pub(crate) fn encoded(text: &str) -> String {
    let byte = |byte: u8| match byte {
        b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'~' => char::from(byte).to_string(),
        _ => format!("%{byte:02X}"),
    };
    text.bytes().map(byte).collect()
}

/// The rows, as pieces.
pub(crate) fn pieces(record: &Record, found: &Found, now: u64) -> Result<Vec<Piece>, Refusal> {
    found
        .runs
        .iter()
        .map(|run| Ok(Piece::new(Tag::Item, "runs", format!("run-{}", run.run), "run", row(record, run, now)?)))
        .collect()
}

fn row(record: &Record, run: &RunSummary, now: u64) -> Result<Markup, Refusal> {
    let gist = record.gist(run)?;
    Ok(html! {
        a.run-link href=(format!("runs/{}", run.run)) {
            span.run-name { (one_line(&run.request, 200)) }
            span.run-facts {
                (Standing::of(run, None).badge())
                span { (ago(run.started_at, now)) }
                span { (thousands(gist.tokens)) " tokens" }
                @if gist.cost_usd > 0.0 { span { (dollars(gist.cost_usd)) } }
                span.soft.mono { (run.run) }
            }
        }
    })
}

/// The page.
pub(crate) fn page(visit: &Visit, which: &Which, now: u64) -> Result<Markup, Refusal> {
    let (record, project) = (&visit.record, visit.runs.project());
    let found = which.find(record)?;
    let pieces = pieces(record, &found, now)?;
    let shown = which.skip + found.runs.len();
    let body = html! {
        div.head-line {
            h1 { @if which.query.is_empty() { "Runs" } @else { "Runs with “" (one_line(&which.query, 60)) "”" } }
            span.soft { (thousands(found.total as u64)) @if found.total == 1 { " run" } @else { " runs" } }
        }
        @if found.runs.is_empty() { (nothing(which)) }
        ul #runs.runs { (listed(&pieces, "runs")) }
        @if which.skip > 0 || shown < found.total {
            nav.pages aria-label="More runs" {
                @if which.skip > 0 { a.button href=(which.address(which.skip.saturating_sub(PAGE))) { "Newer" } }
                @if shown < found.total { a.button href=(which.address(shown)) { "Older" } }
            }
        }
        @if !which.query.is_empty() {
            p.soft { "Searched: names and requests of all runs; plans and results of the newest " (SEARCHED) "." }
        }
    };
    let frame = Frame { visit, title: "Runs", project: &project, query: &which.query, live: Some(which.live()) };
    Ok(frame.page(&body))
}

fn nothing(which: &Which) -> Markup {
    html! {
        section.empty {
            @if which.query.is_empty() {
                h2 { "No runs yet" }
                p { "Start one in a terminal, in this project's folder. It appears here at once." }
                pre { code { "callsheet run \"Which functions count retries, and does the manual agree?\"" } }
            } @else {
                h2 { "No run contains these words" }
                p { "Each word must occur in the request, the plan or a result." }
                p { a.button href="./" { "All runs" } }
            }
        }
    }
}
