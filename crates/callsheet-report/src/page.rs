//! The whole page, in the order in which a colleague reads it.

use callsheet_app::{Joined, RunView};
use callsheet_core::nouns::Slug;
use callsheet_core::record::Outcome;
use callsheet_core::view::{outcome_word, thousands};
use maud::{DOCTYPE, Markup, PreEscaped, html};

use crate::changes::changes;
use crate::cost::cost;
use crate::tasks::tasks;
use crate::timeline::{TIMELINE_STYLE, timeline};
use crate::troubles::troubles;
use crate::{Source, WHOLE, markdown, shown};

const PAGE: &str = include_str!("page.css");
/// The page loads nothing and runs nothing, whatever it contains.
const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'";

/// One self-contained HTML file without scripts.
pub(crate) fn html(source: &Source<'_>) -> String {
    let run = source.run;
    let title = run.about().prompt.lines().find(|line| !line.trim().is_empty()).unwrap_or("Report");
    let link = |task: &Slug| run.task(task).map(|task| format!("#task-{}", task.task.slug));
    let timeline = timeline(run, source.entries, &link, None);
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta http-equiv="Content-Security-Policy" content=(POLICY);
                meta name="viewport" content="width=device-width, initial-scale=1";
                title { (shown(&cut(title, 100))) }
                style { (PreEscaped(PAGE)) (PreEscaped(TIMELINE_STYLE)) }
            }
            body {
                (asked(source))
                (answered(source))
                (changes(source))
                (cost(run))
                @if !timeline.0.is_empty() { section { h2 { "Timeline" } (timeline) } }
                (tasks(source))
                (troubles(run, &source.omitted))
                footer { "Run " (source.name) ", started " (source.began) ". Made by Callsheet " (env!("CARGO_PKG_VERSION")) " from the record of the run." }
            }
        }
    };
    page.into_string()
}

fn asked(source: &Source<'_>) -> Markup {
    let about = source.run.about();
    // A long prompt does not become the heading.
    let prompt = shown(about.prompt.trim());
    let short = prompt.chars().count() <= 200;
    html! {
        header {
            p.lead { "What was asked" }
            @if short { h1 { (prompt) } } @else { h1 { (cut(&prompt, 120)) } div.need { (prompt) } }
            @for words in about.follow_ups { p { "Then: " (shown(words)) } }
            p.lead {
                span class=(format!("state {}", if about.outcome.is_some_and(Outcome::is_finished) { "good" } else { "open" })) { (outcome(source.run)) }
                (source.began)
                @if let Some(message) = about.message { ". " (shown(message)) }
            }
        }
    }
}

fn cut(text: &str, letters: usize) -> String {
    let mut cut: String = text.chars().take(letters).collect();
    if cut.len() < text.len() {
        cut.push('…');
    }
    cut
}

fn outcome(run: &RunView) -> String {
    let word = run.about().outcome.map_or("not finished", outcome_word);
    word.replace('_', " ")
}

/// Bytes of an answer.
const ANSWER: usize = 256 * 1_024;

/// An answer as Markdown; of a very long one the beginning.
fn answer(text: &str) -> Markup {
    let beginning = text.get(..text.floor_char_boundary(ANSWER)).unwrap_or(text);
    html! {
        (markdown(beginning))
        @if beginning.len() < text.len() { p.note { "That is the beginning of " (thousands(text.len() as u64)) " bytes. The rest is in the files of the run." } }
    }
}

fn answered(source: &Source<'_>) -> Markup {
    let run = source.run;
    let (text, results) = (run.answer(), run.results());
    html! {
        section {
            h2 { "Answer" }
            div.answer {
                @if let Some(result) = &source.of_tree {
                    @let words = result.words();
                    @if words.trim().is_empty() { p { "The template returned no text." } } @else { (answer(&words)) }
                    @if let Some(error) = &result.error { p.bad { "Failed: " (shown(&error.message)) } }
                } @else if text.is_empty() {
                    p { "There is no answer: the run is not finished." }
                } @else if results.len() > 1 && !matches!(run.joined(), Some(Joined::Answer { .. })) {
                    @for (task, text) in results.iter().take(WHOLE) { h3 { (shown(&task.task.name)) } (markdown(text)) }
                    @if results.len() > WHOLE { p.note { "And " (thousands((results.len() - WHOLE) as u64)) " more results, in the files of the run." } }
                } @else {
                    (answer(&text))
                }
            }
            @for warning in &source.warnings { p.warning { "Warning: " (shown(warning)) } }
            @if let Some(line) = run.unsupported_line() { p.warning { "Warning: " (shown(&line)) } }
            @if let Some(Joined::Failed(why)) = run.joined() { p.warning { "No answer was written from the results: " (shown(why)) } }
        }
    }
}
