//! The pages about the run: the timeline, the sheet, the log and the keys.

use callsheet_core::nouns::Slug;
use callsheet_core::view::{Bar, BarKind, Wait, WaitKind, duration, timeline, waits};
use ratatui::style::Style;

use super::Teller;
use crate::keys::KEYS;
use crate::text::{cut, one_line, padded, wrap};

/// The time of a run from left to right, one sign for each cell.
struct Strip {
    cells: Vec<char>,
    /// The time at its right edge, in milliseconds from the first entry.
    end: u64,
}

impl Strip {
    fn new(cells: usize, end: u64) -> Self {
        Self { cells: vec![' '; cells], end }
    }

    fn bar(&mut self, bar: &Bar) {
        let sign = if bar.kind == BarKind::You { '▒' } else { '█' };
        let asked = bar.from + if bar.to.is_some() { bar.queued_ms } else { 0 };
        self.fill(bar.from, asked, '░');
        self.fill(asked, bar.to.unwrap_or(self.end), sign);
    }

    fn wait(&mut self, wait: &Wait) {
        let sign = if wait.kind == WaitKind::You { '▒' } else { '┄' };
        self.fill(wait.from, wait.to.unwrap_or(self.end), sign);
    }

    /// Fills the cells of a stretch of time. Every stretch gets at least one cell.
    fn fill(&mut self, from: u64, to: u64, sign: char) {
        let count = self.cells.len();
        let place = |ms: u64| usize::try_from(ms.saturating_mul(count as u64) / self.end).unwrap_or(count).min(count);
        let first = place(from).min(count.saturating_sub(1));
        let long = place(to).saturating_sub(first).max(usize::from(sign != '░'));
        self.cells.iter_mut().skip(first).take(long).for_each(|cell| *cell = sign);
    }
}

impl Teller<'_> {
    pub(super) fn timeline(&mut self) {
        let entries = self.viewer.entries();
        let (bars, waits) = (timeline(&entries), waits(&entries));
        let end = bars.iter().filter_map(|bar| bar.to).max().unwrap_or(1).max(1);
        let run = &self.app.run;
        let (ideal, actual) = (duration(run.ideal_ms()), duration(run.about().busy_ms));
        self.quiet(&format!("ideal {ideal}, actual {actual}; * what the end waited for"));
        self.quiet("█ work  ░ waits for the model  ▒ for you  ┄ for a slot, task or limit");
        for bar in &bars {
            let mut strip = Strip::new(self.strip_cells(), end);
            strip.bar(bar);
            let mark = if bar.critical { "*" } else { " " };
            let took = bar.to.map_or_else(|| "…".to_owned(), |to| duration(to.saturating_sub(bar.from)));
            self.strip(&format!("{mark}{}", bar.what), &strip, &took);
        }
        if !waits.is_empty() {
            self.blank();
            self.heading("Each task, and how long it waited");
        }
        let names: Vec<(Slug, String)> =
            self.app.run.all_tasks().map(|task| (task.task.slug.clone(), task.task.name.clone())).collect();
        for (slug, name) in names.into_iter().filter(|_| !waits.is_empty()) {
            let mut strip = Strip::new(self.strip_cells(), end);
            let own: Vec<&Wait> = waits.iter().filter(|wait| wait.task == slug).collect();
            own.iter().for_each(|wait| strip.wait(wait));
            let work = |bar: &&Bar| !matches!(bar.kind, BarKind::You | BarKind::Host | BarKind::Note);
            bars.iter().filter(|bar| bar.task.as_ref() == Some(&slug)).filter(work).for_each(|bar| strip.bar(bar));
            let waited = own.iter().map(|wait| wait.to.unwrap_or(end).saturating_sub(wait.from)).sum();
            self.strip(&format!(" {name}"), &strip, &duration(waited));
        }
    }

    fn name_cells(&self) -> usize {
        (self.cells / 3).clamp(12, 40)
    }

    fn strip_cells(&self) -> usize {
        self.cells.saturating_sub(self.name_cells() + 11).max(4)
    }

    /// A line of the timeline.
    fn strip(&mut self, name: &str, strip: &Strip, took: &str) {
        let picture: String = strip.cells.iter().collect();
        let pieces = [
            (padded(&one_line(name), self.name_cells()), Style::new()),
            (format!(" {picture}"), self.theme.label()),
            (format!(" {took}"), self.theme.quiet()),
        ];
        self.lines.extend(wrap(&pieces, self.cells, 0));
    }

    pub(super) fn sheet(&mut self) {
        let text = self.app.run.plan_text();
        let file = self.viewer.outside.sheet_file().display().to_string();
        self.quiet(&format!("{} (e edits it)", cut(&one_line(&file), self.cells.saturating_sub(14))));
        self.blank();
        self.text(&text);
    }

    pub(super) fn log(&mut self) {
        let log: Vec<String> = self.app.log.iter().cloned().collect();
        for line in log {
            self.lines.extend(wrap(&[(line, Style::new())], self.cells, 2));
        }
        self.at = self.lines.len();
    }

    pub(super) fn keys(&mut self) {
        for (title, keys) in KEYS {
            self.heading(title);
            for (key, what) in *keys {
                let pieces = [(padded(key, 16), self.theme.strong()), ((*what).to_owned(), Style::new())];
                self.lines.extend(wrap(&pieces, self.cells, 16));
            }
        }
    }
}
