//! What the asides of a `References` value mean (spec 4.4 `reference-bare`): a task by its name, a file by a word alone, a name
//! of something that is no source, or words.

use std::borrow::Cow;

use crate::reply::near::folded;
use crate::reply::{ReadContext, RepairCode};
use crate::sheet::slug_of;
use crate::spec::Slug;

use super::aside::{Aside, Kind, Place, places};
use super::links::{WrittenLink, is_none, written_links};
use super::scope::Scope;
use super::tasks;

/// Programs with which a command begins. Those that are words of English besides are none of them.
const PROGRAMS: &[&str] = &[
    "bash", "cargo", "deno", "git", "gradle", "java", "lua", "mvn", "node", "npm", "npx", "perl", "php", "pip",
    "pytest", "python", "python3", "ruby", "rustc", "sh", "uv", "yarn",
];

/// Single words that name nothing.
const REMARKS: &[&str] = &[
    "above",
    "all",
    "also",
    "any",
    "available",
    "below",
    "both",
    "directory",
    "document",
    "documents",
    "each",
    "either",
    "etc",
    "everything",
    "file",
    "files",
    "folder",
    "given",
    "here",
    "if",
    "list",
    "needed",
    "only",
    "optional",
    "optionally",
    "other",
    "others",
    "please",
    "plus",
    "project",
    "prompt",
    "reference",
    "references",
    "request",
    "required",
    "see",
    "source",
    "sources",
    "template",
    "then",
    "there",
    "with",
    "writes",
    "yet",
];

/// Words of a name with a number at its end, at most.
const LONGEST_NAME: usize = 4;

enum Meaning {
    /// The output of this task, which has that name.
    Task(Slug),
    /// A word that may be a path.
    Path,
    /// Something that is no source: a skill, a command, a task that there is none of.
    Nothing,
    /// Words around the links.
    Prose,
}

/// The links of a value in order, with those that are written by a name, and the words that are none.
pub(super) fn sources<'a>(value: &'a str, scope: &Scope, context: &ReadContext) -> (Vec<WrittenLink<'a>>, Vec<Aside>) {
    let links = written_links(value);
    let places = places(value);
    if !places.iter().any(|place| matches!(place, Place::Link)) {
        return named_alone(places, scope, context).unwrap_or((links, Vec::new()));
    }
    let mut links = links.into_iter();
    let (mut all, mut words): (Vec<WrittenLink<'a>>, Vec<Aside>) = (Vec::new(), Vec::new());
    for place in places {
        match place {
            Place::Link => all.extend(links.next()),
            Place::Aside(aside) => match meaning(&aside, scope, context) {
                Meaning::Task(slug) => all.push(of_task(&slug, aside)),
                Meaning::Path | Meaning::Nothing => all.push(bare(aside)),
                Meaning::Prose => words.push(aside),
            },
        }
    }
    all.extend(links);
    (all, words)
}

/// The links of a value, with those that are written by a name.
pub fn named_links<'a>(value: &'a str, scope: &Scope, context: &ReadContext) -> Vec<WrittenLink<'a>> {
    sources(value, scope, context).0
}

/// A value of nothing but names of tasks, with remarks on them.
fn named_alone<'a>(
    places: Vec<Place>,
    scope: &Scope,
    context: &ReadContext,
) -> Option<(Vec<WrittenLink<'a>>, Vec<Aside>)> {
    let (mut links, mut remarks) = (Vec::new(), Vec::new());
    for place in places {
        let Place::Aside(aside) = place else { continue };
        match meaning(&aside, scope, context) {
            Meaning::Task(slug) => links.push(of_task(&slug, aside)),
            Meaning::Prose if aside.kind == Kind::Remark => remarks.push(aside),
            _ => return None,
        }
    }
    (!links.is_empty()).then_some((links, remarks))
}

