//! Similarity of names: what may be repaired and what is suggested (spec 4.4, 4.8, 7.7).

use std::borrow::Cow;
use std::collections::BTreeSet;

use strsim::levenshtein;

/// Longer texts are never compared, which bounds the search for candidates.
const LONGEST: usize = 200;

/// Further values are not compared, which also bounds the search for candidates.
const CANDIDATES: usize = 1_000;

/// The nearest values that may be meant, and how many of them are told.
const LOOKED_AT: usize = 12;
const MEANT: usize = 3;

/// The maximum number of edits for which a band is used. For more, the whole table is computed.
const BAND: usize = 2;

/// Whether `a` becomes `b` by at most `limit` insertions, deletions and replacements of characters.
pub fn within(a: &str, b: &str, limit: usize) -> bool {
    if a.len() > LONGEST || b.len() > LONGEST {
        return false;
    }
    if a.is_ascii() && b.is_ascii() && limit <= BAND {
        return near_bytes(a.as_bytes(), b.as_bytes(), limit);
    }
    a.chars().count().abs_diff(b.chars().count()) <= limit && levenshtein(a, b) <= limit
}

/// Like `within`, but for ASCII bytes. Computes only distances that can still be small enough: `limit` cells on each
/// side of the diagonal.
fn near_bytes(a: &[u8], b: &[u8], limit: usize) -> bool {
    let same = a.iter().zip(b).take_while(|(a, b)| a == b).count();
    let (a, b) = (a.get(same..).unwrap_or_default(), b.get(same..).unwrap_or_default());
    let same = a.iter().rev().zip(b.iter().rev()).take_while(|(a, b)| a == b).count();
    let (a, b) = (a.get(..a.len() - same).unwrap_or_default(), b.get(..b.len() - same).unwrap_or_default());
    if a.len().abs_diff(b.len()) > limit {
        return false;
    }
    if a.is_empty() || b.is_empty() || limit == 0 {
        return a.len().max(b.len()) <= limit;
    }
    let far = limit + 1;
    // In each row, the cell at `column + BAND - row` is the distance between the first `row` and the first `column`
    // bytes.
    let mut above = [far; 2 * BAND + 1];
    for (column, cell) in above.iter_mut().skip(BAND).take(limit + 1).enumerate() {
        *cell = column;
    }
    for (row, left) in a.iter().enumerate() {
        let mut cells = [far; 2 * BAND + 1];
        let mut before = far;
        for (at, cell) in cells.iter_mut().enumerate().skip(BAND - limit).take(2 * limit + 1) {
            let Some(column) = (row + 1 + at).checked_sub(BAND).filter(|column| *column <= b.len()) else { continue };
            let over = above.get(at + 1).map_or(far, |cell| cell + 1);
            let replaced = match column.checked_sub(1).and_then(|column| b.get(column)) {
                Some(right) => above.get(at).map_or(far, |cell| cell + usize::from(left != right)),
                None => far,
            };
            *cell = over.min(before + 1).min(replaced).min(far);
            before = *cell;
        }
        if cells.iter().all(|cell| *cell > limit) {
            return false;
        }
        above = cells;
    }
    (b.len() + BAND).checked_sub(a.len()).and_then(|at| above.get(at)).is_some_and(|cell| *cell <= limit)
}

/// At most `count` of `values`, nearest to `wanted` first: by edit distance, then by shared words, then in order.
pub fn nearest<'a>(wanted: &str, values: impl IntoIterator<Item = &'a str>, count: usize) -> Vec<String> {
    let wanted = lower(wanted);
    let pattern = Pattern::of(&wanted);
    let mut ranked: Vec<(usize, &str)> = values
        .into_iter()
        .take(CANDIDATES)
        .map(|value| {
            let lower = lower(value);
            (
                pattern
                    .as_ref()
                    .and_then(|known| known.distance(&lower))
                    .unwrap_or_else(|| levenshtein(&wanted, &lower)),
                value,
            )
        })
        .collect();
    // Shared words are computed only for values that may be among the first.
    let mut distances: Vec<usize> = ranked.iter().map(|(distance, _)| *distance).collect();
    distances.sort_unstable();
    let last = distances.get(count.saturating_sub(1)).or(distances.last()).copied().unwrap_or(0);
    ranked.retain(|(distance, _)| *distance <= last);
    let own = words(&wanted);
    let mut ranked: Vec<(usize, usize, &str)> = ranked
        .into_iter()
        .map(|(distance, value)| (distance, usize::MAX - own.intersection(&words(&lower(value))).count(), value))
        .collect();
    ranked.sort();
    ranked.into_iter().take(count).map(|(_, _, value)| value.to_owned()).collect()
}

/// Values that somebody who wrote `wanted` may have meant, nearest first: a few letters away, or sharing a word.
pub fn meant<'a>(wanted: &str, values: impl IntoIterator<Item = &'a str>) -> Vec<String> {
    let own = normalize(wanted);
    let limit = 1 + own.chars().count() / 4;
    let long = |text: &str| text.chars().count() > 2;
    let mut near = nearest(wanted, values, LOOKED_AT);
    near.retain(|value| {
        let other = normalize(value);
        let slip = |word: &str| within(&own, word, limit) || own.split(' ').any(|mine| long(mine) && mine == word);
        within(&own, &other, limit) || other.split(' ').any(|word| long(word) && slip(word))
    });
    near.truncate(MEANT);
    near
}

