//! The sandbox of commands: writes only to the project, the temporary folder and `/dev/null`; of those that only read,
//! writes to a folder of their own and no sockets of any kind.
//!
//! Landlock restricts a thread and whatever it starts. A command is therefore started from a thread of its own, which
//! is restricted first and ends right after. Nothing has to happen between fork and exec, and no other thread of this
//! program is restricted.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use callsheet_runtime::paths::Workspace;
use tempfile::TempDir;

use super::worktree::Worktree;

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
        let probe = || system::restrict(&Confined::to(Path::new("/nonexistent"), &std::env::temp_dir()));
        let writes = std::thread::spawn(probe).join().unwrap_or(Enforcement::None);
        let temporary = std::env::temp_dir();
        let writing = match writes {
            Enforcement::Full => {
                format!("Commands can write only to the project, {} and /dev/null (Landlock).", temporary.display())
            }
            Enforcement::Partial => format!(
                "Commands can write only to the project, {} and /dev/null, but this kernel's Landlock is old and leaves some \
                 ways to change files elsewhere open.",
                temporary.display()
            ),
            Enforcement::None => {
                "This system has no Landlock, so commands can write wherever you can. Approve them one by one.".to_owned()
            }
        };
        let reading = if can_only_read() {
            "Scripts with effects=\"read\" cannot write, open sockets or see secrets in the environment, and run \
             without approval."
        } else {
            "Scripts with effects=\"read\" need approval like those that write."
        };
        let text = format!("{writing} {reading} All commands can read files, and other commands can use the network.");
        SandboxStatus { writes, text }
    })
}

/// Whether a command can be kept from changing any file and from opening any socket. Probed with what must hold: an old
/// kernel that lets files be cut or moved is not enough.
pub(crate) fn can_only_read() -> bool {
    static CAN: OnceLock<bool> = OnceLock::new();
    let probe = || system::forbid_writing() && system::forbid_calls(true);
    *CAN.get_or_init(|| std::thread::spawn(probe).join().unwrap_or(false))
}

/// What a command may do besides reading.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Confined {
    /// Where it may write.
    writable: Vec<PathBuf>,
    /// Whether it may open sockets.
    connects: bool,
    /// It is not started where the system cannot hold it to this.
    required: bool,
    /// The project whose protected part is compared and put back after it.
    guarded: Option<PathBuf>,
}

impl Confined {
    /// It may change the project, but for its protected part, and temporary files.
    pub(crate) fn to(project: &Path, temporary: &Path) -> Self {
        let mut writable = vec![project.to_path_buf(), temporary.to_path_buf(), PathBuf::from(NULL)];
        writable.extend(Worktree::of(project).iter().flat_map(Worktree::writable));
        Self { writable, connects: true, required: false, guarded: Some(project.to_path_buf()) }
    }

    /// It may change these folders too.
    pub(crate) fn and(mut self, folders: &[PathBuf]) -> Self {
        self.writable.extend(folders.iter().cloned());
        self
    }

    /// It may change nothing but its own temporary folder, if it has one, and open no socket. One with a folder runs what
    /// an author wrote and must be held to it; one without runs only programs that read.
    pub(crate) fn reading(own: Option<&Path>) -> Self {
        let writable = own.into_iter().map(Path::to_path_buf).chain([PathBuf::from(NULL)]).collect();
        Self { writable, connects: false, required: own.is_some(), guarded: None }
    }

    /// It may change these, and nothing is put back.
    #[cfg(target_os = "linux")]
    pub(super) fn exactly(writable: Vec<PathBuf>, connects: bool, required: bool) -> Self {
        Self { writable, connects, required, guarded: None }
    }

    #[cfg(target_os = "linux")]
    pub(super) fn writable(&self) -> &[PathBuf] {
        &self.writable
    }

    #[cfg(target_os = "linux")]
    pub(super) fn connects(&self) -> bool {
        self.connects
    }

    #[cfg(target_os = "linux")]
    pub(super) fn required(&self) -> bool {
        self.required
    }

    pub(super) fn guarded(&self) -> Option<&Path> {
        self.guarded.as_deref()
    }
}

/// The folder of a command's temporary files: that of the system or, where the user's own folders lie below it, a new one.
pub(crate) struct Temporary(Option<TempDir>);

