//! When each piece of work ran and what tasks waited for: as a picture, in words and as a table. The report and the
//! live page show the same timeline.

use std::collections::BTreeSet;

use callsheet_app::RunView;
use callsheet_core::events::LogEntry;
use callsheet_core::nouns::Slug;
use callsheet_core::view::{self, Bar, BarKind, Wait, WaitKind, duration};
use maud::{Markup, html};

use crate::picture::{ROWS, class, is_queued, picture, wait_class, whole};
use crate::shown;
use crate::zoom::{Zoom, links};

/// The style sheet of a timeline. A page with a timeline includes it once.
pub const TIMELINE_STYLE: &str = include_str!("timeline.css");

/// The data for the picture, its words and its table.
pub(crate) struct Timeline<'a> {
    run: &'a RunView,
    /// The address at which the page shows a task.
    pub link: &'a dyn Fn(&Slug) -> Option<String>,
    pub bars: Vec<Bar>,
    pub waits: Vec<Wait>,
    /// Milliseconds from the first fact to the last.
    end: u64,
    pub ideal_ms: u64,
    pub busy_ms: u64,
    /// The part that is drawn, if not all.
    pub stretch: Option<(u64, u64)>,
}

/// The timeline of a run. Empty if there was no work. `link` gives the address at which the page shows a task, if it
/// does. `zoom` is for a page that can show a part of the timeline.
pub fn timeline(
    run: &RunView,
    facts: &[LogEntry],
    link: &dyn Fn(&Slug) -> Option<String>,
    zoom: Option<&Zoom<'_>>,
) -> Markup {
    let about = run.about();
    let bars = view::timeline(facts);
    let waits = view::waits(facts);
    let last = facts.first().map_or(0, |first| about.now_ms.saturating_sub(first.at));
    let end = bars.iter().filter_map(|bar| bar.to).fold(last, u64::max);
    let (ideal_ms, busy_ms) = (run.ideal_ms(), about.busy_ms);
    let stretch = zoom.and_then(|zoom| zoom.shown);
    let timeline = Timeline { run, link, bars, waits, end, ideal_ms, busy_ms, stretch };
    let picture = picture(&timeline);
    html! {
        @if !picture.0.is_empty() {
            figure.timeline {
                figcaption {
                    p {
                        "Ideal: " strong { (duration(ideal_ms)) } ", the longest chain of calls that had to follow each other: how long this "
                        "run would last if no task waited for a slot or for the model. "
                        "Actual: " strong { (duration(busy_ms)) } " at work, without waiting for you."
                    }
                    (legend(&timeline))
                }
                @if let Some(zoom) = zoom { (links(zoom, &whole(&timeline))) }
                div.timeline-scroll tabindex="0" role="region" aria-label="Timeline" { (picture) }
                @if timeline.tasks().len() > ROWS { p.timeline-more { (timeline.tasks().len() - ROWS) " more tasks have no row here." } }
                (table(&timeline))
            }
        }
    }
}

impl Timeline<'_> {
    /// Work that never ended lasts until the last fact.
    pub fn end_of(&self, from: u64, to: Option<u64>) -> u64 {
        to.unwrap_or(self.end).max(from)
    }

    /// Whether any part of it is drawn.
    pub fn is_drawn(&self, from: u64, to: Option<u64>) -> bool {
        self.stretch.is_none_or(|(first, last)| from <= last && self.end_of(from, to) >= first)
    }

    /// The task's name for people.
    pub fn name(&self, slug: &Slug) -> String {
        self.run.task(slug).map_or_else(|| slug.to_string(), |task| task.task.name.clone())
    }

    /// Tasks that worked or waited in the drawn part, in the order of the list. A task or a part of a template that was
    /// repeated has no row: its work is in the rows of the slots and in the table.
    pub fn tasks(&self) -> Vec<&Slug> {
        let works =
            self.bars.iter().filter(|bar| !matches!(bar.kind, BarKind::Note) && self.is_drawn(bar.from, bar.to));
        let waits = self.waits.iter().filter(|wait| self.is_drawn(wait.from, wait.to));
        let named = works.filter_map(|bar| bar.task.as_ref()).chain(waits.map(|wait| &wait.task));
        let mut known: BTreeSet<&Slug> = named.collect();
        let listed = self.run.all_tasks().map(|task| &task.task.slug);
        let is_repeated = |task: &Slug| self.run.task(task).is_some_and(|task| self.run.is_replaced(task));
        known.retain(|task| !is_repeated(task) && !self.run.is_former(task));
        let mut ordered: Vec<&Slug> = listed.filter(|task| known.remove(*task)).collect();
        ordered.extend(known);
        ordered
    }
}

