//! `callsheet-sim [--trees] --seeds A..B` or `callsheet-sim [--trees] --seed N`.

use std::process::ExitCode;

use callsheet_core::record::LogEntry;
use callsheet_sim::{Broken, Report, simulate, simulate_tree};

type Simulation = fn(u64) -> Result<Report, Box<Broken>>;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let (simulation, arguments): (Simulation, &[&str]) = match arguments.as_slice() {
        ["--trees", rest @ ..] => (|seed| simulate_tree(seed, None), rest),
        all => (simulate, all),
    };
    match arguments {
        ["--seed", seed] => match seed.parse() {
            Ok(seed) => one(simulation, seed),
            Err(_) => usage(),
        },
        ["--seeds", range] => match range.split_once("..").map(|(from, to)| (from.parse(), to.parse())) {
            Some((Ok(from), Ok(to))) => many(simulation, from, to),
            _ => usage(),
        },
        _ => usage(),
    }
}

fn usage() -> ExitCode {
    eprintln!("usage: callsheet-sim [--trees] --seeds A..B | --seed N");
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

fn one(simulation: Simulation, seed: u64) -> ExitCode {
    match simulation(seed) {
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

fn many(simulation: Simulation, from: u64, to: u64) -> ExitCode {
    let mut failed = 0_u64;
    let mut facts = 0_usize;
    for seed in from..to {
        match simulation(seed) {
            Ok(report) => facts += report.log.len(),
            Err(broken) => {
                failed += 1;
                eprintln!("seed {seed} after {} facts: {}", broken.log.len(), broken.promise);
                if failed >= 20 {
                    break;
                }
            }
        }
    }
    eprintln!("{failed} of {} seeds failed; {facts} facts", to.saturating_sub(from));
    if failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
