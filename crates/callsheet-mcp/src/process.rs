//! The process of a server. It has its own process group, gets few variables, writes its stderr to a log, and ends with
//! the run.

use std::ffi::OsString;
use std::io::Write;
use std::path::Path;
use std::process::Stdio;
use std::sync::{Arc, Mutex, PoisonError};

use callsheet_core::visible::visible_line;
use callsheet_runtime::paths::{create_private_folder, private};
use rustix::process::{Pid, Signal, kill_process_group};
use tokio::io::{AsyncReadExt, BufReader};
use tokio::process::{Child, ChildStderr, ChildStdin, ChildStdout, Command};
use tokio::task::JoinHandle;

use crate::ground::Ground;
use crate::limits::{FAREWELL, LAST_WORDS, LOG};
use crate::settings::{ServerProgram, ServerSettings};

/// The variables that a server gets besides those of its settings, such as paths, locale, proxies and certificates.
const INHERITED: [&str; 25] = [
    "PATH",
    "HOME",
    "USER",
    "LOGNAME",
    "SHELL",
    "LANG",
    "LC_ALL",
    "LC_CTYPE",
    "TERM",
    "TZ",
    "TMPDIR",
    "XDG_CACHE_HOME",
    "XDG_CONFIG_HOME",
    "XDG_DATA_HOME",
    "XDG_RUNTIME_DIR",
    "HTTP_PROXY",
    "HTTPS_PROXY",
    "NO_PROXY",
    "http_proxy",
    "https_proxy",
    "no_proxy",
    "SSL_CERT_FILE",
    "SSL_CERT_DIR",
    "NODE_EXTRA_CA_CERTS",
    "DISPLAY",
];

/// Whether every server gets this variable.
pub fn is_shared(variable: &str) -> bool {
    INHERITED.contains(&variable)
}

/// A running server.
#[derive(Debug)]
pub(crate) struct Process {
    child: Child,
    group: Option<Pid>,
    words: LastWords,
    /// The task that reads its stderr.
    reader: Option<JoinHandle<()>>,
}

/// The end of what a server wrote to stderr.
#[derive(Clone, Debug, Default)]
struct LastWords(Arc<Mutex<Vec<u8>>>);

impl LastWords {
    fn add(&self, bytes: &[u8]) {
        let mut words = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        words.extend_from_slice(bytes);
        let surplus = words.len().saturating_sub(LAST_WORDS);
        words.drain(..surplus);
    }

    fn text(&self) -> String {
        let words = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        visible_line(String::from_utf8_lossy(&words).trim()).replace("<U+000A>", " / ")
    }
}

/// A process with its pipes.
pub(crate) type Started = (Process, ChildStdout, ChildStdin);

impl Process {
    /// Starts a server.
    pub(crate) fn start(
        settings: &ServerSettings,
        program: &ServerProgram,
        ground: &Ground,
    ) -> std::io::Result<Started> {
        let inherited = INHERITED.iter().filter_map(|name| Some((OsString::from(name), std::env::var_os(name)?)));
        let folder = ground.folder(settings, program);
        if folder == ground.apart {
            create_private_folder(&folder)?;
        }
        let path = program.variables.get("PATH").map(OsString::from).or_else(|| std::env::var_os("PATH"));
        let path = path.unwrap_or_default();
        let executable = ground.executable(&program.command, &folder, &path).ok_or_else(|| {
            std::io::Error::new(
                std::io::ErrorKind::NotFound,
                "it is in no folder of PATH, not counting folders that commands can write to",
            )
        })?;
        let mut child = Command::new(executable)
            .args(&program.args)
            .env_clear()
            .envs(inherited)
            .envs(&program.variables)
            .env("PATH", ground.path(&path))
            .current_dir(folder)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .process_group(0)
            .kill_on_drop(true)
            .spawn()?;
        let group = child.id().and_then(|id| i32::try_from(id).ok()).and_then(Pid::from_raw);
        let words = LastWords::default();
        let pipes = (child.stdout.take(), child.stdin.take(), child.stderr.take());
        let mut process = Self { child, group, words: words.clone(), reader: None };
        let (Some(stdout), Some(stdin), Some(stderr)) = pipes else {
            return Err(std::io::Error::other("it has no pipes"));
        };
        let log = ground.log.as_deref().and_then(|log| opened(log, &program.command));
        process.reader = Some(tokio::spawn(keep(stderr, log, words)));
        Ok((process, stdout, stdin))
    }

    /// How the process ended, if it has, and the end of its stderr.
    pub(crate) async fn said(&mut self) -> String {
        // The exit status and the last of stderr may arrive a moment after the end of stdout.
        let status = tokio::time::timeout(FAREWELL, self.child.wait()).await;
        if let (Ok(_), Some(reader)) = (&status, self.reader.take()) {
            let _open_elsewhere = tokio::time::timeout(FAREWELL, reader).await;
        }
        let how = match status {
            Ok(Ok(status)) => status.to_string(),
            Ok(Err(error)) => error.to_string(),
            Err(_) => "it was still running".to_owned(),
        };
        let words = self.words.text();
        if words.is_empty() { how } else { format!("{how}: {words}") }
    }

    /// Ends the process, whose stdin is closed already. Waits for it, then asks its group to terminate, then kills it.
    pub(crate) async fn end(&mut self) {
        if tokio::time::timeout(FAREWELL, self.child.wait()).await.is_err() {
            self.signal(Signal::TERM);
            let _still_running = tokio::time::timeout(FAREWELL, self.child.wait()).await;
        }
        self.signal(Signal::KILL);
    }

    fn signal(&self, signal: Signal) {
        // The group may have ended already.
        let _gone = self.group.map(|group| kill_process_group(group, signal));
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.signal(Signal::KILL);
    }
}

/// Opens the log of a server to append to it. A log that is too long is emptied first.
fn opened(path: &Path, command: &str) -> Option<std::fs::File> {
    let open = || {
        create_private_folder(path.parent().unwrap_or(Path::new(".")))?;
        let mut file = private().create(true).append(true).open(path)?;
        if file.metadata()?.len() > LOG {
            file.set_len(0)?;
        }
        writeln!(file, "--- {command}, process of {}", std::process::id())?;
        Ok::<_, std::io::Error>(file)
    };
    open().inspect_err(|error| tracing::warn!(%error, path = %path.display(), "a server's log can't be opened")).ok()
}

/// Reads stderr to its end, so that a full pipe never blocks the server.
async fn keep(stderr: ChildStderr, mut log: Option<std::fs::File>, words: LastWords) {
    let mut stderr = BufReader::new(stderr);
    let mut buffer = vec![0; 8 << 10];
    let mut kept: u64 = 0;
    while let Ok(count) = stderr.read(&mut buffer).await {
        let Some(bytes) = buffer.get(..count).filter(|bytes| !bytes.is_empty()) else { return };
        words.add(bytes);
        kept = kept.saturating_add(u64::try_from(count).unwrap_or(u64::MAX));
        if kept > LOG || log.as_mut().is_some_and(|log| log.write_all(bytes).is_err()) {
            log = None;
        }
    }
}
