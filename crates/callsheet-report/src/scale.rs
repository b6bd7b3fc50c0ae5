//! The clock of a timeline: where each moment is drawn. Long pauses without work are drawn short.

use callsheet_core::view::duration;
use maud::{Markup, html};

use crate::picture::px;

/// Width of a long pause, however long it was.
const PAUSE: f64 = 36.0;

/// A part of the clock, and where it is drawn.
struct Piece {
    from: u64,
    to: u64,
    left: f64,
    right: f64,
    /// Whether it is a long pause, drawn short.
    pause: bool,
}

/// Converts times to positions between two edges.
pub(crate) struct Scale {
    pieces: Vec<Piece>,
    left: f64,
    right: f64,
    /// Width of a millisecond outside pauses.
    pub per_ms: f64,
}

impl Scale {
    /// `spans` says when there was work. `shown` is the part between the edges; without it, everything since the first
    /// fact is shown.
    pub fn of(mut spans: Vec<(u64, u64)>, shown: Option<(u64, u64)>, (left, right): (f64, f64)) -> Self {
        spans.sort_unstable();
        let (begin, end) = shown.unwrap_or((0, u64::MAX));
        spans.retain_mut(|(from, to)| {
            (*from, *to) = ((*from).max(begin), (*to).min(end));
            from <= to
        });
        let mut busy: Vec<(u64, u64)> = Vec::new();
        for (from, to) in spans {
            match busy.last_mut() {
                Some(last) if from <= last.1 => last.1 = last.1.max(to),
                _ => busy.push((from, to)),
            }
        }
        let worked: u64 = busy.iter().map(|(from, to)| to - from).sum();
        let mut stretches: Vec<(u64, u64, bool)> = Vec::new();
        let mut at = begin;
        for (from, to) in busy {
            if from > at {
                stretches.push((at, from, from - at > (worked / 4).max(1)));
            }
            stretches.push((from, to, false));
            at = to;
        }
        if let Some((_, end)) = shown.filter(|(_, end)| *end > at) {
            stretches.push((at, end, at > begin && end - at > (worked / 4).max(1)));
        }
        let pauses: f64 = stretches.iter().filter(|(_, _, pause)| *pause).map(|_| PAUSE).sum();
        let natural: u64 = stretches.iter().filter(|(_, _, pause)| !pause).map(|(from, to, _)| to - from).sum();
        let room = (right - left - pauses).max((right - left) / 4.0);
        let per_ms = room / float(natural.max(1));
        let mut edge = left;
        let mut pieces = Vec::with_capacity(stretches.len());
        for (from, to, pause) in stretches {
            let end = edge + if pause { PAUSE } else { float(to - from) * per_ms };
            pieces.push(Piece { from, to, left: edge, right: end, pause });
            edge = end;
        }
        Self { pieces, left, right, per_ms }
    }

    /// Where a moment is drawn.
    pub fn x(&self, at: u64) -> f64 {
        let next = self.pieces.partition_point(|piece| piece.to < at);
        let Some(piece) = self.pieces.get(next).or(self.pieces.last()) else { return self.left };
        let share = float(at.saturating_sub(piece.from)) / float((piece.to - piece.from).max(1));
        piece.left + (piece.right - piece.left) * share.min(1.0)
    }

    /// Where the first and the last moment are drawn.
    pub fn edges(&self) -> (f64, f64) {
        (self.left, self.pieces.last().map_or(self.left, |piece| piece.right))
    }

    /// The moment that is drawn at a position.
    pub fn at(&self, x: f64) -> u64 {
        let next = self.pieces.partition_point(|piece| piece.right < x);
        let Some(piece) = self.pieces.get(next).or(self.pieces.last()) else { return 0 };
        let share = ((x - piece.left) / (piece.right - piece.left).max(f64::MIN_POSITIVE)).clamp(0.0, 1.0);
        piece.from + (share * float(piece.to - piece.from)).round() as u64
    }

    /// The labels at the top, a line below each, and the pauses. `top` and `bottom` are the edges of the rows.
    pub fn clock(&self, top: f64, bottom: f64) -> Markup {
        // About one label every 110 pixels, at round times.
        let wanted = 110.0 / self.per_ms;
        let step = [1_u64, 10, 100, 1_000, 10_000, 60_000, 600_000, 3_600_000, 36_000_000]
            .into_iter()
            .flat_map(|unit| [unit, unit * 2, unit * 5])
            .find(|step| float(*step) >= wanted)
            .unwrap_or(86_400_000);
        let ticks = self.pieces.iter().filter(|piece| !piece.pause).flat_map(|piece| {
            let first = piece.from.div_ceil(step);
            (first..=piece.to / step).map(move |number| number * step)
        });
        let mut last = (f64::MIN, String::new());
        let apart: Vec<(f64, String)> = ticks
            .filter_map(|at| {
                let (x, words) = (self.x(at), duration(at));
                let far = x - last.0 >= 60.0 && x < self.right - 30.0 && words != last.1;
                far.then(|| last = (x, words.clone())).map(|()| (x, words))
            })
            .collect();
        html! {
            @for (x, words) in apart {
                line.tick x1=(px(x)) x2=(px(x)) y1="13" y2=(px(bottom)) {}
                text.clock x=(px(x + 3.0)) y="11" { (words) }
            }
            @for piece in self.pieces.iter().filter(|piece| piece.pause) {
                rect.pause x=(px(piece.left)) y=(px(top)) width=(px(piece.right - piece.left)) height=(px(bottom - top)) {
                    title { "nothing was done for " (duration(piece.to - piece.from)) }
                }
            }
        }
    }
}

/// Times of a run are small enough for a float to hold them exactly.
pub(crate) fn float(ms: u64) -> f64 {
    ms as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_pause_is_drawn_short() {
        let scale = Scale::of(vec![(0, 1_000), (3_601_000, 3_602_000)], None, (60.0, 960.0));
        assert_eq!(scale.x(0), 60.0);
        assert_eq!((scale.x(3_601_000) - scale.x(1_000)).round(), PAUSE);
        assert_eq!(scale.x(3_602_000).round(), 960.0);
        assert_eq!([0, 500, 3_601_500].map(|at| scale.at(scale.x(at))), [0, 500, 3_601_500]);
    }

    #[test]
    fn a_stretch_fills_the_room_and_the_rest_is_at_its_edges() {
        let spans = vec![(0, 1_000), (1_000, 4_000), (6_000, 9_000)];
        let scale = Scale::of(spans, Some((2_000, 4_500)), (100.0, 350.0));
        assert_eq!([0, 2_000, 3_000, 4_500, 9_000].map(|at| scale.x(at)), [100.0, 100.0, 200.0, 350.0, 350.0]);
        assert_eq!(Scale::of(Vec::new(), Some((2_000, 3_000)), (0.0, 10.0)).x(2_500), 5.0);
    }
}
