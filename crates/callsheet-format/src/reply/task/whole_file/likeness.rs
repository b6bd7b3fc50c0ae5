//! Whether a text is a whole file with a few of its lines altered: nothing of the file is lost in it (spec 4.4
//! `whole-file-implied`).

use std::collections::BTreeMap;
use std::ops::Range;

use callsheet_core::fuzzy::normalize;
use serde_json::Value;

/// Lines that may be altered.
const MOST: usize = 4;

/// Lines that must be kept.
const LEAST: usize = 3;

/// How much shorter a line may be: one far shorter keeps too little, and a long one is not taken apart for each of many short
/// ones.
const SHORTER: usize = 3;

/// Whether a text begins with the first line of a file, ends with its last one or one like it, and keeps its lines in order, all
/// but a few, each with one like it in its place. Blank lines do not count.
pub(super) fn alters_like(file: &str, written: &str) -> bool {
    let (old, new) = (lines(file), lines(written));
    let (Some(last), Some(end)) = (old.last(), new.last()) else { return false };
    let spans = old.first() == new.first() && (last == end || is_like(last, end));
    let Some(kept) = Some(()).filter(|()| spans).and_then(|()| align(&old, &new)) else { return false };
    let lost = old.len() - kept.len();
    let enough = kept.len() >= LEAST && kept.len() * 10 >= old.len() * 6;
    lost > 0
        && enough
        && gaps(&kept, old.len(), new.len()).all(|(lost, put)| {
            let (lost, put) = (old.get(lost).unwrap_or_default(), new.get(put).unwrap_or_default());
            !put.iter().any(|line| is_left_out(line)) && have_places(lost, put)
        })
}

/// Whether both texts are lists or objects of JSON, however their lines are set, and the new one has all items or members of the
/// old one as they were, in order, and more.
pub(super) fn keeps_items(file: &str, written: &str) -> bool {
    match (serde_json::from_str(file), serde_json::from_str(written)) {
        (Ok(Value::Array(old)), Ok(Value::Array(new))) => {
            let mut others = new.iter();
            !old.is_empty() && new.len() > old.len() && old.iter().all(|item| others.any(|other| other == item))
        }
        (Ok(Value::Object(old)), Ok(Value::Object(new))) => {
            !old.is_empty() && new.len() > old.len() && old.iter().all(|(key, value)| new.get(key) == Some(value))
        }
        _ => false,
    }
}

fn lines(text: &str) -> Vec<&str> {
    text.lines().map(str::trim_end).filter(|line| !line.is_empty()).collect()
}

/// The pairs of lines that are the same, in order, if all but a few of the old ones have such a line. With each number of lines
/// left out, the first place in the new text is kept at which the old ones so far can end.
fn align(old: &[&str], new: &[&str]) -> Option<Vec<(usize, usize)>> {
    let mut places: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
    for (at, line) in new.iter().enumerate() {
        places.entry(line).or_default().push(at);
    }
    let next = |line: &str, from: usize| {
        let places = places.get(line)?;
        places.get(places.partition_point(|place| *place < from)).copied()
    };
    let mut ends: [Option<usize>; MOST + 1] = [None; MOST + 1];
    ends[0] = Some(0);
    // Where each old line stands in the new text, by how many were left out so far.
    let mut taken: Vec<[Option<usize>; MOST + 1]> = Vec::with_capacity(old.len());
    for line in old {
        let mut found = [None; MOST + 1];
        let mut reached = [None; MOST + 1];
        let mut fewer: Option<usize> = None;
        for ((end, found), reached) in ends.iter().zip(&mut found).zip(&mut reached) {
            let place = end.and_then(|end| next(line, end));
            let kept = place.filter(|place| fewer.is_none_or(|left| *place < left));
            *found = kept;
            *reached = kept.map(|place| place + 1).or(fewer);
            fewer = *end;
        }
        taken.push(found);
        ends = reached;
    }
    let mut left = ends.iter().position(Option::is_some)?;
    let mut pairs = Vec::with_capacity(old.len());
    for (at, found) in taken.iter().enumerate().rev() {
        match found.get(left).copied().flatten() {
            Some(place) => pairs.push((at, place)),
            None => left = left.checked_sub(1)?,
        }
    }
    pairs.reverse();
    Some(pairs)
}

