//! The items of a checklist and the text around them, by line (spec 3.15).

use std::ops::Range;

use callsheet_core::fuzzy::{normalize, within};
use callsheet_core::issue::Span;
use pulldown_cmark::{Event, LinkType, Options, Parser, Tag, TagEnd};

use crate::markdown::{Label, MAX_REPLY_BYTES, dedent, is_blank, label_line, marker};

use super::super::format::{SHEET, TASK_LABELS, label};

/// Keys that an item may have, each on a separate line below it.
const KEYS: [&str; 8] =
    [AFTER, label::NAME, label::SKILL, label::FOR_EACH, label::REFERENCES, label::EXPECTED, label::APPROVAL, REVIEW];

/// Key for what an item comes after.
pub(super) const AFTER: &str = "after";
/// Key for whether a model reviews the result.
pub(super) const REVIEW: &str = "Review";

/// A piece of text with its first line.
pub(super) type Placed<T> = (u32, T);

/// A key of an item.
#[derive(Clone, Debug)]
pub(super) struct Key {
    pub name: &'static str,
    pub value: String,
    pub line: u32,
}

/// An item with a check box.
#[derive(Clone, Debug)]
pub(super) struct Item {
    /// The item below which it is indented, by index.
    pub parent: Option<usize>,
    /// The list that contains it, and its number there.
    pub place: (usize, u64),
    /// Whether it is checked.
    pub checked: bool,
    /// Its text without keys: lines, of which the first is without marker and check box.
    pub text: Vec<Placed<String>>,
    /// Whether each line of its text is code.
    pub code: Vec<bool>,
    /// Its keys in order.
    pub keys: Vec<Key>,
    /// The links in its text, each on one line.
    pub links: Vec<Placed<String>>,
    /// First to last line, without the items below it.
    pub span: Span,
}

/// A checklist as written.
#[derive(Clone, Debug, Default)]
pub(super) struct Written {
    /// Lines above the list, with headings as plain text.
    pub goals: Vec<Placed<String>>,
    /// All items from top to bottom.
    pub items: Vec<Item>,
    /// Items without a check box, in a list that has items with one: the first line of each.
    pub plain: Vec<Placed<String>>,
    /// Paragraphs between and below the items: the first line of each.
    pub between: Vec<Placed<String>>,
}

/// Reads a text as a checklist. It must have an item with a check box, and may not contain the key that every task of a
/// sheet has.
pub(super) fn parse(text: &str) -> Option<Written> {
    let boxed = ["[ ]", "[x]", "[X]"].iter().any(|mark| text.contains(mark));
    if !boxed || text.len() > MAX_REPLY_BYTES {
        return None;
    }
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let marks = marks(text);
    let lines = Lines::of(text);
    let mut code = vec![false; lines.starts.len()];
    let mut hidden = code.clone();
    for (ranges, flags) in [(&marks.code, &mut code), (&marks.hidden, &mut hidden)] {
        for range in ranges {
            flags.get_mut(lines.span(range)).into_iter().flatten().for_each(|flag| *flag = true);
        }
    }
    let keyed = lines.all().zip(&code).any(|(line, code)| !code && is_need(line));
    (!keyed && !marks.items.is_empty()).then(|| written(&marks, &lines, &code, &hidden))
}

/// Whether a line has the key that every task of a sheet has.
fn is_need(line: &str) -> bool {
    label_line(line, TASK_LABELS).is_some_and(|line| {
        line.label == Label::Known(label::NEED) && normalize(&line.written) == normalize(label::NEED)
    })
}

/// Whether a text contains the key that every task of a sheet has.
pub(super) fn has_need(text: &str) -> bool {
    text.lines().any(is_need)
}

/// The Markdown structure of a text.
#[derive(Default)]
struct Marks {
    items: Vec<Mark>,
    links: Vec<(usize, Range<usize>, Option<String>)>,
    code: Vec<Range<usize>>,
    /// Comments and rules.
    hidden: Vec<Range<usize>>,
    /// Outermost lists that have items with check boxes, and their items without one.
    lists: Vec<(Range<usize>, Vec<Range<usize>>)>,
}

struct Mark {
    range: Range<usize>,
    parent: Option<usize>,
    place: (usize, u64),
    checked: bool,
    /// The check box.
    mark: Range<usize>,
}

