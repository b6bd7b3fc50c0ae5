//! Milliseconds that reading takes for each family of hostile replies, at four sizes: `just bench-read [WORD...]`.
//! Linear reading doubles from column to column. Only families whose name holds one of the words are read.
#![allow(
    clippy::disallowed_types,
    clippy::disallowed_macros,
    clippy::disallowed_methods,
    reason = "a benchmark has a clock and prints"
)]

mod families;
mod world;

use std::time::Instant;

use families::families;
use world::{read, settle, world};

const SIZES: [usize; 4] = [256 * 1024, 512 * 1024, 1024 * 1024, 2 * 1024 * 1024 - 4096];

/// Processor time where the system tells it, so that other work of the machine does not count; else the wall clock.
struct Clock {
    processor: Option<f64>,
    wall: Instant,
}

impl Clock {
    fn start() -> Self {
        Self { processor: Self::processor(), wall: Instant::now() }
    }

    /// Milliseconds of processor time of this process.
    fn processor() -> Option<f64> {
        let text = std::fs::read_to_string("/proc/self/schedstat").ok()?;
        Some(text.split(' ').next()?.parse::<f64>().ok()? / 1e6)
    }

    fn milliseconds(&self) -> f64 {
        match (self.processor, Self::processor()) {
            (Some(start), Some(end)) => end - start,
            _ => self.wall.elapsed().as_secs_f64() * 1e3,
        }
    }
}

fn main() {
    let words: Vec<String> = std::env::args().skip(1).filter(|word| !word.starts_with('-')).collect();
    println!("{:28} {:>8} {:>8} {:>8} {:>8}   repairs, issues", "ms at MB", 0.25, 0.5, 1, 2);
    for family in families() {
        if !words.is_empty() && !words.iter().any(|word| family.name.contains(word.as_str())) {
            continue;
        }
        let mut row = format!("{:28}", family.name);
        let mut notes = (0, 0);
        for size in SIZES {
            let text = family.text(size);
            let mut context = world();
            settle(family.kind, &text, &mut context);
            let mut best = f64::MAX;
            for _ in 0..3 {
                let start = Clock::start();
                notes = read(family.kind, &text, &context);
                best = best.min(start.milliseconds());
                if best > 500.0 {
                    break;
                }
            }
            row.push_str(&format!(" {best:8.1}"));
            if best > 4_000.0 {
                break;
            }
        }
        println!("{row}   {}, {}", notes.0, notes.1);
    }
}
