//! The timeline as a picture: a row a slot, a bar a piece of work, the chain that the end waited for outlined, and above
//! it the time that the same work would take with unlimited slots.

use callsheet_core::view::{Bar, BarKind, duration};
use maud::{Markup, html};

use crate::shown;

/// How the picture looks. A page that shows one includes it once.
pub const STYLE: &str = include_str!("picture.css");

const WIDTH: f64 = 960.0;
/// Where the rows begin: their names stand before.
const LEFT: f64 = 64.0;
const ROW: f64 = 22.0;
/// Height of a bar.
const BAR: f64 = 17.0;
/// Room for the numbers of the clock.
const TOP: f64 = 18.0;
/// How wide a long pause is drawn, however long it was.
const PAUSE: f64 = 36.0;
/// About how wide a letter is.
const LETTER: f64 = 6.2;

/// A stretch of the clock, and where it is drawn.
struct Piece {
    from: u64,
    to: u64,
    left: f64,
    right: f64,
    /// It is a long pause, drawn short.
    pause: bool,
}

struct Scale {
    pieces: Vec<Piece>,
    /// Width of a millisecond, outside pauses.
    per_ms: f64,
}

/// A bar that is drawn.
struct Drawn<'a> {
    bar: &'a Bar,
    to: u64,
    row: usize,
}

/// The picture; nothing without work. `ideal_ms`: the time with unlimited slots.
pub fn picture(bars: &[Bar], ideal_ms: u64) -> Markup {
    let end = bars.iter().map(|bar| bar.to.unwrap_or(bar.from)).max().unwrap_or(0);
    let span = |bar: &Bar| (bar.from, bar.to.unwrap_or(end).max(bar.from));
    let is_work = |bar: &&Bar| !matches!(bar.kind, BarKind::Note | BarKind::Host);
    let (yours, works): (Vec<&Bar>, Vec<&Bar>) = bars.iter().filter(is_work).partition(|bar| bar.kind == BarKind::You);
    if works.is_empty() {
        return html! {};
    }
    let scale = Scale::of(works.iter().map(|bar| span(bar)).collect());
    let (mut drawn, slots) = rows(&works, &span, 0);
    let (of_you, persons) = rows(&yours, &span, slots);
    drawn.extend(of_you);
    let first = TOP + ROW;
    let height = first + ROW * rows_f(slots + persons) + 4.0;
    let ideal = (count(ideal_ms) * scale.per_ms).min(WIDTH - LEFT);
    html! {
        figure.timeline {
            svg viewBox=(format!("0 0 {WIDTH} {height:.0}")) role="img" aria-label=(words(bars, ideal_ms)) xmlns="http://www.w3.org/2000/svg" {
                defs {
                    pattern id="hatched" width="6" height="6" patternUnits="userSpaceOnUse" patternTransform="rotate(45)" {
                        rect width="6" height="6" class="tool-ground" {} rect width="3" height="6" class="tool-line" {}
                    }
                    pattern id="dotted" width="6" height="6" patternUnits="userSpaceOnUse" {
                        rect width="6" height="6" class="you-ground" {} circle cx="3" cy="3" r="1.2" class="you-dot" {}
                    }
                }
                (clock(&scale, height))
                (row_name("ideal", TOP))
                rect.ideal x=(px(LEFT)) y=(px(TOP)) width=(px(ideal.max(1.0))) height=(px(BAR)) rx="3" { title { "ideal " (duration(ideal_ms)) } }
                (label(&format!("ideal {}", duration(ideal_ms)), LEFT, TOP, ideal))
                @for row in 0..slots { (row_name(&format!("slot {}", row + 1), first + ROW * rows_f(row))) }
                @if persons > 0 { (row_name("you", first + ROW * rows_f(slots))) }
                @for one in &drawn { (bar(one, &scale, first)) }
            }
            (legend(&yours))
        }
    }
}

/// Bars in rows, so that none covers another: each in the first that is free. Says how many rows there are.
fn rows<'a>(bars: &[&'a Bar], span: &dyn Fn(&Bar) -> (u64, u64), first: usize) -> (Vec<Drawn<'a>>, usize) {
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
        drawn.push(Drawn { bar, to, row: first + row });
    }
    (drawn, free.len())
}

