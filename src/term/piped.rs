//! Reads what the previous program in a pipe wrote. A pipe that was only inherited, and that nobody writes to or
//! closes, does not make a command wait forever.

use std::io::{IsTerminal, Read, stdin};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};

/// The largest number of bytes that are read.
pub const MOST: usize = 4 * 1024 * 1024;
/// How long to wait for the first byte.
const FIRST: Duration = Duration::from_secs(3);
/// How long to wait for each further byte.
const NEXT: Duration = Duration::from_secs(30);

/// Text from a pipe.
pub struct Piped {
    /// The bytes that arrived.
    pub bytes: Vec<u8>,
    /// Why the text may be incomplete.
    pub cut: Option<&'static str>,
}

/// Reads standard input, unless it is a terminal.
///
/// # Errors
/// The reason from the operating system.
pub fn piped() -> std::io::Result<Piped> {
    let mut piped = Piped { bytes: Vec::new(), cut: None };
    // The stdin of a driver is the connection to its viewer.
    if stdin().is_terminal() || crate::relay::is_on() {
        return Ok(piped);
    }
    let mut chunk = [0; 64 * 1024];
    loop {
        let first = piped.bytes.is_empty();
        if !is_readable(if first { FIRST } else { NEXT })? {
            piped.cut = Some(match first {
                true => "nothing came on standard input within 3 s, so it is not read",
                false => "standard input was silent for 30 s, so only what came before is read",
            });
            return Ok(piped);
        }
        match stdin().lock().read(&mut chunk)? {
            0 => return Ok(piped),
            count => piped.bytes.extend_from_slice(chunk.get(..count).unwrap_or_default()),
        }
        if piped.bytes.len() > MOST {
            piped.bytes.truncate(MOST);
            piped.cut = Some("standard input is longer than 4 MiB, so only its beginning is read");
            return Ok(piped);
        }
    }
}

/// Whether data or the end can be read within a time.
fn is_readable(within: Duration) -> std::io::Result<bool> {
    let end = Instant::now() + within;
    loop {
        let left = end.saturating_duration_since(Instant::now());
        let left = Timespec::try_from(left).unwrap_or_default();
        match poll(&mut [PollFd::new(&stdin(), PollFlags::IN)], Some(&left)) {
            Err(rustix::io::Errno::INTR) => {}
            waited => return Ok(waited? > 0),
        }
    }
}
