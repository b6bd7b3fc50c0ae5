//! The most similar names for an unknown one (spec 7.7).

use std::collections::BTreeSet;

/// The names most similar to `asked`, best first, at most `count`: by edit distance of the folded names, then by words
/// shared with name and description, then by name. `candidates` are pairs of name and description.
pub fn suggest<'a>(asked: &str, candidates: impl IntoIterator<Item = (&'a str, &'a str)>, count: usize) -> Vec<String> {
    let folded = fold(asked);
    let wanted = words(asked);
    let mut ranked: Vec<(usize, usize, &str)> = candidates
        .into_iter()
        .map(|(name, description)| {
            let mut known = words(name);
            known.extend(words(description));
            let distance = strsim::levenshtein(&folded, &fold(name));
            (distance, usize::MAX - wanted.intersection(&known).count(), name)
        })
        .collect();
    ranked.sort_unstable();
    ranked.into_iter().take(count).map(|(_, _, name)| name.to_owned()).collect()
}

/// Folds a name: names that differ only by case, `-`, `_` and spaces are equal.
pub(super) fn fold(name: &str) -> String {
    name.trim().to_lowercase().replace(['-', ' '], "_")
}

fn words(text: &str) -> BTreeSet<String> {
    text.split(|character: char| !character.is_alphanumeric())
        .filter(|word| word.chars().count() > 2)
        .map(str::to_lowercase)
        .collect()
}