/// The result of `meant` as advice for a person, `Did you mean a, b?`. Empty if nothing is similar.
pub fn did_you_mean<'a>(wanted: &str, values: impl IntoIterator<Item = &'a str>) -> String {
    let near = meant(wanted, values);
    if near.is_empty() { String::new() } else { format!("Did you mean {}?", near.join(", ")) }
}

/// The result of `did_you_mean` after the description of a problem. `otherwise` if nothing is similar.
pub fn meant_or<'a>(wanted: &str, values: impl IntoIterator<Item = &'a str>, otherwise: &str) -> String {
    near_or(&meant(wanted, values), otherwise)
}

/// Near values as advice after the description of a problem. `otherwise` if there are none.
pub fn near_or(near: &[String], otherwise: &str) -> String {
    if near.is_empty() { otherwise.to_owned() } else { format!("did you mean `{}`?", near.join("`, `")) }
}

/// The first characters in lower case.
fn lower(text: &str) -> Cow<'_, str> {
    if text.is_ascii() {
        let text = text.get(..LONGEST).unwrap_or(text);
        let mixed = text.bytes().any(|byte| byte.is_ascii_uppercase());
        return if mixed { Cow::Owned(text.to_ascii_lowercase()) } else { Cow::Borrowed(text) };
    }
    Cow::Owned(text.chars().take(LONGEST).flat_map(char::to_lowercase).collect())
}

fn words(text: &str) -> BTreeSet<&str> {
    text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()).collect()
}

/// A short ASCII text with which many are compared. It has a bit for each position of each byte, so a whole column of
/// the distance table is computed at once (Myers' algorithm).
struct Pattern {
    places: [u64; 128],
    length: usize,
}

impl Pattern {
    fn of(text: &str) -> Option<Self> {
        let fits = text.is_ascii() && (1..=64).contains(&text.len());
        let mut places = [0_u64; 128];
        for (at, byte) in text.bytes().enumerate().take(64) {
            if let Some(bits) = places.get_mut(usize::from(byte)) {
                *bits |= 1 << at;
            }
        }
        fits.then_some(Self { places, length: text.len() })
    }

    /// The edit distance of another ASCII text.
    fn distance(&self, other: &str) -> Option<usize> {
        if !other.is_ascii() {
            return None;
        }
        let last = 1_u64 << (self.length - 1);
        let (mut more, mut less) = (u64::MAX, 0_u64);
        let mut distance = self.length;
        for byte in other.bytes() {
            let equal = self.places.get(usize::from(byte)).copied().unwrap_or(0);
            let across = (((equal & more).wrapping_add(more)) ^ more) | equal | less;
            let rises = less | !(across | more);
            let falls = more & across;
            distance += usize::from(rises & last != 0);
            distance -= usize::from(falls & last != 0);
            let rises = (rises << 1) | 1;
            let own = equal | less;
            more = (falls << 1) | !(own | rises);
            less = rises & own;
        }
        Some(distance)
    }
}

/// A name without markup, case and separators, for comparing skills (`skill-near`) and label names.
pub fn normalize(name: &str) -> String {
    let mut out = String::with_capacity(name.len());
    let mut before_lower = false;
    for c in name.chars() {
        if c.is_alphanumeric() {
            if c.is_uppercase() && before_lower && !out.ends_with(' ') {
                out.push(' ');
            }
            before_lower = c.is_lowercase();
            if c.is_ascii() {
                out.push(c.to_ascii_lowercase());
            } else {
                out.extend(c.to_lowercase());
            }
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

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// covers: 4.4, 7.7
        #[test]
        fn short_ways_of_comparing_count_the_same_edits(a in "[abé-]{0,9}", b in "[abé-]{0,9}", limit in 0_usize..4) {
            prop_assert_eq!(within(&a, &b, limit), levenshtein(&a, &b) <= limit);
            if let Some(distance) = Pattern::of(&a).and_then(|pattern| pattern.distance(&b)) {
                prop_assert_eq!(distance, levenshtein(&a, &b));
            }
        }

        #[test]
        fn long_texts_are_compared_alike(a in "[ab]{50,64}", b in "[ab]{50,80}") {
            prop_assert_eq!(Pattern::of(&a).and_then(|pattern| pattern.distance(&b)), Some(levenshtein(&a, &b)));
        }

        #[test]
        fn a_name_with_a_slip_is_meant(name in "[a-m]{4,12}", at in 0_usize..12) {
            let slip = format!("{}z{}", &name[..at.min(name.len())], name.get(at + 1..).unwrap_or(""));
            prop_assert_eq!(meant(&slip, [name.as_str(), "00000000000000000"]), [name.as_str()]);
            prop_assert!(meant("9", [name.as_str()]).is_empty());
        }

        /// Only a few different bytes, so that similar texts occur often.
        #[test]
        fn near_texts_are_near(a in "[abc]{3,12}", at in 0_usize..12, with in "[abc]{0,2}", limit in 0_usize..3) {
            let cut = at.min(a.len());
            let b = format!("{}{with}{}", &a[..cut], a.get(cut + 1..).unwrap_or(""));
            prop_assert_eq!(within(&a, &b, limit), levenshtein(&a, &b) <= limit);
        }
    }
}
