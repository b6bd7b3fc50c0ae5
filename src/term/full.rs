//! The full screen of a run that this process drives. Until it is open, and once it is closed, notices are plain lines.

use callsheet_runtime::ports::{Observer, Signal};
use callsheet_tui::Screen;

use super::Notices;

/// A screen that says what comes before and behind it.
#[derive(Default)]
pub struct FullScreen(pub Screen);

impl Observer for FullScreen {
    fn see(&self, signal: &Signal<'_>) {
        if !self.0.is_open() {
            Notices.see(signal);
        }
        self.0.see(signal);
    }
}