fn of_task<'a>(slug: &Slug, aside: Aside) -> WrittenLink<'a> {
    let target = Cow::Owned(format!("#{slug}-results"));
    WrittenLink { target, linked: true, ..bare(aside) }
}

fn bare<'a>(aside: Aside) -> WrittenLink<'a> {
    WrittenLink {
        title: Cow::Borrowed(""),
        target: Cow::Owned(aside.text().to_owned()),
        line: aside.line,
        raw: Cow::Owned(aside.raw),
        linked: false,
        repairs: [Some(RepairCode::ReferenceBare), None, None],
    }
}

fn meaning(aside: &Aside, scope: &Scope, context: &ReadContext) -> Meaning {
    let text = aside.text();
    // With a colon behind it it is the title of what follows.
    if aside.kind == Kind::Remark || aside.raw.ends_with(':') || is_none(text) {
        return Meaning::Prose;
    }
    let several = text.contains(char::is_whitespace);
    let by_itself = aside.alone || matches!(aside.kind, Kind::Marked | Kind::Title);
    if (by_itself || several)
        && let Some((slug, at)) = tasks::named(&slug_of(text), scope)
        && (by_itself || scope.own != Some(at))
    {
        return Meaning::Task(slug);
    }
    if is_of_catalog(text, aside.alone, context) || is_command(text) {
        return Meaning::Nothing;
    }
    match aside.kind {
        // The name of a part of a source: `columns `date` and `sum` of …`.
        Kind::Marked if aside.in_words => Meaning::Prose,
        Kind::Title => Meaning::Prose,
        Kind::Marked if several => Meaning::Nothing,
        Kind::Marked => Meaning::Path,
        _ if !aside.alone => Meaning::Prose,
        _ if several && (is_numbered(text) || is_somebodys(text)) => Meaning::Nothing,
        _ if several => Meaning::Prose,
        _ if REMARKS.contains(&folded(text).as_str()) || !text.contains(char::is_alphabetic) => Meaning::Prose,
        _ => Meaning::Path,
    }
}

/// Whether a text is the name of a skill or tool that is no word, or if nothing else stands beside it has one.
fn is_of_catalog(text: &str, alone: bool, context: &ReadContext) -> bool {
    let plain = |word: &str| word.trim_matches(|c: char| !c.is_alphanumeric()).to_owned();
    let known = |word: &str| {
        let word = plain(word);
        let named = |name: &str| name == word;
        word.contains(['_', '-'])
            && context
                .catalog
                .iter()
                .any(|skill| named(&skill.name) || skill.policy.tools.iter().any(|tool| named(tool)))
    };
    if alone { text.split_whitespace().any(known) } else { known(text) }
}

/// Whether a text begins like a command or has an option of one.
fn is_command(text: &str) -> bool {
    let is_option =
        |word: &str| word.strip_prefix("--").is_some_and(|name| name.starts_with(|c: char| c.is_ascii_alphabetic()));
    text.split_whitespace().next().is_some_and(|first| PROGRAMS.contains(&first))
        || text.split_whitespace().any(is_option)
}

/// Whether a text names what somebody has, `Marta's letters`: a source that cannot be found, and no word on the others.
fn is_somebodys(text: &str) -> bool {
    let owner = text.split_whitespace().next().unwrap_or_default();
    let name = owner.strip_suffix("'s").or_else(|| owner.strip_suffix("’s"));
    name.is_some_and(|name| name.starts_with(char::is_uppercase))
}

/// A name such as `Read Docs 2`, also behind `the results of`.
fn is_numbered(text: &str) -> bool {
    let text = text.rsplit_once(" of ").or_else(|| text.rsplit_once(" from ")).map_or(text, |(_, name)| name);
    let words: Vec<&str> = text.split_whitespace().collect();
    let last = words.last().is_some_and(|word| word.bytes().all(|c| c.is_ascii_digit()));
    last && words.len() <= LONGEST_NAME && text.starts_with(char::is_uppercase)
}