fn marks(text: &str) -> Marks {
    let mut found = Marks::default();
    let mut open: Vec<(Range<usize>, Option<usize>)> = Vec::new();
    // Open lists, each with the number of its next item.
    let mut numbers: Vec<(usize, u64)> = Vec::new();
    let (mut quotes, mut lists) = (0u32, 0usize);
    for (event, range) in Parser::new_ext(text, Options::ENABLE_TASKLISTS).into_offset_iter() {
        match event {
            Event::Start(Tag::BlockQuote(_)) => quotes += 1,
            Event::End(TagEnd::BlockQuote(_)) => quotes = quotes.saturating_sub(1),
            Event::Start(Tag::List(first)) => {
                if numbers.is_empty() && quotes == 0 {
                    found.lists.push((range, Vec::new()));
                }
                lists += 1;
                numbers.push((lists, first.unwrap_or(1)));
            }
            Event::End(TagEnd::List(_)) => {
                numbers.pop();
                // All items of this list are known now.
                let boxed =
                    |list: &(Range<usize>, _)| found.items.last().is_some_and(|item| item.range.start >= list.0.start);
                if numbers.is_empty() && quotes == 0 && !found.lists.last().is_some_and(boxed) {
                    found.lists.pop();
                }
            }
            Event::Start(Tag::Item) => open.push((range, None)),
            Event::End(TagEnd::Item) => {
                if let Some((_, number)) = numbers.last_mut() {
                    *number = number.saturating_add(1);
                }
                let item = open.pop().filter(|(_, item)| item.is_none() && numbers.len() == 1 && quotes == 0);
                if let Some((range, list)) = item.and_then(|(range, _)| Some((range, found.lists.last_mut()?))) {
                    list.1.push(range);
                }
            }
            Event::TaskListMarker(checked) if quotes == 0 => {
                let parent = open.iter().rev().skip(1).find_map(|(_, item)| *item);
                let at = found.items.len();
                if let Some((item, is)) = open.last_mut().filter(|(_, is)| is.is_none()) {
                    let place = numbers.last().copied().unwrap_or_default();
                    found.items.push(Mark { range: item.clone(), parent, place, checked, mark: range });
                    *is = Some(at);
                }
            }
            Event::Start(Tag::CodeBlock(_)) => found.code.push(range),
            Event::Start(Tag::HtmlBlock) if text.get(range.clone()).is_some_and(|html| html.starts_with("<!--")) => {
                found.hidden.push(range);
            }
            Event::Rule => found.hidden.push(range),
            Event::Start(Tag::Link { link_type, dest_url, .. }) => {
                let item = open.iter().rev().find_map(|(_, item)| *item);
                let address = (link_type != LinkType::Inline).then(|| dest_url.into_string());
                found.links.extend(item.map(|item| (item, range, address)));
            }
            _ => {}
        }
    }
    found
}

/// The lines of a text by their start.
struct Lines<'a> {
    text: &'a str,
    starts: Vec<usize>,
}

impl<'a> Lines<'a> {
    fn of(text: &'a str) -> Self {
        let behind = text.bytes().enumerate().filter(|(_, byte)| *byte == b'\n').map(|(at, _)| at + 1);
        Self { text, starts: std::iter::once(0).chain(behind.filter(|at| *at < text.len())).collect() }
    }

    /// The line of a byte, counted from 0.
    fn at(&self, byte: usize) -> usize {
        self.starts.partition_point(|start| *start <= byte).saturating_sub(1)
    }

    /// The lines in which a range has text.
    fn span(&self, range: &Range<usize>) -> Range<usize> {
        let end = range.start + self.text.get(range.clone()).unwrap_or_default().trim_end().len();
        self.at(range.start)..self.at(end.saturating_sub(1).max(range.start)) + 1
    }

    fn get(&self, line: usize) -> &'a str {
        let start = self.starts.get(line).copied().unwrap_or(self.text.len());
        let end = self.starts.get(line + 1).copied().unwrap_or(self.text.len());
        self.text.get(start..end).unwrap_or_default().trim_end_matches(['\n', '\r'])
    }

    fn all(&self) -> impl Iterator<Item = &'a str> {
        (0..self.starts.len()).map(|line| self.get(line))
    }
}

/// A line number for people.
fn number(line: usize) -> u32 {
    u32::try_from(line + 1).unwrap_or(u32::MAX)
}

fn written(marks: &Marks, lines: &Lines<'_>, code: &[bool], hidden: &[bool]) -> Written {
    let mut owner: Vec<Option<usize>> = vec![None; lines.starts.len()];
    for (at, mark) in marks.items.iter().enumerate() {
        // Blanks before a marker may belong to the item above it.
        let range = mark.mark.start..mark.range.end;
        owner.get_mut(lines.span(&range)).into_iter().flatten().for_each(|owner| *owner = Some(at));
    }
    let mut found = Written { items: marks.items.iter().map(|mark| item(mark, lines)).collect(), ..Written::default() };
    let mut hidden = hidden.to_vec();
    for range in marks.lists.iter().flat_map(|(_, plain)| plain) {
        hidden.get_mut(lines.span(range)).into_iter().flatten().for_each(|hidden| *hidden = true);
        let line = lines.at(range.start);
        let text = marker(lines.get(line)).map_or(lines.get(line), |marker| marker.rest);
        found.plain.push((number(line), text.trim().to_owned()));
    }
    let first = marks.lists.first().map_or(0, |(range, _)| lines.at(range.start));
    let mut above_is_text = false;
    for (at, line) in lines.all().enumerate() {
        let is_code = code.get(at).copied().unwrap_or_default();
        let seen = !is_blank(line) && !hidden.get(at).copied().unwrap_or_default();
        let owner = owner.get(at).copied().flatten();
        if let Some((index, item)) = owner.and_then(|index| Some((index, found.items.get_mut(index)?))) {
            let mark = marks.items.get(index).map_or(0, |mark| lines.at(mark.mark.start));
            if at != mark {
                below(item, line, lines.get(mark), (number(at), is_code));
            }
        } else if at < first {
            let is_heading = line.starts_with('#');
            let heading = if is_heading { line.trim_start_matches('#').trim() } else { line.trim_end() };
            let says = is_blank(line) || seen && !(is_heading && is_own(heading));
            found.goals.extend(says.then(|| (number(at), heading.to_owned())));
        } else if seen && !above_is_text {
            found.between.push((number(at), line.trim().to_owned()));
        }
        above_is_text = owner.is_none() && seen;
    }
    for (item, range, address) in &marks.links {
        let Some(item) = found.items.get_mut(*item) else { continue };
        let written = lines.text.get(range.clone()).unwrap_or_default().replace(['\n', '\r'], " ");
        let link = match address {
            Some(address) => format!(
                "[{}](<{address}>)",
                written.split(']').next().unwrap_or_default().trim_matches(['[', '<', '>'])
            ),
            None => written,
        };
        // A link in the value of a key is what that key says.
        let line = number(lines.at(range.start));
        if item.text.iter().any(|(of, _)| *of == line) {
            item.links.push((line, link));
        }
    }
    found
}

