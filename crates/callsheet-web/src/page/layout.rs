//! What all pages have: the bar at the top, the page for refusals, and small elements.

use callsheet_app::one_line;
use callsheet_core::record::Outcome;
use callsheet_core::view::{civil, duration, outcome_words};
use callsheet_core::visible::readable;
use callsheet_runtime::ports::RunSummary;
use maud::{DOCTYPE, Markup, html};

use crate::app::Visit;
use callsheet_app::Refusal;

/// The frame of a page.
pub(crate) struct Frame<'a> {
    /// The request.
    pub visit: &'a Visit,
    /// The title of the window, before the name of the program.
    pub title: &'a str,
    /// The name of the project.
    pub project: &'a str,
    /// The searched words.
    pub query: &'a str,
    /// The address that sends changes of this page.
    pub live: Option<String>,
}

impl Frame<'_> {
    /// The whole page.
    pub fn page(&self, body: &Markup) -> Markup {
        html! {
            (DOCTYPE)
            html lang="en" {
                head {
                    meta charset="utf-8";
                    base href=(self.visit.root());
                    meta name="viewport" content="width=device-width, initial-scale=1";
                    meta name="color-scheme" content="light dark";
                    title { (one_line(self.title, 80)) " · Callsheet" }
                    link rel="icon" href="icon.svg" type="image/svg+xml";
                    link rel="stylesheet" href="page.css";
                    link rel="stylesheet" href="timeline.css";
                    script src="page.js" defer {}
                }
                body data-live=[self.live.as_deref()] {
                    a.skip href=(format!("{}#main", self.visit.here())) { "Skip to content" }
                    header.bar {
                        a.brand href="./" { (logo()) "Callsheet" }
                        span.project title="project" { (self.project) }
                        form.search role="search" action="./" method="get" {
                            input type="search" name="q" value=(self.query) placeholder="Search runs" aria-label="Search runs";
                        }
                    }
                    main #main tabindex="-1" { (body) }
                    div #offline.offline hidden role="status" { "No connection to Callsheet. This page shows the last state it received." }
                }
            }
        }
    }
}

fn logo() -> Markup {
    html! {
        svg.logo viewBox="0 0 16 16" width="18" height="18" aria-hidden="true" {
            rect x="1.5" y="1.5" width="13" height="13" rx="3" fill="none" stroke="currentColor" stroke-width="1.6" {}
            path d="M4.5 6l1.2 1.2L8 4.8M4.5 11h7M9.5 6.2h2" fill="none" stroke="currentColor" stroke-width="1.5" stroke-linecap="round" {}
        }
    }
}

/// A page that says why something could not be shown.
pub(crate) fn refused(visit: &Visit, refusal: &Refusal) -> Markup {
    let project = visit.runs.project();
    let frame = Frame { visit, title: "Not available", project: &project, query: "", live: None };
    frame.page(&html! {
        section.empty {
            h1 { "This page is not available" }
            p { (readable(&refusal.what)) "." }
            @if !refusal.advice.is_empty() { p.soft { (readable(&refusal.advice.to_string())) } }
            p { a.button href="./" { "All runs" } }
        }
    })
}

/// The sign for something that waits for the person. The usual pause sign is an emoji that many fonts lack.
pub(crate) const WAITS: &str = "‖";

/// A state: a sign, words, and a tone for the eye.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Standing {
    /// The class in the style sheet.
    pub tone: &'static str,
    sign: &'static str,
    /// The state in words.
    pub words: String,
}

impl Standing {
    pub fn new(tone: &'static str, sign: &'static str, words: impl Into<String>) -> Self {
        Self { tone, sign, words: words.into() }
    }

    /// The state of a run in the list. `doing` is what the driven run does, as far as known.
    pub fn of(run: &RunSummary, doing: Option<&str>) -> Self {
        match (&run.owner, run.outcome) {
            (Some(_), _) => match doing {
                Some("waiting for you") => Self::new("wait", WAITS, "waiting for you"),
                doing => Self::new("work", "▶", doing.unwrap_or("running")),
            },
            (None, None) => Self::new("bad", "!", "interrupted"),
            (None, Some(outcome)) => Self::of_outcome(outcome),
        }
    }

    fn of_outcome(outcome: Outcome) -> Self {
        let words = outcome_words(outcome);
        match outcome {
            Outcome::Complete => Self::new("good", "✓", words),
            Outcome::ApprovalRequired | Outcome::InputRequired => Self::new("wait", WAITS, words),
            Outcome::Planned => Self::new("rest", "○", words),
            Outcome::Cancelled => Self::new("rest", "–", words),
            _ => Self::new("bad", "✗", words),
        }
    }

    pub fn badge(&self) -> Markup {
        html! { span class=(format!("badge {}", self.tone)) { span aria-hidden="true" { (self.sign) } " " (self.words) } }
    }
}

/// A moment in words, which the script keeps up to date.
pub(crate) fn ago(at: u64, now: u64) -> Markup {
    let (year, month, day, seconds) = civil(at);
    let (hour, minute, second) = (seconds / 3_600, seconds / 60 % 60, seconds % 60);
    let stamp = format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}Z");
    html! { time datetime=(stamp) title=(stamp.replace('T', " ").replace('Z', " UTC")) { (age(now.saturating_sub(at))) } }
}

fn age(ms: u64) -> String {
    match ms / 1_000 {
        0..5 => "just now".to_owned(),
        seconds @ 5..60 => format!("{seconds} s ago"),
        seconds @ 60..3_600 => format!("{} min ago", seconds / 60),
        seconds @ 3_600..172_800 => format!("{} h ago", seconds / 3_600),
        seconds => format!("{} days ago", seconds / 86_400),
    }
}

/// A working time. For a running run, the script adds the time since `at`, the moment of its last event.
pub(crate) fn worked(ms: u64, at: Option<u64>) -> Markup {
    html! { span.clock data-ms=(ms) data-at=[at] { (duration(ms)) } }
}
