//! The right pane: text about the run, a task, or another page.

mod calls;
mod pages;
mod task;

use ratatui::text::Line;

use crate::app::{App, Page, Pick, Tab};
use crate::text::{one_line, wrap, wrapped};
use crate::theme::Theme;
use crate::viewer::Viewer;

/// The content of the pane.
pub struct Content {
    /// Its lines. No line is wider than the pane.
    pub lines: Vec<Line<'static>>,
    /// The line at which reading begins: the hunk to decide, or the end of the streamed text.
    pub at: usize,
}

/// What is needed to build the content.
pub struct Teller<'a> {
    /// The state of the screen.
    pub app: &'a App,
    /// Access to the record.
    pub viewer: &'a Viewer,
    /// The styles.
    pub theme: Theme,
    /// The width of a line in cells.
    pub cells: usize,
    lines: Vec<Line<'static>>,
    at: usize,
}

/// The current content of the pane.
pub fn content(app: &App, viewer: &Viewer, theme: Theme, cells: usize) -> Content {
    let mut teller = Teller { app, viewer, theme, cells, lines: Vec::new(), at: 0 };
    match (app.page, app.pick()) {
        (Some(Page::Keys), _) => teller.keys(),
        (Some(Page::Timeline), _) => teller.timeline(),
        (Some(Page::Sheet), _) => teller.sheet(),
        (Some(Page::Log), _) => teller.log(),
        (None, Pick::Run) if app.tab == Tab::Task => teller.run(),
        (None, Pick::Run) => teller.tab(None),
        (None, Pick::Section(at)) => teller.section(at),
        (None, Pick::Task(slug)) if app.tab == Tab::Task => teller.task(&slug),
        (None, Pick::Task(slug)) => teller.tab(Some(&slug)),
    }
    Content { lines: teller.lines, at: teller.at }
}

impl Teller<'_> {
    fn blank(&mut self) {
        if self.lines.last().is_some_and(|line| line.width() > 0) {
            self.lines.push(Line::default());
        }
    }

    /// A heading above the following lines.
    fn heading(&mut self, text: &str) {
        self.blank();
        let style = self.theme.label();
        self.lines.extend(wrap(&[(format!("── {} ──", one_line(text)), style)], self.cells, 0));
    }

    /// A value with its label.
    fn value(&mut self, label: &str, text: &str) {
        if !text.trim().is_empty() {
            let pieces = [(format!("{label:<8} "), self.theme.label()), (one_line(text), ratatui::style::Style::new())];
            self.lines.extend(wrap(&pieces, self.cells, 9));
        }
    }

    /// A text as it is.
    fn text(&mut self, text: &str) {
        self.lines.extend(wrapped(text.trim_end(), ratatui::style::Style::new(), self.cells));
    }

    /// A line of secondary text.
    fn quiet(&mut self, text: &str) {
        let style = self.theme.quiet();
        self.lines.extend(wrapped(text, style, self.cells));
    }

    /// A line about a problem.
    fn bad(&mut self, text: &str) {
        let style = self.theme.bad();
        self.lines.extend(wrapped(text, style, self.cells));
    }

    /// Streamed text. Its end is shown.
    fn stream(&mut self, text: &str) {
        self.heading("reply so far");
        self.text(text);
        self.at = self.lines.len();
    }

    fn run(&mut self) {
        let header = &self.app.board.header;
        self.value("request", &header.request);
        header.follow_ups.iter().for_each(|text| self.value("then", text));
        let goals = self.app.run.about().goals.text.trim().to_owned();
        self.value("goals", &goals);
        self.value("message", header.message.as_deref().unwrap_or_default());
        let problems: Vec<String> =
            self.app.run.all_problems().map(|problem| self.app.run.problem_line(&problem)).collect();
        for problem in problems {
            self.bad(&one_line(&problem));
        }
        let answer = self.viewer.answer(&self.app.run);
        if !answer.trim().is_empty() {
            self.heading("answer");
            self.text(&answer);
        }
        if header.outcome.is_some() {
            self.heading("time and cost");
            self.text(&self.app.run.summary(true).to_string());
        }
        let streams: Vec<&str> = self
            .app
            .streams
            .iter()
            .filter(|(key, _)| key.task.is_none())
            .map(|(_, stream)| stream.text.as_str())
            .collect();
        streams.into_iter().for_each(|text| self.stream(text));
    }

    fn section(&mut self, at: usize) {
        let Some(section) = self.app.board.sections.get(at) else { return };
        let done = section.tasks.iter().filter(|row| row.need == callsheet_core::view::board::Need::Over);
        for row in done {
            let (mark, _) = callsheet_core::view::state_mark(row.state);
            let pieces = [
                (format!("{mark} {}  ", one_line(&row.title)), self.theme.strong()),
                (one_line(&row.line), ratatui::style::Style::new()),
            ];
            self.lines.extend(wrap(&pieces, self.cells, 2));
        }
    }
}
