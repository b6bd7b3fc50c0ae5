//! A run: the header of all its pages, and the actions for it.

use callsheet_core::events::LogEntry;
use callsheet_core::nouns::{RunId, Slug};
use callsheet_core::record::Outcome;
use callsheet_core::symbols::Coloured;
use callsheet_core::view::{Board, amount, dollars, duration, limit_unit, thousands};
use callsheet_core::visible::readable;
use callsheet_runtime::ports::{GateView, LiveText, RunSummary};
use maud::{Markup, html};

use super::asks::Typed;
use super::layout::{Frame, Standing, worked};
use super::runs::encoded;
use super::{asks, board, changes, log, sheet, timeline};
use crate::app::Visit;
use crate::piece::{Piece, Tag, listed};
use callsheet_app::{LimitUse, Refusal, RunControl, RunView, Started, one_line};

/// The largest length of a request that is shown as a whole above a page.
const REQUEST: usize = 240;

/// A page of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum View {
    /// The sections with their tasks. One task may be opened.
    Board(Option<Slug>),
    /// The tasks from this one on.
    Tasks(u64),
    /// A stretch of the timeline in milliseconds from the first event, or the whole timeline.
    Timeline(Option<(u64, u64)>),
    Changes,
    Sheet,
    /// The entries before this number, or the last ones.
    Log(Option<u64>),
}

impl View {
    const TABS: [(&str, &str); 5] =
        [("", "Board"), ("timeline", "Timeline"), ("changes", "Changes"), ("sheet", "Sheet"), ("log", "Log")];

    /// The name of the view in addresses.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Board(_) => "",
            Self::Tasks(_) => "tasks",
            Self::Timeline(_) => "timeline",
            Self::Changes => "changes",
            Self::Sheet => "sheet",
            Self::Log(_) => "log",
        }
    }

    /// The address of the view, relative to the run.
    fn at(&self) -> String {
        match self {
            Self::Board(Some(task)) => format!("tasks/{task}"),
            Self::Timeline(stretch) => format!("timeline{}", timeline::stretch_query('?', *stretch)),
            Self::Log(Some(before)) => format!("log?before={before}"),
            Self::Tasks(from) => format!("tasks?from={from}"),
            _ => self.name().to_owned(),
        }
    }
}

/// Everything that the pages of a run are built from.
#[derive(Clone)]
pub(crate) struct RunPage<'a> {
    pub visit: &'a Visit,
    pub runs: &'a dyn RunControl,
    pub summary: &'a RunSummary,
    pub run: &'a RunView,
    pub entries: &'a [LogEntry],
    /// Why the record is not shown as a whole.
    pub broken: Option<&'a str>,
    pub board: &'a Board,
    pub gates: &'a [GateView],
    /// Whether answers wait until the run is resumed.
    pub saved: bool,
    pub started: Option<Started>,
    /// A form that was refused.
    pub typed: Option<&'a Typed>,
    /// The address of the shown page, relative to the run.
    pub at: String,
}

