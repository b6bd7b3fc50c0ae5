//! How the reader does on the book of real replies: `cargo run -p callsheet-format --example replies` or `just replies`.
//!
//! `--held-out` or `--seen` shows one part of the book, `--list` names the replies that a person would accept and that
//! are asked again, and those accepted that a person would refuse: for their form (`wrongly`), or for what they mean alone
//! (`meaning`), which code does not judge. Below stands how often each repair and issue came, seen and held out apart.
#![allow(clippy::disallowed_methods, clippy::disallowed_macros, reason = "a report reads fixtures and prints")]

#[path = "../tests/it/book/mod.rs"]
mod book;

use std::collections::BTreeMap;
use std::process::ExitCode;

use book::{Entry, Seen, entries};
use callsheet_core::issue::{IssueCode, RepairCode};

/// The share of replies acceptable to a person that should cost no further call, in percent.
const GOAL: u32 = 95;

#[derive(Default)]
struct Tally {
    replies: u32,
    as_is: u32,
    repaired: u32,
    asked_again: u32,
    wrongly: u32,
    meaning: u32,
    acceptable: u32,
    acceptable_accepted: u32,
    repairs: BTreeMap<String, u32>,
    issues: BTreeMap<String, u32>,
}

impl Tally {
    fn take(&mut self, entry: &Entry, seen: &Seen) {
        self.replies += 1;
        let counter = match (seen.accepted, seen.repairs.is_empty()) {
            (true, true) => &mut self.as_is,
            (true, false) => &mut self.repaired,
            (false, _) => &mut self.asked_again,
        };
        *counter += 1;
        if entry.is_acceptable() {
            self.acceptable += 1;
            self.acceptable_accepted += u32::from(seen.accepted);
        } else if entry.is_refused_by_meaning() {
            self.meaning += u32::from(seen.accepted);
        } else {
            self.wrongly += u32::from(seen.accepted);
        }
        let codes = if seen.accepted { (&seen.repairs, &mut self.repairs) } else { (&seen.errors, &mut self.issues) };
        for (code, count) in codes.0 {
            *codes.1.entry(code.clone()).or_insert(0) += count;
        }
    }

    fn row(&self, name: &str) -> String {
        let share = match self.acceptable {
            0 => "-".to_owned(),
            all => format!("{}/{all} ({} %)", self.acceptable_accepted, 100 * self.acceptable_accepted / all),
        };
        format!(
            "{name:<24} {:>4} {:>6} {:>9} {:>9} {:>8} {:>8}  {share}",
            self.replies, self.as_is, self.repaired, self.asked_again, self.wrongly, self.meaning
        )
    }

    fn codes(&self) -> String {
        let list = |codes: &BTreeMap<String, u32>| {
            let mut sorted: Vec<(&String, &u32)> = codes.iter().collect();
            sorted.sort_by_key(|(code, count)| (u32::MAX - **count, (*code).clone()));
            sorted.iter().map(|(code, count)| format!("{code} {count}")).collect::<Vec<_>>().join(", ")
        };
        format!("    repairs: {}\n    asked again for: {}", list(&self.repairs), list(&self.issues))
    }
}

/// How often each code came, in replies that were looked at and in those held out.
#[derive(Default)]
struct Hits(BTreeMap<String, [u32; 2]>);

impl Hits {
    fn add(&mut self, codes: &BTreeMap<String, u32>, held_out: bool) {
        for (code, count) in codes {
            if let Some(part) = self.0.entry(code.clone()).or_default().get_mut(usize::from(held_out)) {
                *part += count;
            }
        }
    }

    /// A line a code, then the codes that never came in a reply held out.
    fn print(&self, title: &str, all: impl Iterator<Item = String>) {
        println!("{title:<24} {:>6} {:>9}", "seen", "held out");
        let mut never: Vec<String> = Vec::new();
        for code in all {
            let [seen, held_out] = self.0.get(&code).copied().unwrap_or_default();
            if seen + held_out > 0 {
                println!("{code:<24} {seen:>6} {held_out:>9}");
            }
            if held_out == 0 {
                never.push(code);
            }
        }
        println!("never held out: {}", never.join(", "));
    }
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let has = |flag: &str| arguments.iter().any(|argument| argument == flag);
    if let Some(other) = arguments.iter().find(|argument| !["--held-out", "--seen", "--list"].contains(&&***argument)) {
        eprintln!("unknown argument {other}; usage: replies [--held-out | --seen] [--list]");
        return ExitCode::from(2);
    }
    let (mut all, mut parts) = (Tally::default(), [Tally::default(), Tally::default()]);
    let mut groups: BTreeMap<(String, &str), Tally> = BTreeMap::new();
    let (mut repairs, mut errors, mut warnings) = (Hits::default(), Hits::default(), Hits::default());
    for entry in entries() {
        let held_out = entry.case.held_out;
        if (has("--held-out") && !held_out) || (has("--seen") && held_out) {
            continue;
        }
        let seen = entry.see();
        if has("--list") && seen.accepted != entry.is_acceptable() {
            println!("{}\n    judged {}\n    {}", entry.path.display(), entry.judged, seen.verdict());
        }
        groups.entry((entry.model.clone(), entry.phase)).or_default().take(&entry, &seen);
        if let Some(part) = parts.get_mut(usize::from(held_out)) {
            part.take(&entry, &seen);
        }
        all.take(&entry, &seen);
        repairs.add(&seen.repairs, held_out);
        errors.add(&seen.errors, held_out);
        warnings.add(&seen.warnings, held_out);
    }
    println!(
        "model and phase          read  as is  repaired  re-asked  wrongly  meaning  accepted of those a person accepts"
    );
    for ((model, phase), tally) in &groups {
        println!("{}\n{}", tally.row(&format!("{model} {phase}")), tally.codes());
    }
    println!("{}\n{}", all.row("all"), all.codes());
    for (name, part) in ["looked at while mending", "held out"].iter().zip(&parts) {
        println!("{}", part.row(name));
    }
    repairs.print("repairs", RepairCode::ALL.iter().map(ToString::to_string));
    errors.print("errors", IssueCode::ALL.iter().map(ToString::to_string));
    warnings.print("warnings", IssueCode::ALL.iter().map(ToString::to_string));
    let reached = 100 * all.acceptable_accepted >= GOAL * all.acceptable;
    println!("goal: {GOAL} % accepted without a further call: {}", if reached { "reached" } else { "missed" });
    if all.wrongly > 0 { ExitCode::FAILURE } else { ExitCode::SUCCESS }
}
