//! The system call filter: calls that no command needs, and calls that a command that only reads does not need.

#[cfg(not(target_pointer_width = "64"))]
pub(super) fn forbid(_only_reads: bool) -> Result<bool, std::convert::Infallible> {
    // The filter does not support these processors.
    Ok(false)
}

#[cfg(target_pointer_width = "64")]
pub(super) use calls::forbid;

#[cfg(target_pointer_width = "64")]
mod calls {
    use std::collections::BTreeMap;

    use libc::c_long;
    use seccompiler::{
        BackendError, BpfProgram, Error, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition,
        SeccompFilter, SeccompRule, TargetArch, apply_filter,
    };

    /// This bit marks numbers of a second table of calls that some kernels for x86-64 have.
    const SECOND_TABLE: i64 = 0x4000_0000;

    /// Calls that look into other processes, change the system, or open a part of the kernel that user programs do not
    /// need. A user namespace would restore rights that the command gave up.
    const OF_NOBODY: [c_long; 38] = [
        libc::SYS_ptrace,
        libc::SYS_process_vm_readv,
        libc::SYS_process_vm_writev,
        libc::SYS_kcmp,
        libc::SYS_pidfd_getfd,
        libc::SYS_io_uring_setup,
        libc::SYS_io_uring_enter,
        libc::SYS_io_uring_register,
        libc::SYS_bpf,
        libc::SYS_perf_event_open,
        libc::SYS_userfaultfd,
        libc::SYS_keyctl,
        libc::SYS_add_key,
        libc::SYS_request_key,
        libc::SYS_mount,
        libc::SYS_umount2,
        libc::SYS_pivot_root,
        libc::SYS_chroot,
        libc::SYS_open_tree,
        libc::SYS_move_mount,
        libc::SYS_fsopen,
        libc::SYS_fsconfig,
        libc::SYS_fsmount,
        libc::SYS_fspick,
        libc::SYS_mount_setattr,
        libc::SYS_unshare,
        libc::SYS_setns,
        libc::SYS_open_by_handle_at,
        libc::SYS_kexec_load,
        libc::SYS_init_module,
        libc::SYS_finit_module,
        libc::SYS_delete_module,
        libc::SYS_swapon,
        libc::SYS_swapoff,
        libc::SYS_reboot,
        libc::SYS_acct,
        libc::SYS_syslog,
        libc::SYS_quotactl,
    ];

    /// Calls that a script that only reads does not need. Without an IPC namespace, System V memory and messages belong
    /// to all the user's programs.
    const OF_WRITERS: [c_long; 28] = [
        libc::SYS_shmget,
        libc::SYS_shmat,
        libc::SYS_shmctl,
        libc::SYS_msgget,
        libc::SYS_msgsnd,
        libc::SYS_msgrcv,
        libc::SYS_msgctl,
        libc::SYS_semget,
        libc::SYS_semop,
        libc::SYS_semtimedop,
        libc::SYS_semctl,
        libc::SYS_mq_open,
        libc::SYS_socket,
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
        // fchmodat2, setxattrat and removexattrat. These numbers are the same everywhere, and newer than some
        // libraries.
        452,
        463,
        466,
    ];

    /// The same calls by their old names, and file_setattr.
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

    /// `ioctl` requests that set attributes of a file.
    const SET_ATTRIBUTES: [u64; 2] = [0x4008_6602, 0x401c_5820];
    /// `ioctl` requests that type into a terminal or change what reads it.
    const OF_TERMINALS: [u64; 3] = [0x5412, 0x541c, 0x5423];

    /// Socket families that a command may open: local sockets, both internet protocols, and information on interfaces.
    const FAMILIES: [libc::c_int; 4] = [libc::AF_UNIX, libc::AF_INET, libc::AF_INET6, libc::AF_NETLINK];
    /// The bits of a socket's type that say which kind it is.
    const TYPE: u64 = 0xf;

    /// Calls that set the mode of a file, with the index of the mode among their arguments and the index of the flags
    /// that say whether it applies. A new folder cannot get such bits from its mode.
    const MODES: [(c_long, u8, Option<u8>); 5] = [
        (libc::SYS_fchmod, 1, None),
        (libc::SYS_fchmodat, 2, None),
        (452, 2, None),
        (libc::SYS_mknodat, 2, None),
        (libc::SYS_openat, 3, Some(2)),
    ];
    /// The same calls by their old names.
    #[cfg(target_arch = "x86_64")]
    const OLD_MODES: [(c_long, u8, Option<u8>); 4] = [
        (libc::SYS_chmod, 1, None),
        (libc::SYS_creat, 1, None),
        (libc::SYS_mknod, 1, None),
        (libc::SYS_open, 2, Some(1)),
    ];
    #[cfg(not(target_arch = "x86_64"))]
    const OLD_MODES: [(c_long, u8, Option<u8>); 0] = [];
    /// Flags of a call that creates a file, with a name or without one.
    const MAKING: [libc::c_int; 2] = [libc::O_CREAT, libc::O_TMPFILE & !libc::O_DIRECTORY];

    /// Calls that set when, where and with which priority a process runs, with the index of the process argument. 0
    /// means the caller. Another process could be the one that measures what the command uses.
    const OF_OTHERS: [(c_long, u8); 7] = [
        (libc::SYS_prlimit64, 0),
        (libc::SYS_sched_setscheduler, 0),
        (libc::SYS_sched_setparam, 0),
        (libc::SYS_sched_setattr, 0),
        (libc::SYS_sched_setaffinity, 0),
        (libc::SYS_setpriority, 1),
        (libc::SYS_ioprio_set, 1),
    ];
    /// Those of them that can affect a group or all processes of a user, with the number that means one process.
    const OF_MANY: [(c_long, u64); 2] = [(libc::SYS_setpriority, 0), (libc::SYS_ioprio_set, 1)];

