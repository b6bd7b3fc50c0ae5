//! The board: sections with their tasks, one line each, and one opened task beside them.

use callsheet_core::nouns::Slug;
use callsheet_core::view::board::{Need, Row, Section};
use callsheet_core::view::{Summary, counted, duration, reuse_words, thousands, time_words};
use callsheet_core::visible::readable;
use callsheet_report::markdown;
use maud::{Markup, html};

use super::layout::WAITS;
use super::run::RunPage;
use super::task;
use crate::piece::{Piece, Tag, listed};
use callsheet_app::{Refusal, Stage, one_line};

pub(crate) fn pieces(page: &RunPage<'_>, open: Option<&Slug>, pieces: &mut Vec<Piece>) -> Result<(), Refusal> {
    let answer = page.runs.answer(page.run);
    pieces.push(Piece::new(Tag::Block, "answer-box", "answer", "answer-inner", answer_words(page, &answer)));
    for section in &page.board.sections {
        let empty = shell(section, |_| html! {});
        pieces.push(Piece::new(Tag::Block, "sections", section_id(section), "section", empty));
        section_pieces(page, section, pieces);
    }
    match open {
        Some(slug) => task::pieces(page, slug, pieces)?,
        None => {
            let writing = task::writing(page, None);
            pieces.push(Piece::new(Tag::Block, "about-box", "writing", "writing", writing));
            pieces.push(Piece::new(Tag::Block, "about-box", "about", "about", about(page)));
        }
    }
    Ok(())
}

/// The id of a section. It stays the same when sections are inserted before it.
fn section_id(section: &Section) -> String {
    let number = section.title.rsplit_once(' ').and_then(|(_, number)| number.parse::<u32>().ok());
    number.map_or_else(|| "section-other".to_owned(), |number| format!("section-{number}"))
}

/// The constant part of a section, around its pieces.
fn shell(section: &Section, inner: impl Fn(&str) -> Markup) -> Markup {
    let [open, line, over] = ["open", "line", "over"].map(|list| format!("{}-{list}", section_id(section)));
    html! {
        h2 { (one_line(&section.title, 80)) }
        ul.rows id=(open) { (inner(&open)) }
        details.over {
            summary { span.done-line id=(line) { (inner(&line)) } }
            ul.rows id=(over) { (inner(&over)) }
        }
    }
}

fn section_pieces(page: &RunPage<'_>, section: &Section, pieces: &mut Vec<Piece>) {
    let id = section_id(section);
    for row in &section.tasks {
        let list = if row.need == Need::Over { "over" } else { "open" };
        let inner = html! {
            (line(page, row))
            @if !row.below.is_empty() {
                ul.rows.below { @for below in &row.below { li class=(class(below)) { (line(page, below)) } } }
            }
        };
        pieces.push(Piece::new(Tag::Item, format!("{id}-{list}"), format!("row-{}", row.slug), &class(row), inner));
    }
    let words = html! { (section.done_line) };
    pieces.push(Piece::new(Tag::Block, format!("{id}-line"), format!("{id}-words"), "inline", words));
}

fn class(row: &Row) -> String {
    let need = match row.need {
        Need::Person => "wait",
        Need::Running => "work",
        Need::Problem => "bad",
        Need::Next => "next",
        Need::Waits => "rest",
        Need::Over => "good",
    };
    format!("row {need}")
}

fn line(page: &RunPage<'_>, row: &Row) -> Markup {
    html! {
        a.task-link href=(page.address(&format!("tasks/{}", row.slug))) data-task=(row.slug) {
            span.mark aria-hidden="true" { (if row.need == Need::Person { WAITS } else { row.mark }) }
            span.name { (one_line(&row.title, 100)) }
            span.state-word { (state_word(row)) }
            @if row.writes { span.tag { "writes" } }
            span.facts {
                // For a running task, this would be the time up to the last event.
                @if row.ms > 0 && row.state.is_ended() { span { (duration(row.ms)) } }
                @if row.tokens > 0 { span { (thousands(row.tokens)) " tok" } }
            }
            @if !row.line.is_empty() { span.line { (one_line(steady(row), 160)) } }
        }
    }
}

/// The line of a row. For a waiting row, it excludes what other tasks do now. Otherwise each of their changes would
/// resend all rows. The opened task shows it.
fn steady(row: &Row) -> &str {
    let end = |line: &str| ["; ", ": "].iter().filter_map(|mark| line.find(mark)).min();
    match end(&row.line) {
        Some(end) if row.need == Need::Waits => row.line.get(..end).unwrap_or(&row.line),
        _ => &row.line,
    }
}

