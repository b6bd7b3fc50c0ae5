//! The `.part` file a download is written to: size and checksum are kept while it grows, and it becomes the file by one
//! rename.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

use super::{WeightsFault, WeightsRow};

/// A file in the making. Locked against other processes until it is dropped.
pub(super) struct PartFile<'a> {
    row: &'a WeightsRow,
    folder: PathBuf,
    path: PathBuf,
    file: File,
    digest: Sha256,
    size: u64,
}

impl<'a> PartFile<'a> {
    /// Opens or creates the `.part` file of `row` in `folder` and reads what it already holds.
    pub fn open(row: &'a WeightsRow, folder: &Path) -> Result<Self, WeightsFault> {
        let path = folder.join(format!("{}.part", row.file));
        let files = |path: &Path, source| WeightsFault::Files { path: path.into(), source };
        fs::create_dir_all(folder).map_err(|source| files(folder, source))?;
        let options = OpenOptions::new().read(true).write(true).create(true).truncate(false).open(&path);
        let file = options.map_err(|source| files(&path, source))?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Err(WeightsFault::Busy { path }),
            // Some file systems have no locks; a checksum still tells a mixture from the file.
            Err(TryLockError::Error(_)) => {}
        }
        let mut part = Self { row, folder: folder.into(), path, file, digest: Sha256::new(), size: 0 };
        part.read_again().map_err(|source| part.fault(source))?;
        if row.bytes.is_some_and(|bytes| part.size > bytes) {
            part.restart()?;
        }
        Ok(part)
    }

    /// Bytes it holds.
    pub fn size(&self) -> u64 {
        self.size
    }

    /// Throws away what it holds.
    pub fn restart(&mut self) -> Result<(), WeightsFault> {
        let emptied = self.file.set_len(0).and_then(|()| self.file.seek(SeekFrom::Start(0)));
        emptied.map_err(|source| self.fault(source))?;
        (self.digest, self.size) = (Sha256::new(), 0);
        Ok(())
    }

    /// Appends. More than the row's size is refused at once.
    pub fn write(&mut self, bytes: &[u8]) -> Result<(), WeightsFault> {
        let size = self.size.saturating_add(u64::try_from(bytes.len()).unwrap_or(u64::MAX));
        if let Some(expected) = self.row.bytes.filter(|expected| size > *expected) {
            self.restart()?;
            return Err(self.mismatch(format!("{expected} bytes"), format!("at least {size} bytes")));
        }
        self.file.write_all(bytes).map_err(|source| self.fault(source))?;
        self.digest.update(bytes);
        self.size = size;
        Ok(())
    }

    /// Verifies and renames. Returns the path and the checksum. A wrong file is emptied, so nothing is resumed from it.
    pub fn finish(mut self) -> Result<(PathBuf, String), WeightsFault> {
        if let Some(expected) = self.row.bytes.filter(|expected| *expected != self.size) {
            let got = format!("{} bytes", self.size);
            self.restart()?;
            return Err(self.mismatch(format!("{expected} bytes"), got));
        }
        let sum = hexadecimal(&self.digest.clone().finalize());
        if let Some(expected) = self.row.sha256.clone().filter(|expected| !expected.eq_ignore_ascii_case(&sum)) {
            self.restart()?;
            return Err(self.mismatch(expected, sum));
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

fn hexadecimal(bytes: &[u8]) -> String {
    let digit = |nibble: u8| char::from_digit(u32::from(nibble), 16).unwrap_or('0');
    bytes.iter().flat_map(|byte| [digit(byte >> 4), digit(byte & 15)]).collect()
}
