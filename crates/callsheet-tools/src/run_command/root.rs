//! The file system that a command sees: a separate root that contains only mounts of what was granted. Anything else
//! does not exist for the command.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, symlink};
use std::path::{Component, Path, PathBuf};

use callsheet_runtime::paths::{ever_changeable, steady};
use rustix::fs::{CWD, FileType, Mode, OFlags, ResolveFlags, fstat, openat2};
use rustix::mount::{
    MountFlags, MountPropagationFlags, MoveMountFlags, OpenTreeFlags, UnmountFlags, mount, mount_change, move_mount,
    open_tree, unmount,
};
use rustix::process::{chdir, pivot_root};

use super::border::View;

/// System folders that every command can read: programs, libraries and their configuration.
const SYSTEM: [&str; 14] = [
    "/usr",
    "/bin",
    "/sbin",
    "/lib",
    "/lib32",
    "/lib64",
    "/libx32",
    "/etc",
    "/opt",
    "/nix/store",
    "/gnu/store",
    "/var/lib/dpkg",
    "/sys/devices/system",
    "/sys/fs/cgroup",
];
/// System files with secrets that root could read.
const SECRET: [&str; 6] =
    ["/etc/shadow", "/etc/shadow-", "/etc/gshadow", "/etc/gshadow-", "/etc/ssl/private", "/etc/sudoers.d"];
/// Temporary folders. They start empty and disappear with the command.
pub(super) const TEMPORARY: [&str; 3] = ["/tmp", "/var/tmp", "/dev/shm"];
/// Devices that hold no data.
const DEVICES: [&str; 6] = ["null", "zero", "full", "random", "urandom", "tty"];
/// Links that programs expect among the devices.
const DEVICE_LINKS: [(&str, &str); 5] = [
    ("fd", "/proc/self/fd"),
    ("stdin", "/proc/self/fd/0"),
    ("stdout", "/proc/self/fd/1"),
    ("stderr", "/proc/self/fd/2"),
    ("ptmx", "pts/ptmx"),
];
/// Parts of `/proc` in which root could read memory or keys of the whole system.
const KERNEL: [&str; 8] =
    ["kcore", "keys", "timer_list", "vmallocinfo", "slabinfo", "kpageflags", "kpagecount", "sched_debug"];
/// Where the new root can be built.
const SITES: [&str; 3] = ["/tmp", "/mnt", "/usr"];

/// How one path is brought into the root.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Part {
    /// A new, empty folder.
    Empty,
    Shown,
    Writable,
}

/// One path of the root.
#[derive(Clone, Debug)]
pub(super) struct Layer {
    pub path: PathBuf,
    pub part: Part,
    /// Whether the path was checked before. If it leads elsewhere now, another command replaced it.
    pub exact: bool,
}

impl View {
    /// Builds the root and moves into it. The caller must be alone in new user, mount and process namespaces.
    ///
    /// # Errors
    /// The system refuses a step.
    pub(super) fn enter(&self) -> io::Result<()> {
        mount_change("/", MountPropagationFlags::PRIVATE | MountPropagationFlags::REC)?;
        let links = self.links();
        // All trees are opened first, because the new root hides a folder of the old one.
        let mut trees = Vec::new();
        for Layer { path, part, exact } in self.layers() {
            match (part, exact) {
                (Part::Empty, _) => trees.push((path, part, None)),
                (_, true) => trees.push((path.clone(), part, Some(tree_without_links(&path)?))),
                (_, false) => trees.extend(tree_without_links(&path).ok().map(|tree| (path, part, Some(tree)))),
            }
        }
        self.check_steady(&trees.iter().map(|(path, ..)| path.as_path()).collect::<Vec<_>>())?;
        let devices: Vec<_> = DEVICES.iter().filter_map(|name| Some((*name, tree(&device(name)).ok()?))).collect();
        let site = Path::new(SITES.iter().find(|site| Path::new(site).is_dir()).unwrap_or(&"/"));
        empty(site, "mode=0755")?;
        let root = Root(site);
        for (path, part, tree) in &trees {
            root.put(path, *part, tree.as_ref())
                .map_err(|error| io::Error::new(error.kind(), format!("{}: {error}", path.display())))?;
        }
        root.devices(&devices)?;
        root.processes()?;
        links.iter().try_for_each(|(link, to)| root.link(link, to))?;
        let secrets = SECRET.iter().map(PathBuf::from).chain(of_root(Path::new("/etc")));
        // What is shown below a hidden folder, such as the folder of a skill, was named by itself.
        let around = |path: &Path| path.ancestors().find_map(|way| trees.iter().rev().find(|(path, ..)| path == way));
        let kept = self.hidden.iter().filter(|path| around(path).is_some_and(|(_, part, _)| *part != Part::Empty));
        let hidden = secrets.chain(kept.cloned());
        for path in hidden.filter(|path| root.at(path).exists()) {
            root.cover(&path)?;
        }
        set(tree_of(site)?.as_fd(), libc::MOUNT_ATTR_RDONLY, false)?;
        chdir(site)?;
        pivot_root(".", ".")?;
        unmount(".", UnmountFlags::DETACH)?;
        chdir("/")?;
        Ok(())
    }

