//! The file that a download writes to. It keeps size and checksum while it grows, and becomes the weights by one
//! rename.

use std::fs::{self, File, TryLockError};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use callsheet_runtime::paths::{create_private_folder, private, write_private};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::catalogue::Check;
use super::{WeightsFault, WeightsRow};

/// An unfinished file. It is locked against other processes until it is dropped.
pub(super) struct PartFile<'a> {
    row: &'a WeightsRow,
    check: Check<'a>,
    folder: PathBuf,
    path: PathBuf,
    file: File,
    digest: Sha256,
    size: u64,
}

/// The progress of a file that comes in parts. It is kept in a file beside it.
#[derive(Serialize, Deserialize)]
struct State {
    /// The source in its written form.
    source: String,
    /// Number of complete parts.
    parts: usize,
    /// Bytes of the complete parts.
    bytes: u64,
}

impl<'a> PartFile<'a> {
    /// Opens or creates the file of `row` with this `ending` in `folder`, and reads what it already holds.
    pub fn open(row: &'a WeightsRow, check: Check<'a>, folder: &Path, ending: &str) -> Result<Self, WeightsFault> {
        let path = folder.join(format!("{}.{ending}", row.file));
        let files = |path: &Path, source| WeightsFault::Files { path: path.into(), source };
        create_private_folder(folder).map_err(|source| files(folder, source))?;
        let options = private().read(true).write(true).create(true).truncate(false).open(&path);
        let file = options.map_err(|source| files(&path, source))?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Err(WeightsFault::Busy { path }),
            // Some file systems have no locks; the checksum still detects a mixed file.
            Err(TryLockError::Error(_)) => {}
        }
        let mut part = Self { row, check, folder: folder.into(), path, file, digest: Sha256::new(), size: 0 };
        part.read_again().map_err(|source| part.fault(source))?;
        if check.bytes.is_some_and(|bytes| part.size > bytes) {
            part.restart()?;
        }
        Ok(part)
    }

    /// Bytes that the file holds.
    pub fn size(&self) -> u64 {
        self.size
    }

    /// Bytes that the file will hold, if known.
    pub fn expected(&self) -> Option<u64> {
        self.check.bytes
    }

    /// A folder beside the file for the content of one package. Removes what an interrupted fetch left there.
    pub fn scratch(&self) -> Result<tempfile::TempDir, WeightsFault> {
        let name = format!(".{}.wheel", self.row.file);
        let made = remove_if_there(fs::remove_dir_all(self.folder.join(&name)))
            .and_then(|()| tempfile::Builder::new().prefix(&name).rand_bytes(0).tempdir_in(&self.folder));
        made.map_err(|source| self.fault(source))
    }

    /// Deletes the content.
    pub fn restart(&mut self) -> Result<(), WeightsFault> {
        let forgotten = remove_if_there(fs::remove_file(self.state()));
        forgotten.and_then(|()| self.shorten(0)).map_err(|source| self.fault(source))
    }

    /// Keeps the complete parts of `source` and deletes the rest. Returns the number of parts that it kept.
    pub fn resume(&mut self, source: &str) -> Result<usize, WeightsFault> {
        let state = fs::read(self.state()).ok().and_then(|text| serde_json::from_slice::<State>(&text).ok());
        let Some(state) = state.filter(|state| state.source == source && state.bytes <= self.size) else {
            self.restart()?;
            return Ok(0);
        };
        if state.bytes < self.size {
            self.shorten(state.bytes).map_err(|source| self.fault(source))?;
        }
        Ok(state.parts)
    }

    /// Records that the file holds this many complete parts of `source`, after they are on the disk.
    pub fn note(&mut self, source: &str, parts: usize) -> Result<(), WeightsFault> {
        let state = State { source: source.to_owned(), parts, bytes: self.size };
        let (path, new) = (self.state(), self.path.with_added_extension("new"));
        let written = self.file.sync_data().and_then(|()| {
            write_private(&new, &serde_json::to_vec(&state)?)?;
            fs::rename(&new, &path)
        });
        written.map_err(|source| self.fault(source))
    }

    fn state(&self) -> PathBuf {
        self.path.with_added_extension("json")
    }

    fn shorten(&mut self, bytes: u64) -> io::Result<()> {
        self.file.set_len(bytes)?;
        self.file.seek(SeekFrom::Start(0))?;
        (self.digest, self.size) = (Sha256::new(), 0);
        self.read_again()
    }

    /// Appends bytes. Refuses at once to exceed the row's size.
    pub fn write(&mut self, bytes: &[u8]) -> Result<(), WeightsFault> {
        let size = self.size.saturating_add(u64::try_from(bytes.len()).unwrap_or(u64::MAX));
        if let Some(expected) = self.check.bytes.filter(|expected| size > *expected) {
            self.restart()?;
            return Err(self.mismatch(format!("{expected} bytes"), format!("at least {size} bytes")));
        }
        self.file.write_all(bytes).map_err(|source| self.fault(source))?;
        self.digest.update(bytes);
        self.size = size;
        Ok(())
    }

    /// Verifies and renames the file. Returns the path and the checksum. Empties a wrong file, so nothing resumes from
    /// it.
    pub fn finish(mut self) -> Result<(PathBuf, String), WeightsFault> {
        if let Some(expected) = self.check.bytes.filter(|expected| *expected != self.size) {
            let got = format!("{} bytes", self.size);
            self.restart()?;
            return Err(self.mismatch(format!("{expected} bytes"), got));
        }
        let sum = hexadecimal(&self.digest.clone().finalize());
        if let Some(expected) = self.check.sha256.filter(|expected| !expected.eq_ignore_ascii_case(&sum)) {
            self.restart()?;
            return Err(self.mismatch(expected.to_owned(), sum));
        }
        let path = self.folder.join(&self.row.file);
        let renamed = self.file.sync_all().and_then(|()| fs::rename(&self.path, &path));
        renamed.map_err(|source| self.fault(source))?;
        Ok((path, sum))
    }

    fn mismatch(&self, expected: String, got: String) -> WeightsFault {
        WeightsFault::Mismatch { name: self.row.name.clone(), expected, got }
    }

    fn fault(&self, source: io::Error) -> WeightsFault {
        match source.kind() {
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => WeightsFault::DiskFull {
                path: self.folder.clone(),
                name: self.row.name.clone(),
                needed: self.row.about_bytes,
            },
            _ => WeightsFault::Files { path: self.path.clone(), source },
        }
    }

    fn read_again(&mut self) -> io::Result<()> {
        let mut buffer = vec![0; 1 << 16];
        loop {
            let read = self.file.read(&mut buffer)?;
            let Some(bytes) = buffer.get(..read).filter(|bytes| !bytes.is_empty()) else { return Ok(()) };
            self.digest.update(bytes);
            self.size += u64::try_from(read).unwrap_or(0);
        }
    }
}

/// The result of a removal. A missing file is no error.
fn remove_if_there(removed: io::Result<()>) -> io::Result<()> {
    match removed {
        Err(fault) if fault.kind() == io::ErrorKind::NotFound => Ok(()),
        removed => removed,
    }
}

fn hexadecimal(bytes: &[u8]) -> String {
    let digit = |nibble: u8| char::from_digit(u32::from(nibble), 16).unwrap_or('0');
    bytes.iter().flat_map(|byte| [digit(byte >> 4), digit(byte & 15)]).collect()
}
