//! The names of a checklist's items and their order (spec 3.15).

use std::collections::{BTreeMap, BTreeSet};

use callsheet_core::fuzzy::normalize;
use callsheet_core::issue::{Issue, IssueCode, Span};
use callsheet_core::links::parse_target;
use callsheet_core::names::free_name;
use callsheet_core::nouns::Slug;

use crate::reading::Diagnostics;
use crate::reply::references::{is_none, written_links};

use super::super::format::label;
use super::items::{AFTER, Item, Key};

/// The longest name that is made from the words of an item, in characters.
const LONGEST: usize = 40;

/// An item as a task, before its values are read.
#[derive(Clone, Debug, Default)]
pub(super) struct Place {
    pub name: String,
    pub slug: Option<Slug>,
    /// Its text without its name.
    pub need: String,
    /// Open items whose results it reads, in order.
    pub reads: Vec<usize>,
    /// The section in which it runs, counted from 0.
    pub level: usize,
    /// Whether it does not run, because it or an item above it is checked.
    pub done: bool,
}

/// Names, order and sections of all items.
pub(super) fn places(items: &[Item], notes: &mut Diagnostics) -> Vec<Place> {
    let mut places = named(items);
    let waits = {
        let order = Order::of(items, &places);
        let open: Vec<usize> = (0..items.len()).filter(|at| !order.is_done(*at)).collect();
        let said: Vec<Option<Vec<usize>>> =
            (0..items.len()).map(|at| if order.is_done(at) { None } else { order.said(at, notes) }).collect();
        let mut reads = vec![Vec::new(); items.len()];
        for at in open {
            if let Some(reads) = reads.get_mut(at) {
                *reads = order.reads(at, &said);
            }
        }
        reads
    };
    let by_slug: BTreeMap<Slug, usize> =
        places.iter().enumerate().filter_map(|(at, place)| Some((place.slug.clone()?, at))).collect();
    let mut behind = waits.clone();
    for ((item, place), behind) in items.iter().zip(&places).zip(&mut behind).filter(|((_, place), _)| !place.done) {
        let links = item.links.iter().map(|(_, link)| link.as_str());
        let keys = item.keys.iter().filter(|key| key.name == label::REFERENCES).map(|key| key.value.as_str());
        for link in links.chain(keys).flat_map(written_links) {
            let target = parse_target(&link.target).ok();
            let to = target.and_then(|target| by_slug.get(target.producer()?).copied());
            behind.extend(to.filter(|to| places.get(*to).is_some_and(|to| !to.done && to.slug != place.slug)));
        }
    }
    let levels = levels(items, &places, &mut behind, notes);
    for (at, ((place, reads), level)) in places.iter_mut().zip(waits).zip(levels).enumerate() {
        // What was part of a cycle is not read.
        place.reads = reads.into_iter().filter(|to| behind.get(at).is_some_and(|kept| kept.contains(to))).collect();
        place.level = level;
    }
    places
}

/// Names and needs. Each name is used once.
fn named(items: &[Item]) -> Vec<Place> {
    let mut used: BTreeSet<Slug> = BTreeSet::new();
    let mut places: Vec<Place> = Vec::with_capacity(items.len());
    for item in items {
        let done = item.checked || item.parent.and_then(|parent| places.get(parent)).is_some_and(|parent| parent.done);
        let mut text: Vec<&str> = item.text.iter().map(|(_, line)| line.as_str()).collect();
        while text.len() > 1 && text.last().is_some_and(|line| line.trim().is_empty()) {
            text.pop();
        }
        let first = text.first().copied().unwrap_or_default();
        let (bold, rest) = lead(first);
        let written = item.keys.iter().find(|key| key.name == label::NAME).map(|key| key.value.clone());
        let name = written.or_else(|| bold.map(str::to_owned)).unwrap_or_else(|| first_words(first));
        if let (Some(_), Some(line)) = (bold, text.first_mut()) {
            *line = rest;
        }
        let need = text.join("\n").trim().to_owned();
        let need = if need.is_empty() { bold.unwrap_or_default().to_owned() } else { need };
        let (name, slug) = if name.is_empty() { (name, None) } else { with_slug(&name, &mut used) };
        places.push(Place { name, slug, need, done, ..Place::default() });
    }
    places
}

fn with_slug(name: &str, used: &mut BTreeSet<Slug>) -> (String, Option<Slug>) {
    let (name, slug) = free_name(name, used);
    used.insert(slug.clone());
    (name, Some(slug))
}

