//! Labels of list items (spec 3.2): the canonical form `- **Label** value`, and what is read as that (`label-form`,
//! `label-name`, `list-marker`).

use std::borrow::Cow;

use callsheet_core::fuzzy::normalize;
use callsheet_core::issue::RepairCode;

use super::text::{dedent, indent, straighten};

/// The longest label in characters. Longer bold text is emphasis.
const LONGEST: usize = 60;

/// A label that a reader knows.
#[derive(Clone, Copy, Debug)]
pub struct LabelRule {
    /// Canonical label.
    pub name: &'static str,
    /// Other names that count as the same (spec 4.4 `label-name`).
    pub synonyms: &'static [&'static str],
}

/// The label of a line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Label {
    /// A known one, with its canonical name.
    Known(&'static str),
    /// Another bold text at the start of a list item.
    Unknown(String),
}

impl Label {
    /// The canonical name or the text.
    pub fn as_str(&self) -> &str {
        match self {
            Self::Known(name) => name,
            Self::Unknown(text) => text,
        }
    }
}

/// The list marker of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Marker<'a> {
    /// Columns before it.
    pub indent: usize,
    /// Column where the item's content starts.
    pub content: usize,
    /// Whether the marker is `-` and one space.
    pub canonical: bool,
    /// Text after it, trimmed at both ends.
    pub rest: &'a str,
}

/// The list marker of a line: `-`, `*`, `+`, a bullet sign, `1.`, `1)`, each with an optional check box.
pub fn marker(line: &str) -> Option<Marker<'_>> {
    // For nearly every line of prose, the first byte shows that there is none.
    let blanks = line.bytes().position(|byte| !matches!(byte, b' ' | b'\t'))?;
    if line.as_bytes().get(blanks).is_some_and(|byte| byte.is_ascii() && !b"-*+[0123456789".contains(byte)) {
        return None;
    }
    let columns = indent(line);
    let body = line.get(blanks..)?;
    let sign = body.chars().next()?;
    let after = if matches!(sign, '-' | '*' | '+' | '•' | '–' | '‣' | '◦') {
        body.get(sign.len_utf8()..)?
    } else if let Some(tail) = ["[ ]", "[x]", "[X]"].into_iter().find_map(|check| body.strip_prefix(check)) {
        tail
    } else {
        let digits = body.find(|c: char| !c.is_ascii_digit()).filter(|n| (1..=9).contains(n))?;
        body.get(digits..)?.strip_prefix(['.', ')'])?
    };
    let glued = sign != '*' && after.starts_with("**");
    if !glued && !after.is_empty() && !after.starts_with([' ', '\t']) {
        return None;
    }
    let width = body.len() - after.len();
    let gap = indent(after);
    let content = columns + width + if (1..=4).contains(&gap) { gap } else { 1 };
    let mut rest = after.trim();
    let mut boxed = false;
    for mark in ["[ ]", "[x]", "[X]", "[]"] {
        if let Some(tail) = rest.strip_prefix(mark)
            && !tail.starts_with('(')
        {
            rest = tail.trim_start();
            boxed = true;
        }
    }
    let canonical = sign == '-' && after.starts_with(' ') && !boxed;
    Some(Marker { indent: columns, content, canonical, rest })
}

/// The text of a list item line, if it is one.
pub fn item_text(line: &str) -> Option<&str> {
    marker(line).map(|marker| marker.rest)
}

/// A line with a label.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LabelLine<'a> {
    /// Which label.
    pub label: Label,
    /// As written, without markup.
    pub written: Cow<'a, str>,
    /// Columns before the marker or label.
    pub indent: usize,
    /// Column where the content of the item starts.
    pub content: usize,
    /// Whether a list marker is present.
    pub marked: bool,
    /// Text after the label, trimmed.
    pub value: &'a str,
    /// Liberties taken.
    pub repairs: Liberties,
}

/// Corrections that reading a label may make, each at most once.
pub type Liberties = [Option<RepairCode>; 4];

/// How the label's text is marked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    Canonical,
    Other,
}

/// The label of a line, if it has one. Known labels may lack marker and markup; others need both.
pub fn label_line<'a>(line: &'a str, rules: &'static [LabelRule]) -> Option<LabelLine<'a>> {
    let found = marker(line);
    let columns = indent(line);
    let body = found.map_or_else(|| dedent(line, columns).trim(), |marker| marker.rest);
    let (label, written, value, form) = bold(body, rules, found.is_some())
        .or_else(|| light(body, rules))
        .or_else(|| plain(body, rules, found.is_some()))?;
    let straight = straighten(written);
    let marked = found.is_some_and(|marker| marker.canonical);
    let named = !matches!(label, Label::Known(name) if name != straight.trim());
    let repairs = [
        (!marked).then_some(RepairCode::ListMarker),
        (form == Form::Other).then_some(RepairCode::LabelForm),
        (straight != written).then_some(RepairCode::QuotesStraightened),
        (!named).then_some(RepairCode::LabelName),
    ];
    Some(LabelLine {
        label,
        written: trimmed(straight),
        indent: found.map_or(columns, |marker| marker.indent),
        content: found.map_or(columns + 1, |marker| marker.content),
        marked: found.is_some(),
        value: value.trim(),
        repairs,
    })
}

