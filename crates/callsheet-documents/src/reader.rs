//! Starts a process to read a document, and caches the result.

use std::collections::VecDeque;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitCode, Stdio};
use std::sync::{Arc, Mutex, PoisonError};

use callsheet_core::nouns::BlobId;
use callsheet_runtime::ports::{DocumentFault, DocumentKind, Documents};

use crate::confine::confine;
use crate::convert::convert;

/// The first argument of the reading process. The second one is the kind of document.
const WORD: &str = "--read-document";

/// This program. The link stays valid if its file is replaced.
const SELF: &str = "/proc/self/exe";

/// Most bytes of a document's text. A document with more text counts as unreadable.
const TEXT: u64 = 8 << 20;

/// Most documents in the cache, and most bytes of their texts together.
const REMEMBERED: usize = 64;
const REMEMBERED_BYTES: usize = 32 << 20;

/// If this process was started to read a document, reads it from stdin and returns the exit code. `main` calls this
/// first.
pub fn read_document() -> Option<ExitCode> {
    let mut words = std::env::args_os().skip(1);
    if words.next()? != WORD {
        return None;
    }
    let kind = words.next().and_then(|word| DocumentKind::named(word.to_str()?));
    let converted = kind.ok_or_else(|| "no such kind".to_owned()).and_then(|kind| {
        let mut bytes = Vec::new();
        io::stdin().lock().read_to_end(&mut bytes).map_err(|error| error.to_string())?;
        confine();
        convert(kind, &bytes)
    });
    let written = converted.and_then(|text| io::stdout().write_all(text.as_bytes()).map_err(|error| error.to_string()));
    Some(match written {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            // The parent logs this error. If the parent has ended, nobody reads it.
            let _gone = writeln!(io::stderr(), "{error}");
            ExitCode::FAILURE
        }
    })
}

type Converted = Result<Arc<str>, DocumentFault>;

/// Reads each document in a separate process.
pub struct DocumentReader {
    program: PathBuf,
    /// The cached results, oldest first.
    known: Mutex<VecDeque<(BlobId, Converted)>>,
}

impl DocumentReader {
    /// Uses `program` to read documents. Its `main` must call [`read_document`] first.
    pub fn new(program: &Path) -> Self {
        Self { program: program.to_path_buf(), known: Mutex::default() }
    }

    /// Uses this program to read documents. `None` if its path is unknown.
    pub fn of_this_program() -> Option<Self> {
        let program = if Path::new(SELF).exists() { PathBuf::from(SELF) } else { std::env::current_exe().ok()? };
        Some(Self::new(&program))
    }

    fn read(&self, kind: DocumentKind, bytes: &[u8]) -> Converted {
        let failed = |error: io::Error| {
            tracing::warn!(%error, "a document could not be read");
            DocumentFault::Unreadable
        };
        let mut child = Command::new(&self.program)
            .args([WORD, kind.name()])
            .env_clear()
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .map_err(failed)?;
        let read = exchange(&mut child, bytes);
        // The process has usually ended already. Killing it makes sure that `wait` returns.
        let _ended = child.kill();
        let status = child.wait().map_err(failed)?;
        let (text, words) = read.map_err(failed)?;
        match status.code() {
            _ if text.len() as u64 >= TEXT => Err(DocumentFault::TooLarge),
            Some(0) if text.trim().is_empty() => Err(DocumentFault::NoText),
            Some(0) => Ok(text.into()),
            Some(_) => {
                tracing::info!(why = words.trim(), "a document can't be read");
                Err(DocumentFault::Unreadable)
            }
            None => Err(DocumentFault::TooLarge),
        }
    }
}

/// Writes the document to the process, and returns its stdout and stderr, each up to the limit.
fn exchange(child: &mut Child, bytes: &[u8]) -> io::Result<(String, String)> {
    let missing = || io::Error::from(io::ErrorKind::BrokenPipe);
    let mut stdin = child.stdin.take().ok_or_else(missing)?;
    let stdout = child.stdout.take().ok_or_else(missing)?;
    let stderr = child.stderr.take().ok_or_else(missing)?;
    std::thread::scope(|scope| {
        // A write error is no failure: the process may end before it has read everything.
        scope.spawn(move || stdin.write_all(bytes).is_ok());
        let words = scope.spawn(move || {
            let mut words = Vec::new();
            stderr.take(TEXT).read_to_end(&mut words).map(|_| words)
        });
        let mut text = Vec::new();
        stdout.take(TEXT).read_to_end(&mut text)?;
        let words = words.join().unwrap_or_else(|_| Err(missing()))?;
        Ok((lossy(&text), lossy(&words)))
    })
}

fn lossy(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

impl Documents for DocumentReader {
    fn text(&self, kind: DocumentKind, id: &BlobId, bytes: &[u8]) -> Result<String, DocumentFault> {
        let known = || self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let found = known().iter().find(|(of, _)| of == id).map(|(_, text)| text.clone());
        if let Some(text) = found {
            return text.map(|text| text.to_string());
        }
        let text = self.read(kind, bytes);
        let mut known = known();
        known.push_back((id.clone(), text.clone()));
        let size = |(_, text): &(BlobId, Converted)| text.as_ref().map_or(0, |text| text.len());
        while known.len() > REMEMBERED || known.iter().map(size).sum::<usize>() > REMEMBERED_BYTES {
            known.pop_front();
        }
        text.map(|text| text.to_string())
    }
}