/// What stands between lines that are kept: the old lines and the new ones, where old ones are lost.
fn gaps(kept: &[(usize, usize)], old: usize, new: usize) -> impl Iterator<Item = (Range<usize>, Range<usize>)> {
    let ends = kept.iter().copied().chain([(old, new)]);
    let starts = std::iter::once((0, 0)).chain(kept.iter().map(|(old, new)| (old + 1, new + 1)));
    starts.zip(ends).map(|(from, to)| (from.0..to.0, from.1..to.1)).filter(|(lost, _)| !lost.is_empty())
}

/// Whether each of some lines has one like it among others, in order. Two that stand side by side may have one together.
fn have_places(lost: &[&str], put: &[&str]) -> bool {
    let Some((first, rest)) = lost.split_first() else { return true };
    let behind = |is_it: &dyn Fn(&str) -> bool| {
        let at = put.iter().position(|new| is_it(new))?;
        put.get(at + 1..)
    };
    let both = |second: &str| behind(&|new| holds_both(first, second, new));
    behind(&|new| is_like(first, new)).is_some_and(|put| have_places(rest, put))
        || rest.split_first().is_some_and(|(second, rest)| both(second).is_some_and(|put| have_places(rest, put)))
}

/// Whether a line is two others made one: it keeps most of the words of both, and half of those of each at least.
fn holds_both(first: &str, second: &str, new: &str) -> bool {
    if new.len() * SHORTER < first.len() + second.len() {
        return false;
    }
    let (first, second, new) = (normalize(first), normalize(second), normalize(new));
    let mut there = counted(&new);
    let (of_first, all_first) = kept(&first, &mut there);
    let (of_second, all_second) = kept(&second, &mut there);
    let half = |kept: usize, all: usize| kept > 0 && 2 * kept >= all;
    half(of_first, all_first)
        && half(of_second, all_second)
        && 4 * (of_first + of_second) >= 3 * (all_first + all_second)
}

/// How often each word stands in a text.
fn counted(text: &str) -> BTreeMap<&str, usize> {
    let mut there: BTreeMap<&str, usize> = BTreeMap::new();
    for word in text.split(' ') {
        *there.entry(word).or_default() += 1;
    }
    there
}

/// Words of a line that are there, which they are then no more, and all of its words.
fn kept(line: &str, there: &mut BTreeMap<&str, usize>) -> (usize, usize) {
    let (mut all, mut kept) = (0, 0);
    for word in line.split(' ').filter(|word| !word.is_empty()) {
        all += 1;
        if let Some(count) = there.get_mut(word).filter(|count| **count > 0) {
            *count -= 1;
            kept += 1;
        }
    }
    (kept, all)
}

/// Whether a line is another one with something added, or keeps most of its words.
fn is_like(old: &str, new: &str) -> bool {
    let (old, new) = (old.trim(), new.trim());
    if new.starts_with(old) {
        return true;
    }
    if new.len() * SHORTER < old.len() {
        return false;
    }
    let (old, new) = (normalize(old), normalize(new));
    let (kept, all) = kept(&old, &mut counted(&new));
    2 * kept > all
}

/// Whether a line stands for others that are not written out.
fn is_left_out(line: &str) -> bool {
    const WORDS: &[&str] =
        &["as before", "existing code", "no change", "other lines", "remains", "rest of", "same as", "unchanged"];
    let said = normalize(line);
    line.contains("...") || line.contains('…') || WORDS.iter().any(|words| said.contains(words))
}

#[cfg(test)]
mod tests {
    use super::align;

    #[test]
    fn as_few_lines_as_can_be_are_left_out() {
        let pairs = |old: &str, new: &str| {
            let (old, new): (Vec<&str>, Vec<&str>) = (old.split(' ').collect(), new.split(' ').collect());
            align(&old, &new)
        };
        assert_eq!(pairs("a b c", "a x c"), Some(vec![(0, 0), (2, 2)]));
        assert_eq!(pairs("a b a c", "a a b c"), Some(vec![(0, 0), (2, 1), (3, 3)]));
        assert_eq!(pairs("a b c d", "c d a b c d"), Some(vec![(0, 2), (1, 3), (2, 4), (3, 5)]));
        assert_eq!(pairs("z a b", "a b z"), Some(vec![(1, 0), (2, 1)]));
        assert_eq!(pairs("1 2 3 4 5 a", "a"), None, "more are left out than may be");
    }
}
