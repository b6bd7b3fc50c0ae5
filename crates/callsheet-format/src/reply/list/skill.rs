//! The `Skill` of a task (spec 4.4 `skill-near`, 7.7).

use callsheet_core::fuzzy::{nearest, normalize, within};
use callsheet_core::issue::{IssueCode, RepairCode, Span};
use callsheet_core::nouns::{Skill, SkillMode};

use crate::reading::{Diagnostics, ReadContext};
use crate::reply::references::{is_none, says_none};

/// How many suggestions are made for an unknown skill if the catalog is long (spec 7.7).
const SUGGESTIONS: usize = 5;

/// The result of matching a written skill.
#[derive(Debug, PartialEq, Eq)]
enum Fit<'a> {
    Exact,
    Near(&'a str),
    Several,
    Unknown,
}

/// The skill under its name in the catalog. In a reply, the name may be slightly misspelled. An unknown skill is kept
/// as written and reported; a missing one causes a warning.
pub fn read(
    written: Option<(&str, Span)>,
    task: Span,
    context: &ReadContext,
    notes: &mut Diagnostics,
) -> Option<String> {
    let Some((value, span)) = written.filter(|(value, _)| !is_none(value)) else {
        let at = written.map_or(task, |(_, span)| span);
        let issue = notes.issue(IssueCode::SkillMissing, "", at, &[]).warning().key(super::label::SKILL);
        notes.push(issue.allowed("", names(context)));
        return None;
    };
    if let Some((name, why)) = broken(value, context) {
        let facts = [("skill", name), ("why", why)];
        notes.push(notes.issue(IssueCode::SkillUnknown, "broken", span, &facts).key(super::label::SKILL));
        return Some(name.to_owned());
    }
    if let Some((name, kind)) = untrusted(value, context) {
        let facts = [("skill", name), ("kind", kind)];
        notes.push(notes.issue(IssueCode::SkillUnknown, "untrusted", span, &facts).key(super::label::SKILL));
        return Some(name.to_owned());
    }
    match fit(value, context, notes) {
        Fit::Exact => Some(value.to_owned()),
        // A guess must not change what a person wrote.
        Fit::Near(name) if notes.is_by_hand() => {
            let issue = notes.issue(IssueCode::SkillUnknown, "", span, &[("skill", value)]).key(super::label::SKILL);
            notes.push(issue.allowed(value, [name]));
            Some(value.to_owned())
        }
        Fit::Near(name) => {
            notes.repair(RepairCode::SkillNear, span, value, name);
            Some(name.to_owned())
        }
        other => {
            let variant = if other == Fit::Several { "several" } else { "" };
            let skill: String = value.split_whitespace().collect::<Vec<_>>().join(" ");
            let issue = notes.issue(IssueCode::SkillUnknown, variant, span, &[("skill", &skill)]);
            let count = context.catalog.len();
            let mut issue = issue.key(super::label::SKILL);
            if notes.may_compare(count) {
                issue = issue.allowed(&skill, names(context));
                if count > SUGGESTIONS && issue.allowed.len() == count {
                    // The best suggestions come first; all others stay listed.
                    issue.allowed = nearest(&skill, names(context), count);
                }
            }
            notes.push(issue);
            Some(skill)
        }
    }
}

fn names(context: &ReadContext) -> impl Iterator<Item = &str> {
    context.catalog.iter().map(|skill| skill.name.as_str())
}

fn fit<'a>(value: &str, context: &'a ReadContext, notes: &Diagnostics) -> Fit<'a> {
    if names(context).any(|name| name == value) {
        return Fit::Exact;
    }
    if let Some(name) = prefixed(value, context) {
        return Fit::Near(name);
    }
    if !notes.may_compare(context.catalog.len()) {
        return Fit::Unknown;
    }
    let wanted = normalize(value);
    let known: Vec<(&str, String)> = names(context).map(|name| (name, normalize(name))).collect();
    let mut same = known.iter().filter(|(_, name)| *name == wanted);
    match (same.next(), same.next()) {
        (Some((name, _)), None) => return Fit::Near(name),
        (Some(_), Some(_)) => return Fit::Unknown,
        _ => {}
    }
    let padded = format!(" {wanted} ");
    // A name with more letters cannot be among these words.
    let named = known.iter().filter(|(_, name)| name.len() <= wanted.len() && padded.contains(&format!(" {name} ")));
    let named: Vec<&str> = named.map(|(name, _)| *name).collect();
    let separate =
        value.contains([',', ';', '/', '+', '\n', '&']) || padded.contains(" and ") || padded.contains(" or ");
    if named.len() > 1 {
        return Fit::Several;
    }
    if let [name] = named.as_slice()
        && !separate
        && explained(value, name)
    {
        return Fit::Near(name);
    }
    let close = known.iter().filter(|(name, normalize)| within(normalize, &wanted, limit(name)));
    let close: Vec<&str> = close.map(|(name, _)| *name).collect();
    match close.as_slice() {
        [name] => Fit::Near(name),
        _ => Fit::Unknown,
    }
}

