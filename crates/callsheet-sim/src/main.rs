//! `callsheet-sim --seeds A..B [--workers N]` or `callsheet-sim --seed N`.

use std::ops::Range;
use std::process::ExitCode;
use std::time::Instant;

use callsheet_core::events::LogEntry;
use callsheet_sim::{simulate, simulate_all};

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    match arguments.as_slice() {
        ["--seed", seed] => seed.parse().map_or_else(|_| usage(), one),
        ["--seeds", range] => seeds(range).map_or_else(usage, |seeds| many(seeds, cores)),
        ["--seeds", range, "--workers", workers] => match (seeds(range), workers.parse()) {
            (Some(seeds), Ok(workers)) => many(seeds, workers),
            _ => usage(),
        },
        _ => usage(),
    }
}

fn seeds(range: &str) -> Option<Range<u64>> {
    let (from, to) = range.split_once("..")?;
    Some(from.parse().ok()?..to.parse().ok()?)
}

fn usage() -> ExitCode {
    eprintln!("usage: callsheet-sim --seeds A..B [--workers N] | --seed N");
    ExitCode::from(2)
}

fn show(log: &[LogEntry]) {
    for fact in log {
        match serde_json::to_string(fact) {
            Ok(line) => println!("{line}"),
            Err(error) => eprintln!("fact {}: {error}", fact.n),
        }
    }
}

fn one(seed: u64) -> ExitCode {
    match simulate(seed) {
        Ok(report) => {
            show(&report.log);
            eprintln!("seed {seed}: {:?} after {} facts", report.run.outcome(), report.log.len());
            ExitCode::SUCCESS
        }
        Err(broken) => {
            show(&broken.log);
            eprintln!("seed {seed}: {}", broken.promise);
            ExitCode::FAILURE
        }
    }
}

fn many(seeds: Range<u64>, workers: usize) -> ExitCode {
    let begun = Instant::now();
    let summary = simulate_all(seeds, workers);
    print!("{}", summary.marks);
    for (seed, broken) in &summary.broken {
        eprintln!("seed {seed} after {} facts: {}", broken.log.len(), broken.promise);
    }
    let (failed, missing) = (summary.broken.len(), summary.marks.missing());
    let seconds = begun.elapsed().as_secs_f64();
    eprintln!("{} seeds, {} facts, {seconds:.1} s in {workers} threads: {failed} failed", summary.seeds, summary.facts);
    eprintln!("a million seeds take {:.1} h at this rate", seconds / per_million(summary.seeds) / 3_600.0);
    if !missing.is_empty() {
        eprintln!("not reached: {}", missing.join(", "));
    }
    if failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// The share as a number per million.
#[allow(clippy::cast_precision_loss, reason = "numbers of seeds are small")]
fn per_million(seeds: u64) -> f64 {
    seeds.max(1) as f64 / 1e6
}
