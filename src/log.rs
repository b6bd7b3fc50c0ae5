//! The log of this program, for whoever looks for the cause of trouble. It is off by default.
//!
//! A line is one JSON object. Known keys are masked in it (spec 11.16), and control characters are escaped.

use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use callsheet_runtime::paths::private;
use callsheet_runtime::shown::Shown;
use tracing_subscriber::filter::{EnvFilter, LevelFilter};
use tracing_subscriber::fmt::MakeWriter;

use crate::cli::Failure;

/// The variable that says what is logged.
const LEVEL: &str = "CALLSHEET_LOG";

/// The variable that names the file for the processes that this one starts.
const FILE: &str = "CALLSHEET_LOG_FILE";

/// The file of this process.
static LOG: OnceLock<PathBuf> = OnceLock::new();

/// Begins to log into a file. Several processes may append to it. Only the first call counts.
///
/// # Errors
/// The file cannot be written, or the variable is no filter.
pub fn begin(file: &Path) -> Result<(), Failure> {
    let file = std::path::absolute(file).unwrap_or_else(|_| file.to_owned());
    if LOG.set(file.clone()).is_err() {
        return Ok(());
    }
    let filter = filter(&std::env::var(LEVEL).unwrap_or_default())?;
    let failed = |error: io::Error| Failure::usage(format!("can't write the log {}: {error}", file.display()), "");
    let lines = Lines(private().append(true).create(true).open(&file).map_err(failed)?);
    let written = tracing_subscriber::fmt().json().flatten_event(true).with_span_list(false).with_writer(lines);
    // Nothing else in this program sets a subscriber.
    let _first = written.with_env_filter(filter).try_init();
    tracing::info!(version = env!("CARGO_PKG_VERSION"), process = std::process::id(), "begins");
    Ok(())
}

/// The variables with which the processes of this one log into the same file.
pub fn inherited() -> Option<(&'static str, &'static Path)> {
    LOG.get().map(|file| (FILE, file.as_path()))
}

/// What is logged. A level alone is meant for Callsheet: libraries may log what they send.
fn filter(asked: &str) -> Result<EnvFilter, Failure> {
    let level = asked.trim().parse::<LevelFilter>();
    let directives = match (asked.trim(), level) {
        ("", _) => "callsheet=info".to_owned(),
        (_, Ok(level)) => format!("callsheet={level}"),
        (directives, Err(_)) => directives.to_owned(),
    };
    EnvFilter::builder().parse(directives).map_err(|error| {
        let advice = "use a level (error, warn, info, debug, trace), or directives such as callsheet_models=debug";
        Failure::usage(format!("{LEVEL} is no filter: {error}"), advice)
    })
}

/// A file that is written a line at a time.
struct Lines(File);

impl<'a> MakeWriter<'a> for Lines {
    type Writer = Line<'a>;

    fn make_writer(&'a self) -> Line<'a> {
        Line(&self.0)
    }
}

/// A line of the log. It is written at once, so that lines of several processes do not mix.
struct Line<'a>(&'a File);

impl Write for Line<'_> {
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        self.0.write_all(Shown::json(&String::from_utf8_lossy(line)).as_str().as_bytes())?;
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::filter;

    fn check(asked: &str, expected: Option<&str>) {
        assert_eq!(filter(asked).ok().map(|filter| filter.to_string()).as_deref(), expected, "{asked}");
    }

    #[test]
    fn a_level_alone_is_meant_for_callsheet() {
        check("", Some("callsheet=info"));
        check(" debug ", Some("callsheet=debug"));
        check("off", Some("callsheet=off"));
        check("callsheet_store=trace,warn", Some("callsheet_store=trace,warn"));
        check("callsheet=loud", None);
    }
}
