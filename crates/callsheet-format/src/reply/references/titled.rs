//! An anchor that is the title of the path in brackets after it: `#weights.py` (`src/weights.py`).

use std::borrow::Cow;

use callsheet_core::issue::RepairCode;
use callsheet_core::links::parse_target;
use callsheet_core::nouns::Target;

use crate::reading::{Answer, Diagnostics, Lookup, ReadContext};

use super::check::{Checking, KEY};
use super::links::WrittenLink;
use super::scope::Scope;
use super::tasks;

/// Both as one link, if no task and no heading has the name of the anchor, and the path leads to a file or folder with
/// that name.
pub(super) fn joined<'a>(
    pair: [&WrittenLink<'a>; 2],
    first: u32,
    scope: &Scope,
    context: &ReadContext,
    notes: &mut Diagnostics,
) -> Option<WrittenLink<'a>> {
    let [anchor, path] = pair;
    let bare = !anchor.linked && !path.linked && anchor.line == path.line;
    let title = anchor.target.strip_prefix('#').filter(|title| bare && !title.contains(['/', '#']))?;
    let bracketed = path.raw.starts_with('(') && path.raw.trim_end_matches('.').ends_with(')');
    let end = path.target.trim_end_matches('/').rsplit('/').next().unwrap_or_default();
    if !bracketed || end != title {
        return None;
    }
    let (Ok(target @ Target::PromptHeading(_)), Ok(file)) = (parse_target(&anchor.target), parse_target(&path.target))
    else {
        return None;
    };
    let span = callsheet_core::issue::Span::line(first.saturating_add(u32::try_from(anchor.line).unwrap_or(u32::MAX)));
    let checking = Checking { scope, context, notes, span, raw: &anchor.raw, key: KEY, repaired: false };
    if tasks::is_named(&target, &checking) {
        return None;
    }
    let (Target::File { path: plain, fragment: None } | Target::Directory(plain)) = file else { return None };
    let lookup = Lookup::Path { path: plain, fragment: None };
    if !matches!(notes.answer(context, lookup), Some(Answer::File(_))) {
        return None;
    }
    Some(WrittenLink {
        title: Cow::Owned(title.to_owned()),
        target: path.target.clone(),
        raw: Cow::Owned(format!("{} {}", anchor.raw, path.raw)),
        line: anchor.line,
        linked: true,
        repairs: [Some(RepairCode::ReferenceBare), None, None],
    })
}
