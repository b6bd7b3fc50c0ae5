//! Limits on the memory and processor time that all processes of a command use together.

use std::fs;

use callsheet_runtime::paths::Granted;
use serde::{Deserialize, Serialize};

/// What a command may use.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Limits {
    /// Bytes of memory.
    pub(super) memory: Option<u64>,
    /// Seconds of processor time. Without this limit, the time limit and the number of processors bound it.
    pub(super) cpu: Option<u64>,
}

/// The limit that a command exceeded, in bytes or seconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Over {
    Memory(u64),
    Cpu(u64),
}

impl Limits {
    /// The user's settings. The default for memory is three quarters of what exists.
    pub(crate) fn of(granted: &Granted) -> Self {
        let set = granted.memory_mb.map(|mb| mb.saturating_mul(1 << 20));
        Self { memory: set.or_else(|| Some(there_is()? / 4 * 3)), cpu: granted.cpu_seconds }
    }
}

/// Bytes of memory of this machine, or of the container that this program runs in.
pub(super) fn there_is() -> Option<u64> {
    let machine = fs::read_to_string("/proc/meminfo").ok().and_then(|text| kilobytes(&text, "MemTotal:"));
    let container = fs::read_to_string("/sys/fs/cgroup/memory.max").ok().and_then(|text| text.trim().parse().ok());
    machine.into_iter().chain(container).min()
}

/// The bytes after a name in a system file.
pub(super) fn kilobytes(text: &str, name: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix(name))?;
    line.trim().trim_end_matches("kB").trim().parse().ok().map(|kb: u64| kb.saturating_mul(1024))
}