/// Whether a heading is one of a sheet, so that it says nothing about the goals.
fn is_own(title: &str) -> bool {
    let title = normalize(title);
    let names = SHEET.rules.iter().flat_map(|rule| std::iter::once(&rule.title).chain(rule.synonyms));
    names.into_iter().any(|name| normalize(name) == title)
}

/// An item with its first line.
fn item(mark: &Mark, lines: &Lines<'_>) -> Item {
    let line = lines.at(mark.mark.start);
    let start = lines.starts.get(line).copied().unwrap_or_default();
    let text = lines.get(line).get(mark.mark.end.saturating_sub(start)..).unwrap_or_default().trim();
    let (text, after) = behind(text);
    let after = after.map(|value| Key { name: AFTER, value: value.to_owned(), line: number(line) });
    Item {
        parent: mark.parent,
        place: mark.place,
        checked: mark.checked,
        text: vec![(number(line), text.to_owned())],
        code: vec![false],
        keys: after.into_iter().collect(),
        links: Vec::new(),
        span: Span::line(number(line)),
    }
}

/// The `after:` at the end of an item's line, and the text before it.
fn behind(text: &str) -> (&str, Option<&str>) {
    let lower = text.to_ascii_lowercase();
    let Some(at) = lower.rfind("after:") else { return (text, None) };
    let (Some(before), Some(value)) = (text.get(..at), text.get(at + "after:".len()..)) else { return (text, None) };
    let opened = before.ends_with('(') && value.ends_with(')');
    if !opened && !before.is_empty() && !before.ends_with([' ', '\t']) {
        return (text, None);
    }
    let (before, value) =
        if opened { (before.trim_end_matches('('), value.trim_end_matches(')')) } else { (before, value) };
    (before.trim_end().trim_end_matches([',', ';']), Some(value.trim()))
}

/// Handles a line below the first one of an item: a key, more of the key above it, or more of the text.
fn below(item: &mut Item, line: &str, first: &str, (number, is_code): (u32, bool)) {
    let content = marker(first).map_or(0, |marker| marker.content);
    let text = dedent(line, content);
    item.span.last = number;
    let found = (!is_code).then(|| key_of(text)).flatten();
    if let Some((name, value)) = found {
        item.keys.push(Key { name, value: value.to_owned(), line: number });
        return;
    }
    // A key continues in lines that are indented more deeply.
    let continues = text.starts_with([' ', '\t']) && !is_blank(text);
    let last = item.keys.last_mut().filter(|key| key.line > item.text.last().map_or(0, |(line, _)| *line));
    if let Some(key) = last.filter(|_| continues && !is_code) {
        key.value = format!("{}\n{}", key.value, text.trim());
        return;
    }
    item.text.push((number, text.trim_end().to_owned()));
    item.code.push(is_code);
}

/// The key that a line sets: `key: value`, alone or as an item, or `**Key** value` as in a sheet.
fn key_of(line: &str) -> Option<(&'static str, &str)> {
    let (head, value) = pair(line)?;
    let name = KEYS.into_iter().find(|key| key.eq_ignore_ascii_case(head))?;
    Some((name, value))
}

/// The word before the colon of a line, or in bold, and what follows it.
fn pair(line: &str) -> Option<(&str, &str)> {
    if line.starts_with([' ', '\t']) {
        return None;
    }
    let body = marker(line).map_or(line, |marker| marker.rest);
    let (head, value) = match body.strip_prefix("**") {
        Some(bold) => bold.split_once("**")?,
        None => body.split_once(':')?,
    };
    Some((head.trim().trim_end_matches(':'), value.trim().trim_start_matches(':').trim()))
}

/// A misspelt key for a skill, and the name behind it.
pub(super) fn slip_of_skill(line: &str) -> Option<(&str, &str)> {
    pair(line).filter(|(head, _)| within(&head.to_lowercase(), &label::SKILL.to_lowercase(), 2))
}
