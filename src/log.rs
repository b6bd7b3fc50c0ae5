//! The log of this program, for whoever looks for the cause of trouble. It is off by default.
//!
//! A line is one JSON object. Known keys are masked in it (spec 11.16), and control characters are escaped.

use std::fs::{File, Metadata};
use std::io::{self, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};

use callsheet_runtime::paths::private;
use callsheet_runtime::shown::Shown;
use tracing_subscriber::filter::{EnvFilter, LevelFilter};
use tracing_subscriber::fmt::MakeWriter;

use crate::cli::Failure;
use crate::config::{Config, Origin, Value};
use crate::wiring::from_home;

/// The variable that says what is logged.
const LEVEL: &str = "CALLSHEET_LOG";

/// The variable that names the file for the processes that this one starts.
const FILE: &str = "CALLSHEET_LOG_FILE";

/// The size at which a log is put aside and begun anew, in bytes.
const MOST: u64 = 16 * 1024 * 1024;

/// The file of this process.
static LOG: OnceLock<PathBuf> = OnceLock::new();

/// Whether the person was told that lines are lost.
static LOST: AtomicBool = AtomicBool::new(false);

/// The file of the setting `log.file`. A path in a configuration file is relative to the folder of that file.
pub fn configured(config: &Config) -> Option<PathBuf> {
    let Value { value, origin } = config.values.get("log.file")?;
    let path = from_home(value.as_str()?);
    match origin {
        Origin::File(file, _) => Some(file.parent().map_or_else(|| path.clone(), |folder| folder.join(&path))),
        _ => Some(path),
    }
}

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
    let opened = Mutex::new(open(&file).map_err(failed)?);
    let lines = Lines { file: opened, path: file.clone() };
    let written = tracing_subscriber::fmt().json().flatten_event(true).with_span_list(false).with_writer(lines);
    // Nothing else in this program sets a subscriber.
    let _first = written.with_env_filter(filter).try_init();
    tracing::info!(version = env!("CARGO_PKG_VERSION"), process = std::process::id(), "begins");
    Ok(())
}

/// The variable with which the processes of this one log into the same file, if it can be written.
pub fn inherited() -> Option<(&'static str, &'static Path)> {
    LOG.get().filter(|_| !LOST.load(Ordering::Relaxed)).map(|file| (FILE, file.as_path()))
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

fn open(file: &Path) -> io::Result<File> {
    private().append(true).create(true).open(file)
}

/// A file that is written a line at a time.
struct Lines {
    file: Mutex<File>,
    path: PathBuf,
}

impl Lines {
    /// Writes a line at once, so that lines of several processes do not mix.
    fn write(&self, line: &str) -> io::Result<()> {
        let mut file = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        let about = file.metadata()?;
        if about.is_file() && about.len() >= MOST {
            *file = self.begin_anew(&file, &about)?;
        }
        file.write_all(line.as_bytes())
    }

    /// Puts a full file aside, unless another process has done so, and opens the one that follows.
    fn begin_anew(&self, full: &File, about: &Metadata) -> io::Result<File> {
        full.lock()?;
        let now = std::fs::metadata(&self.path);
        if now.is_ok_and(|now| (now.dev(), now.ino()) == (about.dev(), about.ino())) {
            let mut former = self.path.clone().into_os_string();
            former.push(".1");
            std::fs::rename(&self.path, former)?;
        }
        let next = open(&self.path);
        full.unlock()?;
        next
    }
}

impl<'a> MakeWriter<'a> for Lines {
    type Writer = Line<'a>;

    fn make_writer(&'a self) -> Line<'a> {
        Line(self)
    }
}

/// A line of the log.
struct Line<'a>(&'a Lines);

impl Write for Line<'_> {
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        let written = self.0.write(Shown::json(&String::from_utf8_lossy(line)).as_str());
        if let Err(error) = written
            && !callsheet_tui::is_open()
            && !LOST.swap(true, Ordering::Relaxed)
        {
            tell!("note: can't write the log {}, so lines of it are lost: {error}", self.0.path.display());
        }
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
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
