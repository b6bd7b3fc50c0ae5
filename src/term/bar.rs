//! A progress bar for downloads. If stderr is not a terminal, plain lines at every tenth.

use std::io::IsTerminal;
use std::sync::atomic::{AtomicU64, Ordering};

use indicatif::{ProgressBar, ProgressStyle};

/// A bar that counts bytes.
pub struct Bar {
    bar: Option<ProgressBar>,
    title: String,
    tenth: AtomicU64,
}

impl Bar {
    /// A bar with a title.
    pub fn new(title: &str) -> Self {
        let bar = std::io::stderr().is_terminal().then(|| {
            let style = ProgressStyle::with_template("{msg} [{bar:30}] {bytes}/{total_bytes} {eta}")
                .unwrap_or_else(|_| ProgressStyle::default_bar());
            ProgressBar::new(0).with_style(style).with_message(super::harmless(title))
        });
        if bar.is_none() {
            tell!("{title} …");
        }
        Self { bar, title: title.to_owned(), tenth: AtomicU64::new(0) }
    }

    /// Shows the progress.
    pub fn show(&self, done: u64, total: Option<u64>) {
        match &self.bar {
            Some(bar) => {
                bar.set_length(total.unwrap_or(done));
                bar.set_position(done);
            }
            None => {
                let Some(total) = total.filter(|total| *total > 0) else { return };
                let tenth = done.saturating_mul(10) / total;
                if self.tenth.fetch_max(tenth, Ordering::Relaxed) < tenth {
                    tell!("{}: {} %", self.title, tenth * 10);
                }
            }
        }
    }

    /// Prints a line without disturbing the bar.
    pub fn say(&self, line: &str) {
        match &self.bar {
            Some(bar) => bar.suspend(|| tell!("{line}")),
            None => tell!("{line}"),
        }
    }

    /// Removes the bar.
    pub fn finish(&self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}
