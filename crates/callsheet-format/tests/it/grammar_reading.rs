//! The promise of constrained decoding: whatever a grammar lets a model write, the reader takes without a repair and
//! without an issue about its form.
//! covers: 4.9

use std::collections::BTreeSet;

use crate::formats::{CONTENT, KINDS, World, full_world, worlds};
use proptest::prelude::*;

fn check(world: &World, kind: &str, text: &str) -> Result<(), TestCaseError> {
    let read = world.read(kind, text);
    let repairs: Vec<_> = read.repairs.iter().filter(|repair| repair.code.as_str() != "call-deduplicated").collect();
    prop_assert!(repairs.is_empty(), "{kind}: {repairs:#?}\n{text}");
    // A kept task may carry no skill, and so may all of a run without skills; a list may name what it calls irrelevant.
    let known = |code: &str| CONTENT.contains(&code) || ["skill-missing", "reference-restricted"].contains(&code);
    let issues: Vec<_> = read.issues.iter().filter(|issue| !known(issue.code.as_str())).collect();
    prop_assert!(issues.is_empty(), "{kind}: {issues:#?}\n{text}");
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(8))]

    #[test]
    fn walks_are_read_without_repairs(world in worlds(), seed: u64) {
        for kind in KINDS {
            let grammar = world.form(kind).grammar();
            for step in 0..3 {
                check(&world, kind, &grammar.sample(seed.wrapping_add(step)))?;
            }
        }
    }
}

/// Every rule of every grammar of a full world is walked, so the property above is about all of them.
#[test]
fn walks_enter_every_rule() {
    let world = full_world();
    for kind in KINDS {
        let grammar = world.form(kind).grammar();
        let mut missing: BTreeSet<String> = grammar.rules.iter().map(|(name, _)| name.clone()).collect();
        for seed in 0..1_000 {
            for entered in grammar.walk(seed).1 {
                missing.remove(&entered);
            }
            if missing.is_empty() {
                break;
            }
        }
        assert!(missing.is_empty(), "{kind}: {missing:?} of {}", grammar.rules.len());
    }
}
