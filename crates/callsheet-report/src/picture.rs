//! The picture of a timeline. At the top it compares the ideal time with the actual one; then comes a row for each
//! slot, then a row for each task with what it waited for. A bar is a piece of work. The chain that determined the end
//! is outlined.

use callsheet_core::view::{Bar, BarKind, Wait, WaitKind, duration, thousands};
use maud::{Markup, html};

use crate::scale::{Scale, float};
use crate::shown;
use crate::timeline::Timeline;

const WIDTH: f64 = 960.0;
/// Where the rows begin. Their names are to the left.
const LEFT: f64 = 150.0;
/// How many letters of a name fit there.
const NAME: usize = 22;
const ROW: f64 = 22.0;
/// Height of a bar.
const BAR: f64 = 17.0;
/// Room for the labels of the clock.
const TOP: f64 = 18.0;
/// Room between the groups of rows.
const GAP: f64 = 8.0;
/// Approximate width of a letter.
const LETTER: f64 = 6.2;
/// How many tasks have their own row. The table lists all.
pub(crate) const ROWS: usize = 200;

/// How many bars the slots show. Where there are more, one bar stands for several short ones.
const BARS: usize = 3_000;

/// A bar that is drawn.
struct Drawn<'a> {
    bar: &'a Bar,
    to: u64,
    row: usize,
    /// How many further bars of the same kind it stands for.
    more: usize,
}

/// When models and tools worked.
fn spans(timeline: &Timeline<'_>) -> Vec<(u64, u64)> {
    let other = |kind: BarKind| matches!(kind, BarKind::Note | BarKind::Host | BarKind::You);
    let works = timeline.bars.iter().filter(|bar| !other(bar.kind));
    works.map(|bar| (bar.from, timeline.end_of(bar.from, bar.to))).collect()
}

/// The clock of the whole run, whatever part is drawn.
pub(crate) fn whole(timeline: &Timeline<'_>) -> Scale {
    Scale::of(spans(timeline), None, (LEFT, WIDTH))
}

/// The picture. Empty if there was no work.
pub(crate) fn picture(timeline: &Timeline<'_>) -> Markup {
    let span = |bar: &Bar| (bar.from, timeline.end_of(bar.from, bar.to));
    let spans = spans(timeline);
    if spans.is_empty() {
        return html! {};
    }
    let scale = Scale::of(spans, timeline.stretch, (LEFT, WIDTH));
    let work = timeline.bars.iter().filter(|bar| !matches!(bar.kind, BarKind::Note | BarKind::Host));
    let work = work.filter(|bar| timeline.is_drawn(bar.from, bar.to));
    let (yours, works): (Vec<&Bar>, Vec<&Bar>) = work.partition(|bar| bar.kind == BarKind::You);
    let (mut drawn, slots) = rows(&works, &span);
    if drawn.len() > BARS {
        drawn = gathered(drawn, &scale, count(slots) * (WIDTH - LEFT) / count(BARS));
    }
    let (of_you, persons) = rows(&yours, &span);
    drawn.extend(of_you.into_iter().map(|one| Drawn { row: one.row + slots, ..one }));
    // Totals make no sense in a part of the timeline.
    let totals = if timeline.stretch.is_none() { 2 } else { 0 };
    let of_slots = TOP + ROW * count(totals) + GAP;
    let of_tasks = of_slots + ROW * count(slots + persons) + GAP;
    let (tasks, height) = tasks(timeline, &scale, of_tasks);
    html! {
        svg viewBox=(format!("0 0 {WIDTH} {height:.0}")) role="img" aria-label=(words(timeline)) xmlns="http://www.w3.org/2000/svg" {
            defs {
                pattern id="hatched" width="6" height="6" patternUnits="userSpaceOnUse" patternTransform="rotate(45)" {
                    rect width="6" height="6" class="tool-ground" {} rect width="3" height="6" class="tool-line" {}
                }
                pattern id="dotted" width="6" height="6" patternUnits="userSpaceOnUse" {
                    rect width="6" height="6" class="you-ground" {} circle cx="3" cy="3" r="1.2" class="you-dot" {}
                }
            }
            (scale.clock(TOP, height))
            @if totals > 0 {
                (total("ideal", timeline.ideal_ms, &scale, TOP))
                (total("actual", timeline.busy_ms, &scale, TOP + ROW))
            }
            @for row in 0..slots { (row_name(&format!("slot {}", row + 1), of_slots + ROW * count(row))) }
            @if persons > 0 { (row_name("you", of_slots + ROW * count(slots))) }
            @for one in &drawn {
                @let y = of_slots + ROW * count(one.row);
                @if one.more > 0 { (several(one, &scale, y)) } @else { (bar(one.bar, one.to, &scale, y)) }
                (label(&shown(&one.bar.what), scale.x(one.bar.from), y, scale.x(one.to) - scale.x(one.bar.from)))
            }
            (tasks)
        }
    }
}