impl Temporary {
    /// What commands in a project get.
    pub(crate) fn of(workspace: &Workspace) -> io::Result<Self> {
        let shared = std::env::temp_dir();
        let shared = shared.canonicalize().unwrap_or(shared);
        let holds = workspace.kept().iter().any(|folder| folder.starts_with(&shared));
        let own = || tempfile::Builder::new().prefix("callsheet-").tempdir();
        Ok(Self(if holds { Some(own()?) } else { None }))
    }

    /// The new one, which a command has to be told of.
    pub(crate) fn own(&self) -> Option<&Path> {
        self.0.as_ref().map(TempDir::path)
    }

    /// Where it is.
    pub(crate) fn path(&self) -> PathBuf {
        self.own().map_or_else(std::env::temp_dir, Path::to_path_buf)
    }
}

const NULL: &str = "/dev/null";

/// Restricts the calling thread, and all it starts. True if what must be held is held.
pub(super) fn restrict(confined: &Confined) -> bool {
    let files = system::restrict(confined);
    let calls = system::forbid_calls(!confined.connects);
    !confined.required || (files != Enforcement::None && calls)
}

#[cfg(target_os = "linux")]
mod system {
    use landlock::{
        ABI, Access, AccessFs, AccessNet, CompatLevel, Compatible, Ruleset, RulesetAttr, RulesetCreatedAttr,
        RulesetError, RulesetStatus, Scope, path_beneath_rules,
    };
    use rustix::thread::{CapabilitySet, remove_capability_from_bounding_set};

    use super::{Confined, Enforcement};

    /// The newest rights that were tried with this code. Older kernels enforce what they know of them.
    const RIGHTS: ABI = ABI::V6;

    /// The first rights without which files can still be moved or cut.
    const NO_WRITING: ABI = ABI::V3;

    pub(super) fn forbid_writing() -> bool {
        let forbidden = Ruleset::default()
            .set_compatibility(CompatLevel::HardRequirement)
            .handle_access(AccessFs::from_write(NO_WRITING))
            .and_then(Ruleset::create)
            .and_then(|ruleset| ruleset.restrict_self());
        forbidden.is_ok_and(|status| status.ruleset == RulesetStatus::FullyEnforced)
    }

    /// From here on nobody's limits but one's own can be set. What only reads also makes no socket, nor a ring through which
    /// the kernel would make one, and changes no mode, owner, time or attribute of a file, which Landlock lets pass.
    pub(super) fn forbid_calls(only_reads: bool) -> bool {
        super::filter::forbid(only_reads).unwrap_or_else(|error| {
            tracing::warn!(%error, "system calls cannot be forbidden");
            false
        })
    }

    /// What lets root read the memory and the environment of other processes. Who is not root has none of it to drop.
    fn drop_capabilities() {
        for capability in [CapabilitySet::SYS_PTRACE, CapabilitySet::PERFMON, CapabilitySet::SYS_ADMIN] {
            let _not_root = remove_capability_from_bounding_set(capability);
        }
    }

    pub(super) fn restrict(confined: &Confined) -> Enforcement {
        drop_capabilities();
        match try_restrict(confined) {
            Ok(RulesetStatus::FullyEnforced) => Enforcement::Full,
            Ok(RulesetStatus::PartiallyEnforced) => Enforcement::Partial,
            Ok(RulesetStatus::NotEnforced) => Enforcement::None,
            Err(error) => {
                tracing::warn!(%error, "the sandbox could not be set up");
                Enforcement::None
            }
        }
    }

    fn try_restrict(confined: &Confined) -> Result<RulesetStatus, RulesetError> {
        let write = AccessFs::from_write(RIGHTS);
        let mut ruleset = Ruleset::default()
            .set_compatibility(CompatLevel::BestEffort)
            .handle_access(write)?
            // A command has no business ending processes that it did not start.
            .scope(Scope::Signal)?;
        if !confined.connects {
            // Beside the filter of system calls, which not every machine has.
            ruleset = ruleset.handle_access(AccessNet::from_all(RIGHTS))?;
        }
        let rules = path_beneath_rules(&confined.writable, write);
        Ok(ruleset.create()?.add_rules(rules)?.restrict_self()?.ruleset)
    }
}

#[cfg(all(target_os = "linux", target_pointer_width = "64"))]
mod filter {
    use std::collections::BTreeMap;

