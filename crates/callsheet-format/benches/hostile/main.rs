//! Milliseconds that reading takes for each family of hostile replies, at four sizes: `just bench-read [WORD...]`.
//! Linear reading doubles from column to column. Only families whose name holds one of the words are read. For a profiler
//! `--one NAME` reads the family of exactly this name once, at 1 MB; `--at BYTES` at another size.
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

/// The value behind an option of the command line.
fn option(name: &str) -> Option<String> {
    std::env::args().skip_while(|word| word != name).nth(1)
}

/// Reads one family once, so that a profiler sees nothing else.
fn read_one(name: &str) {
    let bytes = option("--at").and_then(|bytes| bytes.parse().ok()).unwrap_or(1024 * 1024);
    for family in families().iter().filter(|family| family.name == name) {
        let text = family.text(bytes);
        let mut context = world();
        settle(family.kind, &text, &mut context);
        let (repairs, issues) = read(family.kind, &text, &context);
        println!("{name}: {repairs} repairs, {issues} issues");
    }
}

fn main() {
    if let Some(name) = option("--one") {
        return read_one(&name);
    }
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