fn trimmed(text: Cow<'_, str>) -> Cow<'_, str> {
    match text {
        Cow::Borrowed(text) => Cow::Borrowed(text.trim()),
        Cow::Owned(text) => Cow::Owned(text.trim().to_owned()),
    }
}

type Parsed<'a> = (Label, &'a str, &'a str, Form);

/// Reads `**Label** value` and its variants.
fn bold<'a>(body: &'a str, rules: &'static [LabelRule], marked: bool) -> Option<Parsed<'a>> {
    let mark = ["**", "__"].into_iter().find(|mark| body.starts_with(mark))?;
    let (inner, after) = body.get(2..)?.split_once(mark)?;
    let name = inner.trim().trim_end_matches(':').trim_end();
    if name.is_empty() || name.chars().count() > LONGEST {
        return None;
    }
    let (value, separated) = separated(after);
    if let Some(known) = known(name, rules) {
        let exact = mark == "**" && inner == name && !separated && (after.is_empty() || after.starts_with([' ', '\t']));
        return Some((Label::Known(known), name, value, if exact { Form::Canonical } else { Form::Other }));
    }
    if let Some((head, tail)) = inner.split_once(':')
        && let Some(known) = known(head.trim(), rules)
        && after.trim().is_empty()
    {
        return Some((Label::Known(known), head.trim(), tail, Form::Other));
    }
    marked.then(|| (Label::Unknown(straighten(name).into_owned()), name, value, Form::Canonical))
}

/// Reads italics and code style, for known labels only.
fn light<'a>(body: &'a str, rules: &'static [LabelRule]) -> Option<Parsed<'a>> {
    let mark = ['*', '_', '`'].into_iter().find(|mark| body.starts_with(*mark))?;
    let (inner, after) = body.get(1..)?.split_once(mark)?;
    let name = inner.trim().trim_end_matches(':').trim_end();
    let known = known(name, rules)?;
    Some((Label::Known(known), name, separated(after).0, Form::Other))
}

/// Reads `Label: value`, and `Several words value` in a list item.
fn plain<'a>(body: &'a str, rules: &'static [LabelRule], marked: bool) -> Option<Parsed<'a>> {
    if let Some((head, value)) = body.split_once(':')
        && head.len() <= LONGEST
        && !value.starts_with("//")
        && let Some(known) = known(head.trim(), rules)
    {
        let value = value.trim_start().trim_start_matches("**");
        return Some((Label::Known(known), head.trim(), value, Form::Other));
    }
    // The other forms need a list item.
    if !marked {
        return None;
    }
    if let Some((head, value)) = body.split_once(" - ")
        && head.len() <= LONGEST
        && let Some(known) = known(head.trim(), rules)
    {
        return Some((Label::Known(known), head.trim(), value, Form::Other));
    }
    for rule in rules.iter().filter(|rule| rule.name.contains(' ')) {
        if let Some(head) = body.get(..rule.name.len())
            && head.eq_ignore_ascii_case(rule.name)
            && let Some(tail) = body.get(rule.name.len()..)
            && (tail.is_empty() || tail.starts_with(' '))
        {
            return Some((Label::Known(rule.name), head, separated(tail).0, Form::Other));
        }
    }
    // One word is a label only if what follows cannot be the rest of a sentence.
    let (head, value) =
        body.split_once(' ').filter(|(_, value)| !value.trim().contains(' ') || value.starts_with('['))?;
    let rule = rules.iter().find(|rule| rule.name == head && !value.trim().is_empty())?;
    Some((Label::Known(rule.name), head, value.trim(), Form::Other))
}

/// The text after a label without a colon or dash, and whether there was one.
fn separated(after: &str) -> (&str, bool) {
    let text = after.trim_start();
    let colon = text.trim_start_matches(':');
    if colon.len() < text.len() {
        return (colon.trim(), true);
    }
    for dash in ["- ", "– ", "— "] {
        if let Some(tail) = text.strip_prefix(dash) {
            return (tail.trim(), true);
        }
    }
    (text.trim(), false)
}

/// The only rule that a written label matches.
fn known(written: &str, rules: &'static [LabelRule]) -> Option<&'static str> {
    if written.len() > LONGEST {
        return None;
    }
    if let Some(rule) = rules.iter().find(|rule| rule.name == written) {
        return Some(rule.name);
    }
    // Comparing the first letter avoids nearly all of the work for text that is not a label.
    let straight = straighten(written);
    let first = straight.chars().find(|c| c.is_alphanumeric())?.to_lowercase().next()?;
    let begins = |name: &str| match name.bytes().next() {
        Some(letter) if letter.is_ascii() => char::from(letter.to_ascii_lowercase()) == first,
        _ => name.starts_with(first),
    };
    if !rules.iter().any(|rule| begins(rule.name) || rule.synonyms.iter().any(|synonym| begins(synonym))) {
        return None;
    }
    let wanted = normalize(&straight);
    let is = |name: &str| begins(name) && normalize(name) == wanted;
    let canonical = rules.iter().find(|rule| is(rule.name));
    if let Some(rule) = canonical {
        return Some(rule.name);
    }
    let mut fitting = rules.iter().filter(|rule| rule.synonyms.iter().any(|synonym| is(synonym)));
    let first = fitting.next()?;
    fitting.next().is_none().then_some(first.name)
}