const KINDS: [(BarKind, &str); 6] = [
    (BarKind::Plan, "plan and answer"),
    (BarKind::Refine, "refine"),
    (BarKind::Execute, "execute"),
    (BarKind::Tool, "tool"),
    (BarKind::Change, "change"),
    (BarKind::You, "waiting for you"),
];

fn legend(timeline: &Timeline<'_>) -> Markup {
    let is_drawn = |kind: &BarKind| timeline.bars.iter().any(|bar| bar.kind == *kind);
    let waits = |kind: &WaitKind| timeline.waits.iter().any(|wait| wait.kind == *kind);
    html! {
        ul.legend aria-label="Legend" {
            @for (kind, words) in KINDS.iter().filter(|(kind, _)| is_drawn(kind)) {
                li { svg width="14" height="10" aria-hidden="true" { rect class=(class(*kind)) width="14" height="10" rx="2" {} } (words) }
            }
            li { svg width="14" height="10" aria-hidden="true" { rect class="critical-only" x="1" y="1" width="12" height="8" rx="2" {} } "what the end waited for" }
            @if timeline.bars.iter().any(is_queued) {
                li { svg width="14" height="10" aria-hidden="true" { rect class="queued" x="1" y="1" width="12" height="8" rx="2" {} } "waits for the model, which answers others" }
            }
            @for kind in WaitKind::ALL.iter().filter(|kind| waits(kind)) {
                li {
                    svg width="22" height="10" aria-hidden="true" { line class=(format!("wait {}", wait_class(*kind))) x1="0" x2="22" y1="5" y2="5" {} }
                    "waits for " (kind.words())
                }
            }
        }
    }
}

/// Lines of the table.
const LINES: usize = 2_000;

/// A line of the table: when, how long, what, and which task.
struct Line<'a> {
    from: u64,
    to: Option<u64>,
    what: &'a str,
    task: Option<&'a Slug>,
    critical: bool,
    /// The time in it that was spent waiting for the model.
    queued_ms: u64,
}

fn table(timeline: &Timeline<'_>) -> Markup {
    let bars = timeline.bars.iter().map(|bar| Line {
        from: bar.from,
        to: bar.to,
        what: &bar.what,
        task: bar.task.as_ref(),
        critical: bar.critical,
        queued_ms: if is_queued(bar) { bar.queued_ms } else { 0 },
    });
    let waits = timeline.waits.iter().map(|wait| Line {
        from: wait.from,
        to: wait.to,
        what: &wait.what,
        task: Some(&wait.task),
        critical: false,
        queued_ms: 0,
    });
    let mut lines: Vec<Line<'_>> = bars.chain(waits).collect();
    lines.sort_by_key(|line| line.from);
    html! {
        details #timeline-table {
            summary { "As a table" }
            div.timeline-scroll tabindex="0" role="region" aria-label="Timeline as a table" {
                table {
                    thead { tr { th { "Began" } th { "Took" } th { "What" } th { "Task" } } }
                    tbody { @for line in lines.iter().take(LINES) { (row(timeline, line)) } }
                }
                @if lines.len() > LINES { p.timeline-more { (lines.len() - LINES) " later lines are left out." } }
            }
        }
    }
}

fn row(timeline: &Timeline<'_>, line: &Line<'_>) -> Markup {
    let took = line.to.map_or_else(|| "not finished".to_owned(), |to| duration(to.saturating_sub(line.from)));
    html! {
        tr {
            td.number { (duration(line.from)) }
            td.number { (took) }
            td { (shown(line.what)) @if line.queued_ms > 0 { ", after " (duration(line.queued_ms)) " of waiting for the model" } @if line.critical { " " em { "(the end waited for it)" } } }
            td { @if let Some(task) = line.task { (shown(&timeline.name(task))) } }
        }
    }
}