/// A row for each task, with its waits; if the run has a single task, the slots already show everything. Also returns
/// where the rows end.
fn tasks(timeline: &Timeline<'_>, scale: &Scale, top: f64) -> (Markup, f64) {
    let names = timeline.tasks();
    if names.len() < 2 && timeline.waits.is_empty() {
        return (html! {}, top);
    }
    let span = |bar: &Bar| (bar.from, timeline.end_of(bar.from, bar.to));
    let mut y = top;
    let mut out = Vec::new();
    for task in names.iter().take(ROWS) {
        let of_task = timeline.bars.iter().filter(|bar| bar.task.as_ref() == Some(*task));
        let of_task = of_task.filter(|bar| !hidden(bar.kind) && timeline.is_drawn(bar.from, bar.to));
        let (bars, lanes) = rows(&of_task.collect::<Vec<&Bar>>(), &span);
        let waits = timeline.waits.iter().filter(|wait| wait.task == **task && timeline.is_drawn(wait.from, wait.to));
        out.push(html! {
            @match (timeline.link)(task) {
                Some(address) => { a href=(address) { (row_name(&timeline.name(task), y)) } }
                None => (row_name(&timeline.name(task), y)),
            }
            @for wait in waits { (waiting(timeline, wait, scale, y)) }
            @for one in &bars { (bar(one.bar, one.to, scale, y + ROW * count(one.row))) }
        });
        y += ROW * count(lanes.max(1));
    }
    (html! { @for row in out { (row) } }, y + 4.0)
}

/// Whether a task's row shows no bar for this kind.
fn hidden(kind: BarKind) -> bool {
    matches!(kind, BarKind::You | BarKind::Note | BarKind::Host)
}

fn waiting(timeline: &Timeline<'_>, wait: &Wait, scale: &Scale, y: f64) -> Markup {
    let to = timeline.end_of(wait.from, wait.to);
    html! {
        line class=(format!("wait {}", wait_class(wait.kind))) x1=(px(scale.x(wait.from))) x2=(px(scale.x(to))) y1=(px(y + BAR / 2.0)) y2=(px(y + BAR / 2.0)) {
            title { (shown(&timeline.name(&wait.task))) " " (shown(&wait.what)) ", " (duration(to - wait.from)) }
        }
    }
}

/// Arranges bars in rows so that none overlaps another: each goes into the first free row. Also returns the number of
/// rows.
fn rows<'a>(bars: &[&'a Bar], span: &dyn Fn(&Bar) -> (u64, u64)) -> (Vec<Drawn<'a>>, usize) {
    let mut sorted: Vec<&Bar> = bars.to_vec();
    sorted.sort_by_key(|bar| bar.from);
    let mut free: Vec<u64> = Vec::new();
    let mut drawn = Vec::with_capacity(sorted.len());
    for bar in sorted {
        let (from, to) = span(bar);
        let row = free.iter().position(|at| *at <= from).unwrap_or(free.len());
        match free.get_mut(row) {
            Some(at) => *at = to,
            None => free.push(to),
        }
        drawn.push(Drawn { bar, to, row, more: 0 });
    }
    (drawn, free.len())
}

/// Lets one bar stand for neighbours of its kind in its row, as long as all of them together are at most `width` wide.
fn gathered<'a>(mut bars: Vec<Drawn<'a>>, scale: &Scale, width: f64) -> Vec<Drawn<'a>> {
    bars.sort_by_key(|one| (one.row, one.bar.from));
    let mut gathered: Vec<Drawn<'a>> = Vec::new();
    for one in bars {
        match gathered.last_mut() {
            Some(last)
                if last.row == one.row
                    && (last.bar.kind, last.bar.critical) == (one.bar.kind, one.bar.critical)
                    && scale.x(one.to) - scale.x(last.bar.from) <= width =>
            {
                last.to = last.to.max(one.to);
                last.more += 1;
            }
            _ => gathered.push(one),
        }
    }
    gathered
}

/// A bar that stands for several.
fn several(one: &Drawn<'_>, scale: &Scale, y: f64) -> Markup {
    let (left, right) = (scale.x(one.bar.from), scale.x(one.to));
    let critical = if one.bar.critical { " critical" } else { "" };
    html! {
        rect class=(format!("{}{critical}", class(one.bar.kind))) x=(px(left)) y=(px(y)) width=(px((right - left).max(1.5))) height=(px(BAR)) rx="2" {
            title { (shown(&one.bar.what)) " and " (thousands(one.more as u64)) " more" }
        }
    }
}

fn total(what: &str, ms: u64, scale: &Scale, y: f64) -> Markup {
    let width = (float(ms) * scale.per_ms).clamp(1.0, WIDTH - LEFT);
    let words = duration(ms);
    html! {
        (row_name(what, y))
        rect class=(what) x=(px(LEFT)) y=(px(y)) width=(px(width)) height=(px(BAR)) rx="3" { title { (what) " " (words) } }
        (label(&words, LEFT, y, width))
    }
}