/// The bold words at the beginning of a line, and the text after them.
fn lead(line: &str) -> (Option<&str>, &str) {
    let bold = line.strip_prefix("**").and_then(|rest| rest.split_once("**"));
    let Some((name, rest)) = bold.filter(|(name, _)| !name.trim().is_empty()) else { return (None, line) };
    let name = name.trim().trim_end_matches(':').trim_end();
    (Some(name).filter(|name| !name.is_empty()), rest.trim_start().trim_start_matches(':').trim())
}

/// The first words of a line as a name. Links become their titles, and marks are removed.
pub(super) fn first_words(line: &str) -> String {
    let mut plain = line.to_owned();
    for link in written_links(line).iter().filter(|link| link.linked && !link.title.is_empty()) {
        plain = plain.replacen(&*link.raw, &link.title, 1);
    }
    let mut name = String::new();
    for word in plain.split_whitespace() {
        let word = word.replace(['*', '`', '[', ']'], "");
        if !name.is_empty() && name.chars().count() + word.chars().count() >= LONGEST {
            break;
        }
        name.push_str(if name.is_empty() { "" } else { " " });
        name.extend(word.chars().take(LONGEST));
    }
    // A placeholder at an end is a part of the name.
    let is_mark = |end: char| move |c: char| !c.is_alphanumeric() && c != end;
    name.trim_end_matches(is_mark('}')).trim_start_matches(is_mark('{')).to_owned()
}

/// Determines what an item comes after.
struct Order<'a> {
    items: &'a [Item],
    places: &'a [Place],
    /// Items of each list: those below an item, and under `None` those of the outermost list.
    lists: BTreeMap<Option<usize>, Vec<usize>>,
    /// Items by their place.
    numbers: BTreeMap<(usize, u64), usize>,
    /// Items by name and by first line.
    words: BTreeMap<String, BTreeSet<usize>>,
}

impl<'a> Order<'a> {
    fn of(items: &'a [Item], places: &'a [Place]) -> Self {
        let numbers = items.iter().enumerate().map(|(at, item)| (item.place, at)).collect();
        let mut order = Self { items, places, lists: BTreeMap::new(), numbers, words: BTreeMap::new() };
        for (at, (item, place)) in items.iter().zip(places).enumerate() {
            order.lists.entry(item.parent).or_default().push(at);
            let first = item.text.first().map(|(_, line)| line.as_str()).unwrap_or_default();
            for words in [normalize(&place.name), normalize(first)].into_iter().filter(|words| !words.is_empty()) {
                order.words.entry(words).or_default().insert(at);
            }
        }
        order
    }

    fn is_done(&self, at: usize) -> bool {
        self.places.get(at).is_some_and(|place| place.done)
    }

    /// What an item says it comes after. `None` if it says nothing.
    fn said(&self, at: usize, notes: &mut Diagnostics) -> Option<Vec<usize>> {
        let item = self.items.get(at)?;
        let mut keys = item.keys.iter().filter(|key| key.name == AFTER).peekable();
        keys.peek()?;
        notes.set_task(self.places.get(at).map(|place| place.name.as_str()));
        let mut found: Vec<usize> = Vec::new();
        for key in keys.filter(|key| !is_none(&key.value)) {
            for to in self.named(at, key, notes) {
                if !found.contains(&to) {
                    found.push(to);
                }
            }
        }
        notes.set_task(None);
        Some(found)
    }

    /// The items that one `after:` names.
    fn named(&self, at: usize, key: &Key, notes: &mut Diagnostics) -> Vec<usize> {
        if let Ok(to) = self.find(at, &key.value)
            && to != at
        {
            return vec![to];
        }
        let mut found = Vec::new();
        for written in key.value.split(',').map(str::trim).filter(|written| !written.is_empty()) {
            match self.find(at, written) {
                Ok(to) if to == at => notes.push(issue(notes, IssueCode::SelfReference, written, key.line)),
                Ok(to) => found.push(to),
                Err(fits) => {
                    let code = if fits.is_empty() { IssueCode::AnchorMissing } else { IssueCode::ReferenceAmbiguous };
                    let offered = self.places.iter().enumerate().filter(|(at, _)| fits.is_empty() || fits.contains(at));
                    let names = offered.map(|(_, place)| place.name.as_str()).filter(|name| !name.is_empty());
                    notes.push(issue(notes, code, written, key.line).allowed(written, names));
                }
            }
        }
        found
    }

