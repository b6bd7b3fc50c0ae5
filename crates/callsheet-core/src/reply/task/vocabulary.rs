//! The words of `hollow.words`, by class.

use std::collections::BTreeMap;
use std::sync::LazyLock;

/// What a word may be; a word may be several.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Class {
    Plain,
    Denial,
    Talk,
    Doing,
    Points,
    Shows,
    Behaves,
    Affirms,
    Effect,
    World,
    Success,
    Job,
    Asks,
    Result,
    Chooses,
    Places,
    Asserts,
    Speaker,
    Reader,
    Unable,
}

const NAMES: &[(&str, Class)] = &[
    ("plain", Class::Plain),
    ("denial", Class::Denial),
    ("talk", Class::Talk),
    ("doing", Class::Doing),
    ("points", Class::Points),
    ("shows", Class::Shows),
    ("behaves", Class::Behaves),
    ("affirms", Class::Affirms),
    ("effect", Class::Effect),
    ("world", Class::World),
    ("success", Class::Success),
    ("job", Class::Job),
    ("asks", Class::Asks),
    ("result", Class::Result),
    ("chooses", Class::Chooses),
    ("places", Class::Places),
    ("asserts", Class::Asserts),
    ("speaker", Class::Speaker),
    ("reader", Class::Reader),
    ("unable", Class::Unable),
];

static WORDS: LazyLock<BTreeMap<&'static str, u32>> = LazyLock::new(|| {
    let mut words: BTreeMap<&'static str, u32> = BTreeMap::new();
    let lines = include_str!("hollow.words").lines().filter_map(|line| line.split_once(": "));
    for (name, members) in lines {
        let Some((_, class)) = NAMES.iter().find(|(known, _)| *known == name) else { continue };
        for word in members.split(' ') {
            *words.entry(word).or_default() |= bit(*class);
        }
    }
    words
});

const fn bit(class: Class) -> u32 {
    1 << class as u32
}

/// Whether a word in lower case is of a class.
pub(super) fn is(word: &str, class: Class) -> bool {
    WORDS.get(word).is_some_and(|classes| classes & bit(class) != 0)
}

#[cfg(test)]
mod tests {
    use super::{Class, NAMES, WORDS, bit, is};

    #[test]
    fn every_line_has_a_class_and_every_class_words() {
        for line in include_str!("hollow.words").lines().filter(|line| !line.is_empty() && !line.starts_with('#')) {
            let name = line.split_once(": ").map(|(name, _)| name);
            assert!(NAMES.iter().any(|(known, _)| Some(*known) == name), "{line}");
        }
        for (name, class) in NAMES {
            assert!(WORDS.values().any(|classes| classes & bit(*class) != 0), "{name}");
        }
        assert!(is("welche", Class::Asks) && !is("two", Class::Plain));
    }
}
