//! The sandbox of commands: writes only to the project, the temporary folder and `/dev/null`.
//!
//! Landlock restricts a thread and whatever it starts. A command is therefore started from a thread of its own, which
//! is restricted first and ends right after. Nothing has to happen between fork and exec, and no other thread of this
//! program is restricted.

use std::path::{Path, PathBuf};
use std::sync::OnceLock;

/// How far the system enforces a restriction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Enforcement {
    /// As asked.
    Full,
    /// The kernel knows some of it only.
    Partial,
    /// Not at all.
    None,
}

/// What the sandbox of commands does on this machine, as probed, not as hoped.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SandboxStatus {
    /// Writing outside the project and the temporary folder is refused.
    pub writes: Enforcement,
    /// For a person: what is enforced and what is not.
    pub text: String,
}

/// Probes once and remembers.
pub fn sandbox_status() -> &'static SandboxStatus {
    static STATUS: OnceLock<SandboxStatus> = OnceLock::new();
    STATUS.get_or_init(|| {
        let writes = std::thread::spawn(|| system::restrict(&writable(Path::new("/nonexistent"))))
            .join()
            .unwrap_or(Enforcement::None);
        let temporary = std::env::temp_dir();
        let writing = match writes {
            Enforcement::Full => {
                format!("Commands can write only to the project, {} and /dev/null (Landlock).", temporary.display())
            }
            Enforcement::Partial => format!(
                "Commands can write only to the project, {} and /dev/null, but this kernel's Landlock is old: some ways \
                 to change files elsewhere stay open.",
                temporary.display()
            ),
            Enforcement::None => {
                "This system has no Landlock: commands can write wherever you can. Approve them one by one.".to_owned()
            }
        };
        SandboxStatus { writes, text: format!("{writing} Reading files and the network are not restricted.") }
    })
}

/// What a command may write to.
pub(crate) fn writable(project: &Path) -> Vec<PathBuf> {
    vec![project.to_path_buf(), std::env::temp_dir(), PathBuf::from("/dev/null")]
}

/// Restricts the calling thread, and all it starts, to writing below `places`.
pub(super) fn restrict(places: &[PathBuf]) -> Enforcement {
    system::restrict(places)
}

#[cfg(target_os = "linux")]
mod system {
    use std::path::PathBuf;

    use landlock::{
        ABI, AccessFs, CompatLevel, Compatible, Ruleset, RulesetAttr, RulesetCreatedAttr, RulesetError, RulesetStatus,
        Scope, path_beneath_rules,
    };

    use super::Enforcement;

    /// The newest rights that were tried with this code. Older kernels enforce what they know of them.
    const RIGHTS: ABI = ABI::V6;

    pub(super) fn restrict(places: &[PathBuf]) -> Enforcement {
        match try_restrict(places) {
            Ok(RulesetStatus::FullyEnforced) => Enforcement::Full,
            Ok(RulesetStatus::PartiallyEnforced) => Enforcement::Partial,
            Ok(RulesetStatus::NotEnforced) => Enforcement::None,
            Err(error) => {
                tracing::warn!(%error, "the sandbox could not be set up");
                Enforcement::None
            }
        }
    }

    fn try_restrict(places: &[PathBuf]) -> Result<RulesetStatus, RulesetError> {
        let write = AccessFs::from_write(RIGHTS);
        let status = Ruleset::default()
            .set_compatibility(CompatLevel::BestEffort)
            .handle_access(write)?
            // A command has no business ending processes that it did not start.
            .scope(Scope::Signal)?
            .create()?
            .add_rules(path_beneath_rules(places, write))?
            .restrict_self()?;
        Ok(status.ruleset)
    }
}

#[cfg(not(target_os = "linux"))]
mod system {
    use std::path::PathBuf;

    use super::Enforcement;

    pub(super) fn restrict(_places: &[PathBuf]) -> Enforcement {
        Enforcement::None
    }
}
