//! Nearness of names: what may be mended and what is suggested (spec 4.4, 4.8, 7.7).

use strsim::levenshtein;

/// Texts longer than this are never compared; it keeps candidate search bounded.
const LONGEST: usize = 200;

/// Values beyond these are not compared; it keeps candidate search bounded too.
const CANDIDATES: usize = 1_000;

/// Whether `a` becomes `b` by at most `limit` insertions, deletions and replacements of characters.
pub fn within(a: &str, b: &str, limit: usize) -> bool {
    a.chars().count().abs_diff(b.chars().count()) <= limit
        && a.len() <= LONGEST
        && b.len() <= LONGEST
        && levenshtein(a, b) <= limit
}

/// At most `count` of `values`, nearest to `wanted` first: by edit distance, then by shared words, then in order.
pub fn nearest<'a>(wanted: &str, values: impl IntoIterator<Item = &'a str>, count: usize) -> Vec<String> {
    let wanted: String = wanted.chars().take(LONGEST).flat_map(char::to_lowercase).collect();
    let mut ranked: Vec<(usize, usize, &str)> = values
        .into_iter()
        .take(CANDIDATES)
        .map(|value| {
            let lower: String = value.chars().take(LONGEST).flat_map(char::to_lowercase).collect();
            (levenshtein(&wanted, &lower), usize::MAX - shared_words(&wanted, &lower), value)
        })
        .collect();
    ranked.sort();
    ranked.into_iter().take(count).map(|(_, _, value)| value.to_owned()).collect()
}

fn shared_words(a: &str, b: &str) -> usize {
    let words = |text: &str| -> std::collections::BTreeSet<String> {
        text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()).map(str::to_owned).collect()
    };
    words(a).intersection(&words(b)).count()
}

/// A name with markup, case and separators taken away: what `skill-near` and label names are compared by.
pub fn folded(name: &str) -> String {
    let mut out = String::with_capacity(name.len());
    let mut before_lower = false;
    for c in name.chars() {
        if c.is_alphanumeric() {
            if c.is_uppercase() && before_lower && !out.ends_with(' ') {
                out.push(' ');
            }
            before_lower = c.is_lowercase();
            out.extend(c.to_lowercase());
        } else {
            before_lower = false;
            if !out.is_empty() && !out.ends_with(' ') {
                out.push(' ');
            }
        }
    }
    out.truncate(out.trim_end().len());
    out
}
