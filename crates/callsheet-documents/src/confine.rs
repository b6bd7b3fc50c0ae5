//! Takes all rights from the process that reads a document.

use rustix::process::{Resource, Rlimit, setrlimit};

/// Bytes of address space.
const MEMORY: u64 = 2 << 30;
/// Seconds of processor time.
const SECONDS: u64 = 60;

/// Limits memory and processor time, and closes files and network to this thread and those that it starts. Returns
/// whether the system closes them.
pub fn confine() -> bool {
    let limits = [(Resource::As, MEMORY), (Resource::Cpu, SECONDS), (Resource::Fsize, 0), (Resource::Core, 0)];
    for (resource, most) in limits {
        if let Err(error) = setrlimit(resource, Rlimit { current: Some(most), maximum: Some(most) }) {
            tracing::debug!(%error, ?resource, "a limit is not set");
        }
    }
    close()
}

#[cfg(target_os = "linux")]
fn close() -> bool {
    use landlock::{ABI, Access, AccessFs, AccessNet, Ruleset, RulesetAttr, RulesetError, RulesetStatus};
    // An older kernel enforces what it knows.
    let abi = ABI::V5;
    let restrict = || -> Result<_, RulesetError> {
        let rules = Ruleset::default().handle_access(AccessFs::from_all(abi))?;
        rules.handle_access(AccessNet::from_all(abi))?.create()?.restrict_self()
    };
    match restrict() {
        Ok(restricted) => restricted.ruleset != RulesetStatus::NotEnforced,
        Err(error) => {
            tracing::debug!(%error, "files and network are not closed");
            false
        }
    }
}

#[cfg(not(target_os = "linux"))]
fn close() -> bool {
    false
}