    /// Everything that is brought into the root, outer folders first.
    pub(super) fn layers(&self) -> Vec<Layer> {
        let parts = self.parts().into_iter().map(|(path, part)| Layer { path, part, exact: false });
        let exact = |part| move |path: &PathBuf| Layer { path: path.clone(), part, exact: true };
        let steady = self.steady.iter().map(exact(Part::Writable));
        let mut layers: Vec<Layer> = parts.chain(steady).chain(self.closed.iter().map(exact(Part::Shown))).collect();
        layers.sort_by(|one, other| one.path.cmp(&other.path));
        layers
    }

    /// What is mounted where, outer folders first.
    fn parts(&self) -> BTreeMap<PathBuf, Part> {
        let system = SYSTEM.iter().map(PathBuf::from);
        let shown = system.chain(self.shown.iter().cloned()).map(|path| (path, Part::Shown));
        let empty = TEMPORARY.iter().map(PathBuf::from).chain(self.home.clone()).map(|path| (path, Part::Empty));
        let writable = self.writable.iter().map(|path| (path.clone(), Part::Writable));
        let mut parts: BTreeMap<PathBuf, Part> = BTreeMap::new();
        for (path, part) in shown.chain(empty).chain(writable) {
            if let Some(real) = if part == Part::Empty { Some(path) } else { steady(&path, &self.changeable) } {
                parts.insert(real, part);
            }
        }
        // A path needs no mount if its parent folder already shows it in the same way.
        let settled = parts.clone();
        parts.retain(|path, part| {
            let around = path.ancestors().skip(1).find_map(|folder| settled.get(folder));
            *part == Part::Empty || around != Some(part)
        });
        parts
    }

    /// Checks paths again after they were opened. A command of another project can have been the first of its project
    /// since the first check, and a link that it created in the meantime can have led here.
    ///
    /// # Errors
    /// A link did.
    pub(super) fn check_steady(&self, open: &[&Path]) -> io::Result<()> {
        let known: Vec<PathBuf> = self.noted.iter().flat_map(|notes| ever_changeable(notes)).collect();
        if known.iter().all(|folder| self.changeable.contains(folder)) {
            return Ok(());
        }
        let mut view = self.clone();
        view.changeable.extend(known);
        let now: Vec<PathBuf> = view.layers().into_iter().map(|layer| layer.path).collect();
        match open.iter().find(|path| !now.iter().any(|other| other == *path)) {
            Some(path) => {
                Err(io::Error::other(format!("another command may have put a link on the way to {}", path.display())))
            }
            None => Ok(()),
        }
    }

    /// The links in the listed paths, with their targets.
    pub(super) fn links(&self) -> BTreeMap<PathBuf, PathBuf> {
        let listed = self.shown.iter().chain(&self.writable).chain(&self.home).cloned();
        let mut open: Vec<PathBuf> = SYSTEM.iter().map(PathBuf::from).chain(listed).collect();
        let mut links = BTreeMap::new();
        while let Some(path) = open.pop() {
            let ways: Vec<&Path> = path.ancestors().collect();
            let Some(link) = ways.into_iter().rev().find(|way| way.is_symlink()) else { continue };
            let (Ok(to), Ok(below)) = (fs::read_link(link), path.strip_prefix(link)) else { continue };
            let led = link.parent().unwrap_or(Path::new("/")).join(&to).join(below);
            if links.insert(link.to_path_buf(), to).is_none() {
                open.push(led);
            }
        }
        links
    }

