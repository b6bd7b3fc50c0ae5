//! Opens files below an open directory, one component at a time and never through a symbolic link. A path that was
//! checked before contains no links, so a link found here was put there since, and is refused.

use std::ffi::{OsStr, OsString};
use std::fs::{File, Permissions};
use std::io::{self, Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStringExt;
use std::os::unix::fs::PermissionsExt;
use std::path::{Component, Path, PathBuf};
use std::time::Instant;

use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags, Stat};
use rustix::io::Errno;

const DIRECTORY: OFlags = OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);

/// A folder in the path, which need not be readable.
#[cfg(target_os = "linux")]
const WAY: OFlags = OFlags::PATH.union(OFlags::DIRECTORY).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);
#[cfg(not(target_os = "linux"))]
const WAY: OFlags = DIRECTORY;

/// Mode of new directories and files before the umask.
const NEW_DIRECTORY: Mode = Mode::from_raw_mode(0o777);
const PRIVATE_DIRECTORY: Mode = Mode::from_raw_mode(0o700);
const NEW_FILE: Mode = Mode::from_raw_mode(0o666);

/// Opens a canonical root.
pub(super) fn open_root(path: &Path) -> io::Result<OwnedFd> {
    Ok(rustix::fs::open(path, DIRECTORY, Mode::empty())?)
}

/// Opens the directory `relative` below `base`. `""` is the base itself.
pub(crate) fn open_dir(base: &OwnedFd, relative: &Path) -> io::Result<OwnedFd> {
    descend(base, relative, |directory, name| Ok(rustix::fs::openat(directory, name, DIRECTORY, Mode::empty())?))
}

/// Like `open_dir`, but creates missing directories.
pub(crate) fn open_dir_creating(base: &OwnedFd, relative: &Path) -> io::Result<OwnedFd> {
    creating(base, relative, NEW_DIRECTORY)
}

/// Like `open_dir_creating`, but for our own folders: only their owner can read them, whatever the process's umask.
pub(crate) fn open_private_dir_creating(base: &OwnedFd, relative: &Path) -> io::Result<OwnedFd> {
    creating(base, relative, PRIVATE_DIRECTORY)
}

fn creating(base: &OwnedFd, relative: &Path, mode: Mode) -> io::Result<OwnedFd> {
    let open = |directory: &OwnedFd, name: &OsStr| rustix::fs::openat(directory, name, DIRECTORY, Mode::empty());
    descend(base, relative, |directory, name| match open(directory, name) {
        Err(Errno::NOENT) => {
            match rustix::fs::mkdirat(directory, name, mode) {
                Ok(()) | Err(Errno::EXIST) => {}
                Err(errno) => return Err(errno.into()),
            }
            Ok(open(directory, name)?)
        }
        opened => Ok(opened?),
    })
}

fn descend(
    base: &OwnedFd,
    relative: &Path,
    open: impl Fn(&OwnedFd, &OsStr) -> io::Result<OwnedFd>,
) -> io::Result<OwnedFd> {
    let mut directory = base.try_clone()?;
    for component in relative.components() {
        match component {
            Component::CurDir => {}
            Component::Normal(name) => directory = open(&directory, name)?,
            _ => return Err(io::Error::from(io::ErrorKind::InvalidInput)),
        }
    }
    Ok(directory)
}

/// The open parent directory of `relative`, and its last component. `None` for the base itself.
pub(crate) fn open_parent<'a>(base: &OwnedFd, relative: &'a Path) -> io::Result<Option<(OwnedFd, &'a OsStr)>> {
    let Some(name) = relative.file_name() else { return Ok(None) };
    Ok(Some((open_dir(base, relative.parent().unwrap_or(Path::new("")))?, name)))
}

/// The entry `name` itself, without following links. `None` if there is none.
pub(crate) fn stat_entry(directory: &OwnedFd, name: &OsStr) -> io::Result<Option<Stat>> {
    match rustix::fs::statat(directory, name, AtFlags::SYMLINK_NOFOLLOW) {
        Ok(stat) => Ok(Some(stat)),
        Err(Errno::NOENT) => Ok(None),
        Err(errno) => Err(errno.into()),
    }
}

