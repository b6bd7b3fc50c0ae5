//! The tab of a task: its description, state, result, what it waits for, and what it asks.

use callsheet_app::{TaskRun, Why};
use callsheet_core::nouns::{BlobId, Slug};
use callsheet_core::record::{CheckEnd, EffectKey, GateKind};
use callsheet_core::view::{review_words, state_mark, unsupported_line};
use callsheet_runtime::ports::{CheckView, GateView};

use super::Teller;
use crate::diff;
use crate::text::{exact, one_line, wrap, wrapped};

/// How many lines of a failed check are shown, from its end.
const CHECK_LINES: usize = 30;

impl Teller<'_> {
    pub(super) fn task(&mut self, slug: &Slug) {
        let Some(task) = self.app.run.task(slug) else { return };
        if let Some(ask) = self.app.shown_ask() {
            match &ask.key {
                EffectKey::Gate(_) => self.gate(),
                _ => self.question(slug),
            }
            return;
        }
        self.head(task);
        let why = self.app.run.explain(slug);
        if !matches!(why, Why::Ended { .. }) {
            let line = self.app.board.row(slug).map(|row| row.line.clone()).filter(|line| !line.is_empty());
            self.value("now", &line.unwrap_or_else(|| self.app.run.why_words(&why, !self.app.rests())));
        }
        self.outcome(task);
        let streams: Vec<&str> = self
            .app
            .streams
            .iter()
            .filter(|(key, _)| key.task.as_ref() == Some(slug))
            .map(|(_, stream)| stream.text.as_str())
            .collect();
        streams.into_iter().for_each(|text| self.stream(text));
    }

    fn head(&mut self, task: &TaskRun) {
        let (_, word) = state_mark(self.app.run.standing(task));
        let writes = task
            .writer
            .as_ref()
            .map(|why| format!(", {} ({})", if task.may_change() { "writes" } else { "asks first" }, one_line(why)))
            .unwrap_or_default();
        self.value("task", &format!("{} · {word}{writes}", task.task.slug));
        self.value("needed", &task.task.need);
        self.value("skill", task.task.skill.as_deref().unwrap_or_default());
        self.value("for each", &task.task.for_each_words());
        let reads: Vec<String> =
            task.task.own_references().iter().map(|reference| reference.target.to_string()).collect();
        self.value("reads", &reads.join("  "));
        self.value("expected", &task.task.expected);
    }

    fn outcome(&mut self, task: &TaskRun) {
        if let Some(failure) = task.failure() {
            self.heading("failed");
            self.bad(&failure.reason);
            failure.issues.iter().for_each(|issue| self.bad(&format!("  {issue}")));
        }
        if let Some(words) = task.denial() {
            self.heading("denied");
            self.text(words);
        }
        task.reviews().for_each(|review| self.quiet(&review_words(review)));
        let Some(result) = task.result() else { return };
        self.heading("result");
        self.text(&result.summary);
        let changed: Vec<&str> = task.changed_files().into_iter().collect();
        self.value("changed", &changed.join("  "));
        if let Some(line) = unsupported_line(result.unsupported.iter().map(String::as_str)) {
            self.bad(&line);
        }
        let document: Option<&BlobId> = result.document.as_ref();
        if let Some(text) =
            document.and_then(|id| self.viewer.blob(id)).filter(|text| text.trim() != result.summary.trim())
        {
            self.heading("document");
            self.text(&text);
        }
    }

    fn question(&mut self, slug: &Slug) {
        let Why::Question { question, .. } = self.app.run.explain(slug) else { return };
        self.lines.extend(wrap(&[(format!("{slug} asks you"), self.theme.person())], self.cells, 0));
        self.blank();
        self.lines.extend(exact_lines(&question, self.cells));
    }

    fn gate(&mut self) {
        let Some(view) = self.app.shown_gate() else { return self.bad("what it asks cannot be read") };
        let GateKind::BeforeApply { task, .. } = &view.gate.kind else {
            let text = self.viewer.outside.gate_text(view);
            self.lines.extend(exact_lines(text.trim(), self.cells));
            return;
        };
        let title = format!("{task} wants to make these changes");
        self.lines.extend(wrap(&[(title, self.theme.person())], self.cells, 0));
        self.check(view.check.as_ref());
        if let Some(words) = view.unchecked_words() {
            self.quiet(&one_line(&words));
        }
        self.hidden(view);
        if view.hunks.is_empty() {
            let paint = |path: &str, text: &str| self.viewer.colours(path, text);
            let lines = diff::unified(&view.diff, "", (self.theme, &paint), self.cells);
            self.lines.extend(lines);
            return;
        }
        let above = self.lines.len();
        let paint = |path: &str, text: &str| self.viewer.colours(path, text);
        let (lines, at) = diff::hunks(&view.hunks, self.app.review.as_ref(), (self.theme, &paint), self.cells);
        self.lines.extend(lines);
        self.at = if self.app.review.is_some() { above + at } else { 0 };
        if let Some(need) = self.app.run.task(task).map(|task| task.task.need.clone()) {
            self.blank();
            self.value("needed", &need);
        }
    }

    /// Shows hidden characters, because a person must approve exactly what they saw.
    fn hidden(&mut self, view: &GateView) {
        let count = callsheet_core::visible::hidden_count(&view.diff);
        if count > 0 {
            self.bad(&format!("{count} hidden characters are shown as <U+...>"));
        }
    }

    fn check(&mut self, check: Option<&CheckView>) {
        let Some(check) = check else { return };
        let name = one_line(&check.name);
        match check.end {
            CheckEnd::Passed => {
                let line = format!("✓ the check {name} passed with this change");
                let style = self.theme.good();
                self.lines.extend(wrapped(&line, style, self.cells));
            }
            CheckEnd::Failed => self.bad(&format!("✗ the check {name} FAILED with this change")),
            CheckEnd::NotRun => self.bad(&format!("✗ the check {name} did not run")),
        }
        if check.end != CheckEnd::Passed {
            let output: Vec<&str> = check.output.lines().collect();
            let last = output.get(output.len().saturating_sub(CHECK_LINES)..).unwrap_or_default().join("\n");
            self.quiet(&last);
        }
    }
}

/// The whole text with all hidden characters shown.
fn exact_lines(text: &str, cells: usize) -> Vec<ratatui::text::Line<'static>> {
    exact(text).lines().flat_map(|line| wrap(&[(line.to_owned(), ratatui::style::Style::new())], cells, 4)).collect()
}
