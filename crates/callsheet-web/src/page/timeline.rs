//! When each piece of work ran and what tasks waited for: the timeline of the report, with addresses of this page.

use callsheet_report::timeline;
use maud::html;

use super::run::RunPage;
use crate::piece::{Piece, Tag};

pub(crate) fn pieces(page: &RunPage<'_>, pieces: &mut Vec<Piece>) {
    let link = |task: &callsheet_core::spec::Slug| Some(page.address(&format!("tasks/{task}")));
    let drawn = timeline(page.run, page.entries, &link);
    let inner = html! {
        @if drawn.0.is_empty() { section.empty { p { "Nothing has run yet." } } } @else { (drawn) }
    };
    pieces.push(Piece::new(Tag::Block, "picture", "timeline", "timeline-box", inner));
}
