//! Files and folders of our own, which their owner alone reads, whatever the process's mask is: they hold prompts, texts of
//! projects and settings.

use std::fs::{DirBuilder, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::Path;

/// Makes a folder and those above it that are missing.
///
/// # Errors
/// The system's reason.
pub fn create_private_folder(folder: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(folder)
}

/// How a private file is opened; a new one is the owner's alone.
pub fn private() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.mode(0o600);
    options
}

/// Writes a file, or writes it over.
///
/// # Errors
/// The system's reason.
pub fn write_private(path: &Path, content: &[u8]) -> io::Result<()> {
    let mut file: File = private().write(true).create(true).truncate(true).open(path)?;
    file.write_all(content)
}
