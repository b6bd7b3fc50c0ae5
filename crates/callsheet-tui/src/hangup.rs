//! Detects the end of a terminal, when its window is closed or its connection is lost. The library that reads keys
//! does not notice this. It goes on reading from the lost terminal without a pause and never returns.

use std::io::{PipeReader, PipeWriter, Write, pipe, stdin};
use std::sync::OnceLock;

use ratatui::crossterm::event::{Event, poll, read};
use rustix::event::{PollFd, PollFlags, poll as wait_for};
use tokio_util::sync::CancellationToken;

/// Completes any key, paste or mouse report that was only partly read, followed by a few keys. Nobody looks at these
/// keys. The text begins with characters that may continue a mouse report of the old form, because the library fails
/// on anything else.
const LAST_KEYS: &[u8] = b"!!!\x1b[201~muc\r\r\r\r\r\r";

/// The terminal from which keys are read. It is watched until this is dropped.
pub struct Line {
    gone: CancellationToken,
    /// Closed to end the watch.
    _watched: PipeWriter,
}

impl Line {
    /// Watches the terminal. Cancels `gone` when the terminal goes away.
    pub fn watch(gone: CancellationToken) -> std::io::Result<Self> {
        let (end, watched) = pipe()?;
        let told = gone.clone();
        std::thread::Builder::new().name("hang-up".to_owned()).spawn(move || {
            if hangs_up(&end) {
                told.cancel();
                // Without a pipe, nothing can be done. The caller ends the process.
                let _full = release_reader();
            }
        })?;
        Ok(Self { gone, _watched: watched })
    }

    /// Whether a key arrives within that time.
    pub fn has_key(&self, wait: std::time::Duration) -> std::io::Result<bool> {
        self.check()?;
        let there = poll(wait)?;
        self.check()?;
        Ok(there)
    }

    /// The next key.
    pub fn key(&self) -> std::io::Result<Event> {
        let event = read()?;
        self.check()?;
        Ok(event)
    }

    fn check(&self) -> std::io::Result<()> {
        if self.gone.is_cancelled() {
            return Err(std::io::Error::new(std::io::ErrorKind::BrokenPipe, "the terminal is gone"));
        }
        Ok(())
    }
}

/// Waits until the terminal goes away (true) or the watch ends (false).
fn hangs_up(end: &PipeReader) -> bool {
    let terminal = stdin();
    loop {
        // With no flags requested, the system still reports a hang-up, but no keys.
        let mut waited = [PollFd::new(&terminal, PollFlags::empty()), PollFd::new(end, PollFlags::IN)];
        match wait_for(&mut waited, None) {
            Err(rustix::io::Errno::INTR) => {}
            Err(_) => return false,
            Ok(_) => {
                let [terminal, end] = &waited;
                if !end.revents().is_empty() {
                    return false;
                }
                if !terminal.revents().is_empty() {
                    return true;
                }
            }
        }
    }
}

/// Replaces the terminal by a pipe with a few keys, so that a waiting reader returns. The pipe stays open, so a
/// further read waits.
fn release_reader() -> std::io::Result<()> {
    static KEPT: OnceLock<PipeWriter> = OnceLock::new();
    let (reader, mut writer) = pipe()?;
    writer.write_all(LAST_KEYS)?;
    rustix::stdio::dup2_stdin(&reader)?;
    KEPT.get_or_init(|| writer);
    Ok(())
}
