//! The second barrier around a command: Landlock limits where it may write, and a filter refuses system calls that no
//! command needs. If the system refuses namespaces, it is the only barrier.
//!
//! Landlock restricts a thread and everything that it starts. So a command is started from a separate thread that is
//! restricted first. No other thread of this program is restricted.

use std::path::PathBuf;

#[cfg(target_os = "linux")]
use super::border::View;
#[cfg(target_os = "linux")]
use super::guard::{Guard, Restored};

/// How far the system enforces a restriction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Enforcement {
    /// Completely.
    Full,
    /// Partly, because the kernel supports only some of it.
    Partial,
    /// Not at all.
    None,
}

const NULL: &str = "/dev/null";

/// What a thread is restricted to.
#[derive(Clone, Debug, Default)]
pub(super) struct Restriction {
    /// Where it may write, besides `/dev/null`.
    pub writable: Vec<PathBuf>,
    /// Whether it may open sockets.
    pub connects: bool,
}

/// Restricts the calling thread and everything that it starts. Returns how far file access is restricted, and whether
/// system calls are.
pub(super) fn restrict(restriction: &Restriction) -> (Enforcement, bool) {
    (system::restrict(restriction), system::forbid_calls(!restriction.connects))
}

/// How far writing can be restricted. Tested in a separate thread.
pub(super) fn writes() -> Enforcement {
    std::thread::spawn(|| system::restrict(&Restriction::default())).join().unwrap_or(Enforcement::None)
}

/// Whether a command can be kept from changing any file and from opening any socket. This tests the actual operations:
/// an old kernel that allows truncating or moving files is not enough.
pub(super) fn can_only_read() -> bool {
    std::thread::spawn(|| system::forbid_writing() && system::forbid_calls(true)).join().unwrap_or(false)
}

#[cfg(target_os = "linux")]
mod system {
    use std::path::{Path, PathBuf};

    use landlock::{
        ABI, Access, AccessFs, AccessNet, CompatLevel, Compatible, Ruleset, RulesetAttr, RulesetCreatedAttr,
        RulesetError, RulesetStatus, Scope, path_beneath_rules,
    };
    use rustix::thread::{CapabilitySet, remove_capability_from_bounding_set};

    use super::{Enforcement, NULL, Restriction};

    /// The newest Landlock version that was tested with this code. Older kernels enforce what they support of it.
    const RIGHTS: ABI = ABI::V6;

    /// The first version that also prevents moving and truncating files.
    const NO_WRITING: ABI = ABI::V3;

    pub(super) fn forbid_writing() -> bool {
        let forbidden = Ruleset::default()
            .set_compatibility(CompatLevel::HardRequirement)
            .handle_access(AccessFs::from_write(NO_WRITING))
            .and_then(Ruleset::create)
            .and_then(|ruleset| ruleset.restrict_self());
        forbidden.is_ok_and(|status| status.ruleset == RulesetStatus::FullyEnforced)
    }

    /// From here on, the thread can set only its own limits. What only reads also opens no socket and no io_uring, with
    /// which the kernel would open one, and changes no mode, owner, time or attribute of a file, which Landlock does
    /// not prevent.
    pub(super) fn forbid_calls(only_reads: bool) -> bool {
        super::super::filter::forbid(only_reads).unwrap_or_else(|error| {
            tracing::warn!(%error, "system calls cannot be forbidden");
            false
        })
    }

    /// Drops what lets root read the memory and the environment of other processes. Other users have none of it.
    fn drop_capabilities() {
        for capability in [CapabilitySet::SYS_PTRACE, CapabilitySet::PERFMON, CapabilitySet::SYS_ADMIN] {
            let _not_root = remove_capability_from_bounding_set(capability);
        }
    }

    pub(super) fn restrict(restriction: &Restriction) -> Enforcement {
        drop_capabilities();
        match try_restrict(restriction) {
            Ok(RulesetStatus::FullyEnforced) => Enforcement::Full,
            Ok(RulesetStatus::PartiallyEnforced) => Enforcement::Partial,
            Ok(RulesetStatus::NotEnforced) => Enforcement::None,
            Err(error) => {
                tracing::warn!(%error, "the sandbox could not be set up");
                Enforcement::None
            }
        }
    }

    fn try_restrict(restriction: &Restriction) -> Result<RulesetStatus, RulesetError> {
        let write = AccessFs::from_write(RIGHTS);
        let mut ruleset = Ruleset::default()
            .set_compatibility(CompatLevel::BestEffort)
            .handle_access(write)?
            // A command must not end processes that it did not start.
            .scope(Scope::Signal)?
            // Nor may it talk to them through an abstract socket.
            .scope(Scope::AbstractUnixSocket)?;
        if !restriction.connects {
            // In addition to the system call filter, which not every machine supports.
            ruleset = ruleset.handle_access(AccessNet::from_all(RIGHTS))?;
        }
        let writable = restriction.writable.iter().map(PathBuf::as_path).chain([Path::new(NULL)]);
        let rules = path_beneath_rules(writable, write);
        Ok(ruleset.create()?.add_rules(rules)?.restrict_self()?.ruleset)
    }
}

#[cfg(not(target_os = "linux"))]
mod system {
    use super::{Enforcement, Restriction};

    pub(super) fn forbid_writing() -> bool {
        false
    }

    pub(super) fn forbid_calls(_only_reads: bool) -> bool {
        false
    }

    pub(super) fn restrict(_restriction: &Restriction) -> Enforcement {
        Enforcement::None
    }
}

/// Puts back what changed after the first process inside has gone with all others. The second barrier limits this
/// thread to what the command could write, so a link that the command left leads nowhere else. `None` if there is no
/// such barrier.
#[cfg(target_os = "linux")]
pub(super) fn put_back_outside(guard: &Guard, view: &View) -> Option<Restored> {
    let walled = Restriction { writable: view.writable_now(), connects: true };
    let put_back = || (restrict(&walled).0 != Enforcement::None).then(|| guard.restore());
    std::thread::scope(|scope| scope.spawn(put_back).join().ok()).flatten()
}
