//! The end of a terminal: its window is closed, or the connection to it is lost. The library that reads keys does not
//! notice that: it goes on reading from a terminal that is gone, without a pause and without coming back.

use std::io::{PipeReader, PipeWriter, Write, pipe, stdin};
use std::sync::OnceLock;

use ratatui::crossterm::event::{Event, poll, read};
use rustix::event::{PollFd, PollFlags, poll as wait_for};
use tokio_util::sync::CancellationToken;

/// Ends any key, paste or mouse report of which the reader has only a part, and then is a few keys of its own. Nothing of it
/// is looked at. It begins with what a report of the old form may go on with: the library fails over anything else.
const LAST_KEYS: &[u8] = b"!!!\x1b[201~muc\r\r\r\r\r\r";

/// The terminal that keys are read from, watched until this is dropped.
pub struct Line {
    gone: CancellationToken,
    /// Closed when the watch is to end.
    _watched: PipeWriter,
}

impl Line {
    /// Watches the terminal. `gone` is cancelled when it goes away.
    pub fn watch(gone: CancellationToken) -> std::io::Result<Self> {
        let (end, watched) = pipe()?;
        let told = gone.clone();
        std::thread::Builder::new().name("hang-up".to_owned()).spawn(move || {
            if hangs_up(&end) {
                told.cancel();
                // Without a pipe there is nothing to be done: the caller ends the process.
                let _full = release_reader();
            }
        })?;
        Ok(Self { gone, _watched: watched })
    }

    /// Whether a key is there within that time.
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

/// Waits until the terminal goes away (true) or the watch ends.
fn hangs_up(end: &PipeReader) -> bool {
    let terminal = stdin();
    loop {
        // No flag of the terminal is asked for: a hang-up is told all the same, and keys are not.
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

/// Puts a pipe with a few keys in the place of the terminal, so that a reader that waits for one comes back. The pipe stays
/// open: who reads on waits.
fn release_reader() -> std::io::Result<()> {
    static KEPT: OnceLock<PipeWriter> = OnceLock::new();
    let (reader, mut writer) = pipe()?;
    writer.write_all(LAST_KEYS)?;
    rustix::stdio::dup2_stdin(&reader)?;
    KEPT.get_or_init(|| writer);
    Ok(())
}
