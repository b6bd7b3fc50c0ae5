//! Who holds a lock, and whether that process is still alive.

use callsheet_runtime::ports::StoreFault;
use serde::{Deserialize, Serialize};

/// A process as a lock remembers it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Owner {
    /// Process id.
    pub pid: u32,
    /// Boot and start time of the process. Empty if the system does not report them.
    pub start: String,
    /// Name of the machine.
    pub host: String,
}

/// What is known about the process that holds a lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Life {
    /// The process runs, or its state is unknown.
    MayRun,
    /// The process has certainly ended.
    Dead,
}

impl Owner {
    /// This process.
    pub(crate) fn current() -> Self {
        let pid = std::process::id();
        let start = match system::look(pid) {
            system::ProcessState::Running { start } => start,
            system::ProcessState::Ended | system::ProcessState::Unknown => String::new(),
        };
        Self { pid, start, host: system::host() }
    }

    /// Whether the process ran on this machine: under its present name, or since it was started.
    pub(crate) fn is_of_this_machine(&self) -> bool {
        let boot = system::boot();
        self.host == system::host() || !boot.is_empty() && self.start.split('/').next() == Some(&boot)
    }

    /// What the process id says about the holder. A holder on another machine never counts as dead, because this machine
    /// cannot see it.
    pub(crate) fn life(&self) -> Life {
        if self.host != system::host() {
            return Life::MayRun;
        }
        match system::look(self.pid) {
            system::ProcessState::Ended => Life::Dead,
            system::ProcessState::Running { start } if !self.start.is_empty() && start != self.start => Life::Dead,
            system::ProcessState::Running { .. } | system::ProcessState::Unknown => Life::MayRun,
        }
    }
}

impl std::fmt::Display for Owner {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "process {} on {}", self.pid, self.host)
    }
}

/// A token that nobody can guess and that never repeats.
pub(crate) fn new_token() -> Result<String, StoreFault> {
    let mut bytes = [0_u8; 16];
    getrandom::fill(&mut bytes)
        .map_err(|error| StoreFault::Broken(format!("the system provides no random numbers: {error}")))?;
    Ok(u128::from_ne_bytes(bytes).to_string())
}

#[cfg(unix)]
mod system {
    //! Looking at processes.

    use rustix::io::Errno;
    use rustix::process::{Pid, test_kill_process};

    /// What the system reports about a process id.
    pub(super) enum ProcessState {
        /// A process with this id runs. `start` is empty if the system does not report it.
        Running { start: String },
        /// The process does not exist, or is a zombie until its parent collects it.
        Ended,
        /// The state cannot be determined.
        Unknown,
    }

    pub(super) fn host() -> String {
        rustix::system::uname().nodename().to_string_lossy().into_owned()
    }

    pub(super) fn look(pid: u32) -> ProcessState {
        if let Some(seen) = from_proc(pid) {
            return seen;
        }
        let Some(pid) = i32::try_from(pid).ok().and_then(Pid::from_raw) else { return ProcessState::Ended };
        // `/proc` may be missing, or hide the processes of other users. Signal 0 still tells whether a process exists.
        match test_kill_process(pid) {
            Ok(()) => ProcessState::Running { start: String::new() },
            Err(Errno::SRCH) => ProcessState::Ended,
            Err(_) => ProcessState::Unknown,
        }
    }

    /// Reads `/proc/PID/stat`: the state is the 3rd field, the start time in clock ticks after boot the 22nd. The name
    /// before them may contain spaces and parentheses, so fields are counted from the last `)`.
    fn from_proc(pid: u32) -> Option<ProcessState> {
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        let (_, fields) = stat.rsplit_once(')')?;
        let mut fields = fields.split_whitespace();
        if matches!(fields.next()?, "Z" | "X" | "x") {
            return Some(ProcessState::Ended);
        }
        let ticks = fields.nth(18)?;
        // Ticks count from boot, so the boot id is part of the identity.
        Some(ProcessState::Running { start: format!("{}/{ticks}", boot()) })
    }

    /// The id of this start of the machine. Empty if the system does not report it.
    pub(super) fn boot() -> String {
        let id = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
        id.trim().to_owned()
    }
}

#[cfg(not(unix))]
mod system {
    //! On this system nothing is known about processes, so no lock is ever taken over automatically.

    pub(super) enum ProcessState {
        #[allow(dead_code, reason = "the same shape as on Unix")]
        Running {
            start: String,
        },
        #[allow(dead_code, reason = "the same shape as on Unix")]
        Ended,
        Unknown,
    }

    pub(super) fn host() -> String {
        std::env::var("COMPUTERNAME").unwrap_or_else(|_| "this machine".to_owned())
    }

    pub(super) fn boot() -> String {
        String::new()
    }

    pub(super) fn look(_pid: u32) -> ProcessState {
        ProcessState::Unknown
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn this_process_may_run() {
        let owner = Owner::current();
        assert!(!owner.start.is_empty());
        assert_eq!(owner.life(), Life::MayRun);
    }

    #[test]
    fn a_reused_process_id_is_another_process() {
        let owner = Owner { start: "some-boot/1".to_owned(), ..Owner::current() };
        assert_eq!(owner.life(), Life::Dead);
    }

    #[test]
    fn an_ended_child_is_dead_before_and_after_it_is_reaped() {
        use std::io::Read;
        let mut child =
            std::process::Command::new("sleep").arg("0").stdout(std::process::Stdio::piped()).spawn().unwrap();
        let pid = child.id();
        // The end of its output means that it has exited or is about to. The test waits for the zombie state.
        child.stdout.take().unwrap().read_to_end(&mut Vec::new()).unwrap();
        while !std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap().contains(") Z ") {
            std::thread::yield_now();
        }
        let owner = Owner { pid, ..Owner::current() };
        assert_eq!(owner.life(), Life::Dead, "a zombie holds nothing");
        child.wait().unwrap();
        assert_eq!(owner.life(), Life::Dead);
    }

    #[test]
    fn a_process_of_another_machine_is_never_declared_dead() {
        let owner = Owner { pid: 4_000_000_000, start: String::new(), host: "elsewhere".to_owned() };
        assert_eq!(owner.life(), Life::MayRun);
    }
}
