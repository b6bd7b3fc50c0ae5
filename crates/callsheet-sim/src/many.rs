//! Runs many seeds on all cores.

use std::ops::Range;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::marks::Marks;
use crate::shell::{Broken, Report, simulate};

/// The number of broken seeds after which no more are tried.
const ENOUGH: usize = 20;

/// The result of many seeds.
#[derive(Debug, Default)]
pub struct Summary {
    /// The number of seeds that were run.
    pub seeds: u64,
    /// The number of events in their logs.
    pub facts: u64,
    /// The marks that they reached.
    pub marks: Marks,
    /// The seeds that break a promise.
    pub broken: Vec<(u64, Box<Broken>)>,
}

impl Summary {
    fn note(&mut self, seed: u64, simulated: Result<Report, Box<Broken>>) {
        self.seeds += 1;
        match simulated {
            Ok(report) => {
                self.facts += u64::try_from(report.log.len()).unwrap_or(0);
                self.marks.add(&report.marks);
            }
            Err(broken) => self.broken.push((seed, broken)),
        }
    }

    fn add(&mut self, other: Self) {
        self.seeds += other.seeds;
        self.facts += other.facts;
        self.marks.add(&other.marks);
        self.broken.extend(other.broken);
        self.broken.sort_by_key(|(seed, _)| *seed);
    }
}

/// Runs seeds in `workers` threads.
pub fn simulate_all(seeds: Range<u64>, workers: usize) -> Summary {
    let (next, all, broken) = (AtomicU64::new(seeds.start), Mutex::new(Summary::default()), AtomicU64::new(0));
    let work = || {
        let mut summary = Summary::default();
        loop {
            let seed = next.fetch_add(1, Ordering::Relaxed);
            if seed >= seeds.end || usize::try_from(broken.load(Ordering::Relaxed)).unwrap_or(ENOUGH) >= ENOUGH {
                break;
            }
            let simulated = simulate(seed);
            if simulated.is_err() {
                broken.fetch_add(1, Ordering::Relaxed);
            }
            summary.note(seed, simulated);
        }
        if let Ok(mut all) = all.lock() {
            all.add(summary);
        }
    };
    std::thread::scope(|scope| {
        for _ in 0..workers.max(1) {
            scope.spawn(work);
        }
    });
    all.into_inner().unwrap_or_default()
}