/// The name and the kind of what this project offers and the person does not trust yet, if nothing else has its name.
fn untrusted<'a>(value: &'a str, context: &'a ReadContext) -> Option<(&'a str, &'a str)> {
    let name = value.trim();
    let name = ["template:", "skill:"].iter().find_map(|prefix| name.strip_prefix(prefix)).map_or(name, str::trim);
    let kind = context.untrusted.get(name).filter(|_| !names(context).any(|known| known == name || known == value))?;
    Some((name, kind))
}

/// A template with errors, and its first error, if nothing else has its name. A similar name never replaces it.
fn broken<'a>(value: &'a str, context: &'a ReadContext) -> Option<(&'a str, &'a str)> {
    let name = value.trim();
    let name = name.strip_prefix("template:").map_or(name, str::trim);
    let why = context.broken.get(name).filter(|_| !names(context).any(|known| known == name || known == value))?;
    Some((name, why))
}

/// The only skill with a similar name.
pub fn only_near<'c>(written: &str, context: &'c ReadContext, notes: &Diagnostics) -> Option<&'c Skill> {
    if !notes.may_compare(context.catalog.len()) {
        return None;
    }
    let wanted = normalize(written);
    let near = |skill: &&Skill| within(&normalize(&skill.name), &wanted, limit(&skill.name));
    let mut found = context.catalog.iter().filter(near);
    found.next().filter(|_| found.next().is_none())
}

/// Reads `skill:NAME` or `template:NAME`, if the catalog has such a skill or template (spec "Templates" 16).
fn prefixed<'a>(value: &str, context: &'a ReadContext) -> Option<&'a str> {
    let (kind, name) = value.split_once(':')?;
    let template = match kind.trim() {
        "template" => true,
        "skill" => false,
        _ => return None,
    };
    let fits = |skill: &&Skill| skill.name == name.trim() && (skill.policy.mode == SkillMode::Template) == template;
    context.catalog.iter().find(fits).map(|skill| skill.name.as_str())
}

/// Two edits; fewer for names that are so short that two edits make another word.
fn limit(name: &str) -> usize {
    (name.chars().count() / 3).min(2)
}

/// Whether a value is only the name with an explanation after it, or with the word "skill" beside it.
fn explained(value: &str, name: &str) -> bool {
    let head = value.split(['(', ':', '–', '—']).next().unwrap_or(value);
    let head = normalize(head.split(" - ").next().unwrap_or(head));
    let name = normalize(name);
    head == name
        || head == format!("{name} skill")
        || head == format!("skill {name}")
        || head == format!("the {name} skill")
}

/// The skill that was chosen for a task.
pub struct Choice<'a> {
    /// Its name in the catalog.
    pub skill: Option<&'a str>,
    /// Where it is named.
    pub span: Span,
}

impl Choice<'_> {
    /// Warns about a choice that probably fails according to the skill itself: a skill without tools that requires
    /// input and gets no reference, or one that writes no files for a file that does not exist yet (`skill-unlikely`).
    /// Never changes the choice.
    pub fn question(&self, links: &[&str], need: &str, expected: &str, context: &ReadContext, notes: &mut Diagnostics) {
        let named = self.skill.and_then(|name| context.catalog.iter().find(|skill| skill.name == name));
        let Some(skill) = named else { return };
        let reads_nothing = || links.iter().all(|value| says_none(value));
        let others = |wanted: fn(&Skill) -> bool| {
            context.catalog.iter().filter(move |skill| wanted(skill)).map(|skill| skill.name.as_str())
        };
        let issue = |variant| {
            let facts = [("skill", skill.name.as_str()), ("file", file_of(expected).unwrap_or_default())];
            notes.issue(IssueCode::SkillUnlikely, variant, self.span, &facts).warning().key(super::label::SKILL)
        };
        let found = if skill.policy.tools.is_empty() && !skill.input_requirements.trim().is_empty() && reads_nothing() {
            issue("").allowed("", others(|skill| skill.policy.needs_arguments || skill.policy.mode == SkillMode::Loop))
        } else if skill.policy.writer.is_none()
            && let Some(file) = file_of(expected)
            && !links.iter().any(|value| value.contains(file))
            && need.contains(file)
        {
            issue("file").allowed("", others(|skill| skill.policy.writes_files))
        } else {
            return;
        };
        notes.push(found);
    }
}

/// The path at the beginning of an expected output, such as `report.md` in "The file report.md with one row each".
fn file_of(expected: &str) -> Option<&str> {
    const LEADING: [&str; 7] = ["the", "a", "an", "new", "file", "document", "complete"];
    let mut words = expected.split_whitespace().map(|word| word.trim_matches(['`', '*', '"', ',', ':', '(', ')']));
    let word =
        words.find(|word| !LEADING.iter().any(|leading| leading.eq_ignore_ascii_case(word)))?.trim_end_matches('.');
    let (stem, ending) = word.rsplit_once('.')?;
    let path = |c: char| c.is_alphanumeric() || matches!(c, '/' | '-' | '_' | '.');
    let is_path = !stem.is_empty() && word.chars().all(path) && ending.chars().count() <= 5;
    (is_path && ending.starts_with(|c: char| c.is_ascii_lowercase())).then_some(word)
}