    type Rules = Vec<(c_long, Vec<SeccompRule>)>;

    /// Forbids these calls for the thread and everything that it starts.
    pub(in super::super) fn forbid(only_reads: bool) -> Result<bool, Error> {
        apply(rules(only_reads)?, libc::EPERM)?;
        // A program whose new call fails falls back to the old one, whose arguments the filter can read.
        apply(vec![(libc::SYS_clone3, Vec::new()), (libc::SYS_openat2, Vec::new())], libc::ENOSYS)?;
        Ok(true)
    }

    fn apply(rules: Rules, error: libc::c_int) -> Result<(), Error> {
        let arch = TargetArch::try_from(std::env::consts::ARCH).map_err(Error::Backend)?;
        let twice = |(call, rules): (c_long, Vec<SeccompRule>)| [(call, rules.clone()), (call | SECOND_TABLE, rules)];
        let mut all: BTreeMap<i64, Vec<SeccompRule>> = BTreeMap::new();
        for (call, rules) in rules.into_iter().flat_map(twice) {
            let whole = rules.is_empty() || all.get(&call).is_some_and(Vec::is_empty);
            let known = all.entry(call).or_default();
            // A call that is always refused stays so.
            if whole { known.clear() } else { known.extend(rules) }
        }
        let refused = SeccompAction::Errno(error.unsigned_abs());
        let filter = SeccompFilter::new(all, SeccompAction::Allow, refused, arch)?;
        apply_filter(&BpfProgram::try_from(filter).map_err(Error::Backend)?)
    }

    /// The calls that are refused: always, or with these arguments.
    fn rules(only_reads: bool) -> Result<Rules, BackendError> {
        let mut rules: Rules = OF_NOBODY.into_iter().map(|call| (call, Vec::new())).collect();
        for (call, process) in OF_OTHERS {
            rules.push((call, vec![rule([is(process, SeccompCmpOp::Ne, 0)?])?]));
        }
        for (call, one) in OF_MANY {
            rules.push((call, vec![rule([is(0, SeccompCmpOp::Ne, one)?])?]));
        }
        let users = flag(libc::CLONE_NEWUSER);
        rules.push((libc::SYS_clone, vec![rule([is(0, SeccompCmpOp::MaskedEq(users), users)?])?]));
        let mut requests = OF_TERMINALS.to_vec();
        if only_reads {
            rules.extend(OF_WRITERS.into_iter().chain(OF_OLD).map(|call| (call, Vec::new())));
            requests.extend(SET_ATTRIBUTES);
            // One end of such a pair can send to a socket of another program.
            let loose = [libc::SOCK_DGRAM, libc::SOCK_RAW].map(|kind| is(1, SeccompCmpOp::MaskedEq(TYPE), flag(kind)));
            let loose = loose.into_iter().map(|kind| rule([kind?])).collect::<Result<_, _>>()?;
            rules.push((libc::SYS_socketpair, loose));
        } else {
            rules.push((libc::SYS_socket, sockets()?));
        }
        rules.extend(setting_user()?);
        let requests = requests.into_iter().map(|request| rule([is(1, SeccompCmpOp::Eq, request)?]));
        rules.push((libc::SYS_ioctl, requests.collect::<Result<_, _>>()?));
        Ok(rules)
    }

    /// Calls that would create a set-user-ID or set-group-ID program.
    fn setting_user() -> Result<Rules, BackendError> {
        let mut rules: Rules = Vec::new();
        for (call, mode, flags) in MODES.into_iter().chain(OLD_MODES) {
            for bit in [u64::from(libc::S_ISUID), u64::from(libc::S_ISGID)] {
                let set = is(mode, SeccompCmpOp::MaskedEq(bit), bit)?;
                let Some(flags) = flags else {
                    rules.push((call, vec![rule([set])?]));
                    continue;
                };
                for made in MAKING.map(flag) {
                    rules.push((call, vec![rule([set.clone(), is(flags, SeccompCmpOp::MaskedEq(made), made)?])?]));
                }
            }
        }
        Ok(rules)
    }

    /// Sockets that are refused: other families, and internet sockets that build their own packets.
    fn sockets() -> Result<Vec<SeccompRule>, BackendError> {
        let other = FAMILIES.iter().map(|family| is(0, SeccompCmpOp::Ne, flag(*family)));
        let mut rules = vec![rule(other.collect::<Result<Vec<_>, _>>()?)?];
        for family in [libc::AF_INET, libc::AF_INET6] {
            let raw = is(1, SeccompCmpOp::MaskedEq(TYPE), flag(libc::SOCK_RAW))?;
            rules.push(rule([is(0, SeccompCmpOp::Eq, flag(family))?, raw])?);
        }
        Ok(rules)
    }

    fn flag(value: libc::c_int) -> u64 {
        u64::from(value.unsigned_abs())
    }

    fn rule(conditions: impl Into<Vec<SeccompCondition>>) -> Result<SeccompRule, BackendError> {
        SeccompRule::new(conditions.into())
    }

    fn is(at: u8, operator: SeccompCmpOp, value: u64) -> Result<SeccompCondition, BackendError> {
        SeccompCondition::new(at, SeccompCmpArgLen::Dword, operator, value)
    }
}
