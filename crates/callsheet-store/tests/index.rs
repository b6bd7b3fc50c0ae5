//! Both indexes against the conformance suite, and what only a file and a process can show.
#![allow(clippy::disallowed_methods, clippy::disallowed_macros, reason = "tests read fixtures and say what they skip")]
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "test code")]

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;

use callsheet_runtime::conformance::index::{IndexWorld, entry};
use callsheet_runtime::ports::{Index, IndexEntry, IndexMode};
use callsheet_store::{MemoryIndex, SqliteIndex};
use tempfile::TempDir;

mod sqlite {
    use super::*;

    struct Project(TempDir);

    fn world() -> Project {
        Project(TempDir::new().unwrap())
    }

    impl IndexWorld for Project {
        fn open(&self) -> Arc<dyn Index> {
            Arc::new(SqliteIndex::new(self.0.path()))
        }
    }

    callsheet_runtime::index_conformance!(world);
}

mod memory {
    use super::*;

    struct Shared(Arc<MemoryIndex>);

    fn world() -> Shared {
        Shared(Arc::new(MemoryIndex::new()))
    }

    impl IndexWorld for Shared {
        fn open(&self) -> Arc<dyn Index> {
            Arc::clone(&self.0) as Arc<dyn Index>
        }
    }

    callsheet_runtime::index_conformance!(world);
}

/// Files of an index that is replaced as a whole.
const FILES: usize = 200;

fn batch(n: usize) -> Vec<IndexEntry> {
    (0..FILES).map(|file| entry(&format!("/p/{file}.rs"), &format!("batch {n}"))).collect()
}

fn replace_until_killed(project: &Path) -> ! {
    let index = SqliteIndex::new(project);
    let mut out = std::io::stdout();
    for n in 1.. {
        index.update_global_index(&batch(n), IndexMode::Replace).unwrap();
        writeln!(out, "acknowledged {n}").unwrap();
        out.flush().unwrap();
    }
    unreachable!("numbers do not end")
}

/// A killed writer leaves the whole of one batch, the last that was acknowledged or the one behind it.
/// covers: C44
#[test]
fn c44_the_index_survives_kill_minus_nine() {
    if let Some(project) = std::env::var_os("CALLSHEET_TEST_PROJECT") {
        replace_until_killed(Path::new(&project));
    }
    let project = TempDir::new().unwrap();
    for round in 1..=6_usize {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "c44_the_index_survives_kill_minus_nine", "--nocapture", "--test-threads=1"])
            .env("CALLSHEET_TEST_PROJECT", project.path())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let number = |line: &str| line.split_once("acknowledged ").and_then(|(_, n)| n.trim().parse::<usize>().ok());
        let (mut seen, mut least) = (0, 0);
        while seen < round {
            let line = lines.next().expect("the child goes on").unwrap();
            if let Some(n) = number(&line) {
                (seen, least) = (seen + 1, n);
            }
        }
        child.kill().unwrap();
        child.wait().unwrap();
        let entries = SqliteIndex::new(project.path()).entries().unwrap();
        assert_eq!(entries.len(), FILES, "a part of a batch was left");
        let of = |entry: &IndexEntry| entry.text.strip_prefix("batch ").and_then(|n| n.parse::<usize>().ok()).unwrap();
        let n = of(&entries[0]);
        assert!(entries.iter().all(|entry| of(entry) == n), "two batches are mixed");
        assert!(n >= least, "acknowledged {least}, found {n}");
    }
}
