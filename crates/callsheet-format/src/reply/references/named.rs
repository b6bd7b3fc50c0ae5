//! What a `References` value names beside its links (spec 4.4 `reference-bare`): a task by its name, or a file by a
//! single word. Anything else is words, which are reported.

use std::borrow::Cow;

use callsheet_core::issue::RepairCode;
use callsheet_core::names::slug_of;
use callsheet_core::nouns::Slug;

use super::aside::{Aside, Kind, Place, places};
use super::links::{WrittenLink, written_links};
use super::scope::Scope;
use super::tasks;

/// The links of a value in order, including those written by name, and the words that are neither. A value that
/// consists only of words is a link that leads nowhere.
pub(super) fn sources<'a>(
    value: &'a str,
    scope: &Scope,
    is_file: &mut dyn FnMut(&str) -> bool,
) -> (Vec<WrittenLink<'a>>, Vec<Aside>) {
    let mut written = written_links(value).into_iter();
    let (mut all, mut words): (Vec<WrittenLink<'a>>, Vec<Aside>) = (Vec::new(), Vec::new());
    let mut has_link = false;
    for place in places(value) {
        match place {
            Place::Link => {
                has_link = true;
                all.extend(written.next());
            }
            Place::Aside(aside) => match task_of(&aside, scope) {
                Some(slug) => {
                    let target = Cow::Owned(format!("#{slug}-results"));
                    all.push(WrittenLink { target, linked: true, ..bare(aside) });
                }
                None if may_be_file(&aside) && is_file(aside.text()) => all.push(bare(aside)),
                None => words.push(aside),
            },
        }
    }
    if all.is_empty() {
        return (written.collect(), Vec::new());
    }
    if has_link {
        all.extend(written);
    }
    (all, words)
}

/// The task with exactly this name. A single word beside a link is not a name, and neither is the name of the task
/// itself.
fn task_of(aside: &Aside, scope: &Scope) -> Option<Slug> {
    let text = aside.text();
    // If a colon follows, it is the title of what follows.
    if aside.kind == Kind::Remark || aside.raw.ends_with(':') {
        return None;
    }
    let by_itself = aside.alone || aside.kind == Kind::Marked;
    let (slug, at) = tasks::named(&slug_of(text), scope)?;
    ((by_itself || text.contains(char::is_whitespace)) && scope.own != Some(at)).then_some(slug)
}

fn may_be_file(aside: &Aside) -> bool {
    aside.alone && aside.kind != Kind::Remark && !aside.text().contains(char::is_whitespace)
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
