//! Creates the namespaces of a command with `bwrap`, for an ordinary user whose system allows only `bwrap` to create
//! them. It gets the same list of mounts. What runs inside has no rights, so nothing can be mounted later.

use std::ffi::OsString;
use std::io::{self, Write};
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};
use std::process::Command;

use rustix::fs::{CWD, MemfdFlags, Mode, OFlags, ResolveFlags, memfd_create, openat2};
use rustix::io::{FdFlags, fcntl_setfd};

use super::border::View;
use super::limits::there_is;
use super::root::{Layer, Part};

/// Where `bwrap` can be installed. The rules of a system that lets it create namespaces name one of these paths.
const PLACES: [&str; 4] =
    ["/usr/bin/bwrap", "/usr/local/bin/bwrap", "/run/wrappers/bin/bwrap", "/run/current-system/sw/bin/bwrap"];
/// The path of this program inside.
const INSIDE: &str = "/run/callsheet";
/// What is unshared, how it ends, and what exists besides the list.
const FIRST: [&str; 11] = [
    "--unshare-all",
    "--unshare-user",
    "--die-with-parent",
    "--new-session",
    "--as-pid-1",
    "--cap-drop",
    "ALL",
    "--proc",
    "/proc",
    "--dev",
    "/dev",
];

/// The `bwrap` program, if it can help. Root does not need it.
pub(super) fn program() -> Option<PathBuf> {
    let ordinary = !rustix::process::getuid().is_root();
    PLACES.iter().map(PathBuf::from).find(|place| ordinary && place.is_file())
}

/// A command that starts this program again inside the view, with the argument `word`. Descriptors stay open until it
/// is started.
pub(super) struct Bwrap {
    pub(super) command: Command,
    _open: Vec<OwnedFd>,
}

impl Bwrap {
    /// Builds the command.
    ///
    /// # Errors
    /// Something that is closed to the command was replaced in the meantime.
    pub(super) fn of(program: &Path, view: &View, word: &str) -> io::Result<Self> {
        let mut arguments: Vec<OsString> = FIRST.iter().map(OsString::from).collect();
        let mut open = Vec::new();
        let layers = view.layers();
        for layer in &layers {
            arguments.extend(mount(layer, &mut open)?);
        }
        view.check_steady(&layers.iter().map(|layer| layer.path.as_path()).collect::<Vec<_>>())?;
        let own = rustix::fs::open("/proc/self/exe", OFlags::PATH, Mode::empty())?;
        arguments.extend(bind(own, Part::Shown, Path::new(INSIDE), &mut open)?);
        let shown = |path: &Path| {
            let around = path.ancestors().find_map(|way| layers.iter().rev().find(|layer| layer.path == way));
            around.is_some_and(|layer| layer.part != Part::Empty)
        };
        for (link, to) in view.links().into_iter().filter(|(link, _)| !shown(link)) {
            arguments.extend(["--symlink".into(), to.into_os_string(), link.into_os_string()]);
        }
        for path in view.hidden.iter().filter(|path| path.exists() && shown(path)) {
            if path.is_dir() {
                arguments.extend(["--perms", "0000", "--tmpfs"].map(OsString::from));
            } else {
                arguments.extend(["--ro-bind", "/dev/null"].map(OsString::from));
            }
            arguments.push(path.into());
        }
        arguments.extend(["--remount-ro", "/dev", "--remount-ro", "/"].map(OsString::from));
        let mut list = std::fs::File::from(memfd_create("arguments", MemfdFlags::empty())?);
        for argument in &arguments {
            list.write_all(argument.as_bytes())?;
            list.write_all(b"\0")?;
        }
        io::Seek::rewind(&mut list)?;
        let list = OwnedFd::from(list);
        let mut command = Command::new(program);
        command.args(["--args", &list.as_raw_fd().to_string(), "--", INSIDE, word]);
        open.push(list);
        Ok(Self { command, _open: open })
    }
}

/// The arguments for one mount. A missing path is left out, unless the command could have put something else there.
fn mount(layer: &Layer, open: &mut Vec<OwnedFd>) -> io::Result<Vec<OsString>> {
    if layer.part == Part::Empty {
        let size = there_is().unwrap_or(1 << 30) / 5;
        let words = ["--perms", "0700", "--size", &size.to_string(), "--tmpfs"].map(OsString::from);
        return Ok(words.into_iter().chain([layer.path.clone().into()]).collect());
    }
    let found = openat2(CWD, &layer.path, OFlags::PATH, Mode::empty(), ResolveFlags::NO_SYMLINKS);
    match found {
        Ok(found) => bind(found, layer.part, &layer.path, open),
        Err(_) if !layer.exact => Ok(Vec::new()),
        Err(error) => Err(error.into()),
    }
}

fn bind(found: OwnedFd, part: Part, at: &Path, open: &mut Vec<OwnedFd>) -> io::Result<Vec<OsString>> {
    fcntl_setfd(&found, FdFlags::empty())?;
    let word = if part == Part::Writable { "--bind-fd" } else { "--ro-bind-fd" };
    let words =
        vec![word.into(), found.as_raw_fd().to_string().into(), OsString::from_vec(at.as_os_str().as_bytes().to_vec())];
    open.push(found);
    Ok(words)
}
