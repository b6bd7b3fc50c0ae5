//! Which processes exist, and who started them.

use std::io;

use rustix::process::getpid;

/// All descendants of this process.
pub(super) fn children(known: &[(i32, i32)]) -> Vec<i32> {
    let mut open = vec![getpid().as_raw_pid()];
    let mut seen = open.clone();
    while let Some(parent) = open.pop() {
        for (pid, _) in known.iter().filter(|(_, of)| *of == parent) {
            if !seen.contains(pid) {
                seen.push(*pid);
                open.push(*pid);
            }
        }
    }
    seen.split_off(1)
}

/// What the system says about a process in one of its files. A program's name in it need not be valid text.
pub(super) fn told(pid: i32, file: &str) -> Option<String> {
    let bytes = std::fs::read(format!("/proc/{pid}/{file}")).ok()?;
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

/// All processes with their parents.
pub(super) fn parents() -> Vec<(i32, i32)> {
    let of = |entry: io::Result<std::fs::DirEntry>| {
        let pid: i32 = entry.ok()?.file_name().to_str()?.parse().ok()?;
        let stat = told(pid, "stat")?;
        // The name before it may contain anything.
        let (_, fields) = stat.rsplit_once(')')?;
        Some((pid, fields.split_whitespace().nth(1)?.parse().ok()?))
    };
    std::fs::read_dir("/proc").into_iter().flatten().filter_map(of).collect()
}
