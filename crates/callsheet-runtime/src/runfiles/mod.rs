//! Files of a run. Those of its directory `.callsheet/runs/RUN/` (spec 10.6) are views of the log, each written
//! completely in one step, and rewritten on resume. Commands can write there, so nothing is read from it except the
//! sheet that a person may edit. What a run reads is in [`KeptFiles`]. Text of models and tools passes through the door
//! of each kind of file.

mod folder;
mod kept;

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use callsheet_core::nouns::{BlobId, RunId, Slug};

use crate::paths::Workspace;
use crate::shown::{Shown, mask_bytes};

pub use folder::RunFileFault;
use folder::{Folder, READ_LIMIT, one_component};
pub use kept::KeptFiles;

/// `sheet.md` as it was read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SheetFile {
    /// Its hash.
    pub hash: BlobId,
    /// Its content.
    pub bytes: Vec<u8>,
    /// When the system last saw it change, in milliseconds since the Unix epoch, by writing or by moving it there.
    pub changed_ms: u64,
    /// Its mark when it was opened.
    pub mark: SheetMark,
}

/// A different mark means that the file may have changed. The mark is available without reading the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SheetMark {
    inode: u64,
    bytes: u64,
    modified: (i64, i64),
    changed: (i64, i64),
}

impl SheetMark {
    fn of(metadata: &std::fs::Metadata) -> Self {
        use std::os::unix::fs::MetadataExt;
        Self {
            inode: metadata.ino(),
            bytes: metadata.len(),
            modified: (metadata.mtime(), metadata.mtime_nsec()),
            changed: (metadata.ctime(), metadata.ctime_nsec()),
        }
    }
}

/// The change time of the inode. A file that was moved here has it too.
fn changed_ms(metadata: &std::fs::Metadata) -> u64 {
    use std::os::unix::fs::MetadataExt;
    let ms = metadata.ctime().saturating_mul(1_000).saturating_add(metadata.ctime_nsec() / 1_000_000);
    u64::try_from(ms).unwrap_or(0)
}

/// Writes and reads the files of one run.
#[derive(Clone, Debug)]
pub struct RunFiles {
    folder: Folder,
}

impl RunFiles {
    /// The run directory of `run`. Creates nothing before the first file or [`RunFiles::create`].
    ///
    /// # Errors
    /// If the name is not one path component.
    pub fn new(workspace: &Workspace, run: &RunId) -> Result<Self, RunFileFault> {
        let runs = Path::new(".callsheet/runs");
        Ok(Self { folder: Folder::new(workspace, runs.join(one_component(run.as_str())?)) })
    }

    /// Creates the directory, and keeps what Callsheet writes out of version control. An existing rule is kept.
    ///
    /// # Errors
    /// The system's reason.
    pub fn create(&self) -> Result<(), RunFileFault> {
        let outer = self.folder.at(PathBuf::from(".callsheet/runs"));
        if outer.read(".gitignore")?.is_none() {
            outer.write(".gitignore", b"*\n", false)?;
        }
        self.folder.create()
    }

    /// The directory, relative to the project root.
    pub fn directory(&self) -> &Path {
        self.folder.directory()
    }

    /// Writes `sheet.md` and returns the hash of its content. The hash is recorded to distinguish an edit from an
    /// outdated file (spec 2.18).
    ///
    /// # Errors
    /// As for every writing method: the system's reason.
    pub fn write_sheet(&self, text: &str) -> Result<BlobId, RunFileFault> {
        self.write("sheet.md", text.as_bytes(), false)?;
        Ok(BlobId::of(text.as_bytes()))
    }

    /// `sheet.md` as it is now. `None` if it does not exist.
    ///
    /// # Errors
    /// The system's reason.
    pub fn sheet(&self) -> Result<Option<SheetFile>, RunFileFault> {
        let read = |mut file: File| -> io::Result<SheetFile> {
            let metadata = file.metadata()?;
            let mut bytes = Vec::with_capacity(usize::try_from(metadata.len().min(READ_LIMIT)).unwrap_or(0));
            (&mut file).take(READ_LIMIT).read_to_end(&mut bytes)?;
            let (changed_ms, mark) = (changed_ms(&metadata), SheetMark::of(&metadata));
            Ok(SheetFile { hash: BlobId::of(&bytes), bytes, changed_ms, mark })
        };
        self.folder.with("sheet.md", read)
    }

    /// The current mark of the file, without reading it. `None` if it is not accessible. It only says whether to read:
    /// a link in the path leads to another mark, and reading refuses the link.
    pub fn sheet_mark(&self) -> Option<SheetMark> {
        self.folder.path("sheet.md").symlink_metadata().ok().as_ref().map(SheetMark::of)
    }

