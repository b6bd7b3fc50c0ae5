//! `callsheet-sim --seeds A..B` or `callsheet-sim --seed N`.

use std::process::ExitCode;

use callsheet_core::record::Fact;
use callsheet_sim::simulate;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match arguments.as_slice() {
        ["--seed", seed] => match seed.parse() {
            Ok(seed) => one(seed),
            Err(_) => usage(),
        },
        ["--seeds", range] => match range.split_once("..").map(|(from, to)| (from.parse(), to.parse())) {
            Some((Ok(from), Ok(to))) => many(from, to),
            _ => usage(),
        },
        _ => usage(),
    }
}

fn usage() -> ExitCode {
    eprintln!("usage: callsheet-sim --seeds A..B | --seed N");
    ExitCode::from(2)
}

fn show(log: &[Fact]) {
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

fn many(from: u64, to: u64) -> ExitCode {
    let mut failed = 0_u64;
    let mut facts = 0_usize;
    for seed in from..to {
        match simulate(seed) {
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
