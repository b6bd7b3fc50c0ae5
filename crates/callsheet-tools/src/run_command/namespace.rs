//! The namespaces of a command: its own users, mounts, processes, network and IPC. Everything in them ends with their
//! first process, and that process ends with the process outside that started it, in whatever way that one ends.

use std::fs;
use std::io;
use std::os::unix::fs::FileExt;
use std::process::{Child, Command};

use rustix::io::Errno;
use rustix::process::{
    DumpableBehavior, Pid, Resource, Rlimit, Signal, WaitOptions, getgid, getpid, getppid, getuid,
    set_dumpable_behavior, set_parent_process_death_signal, setrlimit, waitpid,
};
use rustix::thread::{
    CapabilitySet, CapabilitySets, UnshareFlags, clear_ambient_capability_set, remove_capability_from_bounding_set,
    set_capabilities, set_no_new_privs, unshare_unsafe,
};

use super::border::View;

/// Exit code of the process in between if it could not create the namespaces.
const FAILED: i32 = 125;
/// The maximum number of processes of a command at once.
const PROCESSES: u64 = 4096;
/// The maximum number of bytes of a file that a command writes.
const FILE_BYTES: u64 = 32 << 30;

/// Starts `first` as the first process in new namespaces. The returned process ends when nothing is left in them. The
/// calling process must have one thread.
///
/// # Errors
/// No process can be started. If the system refuses namespaces, `refused` is called.
pub(super) fn start(
    view: &View,
    first: impl FnOnce(Rank) -> io::Result<()>,
    refused: impl Fn(&io::Error),
) -> io::Result<Pid> {
    let parent = getpid();
    fork(|| {
        let inside = || {
            let made = prepare_inside(view);
            made.inspect_err(&refused).and_then(first)
        };
        let made = unshare().and_then(|()| {
            set_parent_process_death_signal(Some(Signal::KILL))?;
            if getppid() != Some(parent) {
                return Err(io::Error::other("the process outside is gone"));
            }
            Ok(())
        });
        if let Err(error) = made {
            refused(&error);
            return FAILED;
        }
        match fork(|| if inside().is_ok() { 0 } else { FAILED }) {
            Ok(first) => wait(first),
            Err(error) => refused(&error),
        }
        0
    })
}

/// Waits for a process that was started here.
pub(super) fn wait(process: Pid) {
    while waitpid(Some(process), WaitOptions::empty()).is_err_and(|error| error == Errno::INTR) {}
}

/// Forks this process. The child runs the closure and exits with its code.
fn fork(child: impl FnOnce() -> i32) -> io::Result<Pid> {
    #[expect(unsafe_code, reason = "no library offers a safe fork")]
    // SAFETY: after a fork in a process with several threads, the child may do only what is safe in a signal handler,
    // because another thread may hold a lock. This process has one thread: it was started to supervise, and `start` is
    // called before it starts others. So the child may do anything.
    let process = unsafe { libc::fork() };
    match process {
        -1 => Err(io::Error::last_os_error()),
        0 => std::process::exit(child()),
        process => Pid::from_raw(process).ok_or_else(|| io::Error::other("a process without a number")),
    }
}

/// Enters new namespaces as the same user. Processes started from here on are in their own process namespace.
fn unshare() -> io::Result<()> {
    let (user, group) = (getuid().as_raw(), getgid().as_raw());
    let others = UnshareFlags::NEWNS | UnshareFlags::NEWPID | UnshareFlags::NEWIPC | UnshareFlags::NEWNET;
    if enter(UnshareFlags::NEWUSER | others).is_err() {
        // If the system has no user namespaces, root can create the others without one.
        return enter(others);
    }
    fs::write("/proc/self/setgroups", "deny")?;
    fs::write("/proc/self/uid_map", format!("{user} {user} 1"))?;
    fs::write("/proc/self/gid_map", format!("{group} {group} 1"))
}

fn enter(flags: UnshareFlags) -> io::Result<()> {
    #[expect(unsafe_code, reason = "other threads would keep what they share")]
    // SAFETY: this process has one thread, see `fork`, and none of the flags gives up its file descriptors.
    unsafe {
        Ok(unshare_unsafe(flags)?)
    }
}

