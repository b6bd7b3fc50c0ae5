//! Confines the process that reads a document.

use rustix::process::{Resource, Rlimit, setrlimit};

/// Most bytes of address space.
const MEMORY: u64 = 2 << 30;
/// Most seconds of processor time.
const SECONDS: u64 = 60;

/// Limits the memory and processor time of this process, and bars this thread and those that it starts from files and
/// network. Returns whether the system bars them.
pub fn confine() -> bool {
    let limits = [(Resource::As, MEMORY), (Resource::Cpu, SECONDS), (Resource::Fsize, 0), (Resource::Core, 0)];
    for (resource, most) in limits {
        if let Err(error) = setrlimit(resource, Rlimit { current: Some(most), maximum: Some(most) }) {
            tracing::debug!(%error, ?resource, "a limit can't be set");
        }
    }
    close()
}

#[cfg(target_os = "linux")]
fn close() -> bool {
    use landlock::{ABI, Access, AccessFs, AccessNet, Ruleset, RulesetAttr, RulesetError, RulesetStatus};
    // An older kernel enforces the part of this version that it supports.
    let abi = ABI::V5;
    let restrict = || -> Result<_, RulesetError> {
        let rules = Ruleset::default().handle_access(AccessFs::from_all(abi))?;
        rules.handle_access(AccessNet::from_all(abi))?.create()?.restrict_self()
    };
    match restrict() {
        Ok(restricted) => restricted.ruleset != RulesetStatus::NotEnforced,
        Err(error) => {
            tracing::debug!(%error, "files and network can't be barred");
            false
        }
    }
}

#[cfg(not(target_os = "linux"))]
fn close() -> bool {
    false
}
