//! Checks from time to time what all processes of a command use together.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::limits::{Limits, Over, kilobytes};
use super::processes::{children, parents, told};

/// Time between two checks.
const PAUSE: Duration = Duration::from_millis(250);
/// How many checks in a row must exceed the limit. A process that starts another counts twice for a moment.
const LOOKS: u32 = 2;

/// What is watched, and from where.
pub(super) struct Watched {
    pub limits: Limits,
    /// Temporary file systems that only the command uses.
    pub temporary: Vec<PathBuf>,
    /// Whether the watching process is the first of a namespace, so that all others in it belong to the command.
    pub first: bool,
}

impl Watched {
    /// Checks until the command uses too much.
    pub(super) fn until_over(&self) -> Over {
        let mut over = 0;
        loop {
            std::thread::park_timeout(PAUSE);
            let found = self.look();
            over = if found.is_some() { over + 1 } else { 0 };
            // Used processor time does not go down again.
            let is_sure = |found: &Over| matches!(found, Over::Cpu(_)) || over >= LOOKS;
            if let Some(found) = found.filter(is_sure) {
                return found;
            }
        }
    }

    fn look(&self) -> Option<Over> {
        let processes = self.processes();
        let own = i32::try_from(std::process::id()).ok();
        let ticks = rustix::param::clock_ticks_per_second().max(1);
        let seconds = |limit: &u64| {
            processes.iter().copied().chain(own).filter_map(cpu).fold(0, u64::saturating_add) / ticks >= *limit
        };
        if let Some(limit) = self.limits.cpu.filter(seconds) {
            return Some(Over::Cpu(limit));
        }
        let too_much = |limit: &u64| {
            let files = self.temporary.iter().map(|folder| used(folder)).fold(0, u64::saturating_add);
            // Outside of an IPC namespace, they belong to all programs.
            let files = files.saturating_add(if self.first { segments() } else { 0 });
            // Shared memory counts for each process here. Only if the sum is too large is it measured exactly.
            let sum = |of: fn(i32) -> Memory| processes.iter().map(|pid| of(*pid)).fold(Memory::default(), Memory::and);
            sum(Memory::at_most).with(files) > *limit && sum(Memory::fair).with(files) > *limit
        };
        self.limits.memory.filter(too_much).map(Over::Memory)
    }

    fn processes(&self) -> Vec<i32> {
        let known = parents();
        if !self.first {
            return children(&known);
        }
        known.into_iter().map(|(pid, _)| pid).filter(|pid| *pid != 1).collect()
    }
}

/// Bytes that the system cannot regain by forgetting copies of what is on disk.
#[derive(Clone, Copy, Default)]
struct Memory {
    own: u64,
    shared: u64,
}

impl Memory {
    fn and(self, other: Self) -> Self {
        Self { own: self.own.saturating_add(other.own), shared: self.shared.saturating_add(other.shared) }
    }

    /// Adds files of temporary file systems. Some of them may be shared memory.
    fn with(self, files: u64) -> u64 {
        self.own.saturating_add(self.shared.max(files))
    }

    /// All memory of a process. Every process allows this to be read.
    fn at_most(pid: i32) -> Self {
        let text = told(pid, "status").unwrap_or_default();
        let of = |name| kilobytes(&text, name).unwrap_or(0);
        let own = ["RssAnon:", "VmSwap:"].map(of).into_iter().fold(tables(&text), u64::saturating_add);
        Self { own, shared: of("RssShmem:") }
    }

    /// Like `at_most`, with each shared part divided by the number of its processes. A process that cannot be
    /// inspected counts fully.
    fn fair(pid: i32) -> Self {
        let text = told(pid, "smaps_rollup").unwrap_or_default();
        let of = |name| kilobytes(&text, name);
        match (of("Pss_Anon:"), of("Pss_Shmem:")) {
            (Some(own), Some(shared)) => {
                let status = told(pid, "status").unwrap_or_default();
                let own = own.saturating_add(of("SwapPss:").unwrap_or(0));
                Self { own: own.saturating_add(tables(&status)), shared }
            }
            _ => Self::at_most(pid),
        }
    }
}

/// Bytes of a process besides normal pages: page tables and large pages.
fn tables(status: &str) -> u64 {
    ["VmPTE:", "HugetlbPages:"].iter().filter_map(|name| kilobytes(status, name)).fold(0, u64::saturating_add)
}

/// Bytes of System V shared memory, which stays when no process uses it any more.
fn segments() -> u64 {
    let text = fs::read_to_string("/proc/sysvipc/shm").unwrap_or_default();
    // The last two columns are resident and swapped bytes.
    let of = |line: &str| line.split_whitespace().skip(14).filter_map(|field| field.parse::<u64>().ok()).sum::<u64>();
    text.lines().skip(1).map(of).fold(0, u64::saturating_add)
}

/// Bytes of the files in a file system.
fn used(folder: &Path) -> u64 {
    rustix::fs::statvfs(folder)
        .map_or(0, |found| found.f_blocks.saturating_sub(found.f_bfree).saturating_mul(found.f_frsize))
}

/// Processor ticks of a process and of the ended children that it waited for.
fn cpu(pid: i32) -> Option<u64> {
    let stat = told(pid, "stat")?;
    let (_, fields) = stat.rsplit_once(')')?;
    let times = fields.split_whitespace().skip(11).take(4);
    Some(times.filter_map(|field| field.parse::<u64>().ok()).fold(0, u64::saturating_add))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_of_the_system_are_read() {
        let text = "Name:\tx\nRssAnon:\t    2048 kB\nRssShmem:\t       1 kB\n";
        assert_eq!((kilobytes(text, "RssAnon:"), kilobytes(text, "VmSwap:")), (Some(2 << 20), None));
        let own = i32::try_from(std::process::id()).unwrap();
        assert!(Memory::at_most(own).with(0) >= Memory::fair(own).with(0) / 2 && Memory::fair(own).own > 0);
        assert!(cpu(own).is_some() && crate::run_command::limits::there_is().is_some_and(|bytes| bytes > 1 << 26));
    }
}