#[cfg(test)]
mod tests {
    use callsheet_core::events::{self, Event, ListOrigin};
    use callsheet_core::nouns::{Goals, Policy, RunId, Settings, Task};
    use callsheet_core::record::{AdoptedList, Entry, PlannedTask};
    use callsheet_core::run::{Effect, Run};

    use super::*;

    #[test]
    fn names_of_tasks_are_text() {
        let (run, facts) = waiting();
        let run = RunView::from(run);
        let html = timeline(&run, &facts, &|task| Some(format!("#task-{task}")), None).into_string();
        assert!(html.contains("Read &lt;script&gt;&amp;&lt;U+202E&gt;") && !html.contains("<script"), "{html}");
        assert!(html.contains("waits for a slot") && html.contains("href=\"#task-read-2\""), "{html}");
        assert!(timeline(&RunView::default(), &[], &|_| None, None).into_string().is_empty());
    }

    #[test]
    fn many_short_calls_share_bars() {
        let call = |number: u64| Bar {
            what: "execute".to_owned(),
            task: None,
            kind: BarKind::Execute,
            from: number / 4 * 100,
            to: Some(number / 4 * 100 + 90),
            queued_ms: 0,
            tokens: None,
            critical: false,
        };
        let drawn = |calls: u64| {
            let timeline = Timeline {
                run: &RunView::default(),
                link: &|_| None,
                bars: (0..calls).map(call).collect(),
                waits: Vec::new(),
                end: calls * 100,
                ideal_ms: 90,
                busy_ms: calls * 25,
                stretch: None,
            };
            picture(&timeline).into_string().matches("class=\"execute\"").count()
        };
        assert_eq!(drawn(2_000), 2_000);
        assert!((1_000..=4_000).contains(&drawn(40_000)), "{}", drawn(40_000));
    }

    /// Two tasks and one slot, while the first task runs.
    fn waiting() -> (Run, Vec<LogEntry>) {
        let settings = Settings { jobs: 1, refine: Policy::Never, ..Settings::default() };
        let entry = Entry::Sheet { prompt: "Read.".to_owned() };
        let step = ["read-1", "read-2"].map(planned).to_vec();
        let goals = Goals { text: "Read.".to_owned(), plan_complete: true, plan_continues: false };
        let list = AdoptedList { goals, steps: vec![step], ..AdoptedList::default() };
        let (mut run, mut facts) = (Run::new(), Vec::new());
        let mut note = |run: &mut Run, event: Event| {
            let n = facts.len() as u64 + 1;
            let fact = LogEntry::new(n, 1_000 * n, event);
            run.apply(&fact).unwrap();
            facts.push(fact);
        };
        note(
            &mut run,
            events::RunStarted { run: RunId::new("a-run"), entry, settings, tools: Default::default() }.into(),
        );
        note(
            &mut run,
            events::ListAdopted { origin: ListOrigin::Host, list, repairs: Vec::new(), issues: Vec::new() }.into(),
        );
        while let Some(effect) = run.outstanding().into_iter().next() {
            match effect {
                Effect::CheckReferences { task, n, stage } => {
                    let (issues, contents) = (Vec::new(), Default::default());
                    note(&mut run, events::ReferencesChecked { task, n, stage, issues, contents, apart: None }.into());
                }
                other => {
                    note(&mut run, other.started());
                    break;
                }
            }
        }
        note(&mut run, events::CancelRequested {}.into());
        (run, facts)
    }

    fn planned(slug: &str) -> PlannedTask {
        let task = Task {
            name: "Read <script>&\u{202e}".to_owned(),
            slug: Slug::new(slug),
            aliases: Vec::new(),
            need: "All of it.".to_owned(),
            skill: None,
            for_each: None,
            references: Vec::new(),
            expected: String::new(),
            approval: false,
            review: None,
            calls: Vec::new(),
            extra: String::new(),
        };
        PlannedTask { task, unchanged: false, writer: None, direct: false }
    }
}
