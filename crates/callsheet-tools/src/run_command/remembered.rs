//! The last successful test of the border, kept in a file until something changes that the result depends on. Only a
//! success is kept: if the system refuses namespaces all the same, the command is not started, and the file is removed.

use std::fmt::Write as _;
use std::fs;
use std::io::{self, Write as _};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use rustix::process::{getegid, geteuid};
use serde::{Deserialize, Serialize};

use super::supervisor::SELF;

/// What identifies the boot, and the settings of the system that allow or refuse namespaces.
const SYSTEM: [&str; 5] = [
    "/proc/sys/kernel/random/boot_id",
    "/proc/sys/user/max_user_namespaces",
    "/proc/sys/kernel/unprivileged_userns_clone",
    "/proc/sys/kernel/apparmor_restrict_unprivileged_userns",
    "/proc/self/attr/current",
];
/// The namespaces that this process is in.
const NAMESPACES: [&str; 4] = ["user", "mnt", "net", "pid"];
/// Lines of `/proc/self/status` with what this process may ask of the system.
const STATUS: [&str; 4] = ["CapEff:", "CapBnd:", "NoNewPrivs:", "Seccomp:"];

#[derive(Serialize, Deserialize)]
struct Memory {
    /// What the result depends on.
    depends: String,
    through: Option<PathBuf>,
}

static FILE: OnceLock<PathBuf> = OnceLock::new();

/// Names the file of the memory, which only the user can write.
pub fn remember_in(file: PathBuf) {
    let _again = FILE.set(file);
}

/// Which program creates the namespaces, if an earlier process found that out and nothing has changed.
pub(super) fn recall() -> Option<Option<PathBuf>> {
    let memory: Memory = serde_json::from_slice(&fs::read(FILE.get()?).ok()?).ok()?;
    let depends = depends(memory.through.as_deref())?;
    (memory.depends == depends).then_some(memory.through)
}

/// Keeps a success for later processes. Without the file, they test again.
pub(super) fn keep(through: Option<&Path>) {
    let Some((file, depends)) = FILE.get().zip(depends(through)) else { return };
    let memory = Memory { depends, through: through.map(Path::to_path_buf) };
    let Ok(text) = serde_json::to_vec(&memory) else { return };
    let written = file.with_extension(std::process::id().to_string());
    let kept = own_file(&written).and_then(|mut own| own.write_all(&text)).and_then(|()| fs::rename(&written, file));
    if kept.is_err() {
        let _none = fs::remove_file(&written);
    }
}

/// A new file that only the user can read, whatever the process's umask.
fn own_file(path: &Path) -> io::Result<fs::File> {
    fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)
}

/// Forgets the result, because a command was not started.
pub(super) fn forget() {
    let _none = FILE.get().map(fs::remove_file);
}

/// What the result depends on. `None` if the boot or this program is unknown.
fn depends(through: Option<&Path>) -> Option<String> {
    let mut text = String::new();
    for file in SYSTEM {
        let found = fs::read_to_string(file).ok();
        if file.ends_with("boot_id") {
            found.as_ref()?;
        }
        let _written = writeln!(text, "{}", found.as_deref().unwrap_or_default().trim());
    }
    for name in NAMESPACES {
        let _written = writeln!(text, "{}", fs::read_link(format!("/proc/self/ns/{name}")).ok()?.display());
    }
    let status = fs::read_to_string("/proc/self/status").ok()?;
    for line in status.lines().filter(|line| STATUS.iter().any(|name| line.starts_with(name))) {
        let _written = writeln!(text, "{line}");
    }
    let _written = writeln!(text, "{} {}", geteuid().as_raw(), getegid().as_raw());
    for program in [Some(Path::new(SELF)), through].into_iter().flatten() {
        let about = fs::metadata(program).ok()?;
        let (device, inode, size) = (about.dev(), about.ino(), about.size());
        let _written = writeln!(text, "{device} {inode} {size} {} {}", about.mtime(), about.mtime_nsec());
    }
    Some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// covers: 11.14
    #[test]
    fn a_success_is_kept_until_something_changes() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("sandbox");
        remember_in(file.clone());
        assert_eq!(recall(), None);
        keep(None);
        assert_eq!(recall(), Some(None));
        let other = fs::read_to_string(&file).unwrap().replace("NoNewPrivs:", "NoOldPrivs:");
        fs::write(&file, other).unwrap();
        assert_eq!(recall(), None);
        fs::write(&file, "{").unwrap();
        assert_eq!(recall(), None);
        keep(None);
        forget();
        assert_eq!(recall(), None);
    }
}
