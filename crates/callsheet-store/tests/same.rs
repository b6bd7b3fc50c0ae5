//! Whatever is asked of them, in whatever order, the store in memory and the one on disk answer the same.
#![allow(clippy::disallowed_methods, clippy::disallowed_macros, reason = "tests read fixtures and say what they skip")]
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "test code")]

use callsheet_core::events::{self, Event, LogEntry};
use callsheet_core::nouns::{BlobId, RunId, Settings};
use callsheet_core::record::{Entry, Outcome};
use callsheet_runtime::ports::{InboxMessage, Lock, Store, StoreFault};
use callsheet_store::{MemoryStore, SqliteStore};
use proptest::prelude::*;
use tempfile::TempDir;

#[derive(Clone, Debug)]
enum Ask {
    Lock {
        by: usize,
        run: usize,
    },
    Unlock {
        lock: usize,
    },
    /// `skip` is added to the number that would continue the log.
    Append {
        by: usize,
        lock: usize,
        kinds: Vec<u8>,
        skip: u64,
    },
    Read {
        by: usize,
        run: usize,
        from: u64,
    },
    Post {
        by: usize,
        run: usize,
        text: String,
    },
    Letters {
        by: usize,
        lock: usize,
    },
    Discard {
        by: usize,
        lock: usize,
        up_to: u64,
    },
    Put {
        by: usize,
        byte: u8,
    },
    Get {
        by: usize,
        byte: u8,
    },
    Runs {
        by: usize,
    },
}

fn asks() -> impl Strategy<Value = Vec<Ask>> {
    let (by, run, lock, byte) = (0..2_usize, 0..2_usize, 0..4_usize, 0..3_u8);
    let kinds = prop::collection::vec(0..5_u8, 0..4);
    prop::collection::vec(
        prop_oneof![
            2 => (by.clone(), run.clone()).prop_map(|(by, run)| Ask::Lock { by, run }),
            1 => lock.clone().prop_map(|lock| Ask::Unlock { lock }),
            4 => (by.clone(), lock.clone(), kinds, prop_oneof![5 => Just(0), 1 => 1..3_u64])
                .prop_map(|(by, lock, kinds, skip)| Ask::Append { by, lock, kinds, skip }),
            1 => (by.clone(), run.clone(), 0..6_u64).prop_map(|(by, run, from)| Ask::Read { by, run, from }),
            2 => (by.clone(), run, "[a-zé\"\\\\]{0,5}").prop_map(|(by, run, text)| Ask::Post { by, run, text }),
            1 => (by.clone(), lock.clone()).prop_map(|(by, lock)| Ask::Letters { by, lock }),
            1 => (by.clone(), lock, 0..4_u64).prop_map(|(by, lock, up_to)| Ask::Discard { by, lock, up_to }),
            1 => (by.clone(), byte.clone()).prop_map(|(by, byte)| Ask::Put { by, byte }),
            1 => (by.clone(), byte).prop_map(|(by, byte)| Ask::Get { by, byte }),
            1 => by.prop_map(|by| Ask::Runs { by }),
        ],
        1..40,
    )
}

/// A store with what was got from it. Locks are named by the order in which they were given.
struct Side {
    openers: [Box<dyn Store>; 2],
    locks: Vec<Lock>,
}

fn run(number: usize) -> RunId {
    RunId::new(format!("run-{number}"))
}

fn event(kind: u8, run: &RunId) -> Event {
    let settings = Settings::default();
    match kind {
        0 => events::RunStarted {
            run: run.clone(),
            entry: Entry::Prompt { prompt: format!("\n do {run}\nmore") },
            settings,
            tools: std::collections::BTreeMap::new(),
        }
        .into(),
        1 => events::RunWaiting { outcome: Outcome::ApprovalRequired }.into(),
        2 => events::RunResumed { settings }.into(),
        3 => events::RunConcluded { outcome: Outcome::Incomplete, report: BlobId::of(b"report") }.into(),
        _ => events::CancelRequested {}.into(),
    }
}

/// A fault by its kind: the names of processes differ.
fn told<T: std::fmt::Debug>(result: Result<T, StoreFault>) -> String {
    match result {
        Ok(value) => format!("{value:?}"),
        Err(fault) => format!("{fault:?}").split([' ', '(']).next().unwrap_or_default().to_owned(),
    }
}

impl Side {
    fn lock(&self, number: usize) -> Lock {
        let unknown = || Lock { run: run(0), token: "never given".to_owned() };
        self.locks.get(number).cloned().unwrap_or_else(unknown)
    }

    fn ask(&mut self, ask: &Ask) -> String {
        match ask {
            Ask::Lock { by, run: number } => {
                told(self.openers[*by].lock(&run(*number)).map(|lock| self.locks.push(lock)))
            }
            Ask::Unlock { lock } => told(self.openers[0].unlock(&self.lock(*lock))),
            Ask::Append { by, lock, kinds, skip } => {
                let lock = self.lock(*lock);
                let log = self.openers[*by].read(&lock.run, 1).map_or(0, |facts| facts.len() as u64);
                let facts: Vec<LogEntry> = (log + 1 + skip..)
                    .zip(kinds)
                    .map(|(n, kind)| LogEntry::new(n, 100 * n, event(*kind, &lock.run)))
                    .collect();
                told(self.openers[*by].append(&lock, &facts))
            }
            Ask::Read { by, run: number, from } => told(self.openers[*by].read(&run(*number), *from)),
            Ask::Post { by, run: number, text } => told(
                self.openers[*by].post(&run(*number), &InboxMessage::Reply { text: text.clone(), to: None }.into()),
            ),
            Ask::Letters { by, lock } => told(self.openers[*by].messages(&self.lock(*lock))),
            Ask::Discard { by, lock, up_to } => told(self.openers[*by].discard(&self.lock(*lock), *up_to)),
            Ask::Put { by, byte } => told(self.openers[*by].put_blob(&[*byte])),
            Ask::Get { by, byte } => told(self.openers[*by].blob(&BlobId::of(&[*byte]))),
            Ask::Runs { by } => told(self.openers[*by].runs().map(|runs| {
                let named = |owner: Option<String>| owner.map(|_| "somebody".to_owned());
                runs.into_iter()
                    .map(|summary| {
                        let owner = named(summary.owner.clone());
                        callsheet_runtime::ports::RunSummary { owner, ..summary }
                    })
                    .collect::<Vec<_>>()
            })),
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]
    #[test]
    fn both_stores_answer_the_same(asks in asks()) {
        let project = TempDir::new().unwrap();
        let disk = || Box::new(SqliteStore::open(project.path()).unwrap()) as Box<dyn Store>;
        let memory = MemoryStore::new();
        let other = memory.another_process();
        let mut disk = Side { openers: [disk(), disk()], locks: Vec::new() };
        let mut memory = Side { openers: [Box::new(memory), Box::new(other)], locks: Vec::new() };
        for ask in &asks {
            prop_assert_eq!(disk.ask(ask), memory.ask(ask), "{:?}", ask);
        }
    }
}
