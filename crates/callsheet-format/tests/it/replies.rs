//! The book of real replies of small models (`fixtures/book/README.md`): each is read as its expectation says, and none
//! is accepted that a person would refuse for its form.
#![allow(clippy::disallowed_methods, clippy::disallowed_macros, reason = "tests read fixtures and say what they skip")]

use std::collections::BTreeSet;

use crate::book::{PHASES, case::cases, entries};

/// covers: 4.1, 4.3
#[test]
fn verdicts_hold_and_nothing_is_wrongly_accepted() {
    let bless = std::env::var_os("UPDATE_EXPECT").is_some();
    let mut failures = Vec::new();
    let mut by_meaning = [0, 0];
    for entry in entries() {
        let name = entry.path.display().to_string();
        let seen = entry.see();
        assert_eq!(seen, entry.see(), "{name}: reading is deterministic");
        if bless {
            entry.bless(&seen);
        } else if seen.verdict() != entry.read || seen.words != entry.words {
            let (read, words) = (&entry.read, &entry.words);
            failures.push(format!(
                "{name}:\n--- expected\n{read}\n{words}\n--- seen\n{}\n{}",
                seen.verdict(),
                seen.words
            ));
        }
        if !entry.is_judged() {
            failures.push(format!("{name}: no person has judged it"));
        } else if seen.accepted && entry.is_refused_by_meaning() {
            by_meaning[usize::from(entry.case.held_out)] += 1;
        } else if seen.accepted && !entry.is_acceptable() {
            failures.push(format!("{name}: judged {:?} and accepted\n{}", entry.judged, seen.words));
        }
    }
    let [seen, held_out] = by_meaning;
    println!("refused by meaning alone, and accepted: {seen} seen, {held_out} held out");
    assert!(failures.is_empty(), "{} of the book:\n{}", failures.len(), failures.join("\n\n"));
}

#[test]
fn every_phase_has_cases_to_look_at_and_cases_held_out() {
    for phase in PHASES.iter().filter(|phase| **phase != "continuation") {
        let parts: BTreeSet<bool> = cases(phase).iter().map(|case| case.held_out).collect();
        assert_eq!(parts.len(), 2, "{phase}");
    }
    let models: BTreeSet<String> = entries().into_iter().map(|entry| entry.model).collect();
    assert!(models.len() >= 3, "{models:?}");
}