    /// The item that words or a number mean; otherwise all that match.
    fn find(&self, at: usize, written: &str) -> Result<usize, BTreeSet<usize>> {
        if let Ok(number) = written.parse::<u64>() {
            let list = self.items.get(at).map_or(0, |item| item.place.0);
            return self.numbers.get(&(list, number)).copied().ok_or_else(BTreeSet::new);
        }
        let wanted = normalize(written);
        if wanted.is_empty() {
            return Err(BTreeSet::new());
        }
        let begins = |words: &str| {
            words.strip_prefix(wanted.as_str()).is_some_and(|rest| rest.is_empty() || rest.starts_with(' '))
        };
        let exact = self.words.get(&wanted).cloned().unwrap_or_default();
        let near = self.words.range(wanted.clone()..).take_while(|(words, _)| words.starts_with(&wanted));
        let fits: BTreeSet<usize> = if exact.is_empty() {
            near.filter(|(words, _)| begins(words)).flat_map(|(_, at)| at.iter().copied()).collect()
        } else {
            exact
        };
        match (fits.first(), fits.len()) {
            (Some(only), 1) => Ok(*only),
            _ => Err(fits),
        }
    }

    /// The open items whose results an item reads: those that it says it comes after, else the one above it in its
    /// list; and those below it. The first item below another one takes the position of that item.
    fn reads(&self, at: usize, said: &[Option<Vec<usize>>]) -> Vec<usize> {
        let own = said.get(at).and_then(Option::as_ref);
        let below = self.lists.get(&Some(at)).into_iter().flatten().copied().filter(|at| !self.is_done(*at));
        let below: Vec<usize> = below.collect();
        let mut found = match own {
            Some(own) => own.clone(),
            None if below.is_empty() => self.before(at, said),
            None => Vec::new(),
        };
        found.extend(below);
        found.retain(|to| !self.is_done(*to));
        found
    }

    /// The position of an item that says nothing: after the open one above it in its list, or the position of its
    /// parent item.
    fn before(&self, at: usize, said: &[Option<Vec<usize>>]) -> Vec<usize> {
        let mut at = at;
        loop {
            let Some(item) = self.items.get(at) else { return Vec::new() };
            let list = self.lists.get(&item.parent).map(Vec::as_slice).unwrap_or_default();
            let above = list.get(..list.partition_point(|other| *other < at)).unwrap_or_default();
            if let Some(above) = above.iter().rev().find(|above| !self.is_done(**above)) {
                return vec![*above];
            }
            let Some(parent) = item.parent else { return Vec::new() };
            if let Some(said) = said.get(parent).and_then(Option::as_ref) {
                return said.clone();
            }
            at = parent;
        }
    }
}

fn issue(notes: &Diagnostics, code: IssueCode, written: &str, line: u32) -> Issue {
    notes.issue(code, AFTER, Span::line(line), &[("after", written)]).key(AFTER).item(written)
}

/// The section of each item: after the last of those that it comes after. An edge that closes a cycle is reported and
/// removed.
fn levels(items: &[Item], places: &[Place], behind: &mut [Vec<usize>], notes: &mut Diagnostics) -> Vec<usize> {
    #[derive(Clone, Copy, PartialEq)]
    enum Seen {
        No,
        Open,
        Done,
    }
    let mut seen = vec![Seen::No; items.len()];
    let mut levels = vec![0usize; items.len()];
    for start in 0..items.len() {
        let mut path: Vec<(usize, usize)> = vec![(start, 0)];
        while let Some((at, next)) = path.pop() {
            let (Some(edges), Some(state)) = (behind.get_mut(at), seen.get_mut(at)) else { continue };
            if *state == Seen::Done {
                continue;
            }
            *state = Seen::Open;
            let Some(to) = edges.get(next).copied() else {
                *state = Seen::Done;
                let last = edges.iter().filter_map(|to| levels.get(*to)).max().map_or(0, |last| last + 1);
                if let Some(level) = levels.get_mut(at) {
                    *level = last;
                }
                continue;
            };
            if seen.get(to) == Some(&Seen::Open) {
                edges.remove(next);
                path.push((at, next));
                let circle = path.iter().skip_while(|(on, _)| *on != to).filter_map(|(on, _)| places.get(*on));
                let names: Vec<&str> = circle.map(|place| place.name.as_str()).collect();
                circle_issue(items, at, &names, notes);
                continue;
            }
            path.push((at, next + 1));
            path.push((to, 0));
        }
    }
    levels
}

fn circle_issue(items: &[Item], at: usize, names: &[&str], notes: &mut Diagnostics) {
    let Some(item) = items.get(at) else { return };
    let key = item.keys.iter().find(|key| key.name == AFTER);
    let line = key.map_or(item.span.first, |key| key.line);
    notes.set_task(names.last().copied());
    let facts = [("names", names.join(", "))];
    let facts = facts.each_ref().map(|(name, text)| (*name, text.as_str()));
    let issue = notes.issue(IssueCode::ReferenceOrder, "circle", Span::line(line), &facts).key(AFTER);
    notes.push(issue);
    notes.set_task(None);
}