/// Opens a regular file for reading. Devices, pipes and sockets are not even opened, because opening them could have
/// effects.
pub(crate) fn open_regular(directory: &OwnedFd, name: &OsStr) -> io::Result<File> {
    let not_regular = || io::Error::new(io::ErrorKind::InvalidInput, "it is not a regular file");
    let is_regular = |stat: &Stat| FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile;
    match stat_entry(directory, name)? {
        None => return Err(io::Error::from(io::ErrorKind::NotFound)),
        Some(stat) if !is_regular(&stat) => return Err(not_regular()),
        Some(_) => {}
    }
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    let fd = rustix::fs::openat(directory, name, flags, Mode::empty())?;
    if is_regular(&rustix::fs::fstat(&fd)?) { Ok(File::from(fd)) } else { Err(not_regular()) }
}

/// The open parent folder and the name of an absolute path that contained no link when it was found.
fn settled(path: &Path) -> io::Result<(OwnedFd, &OsStr)> {
    let invalid = || io::Error::from(io::ErrorKind::InvalidInput);
    let (parent, name) = path.parent().zip(path.file_name()).ok_or_else(invalid)?;
    let root = rustix::fs::open("/", WAY, Mode::empty())?;
    let below = parent.strip_prefix("/").map_err(|_| invalid())?;
    let way = |folder: &OwnedFd, name: &OsStr| Ok(rustix::fs::openat(folder, name, WAY, Mode::empty())?);
    Ok((descend(&root, below, way)?, name))
}

/// Opens a regular file by an absolute path that contained no link when it was found. A link that a running command has
/// put there since is refused.
///
/// # Errors
/// The path contains a link, or there is no readable regular file.
pub fn open_settled(path: &Path) -> io::Result<File> {
    let (folder, name) = settled(path)?;
    open_regular(&folder, name)
}

/// Reads a file that is opened in this way.
///
/// # Errors
/// As [`open_settled`].
pub fn read_settled(path: &Path) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    open_settled(path)?.read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// The target of a link that is found in this way.
///
/// # Errors
/// The path contains another link, or does not end in one.
pub fn read_link_settled(path: &Path) -> io::Result<PathBuf> {
    let (folder, name) = settled(path)?;
    let target = rustix::fs::readlinkat(&folder, name, Vec::new())?;
    Ok(PathBuf::from(OsString::from_vec(target.into_bytes())))
}

/// Whether a folder is found in this way.
pub fn is_settled_folder(path: &Path) -> bool {
    let open = |(folder, name): (OwnedFd, &OsStr)| Ok(rustix::fs::openat(&folder, name, WAY, Mode::empty())?);
    settled(path).and_then(open).is_ok()
}

/// Sets the mode of a file or a folder that is found in this way.
///
/// # Errors
/// The path contains or is a link, or the system refuses.
pub fn set_mode_settled(path: &Path, mode: u32) -> io::Result<()> {
    let (folder, name) = settled(path)?;
    set_mode_at(&folder, name, mode)
}

fn set_mode_at(folder: &OwnedFd, name: &OsStr, mode: u32) -> io::Result<()> {
    // An unreadable file can be opened only with `O_PATH`. Its mode is set through its name among the open files.
    #[cfg(target_os = "linux")]
    {
        use std::os::fd::AsRawFd;
        let place = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let found = rustix::fs::openat(folder, name, place, Mode::empty())?;
        if FileType::from_raw_mode(rustix::fs::fstat(&found)?.st_mode) == FileType::Symlink {
            return Err(Errno::LOOP.into());
        }
        std::fs::set_permissions(format!("/proc/self/fd/{}", found.as_raw_fd()), Permissions::from_mode(mode & 0o7777))
    }
    #[cfg(not(target_os = "linux"))]
    {
        let mode = rustix::fs::RawMode::try_from(mode & 0o7777).map_err(|_| Errno::INVAL)?;
        Ok(rustix::fs::chmodat(folder, name, Mode::from_raw_mode(mode), AtFlags::SYMLINK_NOFOLLOW)?)
    }
}

