//! Milliseconds that reading takes for each family of hostile replies, at four sizes: `just bench-read [WORD...]`.
//! Linear reading doubles from column to column. Only families whose name holds one of the words are read. For a profiler
//! `--all` reads every family with every reader, at 1 MB, and prints those above 50 ms with what 0.25 MB takes. `--one NAME` reads the family of exactly this name once, at 1 MB; `--at BYTES` at another size.
#![allow(
    clippy::disallowed_types,
    clippy::disallowed_macros,
    clippy::disallowed_methods,
    reason = "a benchmark has a clock and prints"
)]

mod families;
mod readers;
mod world;

/// A reader of a text, and what a person calls it.
type Reader = (String, Box<dyn Fn(&str) -> f64>);

use std::time::Instant;

use families::families;
use readers::{KINDS, OTHERS};
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

/// Milliseconds, the best of three unless it is slow.
fn timed(mut work: impl FnMut()) -> f64 {
    let mut best = f64::MAX;
    for _ in 0..3 {
        let start = Clock::start();
        work();
        best = best.min(start.milliseconds());
        if best > 500.0 {
            break;
        }
    }
    best
}

fn readers() -> Vec<Reader> {
    let replies = KINDS.iter().map(|kind| {
        let kind = *kind;
        let time = move |text: &str| {
            let mut context = world();
            settle(kind, text, &mut context);
            timed(|| {
                std::hint::black_box(read(kind, text, &context));
            })
        };
        (format!("{kind:?}"), Box::new(time) as Box<dyn Fn(&str) -> f64>)
    });
    let others = OTHERS.iter().map(|(name, reader)| {
        let time = move |text: &str| {
            timed(|| {
                std::hint::black_box(reader(text));
            })
        };
        ((*name).to_owned(), Box::new(time) as Box<dyn Fn(&str) -> f64>)
    });
    replies.chain(others).collect()
}

/// Every family with every reader.
fn read_all(words: &[String]) {
    println!("{:28} {:18} {:>9} {:>9}", "above 50 ms at 1 MB", "reader", "0.25 MB", "1 MB");
    let (mut pairs, mut above) = (0, 0);
    for family in families() {
        let (small, large) = (family.text(256 * 1024), family.text(1024 * 1024));
        for (name, reader) in readers() {
            let is_asked = |word: &String| family.name.contains(word.as_str()) || name.contains(word.as_str());
            if !words.is_empty() && !words.iter().any(is_asked) {
                continue;
            }
            pairs += 1;
            let first = reader(&small);
            let second = if first > 1_000.0 { f64::INFINITY } else { reader(&large) };
            if second > 50.0 {
                above += 1;
                println!("{:28} {name:18} {first:9.1} {second:9.1}", family.name);
            }
        }
    }
    println!("{above} of {pairs} above 50 ms");
}

fn main() {
    if std::env::args().any(|word| word == "--all") {
        return read_all(&std::env::args().skip(1).filter(|word| !word.starts_with('-')).collect::<Vec<_>>());
    }
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
            let best = timed(|| notes = read(family.kind, &text, &context));
            row.push_str(&format!(" {best:8.1}"));
            if best > 4_000.0 {
                break;
            }
        }
        println!("{row}   {}, {}", notes.0, notes.1);
    }
}