    use libc::c_long;
    use seccompiler::{
        BackendError, BpfProgram, Error, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition,
        SeccompFilter, SeccompRule, TargetArch, apply_filter,
    };

    /// Set in the numbers of calls of a second table that some kernels for x86-64 have.
    const SECOND_TABLE: i64 = 0x4000_0000;

    /// What a script that only reads has no use for.
    const OF_WRITERS: [c_long; 17] = [
        libc::SYS_socket,
        libc::SYS_io_uring_setup,
        libc::SYS_fchmod,
        libc::SYS_fchmodat,
        libc::SYS_fchown,
        libc::SYS_fchownat,
        libc::SYS_utimensat,
        libc::SYS_mknodat,
        libc::SYS_setxattr,
        libc::SYS_lsetxattr,
        libc::SYS_fsetxattr,
        libc::SYS_removexattr,
        libc::SYS_lremovexattr,
        libc::SYS_fremovexattr,
        // fchmodat2, setxattrat and removexattrat: these numbers are the same everywhere, and newer than some libraries.
        452,
        463,
        466,
    ];

    /// The same by their old names, and file_setattr.
    #[cfg(target_arch = "x86_64")]
    const OF_OLD: [c_long; 8] = [
        libc::SYS_chmod,
        libc::SYS_chown,
        libc::SYS_lchown,
        libc::SYS_utime,
        libc::SYS_utimes,
        libc::SYS_futimesat,
        libc::SYS_mknod,
        469,
    ];
    #[cfg(not(target_arch = "x86_64"))]
    const OF_OLD: [c_long; 1] = [469];

    /// Requests to `ioctl` that set attributes of a file.
    const SET_ATTRIBUTES: [u64; 2] = [0x4008_6602, 0x401c_5820];

    pub(super) fn forbid(only_reads: bool) -> Result<bool, Error> {
        let arch = TargetArch::try_from(std::env::consts::ARCH).map_err(Error::Backend)?;
        let filter = SeccompFilter::new(rules(only_reads)?, SeccompAction::Allow, refused(), arch)?;
        let program = BpfProgram::try_from(filter).map_err(Error::Backend)?;
        apply_filter(&program).map(|()| true)
    }

    fn refused() -> SeccompAction {
        SeccompAction::Errno(libc::EPERM.unsigned_abs())
    }

    /// The calls that are refused: always, or with these arguments.
    fn rules(only_reads: bool) -> Result<BTreeMap<i64, Vec<SeccompRule>>, BackendError> {
        // The first argument is a process; 0 is the one that calls.
        let others = [argument(0, SeccompCmpOp::Ne, 0)?];
        let mut rules: Vec<(c_long, Vec<SeccompRule>)> = vec![(libc::SYS_prlimit64, others.into())];
        if only_reads {
            rules.extend(OF_WRITERS.into_iter().chain(OF_OLD).map(|call| (call, Vec::new())));
            let requests = SET_ATTRIBUTES.map(|request| argument(1, SeccompCmpOp::Eq, request));
            rules.push((libc::SYS_ioctl, requests.into_iter().collect::<Result<_, _>>()?));
        }
        let twice = |(call, rules): (c_long, Vec<SeccompRule>)| [(call, rules.clone()), (call | SECOND_TABLE, rules)];
        Ok(rules.into_iter().flat_map(twice).collect())
    }

    fn argument(at: u8, is: SeccompCmpOp, value: u64) -> Result<SeccompRule, BackendError> {
        SeccompRule::new(vec![SeccompCondition::new(at, SeccompCmpArgLen::Dword, is, value)?])
    }
}

#[cfg(all(target_os = "linux", not(target_pointer_width = "64")))]
mod filter {
    /// The filter is not made for these processors.
    pub(super) fn forbid(_only_reads: bool) -> Result<bool, std::convert::Infallible> {
        Ok(false)
    }
}

#[cfg(not(target_os = "linux"))]
mod system {
    use super::{Confined, Enforcement};

    pub(super) fn forbid_writing() -> bool {
        false
    }

    pub(super) fn forbid_calls(_only_reads: bool) -> bool {
        false
    }

    pub(super) fn restrict(_confined: &Confined) -> Enforcement {
        Enforcement::None
    }
}