    /// Writes `sheet.edited-N.md`: a person's text, before the sheet beside it is overwritten. A text that is already
    /// kept is not written again.
    ///
    /// # Errors
    /// The system's reason.
    pub fn keep_edited(&self, text: &[u8]) -> Result<String, RunFileFault> {
        let mut number = 1;
        loop {
            let name = format!("sheet.edited-{number}.md");
            match self.folder.read(&name)? {
                None => return self.write(&name, text, false),
                Some(kept) if kept == text => return Ok(self.directory().join(name).display().to_string()),
                Some(_) => number += 1,
            }
        }
    }

    /// Writes `tasks/<slug>.md`: the document of the only run, or the merged one.
    ///
    /// # Errors
    /// The system's reason.
    pub fn write_task(&self, slug: &Slug, document: &str) -> Result<String, RunFileFault> {
        self.write_shown(&format!("tasks/{}.md", file_name(slug)?), &Shown::markdown(document))
    }

    /// Writes `tasks/<slug>--<slug of the run's title>.md`: the document of one of several runs. No slug contains two
    /// consecutive hyphens, so no task has this file.
    ///
    /// # Errors
    /// The system's reason.
    pub fn write_run(&self, slug: &Slug, run: &Slug, document: &str) -> Result<String, RunFileFault> {
        let name = format!("{}--{run}", file_name(slug)?);
        self.write_shown(&format!("tasks/{}.md", one_component(&name)?), &Shown::markdown(document))
    }

    /// Writes `tasks/<slug>-<call id>.txt`: the whole output of a tool call that was cut for the model (spec 10.4).
    ///
    /// # Errors
    /// The system's reason.
    pub fn write_tool_output(&self, slug: &Slug, call: &str, output: &str) -> Result<String, RunFileFault> {
        let call: String =
            call.chars().map(|c| if c.is_ascii_alphanumeric() || "-_.".contains(c) { c } else { '-' }).collect();
        let name = format!("{}-{call}", file_name(slug)?);
        self.write_shown(&format!("tasks/{}.txt", one_component(&name)?), &Shown::text(output))
    }

    /// Writes `details/<slug>/<filename>`.
    ///
    /// # Errors
    /// The system's reason; a file name of more than one component.
    pub fn write_detail(&self, slug: &Slug, filename: &str, content: &[u8]) -> Result<String, RunFileFault> {
        let name = format!("details/{}/{}", file_name(slug)?, one_component(filename)?);
        self.write(&name, &mask_bytes(content), false)
    }

    /// Writes `changes/<slug>.diff`.
    ///
    /// # Errors
    /// The system's reason.
    pub fn write_diff(&self, slug: &Slug, diff: &str) -> Result<String, RunFileFault> {
        self.write_shown(&format!("changes/{}.diff", file_name(slug)?), &Shown::text(diff))
    }

    /// Writes `result.json`: the result of the top task of a template run.
    ///
    /// # Errors
    /// The system's reason.
    pub fn write_result(&self, json: &str) -> Result<String, RunFileFault> {
        self.write_shown("result.json", &Shown::json(json))
    }

    /// Writes `report.md`.
    ///
    /// # Errors
    /// The system's reason.
    pub fn write_report(&self, text: &str) -> Result<String, RunFileFault> {
        self.write_shown("report.md", &Shown::markdown(text))
    }

    fn write_shown(&self, name: &str, text: &Shown) -> Result<String, RunFileFault> {
        self.write(name, text.as_str().as_bytes(), false)
    }

    /// Writes a file below the run directory in one step, and returns its path relative to the project root.
    pub(crate) fn write(&self, name: &str, content: &[u8], durable: bool) -> Result<String, RunFileFault> {
        self.folder.write(name, content, durable)?;
        Ok(self.directory().join(name).display().to_string())
    }

    /// Removes a file below the run directory. A missing file is no error.
    pub(crate) fn remove(&self, name: &str) -> Result<(), RunFileFault> {
        self.folder.remove(name)
    }
}

/// The name of a task's files: its slug. If the task is below another one, a dot replaces the `/` of its slug. No other
/// name contains a dot.
fn file_name(slug: &Slug) -> Result<String, RunFileFault> {
    one_component(&slug.as_str().replacen('/', ".", 1)).map(str::to_owned)
}

/// Traces a failed write. Files of a run are views of its log, so the failure harms nothing.
pub(crate) fn trace_fault(written: Result<(), RunFileFault>) {
    if let Err(fault) = written {
        tracing::warn!(%fault, "could not write a run file; the record has its content");
    }
}

#[cfg(test)]
mod tests;
