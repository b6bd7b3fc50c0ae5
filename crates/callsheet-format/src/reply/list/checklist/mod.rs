//! A checklist is a sheet (spec 3.15). Items with check boxes become the tasks of a sheet in its canonical form, which
//! is read like any other. Notes of the reading are moved back to the lines of the checklist.

mod items;
mod order;
mod write;

use std::collections::BTreeSet;

use callsheet_core::issue::{IssueCode, RepairCode, Span};
use callsheet_core::links::{link, parse_target};
use callsheet_core::nouns::{Fragment, Goals, Reference, Target};

use crate::reading::{Answer, Diagnostics, Lookup, ReadContext, excerpt};
use crate::reply::references::{files_of, is_none, written_links};
use crate::sheet::{render_goals, render_key};

use super::format::{COMPLETE, CONTINUES, label};
use super::{Kind, ListReply};
use items::{Item, REVIEW, Written};
use order::{Place, places};
pub use write::{Checklist, Lost, write_checklist};

/// The maximum number of paths that are looked up for the words of one item. Pasted text may name any number.
const MOST: usize = 20;

/// Whether a text is a checklist.
pub fn is_checklist(text: &str) -> bool {
    items::parse(text).is_some()
}

/// Whether a text has tasks with keys.
pub fn is_keyed(text: &str) -> bool {
    items::has_need(text)
}

/// Reads a text that is a checklist. `None` if it is not one.
pub(super) fn read(text: &str, kind: Kind, context: &ReadContext) -> Option<(ListReply, Diagnostics)> {
    let written = items::parse(text)?;
    let mut own = Diagnostics::new(kind.phase(), context.strict).by_hand(true);
    let sheet = Sheet::of(&written, context, &mut own);
    let (mut reply, mut notes) = super::read_keyed(&sheet.text, kind, context);
    let line = |line: u32| sheet.line(line);
    notes.relocate(line);
    for span in &mut reply.spans {
        *span = Span { first: line(span.first), last: line(span.last) };
    }
    only_readers(&mut notes);
    own.absorb(notes);
    told(&written, &sheet.places, &mut own);
    Some((reply, own))
}

/// The canonical sheet for a checklist, with the line of the checklist for each of its lines.
struct Sheet {
    text: String,
    lines: Vec<u32>,
    places: Vec<Place>,
}

impl Sheet {
    fn of(written: &Written, context: &ReadContext, notes: &mut Diagnostics) -> Self {
        let places = places(&written.items, notes);
        let mut sheet = Self { text: String::new(), lines: Vec::new(), places };
        let (line, goals) = goals(written, &sheet.places);
        sheet.push(&render_goals(&goals), line);
        sheet.push("## Tasks\n", line);
        let last = sheet.places.iter().filter(|place| !place.done).map(|place| place.level).max();
        let mut by_level: Vec<Vec<usize>> = vec![Vec::new(); last.map_or(0, |last| last + 1)];
        for (at, place) in sheet.places.iter().enumerate().filter(|(_, place)| !place.done) {
            if let Some(level) = by_level.get_mut(place.level) {
                level.push(at);
            }
        }
        for (number, level) in by_level.iter().enumerate() {
            let first = level.first().and_then(|at| written.items.get(*at)).map_or(line, |item| item.span.first);
            sheet.push(&format!("### Task section {}\n", number + 1), first);
            for at in level {
                if let Some(item) = written.items.get(*at) {
                    sheet.task(*at, item, context, notes);
                }
            }
        }
        sheet
    }

    fn push(&mut self, text: &str, line: u32) {
        self.text.push_str(text);
        self.lines.extend(text.lines().map(|_| line));
    }

    fn key(&mut self, label: &str, value: &str, line: u32) {
        let mut text = String::new();
        render_key(&mut text, label, value);
        self.push(&text, line);
    }

