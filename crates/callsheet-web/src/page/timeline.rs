//! When each piece of work ran and what tasks waited for. Uses the timeline of the report, with addresses of this
//! page.

use callsheet_report::{Zoom, timeline};
use maud::html;

use super::run::RunPage;
use crate::piece::{Piece, Tag};

/// `shown` is the stretch to show, in milliseconds from the first event.
pub(crate) fn pieces(page: &RunPage<'_>, shown: Option<(u64, u64)>, pieces: &mut Vec<Piece>) {
    let link = |task: &callsheet_core::nouns::Slug| Some(page.address(&format!("tasks/{task}")));
    let stretch = |to: Option<(u64, u64)>| page.address(&format!("timeline{}", stretch_query('?', to)));
    let drawn = timeline(page.run, page.entries, &link, Some(&Zoom { shown, link: &stretch }));
    let inner = html! {
        @if drawn.0.is_empty() { section.empty { p { "Nothing has run yet." } } } @else { (drawn) }
    };
    pieces.push(Piece::new(Tag::Block, "picture", "timeline", "timeline-box", inner));
}

/// A stretch of time as a part of an address.
pub(crate) fn stretch_query(sign: char, stretch: Option<(u64, u64)>) -> String {
    stretch.map_or_else(String::new, |(from, to)| format!("{sign}from={from}&to={to}"))
}