impl Scale {
    /// `spans`: when something was done. Pauses that are long beside it are drawn short.
    fn of(mut spans: Vec<(u64, u64)>) -> Self {
        spans.sort_unstable();
        let mut busy: Vec<(u64, u64)> = Vec::new();
        for (from, to) in spans {
            match busy.last_mut() {
                Some(last) if from <= last.1 => last.1 = last.1.max(to),
                _ => busy.push((from, to)),
            }
        }
        let worked: u64 = busy.iter().map(|(from, to)| to - from).sum();
        // The clock begins with the first fact.
        let mut stretches: Vec<(u64, u64, bool)> = Vec::new();
        let mut at = 0;
        for (from, to) in busy {
            if from > at {
                stretches.push((at, from, from - at > (worked / 4).max(1)));
            }
            stretches.push((from, to, false));
            at = to;
        }
        let pauses = stretches.iter().filter(|(_, _, pause)| *pause).count();
        let natural: u64 = stretches.iter().filter(|(_, _, pause)| !pause).map(|(from, to, _)| to - from).sum();
        let room = (WIDTH - LEFT - PAUSE * rows_f(pauses)).max(WIDTH / 4.0);
        let per_ms = room / count(natural.max(1));
        let mut left = LEFT;
        let mut pieces = Vec::with_capacity(stretches.len());
        for (from, to, pause) in stretches {
            let right = left + if pause { PAUSE } else { count(to - from) * per_ms };
            pieces.push(Piece { from, to, left, right, pause });
            left = right;
        }
        Self { pieces, per_ms }
    }

    fn x(&self, at: u64) -> f64 {
        let next = self.pieces.partition_point(|piece| piece.to < at);
        let Some(piece) = self.pieces.get(next).or(self.pieces.last()) else { return LEFT };
        let share = count(at.saturating_sub(piece.from)) / count((piece.to - piece.from).max(1));
        piece.left + (piece.right - piece.left) * share.min(1.0)
    }
}

fn clock(scale: &Scale, height: f64) -> Markup {
    // About a number every 110 pixels, at round times.
    let wanted = 110.0 / scale.per_ms;
    let step = [1_u64, 10, 100, 1_000, 10_000, 60_000, 600_000, 3_600_000, 36_000_000]
        .into_iter()
        .flat_map(|unit| [unit, unit * 2, unit * 5])
        .find(|step| count(*step) >= wanted)
        .unwrap_or(86_400_000);
    let ticks = scale.pieces.iter().filter(|piece| !piece.pause).flat_map(|piece| {
        let first = piece.from.div_ceil(step);
        (first..=piece.to / step).map(move |number| number * step)
    });
    let mut last = f64::MIN;
    let apart: Vec<(f64, u64)> = ticks
        .filter_map(|at| {
            let x = scale.x(at);
            let far = x - last >= 60.0 && x < WIDTH - 30.0;
            far.then(|| last = x).map(|()| (x, at))
        })
        .collect();
    html! {
        @for (x, at) in apart {
            line.tick x1=(px(x)) x2=(px(x)) y1="13" y2=(px(height)) {}
            text.clock x=(px(x + 3.0)) y="11" { (duration(at)) }
        }
        @for piece in scale.pieces.iter().filter(|piece| piece.pause) {
            rect.pause x=(px(piece.left)) y=(px(TOP)) width=(px(piece.right - piece.left)) height=(px(height - TOP)) {
                title { "nothing was done for " (duration(piece.to - piece.from)) }
            }
        }
    }
}

fn bar(one: &Drawn<'_>, scale: &Scale, first: f64) -> Markup {
    let (left, right) = (scale.x(one.bar.from), scale.x(one.to));
    let width = (right - left).max(1.5);
    let y = first + ROW * rows_f(one.row);
    let class = format!("{}{}", class(one.bar.kind), if one.bar.critical { " critical" } else { "" });
    let took = if one.bar.to.is_some() { duration(one.to - one.bar.from) } else { "not finished".to_owned() };
    let what = shown(&one.bar.what);
    html! {
        rect class=(class) x=(px(left)) y=(px(y)) width=(px(width)) height=(px(BAR)) rx="2" {
            title { (what) ", " (took) @if one.bar.critical { ", on the critical path" } }
        }
        (label(&what, left, y, width))
    }
}

