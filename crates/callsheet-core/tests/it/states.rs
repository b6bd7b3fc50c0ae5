//! The table of states (spec 2.10), pair by pair.
#![allow(clippy::disallowed_methods, clippy::disallowed_macros, reason = "tests read fixtures and say what they skip")]
#![allow(clippy::unwrap_used)]

use std::collections::BTreeSet;

use callsheet_core::run::State;

#[test]
fn the_table_of_states_and_nothing_else() {
    let table = include_str!("../../fixtures/states.txt");
    let mut allowed = BTreeSet::new();
    for line in table.lines().skip(1) {
        let (from, to) = line.split_once(':').unwrap();
        allowed.extend(to.split_whitespace().map(|to| (from.to_owned(), to.to_owned())));
    }
    assert_eq!(allowed.len(), 45);
    for from in State::ALL {
        for to in State::ALL {
            let named = allowed.contains(&(from.as_str().to_owned(), to.as_str().to_owned()));
            assert_eq!(from.may_become(to), named, "{from:?} to {to:?}");
        }
    }
}
