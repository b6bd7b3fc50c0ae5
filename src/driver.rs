//! A process that drives a run, seen from the process that shows the run.

use std::ffi::OsString;
use std::fs::File;
use std::io::{BufRead, BufReader, Read, Seek, SeekFrom, Write};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};

use callsheet_app::Advice;
use rustix::process::{Pid, Signal, kill_process};
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};

use crate::cli::{Exit, Failure};
use crate::relay::{DRIVE, Relayed};

/// A driver that is running or has ended.
pub struct Driver {
    child: Child,
    /// Open while this process shows the run.
    stdin: Option<ChildStdin>,
    /// The driver's messages. Closed when the driver ends.
    pub messages: UnboundedReceiver<Relayed>,
    errors: File,
}

impl Driver {
    /// Starts a driver with these arguments. `request` is the text that a person gave on stdin.
    ///
    /// # Errors
    /// The process cannot be started.
    pub fn start(arguments: &[OsString], request: Option<&str>) -> Result<Self, Failure> {
        let failed =
            |error: std::io::Error| Failure::internal(format!("can't start a process for the run: {error}"), "");
        let errors = tempfile::tempfile().map_err(failed)?;
        let mut child = Command::new(std::env::current_exe().map_err(failed)?)
            .arg(DRIVE)
            .args(arguments)
            .envs(crate::log::inherited())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(errors.try_clone().map_err(failed)?)
            .spawn()
            .map_err(failed)?;
        let mut stdin = child.stdin.take();
        if let Some(stdin) = &mut stdin {
            let first = serde_json::to_string(&request).unwrap_or_default();
            writeln!(stdin, "{first}").map_err(failed)?;
        }
        let (sender, messages) = unbounded_channel();
        if let Some(stdout) = child.stdout.take() {
            std::thread::spawn(move || {
                for line in BufReader::new(stdout).lines().map_while(Result::ok) {
                    let told = serde_json::from_str(&line).unwrap_or(Relayed::Notice(line));
                    if sender.send(told).is_err() {
                        return;
                    }
                }
            });
        }
        Ok(Self { child, stdin, messages, errors })
    }

    /// Hands the driver's further messages over to another thread.
    pub fn hand_over(&mut self) -> UnboundedReceiver<Relayed> {
        let (_, nothing) = unbounded_channel();
        std::mem::replace(&mut self.messages, nothing)
    }

    /// The id of the driver's process.
    pub fn pid(&self) -> Option<Pid> {
        i32::try_from(self.child.id()).ok().and_then(Pid::from_raw)
    }

    /// Tells the driver that this process no longer shows the run.
    pub fn leave(&mut self) {
        self.stdin = None;
    }

    /// Asks the driver to stop. It ends cleanly the first time, and at once the second time.
    #[cfg(feature = "acp")]
    pub fn stop(&self) {
        if let Some(driver) = self.pid() {
            stop(driver);
        }
    }

    /// Ends the driver at once. What it recorded is safe.
    #[cfg(any(feature = "mcp", feature = "page"))]
    pub fn kill(mut self) {
        self.leave();
        // It may have ended by itself.
        let _ended = self.child.kill().and_then(|()| self.child.wait());
    }

    /// Waits for the end of a driver that began no run, and returns why in its words.
    #[cfg(any(feature = "mcp", feature = "page"))]
    pub fn why_not(mut self) -> String {
        let status = self.child.wait();
        let how = status.map_or_else(|error| error.to_string(), |status| status.to_string());
        let words = self.words();
        if words.is_empty() { format!("the run did not start ({how})") } else { words }
    }

    /// What it wrote to stderr.
    fn words(&mut self) -> String {
        let mut words = String::new();
        let _unreadable = self.errors.seek(SeekFrom::Start(0)).and_then(|_| self.errors.read_to_string(&mut words));
        words.trim().to_owned()
    }

    /// Waits for the driver's end.
    ///
    /// # Errors
    /// The driver did not end by itself.
    pub fn end(mut self) -> Result<Exit, Failure> {
        let status = self.child.wait();
        if let Some(exit) = status.as_ref().ok().and_then(|status| status.code()).and_then(Exit::of_code) {
            return Ok(exit);
        }
        let how = status.map_or_else(|error| error.to_string(), |status| status.to_string());
        let words = self.words();
        Err(Failure::internal(
            format!("the process that drove the run ended early ({how})\n{words}"),
            Advice::command("everything recorded so far is safe; continue the run", ["resume"]),
        ))
    }
}

static IS_INTERRUPTED: AtomicBool = AtomicBool::new(false);
static HAS_HUNG_UP: AtomicBool = AtomicBool::new(false);

/// Stops a driver. The first call lets it end cleanly, the second ends it at once.
pub fn interrupt(driver: Pid) {
    IS_INTERRUPTED.store(true, Ordering::SeqCst);
    if !HAS_HUNG_UP.load(Ordering::SeqCst) {
        stop(driver);
    }
}

/// Stops a driver cleanly because the terminal is gone. This may be called twice, for a signal and for the lost
/// terminal.
pub fn hang_up(driver: Pid) {
    HAS_HUNG_UP.store(true, Ordering::SeqCst);
    if !IS_INTERRUPTED.load(Ordering::SeqCst) {
        stop(driver);
    }
}

fn stop(driver: Pid) {
    // The driver may have ended meanwhile.
    let _gone = kill_process(driver, Signal::TERM);
}