    fn task(&mut self, at: usize, item: &Item, context: &ReadContext, notes: &mut Diagnostics) {
        misspelt(item, context, notes);
        let Some(place) = self.places.get(at).cloned() else { return };
        let line = item.span.first;
        let said = |name: &'static str| item.keys.iter().filter(move |key| key.name == name);
        let name_line = said(label::NAME).next().map_or(line, |key| key.line);
        self.key(label::NAME, &place.name, name_line);
        if place.need.is_empty() {
            self.push("- **What is needed**\n", line);
        }
        self.key(label::NEED, &place.need, line);
        for key in said(label::SKILL) {
            self.key(label::SKILL, &key.value, key.line);
        }
        for (line, link) in references(item, |word, line| existing(word, line, context, notes)) {
            self.push(&format!("- **References** {link}\n"), line);
        }
        let after = said(items::AFTER).next().map_or(line, |key| key.line);
        // A task without a name has no text, which is reported.
        let read = place.reads.iter().filter_map(|to| self.places.get(*to)).filter(|to| to.slug.is_some());
        let read: Vec<Place> = read.cloned().collect();
        for to in read {
            let Some(slug) = to.slug else { continue };
            let target = Target::TaskOutput { slug, heading: None };
            self.push(&format!("- **References** {}\n", link(&Reference { title: to.name, target })), after);
        }
        for name in [label::FOR_EACH, label::EXPECTED, label::APPROVAL, REVIEW] {
            for key in said(name) {
                if key.value.is_empty() {
                    self.push(&format!("- **{name}**\n"), key.line);
                }
                self.key(name, &key.value, key.line);
            }
        }
        self.push("\n", item.span.last);
    }

    /// The line of the checklist for a line of the sheet.
    fn line(&self, line: u32) -> u32 {
        let at = usize::try_from(line).unwrap_or(usize::MAX).saturating_sub(1);
        self.lines.get(at).or(self.lines.last()).copied().unwrap_or(1)
    }
}

/// Warns about lines that name a skill with a misspelt key. They are words of the task.
fn misspelt(item: &Item, context: &ReadContext, notes: &mut Diagnostics) {
    for ((line, text), _) in item.text.iter().zip(&item.code).skip(1).filter(|(_, code)| !**code) {
        let Some((key, skill)) = items::slip_of_skill(text) else { continue };
        if context.catalog.iter().any(|known| known.name == skill) {
            let issue = notes.issue(IssueCode::UnknownKey, "", Span::line(*line), &[("label", key)]);
            notes.push(issue.warning().key(key).allowed(key, [label::SKILL]));
        }
    }
}

/// The words above the first item, else the texts of the outermost items, with their line.
fn goals(written: &Written, places: &[Place]) -> (u32, Goals) {
    let marker = |line: &str, marker: &str| line.trim().trim_matches('*').eq_ignore_ascii_case(marker);
    let mut goals = Goals::default();
    let mut lines: Vec<&str> = Vec::new();
    for (_, line) in &written.goals {
        goals.plan_complete |= marker(line, COMPLETE);
        goals.plan_continues |= marker(line, CONTINUES);
        if !marker(line, COMPLETE) && !marker(line, CONTINUES) {
            lines.push(line);
        }
    }
    if lines.iter().all(|line| line.is_empty()) {
        lines.clear();
        let outer = written.items.iter().zip(places).filter(|(item, _)| item.parent.is_none());
        let (open, done): (Vec<_>, Vec<_>) = outer.partition(|(_, place)| !place.done);
        let outer = if open.is_empty() { done } else { open }.into_iter();
        lines.extend(outer.map(|(_, place)| place.need.lines().next().unwrap_or_default()));
    }
    goals.text = lines.join("\n").trim().to_owned();
    let line = written.goals.first().map(|(line, _)| *line);
    (line.or(written.items.first().map(|item| item.span.first)).unwrap_or(1), goals)
}

/// What an item reads besides results of items: what its key says; else the links of its text and the paths in it that
/// `existing` knows. With their lines.
fn references(item: &Item, mut existing: impl FnMut(&str, u32) -> Option<Target>) -> Vec<(u32, String)> {
    let mut said = item.keys.iter().filter(|key| key.name == label::REFERENCES).peekable();
    if said.peek().is_some() {
        let lines = said.flat_map(|key| key.value.lines().map(|line| (key.line, line.to_owned())));
        return lines.filter(|(_, value)| !is_none(value)).collect();
    }
    let mut found = item.links.clone();
    let links = item.links.iter().flat_map(|(_, link)| written_links(link));
    let mut known: Vec<Target> = links.filter_map(|link| parse_target(&link.target).ok()).collect();
    let mut looked: BTreeSet<String> = BTreeSet::new();
    for ((line, text), _) in item.text.iter().zip(&item.code).filter(|(_, code)| !**code) {
        for word in paths_in(text) {
            if looked.len() == MOST || !looked.insert(word.clone()) {
                continue;
            }
            let Some(target) = existing(&word, *line) else { continue };
            // A path with a fragment occurs a second time without it.
            let is_known = known.iter().any(|other| *other == target || other.whole().as_ref() == Some(&target));
            if !is_known {
                let title = word.trim_end_matches('/').rsplit('/').next().unwrap_or(&word).to_owned();
                found.push((*line, link(&Reference { title, target: target.clone() })));
                known.push(target);
            }
        }
    }
    found
}