    /// What the command may write, by the paths to which it leads now.
    pub(super) fn writable_now(&self) -> Vec<PathBuf> {
        self.writable.iter().filter_map(|path| steady(path, &self.changeable)).collect()
    }

    /// Where the command may write, for the second barrier inside.
    pub(super) fn writable_inside(&self) -> impl Iterator<Item = PathBuf> {
        let temporary = TEMPORARY.iter().map(PathBuf::from).chain([PathBuf::from("/dev")]);
        self.writable_now().into_iter().chain(self.home.clone()).chain(temporary)
    }
}

/// What only root can read below a system folder. It is closed to others anyway.
fn of_root(folder: &Path) -> Vec<PathBuf> {
    if !rustix::process::getuid().is_root() {
        return Vec::new();
    }
    let (mut found, mut open) = (Vec::new(), vec![folder.to_path_buf()]);
    while let Some(folder) = open.pop() {
        for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
            let Ok(metadata) = entry.metadata() else { continue };
            let needed = if metadata.is_dir() { 0o5 } else { 0o4 };
            if metadata.is_symlink() {
                continue;
            } else if metadata.mode() & needed != needed {
                found.push(entry.path());
            } else if metadata.is_dir() {
                open.push(entry.path());
            }
        }
    }
    found
}

fn device(name: &str) -> PathBuf {
    Path::new("/dev").join(name)
}

/// A detached copy of the mounts below a path.
fn tree(path: &Path) -> io::Result<OwnedFd> {
    if path.symlink_metadata()?.is_symlink() {
        return Err(io::Error::from(io::ErrorKind::InvalidInput));
    }
    let flags = OpenTreeFlags::OPEN_TREE_CLONE
        | OpenTreeFlags::OPEN_TREE_CLOEXEC
        | OpenTreeFlags::AT_RECURSIVE
        | OpenTreeFlags::AT_SYMLINK_NOFOLLOW;
    Ok(open_tree(CWD, path, flags)?)
}

/// Like `tree`, but for a path without links.
fn tree_without_links(path: &Path) -> io::Result<OwnedFd> {
    let found = openat2(CWD, path, OFlags::PATH | OFlags::CLOEXEC, Mode::empty(), ResolveFlags::NO_SYMLINKS)?;
    let flags = OpenTreeFlags::OPEN_TREE_CLONE
        | OpenTreeFlags::OPEN_TREE_CLOEXEC
        | OpenTreeFlags::AT_RECURSIVE
        | OpenTreeFlags::AT_EMPTY_PATH;
    Ok(open_tree(found, "", flags)?)
}

/// A mount that stays in its place.
fn tree_of(path: &Path) -> io::Result<OwnedFd> {
    Ok(open_tree(CWD, path, OpenTreeFlags::OPEN_TREE_CLOEXEC)?)
}

/// Sets attributes of a mount, or of a whole tree of mounts.
fn set(tree: impl AsFd, attributes: u64, whole: bool) -> io::Result<()> {
    let attributes = libc::mount_attr { attr_set: attributes, attr_clr: 0, propagation: 0, userns_fd: 0 };
    let flags = libc::AT_EMPTY_PATH | if whole { libc::AT_RECURSIVE } else { 0 };
    #[expect(unsafe_code, reason = "the library for system calls does not know this one")]
    // SAFETY: the descriptor is open for the length of the call, the path is a constant that ends with a zero byte, and
    // the kernel only reads `attributes`, whose size it is given.
    let done = unsafe {
        libc::syscall(
            libc::SYS_mount_setattr,
            tree.as_fd().as_raw_fd(),
            c"".as_ptr(),
            flags,
            &raw const attributes,
            size_of::<libc::mount_attr>(),
        )
    };
    if done == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Mounts a new, empty folder.
fn empty(path: &Path, options: &str) -> io::Result<()> {
    let options = std::ffi::CString::new(options)?;
    Ok(mount("tmpfs", path, "tmpfs", MountFlags::NOSUID | MountFlags::NODEV, Some(options.as_c_str()))?)
}

/// The root while it is being built.
struct Root<'a>(&'a Path);