/// Removes a folder that is found in this way, with everything in it, however deep it is and whatever its modes are,
/// but stops at `until`.
///
/// # Errors
/// The system refuses a step, or the time is over.
pub fn remove_tree_settled(path: &Path, until: Instant) -> io::Result<()> {
    let (folder, name) = settled(path)?;
    let top = open_wide(&folder, name)?;
    let mut next = 0_u64;
    loop {
        let names = remove_files(&top)?;
        if names.is_empty() {
            return Ok(rustix::fs::unlinkat(&folder, name, AtFlags::REMOVEDIR)?);
        }
        for name in names {
            if Instant::now() > until {
                return Err(io::Error::from(io::ErrorKind::TimedOut));
            }
            let inner = open_wide(&top, &name)?;
            // Deeper folders are moved up, so that no more than two folders are open.
            for deeper in remove_files(&inner)? {
                widen(&inner, &deeper)?;
                while let Err(errno) = rustix::fs::renameat(&inner, &deeper, &top, format!("callsheet-{next}")) {
                    if ![Errno::EXIST, Errno::NOTEMPTY, Errno::NOTDIR].contains(&errno) {
                        return Err(errno.into());
                    }
                    next += 1;
                }
                next += 1;
            }
            rustix::fs::unlinkat(&top, &name, AtFlags::REMOVEDIR)?;
        }
    }
}

/// Opens a folder and lets its owner change its content from now on.
fn open_wide(folder: &OwnedFd, name: &OsStr) -> io::Result<OwnedFd> {
    widen(folder, name)?;
    Ok(rustix::fs::openat(folder, name, DIRECTORY, Mode::empty())?)
}

fn widen(folder: &OwnedFd, name: &OsStr) -> io::Result<()> {
    let mode = stat_entry(folder, name)?.map_or(Mode::empty(), |stat| Mode::from_raw_mode(stat.st_mode));
    if mode.contains(Mode::RWXU) { Ok(()) } else { set_mode_at(folder, name, 0o700) }
}

/// Removes everything that is not a folder, and returns the names of the folders.
fn remove_files(folder: &OwnedFd) -> io::Result<Vec<OsString>> {
    let mut names = Vec::new();
    for entry in Dir::read_from(folder)? {
        names.push(OsString::from_vec(entry?.file_name().to_bytes().to_vec()));
    }
    names.retain(|name| name != "." && name != "..");
    let is_folder = |stat: Stat| FileType::from_raw_mode(stat.st_mode) == FileType::Directory;
    let mut folders = Vec::new();
    for name in names {
        if stat_entry(folder, &name)?.is_some_and(is_folder) {
            folders.push(name);
        } else {
            remove_entry(folder, &name)?;
        }
    }
    Ok(folders)
}

/// Removes a file or link. A missing one is no error.
pub(crate) fn remove_entry(directory: &OwnedFd, name: &OsStr) -> io::Result<()> {
    match rustix::fs::unlinkat(directory, name, AtFlags::empty()) {
        Ok(()) | Err(Errno::NOENT) => Ok(()),
        Err(errno) => Err(errno.into()),
    }
}

/// A file that is written under another name beside its destination, then put in place in one step.
pub(crate) struct NewFile<'a> {
    /// Directory of both names.
    pub(crate) directory: &'a OwnedFd,
    /// Its name until it is complete.
    pub(crate) temporary: &'a OsStr,
    /// Whether it must survive a power cut. Views of the log need not.
    pub(crate) durable: bool,
}

impl NewFile<'_> {
    /// Writes the content under the temporary name, after removing a leftover of that name. `mode` is set exactly;
    /// without it the umask decides.
    pub(crate) fn write(&self, content: &[u8], mode: Option<u32>) -> io::Result<()> {
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let create = || rustix::fs::openat(self.directory, self.temporary, flags, NEW_FILE);
        let fd = match create() {
            Err(Errno::EXIST) => {
                self.discard()?;
                create()?
            }
            created => created?,
        };
        let mut file = File::from(fd);
        file.write_all(content)?;
        if let Some(mode) = mode {
            file.set_permissions(Permissions::from_mode(mode & 0o7777))?;
        }
        if self.durable { file.sync_all() } else { Ok(()) }
    }

    /// Replaces `name` by the complete file.
    pub(crate) fn rename_to(&self, name: &OsStr) -> io::Result<()> {
        rustix::fs::renameat(self.directory, self.temporary, self.directory, name)?;
        if self.durable { Ok(rustix::fs::fsync(self.directory)?) } else { Ok(()) }
    }

    /// Removes the temporary file, if it exists.
    pub(crate) fn discard(&self) -> io::Result<()> {
        remove_entry(self.directory, self.temporary)
    }
}
