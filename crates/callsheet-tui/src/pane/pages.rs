//! What is shown of the run instead of a task: the timeline, the sheet, the log, the keys.

use callsheet_core::view::timeline;
use callsheet_runtime::sheetfile::sheet_text;
use ratatui::style::Style;

use super::Teller;
use crate::keys::KEYS;
use crate::text::{cut, one_line, padded, wrap};

impl Teller<'_> {
    pub(super) fn timeline(&mut self) {
        let bars = timeline(&self.desk.entries());
        let end = bars.iter().filter_map(|bar| bar.to).max().unwrap_or(1).max(1);
        let name_cells = (self.cells / 3).clamp(12, 40);
        let cells = self.cells.saturating_sub(name_cells + 10).max(4);
        let scale = |ms: u64| usize::try_from(ms.saturating_mul(cells as u64) / end).unwrap_or(cells).min(cells);
        self.quiet(&format!("{} ms in all; ▒ waits for you", end));
        for bar in &bars {
            let from = scale(bar.from).min(cells.saturating_sub(1));
            let long = scale(bar.to.unwrap_or(end)).saturating_sub(from).max(1);
            let waits = bar.what.starts_with("gate ") || bar.what.starts_with("question ");
            let picture = if waits { "▒" } else { "█" }.repeat(long);
            let took = bar.to.map_or_else(|| "…".to_owned(), |to| format!("{} ms", to.saturating_sub(bar.from)));
            let pieces = [
                (padded(&one_line(&bar.what), name_cells), Style::new()),
                (
                    format!(" {}{picture}{}", " ".repeat(from), " ".repeat(cells.saturating_sub(from + long))),
                    self.theme.label(),
                ),
                (format!(" {took}"), self.theme.quiet()),
            ];
            self.lines.extend(wrap(&pieces, self.cells, 0));
        }
    }

    pub(super) fn sheet(&mut self) {
        let text = sheet_text(&self.app.run);
        let file = self.desk.sheet_file().display().to_string();
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