/// As much of the words as the bar has room for.
fn label(words: &str, left: f64, y: f64, width: f64) -> Markup {
    let room = ((width - 8.0) / LETTER).floor();
    let total = words.chars().count();
    html! {
        @if room >= rows_f(total) {
            text.label x=(px(left + 4.0)) y=(px(y + 12.5)) { (words) }
        } @else if room >= 5.0 {
            text.label x=(px(left + 4.0)) y=(px(y + 12.5)) {
                (words.chars().scan(1.0, |used, letter| { *used += 1.0; (*used <= room).then_some(letter) }).collect::<String>()) "…"
            }
        }
    }
}

fn row_name(words: &str, y: f64) -> Markup {
    html! { text.row x=(px(LEFT - 8.0)) y=(px(y + 12.5)) text-anchor="end" { (words) } }
}

fn class(kind: BarKind) -> &'static str {
    match kind {
        BarKind::Plan => "plan",
        BarKind::Refine => "refine",
        BarKind::Execute => "execute",
        BarKind::Tool => "tool",
        BarKind::Change | BarKind::Host | BarKind::Note => "change",
        BarKind::You => "you",
    }
}

/// The picture in words.
fn words(bars: &[Bar], ideal_ms: u64) -> String {
    let critical: Vec<String> = bars
        .iter()
        .filter(|bar| bar.critical)
        .map(|bar| format!("{} {}", shown(&bar.what), duration(bar.to.unwrap_or(bar.from) - bar.from)))
        .collect();
    format!("Timeline. Ideal: {}. The end waited for: {}.", duration(ideal_ms), critical.join(", then "))
}

fn legend(yours: &[&Bar]) -> Markup {
    let mut kinds = vec![
        ("plan", "plan and answer"),
        ("refine", "refine"),
        ("execute", "execute"),
        ("tool", "tool"),
        ("change", "change"),
    ];
    if !yours.is_empty() {
        kinds.push(("you", "waiting for you"));
    }
    html! {
        figcaption {
            ul.legend {
                @for (class, words) in kinds { li { svg width="14" height="10" aria-hidden="true" { rect class=(class) width="14" height="10" rx="2" {} } (words) } }
                li { svg width="14" height="10" aria-hidden="true" { rect class="plan critical" x="1" y="1" width="12" height="8" rx="2" {} } "on the critical path" }
            }
        }
    }
}

fn px(value: f64) -> String {
    format!("{value:.1}")
}

/// Times of a run are far below what a float holds exactly.
fn count(ms: u64) -> f64 {
    ms as f64
}

fn rows_f(rows: usize) -> f64 {
    rows as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn work(what: &str, from: u64, to: u64) -> Bar {
        Bar { what: what.to_owned(), kind: BarKind::Execute, task: None, critical: false, from, to: Some(to) }
    }

    #[test]
    fn bars_that_overlap_stand_in_rows_of_their_own() {
        let bars = [work("a", 0, 10), work("b", 5, 15), work("c", 10, 20)];
        let (drawn, slots) = rows(&bars.iter().collect::<Vec<_>>(), &|bar| (bar.from, bar.to.unwrap()), 0);
        assert_eq!((slots, drawn.iter().map(|one| one.row).collect::<Vec<_>>()), (2, vec![0, 1, 0]));
    }

    #[test]
    fn a_long_pause_is_drawn_short() {
        let scale = Scale::of(vec![(0, 1_000), (3_601_000, 3_602_000)]);
        assert_eq!(scale.x(0), LEFT);
        assert_eq!((scale.x(3_601_000) - scale.x(1_000)).round(), PAUSE);
        assert_eq!(scale.x(3_602_000).round(), WIDTH);
    }

    #[test]
    fn names_of_tasks_are_text() {
        let svg = picture(&[work("execute <script>&\u{202e}", 0, 1_000)], 500).into_string();
        assert!(svg.contains("execute &lt;script&gt;&amp;&lt;U+202E&gt;") && !svg.contains("<script"), "{svg}");
        assert!(picture(&[], 0).into_string().is_empty());
    }
}