fn state_word(row: &Row) -> &'static str {
    if row.need == Need::Person { "asks you" } else { row.state.as_str() }
}

/// The answer of a run that has ended.
fn answer_words(page: &RunPage<'_>, answer: &str) -> Markup {
    let marks = page.run.unsupported_line();
    html! {
        @if !answer.trim().is_empty() {
            h2 { "Answer" }
            div.prose { (markdown(answer)) }
            @if let Some(marks) = marks { p.bad-words { (readable(&marks)) "." } }
        }
    }
}

/// The page below the header of the run.
pub(crate) fn page(page: &RunPage<'_>, open: Option<&Slug>, pieces: &[Piece]) -> Markup {
    html! {
        section #answer-box.answer { (listed(pieces, "answer-box")) }
        div.board data-run=(page.address("")) data-open[open.is_some()] {
            div #sections.sections {
                @if page.board.sections.is_empty() { (nothing(page)) }
                @for section in &page.board.sections {
                    @if let Some(piece) = pieces.iter().find(|piece| piece.id == section_id(section)) {
                        (piece.render_with(&shell(section, |list| listed(pieces, list))))
                    }
                }
            }
            section #task.task aria-label="Task" tabindex="-1" { (opened(page, open, pieces)) }
        }
    }
}

fn nothing(page: &RunPage<'_>) -> Markup {
    html! {
        section.empty #no-sections {
            @match page.run.about().stage {
                Stage::Concluded(_) | Stage::Conclude(_) => p { "This run has no tasks." },
                _ => p { "The model is making the list of tasks. They appear here." },
            }
        }
    }
}

/// The opened task, or the numbers of the run.
pub(crate) fn opened(page: &RunPage<'_>, open: Option<&Slug>, pieces: &[Piece]) -> Markup {
    match open {
        Some(_) => task::shell(page, pieces),
        None => html! { div #about-box { (listed(pieces, "about-box")) } },
    }
}

/// The purpose of the run, its problems, and its cost.
fn about(page: &RunPage<'_>) -> Markup {
    let summary = page.run.summary(true);
    let goals = page.run.about().goals.text.trim();
    let problems: Vec<_> = page.run.all_problems().collect();
    html! {
        h2 { "About this run" }
        @if !goals.is_empty() { p.text { (readable(goals)) } }
        @for problem in &problems {
            p.notice.bad {
                (one_line(&page.run.problem_line(problem), 400)) " "
                a href=(page.address(&format!("tasks/{}", problem.task.task.slug))) data-task=(problem.task.task.slug) { "Open" }
            }
        }
        dl {
            dt { "Calls" } dd { (summary.calls) @if summary.refused > 0 { ", " (summary.refused) " replies asked again" } @if summary.failed_calls > 0 { ", " (summary.failed_calls) " without a reply" } }
            dt { "Tokens" } dd { (thousands(summary.input_tokens)) " in (" (thousands(summary.cached_tokens)) " cached), " (thousands(summary.output_tokens)) " out" }
            @if summary.repairs > 0 { dt { "Repairs" } dd { (summary.repairs) ", saving " (counted(saved(&summary), "call")) } }
            @if summary.tools > 0 { dt { "Tools" } dd { (counted(usize::try_from(summary.tools).unwrap_or(usize::MAX), "call")) } }
            @if let Some(cost) = summary.cost_words() { dt { "Cost" } dd { (cost) } }
            dt { "Time" } dd { (time_words(&summary.time)) "; ideal " (duration(summary.ideal_ms)) }
            @if let Some(words) = summary.reused.as_ref().and_then(reuse_words) { dt { "Resumed" } dd { (words) } }
            dt { "Slots" } dd { (page.board.header.slots) " pieces of work at a time" }
        }
        p { a href=(page.address("report")) download { "Download this run as a report" } }
        p.hint { "Choose a task to see its inputs, its prompts and replies, and its result." }
        p.hint.keys { kbd { "j" } " and " kbd { "k" } " go through tasks, " kbd { "Enter" } " opens one, " kbd { "/" } " searches." }
    }
}

fn saved(summary: &Summary) -> usize {
    usize::try_from(summary.saved_calls).unwrap_or(usize::MAX)
}