/// The words of a line that may be paths, first with the fragment that they name, then without. A single word is not a
/// path: it needs a folder or an extension.
fn paths_in(line: &str) -> Vec<String> {
    let links = written_links(line).into_iter().filter(|link| link.linked);
    let of_links: Vec<String> = links.flat_map(|link| files_of(&link.raw).collect::<Vec<_>>()).collect();
    let marks =
        |c: char| matches!(c, '`' | '"' | '\'' | '(' | ')' | '<' | '>' | '*' | ',' | ';' | ':' | '.' | '!' | '?');
    let words = line.split_whitespace().map(|word| word.trim_matches(marks));
    let parts = words.filter(|word| {
        word.split_once('#').is_some_and(|(path, _)| files_of(path).next().is_some_and(|found| found == path))
    });
    let whole = files_of(line).filter(|word| !of_links.contains(word));
    parts.map(str::to_owned).chain(whole).filter(|word| word.contains(['/', '.'])).collect()
}

/// The file or folder whose path is this word. If the path does not exist but a similar one does, that is reported.
fn existing(word: &str, line: u32, context: &ReadContext, notes: &mut Diagnostics) -> Option<Target> {
    let (path, fragment) = match parse_target(word).ok()? {
        Target::File { path, fragment } => (path, fragment),
        Target::Directory(path) => (path, None),
        _ => return None,
    };
    let lookup = Lookup::Path { path: path.clone(), fragment: fragment.clone() };
    match notes.answer(context, lookup)? {
        // A single word can match a folder by chance.
        Answer::File(facts) if facts.directory => word.contains('/').then(|| Target::Directory(facts.path.clone())),
        Answer::File(facts) => {
            let is_there = match &fragment {
                Some(Fragment::Lines { first, .. }) => *first <= facts.lines,
                Some(Fragment::Anchor(_)) => facts.fragment_exists == Some(true),
                None => false,
            };
            Some(Target::File { path: facts.path.clone(), fragment: fragment.filter(|_| is_there) })
        }
        Answer::Missing(candidates) if !candidates.near.is_empty() => {
            let issue = notes.issue(IssueCode::FileMissing, "", Span::line(line), &[("link", word)]).warning();
            notes.push(issue.item(word).allowed(word, candidates.near.iter().map(String::as_str)));
            None
        }
        _ => None,
    }
}

/// Replaces the warnings about items without a skill or an expected output, which a checklist need not name, by one
/// warning about what such items can do.
fn only_readers(notes: &mut Diagnostics) {
    let mut first: Option<Span> = None;
    let mut count = 0usize;
    let mut allowed = Vec::new();
    notes.keep_issues(|issue| {
        if issue.code == IssueCode::SkillMissing {
            count += 1;
            allowed.clone_from(&issue.allowed);
            first = first.into_iter().chain([issue.place.span]).min();
        }
        !matches!(issue.code, IssueCode::SkillMissing | IssueCode::ExpectedMissing)
    });
    if let Some(Span { first, .. }) = first {
        let variant = if count == 1 { "item" } else { "items" };
        let facts = [("count", count.to_string())];
        let facts = facts.each_ref().map(|(name, text)| (*name, text.as_str()));
        let mut issue = notes.issue(IssueCode::SkillMissing, variant, Span::line(first), &facts).warning();
        issue.allowed = allowed;
        notes.push(issue.key(label::SKILL));
    }
}

/// Reports what a checklist does not run: checked items, and text that belongs to no item.
fn told(written: &Written, places: &[Place], notes: &mut Diagnostics) {
    for (item, place) in written.items.iter().zip(places).filter(|(item, _)| item.checked) {
        let below = item.parent.and_then(|parent| places.get(parent)).is_some_and(|parent| parent.done);
        if !below {
            notes.repair(RepairCode::ItemDone, item.span, &place.name, "");
        }
    }
    let mut empty = false;
    notes.keep_issues(|issue| {
        empty |= issue.code == IssueCode::NoTasks;
        issue.code != IssueCode::NoTasks
    });
    if empty {
        notes.push(notes.issue(IssueCode::NoTasks, "items", Span::line(1), &[]).warning());
    }
    for (line, text) in &written.plain {
        notes.push(notes.issue(IssueCode::NeedMissing, "box", Span::line(*line), &[("text", &excerpt(text))]));
    }
    for (line, text) in &written.between {
        let facts = [("text", excerpt(text))];
        let facts = facts.each_ref().map(|(name, text)| (*name, text.as_str()));
        notes.push(notes.issue(IssueCode::TextUnread, "item", Span::line(*line), &facts).warning());
    }
}