fn bar(bar: &Bar, to: u64, scale: &Scale, y: f64) -> Markup {
    let asked = bar.from + if is_queued(bar) { bar.queued_ms } else { 0 };
    let (first, left, right) = (scale.x(bar.from), scale.x(asked), scale.x(to));
    let class = format!("{}{}", class(bar.kind), if bar.critical { " critical" } else { "" });
    let took = if bar.to.is_some() { duration(to - bar.from) } else { "not finished".to_owned() };
    html! {
        @if is_queued(bar) {
            rect class="queued" x=(px(first)) y=(px(y)) width=(px((left - first).max(1.0))) height=(px(BAR)) rx="2" {
                title { (shown(&bar.what)) ": waited " (duration(bar.queued_ms)) " for the model, which answered others" }
            }
        }
        rect class=(class) x=(px(left)) y=(px(y)) width=(px((right - left).max(1.5))) height=(px(BAR)) rx="2" {
            title {
                (shown(&bar.what)) ", " (took)
                @if let Some(tokens) = bar.tokens { ", " (thousands(tokens)) " tokens" }
                @if bar.critical { ", on the critical path" }
            }
        }
    }
}

/// Whether a call waited long enough for the model to draw the wait. A shorter time is the host's own work.
pub(crate) fn is_queued(bar: &Bar) -> bool {
    let took = bar.to.map_or(0, |to| to.saturating_sub(bar.from));
    bar.queued_ms >= 50 && bar.queued_ms.saturating_mul(20) >= took
}

/// As many of the words as fit into the bar.
fn label(words: &str, left: f64, y: f64, width: f64) -> Markup {
    let room = ((width - 8.0) / LETTER).floor();
    let total = words.chars().count();
    html! {
        @if room >= count(total) {
            text.label x=(px(left + 4.0)) y=(px(y + 12.5)) { (words) }
        } @else if room >= 5.0 {
            text.label x=(px(left + 4.0)) y=(px(y + 12.5)) {
                (words.chars().scan(1.0, |used, letter| { *used += 1.0; (*used <= room).then_some(letter) }).collect::<String>()) "…"
            }
        }
    }
}

fn row_name(words: &str, y: f64) -> Markup {
    let words = shown(words);
    let short = middle_cut(&words, NAME);
    html! {
        text.row x=(px(LEFT - 8.0)) y=(px(y + 12.5)) text-anchor="end" {
            (short) @if short != words { title { (words) } }
        }
    }
}

/// A name shortened in the middle to the available width, because names of tasks differ at both ends.
fn middle_cut(words: &str, room: usize) -> String {
    let letters: Vec<char> = words.chars().collect();
    if letters.len() <= room {
        return words.to_owned();
    }
    let first = room / 2;
    let last = letters.len() - (room - first - 1);
    letters.iter().take(first).chain(&['…']).chain(letters.iter().skip(last)).collect()
}

/// The CSS class for a kind of work.
pub(crate) fn class(kind: BarKind) -> &'static str {
    match kind {
        BarKind::Plan => "plan",
        BarKind::Refine => "refine",
        BarKind::Execute => "execute",
        BarKind::Tool => "tool",
        BarKind::Change | BarKind::Host | BarKind::Note => "change",
        BarKind::You => "you",
    }
}

/// The CSS class for a wait.
pub(crate) fn wait_class(kind: WaitKind) -> &'static str {
    match kind {
        WaitKind::Task => "for-task",
        WaitKind::Slot => "for-slot",
        WaitKind::You => "for-you",
        WaitKind::Limit => "for-limit",
    }
}

/// The picture in words.
fn words(timeline: &Timeline<'_>) -> String {
    let critical: Vec<String> = timeline
        .bars
        .iter()
        .filter(|bar| bar.critical)
        .map(|bar| format!("{} {}", shown(&bar.what), duration(bar.to.unwrap_or(bar.from) - bar.from)))
        .collect();
    let (ideal, actual) = (duration(timeline.ideal_ms), duration(timeline.busy_ms));
    format!("Timeline. Ideal: {ideal}, actual: {actual}. The end waited for: {}.", critical.join(", then "))
}

/// A coordinate in its written form.
pub(crate) fn px(value: f64) -> String {
    format!("{value:.1}")
}

fn count(rows: usize) -> f64 {
    rows as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn work(what: &str, from: u64, to: u64) -> Bar {
        Bar {
            what: what.to_owned(),
            kind: BarKind::Execute,
            task: None,
            tokens: None,
            queued_ms: 0,
            critical: false,
            from,
            to: Some(to),
        }
    }

    #[test]
    fn a_long_name_keeps_both_ends() {
        assert_eq!(middle_cut("summarise-files-notes-12", 12), "summar…es-12");
        assert_eq!(middle_cut("Read Notes", 12), "Read Notes");
    }

    #[test]
    fn bars_that_overlap_stand_in_rows_of_their_own() {
        let bars = [work("a", 0, 10), work("b", 5, 15), work("c", 10, 20)];
        let (drawn, slots) = rows(&bars.iter().collect::<Vec<_>>(), &|bar| (bar.from, bar.to.unwrap()));
        assert_eq!((slots, drawn.iter().map(|one| one.row).collect::<Vec<_>>()), (2, vec![0, 1, 0]));
    }
}
