//! Our own files and folders, which only their owner can read, whatever the process's umask: they contain prompts,
//! texts of projects and settings.

use std::fs::{DirBuilder, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::Path;

/// Creates a folder and its missing parents.
///
/// # Errors
/// The system's reason.
pub fn create_private_folder(folder: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(folder)
}

/// How a private file is opened. A new one is accessible only to its owner.
pub fn private() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.mode(0o600);
    options
}

/// Writes or overwrites a file.
///
/// # Errors
/// The system's reason.
pub fn write_private(path: &Path, content: &[u8]) -> io::Result<()> {
    let mut file: File = private().write(true).create(true).truncate(true).open(path)?;
    file.write_all(content)
}
