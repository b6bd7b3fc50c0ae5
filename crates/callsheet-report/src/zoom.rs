//! A part of a timeline, and links to the parts beside it, inside it and around it. A part is chosen by its place in
//! the whole picture, in which long pauses are short.

use callsheet_core::view::duration;
use maud::{Markup, html};

use crate::scale::Scale;

/// Shorter parts show nothing new.
const SHORTEST_MS: u64 = 20;

/// The shown part of a timeline, and the addresses of other parts.
pub struct Zoom<'a> {
    /// Milliseconds from the first fact. `None` means the whole timeline.
    pub shown: Option<(u64, u64)>,
    /// The address of a part.
    pub link: &'a dyn Fn(Option<(u64, u64)>) -> String,
}

/// `whole` is the clock of the whole picture.
pub(crate) fn links(zoom: &Zoom<'_>, whole: &Scale) -> Markup {
    let (first, last) = whole.edges();
    let (left, right) = zoom.shown.map_or((first, last), |(from, to)| (whole.x(from), whole.x(to)));
    let quarter = (right - left) / 4.0;
    let stretch = |from: f64, to: f64| {
        let (from, to) = (from.max(first), to.min(last));
        let is_whole = from <= first && to >= last;
        if is_whole { None } else { Some((whole.at(from), whole.at(to))) }
    };
    let inside = stretch(left + quarter, right - quarter).filter(|(from, to)| to.saturating_sub(*from) >= SHORTEST_MS);
    let before = (left > first).then(|| stretch(left - 2.0 * quarter, right - 2.0 * quarter));
    let behind = (right < last).then(|| stretch(left + 2.0 * quarter, right + 2.0 * quarter));
    let around = zoom.shown.map(|_| stretch(left - 2.0 * quarter, right + 2.0 * quarter));
    html! {
        nav.zoom aria-label="Zoom" {
            (link(zoom, "+", "+", "Zoom in", inside.map(Some)))
            (link(zoom, "−", "-", "Zoom out", around))
            (link(zoom, "←", "ArrowLeft", "Earlier", before))
            (link(zoom, "→", "ArrowRight", "Later", behind))
            (link(zoom, "All", "0", "The whole run", zoom.shown.map(|_| None)))
            @if let Some((from, to)) = zoom.shown { span { (duration(from)) " to " (duration(to)) } }
        }
    }
}

/// `to` is a part or the whole; `None` if there is nothing to link to. A script follows the link when the key is
/// pressed.
fn link(zoom: &Zoom<'_>, sign: &str, key: &str, words: &str, to: Option<Option<(u64, u64)>>) -> Markup {
    let title = format!("{words} (key {})", if key.len() > 1 { sign } else { key });
    html! {
        @match to {
            Some(to) => a.button href=((zoom.link)(to)) data-key=(key) title=(title) aria-label=(words) { (sign) },
            None => span.button.off title=(words) aria-hidden="true" { (sign) },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn html(shown: Option<(u64, u64)>) -> String {
        let link = |to: Option<(u64, u64)>| to.map_or("all".to_owned(), |(from, to)| format!("{from}-{to}"));
        // Four seconds of work with an hour of waiting in between.
        let whole = Scale::of(vec![(0, 2_000), (3_602_000, 3_604_000)], None, (0.0, 836.0));
        links(&Zoom { shown, link: &link }, &whole).into_string()
    }

    #[test]
    fn stretches_are_halves_and_doubles_of_the_picture() {
        let all = html(None);
        assert!(all.contains("href=\"1045-3602955\"") && all.matches("href=").count() == 1, "{all}");
        let half = html(Some((1_000, 3_603_000)));
        assert!(half.contains("href=\"all\"") && half.contains("data-key=\"ArrowLeft\""), "{half}");
        // At the start there is nothing earlier; "later" is the other half.
        let first = html(Some((0, 1_000)));
        assert!(!first.contains("data-key=\"ArrowLeft\"") && first.contains("href=\"500-1500\""), "{first}");
        assert!(first.contains("href=\"250-750\"") && first.contains("href=\"0-1500\""), "{first}");
        let short = html(Some((0, 30)));
        assert!(!short.contains("data-key=\"+\"") && short.contains("data-key=\"-\""), "{short}");
    }
}
