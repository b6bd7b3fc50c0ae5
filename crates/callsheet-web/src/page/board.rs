//! The board: sections with their tasks, one line each, and one opened task beside them.

use std::collections::BTreeMap;

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

/// Rows on the board: tasks that are open, and tasks that are over. Others are on pages of their own.
const OPEN: usize = 200;
const OVER: usize = 100;

/// Rows of such a page.
const PAGE: usize = 200;

/// Bytes of the answer on the board. The report has all of it.
const ANSWER: usize = 64 * 1_024;

/// Problems that are told above the board.
const PROBLEMS: usize = 50;

pub(crate) fn pieces(page: &RunPage<'_>, open: Option<&Slug>, pieces: &mut Vec<Piece>) -> Result<(), Refusal> {
    let answer = page.runs.answer(page.run);
    pieces.push(Piece::new(Tag::Block, "answer-box", "answer", "answer-inner", answer_words(page, &answer)));
    let (mut room, mut left) = (Room { open: OPEN, over: OVER }, 0);
    for section in &page.board.sections {
        let rows = room.take(section);
        left += section.tasks.len() - rows.len();
        if !rows.is_empty() {
            let empty = shell(section, |_| html! {});
            pieces.push(Piece::new(Tag::Block, "sections", section_id(section), "section", empty));
            section_pieces(page, section, &rows, pieces);
        }
    }
    if left > 0 {
        let words =
            html! { a.button href=(page.address("tasks")) { "All tasks, with " (thousands(left as u64)) " more" } };
        pieces.push(Piece::new(Tag::Block, "more-tasks", "more-tasks-link", "inline", words));
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

/// Rows for which there is room.
struct Room {
    open: usize,
    over: usize,
}

impl Room {
    fn take<'a>(&mut self, section: &'a Section) -> Vec<&'a Row> {
        let fits = |row: &&Row| {
            let room = if row.need == Need::Over { &mut self.over } else { &mut self.open };
            let fits = *room > 0;
            *room = room.saturating_sub(1);
            fits
        };
        section.tasks.iter().filter(fits).collect()
    }
}

fn section_pieces(page: &RunPage<'_>, section: &Section, rows: &[&Row], pieces: &mut Vec<Piece>) {
    let id = section_id(section);
    for row in rows {
        let list = if row.need == Need::Over { "over" } else { "open" };
        pieces.push(row_piece(page, &format!("{id}-{list}"), row));
    }
    let words = html! { (section.done_line) };
    pieces.push(Piece::new(Tag::Block, format!("{id}-line"), format!("{id}-words"), "inline", words));
}

fn row_piece(page: &RunPage<'_>, list: &str, row: &Row) -> Piece {
    let inner = html! {
        (line(page, row))
        @if !row.below.is_empty() {
            ul.rows.below { @for below in row.below.iter().take(OPEN) { li class=(class(below)) { (line(page, below)) } } }
            @if row.below.len() > OPEN { p.hint { (row.below.len() - OPEN) " more parts: choose the task" } }
        }
    };
    Piece::new(Tag::Item, list, format!("row-{}", row.slug), &class(row), inner)
}

/// Rows of all sections, from this number on.
pub(crate) fn task_pieces(page: &RunPage<'_>, from: usize, pieces: &mut Vec<Piece>) {
    let rows = page.board.sections.iter().flat_map(|section| &section.tasks);
    pieces.extend(rows.skip(from).take(PAGE).map(|row| row_piece(page, "all-tasks", row)));
}

/// The page with these rows.
pub(crate) fn tasks_page(page: &RunPage<'_>, from: usize, pieces: &[Piece]) -> Markup {
    let all: usize = page.board.sections.iter().map(|section| section.tasks.len()).sum();
    let to = from.saturating_add(PAGE);
    let at = |from: usize| page.address(&format!("tasks?from={from}"));
    html! {
        p.soft { "Tasks " (from.saturating_add(1)) " to " (to.min(all)) " of " (thousands(all as u64)) ", the most urgent of each section first" }
        @if from > 0 { nav.pages aria-label="Tasks before" { a.button href=(at(from.saturating_sub(PAGE))) { "Before" } } }
        div.section { ul #all-tasks.rows { (listed(pieces, "all-tasks")) } }
        @if to < all { nav.pages aria-label="Tasks behind" { a.button href=(at(to)) { "Next" } } }
    }
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
    let shown = answer.get(..answer.floor_char_boundary(ANSWER)).unwrap_or(answer);
    html! {
        @if !answer.trim().is_empty() {
            h2 { "Answer" }
            div.prose { (markdown(shown)) }
            @if shown.len() < answer.len() { p.hint { "That is the beginning of " (thousands(answer.len() as u64)) " bytes. Download the report for more." } }
            @if let Some(marks) = marks { p.bad-words { (readable(&marks)) "." } }
        }
    }
}

/// The page below the header of the run.
pub(crate) fn page(page: &RunPage<'_>, open: Option<&Slug>, pieces: &[Piece]) -> Markup {
    let of_sections = pieces.iter().filter(|piece| piece.list == "sections");
    let shells: BTreeMap<&String, &Piece> = of_sections.map(|piece| (&piece.id, piece)).collect();
    html! {
        section #answer-box.answer { (listed(pieces, "answer-box")) }
        div.board data-run=(page.address("")) data-open[open.is_some()] {
            div #sections.sections {
                @if page.board.sections.is_empty() { (nothing(page)) }
                @for section in &page.board.sections {
                    @if let Some(piece) = shells.get(&section_id(section)) {
                        (piece.render_with(&shell(section, |list| listed(pieces, list))))
                    }
                }
                div #more-tasks { (listed(pieces, "more-tasks")) }
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
        @for problem in problems.iter().take(PROBLEMS) {
            p.notice.bad {
                (one_line(&page.run.problem_line(problem), 400)) " "
                a href=(page.address(&format!("tasks/{}", problem.task.task.slug))) data-task=(problem.task.task.slug) { "Open" }
            }
        }
        @if problems.len() > PROBLEMS { p.hint { (problems.len() - PROBLEMS) " more problems: the board shows them first" } }
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