/// Sets up the inside with what a command may have.
fn prepare_inside(view: &View) -> io::Result<Rank> {
    raise_loopback()?;
    // Every port inside belongs to the command, including the low ones.
    fs::write("/proc/sys/net/ipv4/ip_unprivileged_port_start", "0")?;
    // This file cannot be opened any more once the command is confined.
    let rank = Rank::own()?;
    view.enter()?;
    settle_inside()?;
    Ok(rank)
}

/// Which process the system ends first if memory runs out: the command, and never the process that puts back what it
/// changed.
pub(super) struct Rank {
    file: fs::File,
    own: String,
}

impl Rank {
    /// The rank of this process.
    pub(super) fn own() -> io::Result<Self> {
        let mut file = fs::OpenOptions::new().read(true).write(true).open("/proc/self/oom_score_adj")?;
        let mut own = String::new();
        io::Read::read_to_string(&mut file, &mut own)?;
        Ok(Self { file, own })
    }

    /// Starts a process that is ended first.
    pub(super) fn spawn_first(&self, command: &mut Command) -> io::Result<Child> {
        // A child inherits the rank. Before it runs the program, it restores the rank of this process.
        let (file, own) = (self.file.try_clone()?, self.own.clone().into_bytes());
        #[expect(unsafe_code, reason = "between fork and exec there is no safe way to run anything")]
        // SAFETY: the closure makes one system call, `pwrite`, which neither allocates nor locks, with a descriptor and bytes
        // that the closure owns. That is all that may happen in a child of a process with threads.
        unsafe {
            std::os::unix::process::CommandExt::pre_exec(command, move || file.write_at(&own, 0).map(drop));
        }
        self.file.write_at(b"1000", 0)?;
        let child = command.spawn();
        // The child may have failed before that.
        self.file.write_at(self.own.as_bytes(), 0)?;
        child
    }
}

/// The rest of the setup, which needs no rights.
pub(super) fn settle_inside() -> io::Result<()> {
    limit()?;
    drop_capabilities()?;
    set_no_new_privs(true)?;
    // Otherwise a command could reach into the process that reports how it ended.
    set_dumpable_behavior(DumpableBehavior::NotDumpable)?;
    Ok(set_parent_process_death_signal(Some(Signal::KILL))?)
}

/// Removes every right that the user does not have from the processes inside.
fn drop_capabilities() -> io::Result<()> {
    for bit in 0..64 {
        // The kernel knows fewer capabilities.
        let _unknown = remove_capability_from_bounding_set(CapabilitySet::from_bits_retain(1 << bit));
    }
    clear_ambient_capability_set()?;
    let none = CapabilitySet::empty();
    Ok(set_capabilities(None, CapabilitySets { effective: none, permitted: none, inheritable: none })?)
}

fn limit() -> io::Result<()> {
    for (resource, limit) in [
        (Resource::Nproc, PROCESSES),
        (Resource::Fsize, FILE_BYTES),
        // More than 0, because 0 does not stop a system program that collects core dumps.
        (Resource::Core, 1),
    ] {
        let most = rustix::process::getrlimit(resource).maximum.unwrap_or(u64::MAX).min(limit);
        setrlimit(resource, Rlimit { current: Some(most), maximum: Some(most) })?;
    }
    Ok(())
}

/// Lets processes inside talk to each other.
fn raise_loopback() -> io::Result<()> {
    use std::os::fd::AsRawFd;
    let socket = rustix::net::socket(rustix::net::AddressFamily::INET, rustix::net::SocketType::DGRAM, None)?;
    #[expect(unsafe_code, reason = "the library for system calls does not know this one")]
    // SAFETY: `ifreq` is plain data for which zeros are valid, and it outlives the calls, which get its address and a
    // descriptor that is open. Its name is shorter than the field and ends with a zero byte. `ifru_flags` is the field of
    // the union that both requests read or write.
    unsafe {
        let mut request: libc::ifreq = std::mem::zeroed();
        for (place, letter) in request.ifr_name.iter_mut().zip(c"lo".to_bytes()) {
            *place = libc::c_char::try_from(*letter).unwrap_or(0);
        }
        if libc::ioctl(socket.as_raw_fd(), libc::SIOCGIFFLAGS, &raw mut request) != 0 {
            return Err(io::Error::last_os_error());
        }
        request.ifr_ifru.ifru_flags |= libc::c_short::try_from(libc::IFF_UP).unwrap_or(0);
        if libc::ioctl(socket.as_raw_fd(), libc::SIOCSIFFLAGS, &raw const request) != 0 {
            return Err(io::Error::last_os_error());
        }
    }
    Ok(())
}