impl Root<'_> {
    /// Where a path of the command is before the root is entered.
    fn at(&self, path: &Path) -> PathBuf {
        let below = path.components().filter(|part| matches!(part, Component::Normal(_)));
        std::iter::once(Component::RootDir).chain(below).skip(1).fold(self.0.to_path_buf(), |at, part| at.join(part))
    }

    fn put(&self, path: &Path, part: Part, from: Option<&OwnedFd>) -> io::Result<()> {
        let at = self.at(path);
        let Some(from) = from else {
            folder(&at)?;
            return empty(&at, "mode=0700,size=20%");
        };
        // The path itself may be below what the new root hides.
        let is_folder = FileType::from_raw_mode(fstat(from)?.st_mode) == FileType::Directory;
        if is_folder {
            folder(&at)?
        } else {
            file(&at)?
        }
        let read_only = if part == Part::Shown { libc::MOUNT_ATTR_RDONLY } else { 0 };
        self.move_to(from, &at, libc::MOUNT_ATTR_NOSUID | libc::MOUNT_ATTR_NODEV | read_only)
    }

    fn move_to(&self, from: &OwnedFd, at: &Path, attributes: u64) -> io::Result<()> {
        set(from, attributes, true)?;
        Ok(move_mount(from, "", CWD, at, MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH)?)
    }

    /// The devices that a command has.
    fn devices(&self, devices: &[(&str, OwnedFd)]) -> io::Result<()> {
        let folder = self.at(Path::new("/dev"));
        for (name, from) in devices {
            let at = folder.join(name);
            file(&at)?;
            // Read-only applies to their modes and owners, not to what is written to them.
            self.move_to(from, &at, libc::MOUNT_ATTR_NOSUID | libc::MOUNT_ATTR_RDONLY)?;
        }
        let terminals = folder.join("pts");
        fs::create_dir(&terminals)?;
        let flags = MountFlags::NOSUID | MountFlags::NOEXEC;
        mount("devpts", &terminals, "devpts", flags, Some(c"newinstance,ptmxmode=0666,mode=620"))?;
        DEVICE_LINKS.iter().try_for_each(|(name, to)| symlink(to, folder.join(name)))
    }

    /// Mounts `/proc` for its own processes.
    fn processes(&self) -> io::Result<()> {
        let at = self.at(Path::new("/proc"));
        folder(&at)?;
        let flags = MountFlags::NOSUID | MountFlags::NODEV | MountFlags::NOEXEC;
        mount("proc", &at, "proc", flags, None)?;
        for name in KERNEL.iter().map(|name| Path::new("/proc").join(name)).filter(|name| self.at(name).exists()) {
            self.cover(&name)?;
        }
        // For root, the modes of these files are those of the whole system.
        set(tree_of(&at)?, libc::MOUNT_ATTR_RDONLY, true)
    }

    /// Hides a file or a folder behind an empty one.
    fn cover(&self, path: &Path) -> io::Result<()> {
        let at = self.at(path);
        if at.is_dir() {
            empty(&at, "mode=0000")
        } else {
            let from = tree(&self.at(&device("null")))?;
            self.move_to(&from, &at, libc::MOUNT_ATTR_RDONLY)
        }
    }

    /// Recreates a link that leads elsewhere.
    fn link(&self, link: &Path, to: &Path) -> io::Result<()> {
        let at = self.at(link);
        if at.symlink_metadata().is_ok() {
            return Ok(());
        }
        at.parent().map_or(Ok(()), folder)?;
        symlink(to, at)
    }
}

fn folder(at: &Path) -> io::Result<()> {
    if at.is_dir() { Ok(()) } else { fs::DirBuilder::new().recursive(true).mode(0o755).create(at) }
}

fn file(at: &Path) -> io::Result<()> {
    if at.symlink_metadata().is_ok() {
        return Ok(());
    }
    at.parent().map_or(Ok(()), folder)?;
    fs::File::create_new(at).map(drop)
}