impl RunPage<'_> {
    /// Returns the kinds of the pieces of code.
    pub fn painter(&self) -> impl Fn(&str, &str) -> Vec<Coloured> {
        |path, text| self.runs.colours(path, text)
    }

    pub fn id(&self) -> &RunId {
        &self.summary.run
    }

    /// The address of a page of the run, relative to the first page.
    pub fn address(&self, rest: &str) -> String {
        let id = self.id();
        if rest.is_empty() { format!("runs/{id}") } else { format!("runs/{id}/{rest}") }
    }

    /// The address for a form. It contains the page to return to, because browsers do not send it.
    pub fn action(&self, what: &str) -> String {
        format!("{}?from={}&page={}", self.address(what), encoded(&self.at), self.visit.page())
    }

    /// The address of a part of the shown page.
    pub fn part(&self, name: &str) -> String {
        format!("{}#{name}", self.address(&self.at))
    }

    pub(crate) fn is_driven(&self) -> bool {
        self.summary.owner.is_some()
    }

    /// The streamed text of calls in progress that belong to a task, or to no task.
    pub fn writing(&self, task: Option<&Slug>) -> Vec<LiveText> {
        let calls = self.summary.owner.as_ref().map(|owner| self.runs.writing(self.id(), owner)).unwrap_or_default();
        let is_meant = |call: &LiveText| call.key.task.as_ref() == task && self.run.is_in_flight(&call.key);
        calls.into_iter().filter(is_meant).collect()
    }

    fn standing(&self) -> Standing {
        Standing::of(self.summary, Some(self.board.header.doing))
    }

    /// Whether a resume would do something.
    fn may_resume(&self) -> bool {
        !self.is_driven() && (self.saved || self.summary.outcome != Some(Outcome::Complete))
    }

    /// The pieces of a page.
    ///
    /// # Errors
    /// The record cannot be read.
    pub fn pieces(&self, view: &View) -> Result<Vec<Piece>, Refusal> {
        let page = &Self { at: view.at(), ..self.clone() };
        let mut pieces = vec![
            Piece::new(Tag::Block, "top", "top-state", "state", page.state()),
            Piece::new(Tag::Block, "top", "top-actions", "actions", page.actions()),
            Piece::new(Tag::Block, "notices", "notice", "notice-box", page.notices()),
        ];
        match view {
            View::Board(task) => asks::pieces(page, task.is_none(), &mut pieces),
            View::Changes => asks::pieces(page, true, &mut pieces),
            _ => asks::in_short(page, &mut pieces),
        }
        match view {
            View::Board(task) => board::pieces(page, task.as_ref(), &mut pieces)?,
            View::Tasks(from) => board::task_pieces(page, index(*from), &mut pieces),
            View::Timeline(stretch) => timeline::pieces(page, *stretch, &mut pieces),
            View::Changes => changes::pieces(page, &mut pieces)?,
            View::Sheet => sheet::pieces(page, &mut pieces),
            View::Log(before) => log::pieces(page, *before, &mut pieces),
        }
        Ok(pieces)
    }

    /// The whole page. `said` is the outcome of the last action.
    ///
    /// # Errors
    /// The record cannot be read.
    pub fn page(&self, view: &View, said: Option<&Result<String, Refusal>>) -> Result<Markup, Refusal> {
        let project = self.runs.project();
        let pieces = self.pieces(view)?;
        let inner = match view {
            View::Board(task) => board::page(self, task.as_ref(), &pieces),
            View::Tasks(from) => board::tasks_page(self, index(*from), &pieces),
            View::Timeline(_) => html! { div #picture { (listed(&pieces, "picture")) } },
            View::Changes => html! { div #changes.stack { (listed(&pieces, "changes")) } },
            View::Sheet => sheet::page(self, &pieces)?,
            View::Log(before) => log::page(self, *before, &pieces),
        };
        let body = html! {
            div.run-head {
                p.crumbs { a href="./" { "Runs" } " / " span.mono { (self.id()) } }
                h1.request { (one_line(self.run.about().prompt, REQUEST)) }
                @if self.run.about().prompt.chars().count() > REQUEST {
                    details.more { summary { "Whole request" } pre.text { (readable(self.run.about().prompt)) } }
                }
                @for follow_up in &self.board.header.follow_ups { p.follow-up { "Follow-up: " (one_line(follow_up, REQUEST)) } }
                div #top.top { (listed(&pieces, "top")) }
            }
            (self.tabs(view))
            @if let Some(said) = said { (told(said)) }
            div #notices { (listed(&pieces, "notices")) }
            section #asks.asks aria-label="Waiting for you" { (listed(&pieces, "asks")) }
            (inner)
        };
        let live =
            format!("{}?view={}&n={}&page={}", self.address("live"), view.name(), self.last(), self.visit.page());
        let live = match view {
            View::Board(Some(task)) => format!("{live}&task={}", encoded(task.as_str())),
            View::Log(Some(before)) => format!("{live}&before={before}"),
            View::Tasks(from) => format!("{live}&from={from}"),
            View::Timeline(stretch) => format!("{live}{}", timeline::stretch_query('&', *stretch)),
            _ => live,
        };
        let title = format!("{} ({})", one_line(self.run.about().prompt, 60), self.standing().words);
        // Changes must not replace what the person has typed.
        let live = Some(live).filter(|_| self.typed.is_none());
        Ok(Frame { visit: self.visit, title: &title, project: &project, query: "", live }.page(&body))
    }

    /// The number of the last entry.
    pub fn last(&self) -> u64 {
        self.entries.last().map_or(0, |entry| entry.n)
    }

    fn tabs(&self, view: &View) -> Markup {
        html! {
            nav.tabs aria-label="Run" {
                @for (name, title) in View::TABS {
                    a href=(self.address(name)) aria-current=[(view.name() == name).then_some("page")] { (title) }
                }
            }
        }
    }

    fn state(&self) -> Markup {
        let header = &self.board.header;
        let at = self.is_driven().then(|| self.run.about().now_ms).filter(|_| header.running > 0 || header.total == 0);
        html! {
            (self.standing().badge())
            @if header.total > 0 {
                span.meter {
                    progress value=(header.done) max=(header.total) aria-label="Tasks done" {}
                    span { (header.done) " of " (header.total) " done" }
                }
            }
            @if header.running > 0 { span { (header.running) " running" } }
            @if header.waiting > 0 { strong.wait-words { (header.waiting) @if header.waiting == 1 { " waits" } @else { " wait" } " for you" } }
            @if header.problems > 0 { span.bad-words { (header.problems) @if header.problems == 1 { " problem" } @else { " problems" } } }
            span { (thousands(header.tokens)) " tokens" }
            @if let Some(usd) = header.cost_usd { span { (dollars(usd)) } }
            span title="Time at work, without waiting for you" { (worked(header.busy_ms, at)) }
            @if let Some(left) = header.left_ms.filter(|left| at.is_some() && *left >= 1_000) { span.soft title="If the tasks that are left take as long as those that are done" { "about " (duration(left)) " left" } }
            @if let Some(model) = &header.model { span.soft { (one_line(model, 60)) } }
        }
    }

    fn actions(&self) -> Markup {
        let header = &self.board.header;
        html! {
            @if self.is_driven() {
                (self.button("cancel", "Cancel", "quiet", "Stops the run. You can resume it."))
            }
            @if self.may_resume() {
                (self.button("resume", "Resume", if self.saved { "main" } else { "" }, "Starts a process that continues this run."))
            }
            @if header.problems > 0 {
                (self.button("retry", "Retry what failed", "quiet", "Runs failed, denied and blocked tasks again."))
            }
        }
    }

    /// A button for one action.
    pub fn button(&self, what: &str, words: &str, class: &str, help: &str) -> Markup {
        html! {
            form method="post" action=(self.action(what)) { button class=(class) title=(help) { (words) } }
        }
    }

    fn notices(&self) -> Markup {
        html! {
            @if let Some(broken) = self.broken { p.notice.bad { strong { "Damaged record. " } (readable(broken)) } }
            @if let Some(message) = &self.board.header.message { p.notice { (readable(message)) } }
            @if let Some(one) = self.run.pressing_limit() { (self.limit(&one)) }
            @if self.saved && !self.is_driven() {
                p.notice.wait { strong { "Your answer is saved. " } "It takes effect when the run resumes." }
            }
            @match &self.started {
                Some(Started::Working) if !self.is_driven() => { p.notice { "A process has been started and is resuming the run." } }
                Some(Started::Ended { failed: true, words }) if !self.is_driven() => {
                    div.notice.bad { strong { "The resumed process ended with an error." } pre.text { (readable(words)) } }
                }
                _ => {}
            }
        }
    }
}

impl RunPage<'_> {
    /// A limit that stopped the run or is about to, with the form that raises it.
    fn limit(&self, one: &LimitUse) -> Markup {
        let (name, unit) = (one.limit.name(), limit_unit(one.limit.name()));
        let step = if name == "max_cost_usd" { "any" } else { "1" };
        html! {
            div.notice.wait #limit {
                p { strong { (amount(one.used)) " of " (amount(one.max)) " " (unit) " are used. " } "The run stops at this limit." }
                form.raise method="post" action=(self.action("raise")) {
                    input type="hidden" name="limit" value=(name);
                    label { span { "New limit (" (unit) ")" } input type="number" name="max" required min=(amount(one.max)) step=(step) value=(amount(one.max * 2.0)); }
                    button { @if self.is_driven() { "Raise" } @else { "Raise and resume" } }
                }
            }
        }
    }
}

fn index(number: u64) -> usize {
    usize::try_from(number).unwrap_or(usize::MAX)
}

pub(crate) fn told(said: &Result<String, Refusal>) -> Markup {
    html! {
        @match said {
            Ok(words) => p.notice.good role="status" { span aria-hidden="true" { "✓ " } (readable(words)) },
            Err(refusal) => {
                div.notice.bad role="alert" {
                    strong { span aria-hidden="true" { "✗ " } "Not done. " } (readable(&refusal.what))
                    @if !refusal.advice.is_empty() { p { (readable(&refusal.advice.to_string())) } }
                }
            }
        }
    }
}
